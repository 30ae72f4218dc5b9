//! Score upper bounds of a query term by superblock, block and document, for top-k pruning.
//!
//! (Longer than 350 lines: a fifth of it is the test that no bound is too low.)

use std::iter::zip;
use std::ops::Range;

use crate::index::postings::codec::{
    BLOCK, BLOCKS_PER_SUPERBLOCK, Impact, Posting, SUPERBLOCK, profile_code,
};
use crate::index::postings::reader::{BlockMaxima, PostingList, Superblock};
use crate::index::topk::upper_bound::UpperBound;

/// The upper bound of a document, and its offset in the superblock.
pub(crate) type Candidate = (UpperBound, u32);

/// One term of a query.
pub struct TermScorer<'a> {
    /// Its postings.
    pub list: PostingList<'a>,
    /// What they can add.
    pub bounds: Box<TermBounds>,
}

/// What the postings of a term add, at most, by the code of their profile. Code 255 stands for all
/// other profiles; its bound is no lower than any other.
pub struct TermBounds {
    /// For one 255th of saturation.
    pub per_saturation: [UpperBound; 256],
    /// For a speaker's name, if the term can be one.
    pub speakers: Option<Box<[UpperBound; 256]>>,
    /// For one 255th of saturation in headings.
    pub per_heading: UpperBound,
}

impl<'a> TermScorer<'a> {
    /// Adds the bound of this term to that of each superblock.
    pub(crate) fn add_superblock_bounds(&self, superblocks: &mut [UpperBound]) {
        let Self { list, bounds } = self;
        let packed = list.superblocks();
        let impacts = zip(packed.saturations, packed.headings);
        let max = impacts.map(|(&saturation, &heading)| {
            UpperBound::from(saturation) * bounds.per_saturation[255]
                + UpperBound::from(heading) * bounds.per_heading
        });
        if packed.is_dense() {
            zip(&mut *superblocks, max).for_each(|(bound, max)| *bound += max);
        } else {
            zip(packed.numbers(), max).for_each(|(number, max)| superblocks[number] += max);
        }
        if let Some(speakers) = &bounds.speakers {
            packed.with_speaker().for_each(|number| superblocks[number] += speakers[255]);
        }
        let superblock = |posting: &Posting| posting.document as usize / SUPERBLOCK;
        let unblocked = list
            .unblocked()
            .map(|(posting, impact)| (superblock(&posting), bounds.of_unblocked(posting, impact)));
        for_each_max(unblocked, |superblock, max| superblocks[superblock] += max);
    }

    /// Adds the bound of this term to that of each block of a superblock.
    pub(crate) fn add_block_bounds(
        &self,
        superblock: usize,
        blocks: &mut [UpperBound; BLOCKS_PER_SUPERBLOCK],
    ) {
        if let Some(list) = self.in_superblock(superblock) {
            list.add_block_bounds(blocks);
        }
    }

    /// Adds the bound of this term to that of each document of a block.
    pub(crate) fn add_document_bounds(&self, block: usize, documents: &mut [UpperBound; BLOCK]) {
        if let Some(list) = self.in_superblock(block / BLOCKS_PER_SUPERBLOCK) {
            let block = block % BLOCKS_PER_SUPERBLOCK;
            list.for_each_in_block(block, 0, |offset, bound| documents[offset] += bound);
        }
    }

    /// Prefetches what [`Self::add_block_bounds`] reads.
    pub(crate) fn prefetch(&self, superblock: usize) {
        if let Some(packed) = self.list.superblocks().get(superblock) {
            packed.prefetch();
        }
    }

    /// Prefetches what [`Self::add_document_bounds`] reads.
    pub(crate) fn prefetch_block(&self, block: usize) {
        if let Some(packed) = self.list.superblocks().get(block / BLOCKS_PER_SUPERBLOCK) {
            packed.prefetch_block(block % BLOCKS_PER_SUPERBLOCK);
        }
    }

