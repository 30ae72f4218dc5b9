//! Lookup of sessions by what callers call them: path, folder, id, or the beginning of an id.
//!
//! The one home of that question: a filter, an exclusion, a field of a query and `find_session` ask
//! here. A grep is not to build an index, so the names are read from the first lines of the
//! transcripts where there is none.

use crate::catalog::Catalog;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;
use crate::filter::{ExcludedLines, FieldPredicate, SearchFilter};
use crate::messages::formats::{DESCRIBED_LINES, SessionRecord};
use crate::messages::line_reader::lines;
use crate::messages::message::{self, ParsedLine};
use crate::store::Store;
use crate::store::session_name::{SessionName, called, may_be_typed, unknown};
use crate::store::sessions::{Session, folder, folder_name};

/// Bytes of a transcript that tell its id: the session record and the first message.
const HEAD: u64 = 256 << 10;

/// What a name stands for in a filter.
enum Meaning {
    /// A session by its full id, with its transcripts.
    Session(String, Vec<SessionName>),
    /// The messages of one transcript.
    Transcript(SessionName),
    /// Nothing; the note says so.
    Unknown(String),
}

impl Store {
    /// Returns the session that is called so: by its path or folder, whole or the end of it, its id,
    /// or four or more characters with which only its id begins. Case is ignored where nothing is
    /// called exactly so. None where there is no such session.
    ///
    /// # Errors
    /// [`Error::Query`] with code `ambiguous`; [`Error::Interrupted`].
    pub fn find_session(&self, name: &str, interrupt: Interrupt<'_>) -> Result<Option<Session>> {
        self.look_up(name, interrupt).map(std::result::Result::ok)
    }

    /// As [`Self::find_session`], for a session that is expected to be there.
    ///
    /// # Errors
    /// [`Error::Query`] with code `session`, which names similar ones; those of
    /// [`Self::find_session`].
    pub fn session(&self, name: &str, interrupt: Interrupt<'_>) -> Result<Session> {
        self.look_up(name, interrupt)?.map_err(|why| Error::Query {
            query: name.to_owned(),
            code: "session",
            why,
        })
    }

