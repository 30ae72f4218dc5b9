//! Words of time of all languages: how queries ask when, and how texts tell it.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use rustc_hash::FxHashSet;

use crate::text::ascii::alphanumeric_runs;

/// What a language says about time, in lower case.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeWords {
    /// Phrases by which a query asks when, how long or how often, one a line; words with spaces between
    /// them.
    pub questions: &'static str,
    /// Words that tell a time, between spaces or line ends, in each of their forms.
    pub words: &'static str,
}

/// The words of time of several languages.
pub(super) struct TimeTable {
    /// Each phrase between spaces; none where no language has any.
    questions: Option<AhoCorasick>,
    /// Words of ASCII letters and digits.
    words: WordSet,
    /// All other words; none where no language has any.
    others: Option<AhoCorasick>,
}

impl TimeTable {
    /// Makes the table of some languages.
    pub fn of(languages: impl Iterator<Item = TimeWords>) -> Self {
        let all: Vec<TimeWords> = languages.collect();
        let phrases = all.iter().flat_map(|one| one.questions.lines());
        let phrases: Vec<String> = phrases.map(|phrase| format!(" {phrase} ")).collect();
        // all phrases in one pass: each query is asked, and to look for one after the other takes
        // longer than to look up its words
        let questions = AhoCorasick::new(&phrases).ok().filter(|_| !phrases.is_empty());
        let (mut words, mut others) = (WordSet::default(), Vec::new());
        for word in all.iter().flat_map(|one| one.words.split_whitespace()) {
            if !words.insert(word.as_bytes()) {
                others.push(word);
            }
        }
        Self { questions, words, others: automaton(&others) }
    }

    /// Says whether a text in lower case, with each word between spaces, asks when.
    pub fn asks_when(&self, words: &str) -> bool {
        self.questions.as_ref().is_some_and(|questions| questions.is_match(words))
    }

    /// Says whether a text has a word of time, a year or a time of day.
    pub fn tells_time(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let tells = |(start, run): (usize, &[u8])| match run[0].is_ascii_digit() {
            true => is_number_of_time(bytes, start),
            false => self.words.contains(run),
        };
        alphanumeric_runs(text).any(tells)
            || self.others.as_ref().is_some_and(|others| has_word(bytes, others))
    }
}

/// Returns what finds some words, however they are spelled; none for no words.
fn automaton(words: &[&str]) -> Option<AhoCorasick> {
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words);
    automaton.ok().filter(|_| !words.is_empty())
}

/// Says whether one of the words is in a text, with no ASCII letter or digit beside it.
fn has_word(text: &[u8], words: &AhoCorasick) -> bool {
    let ends = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_none_or(|byte| !byte.is_ascii_alphanumeric())
    };
    let mut found = words.find_iter(text);
    found.any(|word| ends(word.start().checked_sub(1)) && ends(Some(word.end())))
}

/// Short words of ASCII letters and digits, which are looked up in lower case: an automaton takes
/// several times as long, as it goes through each byte.
#[derive(Debug, Default)]
struct WordSet {
    words: FxHashSet<[u8; Self::LONGEST]>,
    /// For the lower five bits of a first letter, one bit for those of each second one: most words of
    /// a text need not be looked up.
    second_letters: [u32; 32],
}

impl WordSet {
    /// The longest word, in bytes.
    const LONGEST: usize = 16;

    fn key(word: &[u8]) -> Option<[u8; Self::LONGEST]> {
        let mut key = [0; Self::LONGEST];
        key.get_mut(..word.len())?.copy_from_slice(word);
        key.make_ascii_lowercase();
        Some(key)
    }

    /// Adds a word; returns false for one that it cannot hold.
    fn insert(&mut self, word: &[u8]) -> bool {
        let (&[first, second, ..], Some(key)) = (word, Self::key(word)) else { return false };
        if !word.iter().all(u8::is_ascii_alphanumeric) || first.is_ascii_digit() {
            return false;
        }
        self.second_letters[usize::from(first & 31)] |= 1 << (second & 31);
        self.words.insert(key);
        true
    }

