//! Document frequencies of a concept and of a word: in any field, and in the fields that count.
//!
//! The context field repeats the text of the neighbours. Counted there, a word of one message would
//! be in three, and a word of every second message in all: its idf would be that of a stop word. So
//! the context adds to the term frequency, and not to `n_t`.

use crate::index::bm25f::{Counts, FIELDS, Field};

/// `n_t` of a concept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DocFreqs {
    /// Documents that hold it in any field.
    pub any: u32,
    /// Documents that hold it in a field other than the context.
    pub own: u32,
    /// Documents that hold it in a heading or title.
    pub heading: u32,
    /// Documents that hold it in the speaker's name.
    pub speaker: u32,
}

impl DocFreqs {
    /// Changes the frequencies to which a document with these counts adds.
    pub(crate) fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if is_own(counts) {
            change(&mut self.own);
        }
        if counts[Field::Heading as usize] | counts[Field::Title as usize] > 0 {
            change(&mut self.heading);
        }
        if counts[Field::Speaker as usize] > 0 {
            change(&mut self.speaker);
        }
    }

    /// Returns `n_t` for the idf.
    pub fn scored(&self) -> u32 {
        scored(self.any, self.own)
    }
}

/// `n_t` of a word as it is spelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WordDocFreqs {
    /// Documents that hold it in any field.
    pub any: u32,
    /// Documents that hold it in a field other than the context.
    pub own: u32,
}

impl WordDocFreqs {
    /// Changes the frequencies to which a document with these counts adds.
    pub(crate) fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if is_own(counts) {
            change(&mut self.own);
        }
    }

    /// Returns `n_t` for the idf.
    pub fn scored(&self) -> u32 {
        scored(self.any, self.own)
    }
}

/// Returns whether a document holds a term in a field other than the context.
pub(crate) fn is_own(counts: &Counts) -> bool {
    const _: () = assert!(Field::Context as usize == FIELDS - 1, "the context is the last field");
    counts[..Field::Context as usize].iter().any(|&count| count > 0)
}

/// Returns `n_t`: 1 where only a context holds the term, as of one that is in one document.
fn scored(any: u32, own: u32) -> u32 {
    own.max(any.min(1))
}
