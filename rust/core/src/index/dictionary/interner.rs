//! The term dictionary: text ↔ number.

use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::FxHasher;

/// Terms in the order in which they were first seen; numbers never change until a rebuild.
#[derive(Debug, Default)]
pub struct Terms {
    /// Every term's text, one after the other.
    text: String,
    /// Where each term ends in `text`.
    ends: Vec<u32>,
    /// Where each term is looked for: a table of open addressing, in a snapshot as it lies here.
    slots: Vec<Slot>,
}

/// One place of the table.
#[derive(Debug, Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Slot {
    /// Hash of the term; most others are told from it without a look at their text.
    hash: u32,
    /// The number of the term, plus one; 0 where there is none.
    next: u32,
}

fn hash(term: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(term.as_bytes());
    hasher.finish() as u32
}

impl Terms {
    /// Takes over the arrays that a snapshot keeps; `None` if they disagree.
    pub fn from_parts(text: String, ends: Vec<u32>, slots: Vec<Slot>) -> Option<Self> {
        let whole = ends.last().copied().unwrap_or(0) as usize == text.len();
        let ordered = ends.is_sorted() && ends.iter().all(|&e| text.is_char_boundary(e as usize));
        // an empty slot ends every search
        let room = slots.is_empty() && ends.is_empty()
            || slots.len().is_power_of_two() && slots.len() > ends.len();
        let fits = whole && ordered && room;
        let terms = fits.then_some(Self { text, ends, slots })?;
        terms.are_found().then_some(terms)
    }

    /// Says whether each term is found in the table, and only once.
    fn are_found(&self) -> bool {
        let hashes: Vec<u32> = (0..self.len() as u32).map(|id| hash(self.text(id))).collect();
        let mut seen = vec![false; self.len()];
        let mask = self.slots.len().wrapping_sub(1);
        let is_found = |(at, slot): (usize, &Slot)| {
            let Some(id) = slot.next.checked_sub(1) else { return true };
            let known = hashes.get(id as usize) == Some(&slot.hash);
            if !known || std::mem::replace(&mut seen[id as usize], true) {
                return false;
            }
            // where it is looked for before
            let distance = at.wrapping_sub(slot.hash as usize) & mask;
            (1..=distance).all(|back| {
                let before = &self.slots[at.wrapping_sub(back) & mask];
                let other = before.hash != slot.hash
                    || hashes.get(before.next.wrapping_sub(1) as usize) == Some(&before.hash)
                        && self.text(before.next - 1) != self.text(id);
                before.next > 0 && other
            })
        };
        self.slots.iter().enumerate().all(is_found) && seen.into_iter().all(|seen| seen)
    }

    /// Returns the arrays that [`Self::from_parts`] takes.
    pub fn parts(&self) -> (&str, &[u32], &[Slot]) {
        (&self.text, &self.ends, &self.slots)
    }

    /// Returns the number of terms.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the text of a term.
    pub fn text(&self, id: u32) -> &str {
        &self.text[self.span(id)]
    }

    #[inline]
    fn span(&self, id: u32) -> Range<usize> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        start..self.ends[id] as usize
    }

    /// Returns the number of a known term.
    pub fn get(&self, term: &str) -> Option<u32> {
        self.find(hash(term), term).ok()
    }

    /// Returns the number of a term, or the slot that it would have.
    fn find(&self, hash: u32, term: &str) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            match self.slots.get(at) {
                Some(&Slot { hash: other, next: next @ 1.. }) => {
                    // as bytes: borders of characters are looked for in vain
                    let text = || self.text.as_bytes().get(self.span(next - 1));
                    if other == hash && text() == Some(term.as_bytes()) {
                        return Ok(next - 1);
                    }
                }
                _ => return Err(at),
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the number of a term, giving it one if it is new.
    pub fn intern(&mut self, term: &str) -> u32 {
        let hash = hash(term);
        let mut at = match self.find(hash, term) {
            Ok(id) => return id,
            Err(at) => at,
        };
        let id = self.ends.len() as u32;
        if (self.ends.len() + 1) * 3 > self.slots.len() * 2 {
            self.grow();
            at = self.free(hash);
        }
        self.text.push_str(term);
        self.ends.push(self.text.len() as u32);
        self.slots[at] = Slot { hash, next: id + 1 };
        id
    }

    /// Takes in all terms of another dictionary and returns the numbers that they have here.
    pub fn take_in(&mut self, other: &Self) -> Vec<u32> {
        (0..other.len() as u32).map(|id| self.intern(other.text(id))).collect()
    }

    fn grow(&mut self) {
        let wider = vec![Slot::default(); (self.slots.len() * 2).max(8)];
        for slot in std::mem::replace(&mut self.slots, wider) {
            if slot.next > 0 {
                let at = self.free(slot.hash);
                self.slots[at] = slot;
            }
        }
    }

    /// Returns the slot for a term that is known to be new.
    fn free(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].next > 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Returns the bytes that the dictionary takes.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.slots.capacity() * size_of::<Slot>()
    }
}
