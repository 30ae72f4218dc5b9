//! The best documents for a sum of clauses, without scoring the rest.
//!
//! Neighbours are alike, so what a query seeks is in few places, and what a place can promise is
//! known without a look at what is in it (after Chakrabarti et al. 2011, "Interval-based pruning").
//! Always the best of all promises is redeemed next: a stretch is opened for what its rows promise,
//! a row for what its documents do, and a document is scored. When the best promise is less than
//! the worst of the best scores, nothing is left that could be among them (best-first branch and
//! bound, Land & Doig 1960); so no more is opened than the bounds themselves make necessary.
//!
//! Where texts repeat, bounds are alike and much has to be opened whatever the order: then what is
//! left is opened a stretch at a time (`maxscore`). Of equal promises the first is redeemed
//! first, for so go ties.
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

pub mod bound_queue;
mod maxscore;
pub mod term_scorer;

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::index::postings::codec::{ROW, ROWS, STRETCH};
use crate::index::topk::bound_queue::{Place, Promise, Waiting};
use crate::index::topk::maxscore::MaxScore;
use crate::index::topk::term_scorer::{Clause, POINT, Points, Reach, Scale, points};

/// What the search needs to know about the collection.
pub trait Scoring {
    /// Returns what clause number `clause` adds for a document with this pattern.
    fn part(&self, clause: usize, document: u32, pattern: u32) -> f32;
    /// Says whether the document exists and passes the cheap filters.
    fn allows(&self, document: u32) -> bool;
    /// Says whether there is a filter, so that many documents may not be allowed.
    fn is_filtered(&self) -> bool {
        false
    }
    /// Says whether some of these documents may be allowed, as far as that is found out quickly.
    fn may_allow(&self, _documents: Range<u32>) -> bool {
        true
    }
    /// Says whether the caller asks to stop: then nothing more is looked at.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Asks for the memory that [`Self::part`] reads.
    fn prefetch(&self, _document: u32) {}
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
    /// Whether any was good enough and not accepted.
    refused: bool,
}

