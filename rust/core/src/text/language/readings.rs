//! Readings: the words of a document as words of its language, and the terms that stand for them.
//!
//! Most languages are told by the script of a word. Those that share one, the Latin, are told
//! document by document ([`Votes`](crate::text::language::detection::Votes)); a word that is read in
//! one of these has a term of its own, made of its folded form, its stem and the code of the
//! language. So a concept is a stem of one language, and texts in several do not mix.

use std::borrow::Cow;

use crate::text::folding::fold;
use crate::text::language::{Language, Pronoun, SEPARATOR, table};
use crate::text::term::MAX_WORD;

/// How the words of a document are read: each by itself, or all as words of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct LanguageId(pub(super) u8);

impl LanguageId {
    /// Each word by itself: by its script, and in the Latin script as English.
    pub const BY_WORD: Self = Self(0);

    /// Returns the languages that are told document by document.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=table::told().len() as u8).map(Self)
    }

    fn language(self) -> Option<&'static dyn Language> {
        table::told().get(usize::from(self.0).checked_sub(1)?).copied()
    }

    /// Returns the ISO 639-1 code; empty if each word is read by itself.
    pub fn code(self) -> &'static str {
        self.language().and_then(Language::code).unwrap_or_default()
    }

    /// Returns the term that each document of the language holds.
    pub fn marker(self) -> &'static str {
        table::marker(self.0)
    }

    /// Returns what pronoun a word in lower case is.
    pub fn pronoun(self, word: &str) -> Option<Pronoun> {
        table::pronoun(word, self.0)
    }

    /// Returns whether its words are of several syllables, each written by itself.
    pub fn writes_syllables(self) -> bool {
        self.language().is_some_and(Language::writes_syllables)
    }

    /// Returns the term for two terms of the language that follow each other, with the two as they
    /// are spelled; none if one is no syllable, or if both are stop words.
    pub fn pair(self, first: &str, second: &str) -> Option<(String, String)> {
        let (first, second) = (syllable(first)?, syllable(second)?);
        let is_stop = |syllable| table::is_stop_word_of(self.0, syllable);
        if is_stop(first) && is_stop(second) {
            return None;
        }
        let spelled = format!("{first}_{second}");
        Some((format!("{SEPARATOR}{SEPARATOR}{}:{spelled}", self.code()), spelled))
    }

    /// Returns whether a stem can be that of a word in a document of the language: it is of this
    /// language, or of a word that is read by itself.
    pub fn may_have_stem(self, stem: &str) -> bool {
        split(stem).is_none_or(|(_, code)| code == self.code())
    }

    /// Returns a word as it is read in the language; none if it is no word of its script, and is
    /// read by itself.
    pub fn read(self, spelled: &str) -> Option<Reading> {
        let language = self.language()?;
        let lower = language.lower_case(spelled);
        let word: String = language.bare(&lower).chars().filter(|c| c.is_alphabetic()).collect();
        let word = &word[..word.floor_char_boundary(MAX_WORD)];
        let marks = |c: char| matches!(c, '\'' | '’' | '\u{300}'..='\u{36f}');
        let is_word = lower.chars().all(|c| c.is_alphabetic() && is_latin(c) || marks(c));
        if word.is_empty() || !is_word {
            return None;
        }
        let (folded, code) = (fold(word), language.code().unwrap_or_default());
        let by_accents = language.spells_by_accents();
        let stem = if by_accents { folded.clone() } else { language.stem(word)? };
        let stem = fold(&stem);
        let mut term = format!("{folded}{SEPARATOR}{stem}{SEPARATOR}{code}");
        if by_accents {
            term = format!("{term}{SEPARATOR}{word}");
        }
        let is_stop_word = table::is_stop_word_of(self.0, if by_accents { word } else { &folded });
        // of the word, not the stem: a word without its accents can have another stem
        let prefix = if is_stop_word { None } else { prefix_term(&folded, language) };
        Some(Reading { term, prefix, is_stop_word, by_accents })
    }
}

/// Returns whether a letter is of the Latin script.
pub(super) const fn is_latin(c: char) -> bool {
    c < '\u{250}' || matches!(c, '\u{1e00}'..='\u{1eff}')
}

/// A word as it is read in a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// As it stands in the dictionary.
    pub term: String,
    /// The term for all words that begin like it.
    pub prefix: Option<String>,
    /// Whether it is a stop word of the language.
    pub is_stop_word: bool,
    /// Whether words of one stem are told apart by their accents, and mean something else.
    pub by_accents: bool,
}

impl Reading {
    /// Returns the stem, with the code of its language.
    pub fn stem(&self) -> &str {
        stem_in(&self.term).unwrap_or_default()
    }
}

