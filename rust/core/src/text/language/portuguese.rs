//! Portuguese: Snowball stems; stop words of the Snowball project.

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Portuguese;

impl Language for Portuguese {
    fn name(&self) -> &'static str {
        "Portuguese"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "eu",
            first: "meu minha meus minhas me mim comigo",
            second: "tu te ti teu tua você seu sua",
        }
    }

    fn code(&self) -> Option<&'static str> {
        Some("pt")
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_pt.txt")
    }

    fn letters(&self) -> &'static str {
        "ãõ"
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        Some(snowball(Algorithm::Portuguese, word))
    }
}
