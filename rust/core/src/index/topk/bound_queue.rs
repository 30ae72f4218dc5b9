//! What a place promises: the most that a document in it can score.

use crate::index::postings::codec::ROWS;
use crate::index::topk::term_scorer::Reach;

/// Where something may be found, by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    All,
    Stretch(u32),
    Row(u32),
    Document(u32),
}

/// More than the number of any row.
const MOST_ROW: u32 = (1 << 30) - 1;

/// What the documents of a place can score at most; the greatest is the best, of equal ones the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Promise(u64);

impl Promise {
    /// A bound in the upper 31 bits, a document or not in the next: there are thousands in a heap,
    /// and one number is compared with less than a struct.
    pub fn new(bound: Reach, place: Place) -> Self {
        let place = match place {
            Place::All => 1 << 30,
            Place::Stretch(number) => 1 << 31 | u64::from(MOST_ROW - number),
            Place::Row(number) => u64::from(MOST_ROW - number),
            Place::Document(number) => 1 << 32 | u64::from(!number),
        };
        Self(u64::from(bound) << 33 | place)
    }

    pub fn bound(self) -> Reach {
        (self.0 >> 33) as Reach
    }

    pub fn is_document(self) -> bool {
        self.0 >> 32 & 1 == 1
    }

    pub fn place(self) -> Place {
        let number = self.0 as u32;
        match (self.is_document(), number >> 30) {
            (true, _) => Place::Document(!number),
            (false, 0) => Place::Row(MOST_ROW - number),
            (false, 1) => Place::All,
            (false, _) => Place::Stretch(MOST_ROW - (number & !(1 << 31))),
        }
    }
}

/// What of a stretch is still to be opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    /// What rows promise, each by itself.
    pub rows: [Reach; ROWS],
    /// What all others that are not opened yet promise at most.
    pub rest: Reach,
}

impl Waiting {
    pub fn most(&self) -> Reach {
        self.rows.iter().fold(self.rest, |most, &row| most.max(row))
    }

    /// Returns what each row still promises, by the bound of each.
    pub fn rows(&self, bounds: [Reach; ROWS]) -> [Reach; ROWS] {
        std::array::from_fn(|row| match self.rows[row] {
            // what is more was handed on before
            0 if bounds[row] <= self.rest => bounds[row],
            promised => promised,
        })
    }
}
