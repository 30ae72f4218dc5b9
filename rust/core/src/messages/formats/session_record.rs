//! Session record of a stored transcript (`"type":"session"`), gathered line by line.
//!
//! An import writes `{"type":"session","host":…,"id":…,"title":…}`, first and again when something
//! has changed; of each field the last value holds. What no such line says is taken from the
//! first lines, as the host wrote them.

use serde_json::Value;

use super::session_header::{printable, shortened, title_of_prompt};
use super::{LINE_FORMATS, Record, SessionHeader, lazy_message};
use crate::messages::fields::{Fields, trim};
use crate::messages::json::PullParser;
use crate::text::citation::parse_lines;

/// The first bytes of a record, which hold its type: most lines need not be read for that.
const TYPE_BYTES: usize = 64;
/// Lines that may say what no record says.
pub(crate) const DESCRIBED_LINES: u32 = 32;
/// Characters of any other field.
const MAX_FIELD: usize = 400;
/// Marks, in [`SessionRecord::to_text`], what no record said.
const DERIVED: &str = "derived";

/// What the lines of a transcript say about its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRecord {
    /// The fields.
    pub header: SessionHeader,
    /// Whether a record said so, and not the messages.
    pub is_written: bool,
}

impl SessionRecord {
    /// Reads what [`Self::to_text`] wrote; nothing is known of anything else.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let record: Value = serde_json::from_str(text).unwrap_or_default();
        let mut header = SessionHeader::default();
        header.take_record(&record);
        Self { header, is_written: record.is_object() && record[DERIVED].is_null() }
    }

    /// Writes it as one line without its end; empty where nothing is known.
    #[must_use]
    pub fn to_text(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let record = self.header.record();
        match self.is_written {
            true => record.trim_end().to_owned(),
            false => format!("{},\"{DERIVED}\":true}}", record.trim_end().trim_end_matches('}')),
        }
    }

    /// Takes a line of the transcript, in order, with its number from 1.
    pub(crate) fn take_line(&mut self, number: u32, line: &[u8]) {
        if let Some(record) = record_of(line, "session").filter(|record| record["host"].is_string())
        {
            self.is_written = true;
            self.header.take_record(&record);
        } else if number <= DESCRIBED_LINES && (!self.is_written || self.header.title.is_none()) {
            self.describe(line);
        } else {
            return;
        }
        self.shorten();
    }

    /// Takes what later lines of the transcript say, as they were read by themselves.
    pub(crate) fn take_later(&mut self, later: &Self) {
        if later.is_written {
            self.is_written = true;
            self.header.take_record(&serde_json::from_str(&later.to_text()).unwrap_or_default());
        }
    }

    /// Takes what a host's own line says.
    fn describe(&mut self, line: &[u8]) -> Option<()> {
        let text = trim(line);
        let fields = Fields::read(&mut PullParser::new(text), true)?;
        let record = Record { text, fields: Some(fields) };
        let format = LINE_FORMATS.iter().find(|format| format.detect(&record))?;
        let header = &mut self.header;
        header.note(record.fields()?);
        format.describe(&record, header);
        // a title may wait for a message that is read much later
        header.leaf_titles.clear();
        let fields = record.fields.filter(|fields| format.is_message(fields))?;
        let message = lazy_message(*format, fields);
        if header.host.is_empty() {
            format.name().clone_into(&mut header.host);
        }
        header.started = header.started.take().or_else(|| message.written_time());
        header.id = header.id.take().or_else(|| message.session());
        if header.title.is_none() && matches!(&*message.role(), "user" | "human") {
            header.title = title_of_prompt(&message.text(header.parent.is_some()));
        }
        Some(())
    }

    /// Keeps of each field what can be shown: the record of a session is in the index.
    fn shorten(&mut self) {
        let SessionHeader { host, id, parent, cwd, git_branch, model, title, started, .. } =
            &mut self.header;
        for field in [id, parent, cwd, git_branch, model, title, started].into_iter().flatten() {
            cut(field);
        }
        cut(host);
    }
}

/// Cuts a text to [`MAX_FIELD`] characters, on one line.
fn cut(text: &mut String) {
    let folded = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    *text = shortened(&folded, MAX_FIELD);
}

