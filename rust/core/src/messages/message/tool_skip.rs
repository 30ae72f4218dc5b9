//! Skip of tool output: a few bytes tell whether a match may be in conversation text.
//!
//! Most places that hold a frequent word are in tool output; taking their whole
//! line apart to learn that would cost more than all the rest of a search.

use crate::messages::quote_scan::{self, StopAt};

/// Whether the string around `at` may be one that [`crate::messages::lazy_message::LazyMessage::each_conversation_string`] visits.
///
/// Otherwise gives the first place behind that string, so that one look serves for all places
/// in it. `line` begins with one line of a transcript; nothing before `from` is looked at.
pub(crate) fn skip_tool_string(line: &[u8], from: usize, at: usize) -> Option<usize> {
    let opening = quote_scan::last(line, from, at)?;
    if may_be_conversation_text(&line[..opening]) {
        return None;
    }
    let end = quote_scan::next(line, at, StopAt::QuoteOrLineEnd)?;
    (line[end] == b'"').then_some(end + 1)
}

/// The most fields of an object that are read backwards.
const MOST_FIELDS: usize = 8;

/// Whether a string that begins behind `before` may be conversation text, by its key and object.
///
/// Most of what has the right key is what a tool read: `{"file":{"filePath":…,"content":…}}`.
fn may_be_conversation_text(before: &[u8]) -> bool {
    let Some((key, mut before)) = key_behind(before) else {
        return false;
    };
    let is_content = match key {
        b"text" | b"refusal" => false,
        b"content" => true,
        // An escape may spell any key.
        _ => return key.contains(&b'\\'),
    };
    for _ in 0..MOST_FIELDS {
        before = trim_end(before);
        if let Some(outside) = before.strip_suffix(b"{") {
            return if is_content { may_be_message_body(outside) } else { !is_value(outside) };
        }
        let Some((key, rest)) = before.strip_suffix(b",").and_then(field_behind) else {
            return true;
        };
        // A tool's answer.
        if is_content && key == b"tool_use_id" {
            return false;
        }
        before = rest;
    }
    true
}

/// Whether an object that begins behind `outside` may be one whose `content` is conversation text: that of the
/// whole line, or the `message` in it.
fn may_be_message_body(outside: &[u8]) -> bool {
    match key_behind(outside) {
        Some((key, _)) => matches!(key, b"message" | b"payload") || key.contains(&b'\\'),
        // Elements of lists are blocks, of which only `text` counts.
        None => !matches!(trim_end(outside).last(), Some(b'[' | b',')),
    }
}

/// Whether what begins behind `outside` is the value of a field, and so no block of a list.
fn is_value(outside: &[u8]) -> bool {
    trim_end(outside).ends_with(b":")
}

/// The key of the field at the end of `before`, and what is before it, where its value is easy to
/// read backwards: a string, a number, a word or an empty list.
fn field_behind(before: &[u8]) -> Option<(&[u8], &[u8])> {
    let before = trim_end(before);
    if before.ends_with(b"\"") {
        return key_behind(string_behind(before)?.1);
    }
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let word = || before.iter().rposition(|byte| !in_word(byte)).map_or(0, |last| last + 1);
    key_behind(before.strip_suffix(b"[]").unwrap_or_else(|| &before[..word()]))
}

/// The key whose value begins behind `before`, and what is before the key.
fn key_behind(before: &[u8]) -> Option<(&[u8], &[u8])> {
    string_behind(trim_end(before).strip_suffix(b":")?)
}

/// The body of the string at the end of `before`, and what is before the string.
fn string_behind(before: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = trim_end(before).strip_suffix(b"\"")?;
    let opening = quote_scan::last(body, 0, body.len())?;
    Some((&body[opening + 1..], &body[..opening]))
}

