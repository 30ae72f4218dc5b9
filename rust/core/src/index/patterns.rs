//! The distinct ways in which a term stands in the fields of a document.
//!
//! "Once in the body" or "twice in the body and once in the heading" come back millions of times,
//! so a posting holds the number of its pattern instead of nine counts: one byte for the commonest.

use rustc_hash::FxHashMap;

use crate::bm25f::{Counts, FIELDS};

/// Patterns by number.
#[derive(Debug, Default, Clone)]
pub struct Patterns {
    counts: Vec<Counts>,
    by_counts: FxHashMap<Counts, u32>,
}

impl Patterns {
    /// Makes the table whose numbers are the places in `counts`.
    pub fn new(counts: Vec<Counts>) -> Self {
        let by_counts = counts.iter().enumerate().map(|(id, c)| (*c, id as u32)).collect();
        Self { counts, by_counts }
    }

    /// Returns the number of a pattern, giving it one if it is new.
    pub fn intern(&mut self, counts: &Counts) -> u32 {
        if let Some(&id) = self.by_counts.get(counts) {
            return id;
        }
        let id = self.counts.len() as u32;
        self.counts.push(*counts);
        self.by_counts.insert(*counts, id);
        id
    }

    /// Returns the counts of a pattern; none for a number that is not in the table.
    #[inline]
    pub fn get(&self, id: u32) -> &Counts {
        const NONE: Counts = [0; FIELDS];
        self.counts.get(id as usize).unwrap_or(&NONE)
    }

    /// Returns every pattern, by number.
    pub fn all(&self) -> &[Counts] {
        &self.counts
    }
}
