//! English: Snowball stems, irregular forms, stop words.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, TimeWords, snowball};

pub(super) struct English;

impl Language for English {
    fn name(&self) -> &'static str {
        "English"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns { subject: "i", first: "my me myself", second: "you your yours" }
    }

    fn time_words(&self) -> TimeWords {
        TimeWords {
            questions: include_str!("words/time_questions_en.txt"),
            words: include_str!("words/time_en.txt"),
        }
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_en.txt")
    }

    fn proper_nouns(&self) -> &'static [&'static str] {
        // the month, where it is not written as one writes a verb
        &["May"]
    }

    fn clitics(&self) -> &'static [&'static str] {
        &["'s", "'S", "’s", "’S"]
    }

    fn irregular_forms(&self) -> &'static str {
        include_str!("words/irregular_en.txt")
    }

    /// By the Snowball stemmer of English, also called Porter 2.
    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let is_ascii = word.bytes().all(|byte| byte.is_ascii_lowercase());
        is_ascii.then(|| snowball(Algorithm::English, word))
    }
}
