//! Files ↔ documents: which file holds which documents, and how the two stay in step.
//!
//! The catalog is the index's other half. It reads a file, compares what it drafts with what the
//! index holds of it, and changes only the difference.

mod bulk;
pub(crate) mod cache;
mod comparison;
pub mod draft;
mod edited;
pub(crate) mod footprint;
pub(crate) mod reading;
mod repack;
pub mod rows;
pub mod shortfall;
pub mod snapshot;
mod update;

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use crate::catalog::rows::{Documents, NO_TIME, Row, Rows};

use crate::catalog::draft::{Kind, Part};
use crate::files::root::Stat;
use crate::files::stamps::Clock;
use crate::index::Index;
use crate::index::bm25f::Weights;
use crate::index::packing::{loose_bytes, packing_bytes};
use crate::index::paged::Kept;
use crate::index::terms::Terms;
use crate::memory_limit::MemoryLimit;
use crate::sync::Mutex;

/// One file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Relative path.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The stamps it had when it was read, or [`untrusted`] ones.
    pub stat: Stat,
    /// What a note says of itself in one line, as a label.
    pub summary: u32,
    /// How far a transcript was read, so that only what was appended is read next time.
    pub seen: Seen,
    /// Its documents.
    pub documents: Documents,
    /// Why nothing of it is in the index, when that is so: `encoding`, `large`, `memory`.
    pub left_out: Option<&'static str>,
    /// Whether the index holds only some of it, for want of memory.
    pub cut: bool,
    /// Bytes that were missing to read more of it.
    pub needs: u64,
    /// False for a file that is gone; its place is taken again by the next new file.
    pub present: bool,
}

impl FileRow {
    /// A file of which nothing was read yet.
    fn new(path: String) -> Self {
        Self {
            kind: Kind::of(&path),
            path,
            stat: Stat::default(),
            summary: 0,
            seen: Seen::default(),
            documents: Documents::default(),
            left_out: None,
            cut: false,
            needs: 0,
            present: true,
        }
    }
}

/// How far a transcript was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
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

/// See the module.
#[derive(Debug)]
pub struct Catalog {
    /// The index.
    pub index: Index,
    /// One row a document number.
    pub rows: Rows,
    /// Files by place.
    pub files: Vec<FileRow>,
    /// So many of `files`, from the first, are in order of their paths.
    sorted: usize,
    /// Trails, roles, sessions and categories.
    pub labels: Terms,
    /// The places of the files behind those in order.
    by_path: FxHashMap<String, u32>,
    /// The places among them of files that are gone.
    free: Vec<u32>,
    /// The snapshot, while some of it may still be there only.
    kept: Option<Arc<Kept>>,
    /// Whether it was found not to hold what the files say.
    untrue: bool,
    /// Whether some of it came of a snapshot, which need not be true.
    from_snapshot: bool,
    /// Files of which it was found to be true then.
    pub(crate) proven: FxHashSet<String>,
    /// Documents of which the line was found to be right.
    pub(crate) lined: Mutex<FxHashSet<u32>>,
    part: Part,
    /// Whether some packed documents have changed places in their file.
    shuffled: bool,
    /// How finely stamps are kept.
    pub(crate) clock: Clock,
    /// How much memory it may take.
    limit: MemoryLimit,
    /// Bytes read since the last snapshot: what the next opening would have to read again.
    pub redone: u64,
    /// The packing that was begun and not waited for.
    packing: Option<repack::Packing>,
    /// How often it was packed: each time documents and terms are numbered anew.
    pub packings: u64,
    /// Another number, of this process, each time that what it holds of any file has changed.
    pub revision: u64,
}

impl Catalog {
    /// Makes an empty catalog.
    pub fn new(weights: Weights, part: Part) -> Self {
        let mut labels = Terms::default();
        // the empty label has number 0 everywhere
        labels.intern("");
        Self {
            index: Index::new(weights),
            rows: Rows::default(),
            files: Vec::new(),
            sorted: 0,
            labels,
            by_path: FxHashMap::default(),
            free: Vec::new(),
            kept: None,
            untrue: false,
            from_snapshot: false,
            proven: FxHashSet::default(),
            lined: Mutex::default(),
            part,
            shuffled: false,
            clock: Clock::default(),
            limit: MemoryLimit::default(),
            redone: 0,
            packing: None,
            packings: 0,
            revision: update::next_revision(),
        }
    }

    /// Says whether it must be built anew: a part of its snapshot turned out to be lost, or it was
    /// found not to hold what the files say.
    pub fn is_damaged(&self) -> bool {
        self.untrue || self.kept.as_ref().is_some_and(|kept| kept.is_damaged())
    }

