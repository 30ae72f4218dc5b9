//! French: Snowball stems, without elided articles; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct French;

impl Language for French {
    fn name(&self) -> &'static str {
        "French"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "je j",
            first: "mon ma mes moi me m mien mienne",
            second: "tu te toi t ton ta tes vous votre vos",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("fr")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_fr.txt")
    }

    fn letters(&self) -> &'static str {
        "œ"
    }

    // as in Lucene's `FrenchAnalyzer`
    fn elided(&self) -> &'static [&'static str] {
        &["l", "d", "j", "m", "t", "s", "n", "c", "qu", "lorsqu", "puisqu", "jusqu", "quoiqu"]
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::French, word))
    }
}
