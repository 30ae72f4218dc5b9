//! Languages and scripts: stop words, stems, and scripts written without spaces.
//!
//! One file a language, or a family of languages with one script. All of them are merged into one
//! [`table`] when the first text is analysed, so that their number costs a text nothing. A word is
//! stemmed by the first language that has a stem for it; so far the text of a word alone decides.

mod chinese_japanese;
mod english;
mod korean;
mod southeast_asian;
pub mod stems;
mod table;

use std::borrow::Cow;
use std::ops::RangeInclusive;

pub(super) use table::{
    clitics, irregular_stems, is_proper_noun, is_stop_run, is_stop_word, is_unspaced,
    longest_stop_run, runs_over_lines,
};
pub use table::{extend, extension_id};

/// The languages that are built in, in the order in which they are asked for a stem.
const LANGUAGES: &[&dyn Language] = &[
    &english::English,
    &chinese_japanese::ChineseJapanese,
    &korean::Korean,
    &southeast_asian::SoutheastAsian,
];

/// What the analysis of text has to know of a language, or of a family of languages with one script.
///
/// A language with spaces between words has stop words and stems; a script without spaces has its
/// characters, and stop words that are looked for in a run of them. Words are given folded: without
/// case, accents and compatibility forms ([`crate::text::tokens::fold`]). What is data here is read
/// once, when the first text is analysed.
pub trait Language: Sync {
    /// Returns its English name. The index on disk is made anew when the name of an added language
    /// changes, so a number in it can tell versions of its rules apart.
    fn name(&self) -> &'static str;

    /// Returns its stop words, folded and separated by white space: function words, which a query
    /// leaves out and which do not count for the length of a text.
    fn stop_words(&self) -> &'static str {
        ""
    }

    /// Returns what is a stop word when it is folded, but a proper noun as it is spelled here.
    fn proper_nouns(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns endings that are not part of a word, as they are spelled: the `'s` of a possessive.
    fn clitics(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns irregular forms, one word a line: its base, then its forms, which have the stem of
    /// the base.
    fn irregular_forms(&self) -> &'static str {
        ""
    }

    /// Returns the stem of a word; none for what is surely no word of this language.
    ///
    /// A word must begin with all but the last letter of its stem, or be an irregular form: texts
    /// are searched by prefix for what a snippet is to show.
    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let _ = word;
        None
    }

    /// Returns the characters of a script that is written without spaces between words: a run of
    /// them is indexed as its characters and pairs of characters.
    fn unspaced(&self) -> &'static [RangeInclusive<char>] {
        &[]
    }

    /// Says whether a line end may fall within a word of its unspaced script.
    fn runs_over_lines(&self) -> bool {
        false
    }
}
