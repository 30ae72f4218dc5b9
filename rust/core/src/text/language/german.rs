//! German: Snowball stems, with umlauts as plain vowels; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball, usually_sure};

pub(super) struct German;

impl Language for German {
    fn name(&self) -> &'static str {
        "German"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "ich",
            first: "mein meine meinen meinem meiner meines mich mir",
            second: "du dich dir dein deine deinen deinem deiner ihnen ihr ihre",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("de")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_de.txt")
    }

    fn letters(&self) -> &'static str {
        "ß"
    }

    /// An umlaut may be spelled as two letters: *Gaeste* has the stem of *Gäste*.
    fn sure_letters(&self, stem: &str) -> usize {
        let umlaut = stem.find(['a', 'o', 'u']).map_or(stem.len(), |vowel| vowel + 1);
        usually_sure(stem).min(umlaut)
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::German, word))
    }
}
