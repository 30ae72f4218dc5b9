//! Names of a session: whether a text is one, and what to say where none or several match.

use fst::automaton::{Automaton, Levenshtein};

use crate::error::{Error, Result};
use crate::files::paths::is_below;
use crate::store::sessions::{Session, distinct, folder, folder_name, short_id_lengths};

/// Characters of an id that must be given at least, of those that differ from id to id.
const MIN_ID: usize = 4;
/// Sessions that an ambiguous name is explained with.
const MAX_CANDIDATES: usize = 8;
/// Sessions that an unknown name is answered with.
const MAX_SUGGESTIONS: usize = 4;
/// Typos in the beginning of an id that are forgiven in a suggestion, and characters of a longer
/// name, which is no id that was typed.
const MAX_TYPOS: u32 = 2;
const MAX_TYPED: usize = 40;
/// Digits of a UUID: such an id was copied, and may be that of a session that nobody has imported.
const UUID_DIGITS: usize = 32;

/// What a session can be called by.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionName {
    pub path: String,
    pub id: String,
    pub title: Option<String>,
    /// Whether the transcript as a whole is this session, whatever its messages say: not where its
    /// messages alone name it, for there may be several.
    pub is_whole: bool,
}

impl SessionName {
    /// Returns whether the name is this id, or its beginning.
    pub fn has_id(&self, name: &str) -> bool {
        let (whole, own) = (&*self.id, distinct(&self.id));
        let is_beginning = |text: &str| {
            let shared = whole.len() - own.len();
            text.strip_prefix(&whole[..shared])
                .into_iter()
                .chain([text])
                .any(|typed| typed.chars().count() >= MIN_ID && own.starts_with(typed))
        };
        name == whole || name == own || is_beginning(name)
    }

    /// Returns whether it is called so in full.
    fn is_called(&self, name: &str) -> bool {
        let folder = folder(&self.path);
        [&*self.id, distinct(&self.id), &*self.path, folder, folder_name(&self.path)]
            .contains(&name)
    }

    /// Returns whether its path or its folder ends so, as `PROJECT/FOLDER` does.
    fn ends_with(&self, name: &str) -> bool {
        let is_end = |whole: &str| whole.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        name.contains('/') && (is_end(&self.path) || is_end(folder(&self.path)))
    }

    /// Returns whether a name, by which it was found, is its id or the beginning of it.
    pub fn is_found_by_id(&self, name: &str) -> bool {
        let ignores_case = !self.is_called(name) && !self.ends_with(name);
        self.has_id(name) || ignores_case && self.lowercase().has_id(&name.to_lowercase())
    }

    /// Returns the name in lowercase.
    fn lowercase(&self) -> Self {
        let (path, id) = (self.path.to_lowercase(), self.id.to_lowercase());
        Self { path, id, title: None, is_whole: self.is_whole }
    }

    /// Returns whether a name is a beginning of its id, but for typos, or part of its title.
    fn is_near(&self, name: &str, typed: Option<&Levenshtein>) -> bool {
        let begins_alike = |text: &str| {
            let Some(automaton) = typed.map(|typed| typed.starts_with()) else { return false };
            let end = text.bytes().fold(automaton.start(), |state, b| automaton.accept(&state, b));
            automaton.is_match(&end)
        };
        let title = self.title.as_deref().unwrap_or_default().to_lowercase();
        begins_alike(distinct(&self.id))
            || begins_alike(&self.id)
            || begins_alike(folder_name(&self.path))
            || name.chars().count() >= MIN_ID && title.contains(&name.to_lowercase())
    }
}

impl From<&Session> for SessionName {
    fn from(session: &Session) -> Self {
        Self {
            path: session.path.clone(),
            id: session.id.clone(),
            title: session.title.clone(),
            is_whole: true,
        }
    }
}

/// Ways in which a name may mean a session; each counts only where no name is meant in an earlier one.
const WAYS: [fn(&SessionName, &str) -> bool; 3] =
    [SessionName::is_called, SessionName::has_id, SessionName::ends_with];

