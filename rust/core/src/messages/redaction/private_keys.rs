//! Detection of private keys (PEM, RFC 7468) and of passwords in URLs.

use std::ops::Range;

use memchr::memmem;

use crate::messages::redaction::plausibility::{entropy, is_description, is_placeholder};
use crate::messages::redaction::table::Table;
use crate::messages::redaction::tokens::line_break;

/// The longest key that is found to its end.
const LONGEST_KEY: usize = 64 << 10;
/// A line of a key has so many characters of base64 at least, but for its last.
const KEY_LINE: usize = 32;
/// The longest authority of a URL.
const LONGEST_AUTHORITY: usize = 512;

/// Returns where the key stands that the dashes at `at` begin, with both of its lines if the second
/// is there.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    let label = rest.strip_prefix(b"-----BEGIN")?;
    let named = memmem::find(&label[..label.len().min(80)], b"-----")?;
    let name = &label[..named];
    let is_private = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    if !is_private || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ') {
        return None;
    }
    let body = at + b"-----BEGIN".len() + named + 5;
    let within = &text.as_bytes()[body..text.len().min(body + LONGEST_KEY)];
    let dashes = memmem::find(within, b"-----");
    let whole = dashes.filter(|&end| within[end..].starts_with(b"-----END")).and_then(|end| {
        let close = end + 8 + memmem::find(&within[end + 8..within.len().min(end + 88)], b"-----")?;
        key_lines(&within[..end]).map(|_| at..body + close + 5)
    });
    // a key that was cut off ends with its last line
    let to = dashes.unwrap_or(within.len());
    whole.or_else(|| Some(at..body + key_lines(&within[..to])?))
}

/// Where the last line of base64 ends, if one of them looks like that of a key.
fn key_lines(body: &[u8]) -> Option<usize> {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut at, mut last) = (0, None);
    while at < body.len() {
        let run = body[at..].iter().take_while(|byte| base64(byte)).count();
        let line = &body[at..at + run];
        if run >= KEY_LINE && entropy(line) > 3.5 {
            // code that names the first line of a key, and has a key elsewhere
            let is_code = |byte: &u8| matches!(byte, b'=' | b';' | b'{');
            if last.is_none() && body[..at].iter().any(is_code) {
                return None;
            }
            last = Some(at + run);
        } else if last == Some(at) || last.is_some_and(|end| line_break(body, end) == Some(at)) {
            last = last.filter(|_| run == 0).or(Some(at + run));
        }
        at += run.max(1);
    }
    last
}

/// Whether the URL whose `://` ends before a part of a raw line may name a user. Nearly none does, and
/// nothing else of them need be looked at.
pub(super) fn may_name_user(line: &[u8]) -> bool {
    let window = &line[..line.len().min(LONGEST_AUTHORITY)];
    let is_end = |byte: &u8| {
        matches!(byte, b'@' | b'\\' | b'/' | b'?' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')')
            || byte.is_ascii_whitespace()
    };
    let Some(end) = window.iter().position(is_end) else { return false };
    match line[end..] {
        [b'@', ..] => true,
        // an escape of what ends a URL, or of anything
        [b'\\', b'n' | b'r' | b't' | b'f' | b'"' | b'\\' | b'/', ..] => false,
        [b'\\', ..] => true,
        _ => false,
    }
}

/// Returns where the password stands in the URL whose `://` is at `at`.
pub(super) fn url_password(table: &Table, text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + 3;
    let scheme = bytes[..at].last().is_some_and(u8::is_ascii_alphanumeric);
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'(' | b')')
    };
    let window = &bytes[start..bytes.len().min(start + LONGEST_AUTHORITY)];
    let authority = &window[..window.iter().position(ends).unwrap_or(window.len())];
    let host = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', &authority[..host])?;
    let (user, password) = (&authority[..colon], text.get(start + colon + 1..start + host)?);
    let lower = password.to_ascii_lowercase();
    let is_variable = |byte: u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b'*' | b',');
    let is_word = table.not_passwords.iter().any(|word| *word == lower)
        || password.starts_with(['$', '%', '<', ':'])
        || password.bytes().any(is_variable)
        || user.eq_ignore_ascii_case(lower.as_bytes());
    let is_one = scheme
        && password.len() >= 3
        && !is_word
        && !is_placeholder(table, password)
        && !is_description(table, password);
    is_one.then_some(start + colon + 1..start + host)
}
