//! Document table: position, timestamp and filter fields of each document, by document number.

use std::ops::{Index, Range};
use std::sync::OnceLock;

use crate::catalog::FileMeta;
use crate::catalog::session_zones::SessionZones;
use crate::files::file_kind::FileKind;
use crate::files::racy_stat::is_trusted;
use crate::index::storage::paged_array::{PagedArray, SPARE_CAPACITY};

/// Document metadata: position, hashes and filter fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DocMeta {
    /// First byte in the file.
    pub start: u64,
    /// Hash of the bytes.
    pub hash: u64,
    /// Hash of all that was indexed.
    pub key: u64,
    /// Milliseconds since 1970; [`NO_TIME`] when unknown.
    pub time: i64,
    /// The file, as a place in [`Catalog::files`](super::Catalog::files).
    pub file: u32,
    /// Bytes.
    pub length: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Heading trail, as a label.
    pub trail: u32,
    /// Role, as a label.
    pub role: u32,
    /// Session, as a label.
    pub session: u32,
    /// Category, as a label.
    pub category: u32,
    /// Metadata of the section that begins here.
    pub section_meta: SectionMeta,
}

/// Metadata of the section that begins with a document, for incremental parsing: see
/// `catalog/incremental_parse.rs`. All zeros for the further parts of a section; a message has
/// only `starts` and `flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SectionMeta {
    /// 1 if a section begins with the document, or a turn: then it is a prompt.
    pub starts: u8,
    /// Of the heading, 1 to 6; 0 for a preamble.
    pub level: u8,
    /// 1 if it has keywords or a category, which hold for the sections below as well.
    pub inheritable: u8,
    /// [`HAS_REFERENCE`] and [`HAS_DEFINITION`]; of a message [`ASKS`],
    /// [`ENDS_ASKING`] and [`TELLS_TIME`].
    pub flags: u8,
}

/// The heading may have a link that is defined somewhere else.
pub const HAS_REFERENCE: u8 = 1;
/// The section may define links.
pub const HAS_DEFINITION: u8 = 2;
/// The message has a question mark.
pub const ASKS: u8 = 4;
/// A person with a name said it, and its last word stands before a question mark: somebody else
/// answers. The prompt of an assistant tells something even where it asks.
pub const ENDS_ASKING: u8 = 8;
/// The message has a word of time, a year or a time of day.
pub const TELLS_TIME: u8 = 16;

/// [`DocMeta::time`] of a document without one.
pub const NO_TIME: i64 = i64::MIN;

/// Stands for a document whose page was lost: empty, at the beginning of the first file.
static LOST_DOC: DocMeta = DocMeta {
    start: 0,
    hash: 0,
    key: 0,
    time: NO_TIME,
    file: 0,
    length: 0,
    line: 1,
    trail: 0,
    role: 0,
    session: 0,
    category: 0,
    section_meta: SectionMeta { starts: 0, level: 0, inheritable: 0, flags: 0 },
};

/// Validator of the document table of a snapshot.
#[derive(Debug)]
pub struct DocValidator {
    /// By file: the number behind its last document, its bytes, where these are known, and whether
    /// it is a transcript.
    files: Vec<(u32, u64, bool)>,
    labels: u32,
}

impl DocValidator {
    /// Takes what the files, in the order of their documents, and so many labels say.
    pub fn new(files: &[FileMeta], labels: u32) -> Self {
        let mut end = 0;
        let file = |file: &FileMeta| {
            end += file.documents.len() as u32;
            let size = if is_trusted(&file.stat) { file.stat.size } else { u64::MAX };
            (end, size, file.kind == FileKind::Transcript)
        };
        Self { files: files.iter().map(file).collect(), labels }
    }

    /// Returns whether a page holds the documents that must be there, each behind the one before.
    pub fn accepts(&self, page: usize, docs: &[DocMeta]) -> bool {
        let (first, documents) =
            (page * DOCS_PER_PAGE, self.files.last().map_or(0, |file| file.0 as usize));
        if docs.len() != DOCS_PER_PAGE.min(documents.saturating_sub(first)) {
            return false;
        }
        let follows = |pair: &[DocMeta]| {
            let [a, b] = [&pair[0], &pair[1]];
            let (bytes, lines) = (b.start.checked_sub(a.start), b.line.checked_sub(a.line));
            a.file != b.file
                || lines.zip(bytes).is_some_and(|(lines, bytes)| u64::from(lines) <= bytes)
        };
        (first as u32..).zip(docs).all(|(document, doc)| self.fits(document, doc))
            && docs.windows(2).all(follows)
    }

