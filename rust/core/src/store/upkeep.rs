//! What a store says of itself: its files, its sections, its numbers.

use crate::catalog::draft::Kind;
use crate::catalog::footprint::parsing_bytes;
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::search::is_below;
use crate::store::Store;
use crate::text::sections::{Note, as_text, parse_unless};

/// A file as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// What it is.
    pub kind: Kind,
    /// What a note says of itself in one line.
    pub summary: Option<String>,
}

/// The state of a store in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Markdown files.
    pub notes: usize,
    /// Transcripts.
    pub transcripts: usize,
    /// Sections in the index; a long one counts once a part.
    pub sections: usize,
    /// Messages in the index.
    pub messages: usize,
    /// Different terms that some document holds.
    pub terms: usize,
    /// Bytes of the files that are indexed.
    pub text_bytes: u64,
    /// Bytes of memory that the index takes.
    pub index_bytes: usize,
    /// Whether the system reports changes.
    pub watching: bool,
    /// What became of the snapshot when the index was opened: `read`, `built` or why `rebuilt`.
    pub snapshot: String,
    /// Files that were left out or could not be read, and why.
    pub skipped: Vec<(String, String)>,
    /// Copies that were made of texts which a crash had left half-way; they are files like others.
    pub recovered: Vec<String>,
}

impl Store {
    /// Returns the files that are `prefix` or lie below it, sorted by path; those that cannot be
    /// read as well.
    ///
    /// # Errors
    /// [`Error::Io`] when the files cannot be looked at; [`Error::Interrupted`].
    pub fn list(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Vec<Entry>> {
        let prefix = &*self.root().spelled(prefix);
        let mut state = self.fresh(interrupt)?;
        if state.unchecked.is_some() {
            drop(state);
            self.root().walk("", interrupt)?;
            state = self.fresh(interrupt)?;
        }
        let mut entries = Vec::new();
        for file in state.said.files.iter().filter(|f| f.present && is_below(&f.path, prefix)) {
            entries.push(Entry {
                path: file.path.clone(),
                size: file.stat.size,
                modified_ns: file.stat.mtime_ns,
                kind: file.kind,
                summary: Some(state.said.labels.text(file.summary))
                    .filter(|summary| !summary.is_empty())
                    .map(str::to_owned),
            });
        }
        let unread = |path: &&String| {
            is_below(path, prefix) && !state.said.file(path).is_some_and(|file| file.present)
        };
        for path in state.unreadable.keys().filter(unread) {
            let stat = match self.root().stat(path) {
                Err(Error::NotFound { .. } | Error::Refused { .. }) => continue,
                stat => stat?,
            };
            entries.push(Entry {
                path: path.clone(),
                size: stat.size,
                modified_ns: stat.mtime_ns,
                kind: Kind::of(path),
                summary: None,
            });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Returns the text of a note, as long as its bytes, and its sections.
    ///
    /// # Errors
    /// Those of [`Root::read`](crate::files::root::Root::read); [`Error::Format`] for what is no
    /// note; [`Error::Interrupted`].
    pub fn sections(&self, path: &str, interrupt: Interrupt<'_>) -> Result<(String, Note)> {
        if Kind::of(path) != Kind::Note {
            let why = "only Markdown has sections; read a transcript by its lines".to_owned();
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        let bytes = self.root().read(&self.root().spelled(path))?;
        let needed = parsing_bytes(&bytes);
        self.limit.check(&format!("reading the sections of {path:?}"), needed)?;
        let text = as_text(&bytes).into_owned();
        let note = parse_unless(&text, interrupt)?;
        Ok((text, note))
    }

    /// Returns the state of the store in numbers.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn status(&self, interrupt: Interrupt<'_>) -> Result<Status> {
        let state = self.fresh(interrupt)?;
        let mut status = Status {
            terms: state.said.index.used_words(),
            index_bytes: state.said.bytes(),
            snapshot: state.snapshot.clone().unwrap_or_default(),
            recovered: state.recovered.clone(),
            ..Status::default()
        };
        for file in state.said.files.iter().filter(|file| file.present) {
            let (files, documents) = match file.kind {
                Kind::Note => (&mut status.notes, &mut status.sections),
                Kind::Transcript => (&mut status.transcripts, &mut status.messages),
                Kind::Other => continue,
            };
            *files += 1;
            *documents += file.documents.len();
            status.text_bytes += file.stat.size;
            let left_out = file.left_out.map(|why| (file.path.clone(), why.to_owned()));
            let in_part =
                || Some((file.path.clone(), state.incomplete.get(&file.path)?.why.clone()));
            status.skipped.extend(left_out.or_else(in_part));
        }
        let left_out = state.skipped.iter().map(|(path, why)| (path.clone(), (*why).to_owned()));
        let unreadable = state.unreadable.iter().map(|(path, why)| (path.clone(), why.clone()));
        status.skipped.extend(left_out.chain(unreadable));
        status.skipped.sort();
        // here and not by the caller, who may hold a lock that whoever has the watch waits for
        drop(state);
        let watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        status.watching = watch.is_some();
        drop(watch);
        Ok(status)
    }
}
