//! Field prefixes of a query (`name:`): scored fields, filters, and unknown names.

use crate::files::paths::is_below;
use crate::filter::{self, SearchFilter};
use crate::index::bm25f::Field;

/// A filter that a query can set: what a document says of itself is compared as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterField {
    /// The role of a message.
    Role,
    /// The session of a message.
    Session,
    /// The category of a section.
    Category,
}

impl FilterField {
    const ALL: [Self; 3] = [Self::Role, Self::Session, Self::Category];

    /// The name that stands before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Session => "session",
            Self::Category => "category",
        }
    }

    /// Takes `name:value` or `name:"value"` off the front of a text.
    pub(super) fn take(text: &str) -> Option<(Self, String, &str)> {
        let value = |field: Self| text.strip_prefix(field.name())?.strip_prefix(':');
        let (field, value) =
            Self::ALL.into_iter().find_map(|field| Some((field, value(field)?)))?;
        let (value, rest) = match value.strip_prefix('"') {
            // a quote that is not closed is searched as text
            Some(quoted) => quoted.split_once('"')?,
            None => {
                let (value, rest) = value.split_at(word_end(value));
                (value.trim_end_matches([',', ';', '.']), rest)
            }
        };
        value.contains(char::is_alphanumeric).then(|| (field, value.to_owned(), rest))
    }
}

/// Returns where the first word ends: before white space or behind the end of a sentence in CJK.
pub(super) fn word_end(text: &str) -> usize {
    let end = |(at, c): (usize, char)| match c {
        '。' | '！' | '？' => Some(at + c.len_utf8()),
        _ => c.is_whitespace().then_some(at),
    };
    text.char_indices().find_map(end).unwrap_or(text.len())
}

/// Returns the filter that the filters of a query make.
///
/// # Errors
/// The note of an answer, when no document can pass.
pub fn asked_filter(asked: &[(FilterField, String)]) -> Result<SearchFilter, String> {
    let mut filter = SearchFilter::default();
    for (field, value) in asked {
        let one = match field {
            FilterField::Role => &mut filter.role,
            FilterField::Session => &mut filter.session,
            FilterField::Category => &mut filter.category,
        };
        set(one, Some(value.clone()), *field)?;
    }
    Ok(filter)
}

/// Sets the filter of a query beside that of its caller, both resolved: a document must pass both.
///
/// # Errors
/// The note of an answer, when no document can pass.
pub fn restrict(filter: &mut SearchFilter, asked: SearchFilter) -> Result<(), String> {
    set(&mut filter.role, asked.role, FilterField::Role)?;
    set(&mut filter.session, asked.session, FilterField::Session)?;
    set(&mut filter.category, asked.category, FilterField::Category)?;
    filter.session_transcripts.extend(asked.session_transcripts);
    // a session that is named by its transcript
    for path in asked.prefixes {
        let places = &filter.prefixes;
        if !places.is_empty() && !places.iter().any(|place| is_below(&path, place)) {
            return Err(format!("{path} is not below {}; leave out one", places.join(" or ")));
        }
        filter.prefixes = vec![path];
    }
    Ok(())
}

fn set(
    given: &mut Option<String>,
    value: Option<String>,
    field: FilterField,
) -> Result<(), String> {
    let name = field.name();
    match (&given, value) {
        (Some(given), Some(value)) if *given != value => Err(format!(
            "nothing has two of a kind: {name} is {given:?} and {name}:{value} at once; leave \
             out one"
        )),
        (_, None) => Ok(()),
        (_, value) => {
            *given = value;
            Ok(())
        }
    }
}

/// Returns the scored field of that name.
pub(super) fn field_named(name: &str) -> Option<Field> {
    // what the fields of a message call who speaks
    if name == "name" { Some(Field::Speaker) } else { Field::named(name) }
}

/// Arguments of a search that are no fields of its filter.
const ARGUMENT_NAMES: [&str; 5] = ["limit", "unit", "meaning", "archive", "project"];
/// Arguments that take no value on a command line.
const FLAGS: [&str; 1] = ["meaning"];

/// Returns the note about a word that was searched as text though it looks like a field, if it does.
pub(super) fn note(word: &str) -> Option<String> {
    let (written, value) = word.split_once(':')?;
    let (minus, written) = written.strip_prefix('-').map_or((false, written), |name| (true, name));
    let lower = written.to_ascii_lowercase();
    let name = &*lower;
    let is_name = name.len() > 1 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let is_filter = FilterField::ALL.iter().any(|field| field.name() == name);
    let is_field = is_filter || field_named(name).is_some();
    let is_argument = filter::FIELD_NAMES.contains(&name) || ARGUMENT_NAMES.contains(&name);
    // neither `http://`, nor `std::io`, nor a time or the number of a port or a line
    let is_value = value.starts_with(|c: char| c.is_alphabetic() || c == '"')
        || is_argument && value.starts_with(char::is_alphanumeric);
    // `Error:x` is a text
    let is_meant = is_field || is_argument || written == name;
    if !is_name || !is_value || !is_meant {
        return None;
    }
    let shown: String = word.chars().take(40).collect();
    let short: String = value.chars().take(20).collect();
    let told = if minus {
        "only words and \"phrases\" can be excluded".to_owned()
    } else if is_field && written != name {
        format!("fields are in lower case, as {name}:{short}")
    } else if is_argument || is_filter {
        let value = if FLAGS.contains(&name) { String::new() } else { format!(" {short}") };
        let place = if name == "project" { ", elsewhere as the prefix sessions/NAME" } else { "" };
        format!(
            "{name} is an argument of the search, beside the query (on a command line \
             --{name}{value}{place})"
        )
    } else {
        let fields = Field::ALL.map(Field::name).join(", ");
        let filters = FilterField::ALL.map(FilterField::name).join(", ");
        format!("{name} is no field; there are {fields}, {filters}")
    };
    Some(format!("{shown} was searched as text: {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_argument_or_in_uppercase_is_told() {
        for (word, told) in [
            ("Role:user", "as role:user"),
            ("SESSION:s1", "as session:s1"),
            ("Title:kiwi", "as title:kiwi"),
            ("limit:5", "--limit 5)"),
            ("Limit:5", "--limit 5)"),
            ("unit:turn", "--unit turn)"),
            ("meaning:true", "--meaning)"),
            ("project:web", "--project web, elsewhere as the prefix sessions/NAME)"),
            ("Since:2026", "--since 2026)"),
            ("-limit:5", "can be excluded"),
        ] {
            let note = note(word).unwrap();
            assert!(note.starts_with(word) && note.ends_with(told), "{note}");
        }
        for word in ["Error:kiwi", "C:kiwi", "Note:kiwi", "k:5", "at:5", "limit:", "http://a"] {
            assert_eq!(note(word), None, "{word}");
        }
    }
}
