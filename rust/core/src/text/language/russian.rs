//! Russian: Snowball stems of words in its letters; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, snowball};

pub(super) struct Russian;

impl Language for Russian {
    fn name(&self) -> &'static str {
        "Russian"
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_ru.txt")
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let is_russian = word.chars().all(|c| matches!(c, 'а'..='я'));
        is_russian.then(|| snowball(Algorithm::Russian, word))
    }
}