    /// Returns a session, or the note that there is none.
    fn look_up(
        &self,
        name: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<std::result::Result<Session, String>> {
        let name = &*self.root().relative_folder(name).unwrap_or_else(|_| name.into());
        let sessions = self.every_session(interrupt)?;
        let is_in_messages = self.refresh(interrupt)?.main.labels.get(name).is_some();
        let names: Vec<SessionName> = sessions.iter().map(|session| session.into()).collect();
        let Some(called) = called(&names, name, is_in_messages)? else {
            return Ok(Err(unknown(name, &names)));
        };
        let found = sessions.iter().find(|session| session.path == called.path);
        Ok(found.cloned().ok_or_else(|| unknown(name, &names)))
    }

    /// Returns a filter with its paths as they are stored and its sessions by their full ids, and
    /// notes about sessions that there are not.
    ///
    /// # Errors
    /// [`Error::Query`] with code `ambiguous`, or `filter` for a session outside the prefixes;
    /// [`Error::Refused`] for an absolute path that is not in the root; [`Error::Interrupted`].
    pub fn resolve_sessions(
        &self,
        filter: SearchFilter,
        interrupt: Interrupt<'_>,
    ) -> Result<(SearchFilter, Vec<String>)> {
        self.resolve(filter, true, interrupt)
    }

    /// As [`Self::resolve_sessions`], and reads the first lines of transcripts where there is no
    /// index yet.
    pub(super) fn resolve_sessions_unindexed(
        &self,
        filter: SearchFilter,
        interrupt: Interrupt<'_>,
    ) -> Result<(SearchFilter, Vec<String>)> {
        self.resolve(filter, self.is_indexed(), interrupt)
    }

    fn resolve(
        &self,
        filter: SearchFilter,
        indexed: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<(SearchFilter, Vec<String>)> {
        let mut notes = Vec::new();
        let given = filter.exclude.clone();
        let mut filter = filter.normalized(self.root())?;
        if let Some(role) = filter.role.as_deref().filter(|_| indexed && !filter.tools) {
            notes.extend(unknown_role(&self.refresh(interrupt)?.main, role));
        }
        if let Some(name) = filter.session.take() {
            match self.meaning(&name, indexed, interrupt)? {
                Meaning::Session(id, transcripts) => {
                    check_below(&name, &transcripts, &filter.prefixes)?;
                    let whole = transcripts.into_iter().filter(|one| one.is_whole);
                    filter.session_transcripts = whole.map(|one| one.path).collect();
                    filter.session = Some(id);
                }
                Meaning::Transcript(one) => {
                    check_below(&name, std::slice::from_ref(&one), &filter.prefixes)?;
                    filter.prefixes = vec![one.path];
                }
                Meaning::Unknown(note) => {
                    notes.push(note);
                    filter.session = Some(name);
                }
            }
        }
        for lines in given {
            if self.is_path(&lines.of, interrupt)? {
                continue;
            }
            let of = |of: String| ExcludedLines { of, ..lines.clone() };
            match self.meaning(&lines.of, indexed, interrupt)? {
                Meaning::Session(id, transcripts) if lines.is_whole() => {
                    let whole = transcripts.into_iter().filter(|one| one.is_whole);
                    filter.exclude.extend(whole.map(|one| of(one.path)));
                    filter.exclude.push(of(id));
                }
                // line numbers are those of one file: the others of this id keep their lines
                Meaning::Session(id, transcripts) => match called(&transcripts, &id, true)? {
                    None => filter.exclude.push(of(id)),
                    Some(own) => {
                        filter.exclude.retain(|one| *one != lines);
                        match own.is_whole {
                            true => filter.exclude.push(of(own.path.clone())),
                            false => filter.predicates.push(outside(own.path.clone(), id, &lines)),
                        }
                    }
                },
                Meaning::Transcript(one) => filter.exclude.push(of(one.path)),
                Meaning::Unknown(note) if may_be_typed(&lines.of) => notes.push(note),
                Meaning::Unknown(_) => {}
            }
        }
        if indexed {
            let copies = self.excluded_copies(&filter.exclude, interrupt)?;
            filter.exclude.extend(copies);
        }
        Ok((filter, notes))
    }

    fn is_path(&self, of: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        let path = self.root().relative_folder(of)?;
        self.holds(&path, interrupt)
    }

    fn meaning(&self, name: &str, indexed: bool, interrupt: Interrupt<'_>) -> Result<Meaning> {
        let (names, is_in_messages) = match indexed {
            true => {
                let catalog = &self.refresh(interrupt)?.main;
                let is_in_messages = catalog.labels.get(name).is_some();
                // that is most often so, and then few records need to be read
                let may_be = |record: &str| !is_in_messages || record.contains(name);
                (indexed_names(catalog, may_be), is_in_messages)
            }
            false => (self.names_in_files(interrupt)?, false),
        };
        let of_id = |id: &str| {
            let same = names.iter().filter(|one| one.id == id);
            Meaning::Session(id.to_owned(), same.cloned().collect())
        };
        // several transcripts may have one id
        if is_in_messages || names.iter().any(|one| one.id == name) {
            return Ok(of_id(name));
        }
        let name = &*self.root().relative_folder(name).unwrap_or_else(|_| name.into());
        Ok(match called(&names, name, false)? {
            None => Meaning::Unknown(unknown(name, &names)),
            Some(one) if one.is_found_by_id(name) => of_id(&one.id),
            Some(one) => Meaning::Transcript(one.clone()),
        })
    }

    /// Reads the names of all sessions from the first lines of their transcripts.
    fn names_in_files(&self, interrupt: Interrupt<'_>) -> Result<Vec<SessionName>> {
        let files = self.root().walk("", interrupt)?.files.into_iter();
        let transcripts = files.filter(|(path, _)| FileKind::of(path) == FileKind::Transcript);
        let mut names = Vec::new();
        for (path, _) in transcripts {
            match self.name_in_file(&path, interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // it cannot be read, or is gone: the grep says so
                found => names.extend(found.ok().flatten()),
            }
        }
        Ok(names)
    }

    fn name_in_file(&self, path: &str, interrupt: Interrupt<'_>) -> Result<Option<SessionName>> {
        let file = self.root().open_read(path)?;
        let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
        let mut record = SessionRecord::default();
        let (mut number, mut has_messages) = (0, false);
        lines(&file, path, 0..size.min(HEAD), HEAD as usize, interrupt, &mut |_, bytes, whole| {
            number += 1;
            if whole && number <= DESCRIBED_LINES && !(has_messages && record.header.id.is_some()) {
                record.take_line(number, bytes);
                has_messages |= matches!(message::parse(bytes), ParsedLine::Message(_));
            }
        })?;
        let SessionRecord { header, is_written } = record;
        let is_session = has_messages || is_written;
        let (id, title) = (header.id.filter(|id| !id.is_empty()), header.title);
        let is_whole = is_written || id.is_none();
        let id = id.unwrap_or_else(|| folder_name(path).to_owned());
        Ok(is_session.then(|| SessionName { path: path.to_owned(), id, title, is_whole }))
    }
}

/// Returns the names of the sessions whose records may be meant.
fn indexed_names(catalog: &Catalog, may_be: impl Fn(&str) -> bool) -> Vec<SessionName> {
    let transcripts = catalog.files.iter().filter(|file| file.present);
    let transcripts = transcripts.filter(|file| file.kind == FileKind::Transcript);
    let named = transcripts.filter_map(|file| {
        let text = catalog.labels.text(file.summary);
        let session = may_be(text).then(|| Session::of(catalog, file)).flatten()?;
        let record = SessionRecord::parse(text);
        let is_whole = record.is_written || session.id == folder_name(&session.path);
        Some(SessionName { is_whole, ..SessionName::from(&session) })
    });
    named.collect()
}

/// Returns the note that no message has a role, with those of the usual roles that there are; a
/// usual one may be that of tool traffic, which is not indexed here.
fn unknown_role(catalog: &Catalog, role: &str) -> Option<String> {
    let is_known = |role: &str| catalog.labels.get(role).is_some();
    let usual = ["user", "assistant", "tool", "system", "developer"];
    let there: Vec<&str> = usual.into_iter().filter(|role| is_known(role)).collect();
    (!is_known(role) && !usual.contains(&role) && !there.is_empty())
        .then(|| format!("no message has the role {role:?}; there are {}", there.join(", ")))
}

/// Returns the predicate that a document is not one of these lines of a session in a transcript, which
/// may hold others.
fn outside(path: String, session: String, lines: &ExcludedLines) -> FieldPredicate {
    let range = lines.first..=lines.last;
    FieldPredicate::new(move |doc| {
        !range.contains(&doc.line()) || doc.path() != path || doc.session() != session
    })
}

/// Refuses prefixes that leave nothing of a session.
fn check_below(name: &str, transcripts: &[SessionName], prefixes: &[String]) -> Result<()> {
    let overlaps = |one: &SessionName| {
        let meets =
            |prefix: &String| is_below(&one.path, prefix) || is_below(prefix, folder(&one.path));
        prefixes.iter().any(meets)
    };
    match transcripts {
        [first, ..] if !prefixes.is_empty() && !transcripts.iter().any(overlaps) => {
            let (path, places) = (&first.path, prefixes.join(" or "));
            let why = format!("the session is {path}, which is not below {places}");
            Err(Error::Query { query: name.to_owned(), code: "filter", why })
        }
        _ => Ok(()),
    }
}
