//! The best documents for a sum of clauses, without scoring the rest.
//!
//! First the rarest clause is looked through for documents to begin with: what the worst of them
//! scores is a threshold that spares most of the work behind it. Then, a window of documents at a
//! time, the impacts of the postings are added up: that is an upper bound of each document's
//! score at two nanoseconds a posting, where the score itself costs thirty times as much. Only
//! what can still be kept is scored, best bound first. Clauses that together cannot lift a
//! document above the threshold are not walked (MaxScore, Turtle & Flood 1995) unless so many
//! documents of a window are waiting for them that walking is cheaper than looking each up; and
//! blocks that say too little are jumped (Ding & Suel 2011).
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::clause::{Clause, POINT, Points, Reach, Scale, points};
use super::cursor::END;
use super::window::Window;

/// What the search needs to know about the collection.
pub trait Scoring {
    /// Returns what clause number `clause` adds for a document with this pattern.
    fn part(&self, clause: usize, document: u32, pattern: u32) -> f32;
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
    scale: Scale,
    k: usize,
    kept: Vec<(Points, u32)>,
}

impl<S: Scoring> Best<'_, S> {
    /// Returns the bound that a document must reach to be kept.
    fn threshold(&self) -> Reach {
        match self.kept.get(self.k - 1) {
            Some(worst) => self.scale.threshold(worst.0).max(1),
            None => 1,
        }
    }

    fn order(&self, a: (Points, u32), b: (Points, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Keeps a document if it is good enough and accepted; one that is kept stays kept.
    fn offer(&mut self, new: (Points, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.kept.len() == self.k;
        let late = full && self.order(new, self.kept[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late {
            return;
        }
        let at = self.kept.partition_point(|&kept| self.order(kept, new) == Ordering::Less);
        if self.kept.get(at) == Some(&new) || !accept(new.1) {
            return;
        }
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
    }
}

/// Postings that are looked through for documents to begin with.
const SAMPLE: u32 = 4096;
/// Returns the `k` best documents, best first.
///
/// `accept` is asked only about documents good enough to be kept; it is the place for filters
/// that cost more than scoring does.
pub fn top_k<S: Scoring>(
    clauses: Vec<Clause<'_>>,
    scale: Scale,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    if k == 0 {
        return Vec::new();
    }
    let best = Best { scoring, scale, k, kept: Vec::with_capacity(k.min(1024) + 1) };
    let mut search = Search::new(clauses, best);
    search.begin(accept);
    while search.next_window(accept) {}
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    let kept = search.best.kept.into_iter();
    kept.map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

/// A search under way.
struct Search<'a, 's, S> {
    /// Least bound first.
    clauses: Vec<Numbered<'a>>,
    /// At `i`: what the first `i` clauses can add together.
    below: Vec<Reach>,
    best: Best<'s, S>,
    window: Window,
}

/// A clause with its number in the query and its bound.
struct Numbered<'a> {
    number: usize,
    most: Reach,
    clause: Clause<'a>,
}

impl<'a, 's, S: Scoring> Search<'a, 's, S> {
    fn new(clauses: Vec<Clause<'a>>, best: Best<'s, S>) -> Self {
        let number = |(number, clause): (usize, Clause<'a>)| {
            let most = clause.reaches.most(clause.cursor.most());
            Numbered { number, most, clause }
        };
        let mut clauses: Vec<Numbered<'a>> = clauses.into_iter().enumerate().map(number).collect();
        clauses.sort_by_key(|clause| (clause.most, clause.number));
        let mut below: Vec<Reach> = vec![0];
        for clause in &clauses {
            below.push(below[below.len() - 1] + clause.most);
        }
        Self { clauses, below, best, window: Window::new() }
    }

    /// Scores the most promising documents of the clause that can say most.
    fn begin(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        let Some(weightiest) = self.clauses.last() else { return };
        let mut cursor = weightiest.clause.cursor.clone();
        let reaches = &weightiest.clause.reaches;
        let (mut looked_at, mut first) = (0, BinaryHeap::new());
        while looked_at < SAMPLE && cursor.position() != END {
            let end = cursor.position().saturating_add(SAMPLE).min(END - 1);
            cursor.walk(
                end,
                |_| true,
                |document, saturation, heading, code| {
                    looked_at += 1;
                    let new = Reverse((reaches.of(saturation, heading, code), Reverse(document)));
                    if first.len() < self.best.k {
                        first.push(new);
                    } else if let Some(mut worst) = first.peek_mut().filter(|worst| new < **worst) {
                        *worst = new;
                    }
                },
            );
        }
        for Reverse((_, Reverse(document))) in first {
            if self.best.scoring.allows(document) {
                let sum = self.score(document, 0);
                self.best.offer((sum, document), accept);
            }
        }
    }

    /// Takes up the next documents; returns false at the end.
    fn next_window(&mut self, accept: &mut dyn FnMut(u32) -> bool) -> bool {
        let threshold = self.best.threshold();
        // clauses before this one cannot make a document worth keeping by themselves
        let essential = self.below[1..].partition_point(|&below| below < threshold);
        let walked = &mut self.clauses[essential..];
        let start = walked.iter().map(|c| c.clause.cursor.position()).min().unwrap_or(END);
        if start == END {
            return false;
        }
        self.window.open(start);
        let all = self.below[self.clauses.len()];
        // what a document must reach, and what a block must say, beside all that others can add
        let least = threshold - self.below[essential];
        for clause in self.clauses[essential..].iter_mut().rev() {
            self.window.add(&mut clause.clause, threshold.saturating_sub(all - clause.most), least);
        }
        let mut first = essential;
        while let Some(next) = first.checked_sub(1).map(|at| &mut self.clauses[at])
            && self.window.pays(&next.clause)
        {
            self.window.add(
                &mut next.clause,
                threshold.saturating_sub(all - next.most),
                Reach::MAX,
            );
            first -= 1;
            self.window.keep(threshold - self.below[first]);
        }
        self.window.gather(|document| self.best.scoring.allows(document));
        for at in 0..self.window.promising.len() {
            let (bound, Reverse(document)) = self.window.promising[at];
            if bound + self.below[first] < self.best.threshold() {
                break;
            }
            if let Some(sum) = self.lift(document, bound, first) {
                let sum = sum + self.score(document, first);
                self.best.offer((sum, document), accept);
            }
        }
        true
    }

    /// Scores what the clauses from `first` on hold of a document.
    fn score(&mut self, document: u32, first: usize) -> Points {
        let mut sum = 0;
        for Numbered { number, clause, .. } in &mut self.clauses[first..] {
            if let Some(pattern) = clause.cursor.find(document) {
                sum += points(self.best.scoring.part(*number, document, pattern));
            }
        }
        sum
    }

    /// Scores what the clauses before `first` hold of a document, weightiest first; none as soon
    /// as it is clear that it cannot be kept.
    fn lift(&mut self, document: u32, mut bound: Reach, first: usize) -> Option<Points> {
        let threshold = self.best.threshold();
        let mut sum = 0;
        for at in (0..first).rev() {
            if bound + self.below[at + 1] < threshold {
                return None;
            }
            let Numbered { number, clause, .. } = &mut self.clauses[at];
            let Clause { cursor, reaches } = clause;
            let rest = bound + self.below[at];
            let worth = |block| rest + reaches.most(block) >= threshold;
            if let Some(pattern) = cursor.find_if(document, worth) {
                let part = self.best.scoring.part(*number, document, pattern);
                sum += points(part);
                bound += self.best.scale.reach(part);
            }
        }
        (bound >= threshold).then_some(sum)
    }
}
