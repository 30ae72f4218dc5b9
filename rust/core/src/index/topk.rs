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
        Reach::from(saturation) * self.shares[code]
            + Reach::from(heading) * self.heading
            + self.speakers[code]
    }

    /// Returns what a stretch of postings adds, at most.
    #[inline]
    fn most(&self, impact: Impact) -> Reach {
        let speaker = if impact.speaker { self.speakers[255] } else { 0 };
        Reach::from(impact.saturation) * self.shares[255]
            + Reach::from(impact.heading) * self.heading
            + speaker
    }
}

/// An upper bound of a score, rounded up; in what unit, the [`Scale`] says.
pub type Reach = u32;

/// How many reaches a point is worth in one query: so many that no sum ever overflows.
#[derive(Debug, Clone, Copy)]
pub struct Scale(f64);

impl Scale {
    /// Makes the scale of clauses that together add `total` at most.
    pub fn new(total: f32) -> Self {
        Self(f64::from(1u32 << 30) / f64::from(total.max(1.0)))
    }

    /// Rounds a bound up, with room for how `f32` rounds.
    pub fn reach(self, bound: f32) -> Reach {
        (f64::from(bound) * self.0 * 1.000_01) as Reach + 1
    }

    /// Rounds a score down, as bounds are rounded up.
    fn threshold(self, points: Points) -> Reach {
        (points as f64 / POINT * self.0) as Reach
    }
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
        if new.0 <= 0 || late || self.kept.contains(&new) || !accept(new.1) {
            return;
        }
        let at = self.kept.partition_point(|&kept| self.order(kept, new) == Ordering::Less);
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
    }
}

/// Documents added up at a time: their sums stay in the nearest cache.
const WINDOW: usize = 8192;
/// Sums in a row of the window; there are 64 rows, for a bit each.
const ROW: usize = WINDOW / 64;
/// Postings that are looked through for documents to begin with.
const SAMPLE: usize = 4096;
/// Postings that can be walked in the time it takes to look up one.
const WALKED: usize = 16;

/// The bounds of the documents from `start` on.
struct Window {
    start: u32,
    sums: Box<[[Reach; ROW]; WINDOW / ROW]>,
    /// One bit a row of sums that is not empty: most windows hold next to nothing.
    touched: u64,
    /// Places of the documents that may be worth scoring.
    waiting: Vec<usize>,
    /// Those that are, with their bounds.
    promising: Vec<(Reach, Reverse<u32>)>,
}

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
        let window = Window {
            start: 0,
            sums: Box::new([[0; ROW]; WINDOW / ROW]),
            touched: 0,
            waiting: Vec::new(),
            promising: Vec::new(),
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
        let wanted = self.best.k.min(sample.len());
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
        self.window.gather(self.best.scoring);
        for (bound, Reverse(document)) in std::mem::take(&mut self.window.promising) {
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

impl Window {
    /// Adds the bounds of a clause's documents, except where a block says less than `worth`;
    /// those that come to `least` by that are waiting from now on.
    fn add(&mut self, clause: &mut Clause<'_>, worth: Reach, least: Reach) {
        clause.cursor.seek(self.start);
        let end = self.start.saturating_add(WINDOW as u32 - 1).min(END - 1);
        let Clause { cursor, reaches } = clause;
        let mut touched = self.touched;
        let worth = |block| reaches.most(block) >= worth;
        cursor.walk(end, worth, |document, saturation, heading, code| {
            let at = (document - self.start) as usize % WINDOW;
            let sum = &mut self.sums[at / ROW][at % ROW];
            let before = *sum;
            *sum += reaches.of(saturation, heading, code);
            touched |= 1 << (at / ROW);
            if before < least && *sum >= least {
                self.waiting.push(at);
            }
        });
        self.touched = touched;
    }

    /// Says whether walking a clause costs less than looking up in it all who are waiting.
    fn pays(&self, clause: &Clause<'_>) -> bool {
        let end = self.start.saturating_add(WINDOW as u32);
        !self.waiting.is_empty()
            && self.waiting.len() * WALKED >= clause.cursor.count(self.start, end)
    }

    /// Sends away who does not reach `least`.
    fn keep(&mut self, least: Reach) {
        let Self { waiting, sums, .. } = self;
        waiting.retain(|at| sums[at / ROW][at % ROW] >= least);
    }

    /// Takes out the documents that are waiting, best bound first, and clears the window.
    fn gather<S: Scoring>(&mut self, scoring: &S) {
        for at in self.waiting.drain(..) {
            let document = self.start + at as u32;
            if scoring.allows(document) {
                self.promising.push((self.sums[at / ROW][at % ROW], Reverse(document)));
            }
        }
        self.promising.sort_unstable_by(|a, b| b.cmp(a));
        while self.touched > 0 {
            self.sums[self.touched.trailing_zeros() as usize] = [0; ROW];
            self.touched &= self.touched - 1;
        }
    }
}
