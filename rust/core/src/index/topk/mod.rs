//! Top-k retrieval for a sum of terms, with superblock and block upper bounds (block-max MaxScore).
//!
//! Similar documents lie next to each other, so the hits of a query are in few blocks, and the
//! upper bound of a block is known without reading its postings (after Chakrabarti et al. 2011,
//! "Interval-based pruning for top-k processing"). `best_first` always expands the range with the
//! highest upper bound next; where texts repeat and bounds are alike, `maxscore` takes over.
//!
//! Scores are sums of fixed-point numbers (`upper_bound`), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring every document.

mod best_first;
pub mod bound_queue;
pub mod collector;
mod maxscore;
pub mod term_scorer;
#[cfg(test)]
mod tests;
pub mod upper_bound;

use crate::index::topk::best_first::{BestFirstSearch, PruningPolicy};
use crate::index::topk::collector::{Scored, Scoring, TopDocs};
use crate::index::topk::term_scorer::TermScorer;
use crate::index::topk::upper_bound::{BoundScale, from_fixed};

/// Returns the `k` best documents, best first.
///
/// `accept` is asked only about documents good enough to be kept; it is the place for filters
/// that cost more than scoring does.
pub fn top_k<S: Scoring>(
    scorers: &[TermScorer<'_>],
    scale: BoundScale,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    if k == 0 {
        return Vec::new();
    }
    let top = TopDocs::new(scoring, scale, k);
    top_k_with_policy(scorers, top, PruningPolicy::DEFAULT, accept)
}

/// Does the same under any pruning policy, for the tests.
fn top_k_with_policy<S: Scoring>(
    scorers: &[TermScorer<'_>],
    top: TopDocs<'_, S>,
    policy: PruningPolicy,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    let mut search = BestFirstSearch::new(scorers, top, policy);
    search.run(accept);
    let hits = search.finish().into_iter();
    hits.map(|(sum, document)| Scored { document, score: from_fixed(sum) }).collect()
}