fn trim_end(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::message::{ParsedLine, parse_lazy};
    use proptest::prelude::*;

    /// An object with the keys that matter, in any order and at any depth.
    fn any_line() -> impl Strategy<Value = String> {
        let keys =
            r#"content content text message payload tool_use_id type role file a\" con\u0074ent"#;
        let leaves =
            r#""x\"NEEDLE" "NEEDLE\\" "NEEDLE" "user" "text" "\"text\":" null true -1.5e3 []"#;
        let one_of =
            |words: &'static str| prop::sample::select(words.split(' ').collect::<Vec<_>>());
        let object = move |value: BoxedStrategy<String>| {
            let field = (one_of(keys), value, prop::sample::select(vec![":", " : "]));
            let field = field.prop_map(|(key, value, colon)| format!("\"{key}\"{colon}{value}"));
            prop::collection::vec(field, 0..5).prop_map(|all| format!("{{{}}}", all.join(",")))
        };
        let value = one_of(leaves).prop_map(str::to_owned).prop_recursive(4, 40, 4, move |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4);
            prop_oneof![object(inner), list.prop_map(|all| format!("[ {}]", all.join(", ")))]
        });
        let envelopes =
            r#"OBJECT {"type":"user","message":OBJECT} {"payload":OBJECT,"role":"user"}"#;
        (one_of(envelopes), object(value.boxed()))
            .prop_map(|(envelope, object)| envelope.replace("OBJECT", &object))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn conversation_strings_are_never_skipped(line in any_line()) {
            let ParsedLine::Message(lazy) = parse_lazy(line.as_bytes()) else {
                return Ok(());
            };
            let mut strings = Vec::new();
            lazy.each_conversation_string(|body| strings.push(body.as_ptr_range()));
            for (at, _) in line.match_indices("NEEDLE") {
                let place = line[at..].as_ptr();
                if strings.iter().any(|body| body.contains(&place)) {
                    prop_assert_eq!(skip_tool_string(line.as_bytes(), 0, at), None, "{}", line);
                }
            }
        }
    }

    #[test]
    fn only_strings_that_may_be_conversation_text_are_kept() {
        for (line, expected) in [
            (r#"{"role":"user","content":"x \" NEEDLE"}"#, true),
            (r#"{"role":"user","content" : "\\NEEDLE"}"#, true),
            (r#"[{"type":"text","text":"NEEDLE"}]"#, true),
            (r#"{"con\u0074ent":"NEEDLE"}"#, true),
            (r#"{"tool_use_id":"a","type":"tool_result","content":"NEEDLE"}"#, false),
            (r#"{"type":"tool_result","tool_use_id":"a\"b","content":"\"text\":NEEDLE"}"#, false),
            (r#"{"stdout":"\"text\":\"NEEDLE"}"#, false),
            (r#"{"lines":["a","NEEDLE"]}"#, false),
            (r#"{"type":"user","message":{"role":"user","n":[],"content":"NEEDLE"}}"#, true),
            (r#"{"mess\u0061ge":{"role":"user","content":"NEEDLE"}}"#, true),
            ("\u{feff}{\"content\":\"NEEDLE\"}", true),
            (r#"{"role":"user","content":[{"a":1},{"type":"text","text":"NEEDLE"}]}"#, true),
            (
                r#"{"message":{"content":[]},"of":{"file":{"path":"\"","n":-1,"content":"NEEDLE"}}}"#,
                false,
            ),
            (r#"{"todos":[{"content":"NEEDLE"}],"content":""}"#, false),
            (r#"{"todos":[{"done":true},{"content":"NEEDLE"}],"content":""}"#, false),
            (r#"{"content":[{"type":"text","of":{"text":"NEEDLE"}}]}"#, false),
            (r#"{"NEEDLE":"text"}"#, false),
            (r#"{"a":NEEDLE,"text":"b"}"#, false),
        ] {
            let at = line.find("NEEDLE").unwrap();
            assert_eq!(skip_tool_string(line.as_bytes(), 0, at).is_none(), expected, "{line}");
        }
    }
}
