//! Hindi: Snowball stems (Ramanathan & Rao 2003, *A Lightweight Stemmer for Hindi*), and one form
//! for spellings that are mixed up, as Lucene's `HindiNormalizer` has it (Larkey et al. 2003, *Hindi
//! CLIR in Thirty Days*).

use std::borrow::Cow;

use snowball_stemmers_rs::Algorithm;

use crate::text::language::{Language, Pronouns, snowball};

pub(super) struct Hindi;

impl Language for Hindi {
    fn name(&self) -> &'static str {
        "Hindi"
    }

    fn pronouns(&self) -> Pronouns {
        Pronouns {
            subject: "मैं मैंने",
            first: "मेरा मेरी मेरे मुझे मुझको मुझसे",
            second: "तू तुम तुम्हें तुमने तेरा तेरी तेरे तुम्हारा तुम्हारी तुम्हारे आप आपने आपको आपका आपकी आपके",
        }
    }

    fn stop_words(&self) -> &'static str {
        include_str!("words/stop_hi.txt")
    }

    fn prefix_letters(&self) -> Option<usize> {
        Some(5)
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let is_hindi =
            word.chars().all(|c| matches!(c, '\u{900}'..='\u{963}' | '\u{970}'..='\u{97f}'));
        is_hindi.then(|| Cow::Owned(normalized(&snowball(Algorithm::Hindi, word))))
    }
}

/// Returns a word without nukta and virama, with short vowels, and with one sign for nasals.
fn normalized(word: &str) -> String {
    let word = word.replace("न\u{94d}", "\u{902}");
    let normal = |c: char| match c {
        '\u{93c}' | '\u{94d}' => None,
        '\u{901}' => Some('\u{902}'),
        'आ' | 'ॲ' => Some('अ'),
        'ई' => Some('इ'),
        'ऊ' => Some('उ'),
        'ऐ' | 'ऍ' | 'ऎ' => Some('ए'),
        'औ' | 'ऑ' | 'ऒ' => Some('ओ'),
        '\u{940}' => Some('\u{93f}'),
        '\u{942}' => Some('\u{941}'),
        '\u{945}' | '\u{946}' | '\u{948}' => Some('\u{947}'),
        '\u{949}' | '\u{94a}' | '\u{94c}' => Some('\u{94b}'),
        c => Some(c),
    };
    word.chars().filter_map(normal).collect()
}
