//! Best-first search over document ranges by their upper bounds (branch and bound).
//!
//! The range with the highest upper bound is expanded next: a superblock into its blocks, a block
//! into its documents; a document is scored. When the highest bound is below the worst of the best
//! `k` scores, no range that is left can hold one of the best (Land & Doig 1960), so no more is
//! read than the bounds themselves make necessary. Of equal bounds the first range is expanded
//! first, as ties are ordered.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::zip;
use std::ops::Range;

use crate::index::postings::codec::{BLOCK, BLOCKS_PER_SUPERBLOCK, SUPERBLOCK};
use crate::index::topk::bound_queue::{BoundedRange, DocRange, PendingBlocks};
use crate::index::topk::collector::{Scoring, TopDocs};
use crate::index::topk::maxscore::MaxScore;
use crate::index::topk::term_scorer::{Candidate, TermScorer};
use crate::index::topk::upper_bound::{FixedScore, UpperBound, to_fixed};

/// When the search changes from best-first order to MaxScore.
#[derive(Debug, Clone, Copy)]
pub(super) struct PruningPolicy {
    /// After so many expanded blocks, the ranges that must still be expanded are counted,
    pub blocks: usize,
    /// and if there are fewer than this, eight times as many blocks come before the next count.
    pub ranges: usize,
}

impl PruningPolicy {
    pub const DEFAULT: Self = Self { blocks: 32, ranges: 256 };
}

/// Expanded blocks after which too few documents are expected to be found for `k` in best-first
/// order.
const MAX_BLOCKS_FOR_K: usize = 256;

/// The largest `k` for MaxScore. Best-first order appends most hits at the end of those kept; any
/// other order inserts them in the middle, which takes quadratic time.
const MAX_MAXSCORE_K: usize = 1024;

/// Steps between two checks for an interrupt: a check costs more than a step.
const INTERRUPT_STEPS: usize = 32;

/// A search under way.
pub(super) struct BestFirstSearch<'c, 'a, 's, S> {
    scorers: &'c [TermScorer<'a>],
    top: TopDocs<'s, S>,
    /// Ranges that are not expanded, with their upper bounds.
    queue: BinaryHeap<BoundedRange>,
    /// The upper bound of each superblock.
    bounds: Vec<UpperBound>,
    policy: PruningPolicy,
    /// Blocks expanded.
    expanded: usize,
    /// Documents that were checked by the filter,
    checked: usize,
    /// and those among them that it did not allow.
    denied: usize,
}

/// Queue entries for which a thread keeps its memory.
const MAX_SPARE_QUEUE: usize = 1 << 14;

thread_local! {
    /// Empty buffers, kept from query to query: fresh memory costs more than using it.
    static SPARE_BUFFERS: Cell<(Vec<BoundedRange>, Vec<UpperBound>)> =
        const { Cell::new((Vec::new(), Vec::new())) };
}

/// Returns the documents of a block.
fn documents(block: u32) -> Range<u32> {
    let first = block * BLOCK as u32;
    first..first.saturating_add(BLOCK as u32)
}

