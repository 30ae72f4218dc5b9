//! Italian: Snowball stems, without elided articles; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};
use crate::text::segmentation::is_apostrophe;

pub(super) struct Italian;

/// What is elided before a vowel, as in Lucene's `ItalianAnalyzer`.
const ELIDED: &[&str] =
    &["l", "d", "c", "un", "all", "dall", "dell", "nell", "sull", "coll", "quell", "quest"];

impl Language for Italian {
    fn name(&self) -> &'static str {
        "Italian"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "io",
            first: "mio mia miei mie mi me",
            second: "tu ti te tuo tua tuoi tue lei",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("it")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_it.txt")
    }

    fn bare<'w>(&self, word: &'w str) -> &'w str {
        let parts = word.split_once(is_apostrophe).filter(|(article, _)| ELIDED.contains(article));
        parts.map_or(word, |(_, bare)| bare)
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Italian, word))
    }
}
