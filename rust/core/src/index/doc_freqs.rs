//! Document frequencies of a concept and of a word: in any field, and in the text alone.
//!
//! The context field repeats the text of the neighbours. Counted there, a word of one message would
//! be in three, and a word of every second message in all: its idf would be that of a stop word. The
//! speaker's name and the time stand beside a text as well, and are the same in many. So these three
//! fields add to the term frequency, and not to `n_t`.

use crate::index::bm25f::{Counts, FIELDS, Field};

/// `n_t` of a concept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DocFreqs {
    /// Documents that hold it in any field.
    pub any: u32,
    /// Documents that hold it in their text.
    pub text: u32,
    /// Documents that hold it in a heading or title.
    pub heading: u32,
    /// Documents that hold it in the speaker's name.
    pub speaker: u32,
}

impl DocFreqs {
    /// Changes the frequencies to which a document with these counts adds.
    pub(crate) fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if is_in_text(counts) {
            change(&mut self.text);
        }
        if counts[Field::Heading as usize] | counts[Field::Title as usize] > 0 {
            change(&mut self.heading);
        }
        if counts[Field::Speaker as usize] > 0 {
            change(&mut self.speaker);
        }
    }

    /// Returns the sum of both: those of two concepts that no document holds together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            any: self.any + other.any,
            text: self.text + other.text,
            heading: self.heading + other.heading,
            speaker: self.speaker + other.speaker,
        }
    }

    /// Returns `n_t` for the idf; of the role of a speaker, how often it speaks, if that is more.
    pub fn scored(&self, is_role: bool) -> u32 {
        scored(self.any, self.text, self.of_role(is_role))
    }

    /// Returns how many documents have a role as their speaker; 0 of what is none.
    pub fn of_role(&self, is_role: bool) -> u32 {
        if is_role { self.speaker } else { 0 }
    }
}

/// `n_t` of a word as it is spelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WordDocFreqs {
    /// Documents that hold it in any field.
    pub any: u32,
    /// Documents that hold it in their text.
    pub text: u32,
}

impl WordDocFreqs {
    /// Changes the frequencies to which a document with these counts adds.
    pub(crate) fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if is_in_text(counts) {
            change(&mut self.text);
        }
    }

    /// Returns the sum of both, as [`DocFreqs::plus`].
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { any: self.any + other.any, text: self.text + other.text }
    }

    /// Returns `n_t` for the idf; `of_role` is [`DocFreqs::of_role`] of its concept.
    pub fn scored(&self, of_role: u32) -> u32 {
        scored(self.any, self.text, of_role)
    }
}

/// Returns whether a document holds a term in its text: not only beside it, as its speaker, its time
/// or its context.
pub(crate) fn is_in_text(counts: &Counts) -> bool {
    const _: () = assert!(
        Field::Speaker as usize + 3 == FIELDS,
        "the last fields are the speaker, the time and the context"
    );
    counts[..Field::Speaker as usize].iter().any(|&count| count > 0)
}

/// Returns `n_t`: where no text holds the term, that of any field.
///
/// A role is a word of the text in some messages, and the speaker of half of them: with the frequency
/// of the former alone its weight would be added to all of the latter.
fn scored(any: u32, text: u32, of_role: u32) -> u32 {
    if text == 0 { any } else { text.max(of_role) }
}
