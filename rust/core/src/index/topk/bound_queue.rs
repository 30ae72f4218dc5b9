//! Document ranges with their upper bounds, as entries of the priority queue of a top-k search.

use crate::index::postings::codec::BLOCKS_PER_SUPERBLOCK;
use crate::index::topk::upper_bound::UpperBound;

/// A range of documents, by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DocRange {
    All,
    Superblock(u32),
    Block(u32),
    Document(u32),
}

/// More than the number of any block.
const MAX_BLOCK: u32 = (1 << 30) - 1;

/// A document range and the highest score that a document in it can have. The greatest has the
/// highest bound; of equal bounds, the lowest document numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundedRange(u64);

impl BoundedRange {
    /// Packs both into one number: the bound in the upper 31 bits, then one bit that marks a single
    /// document. A heap holds thousands of these, and comparing one number is the fastest.
    pub fn new(bound: UpperBound, range: DocRange) -> Self {
        let range = match range {
            DocRange::All => 1 << 30,
            DocRange::Superblock(number) => 1 << 31 | u64::from(MAX_BLOCK - number),
            DocRange::Block(number) => u64::from(MAX_BLOCK - number),
            DocRange::Document(number) => 1 << 32 | u64::from(!number),
        };
        Self(u64::from(bound) << 33 | range)
    }

    pub fn bound(self) -> UpperBound {
        (self.0 >> 33) as UpperBound
    }

    pub fn is_document(self) -> bool {
        self.0 >> 32 & 1 == 1
    }

    pub fn range(self) -> DocRange {
        let number = self.0 as u32;
        match (self.is_document(), number >> 30) {
            (true, _) => DocRange::Document(!number),
            (false, 0) => DocRange::Block(MAX_BLOCK - number),
            (false, 1) => DocRange::All,
            (false, _) => DocRange::Superblock(MAX_BLOCK - (number & !(1 << 31))),
        }
    }
}

/// The upper bounds of those blocks of a superblock that are not expanded yet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PendingBlocks {
    /// Bounds of blocks that were queued one by one.
    pub blocks: [UpperBound; BLOCKS_PER_SUPERBLOCK],
    /// The highest bound of all other blocks that are not expanded.
    pub rest: UpperBound,
}

impl PendingBlocks {
    /// Returns the highest of the bounds.
    pub fn max(&self) -> UpperBound {
        self.blocks.iter().fold(self.rest, |max, &block| max.max(block))
    }

    /// Returns the bound of each block that is still pending, given the bounds of all blocks.
    pub fn blocks(
        &self,
        bounds: [UpperBound; BLOCKS_PER_SUPERBLOCK],
    ) -> [UpperBound; BLOCKS_PER_SUPERBLOCK] {
        std::array::from_fn(|block| match self.blocks[block] {
            // blocks with a higher bound were expanded before
            0 if bounds[block] <= self.rest => bounds[block],
            pending => pending,
        })
    }
}
