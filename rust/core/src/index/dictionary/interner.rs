//! String interner: text to number and back, with a hash table that a snapshot stores as it is.

use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::FxHasher;

use crate::index::prefetch::prefetch;

/// Strings in the order in which they were first interned; a number never changes.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    /// All strings, one after the other.
    text: String,
    /// Where each string ends in `text`.
    ends: Vec<u32>,
    /// The hash table, with open addressing.
    slots: Vec<HashSlot>,
}

/// One slot of the hash table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct HashSlot {
    /// Hash of the string; most others differ in it, so their text need not be compared.
    hash: u32,
    /// The number of the string, plus one; 0 in an empty slot.
    id_plus_one: u32,
}

/// Returns the hash by which the table finds a string.
pub(crate) fn hash(string: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(string.as_bytes());
    hasher.finish() as u32
}

impl Interner {
    /// Makes the interner from the arrays of a snapshot; `None` if they disagree.
    pub fn from_parts(text: String, ends: Vec<u32>, slots: Vec<HashSlot>) -> Option<Self> {
        let whole = ends.last().copied().unwrap_or(0) as usize == text.len();
        let ordered = ends.is_sorted() && ends.iter().all(|&e| text.is_char_boundary(e as usize));
        // a slot for each string, and an empty one, which ends every search
        let filled = slots.iter().filter(|slot| slot.id_plus_one > 0).count();
        let has_empty_slot = slots.is_empty() && ends.is_empty()
            || slots.len().is_power_of_two() && slots.len() > ends.len();
        let fits = whole && ordered && has_empty_slot && filled == ends.len();
        let interner = fits.then_some(Self { text, ends, slots })?;
        interner.is_consistent().then_some(interner)
    }

    /// Says whether each string is found in the hash table, and only once.
    fn is_consistent(&self) -> bool {
        let mask = self.slots.len().wrapping_sub(1);
        (0..self.len() as u32).all(|id| {
            let text = self.text(id);
            let own = HashSlot { hash: hash(text), id_plus_one: id + 1 };
            let mut at = own.hash as usize & mask;
            loop {
                let slot = self.slots[at];
                if [0, own.id_plus_one].contains(&slot.id_plus_one) {
                    return slot == own;
                }
                let other = slot.id_plus_one - 1;
                let is_known = (other as usize) < self.len();
                if slot.hash == own.hash && !(is_known && self.text(other) != text) {
                    return false;
                }
                at = (at + 1) & mask;
            }
        })
    }

    /// Returns the arrays that [`Self::from_parts`] takes.
    pub fn parts(&self) -> (&str, &[u32], &[HashSlot]) {
        (&self.text, &self.ends, &self.slots)
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the string with this number.
    pub fn text(&self, id: u32) -> &str {
        &self.text[self.span(id)]
    }

    #[inline]
    fn span(&self, id: u32) -> Range<usize> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        start..self.ends[id] as usize
    }

    /// Prefetches what the lookup of a string reads first.
    #[inline]
    pub(crate) fn prefetch(&self, string: &str) {
        prefetch(&self.slots, hash(string) as usize & self.slots.len().wrapping_sub(1));
    }

    /// Returns the number of a string, if it is known.
    pub fn get(&self, string: &str) -> Option<u32> {
        self.find(hash(string), string).ok()
    }

    /// Returns the number of a string, or the slot that it would have.
    fn find(&self, hash: u32, string: &str) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            match self.slots.get(at) {
                Some(&HashSlot { hash: other, id_plus_one: next @ 1.. }) => {
                    // as bytes: the check for character boundaries is not needed
                    let text = || self.text.as_bytes().get(self.span(next - 1));
                    if other == hash && text() == Some(string.as_bytes()) {
                        return Ok(next - 1);
                    }
                }
                _ => return Err(at),
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the number of a string, giving it one if it is new.
    pub fn intern(&mut self, string: &str) -> u32 {
        let hash = hash(string);
        let mut at = match self.find(hash, string) {
            Ok(id) => return id,
            Err(at) => at,
        };
        let id = self.ends.len() as u32;
        if (self.ends.len() + 1) * 3 > self.slots.len() * 2 {
            self.grow();
            at = self.free(hash);
        }
        self.text.push_str(string);
        self.ends.push(self.text.len() as u32);
        self.slots[at] = HashSlot { hash, id_plus_one: id + 1 };
        id
    }

    /// Gives a string that has a number another one, by which it is not found.
    pub fn push_again(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len() as u32);
    }

    /// Interns all strings of another interner and returns their numbers here.
    pub fn intern_all(&mut self, other: &Self) -> Vec<u32> {
        (0..other.len() as u32).map(|id| self.intern(other.text(id))).collect()
    }

    fn grow(&mut self) {
        let wider = vec![HashSlot::default(); (self.slots.len() * 2).max(8)];
        for slot in std::mem::replace(&mut self.slots, wider) {
            if slot.id_plus_one > 0 {
                let at = self.free(slot.hash);
                self.slots[at] = slot;
            }
        }
    }

    /// Returns the slot for a string that is known to be new.
    fn free(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].id_plus_one > 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Returns the bytes that the interner takes in memory.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.ends.capacity() * 4
            + self.slots.capacity() * size_of::<HashSlot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(interner: Interner) -> Option<Interner> {
        Interner::from_parts(interner.text, interner.ends, interner.slots)
    }

    #[test]
    fn parts_that_disagree_are_refused() {
        let mut interner = Interner::default();
        for number in 0..40 {
            interner.intern(&format!("word{number}"));
        }
        let found = taken(interner.clone()).unwrap();
        assert!((0..40).all(|number| found.get(&format!("word{number}")) == Some(number)));
        for at in 0..interner.slots.len() {
            let HashSlot { hash, id_plus_one } = interner.slots[at];
            let lies = [(hash ^ 1, id_plus_one), (hash, id_plus_one ^ 1), (hash, 99), (0, 0)];
            for (hash, id_plus_one) in lies {
                let mut crafted = interner.clone();
                crafted.slots[at] = HashSlot { hash, id_plus_one };
                let is_same =
                    crafted.slots[at].id_plus_one == 0 && interner.slots[at].id_plus_one == 0;
                assert_eq!(taken(crafted).is_some(), is_same, "slot {at}: {hash} {id_plus_one}");
            }
        }
        let mut twice = interner.clone();
        twice.push_again("word7");
        assert!(taken(twice.clone()).is_none(), "no slot");
        let at = twice.free(hash("word7"));
        twice.slots[at] = HashSlot { hash: hash("word7"), id_plus_one: 41 };
        assert!(taken(twice).is_none(), "two words are the same");
    }
}
