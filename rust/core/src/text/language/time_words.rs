//! Words of time of all languages: how queries ask when, and how texts tell it.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

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
    /// None where no language has any.
    words: Option<AhoCorasick>,
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
        let words: Vec<&str> = all.iter().flat_map(|one| one.words.split_whitespace()).collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words);
        Self { questions, words: automaton.ok().filter(|_| !words.is_empty()) }
    }

    /// Says whether a text in lower case, with each word between spaces, asks when.
    pub fn asks_when(&self, words: &str) -> bool {
        self.questions.as_ref().is_some_and(|questions| questions.is_match(words))
    }

    /// Says whether a text has a word of time, a year or a time of day.
    pub fn tells_time(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let ends = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at)).is_none_or(|byte| !byte.is_ascii_alphanumeric())
        };
        let mut found = self.words.iter().flat_map(|words| words.find_iter(bytes));
        found.any(|word| ends(word.start().checked_sub(1)) && ends(Some(word.end())))
            || bytes
                .split(|&byte| !byte.is_ascii_alphanumeric() && byte != b':')
                .any(is_number_of_time)
    }
}

/// Says whether a word is a year from 1800 to 2099, or begins with a time of day such as 9:30.
fn is_number_of_time(word: &[u8]) -> bool {
    match word {
        [b'1', b'8' | b'9', decade, year] | [b'2', b'0', decade, year] => {
            decade.is_ascii_digit() && year.is_ascii_digit()
        }
        [hour, b':', tens, ones, ..] | [_, hour, b':', tens, ones, ..] => {
            word[0].is_ascii_digit() && [hour, tens, ones].iter().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
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
}
