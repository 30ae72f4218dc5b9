//! Listing of files with their counts, and the status of a store.

use crate::catalog::file_reader::read_note;
use crate::catalog::{Catalog, FileMeta, extract};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;
use crate::files::root::Stat;
use crate::messages::redaction::Redactions;
use crate::store::{IndexState, Store};
use crate::text::encoding::as_text;

/// A file as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Relative path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// What it is.
    pub kind: FileKind,
    /// What a note says of itself in one line.
    pub summary: Option<String>,
}

/// Which files have changed since a revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// The revision up to which these are all.
    pub revision: u64,
    /// Whether no earlier revision was known, so that `changed` has all files.
    pub is_all: bool,
    /// The files that are new or have changed, by path.
    pub changed: Vec<FileEntry>,
    /// Paths at which no file is any longer.
    pub gone: Vec<String>,
}

/// Statistics of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Markdown files.
    pub notes: usize,
    /// Transcripts.
    pub transcripts: usize,
    /// Sections in the index; a long one counts once a part.
    pub sections: usize,
    /// Messages in the index: what people and models said.
    pub messages: usize,
    /// Further messages, of tools and of the harness only: they are found where these are searched.
    pub tool_messages: usize,
    /// Messages that other transcripts hold as well, stored and found there.
    pub copies: usize,
    /// Lines of transcripts that are JSON and no message.
    pub other_records: usize,
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
    /// Those of which the memory limit leaves out all or a part.
    pub over_limit: Vec<String>,
    /// How many secrets imports have replaced in the transcripts that are there, by kind.
    pub redactions: Redactions,
    /// Hidden folders, whose files are left out: those of git, of editors and of other programs.
    pub hidden: Vec<String>,
    /// Transcripts in the archive, which are counted as transcripts as well.
    pub archived: usize,
    /// Messages in the archive, which are not counted as messages.
    pub archived_messages: usize,
    /// Lines of transcripts that are no JSON, and conflict markers in notes.
    pub bad_line_count: u64,
    /// Where the first of these is in each file, and what to do, one sentence a file.
    pub bad_lines: Vec<String>,
    /// Copies that were made of texts which a crash had left half-way; they are files like others.
    pub recovered: Vec<String>,
}

