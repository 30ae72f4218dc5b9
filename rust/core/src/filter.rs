//! Search filter: which documents a search, and which lines a grep, may find.
//!
//! One type from the command line to the core. A new filter is a field of [`SearchFilter`] and a
//! line of [`SearchFilter::admits_fields`]; CONTRIBUTING.md has the other steps.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;
use crate::files::root::Root;

/// The names of the fields for callers, by which a query is told that it meant one of them.
pub const FIELD_NAMES: [&str; 9] =
    ["prefix", "source", "since", "until", "role", "session", "category", "exclude", "tools"];

/// Which documents may be found: those that pass every field that is set.
///
/// A document is a section of a note or a message of a transcript; grep has messages and the lines
/// of notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Folders and files, of which one must hold the document; none for all.
    pub prefixes: Vec<String>,
    /// Only notes, or only transcripts.
    pub kind: Option<FileKind>,
    /// Not before, in milliseconds since 1970; what has no time does not pass. Of a section it is
    /// the date in the metadata of the note.
    pub since: Option<i64>,
    /// Before, in milliseconds since 1970; as `since`.
    pub until: Option<i64>,
    /// Only messages of this role.
    pub role: Option<String>,
    /// Only messages of this session.
    pub session: Option<String>,
    /// Transcripts of that session whose messages do not say so; `Store::resolve_sessions` finds
    /// them.
    pub session_transcripts: Vec<String>,
    /// Only sections of this category; grep refuses it, for it reads lines.
    pub category: Option<String>,
    /// Lines that are left out, such as those that are still in an agent's context; grep refuses
    /// it, for it counts lines later.
    pub exclude: Vec<ExcludedLines>,
    /// Whether what went into and came out of tools is searched too.
    pub tools: bool,
    /// Predicates of the caller, which all must hold.
    pub predicates: Vec<FieldPredicate>,
}

/// Lines of a file, or of a session, that are left out of an answer. All lines of a session are those
/// of each file that names it; some are those of its own transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedLines {
    /// The path of the file or of a folder above it, or the id of the session.
    pub of: String,
    /// The first line, from 1.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

impl ExcludedLines {
    /// Whether all lines are left out, whichever file they are in.
    pub fn is_whole(&self) -> bool {
        self.first == 1 && self.last >= i64::MAX as u64
    }

    fn holds(&self, doc: &impl FilterFields) -> bool {
        (self.first..=self.last).contains(&doc.line())
            && (is_below(doc.path(), &self.of) || doc.session() == self.of)
    }
}

/// The fields of a document that a filter compares; empty text where there is none.
pub trait FilterFields {
    /// The file, relative to the root.
    fn path(&self) -> &str;

    /// The time, in milliseconds since 1970.
    fn timestamp_ms(&self) -> Option<i64> {
        None
    }

    /// The line where it begins, from 1; 0 where lines are not counted.
    fn line(&self) -> u64 {
        0
    }

    /// The role of who speaks.
    fn role(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// The session of the message.
    fn session(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// The category of the section.
    fn category(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// Returns whether the role is this one; as the next two, for who compares faster than text.
    fn has_role(&self, role: &str) -> bool {
        self.role() == role
    }

    /// Returns whether the session is this one.
    fn has_session(&self, session: &str) -> bool {
        self.session() == session
    }

    /// Returns whether the category is this one.
    fn has_category(&self, category: &str) -> bool {
        self.category() == category
    }
}

/// The type of the function of a [`FieldPredicate`].
type Predicate = dyn Fn(&dyn FilterFields) -> bool + Send + Sync;

/// A predicate over the fields of a document; equal to its own clones only.
#[derive(Clone)]
pub struct FieldPredicate(Arc<Predicate>);

impl FieldPredicate {
    /// Wraps a function, which must answer the same for the same fields.
    pub fn new(predicate: impl Fn(&dyn FilterFields) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(predicate))
    }
}

impl fmt::Debug for FieldPredicate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("FieldPredicate")
    }
}

impl PartialEq for FieldPredicate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FieldPredicate {}

impl SearchFilter {
    /// Returns whether a document passes.
    pub fn admits(&self, doc: &impl FilterFields) -> bool {
        self.admits_file(doc.path()) && self.admits_fields(doc)
    }

