//! Thai, Lao, Burmese and Khmer: scripts without spaces between words.

use std::ops::RangeInclusive;

use crate::text::language::Language;

pub(super) struct SoutheastAsian;

const SCRIPTS: &[RangeInclusive<char>] = &[
    '\u{0E00}'..='\u{0EFF}', // Thai, Lao
    '\u{1000}'..='\u{109F}', // Myanmar
    '\u{1780}'..='\u{17FF}', // Khmer
];

impl Language for SoutheastAsian {
    fn name(&self) -> &'static str {
        "Thai, Lao, Burmese, Khmer"
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_th.txt")
    }

    fn unspaced(&self) -> &'static [RangeInclusive<char>] {
        SCRIPTS
    }
}
