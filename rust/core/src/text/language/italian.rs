//! Italian: Snowball stems, without elided articles; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Italian;

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

    // as in Lucene's `ItalianAnalyzer`
    fn elided(&self) -> &'static [&'static str] {
        &["l", "d", "c", "un", "all", "dall", "dell", "nell", "sull", "coll", "quell", "quest"]
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Italian, word))
    }
}