impl Store {
    /// Returns the files that are `prefix` or lie below it, sorted by path; those that cannot be
    /// read as well.
    ///
    /// # Errors
    /// [`Error::Io`] when the files cannot be listed; [`Error::Interrupted`].
    pub fn list(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Vec<FileEntry>> {
        let prefix = &*self.root().normalized(prefix);
        if !self.is_indexed() {
            return self.list_unindexed(prefix, interrupt);
        }
        let mut state = self.refresh(interrupt)?;
        if state.check_error.is_some() {
            drop(state);
            self.root().walk("", interrupt)?;
            state = self.refresh(interrupt)?;
        }
        self.entries_below(&state, prefix)
    }

    /// Returns the files that have changed since a revision that this has returned; without one, or
    /// where it is too long ago, all files.
    ///
    /// # Errors
    /// As for [`Self::list`].
    pub fn changes(&self, since: Option<u64>, interrupt: Interrupt<'_>) -> Result<FileChanges> {
        let state = self.refresh(interrupt)?;
        let revision = state.main.changes.last();
        let Some(paths) = since.and_then(|since| state.main.changes.since(since)) else {
            let changed = self.entries_below(&state, "")?;
            return Ok(FileChanges { revision, is_all: true, changed, gone: Vec::new() });
        };
        let mut found = FileChanges { revision, ..FileChanges::default() };
        for path in paths {
            let entry = match state.main.file(path) {
                Some(file) => Some(entry(&state.main, file)),
                None if state.unreadable.contains_key(path) => self.unread_entry(path)?,
                None => None,
            };
            match entry {
                Some(entry) => found.changed.push(entry),
                None => found.gone.push(path.to_owned()),
            }
        }
        Ok(found)
    }

    /// Returns the files at and below a prefix, sorted by path.
    fn entries_below(&self, state: &IndexState, prefix: &str) -> Result<Vec<FileEntry>> {
        let files = state.main.files.iter().filter(|f| f.present && is_below(&f.path, prefix));
        let mut entries: Vec<FileEntry> = files.map(|file| entry(&state.main, file)).collect();
        let unread = |path: &&String| {
            is_below(path, prefix) && !state.main.file(path).is_some_and(|file| file.present)
        };
        for path in state.unreadable.keys().filter(unread) {
            entries.extend(self.unread_entry(path)?);
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Returns a file that cannot be read; `None` for one that is gone, or is no file by now.
    fn unread_entry(&self, path: &str) -> Result<Option<FileEntry>> {
        let stat = match self.root().stat(path) {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(None),
            stat => stat?,
        };
        let (size, modified_ns) = (stat.size, stat.mtime_ns);
        let (path, kind) = (path.to_owned(), FileKind::of(path));
        Ok(Some(FileEntry { path, size, modified_ns, kind, summary: None }))
    }

    /// Lists without the index, which would take longer to open than the notes to read.
    fn list_unindexed(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Vec<FileEntry>> {
        let recovered = self.files().recheck_if_due()?;
        if !recovered.is_empty() {
            self.write_state(interrupt)?.recovered.extend(recovered);
        }
        let files = self.files_at(prefix, interrupt)?;
        let entry = |(path, stat): (String, Stat)| {
            let kind = FileKind::of(&path);
            let summary = match kind {
                FileKind::Note => self.summary(&path, &stat, interrupt)?,
                _ => None,
            };
            let Stat { size, mtime_ns: modified_ns, .. } = stat;
            Ok(FileEntry { path, size, modified_ns, kind, summary })
        };
        let mut entries = files.into_iter().map(entry).collect::<Result<Vec<FileEntry>>>()?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Returns whether a file is `prefix` or lies below it.
    ///
    /// # Errors
    /// [`Error::Io`] when the files cannot be listed; [`Error::Interrupted`].
    pub fn holds(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        let prefix = &*self.root().normalized(prefix);
        // to look at a file that was there a moment ago is quicker than to list all
        if self.known_below(prefix).is_some_and(|path| self.root().stat(&path).is_ok()) {
            return Ok(true);
        }
        Ok(!self.files_at(prefix, interrupt)?.is_empty())
    }

    /// Returns a file at or below a prefix that an open index knows.
    fn known_below(&self, prefix: &str) -> Option<String> {
        let state = self.state.try_read().filter(|state| state.snapshot.is_some())?;
        let mut files = state.main.files.iter();
        files
            .find(|file| file.present && is_below(&file.path, prefix))
            .map(|file| file.path.clone())
    }

    /// Returns whether a transcript has tool traffic, as far as the index knew at the last call that
    /// asked it. Without an index: whether there is a transcript.
    ///
    /// # Errors
    /// [`Error::Io`] when the files cannot be listed; [`Error::Interrupted`].
    pub fn has_tool_messages(&self, interrupt: Interrupt<'_>) -> Result<bool> {
        if self.is_indexed() {
            let state = self.read_state(interrupt)?;
            let mut files = state.main.files.iter().filter(|file| file.present);
            return Ok(files.any(|file| file.progress.textless > 0));
        }
        let files = self.files_at("", interrupt)?;
        Ok(files.iter().any(|(path, _)| FileKind::of(path) == FileKind::Transcript))
    }

    fn files_at(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Vec<(String, Stat)>> {
        let prefix = prefix.trim_end_matches('/');
        if let Ok(stat) = self.root().stat(prefix) {
            return Ok(vec![(prefix.to_owned(), stat)]);
        }
        match self.root().walk(prefix, interrupt) {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => Ok(Vec::new()),
            walk => Ok(walk?.files),
        }
    }

    /// Returns the summary of a note, as far as it can be read.
    fn summary(&self, path: &str, stat: &Stat, interrupt: Interrupt<'_>) -> Result<Option<String>> {
        let allows = |more| self.limit.check("listing", more).is_ok();
        match read_note(self.root(), path, stat, &self.limit, &allows) {
            Ok(Ok(bytes)) => extract::summary(&as_text(&bytes), interrupt),
            _ => Ok(None),
        }
    }

    /// Returns the state of the store in numbers.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::Io`] for the log of redactions; [`Error::Interrupted`].
    pub fn status(&self, interrupt: Interrupt<'_>) -> Result<Status> {
        let state = self.refresh(interrupt)?;
        let mut status = Status {
            terms: state.main.index.used_words(),
            index_bytes: state.main.bytes(),
            snapshot: state.snapshot.clone().unwrap_or_default(),
            redactions: self.redactions(&state)?,
            recovered: state.recovered.clone(),
            ..Status::default()
        };
        for file in state.main.files.iter().filter(|file| file.present) {
            let (files, documents) = match file.kind {
                FileKind::Note => (&mut status.notes, &mut status.sections),
                FileKind::Transcript => (&mut status.transcripts, &mut status.messages),
                FileKind::Other => continue,
            };
            *files += 1;
            *documents += file.documents.len();
            status.text_bytes += file.stat.size;
            status.tool_messages += file.progress.textless as usize;
            status.copies += file.progress.copies as usize;
            status.other_records += file.progress.records as usize;
            status.bad_line_count += u64::from(file.bad_line_count());
            status.bad_lines.extend(file.bad_lines_note());
            if let Some(archived) = state.main.archived_file(file) {
                status.archived += 1;
                status.archived_messages += archived.messages();
                continue;
            }
            if file.lacks_memory() {
                status.over_limit.push(file.path.clone());
            }
            let left_out = file.left_out.map(|why| (file.path.clone(), why.to_owned()));
            let in_part =
                || Some((file.path.clone(), state.incomplete.get(&file.path)?.why.clone()));
            status.skipped.extend(left_out.or_else(in_part));
        }
        let left_out = state.skipped.iter().map(|(path, why)| (path.clone(), (*why).to_owned()));
        let unreadable = state.unreadable.iter().map(|(path, why)| (path.clone(), why.clone()));
        status.skipped.extend(left_out.chain(unreadable));
        status.skipped.sort();
        status.over_limit.sort_unstable();
        status.bad_lines.sort_unstable();
        // here and not by the caller, who may hold a lock that whoever has the watch waits for
        drop(state);
        status.hidden = self.root().hidden_folders(interrupt)?;
        let watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        status.watching = watch.is_some();
        drop(watch);
        Ok(status)
    }
}

/// Returns an indexed file as a listing shows it.
fn entry(catalog: &Catalog, file: &FileMeta) -> FileEntry {
    let summary = Some(catalog.labels.text(file.summary));
    let summary = summary.filter(|summary| !summary.is_empty() && file.kind == FileKind::Note);
    FileEntry {
        path: file.path.clone(),
        size: file.stat.size,
        modified_ns: file.stat.mtime_ns,
        kind: file.kind,
        summary: summary.map(str::to_owned),
    }
}
