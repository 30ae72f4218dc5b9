//! Turkish: Snowball stems, without the suffixes behind the apostrophe of a name.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, is_apostrophe, snowball};

pub(super) struct Turkish;

impl Language for Turkish {
    fn name(&self) -> &'static str {
        "Turkish"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "ben",
            first: "benim bana beni bende benden",
            second: "sen senin sana seni sende senden siz sizin size sizi",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("tr")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_tr.txt")
    }

    fn letters(&self) -> &'static str {
        "ğışİ"
    }

    /// The dot tells two letters apart, whose capitals are I and İ.
    fn lower_case(&self, word: &str) -> String {
        let lower = |c: char| match c {
            'I' => 'ı',
            'İ' => 'i',
            c => c,
        };
        word.chars().map(lower).collect::<String>().to_lowercase()
    }

    fn bare<'w>(&self, word: &'w str) -> &'w str {
        word.split(is_apostrophe).next().filter(|bare| !bare.is_empty()).unwrap_or(word)
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Turkish, word))
    }
}
