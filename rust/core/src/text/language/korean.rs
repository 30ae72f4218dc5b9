//! Korean: Hangul, whose endings are cut off by pairs of syllables.

use std::ops::RangeInclusive;

use crate::text::language::Language;

pub(super) struct Korean;

const HANGUL: &[RangeInclusive<char>] = &[
    '\u{1100}'..='\u{11FF}', // Jamo
    '\u{3130}'..='\u{318F}',
    '\u{A960}'..='\u{A97F}',
    '\u{AC00}'..='\u{D7FF}', // syllables, and Jamo
];

impl Language for Korean {
    fn name(&self) -> &'static str {
        "Korean"
    }

    /// Korean has spaces, but particles and endings stand behind a word without one.
    fn unspaced(&self) -> &'static [RangeInclusive<char>] {
        HANGUL
    }
}