    #[inline]
    fn contains(&self, word: &[u8]) -> bool {
        let &[first, second, ..] = word else { return false };
        self.second_letters[usize::from(first & 31)] >> (second & 31) & 1 == 1
            && Self::key(word).is_some_and(|key| self.words.contains(&key))
    }
}

/// Says whether a word that begins at a digit is a year from 1800 to 2099, or begins with a time of day
/// such as 9:30. Colons are parts of such words.
fn is_number_of_time(text: &[u8], start: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b':';
    if start.checked_sub(1).is_some_and(|before| is_part(&text[before])) {
        return false;
    }
    // no more bytes than these are needed
    let rest = text[start..].iter().take(5);
    let length = rest.take_while(|byte| is_part(byte)).count();
    match &text[start..start + length] {
        [b'1', b'8' | b'9', decade, year] | [b'2', b'0', decade, year] => {
            decade.is_ascii_digit() && year.is_ascii_digit()
        }
        [hour, b':', tens, ones, ..] | [_, hour, b':', tens, ones, ..] => {
            [hour, tens, ones].iter().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::language::tells_time;

    #[test]
    fn a_time_is_told_by_words_and_numbers() {
        for (text, told) in [
            ("We met yesterday.", true),
            ("SUNDAYS are free", true),
            ("in 2023", true),
            ("at 9:30am", true),
            ("from 12:05:00 on", true),
            ("everyday things", false),
            ("a Mondayish mood, daylight", false),
            ("20233 of them, 1799 more", false),
            ("a ratio of 9:3, C:20", false),
            ("", false),
        ] {
            assert_eq!(tells_time(text), told, "{text:?}");
        }
    }

    /// Words between spaces and other marks, one pass for words and one for numbers.
    fn plainly_told(words: &[&str], text: &str) -> bool {
        let is_part = |c: &u8| c.is_ascii_alphanumeric();
        let bytes = text.as_bytes();
        let has = |word: &[u8]| words.iter().any(|known| known.as_bytes() == word);
        let mut pieces = bytes.split(|byte| !is_part(byte)).map(<[u8]>::to_ascii_lowercase);
        let mut numbers = bytes.split(|byte| !is_part(byte) && *byte != b':');
        pieces.any(|piece| has(&piece))
            || text.match_indices("昨天").any(|(at, word)| {
                let beside = [at.checked_sub(1), Some(at + word.len())].into_iter().flatten();
                !beside.filter_map(|at| bytes.get(at)).any(is_part)
            })
            || numbers.any(|number| {
                let digits = |range: std::ops::Range<usize>| {
                    number.get(range).is_some_and(|some| some.iter().all(u8::is_ascii_digit))
                };
                let is_year = [&b"18"[..], b"19", b"20"].iter().any(|c| number.starts_with(c));
                number.len() == 4 && is_year && digits(2..4)
                    || (1..3).any(|at| {
                        digits(0..at) && number.get(at) == Some(&b':') && digits(at + 1..at + 3)
                    })
            })
    }

    proptest! {
        #[test]
        fn what_a_plain_search_finds_is_found(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "day", "Days", "to", "today", "ago", "x", "9", "30", "20", "23", "18", ":", " ", "_", "-",
                    "é", "昨", "昨天", "a", "1999", "everyday", "septemberseptember", "M", "\n", "\0",
                ]),
                0..12,
            ),
        ) {
            let words = "ago day days today septemberseptember 昨天";
            let table = TimeTable::of(std::iter::once(TimeWords { questions: "", words }));
            let words: Vec<&str> = words.split(' ').collect();
            let text = parts.concat();
            prop_assert_eq!(table.tells_time(&text), plainly_told(&words, &text), "{}", text);
        }
    }
}
