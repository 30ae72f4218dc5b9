//! The best documents for a sum of clauses, without scoring the rest.
//!
//! Where a stretch of documents cannot hold one that is good enough, it is not looked at; the most
//! promising come first, and what the worst of the best scores then is a threshold that spares most
//! of the rest (`outlook`). In a stretch, the impacts of the postings are added up: that is an upper
//! bound of each document's score at two nanoseconds a posting, where the score itself costs thirty
//! times as much. Only what can still be kept is scored, best bound first. Clauses that together
//! cannot lift a document above the threshold are not walked (MaxScore, Turtle & Flood 1995) unless
//! so many documents are waiting for them that walking is cheaper than looking each up; and blocks
//! that say too little are jumped (Ding & Suel 2011).
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

use std::cmp::{Ordering, Reverse};

use super::clause::{Clause, POINT, Points, Reach, Scale, points};
use super::outlook::{Bounds, Outlook, STRETCH};
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
    /// Documents below this one are not kept.
    least: Reach,
}

impl<S: Scoring> Best<'_, S> {
    /// Returns the bound that a document must reach to be kept.
    fn threshold(&self) -> Reach {
        match self.kept.get(self.k - 1) {
            Some(worst) => self.scale.threshold(worst.0).max(self.least),
            None => self.least,
        }
    }

    /// Says whether no document was left out that belongs to the best.
    fn is_sure(&self) -> bool {
        let worst = self.kept.get(self.k - 1);
        self.least == 1 || worst.is_some_and(|worst| self.scale.threshold(worst.0) >= self.least)
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

/// The best of most queries score more than this part of what the best stretch promises: while
/// there is no threshold yet, less is not worth a look.
const GUESS: f32 = 0.45;

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
    let best = Best { scoring, scale, k, kept: Vec::with_capacity(k.min(1024) + 1), least: 1 };
    let mut search = Search::new(clauses, best);
    search.run(accept);
    search.window.close();
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    let kept = search.best.kept.into_iter();
    kept.map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

/// A search under way.
struct Search<'a, 's, S> {
    /// Least bound first.
    clauses: Vec<Numbered<'a>>,
    outlook: Outlook,
    best: Best<'s, S>,
    window: Window,
    /// At `i`: what the first `i` clauses can add together in the stretch that is looked at.
    below: Vec<Reach>,
}

/// A clause with its number in the query and its bounds.
struct Numbered<'a> {
    number: usize,
    bounds: Bounds,
    clause: Clause<'a>,
}

impl<'a, 's, S: Scoring> Search<'a, 's, S> {
    fn new(clauses: Vec<Clause<'a>>, best: Best<'s, S>) -> Self {
        let end = clauses.iter().map(|clause| clause.cursor.end()).max().unwrap_or(0);
        let stretches = (end as usize).div_ceil(STRETCH);
        let number = |(number, mut clause): (usize, Clause<'a>)| {
            let bounds = Bounds::new(&mut clause, stretches);
            Numbered { number, bounds, clause }
        };
        let mut clauses: Vec<Numbered<'a>> = clauses.into_iter().enumerate().map(number).collect();
        clauses.sort_by_key(|clause| (clause.bounds.most, clause.number));
        let outlook = Outlook::new(stretches, clauses.iter().map(|clause| &clause.bounds));
        Self { clauses, outlook, best, window: Window::new(), below: Vec::new() }
    }

    fn run(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        let first = self.outlook.first();
        for least in [(self.outlook.most() as f32 * GUESS) as Reach, 1] {
            self.best.least = least.max(1);
            self.pass(first.iter().copied(), accept);
            if self.best.is_sure() {
                break;
            }
        }
        self.best.least = 1;
        self.outlook.remove(&first);
        // as they lie, so that what is in one block is unpacked once
        self.pass(0..self.outlook.len(), accept);
    }

    /// Looks at those of some stretches that may hold a document worth keeping.
    fn pass(
        &mut self,
        stretches: impl Iterator<Item = usize>,
        accept: &mut dyn FnMut(u32) -> bool,
    ) {
        let mut threshold = self.best.threshold();
        for stretch in stretches {
            if self.outlook.of(stretch) >= threshold {
                self.look_at(stretch, accept);
                threshold = self.best.threshold();
            }
        }
    }

