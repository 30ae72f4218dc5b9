//! Catalog: the index with its tables of files and documents, kept equal to the files.
//!
//! The catalog reads a file, compares the inputs that it extracts with what the
//! index holds of it, and changes only the difference.

pub mod archive_list;
mod archived;
mod bad_lines;
mod build;
mod build_batches;
pub mod change_log;
mod comparison;
mod doc_ids;
pub mod doc_table;
pub mod extract;
mod file_change;
pub(crate) mod file_reader;
mod file_table;
mod incremental_parse;
mod indexed_docs;
pub mod label_table;
pub(crate) mod memory_estimate;
pub mod message_inputs;
pub mod omission;
mod pending_docs;
mod positions;
mod repack;
mod session_zones;
pub mod snapshot;
mod transcript_part;
pub(crate) mod transcript_resume;
mod update;

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use crate::catalog::doc_ids::DocIds;
pub use crate::catalog::doc_table::{DocMeta, DocTable, NO_TIME};
pub use crate::catalog::file_table::{FileMeta, ReadProgress};
pub use crate::catalog::positions::TranscriptPosition;
pub use crate::catalog::session_zones::ZONE_DOCS;

use crate::catalog::archive_list::ArchivedFiles;
use crate::catalog::build_batches::PART_BYTES;
use crate::catalog::change_log::ChangeLog;
use crate::catalog::extract::Corpus;
use crate::catalog::label_table::LabelTable;
use crate::files::racy_stat::FsClock;
use crate::index::bm25f::Weights;
use crate::index::dictionary::interner::Interner;
use crate::index::inverted_index::InvertedIndex;
use crate::index::memory_bounds::{delta_bytes, packing_bytes};
use crate::index::storage::paged_array::SnapshotFile;
use crate::memory_limit::MemoryLimit;
use crate::sync::Mutex;

/// An index with its file table and document table.
#[derive(Debug)]
pub struct Catalog {
    /// The index.
    pub index: InvertedIndex,
    /// Document metadata by document number.
    pub docs: DocTable,
    /// Files by place.
    pub files: Vec<FileMeta>,
    /// So many of `files`, from the first, are in order of their paths.
    sorted: usize,
    /// Trails, roles, sessions and categories.
    pub labels: LabelTable,
    /// The places of the files behind those in order.
    by_path: FxHashMap<String, u32>,
    /// The places among them of files that are gone.
    free: Vec<u32>,
    /// The snapshot, while some of it may still be there only.
    kept: Option<Arc<SnapshotFile>>,
    /// Whether it was found to differ from the files.
    untrusted_content: bool,
    /// Whether it was loaded from a snapshot, which may have been crafted.
    from_snapshot: bool,
    /// Files that were compared with it then, and agree.
    pub(crate) verified: FxHashSet<String>,
    /// Documents whose heading, category and line were checked.
    pub(crate) checked_places: Mutex<FxHashSet<u32>>,
    corpus: Corpus,
    /// Files that are in the archive.
    pub(crate) archived: Arc<ArchivedFiles>,
    /// Positions of the documents, where it holds only some of the messages of its transcripts.
    pub(crate) positions: Option<Vec<TranscriptPosition>>,
    /// Whether some packed documents have changed places in their file.
    reordered: bool,
    /// In parts of how many bytes a build reads large transcripts.
    part_bytes: u64,
    /// How finely stamps are kept.
    pub(crate) clock: FsClock,
    /// How much memory it may take.
    limit: MemoryLimit,
    /// Bytes read since the last snapshot, which the next opening would have to read again.
    pub reread_bytes: u64,
    /// The packing that was started and not waited for.
    packing: Option<repack::PackingThread>,
    /// How often it was packed: each time documents and terms are renumbered.
    pub packings: u64,
    /// Another number, of this process, each time that what it holds of any file has changed.
    pub revision: u64,
    /// The last changes of files.
    pub changes: ChangeLog,
}

impl Catalog {
    /// Makes an empty catalog.
    pub fn new(weights: Weights, corpus: Corpus) -> Self {
        let mut labels = Interner::default();
        // the empty label has number 0 everywhere
        labels.intern("");
        Self {
            index: InvertedIndex::new(weights),
            docs: DocTable::default(),
            files: Vec::new(),
            sorted: 0,
            labels: labels.into(),
            by_path: FxHashMap::default(),
            free: Vec::new(),
            kept: None,
            untrusted_content: false,
            from_snapshot: false,
            verified: FxHashSet::default(),
            checked_places: Mutex::default(),
            corpus,
            archived: Arc::default(),
            positions: None,
            reordered: false,
            part_bytes: PART_BYTES,
            clock: FsClock::default(),
            limit: MemoryLimit::default(),
            reread_bytes: 0,
            packing: None,
            packings: 0,
            revision: update::next_revision(),
            changes: ChangeLog::new(),
        }
    }

    /// Returns whether it must be rebuilt: a part of its snapshot turned out to be lost, or it was
    /// found not to hold what the files say.
    pub fn is_damaged(&self) -> bool {
        self.untrusted_content || self.kept.as_ref().is_some_and(|kept| kept.is_damaged())
    }

