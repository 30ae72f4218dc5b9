//! MaxScore over one superblock at a time, once the score to beat is known.
//!
//! A document that is in none of the lists with the highest bounds scores no more than the others
//! add (MaxScore, Turtle & Flood 1995), which is mostly too little. So the postings of one or two
//! *essential* lists are read, and the others are read only for the few documents that can
//! still reach the threshold.

use crate::index::postings::codec::{BLOCK, BLOCKS_PER_SUPERBLOCK};
use crate::index::topk::term_scorer::{SuperblockScorer, TermScorer};
use crate::index::topk::upper_bound::UpperBound;

/// The lists of a query in one superblock after the other.
pub(crate) struct MaxScore<'c, 'a> {
    /// Sorted by the highest bound first.
    scorers: Vec<&'c TermScorer<'a>>,
    lists: Vec<(SuperblockScorer<'c, 'a>, SuffixBounds)>,
    /// The upper bound of a document, and its offset in the superblock.
    candidates: Vec<(UpperBound, usize)>,
}

/// What a list and all behind it add in each block, at most.
type SuffixBounds = [UpperBound; BLOCKS_PER_SUPERBLOCK];

impl<'c, 'a> MaxScore<'c, 'a> {
    pub fn new(scorers: &'c [TermScorer<'a>]) -> Self {
        let mut scorers: Vec<_> = scorers.iter().collect();
        scorers.sort_by_key(|scorer| std::cmp::Reverse(scorer.bounds.max()));
        Self { scorers, lists: Vec::new(), candidates: Vec::with_capacity(BLOCK) }
    }

    /// Moves to a superblock and returns the upper bound of each of its blocks.
    pub fn open(&mut self, superblock: usize) -> [UpperBound; BLOCKS_PER_SUPERBLOCK] {
        self.lists.clear();
        for scorer in &self.scorers {
            let list = scorer.in_superblock(superblock);
            self.lists.extend(list.map(|list| (list, [0; BLOCKS_PER_SUPERBLOCK])));
        }
        let mut sums = [0; BLOCKS_PER_SUPERBLOCK];
        for (list, suffix) in self.lists.iter_mut().rev() {
            list.add_block_bounds(&mut sums);
            *suffix = sums;
        }
        sums
    }

    /// Returns those documents of the open blocks that can reach the threshold: the upper bound of
    /// each, and its offset in the superblock.
    // over 60 lines: its three passes share the number of essential lists of each block
    pub fn candidates(
        &mut self,
        open: [bool; BLOCKS_PER_SUPERBLOCK],
        threshold: UpperBound,
    ) -> &[(UpperBound, usize)] {
        let Self { lists, candidates, .. } = self;
        candidates.clear();
        // how many lists are essential in each block
        let mut essential = [0; BLOCKS_PER_SUPERBLOCK];
        for block in (0..BLOCKS_PER_SUPERBLOCK).filter(|&block| open[block]) {
            let enough = lists.iter().position(|(_, suffix)| suffix[block] < threshold);
            essential[block] = enough.unwrap_or(lists.len());
            lists[..essential[block]].iter().for_each(|(list, _)| list.prefetch_block(block));
        }
        for block in (0..BLOCKS_PER_SUPERBLOCK).filter(|&block| open[block]) {
            let before = candidates.len();
            let others = lists.get(essential[block]).map_or(0, |(_, suffix)| suffix[block]);
            let (min, first) = (threshold - others, block * BLOCK);
            if let [(list, _)] = &lists[..essential[block]] {
                list.for_each_in_block(block, |offset, bound| {
                    if bound >= min {
                        candidates.push((bound, first + offset));
                    }
                });
                if let Some((next, _)) = lists.get(1).filter(|_| candidates.len() > before) {
                    next.prefetch_block(block);
                }
                continue;
            }
            let mut bounds = [0; BLOCK];
            for (list, _) in &lists[..essential[block]] {
                list.for_each_in_block(block, |offset, bound| bounds[offset] += bound);
            }
            // most groups of 16 are empty: one comparison skips all of them
            let groups = bounds.as_chunks::<BLOCKS_PER_SUPERBLOCK>().0;
            for (first, group) in (first..).step_by(BLOCKS_PER_SUPERBLOCK).zip(groups) {
                if group.iter().fold(0, |max: UpperBound, &bound| max.max(bound)) >= min {
                    let all = group.iter().zip(first..).filter(|(bound, _)| **bound >= min);
                    candidates.extend(all.map(|(&bound, offset)| (bound, offset)));
                }
            }
            let next = lists.get(essential[block]).filter(|_| candidates.len() > before);
            if let Some((next, _)) = next {
                next.prefetch_block(block);
            }
        }
        for (at, (list, _)) in lists.iter().enumerate().skip(1) {
            let next = lists.get(at + 1);
            let suffix = next.map_or([0; BLOCKS_PER_SUPERBLOCK], |(_, suffix)| *suffix);
            let mut prefetched = BLOCKS_PER_SUPERBLOCK;
            candidates.retain_mut(|(bound, offset)| {
                let block = *offset / BLOCK;
                if at < essential[block] {
                    return true;
                }
                *bound += list.bound_of(block, *offset % BLOCK);
                let enough = *bound + suffix[block] >= threshold;
                if enough
                    && prefetched != block
                    && let Some((next, _)) = next
                {
                    next.prefetch_block(block);
                    prefetched = block;
                }
                enough
            });
        }
        candidates
    }
}
