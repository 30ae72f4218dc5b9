//! Documents of one file that the index holds, by the hash of what was indexed of them.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

/// Documents of a file that the index holds, by the hash of all that was indexed of them.
#[derive(Debug, Default)]
pub(crate) struct IndexedDocs {
    /// The place in `rest` of the first document with a key that is not taken.
    first: FxHashMap<u64, usize>,
    /// The documents, and for each the place of the next one with the same key.
    rest: Vec<(Option<u32>, Option<usize>)>,
}

impl IndexedDocs {
    /// Gathers documents with their keys, given from the last to the first; none where the system
    /// has no memory for them.
    pub fn from_last(documents: impl ExactSizeIterator<Item = (u64, u32)>) -> Option<Self> {
        let mut indexed = Self::default();
        indexed.first.try_reserve(documents.len()).ok()?;
        indexed.rest.try_reserve_exact(documents.len()).ok()?;
        for (place, (key, number)) in documents.enumerate() {
            indexed.rest.push((Some(number), indexed.first.insert(key, place)));
        }
        Some(indexed)
    }

    /// Returns the bytes that so many documents take at most.
    pub fn bytes(count: usize) -> u64 {
        // one slot in eight stays empty, and their number is a power of two
        const SLOTS: u64 = 2 * 8 / 7 + 1;
        let slot = size_of::<(u64, usize)>() as u64 + 1;
        count as u64 * (SLOTS * slot + size_of::<(Option<u32>, Option<usize>)>() as u64)
    }

    /// Takes the first document with a key.
    pub fn take(&mut self, key: u64) -> Option<u32> {
        let Entry::Occupied(mut first) = self.first.entry(key) else { return None };
        let (number, next) = &mut self.rest[*first.get()];
        match *next {
            Some(next) => *first.get_mut() = next,
            None => {
                first.remove();
            }
        }
        number.take()
    }

    /// Returns those that nobody took.
    pub fn remaining(self) -> impl Iterator<Item = u32> {
        self.rest.into_iter().filter_map(|(number, _)| number)
    }
}
