//! Languages and scripts: stop words, stems, and scripts written without spaces.
//!
//! One file a language, or a family of languages with one script. All of them are merged into one
//! [`table`] when the first text is analysed, so that their number costs a text nothing. A word is
//! stemmed by the first language that has a stem for it: its script tells which. Languages that share
//! a script are told by the text around the word ([`detection`]), and the word is read in the
//! language of its document ([`readings`]).

mod arabic;
mod chinese_japanese;
pub mod detection;
mod dutch;
mod english;
mod french;
mod german;
mod greek;
pub(super) mod han_variants;
mod hindi;
mod italian;
mod korean;
mod portuguese;
pub mod readings;
mod romanian;
mod russian;
mod southeast_asian;
mod spanish;
pub mod stems;
mod table;
mod time_words;
mod turkish;
mod vietnamese;
mod vote_table;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use snowball_stemmers_rs::{Algorithm, Stemmer};

pub(super) use table::{
    asks_when, clitics, irregular_stems, is_proper_noun, is_stop_run, is_stop_word, is_unspaced,
    joins_next, joins_previous, longest_stop_run, pronoun_in_run, runs_over_lines, stands_in_words,
};
pub use table::{extend, extension_id, tells_time};
pub use time_words::TimeWords;

/// Says whether a character joins two parts of a word, in any language.
pub(super) const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// The languages that are built in, in the order in which they are asked for a stem.
const LANGUAGES: &[&dyn Language] = &[
    &english::English,
    &russian::Russian,
    &greek::Greek,
    &arabic::Arabic,
    &hindi::Hindi,
    &german::German,
    &french::French,
    &spanish::Spanish,
    &italian::Italian,
    &portuguese::Portuguese,
    &dutch::Dutch,
    &romanian::Romanian,
    &turkish::Turkish,
    &vietnamese::Vietnamese,
    &chinese_japanese::ChineseJapanese,
    &korean::Korean,
    &southeast_asian::SoutheastAsian,
];

/// Stands between the parts of a term that is read in a language; no word holds it.
pub const SEPARATOR: char = '\u{1f}';

/// The personal pronouns of a language, and the possessive ones, in the singular; in lower case, with their
/// accents and separated by spaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pronouns {
    /// Of the first person, as a subject; none where the form does not tell.
    pub subject: &'static str,
    /// Of the first person, in any other form.
    pub first: &'static str,
    /// Of the second person.
    pub second: &'static str,
}

/// What a pronoun is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pronoun {
    /// Of the first person, as a subject.
    Subject,
    /// Of the first person, in another form.
    First,
    /// Of the second person.
    Second,
}

/// Returns the stem of a word by an algorithm of the Snowball project.
fn snowball(algorithm: Algorithm, word: &str) -> Cow<'_, str> {
    Stemmer::create(algorithm).stem(word)
}

/// What the analysis of text has to know of a language, or of a family of languages with one script.
///
/// A language with spaces between words has stop words and stems; a script without spaces has its
/// characters, and stop words that are looked for in a run of them. Words are given folded: without
/// case, accents and compatibility forms ([`crate::text::folding::fold`]). What is data here is read
/// once, when the first text is analysed.
pub trait Language: Sync {
    /// Returns its English name. The index on disk is made anew when the name of an added language
    /// changes, so a number in it can tell versions of its rules apart.
    fn name(&self) -> &'static str;

    /// Returns the ISO 639-1 code of a language that shares its script with others, so that its
    /// stop words tell it, document by document; none where a word by itself tells the language.
    ///
    /// Its words are given to [`Self::stem`] with their accents, and its stop words have theirs.
    fn code(&self) -> Option<&'static str> {
        None
    }

    /// Returns letters that only this and few other languages have: they tell it as well.
    fn letters(&self) -> &'static str {
        ""
    }

    /// Returns a word of a language with a code in lower case.
    fn lower_case(&self, word: &str) -> String {
        word.to_lowercase()
    }

    /// Returns articles, pronouns and the like that lose their vowel before another one: the `l` of
    /// `l'eau`.
    fn elided(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns a word of a language with a code without elided articles or what stands behind the
    /// apostrophe of a name.
    fn bare<'w>(&self, word: &'w str) -> &'w str {
        let parts =
            word.split_once(is_apostrophe).filter(|(first, _)| self.elided().contains(first));
        parts.map_or(word, |(_, bare)| bare)
    }

    /// Returns whether words of a language with a code are other words with other accents: then the
    /// word as it is spelled counts more than its stem, which is the word without accents.
    fn spells_by_accents(&self) -> bool {
        false
    }

    /// Returns whether words are of several syllables, each written by itself: then two that follow
    /// each other are a term as well.
    fn writes_syllables(&self) -> bool {
        false
    }

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

    /// Returns how many letters of a stem stand at the beginning of each of its words, at least one;
    /// of a language with a code, whose stemmer may put more than one letter in the place of an ending.
    fn sure_letters(&self, stem: &str) -> usize {
        usually_sure(stem)
    }

    /// Returns what may stand before a stem in its words, in a language with a code.
    fn dropped_prefix(&self) -> Option<&'static str> {
        None
    }

    /// Returns how many letters words of one family share, of the stem where a word by itself tells
    /// the language: what begins alike is found as well, for a third of the weight. None where stems
    /// do without.
    ///
    /// A stemmer takes off endings of inflection; words are derived by many more, and compounds
    /// begin with a word (McNamee & Mayfield 2004, *Character N-Gram Tokenization*).
    fn prefix_letters(&self) -> Option<usize> {
        None
    }

    /// Returns the letters of a stem that its family shares, of which the first count: what stands
    /// between the consonants of a root does not, where words are formed by other vowels.
    fn root_letters<'w>(&self, stem: &'w str) -> Cow<'w, str> {
        Cow::Borrowed(stem)
    }

    /// Returns the characters of a script that is written without spaces between words: a run of
    /// them is indexed as its characters and pairs of characters.
    fn unspaced(&self) -> &'static [RangeInclusive<char>] {
        &[]
    }

    /// Returns characters of an unspaced script that make one cluster with the character before them,
    /// beside combining marks: vowels that are written behind their consonant.
    fn joins_previous(&self) -> &'static str {
        ""
    }

    /// Returns characters that make one cluster with the one behind them: vowels that are written
    /// before their consonant.
    fn joins_next(&self) -> &'static str {
        ""
    }

    /// Returns characters of an unspaced script whose runs are words: they are indexed as such,
    /// beside their characters and pairs, which then count less.
    fn word_characters(&self) -> &'static [RangeInclusive<char>] {
        &[]
    }

    /// Returns the personal pronouns of the singular: what a query says of whom it is about.
    fn pronouns(&self) -> Pronouns {
        Pronouns::default()
    }

    /// Returns how a query asks when, and the words by which a text tells it; of a language without
    /// them no query asks when.
    fn time_words(&self) -> TimeWords {
        TimeWords::default()
    }

    /// Says whether a line end may fall within a word of its unspaced script.
    fn runs_over_lines(&self) -> bool {
        false
    }
}

/// Returns how many letters of a stem its words share where only endings are taken off.
fn usually_sure(stem: &str) -> usize {
    stem.len().saturating_sub(2).clamp(1, 4)
}
