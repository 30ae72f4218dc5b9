//! The bounds of a few thousand neighbouring documents, added up clause by clause.

use std::cell::Cell;
use std::cmp::Reverse;

use super::clause::{Clause, Reach};
use super::cursor::END;

/// Documents added up at a time: their sums stay in the nearest cache.
const WINDOW: usize = 8192;
/// Sums in a row of the window; there are 64 rows, for a bit each.
const ROW: usize = WINDOW / 64;
/// Postings that can be walked in the time it takes to look up one.
const WALKED: usize = 16;

type Sums = Vec<[Reach; ROW]>;

thread_local! {
    /// Kept from query to query, all zero: fresh memory costs more than using it.
    static SPARE: Cell<Sums> = const { Cell::new(Vec::new()) };
}

/// The bounds of the documents from `start` on.
pub(super) struct Window {
    start: u32,
    sums: Sums,
    /// One bit a row of sums that is not empty: most windows hold next to nothing.
    touched: u64,
    /// Places of the documents that may be worth scoring.
    waiting: Vec<usize>,
    /// Those that are, with their bounds, best first.
    pub promising: Vec<(Reach, Reverse<u32>)>,
}

impl Drop for Window {
    fn drop(&mut self) {
        if self.touched == 0 {
            SPARE.set(std::mem::take(&mut self.sums));
        }
    }
}

impl Window {
    pub fn new() -> Self {
        let mut sums = SPARE.take();
        sums.resize(WINDOW / ROW, [0; ROW]);
        Self { start: 0, sums, touched: 0, waiting: Vec::new(), promising: Vec::new() }
    }

    /// Begins a window at `start`.
    pub fn open(&mut self, start: u32) {
        self.start = start;
        self.promising.clear();
    }

    /// Adds the bounds of a clause's documents, except where a block says less than `worth`;
    /// those that come to `least` by that are waiting from now on.
    pub fn add(&mut self, clause: &mut Clause<'_>, worth: Reach, least: Reach) {
        clause.cursor.seek(self.start);
        let end = self.start.saturating_add(WINDOW as u32 - 1).min(END - 1);
        let Clause { cursor, reaches } = clause;
        let Self { start, sums, touched, waiting, .. } = self;
        // of a length known here: the loop then needs no check of its places
        let Some(sums) = sums.first_chunk_mut::<{ WINDOW / ROW }>() else { return };
        let (start, mut rows) = (*start, *touched);
        let worth = |block| reaches.most(block) >= worth;
        cursor.walk(end, worth, |document, saturation, heading, code| {
            let at = (document - start) as usize % WINDOW;
            let sum = &mut sums[at / ROW][at % ROW];
            let before = *sum;
            *sum += reaches.of(saturation, heading, code);
            rows |= 1 << (at / ROW);
            if before < least && *sum >= least {
                waiting.push(at);
            }
        });
        *touched = rows;
    }

    /// Says whether walking a clause costs less than looking up in it all who are waiting.
    pub fn pays(&self, clause: &Clause<'_>) -> bool {
        let end = self.start.saturating_add(WINDOW as u32);
        !self.waiting.is_empty()
            && self.waiting.len() * WALKED >= clause.cursor.count(self.start, end)
    }

    /// Sends away who does not reach `least`.
    pub fn keep(&mut self, least: Reach) {
        let Self { waiting, sums, .. } = self;
        waiting.retain(|at| sums[at / ROW][at % ROW] >= least);
    }

    /// Takes out the documents that are waiting, best bound first, and clears the window.
    pub fn gather(&mut self, allows: impl Fn(u32) -> bool) {
        for at in self.waiting.drain(..) {
            let document = self.start + at as u32;
            if allows(document) {
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
