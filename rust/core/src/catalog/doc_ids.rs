//! The documents of a file: a range of ids, or a list of them.

use std::ops::Range;

/// The documents of a file, in order of position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocIds {
    /// Neighbours, as a packing numbers them.
    Range(Range<u32>),
    /// Any.
    List(Vec<u32>),
}

impl Default for DocIds {
    fn default() -> Self {
        Self::Range(0..0)
    }
}

impl DocIds {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(run) => run.len(),
            Self::List(list) => list.len(),
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the one at a place.
    pub fn get(&self, at: usize) -> u32 {
        match self {
            Self::Range(run) => run.start + at as u32,
            Self::List(list) => list[at],
        }
    }

    /// Returns how many come before the first of which this does not hold.
    pub fn partition_point(&self, holds: impl Fn(u32) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if holds(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }
}
