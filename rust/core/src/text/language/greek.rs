//! Greek: Snowball stems of words without accents and final sigmas.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Greek;

impl Language for Greek {
    fn name(&self) -> &'static str {
        "Greek"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "εγώ",
            first: "μου εμένα με μένα",
            second: "εσύ σου εσένα σένα εσείς σας",
        }
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_el.txt")
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let is_greek = word.chars().all(|c| matches!(c, 'α'..='ω'));
        is_greek.then(|| snowball(Algorithm::Greek, word))
    }
}
