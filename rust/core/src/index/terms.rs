//! The term dictionary: text ↔ number.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Terms in the order in which they were first seen; numbers never change until a rebuild.
#[derive(Debug, Default)]
pub struct Terms {
    /// Every term's text, one after the other.
    text: String,
    /// Where each term ends in `text`.
    ends: Vec<u32>,
    by_text: HashTable<u32>,
}

fn hash(term: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(term.as_bytes());
    hasher.finish()
}

impl Terms {
    /// Rebuilds the dictionary from the two arrays that a snapshot keeps; `None` if they disagree.
    pub fn from_parts(text: String, ends: Vec<u32>) -> Option<Self> {
        let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        let whole = ends.last().copied().unwrap_or(0) as usize == text.len();
        if !ordered || !whole || ends.iter().any(|&end| !text.is_char_boundary(end as usize)) {
            return None;
        }
        let mut terms = Self { text, by_text: HashTable::with_capacity(ends.len()), ends };
        for id in 0..terms.ends.len() as u32 {
            let hash = hash(terms.text(id));
            let Self { text, ends, by_text } = &mut terms;
            by_text.insert_unique(hash, id, |&id| self::hash(slice(text, ends, id)));
        }
        Some(terms)
    }

    /// Returns the arrays that [`Self::from_parts`] takes.
    pub fn parts(&self) -> (&str, &[u32]) {
        (&self.text, &self.ends)
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
        slice(&self.text, &self.ends, id)
    }

    /// Returns the number of a known term.
    pub fn get(&self, term: &str) -> Option<u32> {
        self.by_text.find(hash(term), |&id| self.text(id) == term).copied()
    }

    /// Returns the number of a term, giving it one if it is new.
    pub fn intern(&mut self, term: &str) -> u32 {
        let hash = hash(term);
        let Self { text, ends, by_text } = self;
        if let Some(&id) = by_text.find(hash, |&id| slice(text, ends, id) == term) {
            return id;
        }
        let id = ends.len() as u32;
        text.push_str(term);
        ends.push(text.len() as u32);
        by_text.insert_unique(hash, id, |&id| self::hash(slice(text, ends, id)));
        id
    }

    /// Returns the bytes that the dictionary takes.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.by_text.capacity() * 5
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &text[start..ends[id] as usize]
}