    /// Returns whether documents of this file may pass.
    pub fn admits_file(&self, path: &str) -> bool {
        (self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| is_below(path, prefix)))
            && self.kind.is_none_or(|kind| FileKind::of(path) == kind)
    }

    /// Returns whether a document of a file that is admitted passes.
    #[inline]
    pub fn admits_fields(&self, doc: &impl FilterFields) -> bool {
        let in_time = |time: i64| {
            self.since.is_none_or(|since| time >= since)
                && self.until.is_none_or(|until| time < until)
        };
        (self.since.is_none() && self.until.is_none() || doc.timestamp_ms().is_some_and(in_time))
            && self.role.as_ref().is_none_or(|role| doc.has_role(role))
            && self.session.as_ref().is_none_or(|session| {
                doc.has_session(session)
                    || self.session_transcripts.iter().any(|path| path == doc.path())
            })
            && self.category.as_ref().is_none_or(|category| doc.has_category(category))
            && !self.exclude.iter().any(|lines| lines.holds(doc))
            && self.predicates.iter().all(|predicate| (predicate.0)(doc))
    }

    /// Returns whether every document passes.
    pub fn is_open(&self) -> bool {
        let everywhere = self.prefixes.is_empty() || self.prefixes.iter().any(|p| is_below("", p));
        everywhere && self.kind.is_none() && !self.has_fields()
    }

    /// Returns whether any field of a document matters, and not its file alone.
    pub fn has_fields(&self) -> bool {
        // whatever field is added, it counts
        let fields = Self { prefixes: Vec::new(), kind: None, tools: false, ..self.clone() };
        fields != Self::default()
    }

    /// Returns the filter with its paths as they are stored below `root`.
    ///
    /// # Errors
    /// [`Error::Refused`] for an absolute path that is not in it.
    pub fn normalized(mut self, root: &Root) -> Result<Self> {
        let stored = |path: &str| -> Result<String> {
            Ok(root.normalized(&root.relative_folder(path)?).into_owned())
        };
        for prefix in &mut self.prefixes {
            *prefix = stored(prefix)?;
        }
        // what is no path may be a session, whose id stays as it is
        for at in 0..self.exclude.len() {
            let of = stored(&self.exclude[at].of)?;
            if of != self.exclude[at].of {
                self.exclude.push(ExcludedLines { of, ..self.exclude[at].clone() });
            }
        }
        Ok(self)
    }

    /// Checks that there is a document that could pass.
    ///
    /// # Errors
    /// [`Error::Query`] with code `filter`.
    pub fn check(&self) -> Result<()> {
        let texts =
            [("role", &self.role), ("session", &self.session), ("category", &self.category)];
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.as_deref() == Some("")) {
            return Err(refused(name, "the text is empty; leave it out to find any"));
        }
        let is_wrong = |lines: &&ExcludedLines| {
            lines.of.is_empty() || !(1..=lines.last).contains(&lines.first)
        };
        if let Some(ExcludedLines { of, first, last }) = self.exclude.iter().find(is_wrong) {
            let why = "name a path or a session, its first line from 1, and its last line";
            return Err(refused(&format!("exclude {of:?} {first}-{last}"), why));
        }
        match (self.since, self.until) {
            (Some(since), Some(until)) if since >= until => {
                let why = "no time is at or after the one and before the other; swap them";
                Err(refused("since, until", why))
            }
            _ => Ok(()),
        }
    }

    /// Checks that every field that is set is one that messages and lines of notes have.
    ///
    /// # Errors
    /// [`Error::Query`] with code `filter`.
    pub fn check_for_lines(&self) -> Result<()> {
        self.check()?;
        if self.category.is_some() {
            let why = "grep reads lines, and only sections have a category; use search";
            return Err(refused("category", why));
        }
        if !self.exclude.is_empty() {
            let why = "grep counts lines only where they match; use search";
            return Err(refused("exclude", why));
        }
        Ok(())
    }
}

fn refused(fields: &str, why: &str) -> Error {
    Error::Query { query: fields.to_owned(), code: "filter", why: why.to_owned() }
}