    /// Returns whether a part of its snapshot is lost: what is missing was never said to be there.
    pub fn is_lost(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.is_lost())
    }

    /// Returns whether what it says of a file is known to be true.
    pub fn is_verified(&self, path: &str) -> bool {
        !self.from_snapshot || self.verified.contains(path)
    }

    /// Metadata it as damaged, so that it is rebuilt.
    pub fn mark_untrusted(&mut self) {
        self.untrusted_content = true;
    }

    /// Metadata the snapshot as damaged, as its content turned out to be wrong; returns whether there
    /// is one.
    pub fn reject(&self) -> bool {
        self.kept.as_ref().inspect(|kept| kept.reject()).is_some()
    }

    /// Takes stamps to be no finer than those of `clock`.
    #[must_use]
    pub fn with_clock(self, clock: FsClock) -> Self {
        Self { clock, ..self }
    }

    /// Reads transcripts of more than two parts of so many bytes in parts, when it is built.
    #[must_use]
    pub fn with_part_bytes(self, part_bytes: u64) -> Self {
        Self { part_bytes, ..self }
    }

    /// Leaves out the files that are in the archive.
    #[must_use]
    pub(crate) fn without(self, archived: Arc<ArchivedFiles>) -> Self {
        Self { archived, ..self }
    }

    /// Takes no more memory than a limit allows.
    #[must_use]
    pub fn with_limit(self, limit: MemoryLimit) -> Self {
        limit.set_held(self.corpus as usize, 0);
        Self { limit, ..self }
    }

    /// Tells the other parts of the store how much memory it may need.
    fn report_memory_use(&self) {
        let (packing, delta) = self.packing_needs();
        self.limit.set_held(self.corpus as usize, packing + delta);
    }

    /// Returns how many bytes packing may take at most, and those of the delta beside that.
    fn packing_needs(&self) -> (u64, u64) {
        let dictionaries = self.index.lexicon().bytes() + self.labels.bytes();
        let (documents, postings) = (self.index.max_doc(), self.index.postings());
        let packing = packing_bytes(documents.into(), postings as u64, dictionaries as u64);
        let delta = delta_bytes(self.index.delta_postings() as u64, dictionaries as u64);
        (packing, delta)
    }

    /// Returns whether it may take so many bytes for a snapshot, beside what it takes when packed.
    fn has_room_for_snapshot(&self, bytes: usize) -> bool {
        self.limit.allows(self.corpus as usize, (self.bytes() + bytes) as u64)
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
        let file = FileMeta::new(path.to_owned());
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

    /// Returns which corpus it indexes.
    pub fn corpus(&self) -> Corpus {
        self.corpus
    }

    /// Returns the metadata of a file that exists.
    pub fn file(&self, path: &str) -> Option<&FileMeta> {
        self.find(path).map(|at| &self.files[at as usize]).filter(|file| file.present)
    }

    /// Returns whether it is as a packing would leave it: nothing has changed since it was built.
    pub fn is_packed(&self) -> bool {
        let is_one_run =
            |file: &FileMeta| file.present && matches!(file.documents, DocIds::Range(_));
        // documents of a snapshot are still there only
        self.docs.since().len() == self.docs.len()
            && self.index.is_packed()
            && self.sorted == self.files.len()
            && self.files.iter().all(is_one_run)
    }

    /// Returns the bytes of memory that the catalog and its index take.
    pub fn bytes(&self) -> usize {
        let file = |file: &FileMeta| file.path.len() + size_of::<FileMeta>();
        let files = self.files.iter().map(file);
        self.index.bytes() + self.docs.bytes() + self.labels.bytes() + files.sum::<usize>()
    }

    /// Returns the place of a document among those of its file.
    pub fn place_in_file(&self, document: u32) -> Option<usize> {
        let row = &self.docs[document as usize];
        let documents = &self.files[row.file as usize].documents;
        let is_at = |at: usize| at < documents.len() && documents.get(at) == document;
        // numbers are consecutive until the file changes, and then a binary search is fast enough
        let first = if documents.is_empty() { 0 } else { documents.get(0) };
        let guess = document.wrapping_sub(first) as usize;
        let place = match is_at(guess) {
            true => guess,
            false => documents.partition_point(|d| self.docs[d as usize].start < row.start),
        };
        is_at(place).then_some(place)
    }

    /// Orders documents by path, then by position.
    pub fn order(&self, a: u32, b: u32) -> Ordering {
        // packing numbers documents in this order, and an edit may move them
        if !self.reordered && a.max(b) < self.index.packed_documents() {
            return a.cmp(&b);
        }
        let (a, b) = (&self.docs[a as usize], &self.docs[b as usize]);
        let path = |doc: &DocMeta| self.files[doc.file as usize].path.as_str();
        match a.file == b.file {
            true => a.start.cmp(&b.start),
            false => path(a).cmp(path(b)),
        }
    }
}
