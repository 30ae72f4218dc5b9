//! The collector of the best `k` documents, or groups, and the interface of a scoring function.
//!
//! Of documents of one group, such as the messages of a turn, the best stands for all of them
//! (field collapsing): with the others gone, the threshold is that of the `k` best groups.

use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::index::topk::upper_bound::{BoundScale, FixedScore, UpperBound};

/// The scoring function of a query and its cheap filters.
pub trait Scoring {
    /// Returns what term number `term` adds for a document with this profile.
    fn term_score(&self, term: usize, document: u32, profile: u32) -> f32;
    /// Says whether the document exists and passes the cheap filters.
    fn allows(&self, document: u32) -> bool;
    /// Says whether there is a filter, so that many documents may not be allowed.
    fn is_filtered(&self) -> bool {
        false
    }
    /// Says whether some of these documents may be allowed, as far as a quick check can tell.
    fn may_allow(&self, _documents: Range<u32>) -> bool {
        true
    }
    /// Says whether the caller asks to stop: then no more documents are read.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Prefetches the memory that [`Self::term_score`] reads.
    fn prefetch(&self, _document: u32) {}
    /// Returns the group of a document, if documents are grouped.
    fn group(&self, _document: u32) -> Option<u32> {
        None
    }
    /// Orders two documents with equal scores.
    fn tie(&self, a: u32, b: u32) -> Ordering;
}

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The document.
    pub document: u32,
    /// Its score.
    pub score: f32,
}

/// The best `k` documents so far.
pub(super) struct TopDocs<'s, S> {
    pub scoring: &'s S,
    scale: BoundScale,
    pub k: usize,
    /// Best first.
    pub hits: Vec<(FixedScore, u32)>,
    /// The upper bound that a document must reach to be kept.
    pub threshold: UpperBound,
    /// Whether a document scored high enough but was not accepted.
    pub rejected: bool,
    /// The hit of each group.
    groups: FxHashMap<u32, (FixedScore, u32)>,
}

impl<'s, S: Scoring> TopDocs<'s, S> {
    pub fn new(scoring: &'s S, scale: BoundScale, k: usize) -> Self {
        let hits = Vec::with_capacity(k.min(1024) + 1);
        let groups = FxHashMap::default();
        Self { scoring, scale, k, hits, threshold: 1, rejected: false, groups }
    }

    fn order(&self, a: (FixedScore, u32), b: (FixedScore, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Returns the place of a hit, or that where it is to be inserted.
    fn position(&self, hit: (FixedScore, u32)) -> usize {
        self.hits.partition_point(|&other| self.order(other, hit) == Ordering::Less)
    }

    /// Keeps a document if its score is high enough and it is accepted.
    pub fn offer(&mut self, new: (FixedScore, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.hits.len() == self.k;
        let late = full && self.order(new, self.hits[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late {
            return;
        }
        let group = self.scoring.group(new.1);
        let known = group.and_then(|group| self.groups.get(&group).copied());
        if known.is_some_and(|known| self.order(known, new) == Ordering::Less) {
            return;
        }
        if !accept(new.1) {
            self.rejected = true;
            return;
        }
        if let Some(known) = known {
            let at = self.position(known);
            self.hits.remove(at);
        }
        while self.hits.len() >= self.k {
            let worst = self.hits.pop();
            let group = worst.and_then(|(_, document)| self.scoring.group(document));
            group.and_then(|group| self.groups.remove(&group));
        }
        self.groups.extend(group.map(|group| (group, new)));
        let at = self.position(new);
        self.hits.insert(at, new);
        if let Some(worst) = self.hits.get(self.k - 1) {
            self.threshold = self.scale.threshold(worst.0).max(1);
        }
    }
}