    /// Returns the postings in a superblock; none if there are none.
    #[inline]
    pub(crate) fn in_superblock(&self, superblock: usize) -> Option<SuperblockScorer<'_, 'a>> {
        let packed = self.list.superblocks().get(superblock);
        let any = packed.is_some() || self.list.may_have_unblocked(superblock);
        any.then_some(SuperblockScorer { term: self, superblock, packed })
    }
}

/// The postings of a term in one superblock.
pub(crate) struct SuperblockScorer<'c, 'a> {
    term: &'c TermScorer<'a>,
    superblock: usize,
    packed: Option<Superblock<'a>>,
}

impl SuperblockScorer<'_, '_> {
    /// Adds the bound of the term to that of each block.
    pub fn add_block_bounds(&self, blocks: &mut [UpperBound; BLOCKS_PER_SUPERBLOCK]) {
        let TermScorer { list, bounds } = self.term;
        if let Some(packed) = &self.packed {
            let speaker = if packed.has_speaker { bounds.of_speaker(255) } else { 0 };
            match packed.block_maxima() {
                BlockMaxima::Stored([saturations, headings, _]) => {
                    for block in 0..BLOCKS_PER_SUPERBLOCK {
                        blocks[block] += UpperBound::from(saturations[block])
                            * bounds.per_saturation[255]
                            + UpperBound::from(headings[block]) * bounds.per_heading
                            + speaker;
                    }
                }
                BlockMaxima::PerPosting(numbers) => {
                    let bound = |(saturation, heading, code)| match packed.has_speaker {
                        true => bounds.of(saturation, heading, code),
                        false => bounds.without_speaker(saturation, heading, code),
                    };
                    let postings = zip(numbers, packed.impacts().map(bound));
                    let postings = postings.map(|(&block, bound)| (block.into(), bound));
                    for_each_max(postings, |block: usize, max| {
                        blocks[block % BLOCKS_PER_SUPERBLOCK] += max;
                    });
                }
            }
        }
        if !list.may_have_unblocked(self.superblock) {
            return;
        }
        let block = |posting: &Posting| posting.document as usize / BLOCK % BLOCKS_PER_SUPERBLOCK;
        let unblocked = list.unblocked_in(documents(self.superblock, SUPERBLOCK));
        for_each_max(
            unblocked
                .map(|(posting, impact)| (block(&posting), bounds.of_unblocked(posting, impact))),
            |block, max| blocks[block] += max,
        );
    }

    /// Returns how many packed postings each block has.
    #[inline]
    pub fn counts(&self) -> [u8; BLOCKS_PER_SUPERBLOCK] {
        self.packed.as_ref().map_or([0; BLOCKS_PER_SUPERBLOCK], Superblock::counts)
    }

    /// Prefetches the postings of a block.
    #[inline]
    pub fn prefetch_block(&self, block: usize) {
        if let Some(packed) = &self.packed {
            packed.prefetch_block(block);
        }
    }

    /// Calls `each` for the documents of a block: the offset of each, and the upper bound of what
    /// the term adds there. Some of those whose bound is below `min` are left out.
    #[inline]
    pub fn for_each_in_block(
        &self,
        block: usize,
        min: UpperBound,
        mut each: impl FnMut(usize, UpperBound),
    ) {
        let TermScorer { list, bounds } = self.term;
        if let Some(packed) = &self.packed {
            // one check for all postings: a check for each costs a tenth of the loop
            match packed.has_speaker && bounds.speakers.is_some() {
                false => {
                    // the bound of code 255 is no lower than any other
                    let least = min.div_ceil(bounds.per_saturation[255].max(1));
                    packed.postings(block).for_each(least, |at, saturation, heading, code| {
                        each(at % BLOCK, bounds.without_speaker(saturation, heading, code));
                    });
                }
                true => packed.postings(block).for_each(0, |at, saturation, heading, code| {
                    each(at % BLOCK, bounds.of(saturation, heading, code));
                }),
            }
        }
        if !list.may_have_unblocked(self.superblock) {
            return;
        }
        let block = self.superblock * BLOCKS_PER_SUPERBLOCK + block;
        for (posting, impact) in list.unblocked_in(documents(block, BLOCK)) {
            each(posting.document as usize % BLOCK, bounds.of_unblocked(posting, impact));
        }
    }

