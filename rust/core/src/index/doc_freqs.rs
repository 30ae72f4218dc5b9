//! Document frequencies of a concept: in any field, and in the fields that count once more.

use crate::index::bm25f::{Counts, Field};

/// `n_t` of a concept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DocFreqs {
    /// Documents that hold it in any field.
    pub any: u32,
    /// Documents that hold it in a heading or title.
    pub heading: u32,
    /// Documents that hold it in the speaker's name.
    pub speaker: u32,
}

impl DocFreqs {
    /// Changes the frequencies to which a document with these counts adds.
    pub(crate) fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if counts[Field::Heading as usize] | counts[Field::Title as usize] > 0 {
            change(&mut self.heading);
        }
        if counts[Field::Speaker as usize] > 0 {
            change(&mut self.speaker);
        }
    }
}
