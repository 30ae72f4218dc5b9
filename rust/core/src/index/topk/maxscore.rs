//! MaxScore over one superblock at a time, once the score to beat is known.
//!
//! A document that is in none of the lists with the highest bounds scores no more than the others
//! add (MaxScore, Turtle & Flood 1995), which is mostly too little. So the postings of one or two
//! *essential* lists are read, and the others are read only for the few documents that can
//! still reach the threshold.

use crate::index::postings::codec::{BLOCK, BLOCKS_PER_SUPERBLOCK};
use crate::index::topk::term_scorer::{Candidate, SuperblockScorer, TermScorer};
use crate::index::topk::upper_bound::UpperBound;

/// The lists of a query in one superblock after the other.
pub(crate) struct MaxScore<'c, 'a> {
    /// Sorted by the highest bound first.
    scorers: Vec<&'c TermScorer<'a>>,
    lists: Vec<OpenList<'c, 'a>>,
    /// The upper bound of each block.
    bounds: BlockBounds,
    candidates: Vec<Candidate>,
    /// Spare buffer for the candidates of a block.
    found: [Candidate; BLOCK],
}

/// A list in the open superblock.
struct OpenList<'c, 'a> {
    list: SuperblockScorer<'c, 'a>,
    /// What it adds in each block, at most.
    bounds: BlockBounds,
}

type BlockBounds = [UpperBound; BLOCKS_PER_SUPERBLOCK];

/// The lists whose postings are read to find the candidates of a block.
#[derive(Clone, Copy)]
enum Essential {
    /// So many of the first.
    First(usize),
    /// One that every document has which can reach the threshold.
    Required(usize),
}

impl Essential {
    fn contains(self, list: usize) -> bool {
        match self {
            Self::First(count) => list < count,
            Self::Required(required) => list == required,
        }
    }
}

