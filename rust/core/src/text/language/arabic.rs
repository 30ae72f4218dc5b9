//! Arabic: Snowball stems of words in its letters, which Persian and Urdu have more of.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Arabic;

impl Language for Arabic {
    fn name(&self) -> &'static str {
        "Arabic"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "أنا",
            first: "لي عندي مني معي لدي",
            second: "أنت أنتم لك عندك منك معك لديك",
        }
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_ar.txt")
    }

    /// Roots have three consonants, and a stem rarely more than four letters.
    fn prefix_letters(&self) -> Option<usize> {
        Some(4)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let is_arabic = word.chars().all(|c| matches!(c, 'ء'..='غ' | 'ف'..='ي'));
        is_arabic.then(|| snowball(Algorithm::Arabic, word))
    }
}
