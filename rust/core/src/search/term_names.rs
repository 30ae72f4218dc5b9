//! Names of terms in an engine outside of this process: a letter for the kind, then the term.
//!
//! What an engine stores and counts is a flat list of names for each document. A concept is named by
//! its stem, or by its one word where that has none. `n_t` counts a term in the text, and what stands
//! beside it (the speaker, the time, the context) only where no text has it: so each has two names,
//! of which a document has one.

use crate::text::language::readings::{LanguageId, stem_in};

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// A stem, in the text.
    Stem,
    /// A stem that is only beside the text.
    StemBeside,
    /// A word as it is spelled, in the text.
    Word,
    /// A word as it is spelled that is only beside the text.
    WordBeside,
    /// The name of a concept, in a heading or title.
    Heading,
    /// The name of a concept, in the name of the speaker.
    Speaker,
    /// A pattern or a `field:word` of a query, as it is written there. No document has such a name.
    Pattern,
}

impl TermKind {
    const LETTERS: [(Self, char); 7] = [
        (Self::Stem, 'c'),
        (Self::StemBeside, 'b'),
        (Self::Word, 'w'),
        (Self::WordBeside, 'v'),
        (Self::Heading, 'h'),
        (Self::Speaker, 'p'),
        (Self::Pattern, '~'),
    ];

    /// Returns the first letter of such names.
    #[must_use]
    pub fn letter(self) -> char {
        Self::LETTERS[self as usize].1
    }

    /// Returns the kind of what is called so, but stands only beside the text.
    pub(crate) fn beside(self) -> Self {
        match self {
            Self::Stem => Self::StemBeside,
            Self::Word => Self::WordBeside,
            other => other,
        }
    }

    /// Returns the name of a term.
    #[must_use]
    pub fn name(self, term: &str) -> String {
        let mut name = String::with_capacity(1 + term.len());
        name.push(self.letter());
        name.push_str(term);
        name
    }
}

/// The names of one concept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConceptNames {
    /// In the text.
    pub text: String,
    /// Only beside the text.
    pub beside: String,
    /// In a heading or title.
    pub heading: String,
    /// In the name of the speaker.
    pub speaker: String,
}

impl ConceptNames {
    /// Returns those of a stem, or of a word that has none.
    #[must_use]
    pub fn of(stem: Option<&str>, word: &str) -> Self {
        let (text, beside) = match stem {
            Some(stem) => (TermKind::Stem.name(stem), TermKind::StemBeside.name(stem)),
            None => (TermKind::Word.name(word), TermKind::WordBeside.name(word)),
        };
        let (heading, speaker) = (TermKind::Heading.name(&text), TermKind::Speaker.name(&text));
        Self { text, beside, heading, speaker }
    }

    /// Returns those of the term that each document of a language has.
    #[must_use]
    pub fn of_language(language: LanguageId) -> Self {
        let marker = language.marker();
        Self::of(stem_in(marker), marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_letter() {
        for (kind, letter) in TermKind::LETTERS {
            assert_eq!(kind.name("tea"), format!("{letter}tea"));
        }
    }

    #[test]
    fn a_word_without_a_stem_is_no_stem_that_is_spelled_alike() {
        let [stem, word] = [Some("tea"), None].map(|stem| ConceptNames::of(stem, "tea"));
        assert_eq!((&*stem.text, &*stem.heading), ("ctea", "hctea"));
        assert_eq!((&*word.beside, &*word.speaker), ("vtea", "pwtea"));
    }
}
