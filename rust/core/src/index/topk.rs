//! The best documents for a sum of clauses, without scoring the rest.
//!
//! MaxScore with block bounds (Turtle & Flood 1995; Ding & Suel 2011): clauses that together
//! cannot lift a document above the worst one kept are only looked up, never walked, and blocks
//! whose bounds do not add up are jumped. The walked clauses are added up one after the other over
//! a window of documents, which costs a few nanoseconds a posting, where merging them document by
//! document costs tens.
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

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

/// A score as a whole number of 2⁻³² points.
type Points = u64;
const POINT: f64 = 4_294_967_296.0;

#[inline]
fn points(score: f32) -> Points {
    (f64::from(score) * POINT) as Points
}

/// Rounds a bound up, with room for how `f32` rounds.
fn points_above(bound: f32) -> Points {
    points(bound * 1.000_01).saturating_add(1)
}

/// Keeps the best `k`.
struct Best<'s, S> {
    scoring: &'s S,
    k: usize,
    kept: Vec<(Points, u32)>,
}

impl<S: Scoring> Best<'_, S> {
    /// Returns the score that a document must reach to be kept.
    fn threshold(&self) -> Points {
        if self.kept.len() < self.k { 1 } else { self.kept[self.k - 1].0 }
    }

    fn order(&self, a: (Points, u32), b: (Points, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    fn wants(&self, new: (Points, u32)) -> bool {
        new.0 >= self.threshold()
            && (self.kept.len() < self.k
                || self.order(new, self.kept[self.k - 1]) == Ordering::Less)
    }

    fn offer(&mut self, new: (Points, u32)) {
        let at = self.kept.partition_point(|&kept| self.order(kept, new) == Ordering::Less);
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
    }
}

/// Documents added up at a time: their sums stay in the nearest cache.
const WINDOW: u32 = 2048;

/// The sums of the documents from `start` on.
struct Window {
    start: u32,
    sums: Vec<Points>,
    /// One bit a document that some clause holds.
    held: [u64; WINDOW as usize / 64],
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
    if k == 0 {
        return Vec::new();
    }
    let mut best = Best { scoring, k, kept: Vec::with_capacity(k.min(1024) + 1) };
    let mut clauses: Vec<(usize, Clause<'_>)> = clauses.into_iter().enumerate().collect();
    clauses.sort_by(|a, b| a.1.bound.total_cmp(&b.1.bound));
    // reach[i]: what the clauses before i can add together
    let mut reach: Vec<Points> = vec![0];
    for (_, clause) in &clauses {
        reach.push(reach[reach.len() - 1] + points_above(clause.bound));
    }
    let mut window =
        Window { start: 0, sums: vec![0; WINDOW as usize], held: [0; WINDOW as usize / 64] };
    // clauses before this one cannot make a document worth keeping by themselves
    let mut essential = 0;
    loop {
        while essential < clauses.len() && reach[essential + 1] < best.threshold() {
            essential += 1;
        }
        let (looked_up, walked) = clauses.split_at_mut(essential);
        let start = walked.iter().map(|(_, c)| c.cursor.document()).min().unwrap_or(END);
        if start == END {
            break;
        }
        let mut end = start + (WINDOW - 1).min(END - 1 - start);
        let mut bound = reach[essential];
        let mut block_end = END - 1;
        for (number, clause) in walked.iter_mut() {
            let (last, most) = clause.cursor.skip(start);
            block_end = block_end.min(last);
            bound += points_above(scoring.most(*number, most));
        }
        if bound < best.threshold() {
            for (_, clause) in walked.iter_mut() {
                clause.cursor.seek(block_end + 1);
            }
            continue;
        }
        end = end.min(block_end);
        window.start = start;
        for (number, clause) in walked.iter_mut() {
            clause.cursor.walk(end, &mut |document, pattern| {
                let at = (document - start) as usize;
                window.sums[at] += points(scoring.part(*number, document, pattern));
                window.held[at / 64] |= 1 << (at % 64);
            });
        }
        window.drain(end, |document, sum| {
            let threshold = best.threshold();
            if sum + reach[looked_up.len()] < threshold || !scoring.allows(document) {
                return;
            }
            let Some(sum) = look_up(looked_up, scoring, &reach, document, sum, threshold) else {
                return;
            };
            if best.wants((sum, document)) && accept(document) {
                best.offer((sum, document));
            }
        });
    }
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    best.kept.into_iter().map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

impl Window {
    /// Hands out the sums up to `end`, in order of documents, and clears them.
    fn drain(&mut self, end: u32, mut each: impl FnMut(u32, Points)) {
        for word in 0..=(end - self.start) as usize / 64 {
            let mut bits = std::mem::take(&mut self.held[word]);
            while bits > 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                each(self.start + at as u32, std::mem::take(&mut self.sums[at]));
            }
        }
    }
}

/// Adds what the clauses that are not walked hold of a document; none if it cannot be kept.
fn look_up<S: Scoring>(
    clauses: &mut [(usize, Clause<'_>)],
    scoring: &S,
    reach: &[Points],
    document: u32,
    mut sum: Points,
    threshold: Points,
) -> Option<Points> {
    for (at, (number, clause)) in clauses.iter_mut().enumerate().rev() {
        if sum + reach[at + 1] < threshold {
            return None;
        }
        // the block's own bound is tighter, and known before the block is unpacked
        let (_, most) = clause.cursor.skip(document);
        if sum + reach[at] + points_above(scoring.most(*number, most)) < threshold {
            return None;
        }
        clause.cursor.seek(document);
        if clause.cursor.document() == document {
            sum += points(scoring.part(*number, document, clause.cursor.pattern()));
        }
    }
    Some(sum)
}
