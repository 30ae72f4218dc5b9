//! The collector of the best `k` documents, and the interface of a scoring function.

use std::cmp::Ordering;
use std::ops::Range;

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
}

impl<'s, S: Scoring> TopDocs<'s, S> {
    pub fn new(scoring: &'s S, scale: BoundScale, k: usize) -> Self {
        let hits = Vec::with_capacity(k.min(1024) + 1);
        Self { scoring, scale, k, hits, threshold: 1, rejected: false }
    }

    fn order(&self, a: (FixedScore, u32), b: (FixedScore, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Keeps a document if its score is high enough and it is accepted.
    pub fn offer(&mut self, new: (FixedScore, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.hits.len() == self.k;
        let late = full && self.order(new, self.hits[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late {
            return;
        }
        if !accept(new.1) {
            self.rejected = true;
            return;
        }
        let at = self.hits.partition_point(|&hit| self.order(hit, new) == Ordering::Less);
        self.hits.truncate(self.k - 1);
        self.hits.insert(at, new);
        if let Some(worst) = self.hits.get(self.k - 1) {
            self.threshold = self.scale.threshold(worst.0).max(1);
        }
    }
}
