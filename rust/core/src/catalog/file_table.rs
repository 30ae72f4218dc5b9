//! File table: path, stat, read progress and documents of each file; its comparison with a walk.

use crate::catalog::{Catalog, DocIds};
use crate::files::file_kind::FileKind;
use crate::files::root::Stat;
use crate::messages::formats::copies_of;
use crate::messages::message::ParsedLine;

/// File metadata: one entry of the file table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMeta {
    /// Relative path.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// The stamps it had when it was read, or [`untrusted`] ones.
    pub stat: Stat,
    /// What a note says of itself in one line, or the session record of a transcript, as a label.
    pub summary: u32,
    /// How far a transcript was read, so that only what was appended is read next time; of a note
    /// the conflict markers alone.
    pub progress: ReadProgress,
    /// Its documents.
    pub documents: DocIds,
    /// Why nothing of it is in the index, when that is so: `encoding`, `large`, `memory`.
    pub left_out: Option<&'static str>,
    /// Whether the index holds only some of it, for want of memory.
    pub cut: bool,
    /// Bytes that were missing to read more of it.
    pub needs: u64,
    /// False for a file that is gone; its place is taken again by the next new file.
    pub present: bool,
}

impl FileMeta {
    /// A file of which nothing was read yet.
    pub(super) fn new(path: String) -> Self {
        Self {
            kind: FileKind::of(&path),
            path,
            stat: Stat::default(),
            summary: 0,
            progress: ReadProgress::default(),
            documents: DocIds::default(),
            left_out: None,
            cut: false,
            needs: 0,
            present: true,
        }
    }
}

/// Read progress of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadProgress {
    /// End of the last whole line.
    pub offset: u64,
    /// Whole lines before that.
    pub lines: u32,
    /// Lines among them that could not be read.
    pub bad_lines: u32,
    /// Lines among those that were too long.
    pub long_lines: u32,
    /// Messages among the lines that have no text in the corpus of the catalog.
    pub textless: u32,
    /// Lines that are JSON and no message.
    pub records: u32,
    /// Messages of other transcripts that records stand for.
    pub copies: u32,
    /// Conflict markers of git: of a transcript those among the bad lines, also of a note.
    pub merge_markers: u32,
    /// The first line, from 1, that is a conflict marker, or is bad and not too long; 0 for none.
    pub first_bad_line: u32,
    /// Hash of the bytes just before `offset`.
    pub tail: u64,
}

impl ReadProgress {
    /// Counts a whole line.
    pub(super) fn count(&mut self, kind: &ParsedLine<bool>, line: &[u8]) {
        match kind {
            ParsedLine::Message(has_text) => self.textless += u32::from(!has_text),
            ParsedLine::Other => {
                self.records += 1;
                self.copies = self.copies.saturating_add(copies_of(line));
            }
            ParsedLine::Blank => {}
            ParsedLine::Bad => self.bad_lines += 1,
        }
    }
}

impl Catalog {
    /// Compares what a walk of a folder saw, in order of paths, with what was read.
    ///
    /// Returns the places in `seen` that are new or changed, and the paths that are gone.
    pub fn compare(&self, seen: &[(String, Stat)], folder: &str) -> (Vec<usize>, Vec<String>) {
        let is_below = |path: &str| {
            let rest = path.strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let sorted = &self.files[..self.sorted];
        let start = sorted.partition_point(|file| file.path.as_str() < folder);
        let mut known = sorted[start..].iter().filter(|file| file.present).peekable();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for (at, (path, stat)) in seen.iter().enumerate() {
            // both are in order, so one step finds the pair
            while let Some(file) = known.next_if(|file| file.path < *path) {
                gone.extend(is_below(&file.path).then(|| file.path.clone()));
            }
            let sorted = known.next_if(|file| file.path == *path);
            let unsorted = || self.by_path.get(path).map(|&at| &self.files[at as usize]);
            let is_new = |file: &FileMeta| file.stat != *stat || self.is_newly_archived(file);
            if sorted.or_else(unsorted).is_none_or(is_new) {
                changed.push(at);
            }
        }
        let behind = known.take_while(|file| file.path.starts_with(folder));
        let unsorted = self.files[self.sorted..].iter().filter(|file| file.present);
        let unseen = |file: &&FileMeta| {
            seen.binary_search_by(|(path, _)| path.as_str().cmp(&file.path)).is_err()
        };
        let missing = behind.chain(unsorted.filter(unseen)).filter(|file| is_below(&file.path));
        gone.extend(missing.map(|file| file.path.clone()));
        (changed, gone)
    }
}
