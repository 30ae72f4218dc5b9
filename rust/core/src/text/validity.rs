//! Validity of a statement: the mark at its end says until when it holds and who said it.
//!
//! ```text
//! - User lives in Lisbon <!-- 2026-11-02 -->
//! - ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-11-01 -->
//! ```
//! Profiles write it so (`memories/profile/marks.py`), and people may. A statement is one list item
//! or one paragraph: at the end of a longer text a mark is that of its last part.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::text::metadata::{lines, meta_comment};
use crate::text::time::civil_from_days;

/// Most letters of an author.
const MAX_AUTHOR: usize = 20;

/// A statement, and what its mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'t> {
    /// Its text without the mark, struck through or not.
    pub text: &'t str,
    /// The last day on which it holds, `2026-11-01`.
    pub until: Option<&'t str>,
    /// Who said it, if not the owner of the note.
    pub by: Option<&'t str>,
    /// Whether all of it is struck through.
    pub is_struck: bool,
}

impl<'t> Statement<'t> {
    /// Reads a text; `None` where it is no statement, or has neither a mark nor a strike.
    pub fn read(text: &'t str) -> Option<Self> {
        let bare = text.trim_end();
        if !bare.ends_with("-->") && !bare.ends_with("~~") || !is_one_block(bare) {
            return None;
        }
        let comment = bare.ends_with("-->").then(|| bare.rfind("<!--")).flatten();
        let mut read = Self { text: bare, until: None, by: None, is_struck: false };
        if let Some(at) = comment {
            read.text = bare[..at].trim_end();
            match meta_comment(&bare[at..]) {
                Some(comment) => {
                    for (key, value) in comment.fields() {
                        match key {
                            "until" if is_day(value) => read.until = Some(value),
                            "by" if value == "owner" => {}
                            "by" if is_author(value) => read.by = Some(value),
                            "since" | "seen" if is_day(value) => {}
                            _ => return None,
                        }
                    }
                }
                // the two may share hyphens, as in `<!-->`
                None if bare.get(at + 4..bare.len() - 3).is_some_and(|day| is_day(day.trim())) => {}
                None => return None,
            }
        }
        read.is_struck = struck(read.text).is_some();
        (read.is_struck || comment.is_some()).then_some(read)
    }

    /// Returns whether it no longer holds on a day.
    pub fn has_ended(&self, day: &str) -> bool {
        self.until.map_or(self.is_struck, |until| until < day)
    }

    /// Returns its text as it is read aloud: not struck through where a note says until when it held.
    pub fn shown(&self) -> Cow<'t, str> {
        match (self.until, struck(self.text)) {
            (Some(_), Some((before, inner))) => format!("{before}{inner}").into(),
            _ => self.text.into(),
        }
    }

    /// Returns what its mark says, to stand behind its text; empty where that is nothing.
    pub fn note(&self) -> String {
        let until = self.until.map(|day| format!("until {day}"));
        let by = self.by.map(|who| format!("said by {who}"));
        let parts: Vec<String> = until.into_iter().chain(by).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }
}

/// Returns today as `2026-11-01`, in UTC.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil_from_days((since.as_secs() / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns whether a text is a list item or a paragraph alone: no heading, no blank line, and no
/// other item at its margin.
fn is_one_block(text: &str) -> bool {
    !text.starts_with('#')
        && lines(text).skip(1).all(|line| {
            !line.trim().is_empty() && !["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        })
}

/// Returns what stands before a text that is struck through as a whole, and the text.
fn struck(text: &str) -> Option<(&str, &str)> {
    let mark = ["- ", "* ", "+ "].iter().find(|mark| text.starts_with(**mark));
    let (before, rest) = text.split_at(mark.map_or(0, |mark| mark.len()));
    let inner = rest.strip_prefix("~~")?.strip_suffix("~~")?;
    (!inner.trim().is_empty() && !inner.contains('~')).then_some((before, inner))
}

fn is_author(text: &str) -> bool {
    (1..=MAX_AUTHOR).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Statement, today};

    #[test]
    fn marks_of_statements() {
        for (text, shown, note, ended) in [
            (
                "- ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-11-01 -->\n",
                "- User lives in Berlin",
                " (until 2026-11-01)",
                true,
            ),
            (
                "- ~~我住在北京~~ <!-- META: until=2026-11-23 -->",
                "- 我住在北京",
                " (until 2026-11-23)",
                true,
            ),
            (
                "- On leave\n  <!-- META: until=2999-01-01 by=agent -->",
                "- On leave",
                " (until 2999-01-01, said by agent)",
                false,
            ),
            (
                "- On leave <!-- META: until=2026-01-01 -->",
                "- On leave",
                " (until 2026-01-01)",
                true,
            ),
            ("- Tea <!-- 2026-11-02 -->\n", "- Tea", "", false),
            // by hand, and without a day
            ("* ~~drinks coffee~~\n", "* ~~drinks coffee~~", "", true),
            ("~~不喝咖啡~~", "~~不喝咖啡~~", "", true),
        ] {
            let read = Statement::read(text).unwrap();
            assert_eq!((&*read.shown(), &*read.note()), (shown, note), "{text}");
            assert_eq!(read.has_ended("2026-12-01"), ended, "{text}");
        }
    }

    #[test]
    fn other_texts_have_none() {
        for text in [
            "",
            "- Tea",
            "# Tea\n\n- ~~a~~ <!-- META: until=2026-11-01 -->",
            "- a\n- ~~b~~ <!-- META: until=2026-11-01 -->",
            "A paragraph.\n\nAnother <!-- META: until=2026-11-01 -->",
            "- ~~a~~ and ~~b~~",
            "- Tea <!-- a comment -->",
            "- Tea <!-- META: keywords: a, b -->",
            "- Tea <!-- META: since=today until=2026-11-01 -->",
            "- Tea <!-- META: until=2026-11-01 by=Bob -->",
            &format!("- Tea <!-- META: until=2026-11-01 by={} -->", "a".repeat(21)),
            "~~~~",
            "An empty comment is <!-->",
            "Another is <!--->",
            "A third is <!---->",
        ] {
            assert_eq!(Statement::read(text), None, "{text}");
        }
    }

    #[test]
    fn today_is_a_day() {
        let today = today();
        assert!(super::is_day(&today) && *today > *"2026-01-01", "{today}");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[-~ <>!a中\\n#M:=]{0,40}") {
            if let Some(read) = Statement::read(&text) {
                prop_assert!(text.starts_with(read.text));
                prop_assert!(read.shown().len() <= text.len());
            }
        }
    }
}
