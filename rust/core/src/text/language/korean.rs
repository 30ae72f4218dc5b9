//! Korean: Hangul, whose endings are cut off by pairs of syllables.

use std::ops::RangeInclusive;

use crate::text::language::{Language, Pronouns};

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

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "",
            first: "나는 내가 제가 저는 나의 저의 나를 저를",
            second: "당신 너는 네가 너의 너를",
        }
    }

    /// Korean has spaces, but particles and endings stand behind a word without one.
    fn unspaced(&self) -> &'static [RangeInclusive<char>] {
        HANGUL
    }
}
