//! Dutch: Snowball stems; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Dutch;

impl Language for Dutch {
    fn name(&self) -> &'static str {
        "Dutch"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns { subject: "ik", first: "mijn mij me", second: "jij je jou jouw u uw" }
    }

    fn code(&self) -> Option<&'static str> {
        Some("nl")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_nl.txt")
    }

    /// The `ge` of a participle may stand behind any syllable: *opgebeld* has the stem of *opbellen*.
    fn sure_letters(&self, _stem: &str) -> usize {
        1
    }

    fn dropped_prefix(&self) -> Option<&'static str> {
        Some("ge")
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Dutch, word))
    }
}
