//! Opens a stretch at once, where it is known what a document must be worth.
//!
//! A document that is in none of the lists that add most is worth no more than what the others add
//! (MaxScore, Turtle & Flood 1995), and that is mostly too little. So the postings of one or two
//! lists are walked, and in the others only the few documents are looked up that are still worth
//! enough.

use crate::index::postings::codec::{ROW, ROWS};
use crate::index::topk::term_scorer::{Clause, InStretch, Reach};

/// The lists of a query in one stretch after the other.
pub(crate) struct MaxScore<'c, 'a> {
    /// What can add most comes first.
    clauses: Vec<&'c Clause<'a>>,
    lists: Vec<(InStretch<'c, 'a>, Rests)>,
    /// What a document is worth at most, and its place in the stretch.
    worth: Vec<(Reach, usize)>,
}

/// What a list and all behind it add in each row, at most.
type Rests = [Reach; ROWS];

impl<'c, 'a> MaxScore<'c, 'a> {
    pub fn new(clauses: &'c [Clause<'a>]) -> Self {
        let mut clauses: Vec<_> = clauses.iter().collect();
        clauses.sort_by_key(|clause| std::cmp::Reverse(clause.reaches.most()));
        Self { clauses, lists: Vec::new(), worth: Vec::with_capacity(ROW) }
    }

    /// Turns to a stretch and returns what the documents of each row are worth at most.
    pub fn open(&mut self, stretch: usize) -> [Reach; ROWS] {
        self.lists.clear();
        for clause in &self.clauses {
            self.lists.extend(clause.in_stretch(stretch).map(|list| (list, [0; ROWS])));
        }
        let mut rests = [0; ROWS];
        for (list, rest) in self.lists.iter_mut().rev() {
            list.raise_rows(&mut rests);
            *rest = rests;
        }
        rests
    }

    /// Returns those documents of the open rows that are worth the threshold: what each is worth at
    /// most, and its place in the stretch.
    pub fn worth(&mut self, open: [bool; ROWS], threshold: Reach) -> &[(Reach, usize)] {
        let Self { lists, worth, .. } = self;
        worth.clear();
        // so many lists are walked in each row
        let mut walked = [0; ROWS];
        for row in (0..ROWS).filter(|&row| open[row]) {
            let enough = lists.iter().position(|(_, rests)| rests[row] < threshold);
            walked[row] = enough.unwrap_or(lists.len());
            lists[..walked[row]].iter().for_each(|(list, _)| list.prefetch_row(row));
        }
        for row in (0..ROWS).filter(|&row| open[row]) {
            let before = worth.len();
            let least = threshold - lists.get(walked[row]).map_or(0, |(_, rests)| rests[row]);
            let first = row * ROW;
            if let [(list, _)] = &lists[..walked[row]] {
                list.each_in(row, |place, bound| {
                    if bound >= least {
                        worth.push((bound, first + place));
                    }
                });
                if let Some((next, _)) = lists.get(1).filter(|_| worth.len() > before) {
                    next.prefetch_row(row);
                }
                continue;
            }
            let mut bounds = [0; ROW];
            for (list, _) in &lists[..walked[row]] {
                list.each_in(row, |place, reach| bounds[place] += reach);
            }
            // nothing is in most of these: one question does for all of them
            for (first, few) in (first..).step_by(ROWS).zip(bounds.as_chunks::<ROWS>().0) {
                if few.iter().fold(0, |most: Reach, &bound| most.max(bound)) >= least {
                    let all = few.iter().zip(first..).filter(|(bound, _)| **bound >= least);
                    worth.extend(all.map(|(&bound, place)| (bound, place)));
                }
            }
            if let Some((next, _)) = lists.get(walked[row]).filter(|_| worth.len() > before) {
                next.prefetch_row(row);
            }
        }
        for (at, (list, _)) in lists.iter().enumerate().skip(1) {
            let next = lists.get(at + 1);
            let rests = next.map_or([0; ROWS], |(_, rests)| *rests);
            let mut asked = ROWS;
            worth.retain_mut(|(bound, place)| {
                let row = *place / ROW;
                if at < walked[row] {
                    return true;
                }
                *bound += list.reach_of(row, *place % ROW);
                let enough = *bound + rests[row] >= threshold;
                if enough
                    && asked != row
                    && let Some((next, _)) = next
                {
                    next.prefetch_row(row);
                    asked = row;
                }
                enough
            });
        }
        worth
    }
}
