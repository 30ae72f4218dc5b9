//! Russian: Snowball stems of words in its letters; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Russian;

impl Language for Russian {
    fn name(&self) -> &'static str {
        "Russian"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "я",
            first: "мой моя моё мое мои моего моей моему моих моим моими мою меня мне мной",
            second: "ты тебя тебе тобой твой твоя твоё твое твои твоего твоей вы вас вам вами ваш ваша ваше ваши",
        }
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
