//! The best documents for a sum of clauses, without scoring the rest.
//!
//! MaxScore with block bounds (Turtle & Flood 1995; Ding & Suel 2011): clauses that together
//! cannot lift a document above the worst one kept are only looked up, never walked, and whole
//! blocks whose bounds do not add up are jumped. The result is the same, to the last bit, as that
//! of scoring everything, because the parts of a score are always added in the query's order.

use std::cmp::Ordering;

use super::postings::{Bound, Cursor, END};

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub cursor: Cursor<'a>,
    /// Largest part it can add, or more.
    pub bound: f32,
}

/// What the search needs to know about the collection.
pub trait Scoring {
    /// Returns what clause number `clause` adds for a document with this pattern.
    fn part(&self, clause: usize, document: u32, pattern: u32) -> f32;
    /// Returns an upper bound of that for a stretch of its postings.
    fn most(&self, clause: usize, bound: Bound) -> f32;
    /// Says whether the document exists and passes the cheap filters.
    fn allows(&self, document: u32) -> bool;
    /// Says which of two documents with equal scores comes first.
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

/// Keeps the best `k`.
struct Best<'s, S> {
    scoring: &'s S,
    k: usize,
    kept: Vec<Scored>,
}

impl<S: Scoring> Best<'_, S> {
    /// Returns the score that a document must reach to be kept.
    fn threshold(&self) -> f32 {
        if self.kept.len() < self.k { 0.0 } else { self.kept[self.k - 1].score }
    }

    fn order(&self, a: &Scored, b: &Scored) -> Ordering {
        b.score.total_cmp(&a.score).then_with(|| self.scoring.tie(a.document, b.document))
    }

    fn offer(&mut self, scored: Scored) {
        let at = self.kept.partition_point(|kept| self.order(kept, &scored) == Ordering::Less);
        if at < self.k {
            self.kept.truncate(self.k - 1);
            self.kept.insert(at, scored);
        }
    }

    fn wants(&self, scored: &Scored) -> bool {
        self.kept.len() < self.k || self.order(scored, &self.kept[self.k - 1]) == Ordering::Less
    }
}

/// Returns the `k` best documents, best first.
///
/// `accept` is asked, in order of documents, only about those good enough to be kept; it is the
/// place for filters that cost more than scoring does.
pub fn top_k<S: Scoring>(
    clauses: Vec<Clause<'_>>,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    let mut best = Best { scoring, k, kept: Vec::with_capacity(k.min(1024) + 1) };
    if k == 0 || clauses.is_empty() {
        return best.kept;
    }
    let mut parts = vec![0.0f32; clauses.len()];
    let mut clauses: Vec<(usize, Clause<'_>)> = clauses.into_iter().enumerate().collect();
    clauses.sort_by(|a, b| a.1.bound.total_cmp(&b.1.bound));
    // reach[i]: what clauses 0..=i can add together
    let mut sum = 0.0;
    let reach: Vec<f32> = clauses
        .iter()
        .map(|(_, c)| {
            sum += c.bound;
            slack(sum)
        })
        .collect();
    // clauses before this one cannot make a document worth keeping by themselves
    let mut essential = 0;
    let mut window_end = None;
    loop {
        let (optional, walked) = clauses.split_at_mut(essential);
        let Some(document) = walked.iter().map(|(_, c)| c.cursor.document()).min() else { break };
        if document == END {
            break;
        }
        let threshold = best.threshold();
        let below = if essential > 0 { reach[essential - 1] } else { 0.0 };
        if threshold > 0.0 && window_end.is_none_or(|end| document > end) {
            let mut end = END - 1;
            let mut bound = below;
            for (number, clause) in walked.iter_mut() {
                let (last, most) = clause.cursor.skip(document);
                end = end.min(last);
                bound += scoring.most(*number, most);
            }
            if slack(bound) < threshold {
                for (_, clause) in walked.iter_mut() {
                    clause.cursor.seek(end + 1);
                }
                continue;
            }
            window_end = Some(end);
        }
        let allowed = scoring.allows(document);
        let mut partial = 0.0;
        parts.fill(0.0);
        for (number, clause) in walked.iter_mut() {
            if clause.cursor.document() == document {
                if allowed {
                    let part = scoring.part(*number, document, clause.cursor.pattern());
                    parts[*number] = part;
                    partial += part;
                }
                clause.cursor.advance();
            }
        }
        if !allowed {
            continue;
        }
        let mut hopeless = false;
        for (at, (number, clause)) in optional.iter_mut().enumerate().rev() {
            if slack(partial + reach[at]) < threshold {
                hopeless = true;
                break;
            }
            // the block's own bound is tighter, and known before the block is unpacked
            let (_, most) = clause.cursor.skip(document);
            let rest = if at > 0 { reach[at - 1] } else { 0.0 };
            let here = scoring.most(*number, most);
            if slack(partial + here + rest) < threshold {
                hopeless = true;
                break;
            }
            clause.cursor.seek(document);
            if clause.cursor.document() == document {
                let part = scoring.part(*number, document, clause.cursor.pattern());
                parts[*number] = part;
                partial += part;
            }
        }
        if hopeless {
            continue;
        }
        let scored = Scored { document, score: parts.iter().sum() };
        if best.wants(&scored) && accept(document) {
            best.offer(scored);
            while essential < reach.len() && reach[essential] < best.threshold() {
                essential += 1;
                window_end = None;
            }
        }
    }
    best.kept
}

/// Makes room for the rounding of sums in another order.
fn slack(bound: f32) -> f32 {
    bound * 1.000_01
}
