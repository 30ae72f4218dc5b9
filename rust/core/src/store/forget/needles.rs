//! Needles: texts that are looked for in files of any form, also where JSON has escaped them.

use std::borrow::Cow;

use regex_automata::Input;
use regex_automata::meta::{self, Regex};

use crate::error::{Error, Result};
use crate::messages::json_string::decode;
use crate::store::forget::tombstones::MIN_TEXT;

/// Characters by which a text is known; where those are, the rest is.
const MAX_CHARS: usize = 400;
/// Texts of one automaton, about how many bytes of pattern these have, and the bytes that it may
/// take: several small ones are faster than one whose states do not fit its cache.
const CHUNK: usize = 128;
const CHUNK_CHARS: usize = 2000;
const MAX_AUTOMATON: usize = 1 << 20;
/// Bytes of the automaton of one text, with which it is found in any case.
const MAX_SINGLE: usize = 16 << 20;
/// How often a text may be escaped: JSON in a string of JSON is, twice.
const MAX_ESCAPED: usize = 4;

/// What stands around a text that has its line for itself: marks of Markdown, strings of JSON.
const LINE_START: &str = r#"(?:^|[\n\r"])[\s*+#>|-]*"#;
const LINE_END: &str = r#"\s*(?:$|[\n\r"|\\]|<!--)"#;

/// A text to look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Needle {
    pub text: String,
    pub ignore_case: bool,
    /// Whether it counts only where nothing else stands on its line.
    pub is_line: bool,
}

impl Needle {
    /// A text that a caller typed: without a capital in it, case does not matter (smart case).
    pub fn typed(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ignore_case: !text.chars().any(char::is_uppercase),
            is_line: false,
        }
    }

    /// A text that was read from a file.
    pub fn exact(text: &str) -> Self {
        Self { text: text.to_owned(), ignore_case: false, is_line: false }
    }

    /// A line that was read from a file. A short one is part of many that say something else.
    pub fn line(text: &str) -> Self {
        Self { is_line: text.len() < MIN_TEXT, ..Self::exact(text) }
    }

    /// The pattern: white space of any kind and length is as good as any other, since lines are
    /// wrapped.
    fn pattern(&self) -> Option<String> {
        let known: String = self.text.chars().take(MAX_CHARS).collect();
        let words: Vec<String> = known.split_whitespace().map(regex_syntax::escape).collect();
        let flag = if self.ignore_case { "i" } else { "-i" };
        let (before, after) = if self.is_line { (LINE_START, LINE_END) } else { ("", "") };
        (!words.is_empty()).then(|| format!("(?{flag}:{before}{}{after})", words.join(r"\s+")))
    }
}

/// Needles, compiled.
#[derive(Debug, Default)]
pub(super) struct Needles {
    regexes: Vec<Regex>,
}

impl Needles {
    /// # Errors
    /// [`Error::Query`] for a text that cannot be looked for.
    pub fn new<'n>(needles: impl IntoIterator<Item = &'n Needle>) -> Result<Self> {
        let mut patterns: Vec<String> = needles.into_iter().filter_map(Needle::pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        let mut regexes = Vec::new();
        let mut rest = &*patterns;
        while !rest.is_empty() {
            let (mut count, mut length) = (0, 0);
            while count < rest.len().min(CHUNK) && (count == 0 || length < CHUNK_CHARS) {
                length += rest[count].len();
                count += 1;
            }
            let (chunk, after) = rest.split_at(count);
            compile(chunk, &mut regexes)?;
            rest = after;
        }
        Ok(Self { regexes })
    }

    pub fn is_empty(&self) -> bool {
        self.regexes.is_empty()
    }

    /// Returns whether bytes hold one of the texts, as they are or with escapes of JSON decoded.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut text = String::from_utf8_lossy(bytes);
        for _ in 0..MAX_ESCAPED {
            if self.regexes.iter().any(|regex| regex.is_match(&*text)) {
                return true;
            }
            if !text.contains('\\') {
                return false;
            }
            text = Cow::Owned(decode(text.as_bytes()).into_owned());
        }
        false
    }

    /// Returns where the texts are, unescaped.
    pub fn spans(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let found = |regex: &Regex| -> Vec<_> {
            // the ends of the lines around a line are not of it
            let trimmed = |range: std::ops::Range<usize>| {
                let rest = text[range.clone()].trim_start();
                let start = range.end - rest.len();
                start..start + rest.trim_end().len()
            };
            regex.find_iter(Input::new(text)).map(|found| trimmed(found.range())).collect()
        };
        self.regexes.iter().flat_map(found).collect()
    }
}

/// Compiles patterns to as many automata as they need.
fn compile(patterns: &[String], regexes: &mut Vec<Regex>) -> Result<()> {
    let max = if patterns.len() > 1 { MAX_AUTOMATON } else { MAX_SINGLE };
    let config = meta::Config::new().nfa_size_limit(Some(max));
    match meta::Builder::new().configure(config).build_many(patterns) {
        Ok(regex) => regexes.push(regex),
        Err(error) if error.size_limit().is_some() && patterns.len() > 1 => {
            let (first, second) = patterns.split_at(patterns.len() / 2);
            compile(first, regexes)?;
            compile(second, regexes)?;
        }
        Err(error) => {
            return Err(Error::Query {
                query: patterns[0].chars().take(80).collect(),
                code: "regex",
                why: error.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_any_form() {
        let needles =
            Needles::new(&[Needle::typed("café in lisbon"), Needle::exact("Rex")]).unwrap();
        for text in [
            "the café in Lisbon.",
            "café\n  in\tLisbon",
            r#"{"content":"caf\u00e9 in Lisbon"}"#,
            r#"{"content":"caf\u00E9\nin Lisbon"}"#,
            r#"{"arguments":"{\"text\":\"caf\\u00e9 in Lisbon\"}"}"#,
            "T-Rex",
        ] {
            assert!(needles.are_in(text.as_bytes()), "{text}");
        }
        for text in ["café on Lisbon", "rex", "caf\\\\u00e9", "", "\\"] {
            assert!(!needles.are_in(text.as_bytes()), "{text}");
        }
        assert!(!Needles::new(&[Needle::exact(" ")]).unwrap().are_in(b"a b"));
    }

    #[test]
    fn a_short_line_is_not_found_within_another() {
        let needles = Needles::new(&[Needle::line("note")]).unwrap();
        for text in [
            "note",
            "a\n  - note \nb",
            "## note\r\n",
            "> note <!-- x -->",
            "| note |",
            r#"{"content":"note"}"#,
            r#"{"content":"a\nnote\nb"}"#,
            r#"{"arguments":"{\"text\":\"note\"}"}"#,
        ] {
            assert!(needles.are_in(text.as_bytes()), "{text}");
        }
        for text in ["footnote", "- a note", "note on Rome", r#"{"content":"a note"}"#, "notes"] {
            assert!(!needles.are_in(text.as_bytes()), "{text}");
        }
        let long = Needles::new(&[Needle::line("a line of its own")]).unwrap();
        assert!(long.are_in(b"this is a line of its own."));
    }

    #[test]
    fn many_long_texts_are_looked_for_at_once() {
        let text = |number: usize| format!("n{number} {}", "a b c d e f g h ".repeat(30));
        let all: Vec<Needle> = (0..16).map(|number| Needle::exact(&text(number))).collect();
        let needles = Needles::new(&all).unwrap();
        assert!(needles.regexes.len() > 1);
        assert!((0..16).all(|number| needles.are_in(text(number).as_bytes())));
        assert!(!needles.are_in(text(16).as_bytes()));
    }
}
