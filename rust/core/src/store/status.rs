//! Listing of files with their counts, and the status of a store.

use crate::catalog::extract;
use crate::catalog::file_reader::read_note;
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;
use crate::files::root::Stat;
use crate::messages::redaction::Redactions;
use crate::store::Store;
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
        let mut entries = Vec::new();
        for file in state.main.files.iter().filter(|f| f.present && is_below(&f.path, prefix)) {
            entries.push(FileEntry {
                path: file.path.clone(),
                size: file.stat.size,
                modified_ns: file.stat.mtime_ns,
                kind: file.kind,
                summary: Some(state.main.labels.text(file.summary))
                    .filter(|summary| !summary.is_empty() && file.kind == FileKind::Note)
                    .map(str::to_owned),
            });
        }
        let unread = |path: &&String| {
            is_below(path, prefix) && !state.main.file(path).is_some_and(|file| file.present)
        };
        for path in state.unreadable.keys().filter(unread) {
            let stat = match self.root().stat(path) {
                Err(Error::NotFound { .. } | Error::Refused { .. }) => continue,
                stat => stat?,
            };
            entries.push(FileEntry {
                path: path.clone(),
                size: stat.size,
                modified_ns: stat.mtime_ns,
                kind: FileKind::of(path),
                summary: None,
            });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
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

    /// Returns whether a file is `prefix` or lies below it; the index is not asked.
    ///
    /// # Errors
    /// [`Error::Io`] when the files cannot be listed; [`Error::Interrupted`].
    pub fn holds(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        Ok(!self.files_at(&self.root().normalized(prefix), interrupt)?.is_empty())
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
                status.archived_messages += archived.messages;
                continue;
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
