//! What a line of a transcript says, apart from what only places it: roles, ids, times, folders.
//!
//! A text that is to be forgotten is looked for in what was said and in all that may repeat it, also
//! in fields that no format gives a meaning; but "assistant" or a part of an id is no text of a
//! message.

use crate::files::file_kind::FileKind;
use crate::messages::fields::{string_body, trim, unescaped};
use crate::messages::json::PullParser;
use crate::messages::message::{ParsedLine, parse_lazy};
use crate::store::forget::erased_line::is_forgotten_record;
use crate::store::forget::needles::Needles;

/// Keys of an envelope, of a message and of its blocks whose texts and numbers say nothing.
const METADATA: [&[u8]; 32] = [
    b"type",
    b"role",
    b"timestamp",
    b"time",
    b"created_at",
    b"ts",
    b"session",
    b"sessionId",
    b"session_id",
    b"conversation_id",
    b"uuid",
    b"id",
    b"parentUuid",
    b"parentId",
    b"parent_id",
    b"cwd",
    b"gitBranch",
    b"model",
    b"format",
    b"host",
    b"started",
    b"version",
    b"userType",
    b"requestId",
    b"request_id",
    b"tool_call_id",
    b"toolCallId",
    b"tool_use_id",
    b"toolUseID",
    b"call_id",
    b"stop_reason",
    b"signature",
];
/// Keys below which messages and blocks lie, with metadata of their own.
const ENVELOPES: [&[u8]; 3] = [b"message", b"payload", b"content"];

/// Returns whether what a line says contains one of the texts; what is no JSON says all that it is.
pub(super) fn line_contains(line: &[u8], needles: &Needles) -> bool {
    if !needles.are_in(line) {
        return false;
    }
    match parse_lazy(line) {
        ParsedLine::Blank => false,
        ParsedLine::Bad => true,
        ParsedLine::Other if is_forgotten_record(line) => false,
        ParsedLine::Other => values_contain(trim(line), needles),
        // as a grep sees it, with the names of tools
        ParsedLine::Message(message) => {
            needles.are_in(message.text(true).as_bytes()) || values_contain(trim(line), needles)
        }
    }
}

/// Returns whether a file of this path and these bytes contains one of the texts.
pub(super) fn file_contains(path: &str, bytes: &[u8], needles: &Needles) -> bool {
    let in_lines = || bytes.split(|&byte| byte == b'\n').any(|line| line_contains(line, needles));
    needles.are_in(bytes) && (FileKind::of(path) != FileKind::Transcript || in_lines())
}

/// Returns whether a value holds one of the texts outside of metadata.
fn values_contain(value: &[u8], needles: &Needles) -> bool {
    // a stack of our own: the depth is the input's
    let mut todo = vec![(value, true)];
    let mut contains_key = false;
    while let Some((value, is_envelope)) = todo.pop() {
        let mut parser = PullParser::new(value);
        match value.first() {
            Some(b'{') => drop(parser.object(|key, parser| {
                let (key, value) = (unescaped(key), parser.skip()?);
                let is_deep = matches!(value.first(), Some(b'{' | b'['));
                // of a tool's input and answer the keys are said too
                contains_key |= !is_envelope && needles.are_in(&key);
                if is_deep || !(is_envelope && METADATA.contains(&&*key)) {
                    todo.push((value, is_envelope && ENVELOPES.contains(&&*key)));
                }
                Some(())
            })),
            Some(b'[') => drop(parser.array(|parser| {
                todo.push((parser.skip()?, is_envelope));
                Some(())
            })),
            _ if needles.are_in(string_body(value).unwrap_or(value)) => return true,
            _ => {}
        }
        if contains_key {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::forget::needles::Needle;

    #[test]
    fn metadata_is_not_said() {
        let says = |line: &str, text: &str| {
            line_contains(line.as_bytes(), &Needles::new(&[Needle::typed(text)]).unwrap())
        };
        let line =
            r#"{"type":"assistant","uuid":"4bbb","cwd":"/rex","timestamp":"2026-02-01T05:17",
            "message":{"role":"assistant","id":"m4bbb","content":[{"type":"text","text":"h\u00e9"},
            {"type":"tool_use","id":"t4bbb","name":"Bash","input":{"id":"x4ccc","n":12345}}]},
            "toolUseResult":{"type":"all of it"}}"#
                .replace('\n', "");
        for text in ["assistant", "4bbb", "05:17", "/rex", "content", "tool_use", "text"] {
            assert!(!says(&line, text), "{text}");
        }
        for text in ["hé", "bash", "x4ccc", "12345", "all of it"] {
            assert!(says(&line, text), "{text}");
        }
        for line in [
            r#"{"role":"assistant","content":[{"type":"tool_use","input":{"people":{"Rex":1}}}]}"#,
            r#"{"type":"user","message":{"content":[]},"toolUseResult":{"answers":{"Is Rex ill?":"no"}}}"#,
            r#"{"role":"user","name":"Rex","content":"hi"}"#,
            r#"{"speaker":"Rex","text":"hi"}"#,
            r#"{"name":"Anna Rex","phone":"1"}"#,
            r#"{"type":"note","date":"Rex"}"#,
            r#"{"role":"user","id":{"of":"Rex"},"content":"hi"}"#,
            r#"{"role":"user","content":{"name":"Rex"}}"#,
        ] {
            assert!(says(line, "rex"), "{line}");
        }
        assert!(says("{\"role\":\"assis", "assis"), "a torn line");
        assert!(!says(r#"{"type":"forgotten","line":"4bbb"}"#, "4bbb"));
        assert!(says(r#"{"type":"summary","summary":"a summary"}"#, "summary"));
        assert!(!says(r#"{"type":"summary","leafUuid":"a"}"#, "summary"));
    }
}
