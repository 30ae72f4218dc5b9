//! Tells from a few bytes around a place whether it can be in something that was said.
//!
//! Most places that hold a frequent word are in tool output; taking their whole
//! line apart to learn that would cost more than all the rest of a search.

use crate::messages::quotes::{self, Stop};

/// Whether the string around `at` may be one that [`super::Outline::each_said`] visits.
///
/// Otherwise gives the first place behind that string, so that one look serves for all places
/// in it. `line` begins with one line of a transcript; nothing before `from` is looked at.
pub(crate) fn beyond_unsaid(line: &[u8], from: usize, at: usize) -> Option<usize> {
    let opening = quotes::last(line, from, at)?;
    if may_open_said(&line[..opening]) {
        return None;
    }
    let end = quotes::next(line, at, Stop::QuoteOrLineEnd)?;
    (line[end] == b'"').then_some(end + 1)
}

/// Whether a string that begins behind `before` is under a key that said strings have.
fn may_open_said(before: &[u8]) -> bool {
    let Some((key, before)) = key_behind(before) else {
        return false;
    };
    match key {
        b"text" | b"refusal" => true,
        b"content" => !is_tool_result(before),
        // An escape may spell any key.
        _ => key.contains(&b'\\'),
    }
}

/// Whether an object's fields so far, read backwards, show a tool's answer.
fn is_tool_result(mut before: &[u8]) -> bool {
    for _ in 0..3 {
        let Some(rest) = trim_end(before).strip_suffix(b",") else {
            return false;
        };
        // Only a string value is easy to read backwards.
        let Some((_, rest)) = string_behind(rest) else {
            return false;
        };
        let Some((key, rest)) = key_behind(rest) else {
            return false;
        };
        if key == b"tool_use_id" {
            return true;
        }
        before = rest;
    }
    false
}

/// The key whose value begins behind `before`, and what is before the key.
fn key_behind(before: &[u8]) -> Option<(&[u8], &[u8])> {
    string_behind(trim_end(before).strip_suffix(b":")?)
}

/// The body of the string at the end of `before`, and what is before the string.
fn string_behind(before: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = trim_end(before).strip_suffix(b"\"")?;
    let opening = quotes::last(body, 0, body.len())?;
    Some((&body[opening + 1..], &body[..opening]))
}

fn trim_end(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_that_may_be_said_are_kept() {
        for (line, said) in [
            (r#"{"role":"user","content":"x \" NEEDLE"}"#, true),
            (r#"{"role":"user","content" : "\\NEEDLE"}"#, true),
            (r#"[{"type":"text","text":"NEEDLE"}]"#, true),
            (r#"{"con\u0074ent":"NEEDLE"}"#, true),
            (r#"{"tool_use_id":"a","type":"tool_result","content":"NEEDLE"}"#, false),
            (r#"{"type":"tool_result","tool_use_id":"a\"b","content":"\"text\":NEEDLE"}"#, false),
            (r#"{"stdout":"\"text\":\"NEEDLE"}"#, false),
            (r#"{"lines":["a","NEEDLE"]}"#, false),
            (r#"{"NEEDLE":"text"}"#, false),
            (r#"{"a":NEEDLE,"text":"b"}"#, false),
        ] {
            let at = line.find("NEEDLE").unwrap();
            assert_eq!(beyond_unsaid(line.as_bytes(), 0, at).is_none(), said, "{line}");
        }
    }
}