impl<S: Scoring> Best<'_, S> {
    fn order(&self, a: (Points, u32), b: (Points, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Keeps a document if it is good enough and accepted.
    fn offer(&mut self, new: (Points, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.kept.len() == self.k;
        let late = full && self.order(new, self.kept[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late {
            return;
        }
        if !accept(new.1) {
            self.refused = true;
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
    let best = Best { scoring, scale, k, kept, threshold: 1, refused: false };
    patient_top_k(clauses, best, Patience::DEFAULT, accept)
}

/// The same, with any patience.
fn patient_top_k<S: Scoring>(
    clauses: &[Clause<'_>],
    best: Best<'_, S>,
    patience: Patience,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    let mut search = Search::new(clauses, best, patience);
    search.run(accept);
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    let kept = search.close().into_iter();
    kept.map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

/// How long what promises most is opened one place after the other.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// So many rows are opened before it is asked how many places have to be opened,
    rows: usize,
    /// and if these are fewer, eight times as many before it is asked again.
    places: usize,
}

impl Patience {
    const DEFAULT: Self = Self { rows: 32, places: 256 };
}

/// Returns the documents of a row.
fn documents(row: u32) -> Range<u32> {
    let first = row * ROW as u32;
    first..first.saturating_add(ROW as u32)
}

/// Rows after which it is not expected any more that enough documents are found in a few.
const FUTILE: usize = 256;

/// Of more that are wanted, nothing is opened at once: the best first, each is put behind most that
/// are kept, and in any other order in their midst, which takes time by the square of their number.
const MOST_KEPT: usize = 1024;

/// Steps after which it is asked whether to stop: to ask costs more than a step.
const STEPS: usize = 32;

/// A search under way.
struct Search<'c, 'a, 's, S> {
    clauses: &'c [Clause<'a>],
    best: Best<'s, S>,
    /// What the documents of a place can score at most.
    promises: BinaryHeap<Promise>,
    /// What all clauses together can add in each stretch.
    bounds: Vec<Reach>,
    patience: Patience,
    /// Rows opened.
    opened: usize,
    /// Documents that were to be promised,
    asked: usize,
    /// and those among them that may not be found.
    denied: usize,
}

/// Promises for which a thread keeps room.
const MOST_SPARE: usize = 1 << 14;

thread_local! {
    /// Kept from query to query, empty: fresh memory costs more than using it.
    static SPARE: Cell<(Vec<Promise>, Vec<Reach>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

impl<'c, 'a, 's, S: Scoring> Search<'c, 'a, 's, S> {
    fn new(clauses: &'c [Clause<'a>], best: Best<'s, S>, patience: Patience) -> Self {
        let end = clauses.iter().map(|clause| clause.list.end()).max().unwrap_or(0);
        let stretches = (end as usize).div_ceil(STRETCH);
        let (mut promises, mut bounds) = SPARE.take();
        bounds.resize(stretches.next_multiple_of(ROWS), 0);
        for clause in clauses {
            if best.scoring.is_stopped() {
                break;
            }
            clause.raise_stretches(&mut bounds);
        }
        promises.push(Promise::new(Reach::MAX >> 1, Place::All));
        let promises = BinaryHeap::from(promises);
        Self { clauses, best, promises, bounds, patience, opened: 0, asked: 0, denied: 0 }
    }

    /// Leaves its memory to the next.
    fn close(self) -> Vec<(Points, u32)> {
        let Self { promises, mut bounds, .. } = self;
        let mut promises = promises.into_vec();
        promises.clear();
        // a query without bounds promises every document
        promises.shrink_to(MOST_SPARE);
        bounds.clear();
        SPARE.set((promises, bounds));
        self.best.kept
    }

    fn run(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        for step in 0usize.. {
            let Some(promise) = self.promises.pop() else { break };
            let over = promise.bound() < self.best.threshold;
            if over || step.is_multiple_of(STEPS) && self.best.scoring.is_stopped() {
                break;
            }
            match promise.place() {
                Place::All => self.open_all(promise),
                Place::Stretch(stretch) => self.open_stretch(promise, stretch),
                Place::Row(row) => {
                    self.open_row(promise, row);
                    self.opened += 1;
                    if self.opened == self.patience.rows {
                        self.patience.rows *= 8;
                        if self.is_much_left() {
                            self.dive(accept);
                        }
                    }
                }
                Place::Document(document) => self.redeem(document, accept),
            }
        }
    }

    /// Says whether many places have to be opened, and enough documents are known to tell which.
    fn is_much_left(&self) -> bool {
        let Best { k, ref kept, threshold, .. } = self.best;
        if k > MOST_KEPT || self.best.refused {
            return false;
        }
        let (mut known, mut bar) = (kept.len(), threshold);
        for promise in self.promises.iter().filter(|promise| promise.is_document()) {
            known += 1;
            // nothing more is scored before what promises more is opened
            bar = if kept.len() < k { bar.max(promise.bound()) } else { bar };
        }
        let due = |promise: &&Promise| !promise.is_document() && promise.bound() >= bar;
        // where so few may be found, all have to be looked at
        let enough = known >= k || self.opened >= FUTILE;
        enough && self.promises.iter().filter(due).count() >= self.patience.places
    }

    /// Scores a document.
    fn redeem(&mut self, document: u32, accept: &mut dyn FnMut(u32) -> bool) {
        let sum = self.score(document);
        self.best.offer((sum, document), accept);
    }

    /// Scores the documents that are known before their turn, and then, as it is known what another
    /// must be worth, opens all that is left at once.
    fn dive(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        let promises = std::mem::take(&mut self.promises).into_vec();
        let (mut documents, places): (Vec<_>, Vec<_>) =
            promises.into_iter().partition(|promise| promise.is_document());
        documents.sort_unstable();
        while !self.best.scoring.is_stopped()
            && let Some(promise) = documents.pop()
            && promise.bound() >= self.best.threshold
            && let Place::Document(document) = promise.place()
        {
            self.redeem(document, accept);
        }
        match self.best.refused {
            false => self.open_stretches(&places, accept),
            // others are refused too, and to ask, out of turn, costs more than to open
            true => self.promises = BinaryHeap::from(places),
        }
    }

    /// Opens places, stretch by stretch.
    fn open_stretches(&mut self, places: &[Promise], accept: &mut dyn FnMut(u32) -> bool) {
        let mut waiting = vec![Waiting::default(); self.bounds.len()];
        for promise in places {
            let bound = promise.bound();
            match promise.place() {
                Place::All => {
                    for (&most, waiting) in self.bounds.iter().zip(&mut waiting) {
                        waiting.rest =
                            if most <= bound { most.max(waiting.rest) } else { waiting.rest };
                    }
                }
                Place::Stretch(stretch) => waiting[stretch as usize].rest = bound,
                Place::Row(row) => waiting[row as usize / ROWS].rows[row as usize % ROWS] = bound,
                Place::Document(_) => {}
            }
        }
        let mut order: Vec<(Reach, Reverse<u32>)> =
            (0..).zip(&waiting).map(|(at, waiting)| (waiting.most(), Reverse(at))).collect();
        order.sort_unstable();
        let mut order = order.into_iter().rev().peekable();
        let mut lists = MaxScore::new(self.clauses);
        while let Some((most, Reverse(stretch))) = order.next()
            && most >= self.best.threshold
            && !self.best.scoring.is_stopped()
        {
            if let Some((_, Reverse(next))) = order.peek() {
                self.clauses.iter().for_each(|clause| clause.prefetch(*next as usize));
            }
            let bounds = lists.open(stretch as usize);
            let promised = waiting[stretch as usize].rows(bounds);
            let threshold = self.best.threshold;
            let scoring = self.best.scoring;
            let open = std::array::from_fn(|at| {
                let row = stretch * ROWS as u32 + at as u32;
                promised[at] >= threshold && scoring.may_allow(documents(row))
            });
            for &(bound, place) in lists.worth(open, threshold) {
                let document = stretch * STRETCH as u32 + place as u32;
                // what is more was handed on before
                let due = (self.best.threshold..=promised[place / ROW]).contains(&bound);
                if due && self.best.scoring.allows(document) {
                    self.redeem(document, accept);
                }
            }
        }
    }

    fn open_all(&mut self, promise: Promise) {
        let mut bounds = std::mem::take(&mut self.bounds);
        let clauses = self.clauses;
        self.hand_on(promise, &mut bounds, |at| {
            clauses.iter().for_each(|clause| clause.prefetch(at));
            Some(Place::Stretch(at as u32))
        });
        self.bounds = bounds;
    }

    fn open_stretch(&mut self, promise: Promise, stretch: u32) {
        let mut bounds = [0; ROWS];
        for clause in self.clauses {
            clause.raise_rows(stretch as usize, &mut bounds);
        }
        let scoring = self.best.scoring;
        self.hand_on(promise, &mut bounds, |at| {
            let row = stretch * ROWS as u32 + at as u32;
            scoring.may_allow(documents(row)).then_some(Place::Row(row))
        });
    }

    fn open_row(&mut self, promise: Promise, row: u32) {
        let mut bounds = [0; ROW];
        self.clauses.iter().for_each(|clause| clause.prefetch_row(row as usize));
        for clause in self.clauses {
            clause.raise(row as usize, &mut bounds);
        }
        let scoring = self.best.scoring;
        let first = documents(row).start;
        if scoring.is_filtered() && self.denied * 4 > self.asked * 3 {
            // else what may not be found would promise again and again; where most may be found, to
            // ask of every document takes longer than that
            for (document, bound) in (first..).zip(&mut bounds).filter(|(_, bound)| **bound > 0) {
                *bound *= Reach::from(scoring.allows(document));
            }
        }
        let (asked, denied) = (Cell::new(self.asked), Cell::new(self.denied));
        self.hand_on(promise, &mut bounds, |at| {
            let document = first + at as u32;
            let allows = scoring.allows(document);
            asked.set(asked.get() + 1);
            denied.set(denied.get() + usize::from(!allows));
            allows.then(|| {
                scoring.prefetch(document);
                Place::Document(document)
            })
        });
        (self.asked, self.denied) = (asked.get(), denied.get());
    }

    /// Puts what the parts of a place promise in place of what all of it does. Those that promise
    /// much less than the best wait together: most are never asked for.
    #[inline]
    fn hand_on(
        &mut self,
        promise: Promise,
        bounds: &mut [Reach],
        place: impl Fn(usize) -> Option<Place>,
    ) {
        let (promised, mut most) = (promise.bound(), 0);
        for bound in bounds.iter_mut() {
            // what is more was handed on before
            *bound = if *bound <= promised { *bound } else { 0 };
            most = most.max(*bound);
        }
        let threshold = self.best.threshold;
        if most < threshold {
            return;
        }
        let least = threshold.max(most - most / 4);
        let mut rest = 0;
        // nothing is in most of these: one question does for all of them
        for (first, few) in (0..).step_by(ROWS).zip(bounds.as_chunks::<ROWS>().0) {
            let most = few.iter().fold(0, |most: Reach, &bound| most.max(bound));
            if most < least {
                rest = most.max(rest);
                continue;
            }
            for (at, &bound) in (first..).zip(few) {
                if bound < least {
                    rest = bound.max(rest);
                } else if let Some(place) = place(at) {
                    self.promises.push(Promise::new(bound, place));
                }
            }
        }
        if rest >= threshold {
            self.promises.push(Promise::new(rest, promise.place()));
        }
    }

    fn score(&self, document: u32) -> Points {
        let mut sum = 0;
        for (at, clause) in self.clauses.iter().enumerate() {
            if let Some(pattern) = clause.list.find(document) {
                sum += points(self.best.scoring.part(at, document, pattern));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::postings::codec::{Impact, Posting, encode};
    use crate::index::postings::reader::PostingList;
    use crate::index::topk::term_scorer::Reaches;

    /// What a posting says depends on its pattern alone; each clause has three weights.
    struct Plain(Vec<[f32; 3]>);

    fn saturation(pattern: u32) -> f32 {
        (pattern % 31 + 1) as f32 / 31.0
    }

    fn heading(pattern: u32) -> f32 {
        if pattern % 7 == 5 { saturation(pattern) } else { 0.0 }
    }

    fn speaker(pattern: u32) -> f32 {
        if pattern % 11 == 9 { 1.0 } else { 0.0 }
    }

    impl Scoring for Plain {
        fn part(&self, clause: usize, _: u32, pattern: u32) -> f32 {
            let [all, in_heading, as_speaker] = self.0[clause];
            all * saturation(pattern)
                + in_heading * heading(pattern)
                + as_speaker * speaker(pattern)
        }

        fn allows(&self, document: u32) -> bool {
            !document.is_multiple_of(7) && (document as usize / ROW) % 5 != 3
        }

        fn is_filtered(&self) -> bool {
            self.0.len().is_multiple_of(2)
        }

        fn may_allow(&self, mut documents: Range<u32>) -> bool {
            documents.any(|document| self.allows(document))
        }

        fn tie(&self, a: u32, b: u32) -> Ordering {
            a.cmp(&b)
        }
    }

    /// Weights and a list, over a few dozen stretches: rare or frequent.
    fn clause() -> impl Strategy<Value = ([f32; 3], Vec<Posting>)> {
        let gap = prop_oneof![2u32..40, 100u32..4000];
        let pattern = prop_oneof![9 => 0u32..31, 1 => 0u32..400];
        let list = (gap, prop::collection::vec((1u32..1000, pattern), 0..3000));
        let more = || prop_oneof![Just(0f32), 0.1f32..9.0];
        ((0.1f32..9.0, more(), more()), list).prop_map(|((weight, a, b), (gap, steps))| {
            let mut document = 0;
            let list = steps.into_iter().map(|(step, pattern)| {
                document += 1 + step % gap;
                // most say little, as in texts
                let pattern = if step.is_multiple_of(9) { pattern } else { pattern / 8 };
                Posting { document, pattern }
            });
            ([weight, a, b], list.collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn the_best_are_those_of_scoring_everything(
            sought in prop::collection::vec(clause(), 0..6),
            cut in 0usize..3000,
            k in 1usize..40,
            patience in (1usize..40, 0usize..200),
        ) {
            let scoring = Plain(sought.iter().map(|(weight, _)| *weight).collect());
            let scale = Scale::new(scoring.0.iter().flatten().sum());
            let packed: Vec<(usize, Vec<u8>)> = sought.iter().map(|(_, list)| {
                let (cut, mut bytes) = (cut.min(list.len()), Vec::new());
                let impact = |&Posting { pattern, .. }: &Posting| {
                    Impact::new(saturation(pattern), heading(pattern), speaker(pattern) > 0.0)
                };
                encode(&list[..cut], impact, &mut bytes);
                (cut, bytes)
            }).collect();
            let clauses = sought.iter().zip(&packed).map(|((weight, list), (cut, bytes))| {
                let [all, in_heading, as_speaker] = *weight;
                let speakers = (as_speaker > 0.0).then(|| {
                    let told = |code| if code == 255 { 1.0 } else { speaker(code as u32) };
                    Box::new(std::array::from_fn(|code| scale.reach(as_speaker * told(code))))
                });
                let shares = [scale.reach(all / 255.0); 256];
                let heading = scale.reach(in_heading / 255.0);
                let reaches = Box::new(Reaches { shares, speakers, heading });
                let list = PostingList::new(bytes, *cut as u32, &list[*cut..], Impact::MOST);
                Clause { list, reaches }
            });
            let accepts = |document: u32| !document.is_multiple_of(5);
            let clauses: Vec<Clause<'_>> = clauses.collect();
            let best = Best { scoring: &scoring, scale, k, kept: Vec::new(), threshold: 1, refused: false };
            let patience = Patience { rows: patience.0, places: patience.1 };
            let found = patient_top_k(&clauses, best, patience, &mut |document| accepts(document));

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