    fn look_at(&mut self, stretch: usize, accept: &mut dyn FnMut(u32) -> bool) {
        let mut all = 0;
        self.below.clear();
        self.below.push(all);
        for clause in &self.clauses {
            all += clause.bounds.of(stretch);
            self.below.push(all);
        }
        let threshold = self.best.threshold();
        // clauses before this one cannot make a document worth keeping by themselves
        let essential = self.below[1..].partition_point(|&below| below < threshold);
        self.window.open(stretch);
        // what a document must reach, and what a block must say, beside all that others can add
        let least = threshold - self.below[essential];
        for at in (essential..self.clauses.len()).rev() {
            let worth = threshold.saturating_sub(all - (self.below[at + 1] - self.below[at]));
            self.window.add(&mut self.clauses[at].clause, worth, least);
        }
        for at in (0..essential).rev() {
            if !self.window.is_waited_for() {
                break;
            }
            let worth = threshold.saturating_sub(all - (self.below[at + 1] - self.below[at]));
            let least = threshold - self.below[at];
            self.window.raise(&mut self.clauses[at].clause, worth, least);
        }
        self.window.gather(|document| self.best.scoring.allows(document));
        while let Some((bound, Reverse(document))) = self.window.promising.pop() {
            if bound < self.best.threshold() {
                break;
            }
            let sum = self.score(document);
            self.best.offer((sum, document), accept);
        }
    }

    fn score(&mut self, document: u32) -> Points {
        let mut sum = 0;
        for Numbered { number, clause, .. } in &mut self.clauses {
            if let Some(pattern) = clause.cursor.find(document) {
                sum += points(self.best.scoring.part(*number, document, pattern));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::clause::Reaches;
    use super::super::cursor::Cursor;
    use super::super::postings::{Impact, Posting, encode};
    use super::*;

    /// What a posting says depends on its pattern alone.
    struct Plain(Vec<f32>);

    fn saturation(pattern: u32) -> f32 {
        (pattern + 1) as f32 / 32.0
    }

    impl Scoring for Plain {
        fn part(&self, clause: usize, _: u32, pattern: u32) -> f32 {
            self.0[clause] * saturation(pattern)
        }

        fn allows(&self, document: u32) -> bool {
            !document.is_multiple_of(7)
        }

        fn tie(&self, a: u32, b: u32) -> Ordering {
            a.cmp(&b)
        }
    }

    /// A weight and a list, over a few dozen stretches: rare or frequent.
    fn clause() -> impl Strategy<Value = (f32, Vec<Posting>)> {
        let gap = prop_oneof![2u32..40, 100u32..4000];
        let list = (gap, prop::collection::vec((1u32..1000, 0u32..31), 0..3000));
        (0.1f32..9.0, list).prop_map(|(weight, (gap, steps))| {
            let mut document = 0;
            let list = steps.into_iter().map(|(step, pattern)| {
                document += 1 + step % gap;
                // most say little, as in texts
                let pattern = if step.is_multiple_of(9) { pattern } else { pattern / 8 };
                Posting { document, pattern }
            });
            (weight, list.collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn the_best_are_those_of_scoring_everything(
            sought in prop::collection::vec(clause(), 0..6),
            cut in 0usize..3000,
            k in 1usize..40,
        ) {
            let scoring = Plain(sought.iter().map(|(weight, _)| *weight).collect());
            let scale = Scale::new(scoring.0.iter().sum());
            let packed: Vec<(usize, Vec<u8>)> = sought.iter().map(|(_, list)| {
                let (cut, mut bytes) = (cut.min(list.len()), Vec::new());
                let impact = |p: &Posting| Impact::new(saturation(p.pattern), 0.0, false);
                encode(&list[..cut], impact, &mut bytes);
                (cut, bytes)
            }).collect();
            let clauses = sought.iter().zip(&packed).map(|((weight, list), (cut, bytes))| {
                let shares = [scale.reach(weight / 255.0); 256];
                let reaches = Box::new(Reaches { shares, speakers: None, heading: 0 });
                let cursor = Cursor::new(bytes, *cut as u32, &list[*cut..], Impact::MOST);
                Clause { cursor, reaches }
            });
            let accepts = |document: u32| !document.is_multiple_of(5);
            let found = top_k(clauses.collect(), scale, &scoring, k, &mut |document| accepts(document));

            let mut sums = std::collections::BTreeMap::<u32, Points>::new();
            for (clause, (_, list)) in sought.iter().enumerate() {
                for p in list {
                    *sums.entry(p.document).or_default() +=
                        points(scoring.part(clause, p.document, p.pattern));
                }
            }
            let mut all: Vec<(Points, u32)> = sums.into_iter().map(|(d, sum)| (sum, d)).collect();
            all.retain(|&(_, document)| scoring.allows(document) && accepts(document));
            all.sort_by_key(|&(sum, document)| (Reverse(sum), document));
            all.truncate(k);
            let found: Vec<u32> = found.iter().map(|scored| scored.document).collect();
            prop_assert_eq!(found, all.iter().map(|&(_, d)| d).collect::<Vec<u32>>());
        }
    }
}
