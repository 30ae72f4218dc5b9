//! The best documents for a sum of clauses, without scoring the rest.
//!
//! Two steps a window of documents. First the one-byte impacts of the postings are added up: that
//! is an upper bound of each document's score at two or three nanoseconds a posting, where the
//! score itself costs ten times as much. Then the most promising documents are scored exactly,
//! best bound first, until no bound is left that reaches the worst one kept. Clauses that
//! together cannot lift a document above that one are not walked at all (MaxScore, Turtle & Flood
//! 1995), and blocks whose bounds do not add up are jumped (Ding & Suel 2011).
//!
//! Scores are sums of whole numbers (2⁻³² of a point each), so that they do not depend on the
//! order of adding: the result is, to the last bit, that of scoring everything.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::postings::{Cursor, END, Impact};

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub cursor: Cursor<'a>,
    /// What one 255th of saturation adds, at most: for each pattern below 255, and for the rest.
    pub shares: Box<[Reach; 256]>,
    /// What a speaker's name adds, likewise.
    pub speakers: Box<[Reach; 256]>,
    /// What one 255th of saturation in headings adds.
    pub heading: Reach,
}

impl Clause<'_> {
    /// Returns what a stretch of postings adds, at most.
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

    fn wants(&self, new: (Points, u32)) -> bool {
        new.0 > 0
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
const WINDOW: usize = 4096;

/// The bounds of the documents from `start` on.
struct Window {
    start: u32,
    sums: Box<[Reach; WINDOW]>,
    /// One bit a document that some clause holds.
    held: [u64; WINDOW / 64],
    /// Documents worth scoring, best bound first.
    promising: BinaryHeap<(Reach, std::cmp::Reverse<u32>)>,
}

/// Returns the `k` best documents, best first.
///
/// `accept` is asked only about documents good enough to be kept; it is the place for filters
/// that cost more than scoring does.
pub fn top_k<S: Scoring>(
    mut clauses: Vec<Clause<'_>>,
    scoring: &S,
    k: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Vec<Scored> {
    if k == 0 {
        return Vec::new();
    }
    let mut best = Best { scoring, k, kept: Vec::with_capacity(k.min(1024) + 1) };
    let most = |clause: &Clause<'_>| clause.most(clause.cursor.most());
    let mut order: Vec<(Reach, usize)> =
        clauses.iter().enumerate().map(|(number, clause)| (most(clause), number)).collect();
    order.sort_unstable();
    // below[i]: what the first i clauses of the order can add together
    let mut below: Vec<Reach> = vec![0];
    for (bound, _) in &order {
        below.push(below[below.len() - 1].saturating_add(*bound));
    }
    let mut window = Window {
        start: 0,
        sums: Box::new([0; WINDOW]),
        held: [0; WINDOW / 64],
        promising: BinaryHeap::new(),
    };
    // clauses before this one cannot make a document worth keeping by themselves
    let mut essential = 0;
    loop {
        while essential < order.len() && below[essential + 1] < best.threshold() {
            essential += 1;
        }
        let (looked_up, walked) = order.split_at(essential);
        let start = walked.iter().map(|&(_, n)| clauses[n].cursor.document()).min().unwrap_or(END);
        if start == END {
            break;
        }
        let mut bound = below[essential];
        let mut block_end = END - 1;
        for &(_, number) in walked {
            let (last, most) = clauses[number].cursor.block_at(start);
            block_end = block_end.min(last);
            bound = bound.saturating_add(clauses[number].most(most));
        }
        if bound < best.threshold() {
            walked.iter().for_each(|&(_, n)| clauses[n].cursor.seek(block_end + 1));
            continue;
        }
        window.start = start;
        for &(_, number) in walked {
            window.add(&mut clauses[number]);
        }
        window.gather(best.threshold().saturating_sub(below[essential]), scoring);
        while let Some((bound, std::cmp::Reverse(document))) = window.promising.pop() {
            if bound.saturating_add(below[essential]) < best.threshold() {
                window.promising.clear();
                break;
            }
            let lifted = lift(&mut clauses, looked_up, scoring, document, bound, &below, &best);
            let Some(sum) = lifted else { continue };
            let rest = walked.iter().filter_map(|&(_, number)| {
                let pattern = clauses[number].cursor.find(document)?;
                Some(points(scoring.part(number, document, pattern)))
            });
            let scored = (sum + rest.sum::<Points>(), document);
            if best.wants(scored) && accept(document) {
                best.offer(scored);
            }
        }
    }
    let score = |sum: Points| (sum as f64 / POINT) as f32;
    best.kept.into_iter().map(|(sum, document)| Scored { document, score: score(sum) }).collect()
}

/// Scores what the clauses that are not walked hold of a document, weightiest first; none as soon
/// as it is clear that it cannot be kept.
fn lift<S: Scoring>(
    clauses: &mut [Clause<'_>],
    looked_up: &[(Reach, usize)],
    scoring: &S,
    document: u32,
    mut bound: Reach,
    below: &[Reach],
    best: &Best<'_, S>,
) -> Option<Points> {
    let mut sum = 0;
    for (at, &(_, number)) in looked_up.iter().enumerate().rev() {
        if bound.saturating_add(below[at + 1]) < best.threshold() {
            return None;
        }
        if let Some(pattern) = clauses[number].cursor.find(document) {
            let part = scoring.part(number, document, pattern);
            sum += points(part);
            bound = bound.saturating_add(reach(part));
        }
    }
    (bound >= best.threshold()).then_some(sum)
}

impl Window {
    /// Adds the bounds of a clause's documents.
    fn add(&mut self, clause: &mut Clause<'_>) {
        let end = self.start.saturating_add(WINDOW as u32 - 1).min(END - 1);
        let Clause { cursor, shares, speakers, heading: heading_share } = clause;
        cursor.walk(end, |document, saturation, heading, code| {
            let code = usize::from(code);
            let most = Reach::from(saturation)
                .saturating_mul(shares[code])
                .saturating_add(Reach::from(heading).saturating_mul(*heading_share))
                .saturating_add(speakers[code]);
            let at = (document - self.start) as usize % WINDOW;
            self.sums[at] = self.sums[at].saturating_add(most);
            self.held[at / 64] |= 1 << (at % 64);
        });
    }

    /// Takes out the documents whose bounds reach `least`, and clears the window.
    fn gather<S: Scoring>(&mut self, least: Reach, scoring: &S) {
        let mut promising = std::mem::take(&mut self.promising).into_vec();
        for word in 0..self.held.len() {
            let mut bits = std::mem::take(&mut self.held[word]);
            while bits > 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let (bound, document) =
                    (std::mem::take(&mut self.sums[at]), self.start + at as u32);
                if bound >= least && scoring.allows(document) {
                    promising.push((bound, std::cmp::Reverse(document)));
                }
            }
        }
        self.promising = BinaryHeap::from(promising);
    }
}