/// Returns how many messages of another transcript a line stands for.
pub(crate) fn copies_of(line: &[u8]) -> u32 {
    let count = record_of(line, "copy").and_then(|record| record["count"].as_u64());
    count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the transcript and the first and last of its lines that a line stands for.
pub(crate) fn copied_lines(line: &[u8]) -> Option<(String, u64, u64)> {
    let record = record_of(line, "copy")?;
    let (path, first, last) = parse_lines(record["of"].as_str()?)?;
    Some((path.to_owned(), first, last))
}

/// Reads a line that is a record of a type of ours.
fn record_of(line: &[u8], kind: &str) -> Option<Value> {
    let line = trim(line);
    memchr::memmem::find(&line[..line.len().min(TYPE_BYTES)], kind.as_bytes())?;
    let record: Value = serde_json::from_slice(line).ok()?;
    (record["type"].as_str() == Some(kind) && record["role"].is_null()).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> SessionRecord {
        let mut record = SessionRecord::default();
        for (number, line) in (1..).zip(lines) {
            record.take_line(number, line.as_bytes());
        }
        record
    }

    fn titled(lines: &[&str]) -> (String, String, String) {
        let SessionHeader { host, id, title, .. } = read(lines).header;
        (host, id.unwrap_or_default(), title.unwrap_or_default())
    }

    fn words(host: &str, id: &str, title: &str) -> (String, String, String) {
        (host.to_owned(), id.to_owned(), title.to_owned())
    }

    #[test]
    fn the_last_value_of_each_field_holds() {
        let lines = [
            r#"{"type":"session","host":"codex","id":"a1","title":"First","cwd":"/tea"}"#,
            r#"{"role":"user","content":"Green or black?","session":"a1"}"#,
            r#"{"type":"session","host":"codex","title":"Second\n\u0007 title"}"#,
            r#"{"role":"user","type":"session","host":"no","content":"x"}"#,
        ];
        assert_eq!(titled(&lines), words("codex", "a1", "Second title"));
        assert_eq!(read(&lines).header.cwd.as_deref(), Some("/tea"));
    }

    #[test]
    fn without_a_record_the_first_lines_describe_it() {
        let plain = [r#"{"role":"user","content":"\n Green or black?\nSay it.","session":"s"}"#];
        assert_eq!(titled(&plain), words("plain", "s", "Green or black?"));
        let host = [
            r#"{"type":"user","sessionId":"c1","cwd":"/tea","gitBranch":"main","message":{"role":"user","content":"Hi"}}"#,
            r#"{"type":"ai-title","sessionId":"c1","aiTitle":"Tea shop"}"#,
        ];
        assert_eq!(titled(&host), words("claude-code", "c1", "Tea shop"));
        assert_eq!(read(&host).header.git_branch.as_deref(), Some("main"));
        // a record says it better than the lines before it, and they say what it does not
        let both = [plain[0], r#"{"type":"session","host":"codex","id":"t"}"#];
        assert_eq!(titled(&both), words("codex", "t", "Green or black?"));
        assert_eq!(titled(&[both[1], plain[0]]), words("codex", "t", "Green or black?"));
    }

    #[test]
    fn copies_are_counted() {
        for (line, count) in [
            (r#"{"type":"copy","of":"sessions/a/messages.jsonl#L2-L4","count":3}"#, 3),
            (r#"{"type":"copy","count":99999999999}"#, u32::MAX),
            (r#"{"type":"copy","count":-1}"#, 0),
            (r#"{"type":"copy","role":"user","count":3}"#, 0),
            (r#"{"type":"copy","count":3"#, 0),
        ] {
            assert_eq!(copies_of(line.as_bytes()), count, "{line}");
        }
        for (of, lines) in [
            ("a/messages.jsonl#L2-L4", Some(("a/messages.jsonl".to_owned(), 2, 4))),
            ("a#L/messages.jsonl#L7", Some(("a#L/messages.jsonl".to_owned(), 7, 7))),
            ("a/messages.jsonl#L4-L2", None),
            ("a/messages.jsonl", None),
        ] {
            let line = serde_json::json!({ "type": "copy", "of": of, "count": 3 }).to_string();
            assert_eq!(copied_lines(line.as_bytes()), lines, "{of}");
        }
    }

    proptest! {
        #[test]
        fn reading_on_is_reading_all(
            kinds in prop::collection::vec(0..6usize, 0..50),
            stops in prop::collection::vec(0..50usize, 0..4),
        ) {
            let kept = [
                r#"{"role":"user","content":"tea","session":"s","timestamp":"2026-01-01"}"#,
                r#"{"type":"session","host":"codex","id":"a","title":"T  1"}"#,
                r#"{"type":"session","host":"","cwd":"/x\u0000y"}"#,
                r#"{"type":"ai-title","sessionId":"c1","aiTitle":"Tea"}"#,
                r#"{"type":"summary","summary":"Old","leafUuid":"u1"}"#,
                r#"{"type":"user","uuid":"u1","sessionId":"c1","cwd":"/t","message":{"role":"user","content":"Hi"}}"#,
            ];
            let lines: Vec<&str> = kinds.into_iter().map(|kind| kept[kind]).collect();
            let mut record = SessionRecord::default();
            for (at, line) in lines.iter().enumerate() {
                if stops.contains(&at) {
                    record = SessionRecord::parse(&record.to_text());
                }
                record.take_line(at as u32 + 1, line.as_bytes());
            }
            prop_assert_eq!(record, read(&lines));
        }
    }
}