impl<'c, 'a, 's, S: Scoring> BestFirstSearch<'c, 'a, 's, S> {
    pub fn new(scorers: &'c [TermScorer<'a>], top: TopDocs<'s, S>, policy: PruningPolicy) -> Self {
        let end = scorers.iter().map(|scorer| scorer.list.end()).max().unwrap_or(0);
        let superblocks = (end as usize).div_ceil(SUPERBLOCK);
        let (mut queue, mut bounds) = SPARE_BUFFERS.take();
        bounds.resize(superblocks.next_multiple_of(BLOCKS_PER_SUPERBLOCK), 0);
        for scorer in scorers {
            if top.scoring.is_stopped() {
                break;
            }
            scorer.add_superblock_bounds(&mut bounds);
        }
        queue.push(BoundedRange::new(UpperBound::MAX >> 1, DocRange::All));
        let queue = BinaryHeap::from(queue);
        Self { scorers, top, queue, bounds, policy, expanded: 0, checked: 0, denied: 0 }
    }

    /// Returns the hits and keeps the buffers for the next search.
    pub fn finish(self) -> Vec<(FixedScore, u32)> {
        let Self { queue, mut bounds, .. } = self;
        let mut queue = queue.into_vec();
        queue.clear();
        // where bounds prune nothing, every document was queued
        queue.shrink_to(MAX_SPARE_QUEUE);
        bounds.clear();
        SPARE_BUFFERS.set((queue, bounds));
        self.top.hits
    }

    pub fn run(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        for step in 0usize.. {
            let Some(next) = self.queue.pop() else { break };
            let over = next.bound() < self.top.threshold;
            if over || step.is_multiple_of(INTERRUPT_STEPS) && self.top.scoring.is_stopped() {
                break;
            }
            match next.range() {
                DocRange::All => self.expand_all(next),
                DocRange::Superblock(superblock) => self.expand_superblock(next, superblock),
                DocRange::Block(block) => {
                    self.expand_block(next, block);
                    self.expanded += 1;
                    if self.expanded == self.policy.blocks {
                        self.policy.blocks *= 8;
                        if self.should_switch() {
                            self.switch_to_maxscore(accept);
                        }
                    }
                }
                DocRange::Document(document) => self.score_candidate(document, accept),
            }
        }
    }

    /// Says whether many ranges must be expanded, and enough documents are known to tell which.
    fn should_switch(&self) -> bool {
        let TopDocs { k, ref hits, threshold, .. } = self.top;
        if k > MAX_MAXSCORE_K || self.top.rejected {
            return false;
        }
        let (mut known, mut bar) = (hits.len(), threshold);
        for queued in self.queue.iter().filter(|queued| queued.is_document()) {
            known += 1;
            // before any of these is scored, all ranges with a higher bound are expanded
            bar = if hits.len() < k { bar.max(queued.bound()) } else { bar };
        }
        let due = |queued: &&BoundedRange| !queued.is_document() && queued.bound() >= bar;
        // where so few documents are allowed, all have to be checked
        let enough = known >= k || self.expanded >= MAX_BLOCKS_FOR_K;
        enough && self.queue.iter().filter(due).count() >= self.policy.ranges
    }

    /// Scores a document and offers it to the collector.
    fn score_candidate(&mut self, document: u32, accept: &mut dyn FnMut(u32) -> bool) {
        let sum = self.score(document);
        self.top.offer((sum, document), accept);
    }

    /// Scores the documents that are queued, and then, as the threshold is high enough, scans all
    /// ranges that are left.
    fn switch_to_maxscore(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        let queued = std::mem::take(&mut self.queue).into_vec();
        let (mut documents, ranges): (Vec<_>, Vec<_>) =
            queued.into_iter().partition(|queued| queued.is_document());
        documents.sort_unstable();
        while !self.top.scoring.is_stopped()
            && let Some(next) = documents.pop()
            && next.bound() >= self.top.threshold
            && let DocRange::Document(document) = next.range()
        {
            self.score_candidate(document, accept);
        }
        match self.top.rejected {
            false => self.scan_superblocks(&ranges, accept),
            // more will be rejected, and asking about them out of order costs more than expanding
            true => self.queue = BinaryHeap::from(ranges),
        }
    }

    /// Scans the pending blocks with MaxScore, superblock by superblock.
    fn scan_superblocks(&mut self, ranges: &[BoundedRange], accept: &mut dyn FnMut(u32) -> bool) {
        let pending = self.pending_blocks(ranges);
        let mut order: Vec<(UpperBound, Reverse<u32>)> =
            (0..).zip(&pending).map(|(at, pending)| (pending.max(), Reverse(at))).collect();
        order.sort_unstable();
        let mut order = order.into_iter().rev().peekable();
        let mut lists = MaxScore::new(self.scorers);
        let (mut due, mut scores) = (Vec::new(), Vec::new());
        while let Some((max, Reverse(superblock))) = order.next()
            && max >= self.top.threshold
            && !self.top.scoring.is_stopped()
        {
            if let Some((_, Reverse(next))) = order.peek() {
                self.scorers.iter().for_each(|scorer| scorer.prefetch(*next as usize));
            }
            let bounds = lists.open(superblock as usize);
            let limits = pending[superblock as usize].blocks(bounds);
            let threshold = self.top.threshold;
            let scoring = self.top.scoring;
            let open = std::array::from_fn(|at| {
                let block = superblock * BLOCKS_PER_SUPERBLOCK as u32 + at as u32;
                limits[at] >= threshold && scoring.may_allow(documents(block))
            });
            if open == [false; BLOCKS_PER_SUPERBLOCK] {
                continue;
            }
            let document = |offset: u32| superblock * SUPERBLOCK as u32 + offset;
            let candidates = lists.candidates(open, threshold);
            candidates.iter().for_each(|&(_, offset)| scoring.prefetch(document(offset)));
            // documents with a higher bound were queued before
            let is_due = |&&(bound, offset): &&Candidate| {
                bound <= limits[offset as usize / BLOCK] && scoring.allows(document(offset))
            };
            due.clear();
            let candidates = candidates.iter().filter(is_due);
            due.extend(candidates.map(|&(_, offset)| document(offset)));
            self.score_all(&due, &mut scores);
            zip(&scores, &due)
                .for_each(|(&score, &document)| self.top.offer((score, document), accept));
        }
    }

    /// Sets the scores of some documents of one superblock, in ascending order.
    fn score_all(&self, documents: &[u32], scores: &mut Vec<FixedScore>) {
        scores.clear();
        scores.resize(documents.len(), 0);
        for (at, scorer) in self.scorers.iter().enumerate() {
            scorer.list.find_all(documents, |place, profile| {
                let score = self.top.scoring.term_score(at, documents[place], profile);
                scores[place] += to_fixed(score);
            });
        }
    }

    /// Returns for each superblock what of it is still queued.
    fn pending_blocks(&self, ranges: &[BoundedRange]) -> Vec<PendingBlocks> {
        let mut all = vec![PendingBlocks::default(); self.bounds.len()];
        for range in ranges {
            let bound = range.bound();
            match range.range() {
                DocRange::All => {
                    for (&max, pending) in self.bounds.iter().zip(&mut all) {
                        pending.rest =
                            if max <= bound { max.max(pending.rest) } else { pending.rest };
                    }
                }
                DocRange::Superblock(superblock) => all[superblock as usize].rest = bound,
                DocRange::Block(block) => {
                    let (superblock, block) = (
                        block as usize / BLOCKS_PER_SUPERBLOCK,
                        block as usize % BLOCKS_PER_SUPERBLOCK,
                    );
                    all[superblock].blocks[block] = bound;
                }
                DocRange::Document(_) => {}
            }
        }
        all
    }

    fn expand_all(&mut self, range: BoundedRange) {
        let mut bounds = std::mem::take(&mut self.bounds);
        let scorers = self.scorers;
        self.push_children(range, &mut bounds, |at| {
            scorers.iter().for_each(|scorer| scorer.prefetch(at));
            Some(DocRange::Superblock(at as u32))
        });
        self.bounds = bounds;
    }

    fn expand_superblock(&mut self, range: BoundedRange, superblock: u32) {
        let mut bounds = [0; BLOCKS_PER_SUPERBLOCK];
        for scorer in self.scorers {
            scorer.add_block_bounds(superblock as usize, &mut bounds);
        }
        let scoring = self.top.scoring;
        self.push_children(range, &mut bounds, |at| {
            let block = superblock * BLOCKS_PER_SUPERBLOCK as u32 + at as u32;
            scoring.may_allow(documents(block)).then_some(DocRange::Block(block))
        });
    }

    fn expand_block(&mut self, range: BoundedRange, block: u32) {
        let mut bounds = [0; BLOCK];
        self.scorers.iter().for_each(|scorer| scorer.prefetch_block(block as usize));
        for scorer in self.scorers {
            scorer.add_document_bounds(block as usize, &mut bounds);
        }
        let scoring = self.top.scoring;
        let first = documents(block).start;
        if scoring.is_filtered() && self.denied * 4 > self.checked * 3 {
            // else documents that are not allowed would raise the bound of the block again and
            // again; where most are allowed, checking every document takes longer than that
            for (document, bound) in (first..).zip(&mut bounds).filter(|(_, bound)| **bound > 0) {
                *bound *= UpperBound::from(scoring.allows(document));
            }
        }
        let (checked, denied) = (Cell::new(self.checked), Cell::new(self.denied));
        self.push_children(range, &mut bounds, |at| {
            let document = first + at as u32;
            let allows = scoring.allows(document);
            checked.set(checked.get() + 1);
            denied.set(denied.get() + usize::from(!allows));
            allows.then(|| {
                scoring.prefetch(document);
                DocRange::Document(document)
            })
        });
        (self.checked, self.denied) = (checked.get(), denied.get());
    }

    /// Replaces a range in the queue by its children. Children with much lower bounds than the best
    /// of them share one entry, that of the range: most of them are never needed.
    #[inline]
    fn push_children(
        &mut self,
        parent: BoundedRange,
        bounds: &mut [UpperBound],
        child: impl Fn(usize) -> Option<DocRange>,
    ) {
        let (limit, mut max) = (parent.bound(), 0);
        for bound in bounds.iter_mut() {
            // children with a higher bound were queued before
            *bound = if *bound <= limit { *bound } else { 0 };
            max = max.max(*bound);
        }
        let threshold = self.top.threshold;
        if max < threshold {
            return;
        }
        let min = threshold.max(max - max / 4);
        let mut rest = 0;
        // most groups of 16 are empty: one comparison skips all of them
        let groups = bounds.as_chunks::<BLOCKS_PER_SUPERBLOCK>().0;
        for (first, group) in (0..).step_by(BLOCKS_PER_SUPERBLOCK).zip(groups) {
            let max = group.iter().fold(0, |max: UpperBound, &bound| max.max(bound));
            if max < min {
                rest = max.max(rest);
                continue;
            }
            for (at, &bound) in (first..).zip(group) {
                if bound < min {
                    rest = bound.max(rest);
                } else if let Some(child) = child(at) {
                    self.queue.push(BoundedRange::new(bound, child));
                }
            }
        }
        if rest >= threshold {
            self.queue.push(BoundedRange::new(rest, parent.range()));
        }
    }

    fn score(&self, document: u32) -> FixedScore {
        let mut sum = 0;
        for (at, scorer) in self.scorers.iter().enumerate() {
            if let Some(profile) = scorer.list.find(document) {
                sum += to_fixed(self.top.scoring.term_score(at, document, profile));
            }
        }
        sum
    }
}