/// Returns the term for all words that begin like a folded word which is read by itself, if its
/// language has such.
pub fn prefix_of(word: &str) -> Option<String> {
    // English has none
    if word.is_ascii() || table::is_stop_word(word) {
        return None;
    }
    let (stem, language) = table::stem_and_language(word)?;
    prefix_term(&stem, language)
}

fn prefix_term(word: &str, language: &dyn Language) -> Option<String> {
    let letters = language.prefix_letters()?;
    let word = language.root_letters(word);
    let end = word.char_indices().nth(letters).map_or(word.len(), |(end, _)| end);
    let code = language.code().unwrap_or_default();
    Some(format!("{SEPARATOR}{SEPARATOR}{code}:{}", &word[..end]))
}

/// Returns the syllable that a term stands for, as it is spelled; none of any other term.
fn syllable(term: &str) -> Option<&str> {
    term.splitn(4, SEPARATOR).nth(3)
}

/// Returns the stem that a term of a reading gives, with the code of its language; none of any other
/// term.
pub fn stem_in(term: &str) -> Option<&str> {
    let (_, rest) = split(term)?;
    let (stem, code) = split(rest).unwrap_or((rest, ""));
    let end = split(code).map_or(rest.len(), |(code, _)| stem.len() + 1 + code.len());
    Some(&rest[..end])
}

/// Splits a text at the first separator. As bytes: a search for a character takes longer to begin
/// than a term is long, and each word of a query and of what it finds is asked.
#[inline]
fn split(text: &str) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == SEPARATOR as u8)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Returns the folded word that a term stands for, or what a stem is without its language.
pub fn bare(term: &str) -> &str {
    split(term).map_or(term, |(word, _)| word)
}

/// Returns how many letters of a stem are at the beginning of each of its words, and what may stand
/// before it; none if it is no stem of a language with a code.
pub fn sure_letters(stem: &str) -> Option<(usize, Option<&'static str>)> {
    let (stem, code) = split(stem)?;
    let language = table::told().iter().find(|language| language.code() == Some(code))?;
    Some((language.sure_letters(stem), language.dropped_prefix()))
}

/// Returns a stem for people to read: with the code of its language, if it has one.
pub fn shown(stem: &str) -> Cow<'_, str> {
    match split(stem) {
        Some((stem, code)) => format!("{stem} ({code})").into(),
        None => stem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(code: &str) -> LanguageId {
        LanguageId::all().find(|language| language.code() == code).unwrap()
    }

    fn stem(code: &str, word: &str) -> String {
        shown(id(code).read(word).unwrap().stem()).into_owned()
    }

    #[test]
    fn inflected_forms_have_one_stem() {
        for (code, one, other) in [
            ("de", "Häuser", "Haus"),
            ("de", "STRASSEN", "Straße"),
            ("es", "publicaciones", "publicación"),
            ("es", "CANTÁBAMOS", "cantar"),
            ("fr", "l'hôpital", "hôpitaux"),
            ("fr", "continua", "continuer"),
            ("it", "dell’amico", "amici"),
            ("pt", "universidades", "UNIVERSIDADE"),
            ("nl", "katten", "kat"),
            ("ro", "orașelor", "oraşele"),
            ("ro", "universității", "universitate"),
            ("tr", "İstanbul'da", "istanbul"),
            ("tr", "evlerimizden", "evler"),
            ("tr", "ISIRGAN", "ısırgan"),
            ("vi", "Bạn", "bán"),
        ] {
            assert_eq!(stem(code, one), stem(code, other), "{code} {one} {other}");
        }
    }

    #[test]
    fn a_reading_holds_its_parts() {
        let reading = id("de").read("Häuser").unwrap();
        assert_eq!(bare(&reading.term), "hauser");
        assert_eq!(stem_in(&reading.term), Some(reading.stem()));
        assert!(!reading.is_stop_word && id("de").read("Über").unwrap().is_stop_word);
        let (full, stop) = (id("vi").read("bạn").unwrap(), id("vi").read("các").unwrap());
        assert!(
            full.by_accents && stop.is_stop_word && !id("vi").read("cac").unwrap().is_stop_word
        );
        assert_ne!(full.term, id("vi").read("bán").unwrap().term);
        let prefix = |word: &str| id("de").read(word).unwrap().prefix;
        assert_eq!(prefix("Verwaltung"), prefix("Verwalter"));
        assert_eq!((prefix("und"), prefix_of("и"), prefix_of("word")), (None, None, None));
        assert_eq!(prefix_of("городской"), prefix_of("городами"));
        assert_eq!(stem_in(id("de").marker()), Some("\u{1f}de"));
        for other in ["v2", "2019", "数", "дом", ""] {
            assert_eq!(id("de").read(other), None, "{other}");
        }
        assert_eq!((LanguageId::BY_WORD.read("word"), stem_in("word")), (None, None));
    }
}
