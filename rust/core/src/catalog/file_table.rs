//! File table: path, stat, read progress and documents of each file; its comparison with a walk.

use crate::catalog::{Catalog, DocIds};
use crate::files::file_kind::FileKind;
use crate::files::root::Stat;

/// File metadata: one entry of the file table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMeta {
    /// Relative path.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// The stamps it had when it was read, or [`untrusted`] ones.
    pub stat: Stat,
    /// What a note says of itself in one line, or the title of a transcript's session, as a label.
    pub summary: u32,
    /// How far a transcript was read, so that only what was appended is read next time.
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
    /// Hash of the bytes just before `offset`.
    pub tail: u64,
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
            let loose = || self.by_path.get(path).map(|&at| &self.files[at as usize]);
            if sorted.or_else(loose).is_none_or(|file| file.stat != *stat) {
                changed.push(at);
            }
        }
        let behind = known.take_while(|file| file.path.starts_with(folder));
        let loose = self.files[self.sorted..].iter().filter(|file| file.present);
        let unseen = |file: &&FileMeta| {
            seen.binary_search_by(|(path, _)| path.as_str().cmp(&file.path)).is_err()
        };
        let missing = behind.chain(loose.filter(unseen)).filter(|file| is_below(&file.path));
        gone.extend(missing.map(|file| file.path.clone()));
        (changed, gone)
    }
}
