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

use super::cursor::{Cursor, END};
use super::postings::Impact;

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub cursor: Cursor<'a>,
    /// What they can add.
    pub reaches: Box<Reaches>,
}

/// What the postings of a clause add, at most, by the code of their pattern; 255 is for the rest.
pub struct Reaches {
    /// For one 255th of saturation.
    pub shares: [Reach; 256],
    /// For a speaker's name.
    pub speakers: [Reach; 256],
    /// For one 255th of saturation in headings.
    pub heading: Reach,
}

impl Reaches {
    /// Returns what one posting adds, at most.
    #[inline]
    fn of(&self, saturation: u8, heading: u8, code: u8) -> Reach {
        let code = usize::from(code);
        Reach::from(saturation)
            .saturating_mul(self.shares[code])
            .saturating_add(Reach::from(heading).saturating_mul(self.heading))
            .saturating_add(self.speakers[code])
    }

    /// Returns what a stretch of postings adds, at most.
    #[inline]
    fn most(&self, impact: Impact) -> Reach {
        let speaker = if impact.speaker { self.speakers[255] } else { 0 };
        Reach::from(impact.saturation)
            .saturating_mul(self.shares[255])
            .saturating_add(Reach::from(impact.heading).saturating_mul(self.heading))
            .saturating_add(speaker)
    }
}

/// An upper bound of a score, in 2⁻²⁰ of a point, rounded up.
pub type Reach = u32;

/// Rounds a bound up, with room for how `f32` rounds.
pub fn reach(bound: f32) -> Reach {
    // what does not fit is as good as infinite, and stays so in every sum
    ((bound * 1_048_576.0 * 1.000_01) as Reach).saturating_add(1)
}

/// A score as a whole number of 2⁻³² points.
type Points = i64;
const POINT: f64 = 4_294_967_296.0;

#[inline]
fn points(score: f32) -> Points {
    (f64::from(score) * POINT) as Points
}

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
    k: usize,
    kept: Vec<(Points, u32)>,
}

impl<S: Scoring> Best<'_, S> {
    /// Returns the bound that a document must reach to be kept.
    fn threshold(&self) -> Reach {
        // rounded down, as bounds are rounded up
        let reach = |points: Points| Reach::try_from(points >> 12).unwrap_or(Reach::MAX);
        if self.kept.len() < self.k { 1 } else { reach(self.kept[self.k - 1].0) }
    }

    fn order(&self, a: (Points, u32), b: (Points, u32)) -> Ordering {
        b.0.cmp(&a.0).then_with(|| self.scoring.tie(a.1, b.1))
    }

    /// Keeps a document if it is good enough and accepted; one that is kept stays kept.
    fn offer(&mut self, new: (Points, u32), accept: &mut dyn FnMut(u32) -> bool) {
        let full = self.kept.len() == self.k;
        let late = full && self.order(new, self.kept[self.k - 1]) != Ordering::Less;
        if new.0 <= 0 || late || self.kept.contains(&new) || !accept(new.1) {
            return;
        }
        let at = self.kept.partition_point(|&kept| self.order(kept, new) == Ordering::Less);
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
    }
}

/// Documents added up at a time: their sums stay in the nearest cache.
const WINDOW: usize = 4096;
/// Postings that are looked through for documents to begin with.
const SAMPLE: usize = 4096;
/// Postings that can be walked in the time it takes to look up one.
const WALKED: usize = 16;

/// The bounds of the documents from `start` on.
struct Window {
    start: u32,
    sums: Box<[Reach; WINDOW]>,
    /// One bit a document that some clause holds.
    held: [u64; WINDOW / 64],
    /// Documents worth scoring, best bound first.
    promising: BinaryHeap<(Reach, Reverse<u32>)>,
}

