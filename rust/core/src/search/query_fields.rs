//! Field prefixes of a query (`name:`): scored fields, filters, and unknown names.

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

    /// Reads `name:value`.
    pub(super) fn read(word: &str) -> Option<(Self, String)> {
        let (name, value) = word.split_once(':')?;
        let field = Self::ALL.into_iter().find(|field| field.name() == name)?;
        // a quote that is not closed has a blank behind it, and is searched as text
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"')?,
            None => value.trim_end_matches([',', ';', '.']),
        };
        value.contains(char::is_alphanumeric).then(|| (field, value.to_owned()))
    }
}

/// Sets the filters of a query beside those of its caller: a document must pass both.
///
/// # Errors
/// The note of an answer, when no document can pass.
pub fn restrict(filter: &mut SearchFilter, asked: &[(FilterField, String)]) -> Result<(), String> {
    for (field, value) in asked {
        let given = match field {
            FilterField::Role => &mut filter.role,
            FilterField::Session => &mut filter.session,
            FilterField::Category => &mut filter.category,
        };
        if let Some(given) = given.as_ref().filter(|given| *given != value) {
            let name = field.name();
            return Err(format!(
                "nothing has two of a kind: {name} is {given:?} and {name}:{value} at once; leave \
                 out one"
            ));
        }
        *given = Some(value.clone());
    }
    Ok(())
}

/// Returns the scored field of that name.
pub(super) fn field_named(name: &str) -> Option<Field> {
    // what the fields of a message call who speaks
    if name == "name" { Some(Field::Speaker) } else { Field::named(name) }
}

/// Returns the note about a word that was searched as text though it looks like a field, if it does.
pub(super) fn note(word: &str) -> Option<String> {
    let (name, value) = word.split_once(':')?;
    let (minus, name) = name.strip_prefix('-').map_or((false, name), |name| (true, name));
    let is_name = name.len() > 1 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    // neither `http://`, nor `std::io`, nor a time or the number of a port or a line
    let is_value = value.starts_with(|c: char| c.is_alphabetic() || c == '"');
    let is_argument =
        filter::FIELD_NAMES.contains(&name) && value.starts_with(char::is_alphanumeric);
    if !is_name || !is_value && !is_argument {
        return None;
    }
    let shown: String = word.chars().take(40).collect();
    let is_filter = FilterField::ALL.iter().any(|field| field.name() == name);
    Some(if minus {
        format!("{shown} was searched as text: only words and \"phrases\" can be excluded")
    } else if is_argument || is_filter {
        format!(
            "{shown} was searched as text: {name} is an argument of the search, beside the query"
        )
    } else {
        let fields = Field::ALL.map(Field::name).join(", ");
        let filters = FilterField::ALL.map(FilterField::name).join(", ");
        format!("{shown} was searched as text: {name} is no field; there are {fields}, {filters}")
    })
}
