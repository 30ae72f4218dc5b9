//! Spanish: Snowball stems; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Spanish;

impl Language for Spanish {
    fn name(&self) -> &'static str {
        "Spanish"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "yo",
            first: "mi mis me mí mío mía míos mías conmigo",
            second: "tú te ti tu tus usted contigo",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("es")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_es.txt")
    }

    fn letters(&self) -> &'static str {
        "ñ"
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Spanish, word))
    }
}
