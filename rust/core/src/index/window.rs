//! The bounds of a stretch of neighbouring documents, added up clause by clause.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clause::{Clause, Reach};
use super::cursor::END;
use super::outlook::STRETCH;

/// Sums in a row; there are 64 rows, for a bit each.
const ROW: usize = STRETCH / 64;
/// Postings that can be walked in the time it takes to look up one.
const WALKED: usize = 12;

thread_local! {
    /// Kept from query to query, all zero: fresh memory costs more than using it.
    static SPARE: Cell<Option<Box<[Reach; STRETCH]>>> = const { Cell::new(None) };
}

/// The bounds of the documents from `start` on.
pub(super) struct Window {
    start: u32,
    sums: Box<[Reach; STRETCH]>,
    /// One bit a row of sums that is not empty: most hold next to nothing.
    touched: u64,
    /// Places of the documents that may be worth scoring.
    waiting: Vec<usize>,
    /// Those that are, with their bounds.
    pub promising: BinaryHeap<(Reach, Reverse<u32>)>,
}

impl Window {
    pub fn new() -> Self {
        let sums = SPARE.take().unwrap_or_else(|| Box::new([0; STRETCH]));
        Self { start: 0, sums, touched: 0, waiting: Vec::new(), promising: BinaryHeap::new() }
    }

    /// Leaves its memory to the next.
    pub fn close(self) {
        SPARE.set(Some(self.sums));
    }

    /// Begins a stretch.
    pub fn open(&mut self, stretch: usize) {
        self.start = (stretch * STRETCH) as u32;
        self.promising.clear();
    }

    /// Adds the bounds of a clause's documents, except where a block says less than `worth`;
    /// those that come to `least` by that are waiting from now on.
    pub fn add(&mut self, clause: &mut Clause<'_>, worth: Reach, least: Reach) {
        let mut rows = self.touched;
        self.walk(clause, worth, |waiting, at, sum, reach| {
            rows |= 1 << (at / ROW);
            if *sum < least && *sum + reach >= least {
                waiting.push(at);
            }
            *sum += reach;
        });
        self.touched = rows;
    }

    /// Adds the bounds of a clause to those of the documents that are waiting, and sends away who
    /// does not come to `least` by that.
    pub fn raise(&mut self, clause: &mut Clause<'_>, worth: Reach, least: Reach) {
        clause.cursor.seek(self.start);
        let count = clause.cursor.count(self.start, self.start + STRETCH as u32);
        if self.waiting.len() * WALKED < count {
            let Clause { cursor, reaches } = clause;
            for &at in &self.waiting {
                if let Some((saturation, heading, code)) = cursor.look_up(self.start + at as u32) {
                    self.sums[at] += reaches.of(saturation, heading, code);
                }
            }
        } else {
            self.walk(clause, worth, |_, _, sum, reach| *sum += if *sum > 0 { reach } else { 0 });
        }
        let Self { waiting, sums, .. } = self;
        waiting.retain(|&at| sums[at] >= least);
    }

    /// Says whether any document is waiting.
    pub fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    #[inline]
    fn walk(
        &mut self,
        clause: &mut Clause<'_>,
        worth: Reach,
        mut add: impl FnMut(&mut Vec<usize>, usize, &mut Reach, Reach),
    ) {
        clause.cursor.seek(self.start);
        let end = (self.start + (STRETCH as u32 - 1)).min(END - 1);
        let Clause { cursor, reaches } = clause;
        let Self { start, sums, waiting, .. } = self;
        let start = *start;
        let mut add = |document: u32, reach: Reach| {
            let at = (document - start) as usize % STRETCH;
            add(waiting, at, &mut sums[at], reach);
        };
        let worth = |block| reaches.most(block) >= worth;
        // asked once: a question a posting costs a tenth of the walk
        match reaches.speakers {
            None => cursor.walk(end, worth, |document, saturation, heading, code| {
                add(document, reaches.said(saturation, heading, code));
            }),
            Some(_) => cursor.walk(end, worth, |document, saturation, heading, code| {
                add(document, reaches.of(saturation, heading, code));
            }),
        }
    }

    /// Takes out the documents that are waiting, and clears the sums.
    pub fn gather(&mut self, allows: impl Fn(u32) -> bool) {
        let mut promising = std::mem::take(&mut self.promising).into_vec();
        for at in self.waiting.drain(..) {
            let document = self.start + at as u32;
            if allows(document) {
                promising.push((self.sums[at], Reverse(document)));
            }
        }
        while self.touched > 0 {
            let row = self.touched.trailing_zeros() as usize * ROW;
            self.sums[row..row + ROW].fill(0);
            self.touched &= self.touched - 1;
        }
        // of many waiting, few are asked for
        self.promising = BinaryHeap::from(promising);
    }
}
