//! Packed index: the posting lists and the forward index as flat arrays, as a snapshot stores them.

use std::ops::Range;

use crate::index::postings::codec::take_varint;
use crate::index::postings::decoding::FORWARD_PAGE;
use crate::index::storage::lazy_array::LazyArray;
use crate::index::storage::paged_array::PagedArray;

/// The immutable part of an inverted index.
#[derive(Debug, Default)]
pub struct PackedIndex {
    /// The number of documents, deleted ones included.
    pub documents: u32,
    /// Where the list of each concept begins in `lists`.
    pub starts: LazyArray<ListPosition>,
    /// The number of postings in each list.
    pub counts: LazyArray<u32>,
    /// The lists, see [`crate::index::postings::codec`]; none crosses the end of a page.
    pub lists: PagedArray<u8>,
    /// The forward index: the concepts of each document, ascending, as gaps, each with its profile.
    pub forward: PagedArray<u8>,
}

/// Where a posting list begins: its page, and the offset in the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ListPosition {
    pub(super) page: u32,
    pub(super) offset: u32,
}

impl PackedIndex {
    /// Says whether there is a list for each of `concepts`, of which the last begins on a page that
    /// there is, and a page for each document.
    pub fn has_all(&self, concepts: usize) -> bool {
        let last = self.starts.len().checked_sub(1).and_then(|last| self.starts.get(last));
        [self.starts.len(), self.counts.len()] == [concepts; 2]
            && last.is_none_or(|last| (last.page as usize) < self.lists.len())
            && self.forward.len() == (self.documents as usize).div_ceil(FORWARD_PAGE)
    }

    /// Says the same, and whether each list begins behind the one before.
    pub fn is_complete(&self, concepts: usize) -> bool {
        let (starts, pages) = (self.starts.all(), self.lists.len());
        self.has_all(concepts)
            && starts.iter().all(|start| (start.page as usize) < pages)
            && starts.is_sorted_by_key(|start| (start.page, start.offset))
    }

    /// Returns the bytes from the start of the list of a concept on, and its number of postings.
    pub fn list(&self, concept: u32) -> (&[u8], u32) {
        let found = self.starts.get(concept as usize).and_then(|start| {
            let page = self.lists.get(start.page as usize)?;
            Some((page.get(start.offset as usize..)?, self.counts.get(concept as usize)?))
        });
        found.unwrap_or((&[], 0))
    }

    /// Returns the concepts of a document with their profiles.
    pub fn concepts_of(&self, document: u32) -> impl Iterator<Item = (u32, u32)> {
        let (page, at) = (document as usize / FORWARD_PAGE, document as usize % FORWARD_PAGE);
        let mut page = self.forward.get(page).unwrap_or_default();
        let mut bytes: &[u8] = &[];
        for _ in 0..=at {
            let length = take_varint(&mut page) as usize;
            (bytes, page) = page.split_at_checked(length).unwrap_or_default();
        }
        let mut concept = 0;
        std::iter::from_fn(move || {
            (!bytes.is_empty()).then(|| {
                concept += take_varint(&mut bytes);
                (concept, take_varint(&mut bytes))
            })
        })
    }

    /// Starts reading the concepts of some documents from the disk in the background.
    pub fn readahead(&self, documents: Range<u32>) {
        let documents = documents.start..documents.end.min(self.documents);
        if !documents.is_empty() {
            let page = |document: u32| document as usize / FORWARD_PAGE;
            (page(documents.start)..=page(documents.end - 1))
                .for_each(|page| self.forward.readahead(page));
        }
    }

    /// Returns the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        self.lists.bytes() + self.forward.bytes() + self.starts.bytes() + self.counts.bytes()
    }
}