impl<'c, 'a> MaxScore<'c, 'a> {
    pub fn new(scorers: &'c [TermScorer<'a>]) -> Self {
        let mut scorers: Vec<_> = scorers.iter().collect();
        scorers.sort_by_key(|scorer| std::cmp::Reverse(scorer.bounds.max()));
        let bounds = [0; BLOCKS_PER_SUPERBLOCK];
        let (lists, candidates, found) = (Vec::new(), Vec::new(), [(0, 0); BLOCK]);
        Self { scorers, lists, bounds, candidates, found }
    }

    /// Moves to a superblock and returns the upper bound of each of its blocks.
    pub fn open(&mut self, superblock: usize) -> BlockBounds {
        self.lists.clear();
        self.bounds = [0; BLOCKS_PER_SUPERBLOCK];
        for scorer in &self.scorers {
            let Some(list) = scorer.in_superblock(superblock) else { continue };
            let mut bounds = [0; BLOCKS_PER_SUPERBLOCK];
            list.add_block_bounds(&mut bounds);
            self.bounds.iter_mut().zip(bounds).for_each(|(sum, bound)| *sum += bound);
            self.lists.push(OpenList { list, bounds });
        }
        self.bounds
    }

    /// Returns which lists are essential in each block: of those that are required the one with the
    /// fewest postings, else as many of the first as the others do not reach the threshold without.
    fn essential(&self, threshold: UpperBound) -> [Essential; BLOCKS_PER_SUPERBLOCK] {
        // for all blocks at a time: there are thousands of blocks, and few lists
        let mut rarest = [(usize::MAX, 0); BLOCKS_PER_SUPERBLOCK];
        for (at, OpenList { list, bounds }) in self.lists.iter().enumerate() {
            let counts = list.counts();
            for block in 0..BLOCKS_PER_SUPERBLOCK {
                let is_required = self.bounds[block] - bounds[block] < threshold;
                let count = if is_required { counts[block].into() } else { usize::MAX };
                rarest[block] = rarest[block].min((count, at));
            }
        }
        std::array::from_fn(|block| match rarest[block] {
            (usize::MAX, _) => Essential::First(self.essential_count(block, threshold)),
            (_, at) => Essential::Required(at),
        })
    }

    fn essential_count(&self, block: usize, threshold: UpperBound) -> usize {
        let mut others = self.bounds[block];
        let essential = self.lists.iter().take_while(|list| {
            let is_essential = others >= threshold;
            others -= list.bounds[block];
            is_essential
        });
        essential.count()
    }

    /// Returns those documents of the open blocks that can reach the threshold.
    pub fn candidates(
        &mut self,
        open: [bool; BLOCKS_PER_SUPERBLOCK],
        threshold: UpperBound,
    ) -> &[Candidate] {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let essential = self.essential(threshold);
        for block in (0..BLOCKS_PER_SUPERBLOCK).filter(|&block| open[block]) {
            let lists = self.lists.iter().enumerate();
            let read = lists.filter(|(at, _)| essential[block].contains(*at));
            read.for_each(|(_, open)| open.list.prefetch_block(block));
        }
        // what the lists that are not read yet add in each block, at most
        let mut rest = self.bounds;
        // how many candidates a block has
        let mut counts = [0; BLOCKS_PER_SUPERBLOCK];
        for block in (0..BLOCKS_PER_SUPERBLOCK).filter(|&block| open[block]) {
            let before = candidates.len();
            self.read_essential(block, essential[block], threshold, &mut rest, &mut candidates);
            counts[block] = candidates.len() - before;
            let next = (0..self.lists.len()).find(|&at| !essential[block].contains(at));
            if let Some(next) = next.filter(|_| counts[block] > 0) {
                self.lists[next].list.prefetch_block(block);
            }
        }
        for (at, OpenList { list, bounds }) in self.lists.iter().enumerate() {
            let (mut from, mut kept) = (0, 0);
            for block in (0..BLOCKS_PER_SUPERBLOCK).filter(|&block| open[block]) {
                let part = from..from + counts[block];
                from = part.end;
                if part.is_empty() {
                    continue;
                }
                if essential[block].contains(at) {
                    candidates.copy_within(part.clone(), kept);
                    kept += part.len();
                    continue;
                }
                rest[block] -= bounds[block];
                list.add_bounds(block, &mut candidates[part.clone()]);
                let (before, min) = (kept, threshold.saturating_sub(rest[block]));
                for next in part {
                    // no processor can foretell which are kept
                    let candidate = candidates[next];
                    candidates[kept] = candidate;
                    kept += usize::from(candidate.0 >= min);
                }
                counts[block] = kept - before;
                if let Some(next) = self.lists.get(at + 1).filter(|_| kept > before) {
                    next.list.prefetch_block(block);
                }
            }
            candidates.truncate(kept);
        }
        self.candidates = candidates;
        &self.candidates
    }

    /// Appends the documents of an open block that can reach the threshold, as far as the essential lists
    /// tell, which are then no part of `rest`.
    fn read_essential(
        &mut self,
        block: usize,
        essential: Essential,
        threshold: UpperBound,
        rest: &mut BlockBounds,
        candidates: &mut Vec<Candidate>,
    ) {
        let first = block * BLOCK;
        let lists = match essential {
            Essential::First(count) => &self.lists[..count],
            Essential::Required(at) => &self.lists[at..=at],
        };
        rest[block] -= lists.iter().map(|open| open.bounds[block]).sum::<UpperBound>();
        let min = threshold.saturating_sub(rest[block]);
        if let [OpenList { list, .. }] = lists {
            let (found, mut count) = (&mut self.found, 0);
            list.for_each_in_block(block, min, |offset, bound| {
                // no processor can foretell which are candidates; no block has more than fit
                found[count % BLOCK] = (bound, (first + offset) as u32);
                count += usize::from(bound >= min);
            });
            candidates.extend_from_slice(&found[..count.min(BLOCK)]);
            return;
        }
        let mut bounds = [0; BLOCK];
        for OpenList { list, .. } in lists {
            list.for_each_in_block(block, 0, |offset, bound| bounds[offset] += bound);
        }
        // most groups of 16 are empty: one comparison skips all of them
        let groups = bounds.as_chunks::<BLOCKS_PER_SUPERBLOCK>().0;
        for (first, group) in (first as u32..).step_by(BLOCKS_PER_SUPERBLOCK).zip(groups) {
            if group.iter().fold(0, |max: UpperBound, &bound| max.max(bound)) >= min {
                let all = group.iter().zip(first..).filter(|(bound, _)| **bound >= min);
                candidates.extend(all.map(|(&bound, offset)| (bound, offset)));
            }
        }
    }
}