    /// Adds to the bounds of some documents of a block, given by their offsets in the superblock,
    /// that of the term.
    pub fn add_bounds(&self, block: usize, documents: &mut [Candidate]) {
        let TermScorer { list, bounds } = self.term;
        if let Some(packed) = &self.packed {
            let has_speaker = packed.has_speaker && bounds.speakers.is_some();
            let bound = |(saturation, heading, code)| match has_speaker {
                false => bounds.without_speaker(saturation, heading, code),
                true => bounds.of(saturation, heading, code),
            };
            let postings = packed.postings(block);
            // to look for a document takes about as long as to read so many postings
            if postings.len() < 8 * documents.len() {
                let places = postings.places();
                for (sum, offset) in &mut *documents {
                    let place = usize::from(places[*offset as usize % BLOCK]).checked_sub(1);
                    *sum += place.map_or(0, |place| bound(postings.impact(place)));
                }
            } else {
                for (sum, offset) in &mut *documents {
                    let place = postings.place(*offset as usize % BLOCK);
                    *sum += place.map_or(0, |place| bound(postings.impact(place)));
                }
            }
        }
        if !list.may_have_unblocked(self.superblock) {
            return;
        }
        for (sum, offset) in documents {
            let document = self.superblock * SUPERBLOCK + *offset as usize;
            let found = list.unblocked_in(self::documents(document, 1)).next();
            *sum += found.map_or(0, |(posting, impact)| bounds.of_unblocked(posting, impact));
        }
    }
}

/// Returns the documents of the range with this number, where each range has `size` of them.
fn documents(number: usize, size: usize) -> Range<u32> {
    let first = (number * size) as u32;
    first..first.saturating_add(size as u32)
}

/// Calls `each` with the maximum of each run of equal keys.
fn for_each_max(
    all: impl Iterator<Item = (usize, UpperBound)>,
    mut each: impl FnMut(usize, UpperBound),
) {
    let (mut here, mut max) = (0, 0);
    for (key, bound) in all {
        if key != here {
            each(here, max);
            (here, max) = (key, 0);
        }
        max = bound.max(max);
    }
    if max > 0 {
        each(here, max);
    }
}

impl TermBounds {
    /// Returns the upper bound of any posting.
    pub(crate) fn max(&self) -> UpperBound {
        255 * (self.per_saturation[255] + self.per_heading) + self.of_speaker(255)
    }

    /// Returns the upper bound of a posting with this impact and profile code.
    #[inline]
    fn of(&self, saturation: u8, heading: u8, code: u8) -> UpperBound {
        self.without_speaker(saturation, heading, code) + self.of_speaker(code.into())
    }

    /// As [`Self::of`], where the term is not in a speaker's name.
    #[inline]
    fn without_speaker(&self, saturation: u8, heading: u8, code: u8) -> UpperBound {
        UpperBound::from(saturation) * self.per_saturation[usize::from(code)]
            + UpperBound::from(heading) * self.per_heading
    }

    #[inline]
    fn of_unblocked(&self, posting: Posting, impact: Impact) -> UpperBound {
        self.of(impact.saturation, impact.heading, profile_code(posting.profile))
    }