    fn fits(&self, document: u32, doc: &DocMeta) -> bool {
        let labels = [doc.trail, doc.role, doc.session, doc.category];
        let SectionMeta { starts, level, inheritable, flags } = doc.section_meta;
        let place = self.files.partition_point(|&(end, ..)| end <= document);
        let Some(&(_, size, transcript)) = self.files.get(place) else { return false };
        // what only the other kind has
        let (other, known_flags) = match transcript {
            true => ([doc.trail, doc.category], ASKS | ENDS_ASKING | TELLS_TIME),
            false => ([doc.role, doc.session], HAS_REFERENCE | HAS_DEFINITION),
        };
        doc.file as usize == place
            && doc.start.checked_add(doc.length.into()).is_some_and(|end| end <= size)
            && doc.line > 0
            && other == [0; 2]
            && labels.iter().all(|&label| label < self.labels)
            && starts.max(inheritable) <= 1
            && level <= 6
            && flags & !known_flags == 0
    }
}

/// Documents on a page of a snapshot: most files have fewer documents, and are asked for one by
/// one.
pub const DOCS_PER_PAGE: usize = 64;

/// Metadata by document number: first the pages of a snapshot, then newer documents.
#[derive(Debug, Default)]
pub struct DocTable {
    kept: PagedArray<DocMeta>,
    count: usize,
    since: Vec<DocMeta>,
    /// Made when the first search in a session asks for it: it takes a look at each document.
    zones: OnceLock<SessionZones>,
}

impl DocTable {
    /// Takes over the pages of a snapshot, all full but the last, which hold `count` documents.
    pub fn of(kept: PagedArray<DocMeta>, count: usize) -> Self {
        Self { kept, count, ..Self::default() }
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.count + self.since.len()
    }

    /// Returns whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for so many more and [`SPARE_CAPACITY`].
    pub fn reserve(&mut self, more: usize) {
        self.since.reserve_exact(more + SPARE_CAPACITY);
    }

    /// Adds the metadata of a new document.
    pub fn push(&mut self, doc: DocMeta) {
        let document = self.len();
        if let Some(zones) = self.zones.get_mut() {
            zones.add(document, doc.session);
        }
        self.since.push(doc);
    }

    /// Prefetches the pages of documents from the disk.
    pub fn prefetch(&self, documents: Range<u32>) {
        let end = (documents.end as usize).min(self.count);
        (documents.start as usize / DOCS_PER_PAGE..end.div_ceil(DOCS_PER_PAGE))
            .for_each(|page| self.kept.readahead(page));
    }

    /// Replaces the metadata of a document, which keeps its session.
    pub fn set(&mut self, document: u32, doc: DocMeta) {
        let document = document as usize;
        let place = match document.checked_sub(self.count) {
            Some(since) => self.since.get_mut(since),
            None => self
                .kept
                .get_mut(document / DOCS_PER_PAGE)
                .and_then(|p| p.get_mut(document % DOCS_PER_PAGE)),
        };
        if let Some(place) = place {
            *place = doc;
        }
    }

    /// Returns which blocks of [`ZONE_DOCS`](super::ZONE_DOCS) documents may hold messages of a
    /// session, given its label.
    pub fn blocks_of_session(&self, session: u32) -> impl Iterator<Item = usize> + '_ {
        let sessions = (0..self.len()).map(|document| self[document].session);
        self.zones.get_or_init(|| SessionZones::of(sessions)).blocks(session)
    }

    /// Returns the metadata of documents newer than the snapshot: of all after a packing.
    pub fn since(&self) -> &[DocMeta] {
        &self.since
    }

    /// Returns the bytes that they take in memory.
    pub fn bytes(&self) -> usize {
        let zones = self.zones.get().map_or(0, SessionZones::bytes);
        self.kept.bytes() + self.since.capacity() * size_of::<DocMeta>() + zones
    }
}

impl FromIterator<DocMeta> for DocTable {
    fn from_iter<I: IntoIterator<Item = DocMeta>>(docs: I) -> Self {
        Self { since: docs.into_iter().collect(), ..Self::default() }
    }
}

impl Index<usize> for DocTable {
    type Output = DocMeta;

    #[inline]
    fn index(&self, document: usize) -> &DocMeta {
        match document.checked_sub(self.count) {
            Some(since) => &self.since[since],
            None => {
                let page = self.kept.get(document / DOCS_PER_PAGE);
                page.and_then(|page| page.get(document % DOCS_PER_PAGE)).unwrap_or(&LOST_DOC)
            }
        }
    }
}
