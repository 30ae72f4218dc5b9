//! The best documents for a sum of clauses, without scoring the rest.
//!
//! Neighbours are alike, so what a query seeks is in few places, and what a place can promise is
//! known without a look at what is in it (after Chakrabarti et al. 2011, "Interval-based pruning").
//! Always the best of all promises is redeemed next: a stretch is opened for what its rows promise,
//! a row for what its documents do, and a document is scored. When the best promise is less than
//! the worst of the best scores, nothing is left that could be among them (best-first branch and
//! bound, Land & Doig 1960); so no more is opened than the bounds themselves make necessary.
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::clause::{Clause, POINT, Points, Reach, Scale, points};
use super::postings::{ROW, ROWS, STRETCH};

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
    /// The bound that a document must reach to be kept.
    threshold: Reach,
}

impl<S: Scoring> Best<'_, S> {
    fn order(&self, a: (Points, u32), b: (Points, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Keeps a document if it is good enough and accepted.
    fn offer(&mut self, new: (Points, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.kept.len() == self.k;
        let late = full && self.order(new, self.kept[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late || !accept(new.1) {
            return;
        }
        let at = self.kept.partition_point(|&kept| self.order(kept, new) == Ordering::Less);
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
        if let Some(worst) = self.kept.get(self.k - 1) {
            self.threshold = self.scale.threshold(worst.0).max(1);
        }
    }
}

/// Returns the `k` best documents, best first.
///
/// `accept` is asked only about documents good enough to be kept; it is the place for filters
/// that cost more than scoring does.
pub fn top_k<S: Scoring>(
    clauses: &[Clause<'_>],
    scale: Scale,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    if k == 0 {
        return Vec::new();
    }
    let kept = Vec::with_capacity(k.min(1024) + 1);
    let mut search = Search::new(clauses, Best { scoring, scale, k, kept, threshold: 1 });
    search.run(accept);
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    let kept = search.best.kept.into_iter();
    kept.map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

/// Where something may be found, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Stretch(Reverse<u32>),
    Row(Reverse<u32>),
    Document(Reverse<u32>),
}

/// A search under way.
struct Search<'c, 'a, 's, S> {
    clauses: &'c [Clause<'a>],
    best: Best<'s, S>,
    /// What the documents of a place can score at most.
    promises: BinaryHeap<(Reach, Place)>,
    /// For each stretch, and in it for each clause: the number of its part, plus one.
    parts: Vec<u32>,
}

impl<'c, 'a, 's, S: Scoring> Search<'c, 'a, 's, S> {
    fn new(clauses: &'c [Clause<'a>], best: Best<'s, S>) -> Self {
        let end = clauses.iter().map(|clause| clause.list.end()).max().unwrap_or(0);
        let stretches = (end as usize).div_ceil(STRETCH);
        let mut parts = vec![0; stretches * clauses.len()];
        let mut bounds = vec![0; stretches];
        for (at, clause) in clauses.iter().enumerate() {
            clause.each_stretch(|stretch, part, most| {
                bounds[stretch] += most;
                if let Some(number) = part {
                    parts[stretch * clauses.len() + at] = number as u32 + 1;
                }
            });
        }
        let promise = |(stretch, &bound): (u32, &Reach)| {
            (bound > 0).then_some((bound, Place::Stretch(Reverse(stretch))))
        };
        let promises: Vec<_> = (0..).zip(&bounds).filter_map(promise).collect();
        Self { clauses, best, promises: BinaryHeap::from(promises), parts }
    }

    fn run(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        while let Some((bound, place)) = self.promises.pop()
            && bound >= self.best.threshold
        {
            match place {
                Place::Stretch(Reverse(stretch)) => self.open_stretch(stretch as usize),
                Place::Row(Reverse(row)) => self.open_row(row as usize),
                Place::Document(Reverse(document)) => {
                    let sum = self.score(document);
                    self.best.offer((sum, document), accept);
                }
            }
        }
    }

    /// Returns the clauses, each with the number of its part in a stretch.
    fn parts(&self, stretch: usize) -> impl Iterator<Item = (&'c Clause<'a>, Option<usize>)> {
        let parts = &self.parts[stretch * self.clauses.len()..];
        self.clauses.iter().zip(parts).map(|(clause, &part)| (clause, (part as usize).checked_sub(1)))
    }

    fn open_stretch(&mut self, stretch: usize) {
        let mut bounds = [0; ROWS];
        for (clause, part) in self.parts(stretch) {
            clause.raise_rows(stretch, part, &mut bounds);
        }
        for (row, bound) in bounds.into_iter().enumerate() {
            if bound >= self.best.threshold {
                let place = Place::Row(Reverse((stretch * ROWS + row) as u32));
                self.promises.push((bound, place));
            }
        }
    }

    fn open_row(&mut self, row: usize) {
        let mut bounds = [0; ROW];
        for (clause, part) in self.parts(row / ROWS) {
            clause.raise(row, part, &mut bounds);
        }
        for (at, bound) in bounds.into_iter().enumerate() {
            let document = (row * ROW + at) as u32;
            if bound >= self.best.threshold && self.best.scoring.allows(document) {
                self.promises.push((bound, Place::Document(Reverse(document))));
            }
        }
    }

    fn score(&self, document: u32) -> Points {
        let mut sum = 0;
        for (at, (clause, part)) in self.parts(document as usize / STRETCH).enumerate() {
            if let Some(pattern) = clause.list.find_in(part, document) {
                sum += points(self.best.scoring.part(at, document, pattern));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::clause::Reaches;
    use super::super::list::PostingList;
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
                let list = PostingList::new(bytes, *cut as u32, &list[*cut..], Impact::MOST);
                Clause { list, reaches }
            });
            let accepts = |document: u32| !document.is_multiple_of(5);
            let clauses: Vec<Clause<'_>> = clauses.collect();
            let found = top_k(&clauses, scale, &scoring, k, &mut |document| accepts(document));

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
