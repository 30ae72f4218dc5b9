//! Romanian: Snowball stems of words with a comma below, however they are spelled; stop words of
//! Jacques Savoy (BSD), in Lucene.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Romanian;

impl Language for Romanian {
    fn name(&self) -> &'static str {
        "Romanian"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "eu",
            first: "meu mea mei mele mie mine mă îmi mi",
            second: "tu tău ta tăi tale ție tine te îți dumneavoastră",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("ro")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_ro.txt")
    }

    fn letters(&self) -> &'static str {
        "ășțţ"
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Romanian, word))
    }
}
