//! Tells from a few bytes around a place whether it can be in something that was said.
//!
//! Most places that hold a frequent word are in tool output; taking their whole
//! line apart to learn that would cost more than all the rest of a search.

/// Whether the string around `at` may be one that [`super::Outline::each_said`] visits.
///
/// Otherwise gives the first place behind that string, so that one look serves for all places
/// in it. `line` begins with one line of a transcript; nothing before `from` is looked at.
pub(crate) fn beyond_unsaid(line: &[u8], from: usize, at: usize) -> Option<usize> {
    let opening = last_quote(line, from, at)?;
    if may_open_said(&line[..opening]) {
        return None;
    }
    let end = next_quote(line, at)?;
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
    let opening = last_quote(body, 0, body.len())?;
    Some((&body[opening + 1..], &body[..opening]))
}

fn trim_end(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

/// Places looked at together. Tool output is full of escaped quotes; stopping at each of them
/// cost more than all the rest of a search for a frequent word.
const BLOCK: usize = 64;

/// The last quote in `from..to` that no backslash escapes.
fn last_quote(text: &[u8], from: usize, to: usize) -> Option<usize> {
    let mut end = to;
    while let Some(start) = end.checked_sub(BLOCK).filter(|&start| start >= from) {
        if may_hold_quote(text, start)
            && let Some(at) = (start..end).rev().find(|&at| is_quote(text, at))
        {
            return Some(at);
        }
        end = start;
    }
    (from..end).rev().find(|&at| is_quote(text, at))
}

/// The first place from `from` on with a line end or a quote that no backslash escapes.
fn next_quote(text: &[u8], from: usize) -> Option<usize> {
    let stops = |at: &usize| text[*at] == b'\n' || is_quote(text, *at);
    let mut start = from;
    while start + BLOCK <= text.len() {
        let end = start + BLOCK;
        if may_hold_quote(text, start)
            && let Some(at) = (start..end).find(stops)
        {
            return Some(at);
        }
        start = end;
    }
    (start..text.len()).find(stops)
}

/// Whether a block may hold a line end or a quote that no backslash escapes.
fn may_hold_quote(text: &[u8], start: usize) -> bool {
    let Some(window) = start.checked_sub(2).and_then(|lead| text[lead..].first_chunk()) else {
        return true;
    };
    let window: &[u8; BLOCK + 2] = window;
    let mut any = 0;
    for i in 2..BLOCK + 2 {
        // Of two backslashes the second may be escaped by the first.
        let bare = (window[i - 1] != b'\\') | (window[i - 2] == b'\\');
        any |= u8::from((window[i] == b'"') & bare | (window[i] == b'\n'));
    }
    any != 0
}

fn is_quote(text: &[u8], at: usize) -> bool {
    text[at] == b'"' && !is_escaped(&text[..at])
}

/// Whether what follows `before` is escaped: an odd number of backslashes ends it.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotes_that_count_equal_their_plain_twin(
            pieces in prop::collection::vec(
                prop_oneof![
                    4 => Just("\\\""),
                    2 => Just("\\"),
                    1 => Just("\""),
                    1 => Just("\n"),
                    9 => Just("01234567890123456789"),
                ],
                0..60,
            ),
            from in 0..100usize,
            cut in 0..10usize,
        ) {
            let text = pieces.concat().into_bytes();
            let to = text.len().saturating_sub(cut);
            let from = from.min(to);
            let quote = |at: &usize| {
                let slashes = text[..*at].iter().rev().take_while(|&&byte| byte == b'\\').count();
                text[*at] == b'"' && slashes % 2 == 0
            };
            prop_assert_eq!(last_quote(&text, from, to), (from..to).rev().find(quote));
            let stops = |at: &usize| quote(at) || text[*at] == b'\n';
            prop_assert_eq!(next_quote(&text, from), (from..text.len()).find(stops));
        }
    }

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