/// Returns the `k` best documents, best first.
///
/// `accept` is asked only about documents good enough to be kept; it is the place for filters
/// that cost more than scoring does.
pub fn top_k<S: Scoring>(
    clauses: Vec<Clause<'_>>,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    if k == 0 {
        return Vec::new();
    }
    let best = Best { scoring, k, kept: Vec::with_capacity(k.min(1024) + 1) };
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
            below.push(below[below.len() - 1].saturating_add(clause.most));
        }
        let window = Window {
            start: 0,
            sums: Box::new([0; WINDOW]),
            held: [0; WINDOW / 64],
            promising: BinaryHeap::new(),
        };
        Self { clauses, below, best, window }
    }

    /// Scores the most promising documents of the clause that can say most.
    fn begin(&mut self, accept: &mut dyn FnMut(u32) -> bool) {
        let Some(weightiest) = self.clauses.last() else { return };
        let mut cursor = weightiest.clause.cursor.clone();
        let mut sample = Vec::new();
        let reaches = &weightiest.clause.reaches;
        while sample.len() < SAMPLE && cursor.position() != END {
            let end = cursor.position().saturating_add(WINDOW as u32).min(END - 1);
            cursor.walk(
                end,
                |_| true,
                |document, saturation, heading, code| {
                    sample.push((reaches.of(saturation, heading, code), Reverse(document)));
                },
            );
        }
        let wanted = self.best.k.saturating_mul(2).min(sample.len());
        if wanted < sample.len() {
            sample.select_nth_unstable_by(wanted, |a, b| b.cmp(a));
        }
        for &(_, Reverse(document)) in &sample[..wanted] {
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
        self.window.start = start;
        let all = self.below[self.clauses.len()];
        let mut first = self.clauses.len();
        while first > 0 {
            let next = &mut self.clauses[first - 1];
            if first <= essential && !self.window.pays(threshold - self.below[first], &next.clause)
            {
                break;
            }
            first -= 1;
            // what a block must say at least, beside all that the others can
            let others = if all == Reach::MAX { all } else { all - next.most };
            let least = threshold.saturating_sub(others);
            self.window.add(&mut next.clause, least);
        }
        let least = threshold.saturating_sub(self.below[first]);
        self.window.gather(least, self.best.scoring);
        while let Some((bound, Reverse(document))) = self.window.promising.pop() {
            if bound.saturating_add(self.below[first]) < self.best.threshold() {
                self.window.promising.clear();
            } else if let Some(sum) = self.lift(document, bound, first) {
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
            if bound.saturating_add(self.below[at + 1]) < threshold {
                return None;
            }
            let Numbered { number, clause, .. } = &mut self.clauses[at];
            let Clause { cursor, reaches } = clause;
            let rest = bound.saturating_add(self.below[at]);
            let worth = |block| rest.saturating_add(reaches.most(block)) >= threshold;
            if let Some(pattern) = cursor.find_if(document, worth) {
                let part = self.best.scoring.part(*number, document, pattern);
                sum += points(part);
                bound = bound.saturating_add(reach(part));
            }
        }
        (bound >= threshold).then_some(sum)
    }
}

impl Window {
    /// Adds the bounds of a clause's documents, except where a block says less than `least`.
    fn add(&mut self, clause: &mut Clause<'_>, least: Reach) {
        clause.cursor.seek(self.start);
        let end = self.start.saturating_add(WINDOW as u32 - 1).min(END - 1);
        let Clause { cursor, reaches } = clause;
        let worth = |block| reaches.most(block) >= least;
        cursor.walk(end, worth, |document, saturation, heading, code| {
            let at = (document - self.start) as usize % WINDOW;
            let sum = &mut self.sums[at];
            *sum = sum.saturating_add(reaches.of(saturation, heading, code));
            self.held[at / 64] |= 1 << (at % 64);
        });
    }

    /// Says whether walking a clause costs less than looking up those who still reach `least`.
    fn pays(&self, least: Reach, clause: &Clause<'_>) -> bool {
        let postings = clause.cursor.count(self.start, self.start.saturating_add(WINDOW as u32));
        let enough = postings / WALKED;
        let mut waiting = 0;
        for (word, &bits) in self.held.iter().enumerate() {
            let mut bits = bits;
            while bits > 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                waiting += usize::from(self.sums[at] >= least);
            }
            if waiting > enough {
                return true;
            }
        }
        false
    }

    /// Takes out the documents whose bounds reach `least`, and clears the window.
    fn gather<S: Scoring>(&mut self, least: Reach, scoring: &S) {
        let mut promising = std::mem::take(&mut self.promising).into_vec();
        for (word, held) in self.held.iter_mut().enumerate() {
            let mut bits = std::mem::take(held);
            while bits > 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let (bound, document) =
                    (std::mem::take(&mut self.sums[at]), self.start + at as u32);
                if bound >= least && scoring.allows(document) {
                    promising.push((bound, Reverse(document)));
                }
            }
        }
        self.promising = BinaryHeap::from(promising);
    }
}