    #[inline]
    fn of_speaker(&self, code: usize) -> UpperBound {
        self.speakers.as_ref().map_or(0, |speakers| speakers[code])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::postings::codec::{encode, spaced};

    /// Names in few superblocks, profiles that need more than a byte, headings here and there.
    fn impact(posting: &Posting) -> Impact {
        let Posting { document, profile } = *posting;
        let superblock = document as usize / SUPERBLOCK;
        Impact {
            saturation: (document % 251) as u8 + 1,
            heading: if superblock % 3 == 1 { (document % 7) as u8 } else { 0 },
            speaker: superblock.is_multiple_of(4) && profile.is_multiple_of(5),
        }
    }

    fn list() -> impl Strategy<Value = Vec<Posting>> {
        let profile = prop_oneof![9 => 0u32..20, 1 => 200u32..300];
        let postings = prop::collection::vec((0u32..1000, profile), 0..2000);
        (prop_oneof![1u32..4, 2u32..60, 100u32..400], postings)
            .prop_map(|(gap, steps)| spaced(gap, steps))
    }

    proptest! {
        /// A child with a higher bound than its range would be taken for one that was queued before.
        #[test]
        fn no_bound_is_higher_than_that_of_its_range(
            list in list(),
            cut in 0usize..2000,
            weights in prop::collection::vec(1u32..1000, 256),
            (per_heading, names) in (0u32..1000, any::<bool>()),
        ) {
            let (packed, tail) = list.split_at(cut.min(list.len()));
            let mut bytes = Vec::new();
            encode(packed, impact, &mut bytes);
            let with_max = |mut all: [UpperBound; 256]| {
                all[255] = all.into_iter().fold(0, UpperBound::max);
                all
            };
            // a profile without a speaker has the bound 1, for bounds are rounded up
            let speaker = |code| if (code as u32).is_multiple_of(5) { 9000 } else { 1 };
            let bounds = Box::new(TermBounds {
                per_saturation: with_max(std::array::from_fn(|code| weights[code])),
                speakers: names.then(|| Box::new(with_max(std::array::from_fn(speaker)))),
                per_heading,
            });
            let list = PostingList::new(&bytes, packed.len() as u32, tail, Impact::MAX);
            let count = (list.end() as usize).div_ceil(SUPERBLOCK);
            let scorer = TermScorer { list, bounds };
            let mut superblocks = vec![0; count];
            scorer.add_superblock_bounds(&mut superblocks);
            for (superblock, limit) in superblocks.into_iter().enumerate() {
                let mut blocks = [0; BLOCKS_PER_SUPERBLOCK];
                scorer.add_block_bounds(superblock, &mut blocks);
                prop_assert!(blocks.iter().all(|&bound| bound <= limit), "{blocks:?} {limit}");
                for (block, limit) in blocks.into_iter().enumerate() {
                    let mut documents = [0; BLOCK];
                    let block = superblock * BLOCKS_PER_SUPERBLOCK + block;
                    scorer.add_document_bounds(block, &mut documents);
                    prop_assert!(documents.iter().all(|&bound| bound <= limit));
                    let Some(list) = scorer.in_superblock(superblock) else { continue };
                    // those that can reach a bound are told, whatever else is
                    for min in [1, limit / 2, limit] {
                        let (at, mut told) = (block % BLOCKS_PER_SUPERBLOCK, [0; BLOCK]);
                        list.for_each_in_block(at, min, |offset, bound| told[offset] += bound);
                        for (told, all) in zip(told, documents) {
                            prop_assert!(told == all || told == 0 && all < min, "{told} {all}");
                        }
                    }
                    // many documents are looked up in another way than few
                    for step in [1, 50] {
                        let first = block % BLOCKS_PER_SUPERBLOCK * BLOCK;
                        let of = |at| ((first + at) as u32, documents[at]);
                        let expected: Vec<_> = (0..BLOCK).step_by(step).map(of).collect();
                        let mut found: Vec<Candidate> =
                            expected.iter().map(|&(offset, _)| (0, offset)).collect();
                        list.add_bounds(block % BLOCKS_PER_SUPERBLOCK, &mut found);
                        let found: Vec<_> = found.into_iter().map(|(sum, at)| (at, sum)).collect();
                        prop_assert_eq!(found, expected);
                    }
                }
            }
        }
    }
}