    /// Says whether a part of its snapshot is lost: what is missing was never said to be there.
    pub fn is_lost(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.is_lost())
    }

    /// Says whether what it says of a file is known to be true.
    pub fn is_proven(&self, path: &str) -> bool {
        !self.from_snapshot || self.proven.contains(path)
    }

    /// Takes it for damaged, wherever it came from.
    pub fn distrust(&mut self) {
        self.untrue = true;
    }

    /// Takes the snapshot for damaged, as what it says turned out to be untrue; returns whether
    /// there is one.
    pub fn reject(&self) -> bool {
        self.kept.as_ref().inspect(|kept| kept.reject()).is_some()
    }

    /// Takes stamps to be no finer than those of `clock`.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Takes no more memory than a limit allows.
    #[must_use]
    pub fn with_limit(self, limit: MemoryLimit) -> Self {
        limit.hold(self.part as usize, 0);
        Self { limit, ..self }
    }

    /// Tells the other parts of the store how much memory it may need.
    fn note_held(&self) {
        let (packing, loose) = self.needs_to_pack();
        self.limit.hold(self.part as usize, packing + loose);
    }

    /// Returns how many bytes packing may take at most, and what is not packed beside that.
    fn needs_to_pack(&self) -> (u64, u64) {
        let dictionaries = self.index.words().bytes() + self.labels.bytes();
        let (documents, postings) = (self.index.numbers(), self.index.postings());
        let packing = packing_bytes(documents.into(), postings as u64, dictionaries as u64);
        let loose = loose_bytes(self.index.loose_postings() as u64, dictionaries as u64);
        (packing, loose)
    }

    /// Returns the place of a path, also of a file that is gone.
    fn find(&self, path: &str) -> Option<u32> {
        let sorted =
            self.files[..self.sorted].binary_search_by(|file| file.path.as_str().cmp(path));
        sorted.ok().map(|at| at as u32).or_else(|| self.by_path.get(path).copied())
    }

    /// Returns the place of a path, taking one for it if it is new.
    pub(crate) fn place(&mut self, path: &str) -> u32 {
        let known = self.find(path);
        if let Some(at) = known.filter(|&at| self.files[at as usize].present) {
            return at;
        }
        let file = FileRow::new(path.to_owned());
        if let Some(at) = known.or_else(|| self.free.pop()) {
            self.files[at as usize] = file;
            self.by_path.extend(known.is_none().then(|| (path.to_owned(), at)));
            return at;
        }
        self.files.push(file);
        let at = self.files.len() as u32 - 1;
        self.by_path.insert(path.to_owned(), at);
        at
    }

    /// Returns what of transcripts is in it.
    pub fn part(&self) -> Part {
        self.part
    }

    /// Returns the row of a file that is there.
    pub fn file(&self, path: &str) -> Option<&FileRow> {
        self.find(path).map(|at| &self.files[at as usize]).filter(|file| file.present)
    }

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
        let unseen = |file: &&FileRow| {
            seen.binary_search_by(|(path, _)| path.as_str().cmp(&file.path)).is_err()
        };
        let missing = behind.chain(loose.filter(unseen)).filter(|file| is_below(&file.path));
        gone.extend(missing.map(|file| file.path.clone()));
        (changed, gone)
    }

    /// Says whether it is as a packing would leave it: nothing has changed since it was built.
    pub fn is_packed(&self) -> bool {
        let is_one_run =
            |file: &FileRow| file.present && matches!(file.documents, Documents::Run(_));
        // rows of a snapshot are still there only
        self.index.is_packed()
            && self.rows.since().len() == self.rows.len()
            && self.sorted == self.files.len()
            && self.files.iter().all(is_one_run)
    }

    /// Returns the bytes of memory that the catalog and its index take.
    pub fn bytes(&self) -> usize {
        let file = |file: &FileRow| file.path.len() + size_of::<FileRow>();
        let files = self.files.iter().map(file);
        self.index.bytes() + self.rows.bytes() + self.labels.bytes() + files.sum::<usize>()
    }

    /// Orders documents by path, then by position.
    pub fn order(&self, a: u32, b: u32) -> Ordering {
        // packing numbers documents in this order, and an edit may move them
        if !self.shuffled && a.max(b) < self.index.packed_documents() {
            return a.cmp(&b);
        }
        let (a, b) = (&self.rows[a as usize], &self.rows[b as usize]);
        let path = |row: &Row| self.files[row.file as usize].path.as_str();
        match a.file == b.file {
            true => a.start.cmp(&b.start),
            false => path(a).cmp(path(b)),
        }
    }
}