/// Returns the places of the names that are meant in the first of some ways in which any is.
fn meant(names: &[SessionName], name: &str, ways: &[fn(&SessionName, &str) -> bool]) -> Vec<usize> {
    let in_way = |way: &fn(&SessionName, &str) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|&at| way(&names[at], name)).collect()
    };
    ways.iter().map(in_way).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Returns the session that is called so. A beginning of an id counts only where nothing has that
/// name in full, then the end of a path; where nothing is called so, all three without regard to case.
///
/// # Errors
/// [`Error::Query`] with code `ambiguous`.
pub(super) fn called<'n>(
    names: &'n [SessionName],
    name: &str,
    is_in_messages: bool,
) -> Result<Option<&'n SessionName>> {
    let mut found = meant(names, name, if is_in_messages { &WAYS[..1] } else { &WAYS });
    if found.is_empty() && !is_in_messages {
        let lowercase: Vec<_> = names.iter().map(SessionName::lowercase).collect();
        found = meant(&lowercase, &name.to_lowercase(), &WAYS);
    }
    let called: Vec<&SessionName> = found.into_iter().map(|at| &names[at]).collect();
    match *called {
        [] => Ok(None),
        // its subagents may carry its id
        [_, ..] => {
            let top = called.iter().min_by_key(|one| one.path.len()).copied();
            let is_inner = |top: &SessionName| {
                called.iter().all(|other| is_below(&other.path, folder(&top.path)))
            };
            match top.filter(|top| called.len() == 1 || is_inner(top)) {
                Some(top) => Ok(Some(top)),
                None => Err(ambiguous(name, &called, names)),
            }
        }
    }
}

/// Returns whether a name is one that a person types: neither a path nor a whole id.
pub(super) fn may_be_typed(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_hexdigit).count();
    !name.contains('/') && digits < UUID_DIGITS
}

fn ambiguous(name: &str, called: &[&SessionName], names: &[SessionName]) -> Error {
    let is_one_id = called.iter().all(|one| one.id == called[0].id);
    let advice = match is_one_id {
        true => "all have the same id, so give the path of one",
        false => "give more of the id, or the path",
    };
    let shown = listed(called, names, MAX_CANDIDATES, |one, short_id| {
        let title = one.title.as_deref().unwrap_or_default();
        let id = if is_one_id { "" } else { short_id };
        format!("{id} {} {title}", one.path).trim().to_owned()
    });
    let more = called.len().saturating_sub(MAX_CANDIDATES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let why = format!(
        "{} sessions are called {:?}; {advice}: {}{more}",
        called.len(),
        name.chars().take(MAX_TYPED + 1).collect::<String>(),
        shown.join("; ")
    );
    Error::Query { query: name.to_owned(), code: "ambiguous", why }
}

/// Returns the note that there is no such session, with those whose names are similar.
pub(super) fn unknown(name: &str, names: &[SessionName]) -> String {
    let name: String = name.chars().take(MAX_TYPED + 1).collect();
    let typed = (name.chars().count() <= MAX_TYPED)
        .then(|| Levenshtein::new(&name, MAX_TYPOS.min(name.len() as u32 / 3)).ok())
        .flatten();
    let near: Vec<_> = names.iter().filter(|one| one.is_near(&name, typed.as_ref())).collect();
    let near = listed(&near, names, MAX_SUGGESTIONS, |one, short_id| {
        let title = one.title.as_deref().unwrap_or(&one.path);
        format!("{short_id} ({title})")
    });
    let few = match name.chars().count() < MIN_ID {
        true => format!("; an id needs {MIN_ID} or more characters"),
        false => String::new(),
    };
    match &*near {
        [] => format!("no session {name:?}{few}; `commonplace sessions` lists their ids"),
        near => format!("no session {name:?}{few}; did you mean {}?", near.join(" or ")),
    }
}

/// Returns the first of some sessions as text, with their short ids.
fn listed(
    some: &[&SessionName],
    all: &[SessionName],
    most: usize,
    shown: impl Fn(&SessionName, &str) -> String,
) -> Vec<String> {
    let lengths = short_id_lengths(all.iter().map(|one| &*one.id));
    let text = |one: &&SessionName| {
        let id = distinct(&one.id);
        let short_id: String = id.chars().take(lengths.get(id).copied().unwrap_or(0)).collect();
        shown(one, &short_id)
    };
    some.iter().take(most).map(text).collect()
}
