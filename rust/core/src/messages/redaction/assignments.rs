//! Detection of assignments to names of credentials: `password=…`, `"api_key": "…"`, `--token …`.

use std::ops::Range;

use crate::messages::redaction::binding::{Binding, behind_name, binding};
use crate::messages::redaction::plausibility::{
    is_description, is_placeholder, is_sign, is_uuid, is_version, looks_random,
};
use crate::messages::redaction::table::Table;

/// The longest name, on each side of the word that tells it.
const LONGEST_NAME: usize = 48;
/// The longest value.
const LONGEST_VALUE: usize = 512;

/// A value and how it stands there.
#[derive(Clone, Copy, Debug)]
struct Value<'a> {
    text: &'a str,
    quoted: bool,
    binding: Binding,
    /// Whether nothing else stands in its line.
    ends_line: bool,
}

/// A word at a place that names a kind of credential.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub at: usize,
    pub length: usize,
    pub kind: &'static str,
}

/// Returns where the value stands that is assigned to the name.
pub(super) fn assigned(table: &Table, text: &str, name: Name) -> Option<Range<usize>> {
    let (start, end) = whole_name(table, text, name)?;
    let bytes = text.as_bytes();
    // a file, such as `/etc/passwd`; a part of an ARN; `$PWD`
    let is_part = bytes[..start].ends_with(b"/")
        || bytes[..start].ends_with(b":") && bytes[end..].starts_with(b":");
    if is_part || table.not_credentials.contains(&&text[start..end]) {
        return None;
    }
    let is_pass = text[start..end].eq_ignore_ascii_case("pass");
    if is_pass && !is_listed(&bytes[..=start]) {
        return None;
    }
    let (mut from, binding) =
        binding(bytes, start, end, name.at).or_else(|| unbound_password(bytes, end, name.kind))?;
    let opened = quote(bytes, from);
    let close = opened.map(|(inside, close)| {
        from = inside;
        close
    });
    let in_url = start > 0 && matches!(bytes[start - 1], b'?' | b'&' | b'#');
    let end = from + length(&bytes[from..], close, in_url, binding)?;
    let next = bytes.get(end);
    let ends_line = next.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\' | b'#' | b'`'))
        || is_comment(&bytes[end..]);
    let quoted = close.is_some();
    let value = Value { text: text.get(from..end)?, quoted, binding, ends_line };
    // a call, or the type of a variable
    let is_code = !quoted && [&b"("[..], b" = "].iter().any(|code| bytes[end..].starts_with(code));
    // `pass: 99.85%`
    let is_rate = is_pass && !value.text.bytes().any(|byte| byte.is_ascii_alphabetic());
    (!is_code && !is_rate && is_secret(table, value, name.kind)).then_some(from..end)
}

/// Whether only blanks or a comment follow in the line: `password: q7Rt2Lm9x  # of the database`.
fn is_comment(rest: &[u8]) -> bool {
    let behind = rest[..rest.len().min(LONGEST_NAME)].trim_ascii_start();
    rest.first() == Some(&b' ')
        && (behind.first().is_none_or(|byte| *byte == b'#') || behind.starts_with(b"//"))
}

/// Whether the `pass` that a text ends in the first letter of stands where a list of credentials has
/// it: it begins its line, or follows a comma or a slash. In prose it is a verb or a round, and in
/// capitals the outcome of a test.
fn is_listed(text: &[u8]) -> bool {
    let (first, before) = (text[text.len() - 1], &text[..text.len() - 1]);
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'-' | b'*' | b'>');
    let blanks = before.iter().rev().take(LONGEST_NAME).take_while(blank).count();
    let listed = matches!(
        &before[..before.len() - blanks],
        [] | [.., b'\n' | b',' | b';' | b'/' | b'|'] | [.., b'\\', b'n']
    );
    listed && first.is_ascii_alphabetic()
}

/// How long the value is at the start of a text, before the mark that closes it or, without one,
/// before what ends a word; `None` if it is too long.
fn length(text: &[u8], close: Option<u8>, in_url: bool, binding: Binding) -> Option<usize> {
    let ends = |byte: &u8| match close {
        // a quotation mark of print, perhaps with a blank before it
        Some(0x80..) => !byte.is_ascii() || byte.is_ascii_whitespace() || *byte == b'\\',
        Some(close) => *byte == close || matches!(byte, b'\n' | b'\\'),
        None => {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'\\' | b'|'
                )
                // the first byte of Chinese, Japanese or Korean, or of their punctuation
                || matches!(byte, 0xE3..=0xEF)
                || *byte == b'&' && (in_url || binding == Binding::Tight)
                || *byte == b'#' && in_url
        }
    };
    let window = &text[..text.len().min(LONGEST_VALUE)];
    let is_whole = close.is_none() && window.len() < LONGEST_VALUE;
    let marked = memchr::memmem::find(window, "”".as_bytes()).filter(|_| close.is_none());
    let end = window.iter().position(ends).into_iter().chain(marked).min();
    let end = end.or(is_whole.then_some(window.len()))?;
    let is_stop = |byte: &u8| matches!(byte, b'.' | b'!' | b'?' | b':');
    let stops = window[..end].iter().rev().take_while(|byte| is_stop(byte)).count();
    Some(if binding == Binding::Prose { end - stops } else { end })
}

/// Whether a whole string is the value of a JSON key with this name in it.
pub(super) fn is_value_of_key(table: &Table, key: &str, name: Name, value: &str) -> bool {
    let value = Value { text: value, quoted: true, binding: Binding::Tight, ends_line: true };
    whole_name(table, key, name) == Some((0, key.len()))
        && value.text.len() <= LONGEST_VALUE
        && is_secret(table, value, name.kind)
}

/// The bounds of the name that the word stands in, unless the rest of it means something else.
fn whole_name(table: &Table, text: &str, name: Name) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let (at, behind) = (name.at, name.at + name.length);
    let before = bytes[..at].iter().rev().take(LONGEST_NAME).take_while(part).count();
    let after = bytes[behind..].iter().take(LONGEST_NAME).take_while(part).count();
    let (start, mut end) = (at - before, behind + after);
    while end > behind && bytes[end - 1] == b'.' {
        end -= 1;
    }
    let known =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) || table.after.contains(&word);
    let refused = |word: &String| table.not_before.contains(&word.as_str());
    let allowed = words(text.get(behind..end)?).iter().all(|word| known(word))
        && !words(text.get(start..at)?).iter().any(refused);
    // `forgets`, `secretly`, `detoken`: only whole words count
    let is_lower = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_lowercase);
    let starts_low = bytes[at].is_ascii_lowercase();
    let is_joined = |before: &str| {
        words(before).last().is_some_and(|last| table.joined_before.contains(&last.as_str()))
    };
    let within_word = is_lower(bytes[..at].last()) && starts_low && !is_joined(&text[start..at])
        || is_lower(bytes.get(behind)) && behind < end && !known(&words(text.get(behind..end)?)[0]);
    (allowed && !within_word).then_some((start, end))
}

/// The words of a name in lower case: `dbPassword_2` has `db`, `password` and `2`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = b'_';
    for byte in name.bytes() {
        let joined = last.is_ascii_alphabetic() == byte.is_ascii_alphabetic()
            && last.is_ascii_alphanumeric()
            && !(last.is_ascii_lowercase() && byte.is_ascii_uppercase());
        if byte.is_ascii_alphanumeric() {
            match words.last_mut().filter(|_| joined) {
                Some(word) => word.push(byte.to_ascii_lowercase() as char),
                None => words.push((byte.to_ascii_lowercase() as char).to_string()),
            }
        }
        last = byte;
    }
    words
}

/// Where a password begins behind a name that ends at `end`, if nothing binds the two: it has
/// letters, digits and signs, as nothing else in prose has. `log in as ann, password q7Rt!2Lm9`.
fn unbound_password(text: &[u8], end: usize, kind: &str) -> Option<(usize, Binding)> {
    let (closed, at) = behind_name(text, end);
    let (from, close) = quote(text, at).map_or((at, None), |(from, close)| (from, Some(close)));
    let word = &text[from..from + length(&text[from..], close, false, Binding::Prose)?];
    let has = |wanted: fn(&u8) -> bool| word.iter().any(wanted);
    let is_strong =
        word.len() >= 8 && has(is_sign) && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    (kind == "password" && at > closed && is_strong).then_some((at, Binding::Prose))
}

/// The quotation mark that opens at `at`: where the text within begins, and what closes it; of a mark
/// of print, that is the first byte of what closes it.
fn quote(text: &[u8], at: usize) -> Option<(usize, u8)> {
    let rest = &text[at..];
    let length = |marks: &[&str], text: &[u8]| {
        marks.iter().find(|mark| text.starts_with(mark.as_bytes())).map(|mark| mark.len())
    };
    if let Some(mark) = length(&["“", "„", "‘", "«", "「"], rest) {
        // in French a blank is within it
        let blank = length(&[" ", "\u{a0}", "\u{202f}"], &rest[mark..]).unwrap_or(0);
        return Some((at + mark + blank, 0xE2));
    }
    let skipped = rest
        .iter()
        .take(4)
        .take_while(|byte| matches!(byte, b'\\' | b'b' | b'r' | b'u' | b'f'))
        .count();
    let mark = *rest.get(skipped)?;
    matches!(mark, b'"' | b'\'' | b'`').then_some((at + skipped + 1, mark))
}

fn is_secret(table: &Table, value: Value<'_>, kind: &str) -> bool {
    let text = value.text;
    let lower = text.to_ascii_lowercase();
    let reference = text
        .starts_with(['$', '{', '<', '/', '~', '@', '*', '(', '[', '&', '.', '%', '-', '`'])
        // what stands between two strings that are joined
        || text.starts_with('+') && text.ends_with(['+', ',', '('])
        // a URL, or a line of `/etc/passwd`
        || text.contains(":/")
        || text
            .bytes()
            .any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control() || byte >= 0x80);
    let made_up = table.placeholder_starts.iter().any(|word| lower.starts_with(word))
        || is_placeholder(table, text)
        || is_description(table, text)
        || is_version(text)
        || is_uuid(text.trim_end_matches(':').as_bytes());
    if reference || made_up {
        return false;
    }
    match kind {
        "password" => is_password(table, value),
        _ => is_key(value),
    }
}

/// Passwords are short and chosen by people: letters with digits or signs will do.
fn is_password(table: &Table, value: Value<'_>) -> bool {
    let bytes = value.text.as_bytes();
    let has = |wanted: fn(&u8) -> bool| bytes.iter().any(wanted);
    let sign = has(is_sign);
    let (digit, letter) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    let mixed = letter && (digit || sign) || digit && sign;
    if bytes.len() < 6 || !mixed {
        return bytes.len() >= 6
            && digit
            && !letter
            && value.binding == Binding::Tight
            && !has(|byte| *byte == b'.');
    }
    if value.quoted || value.binding == Binding::Prose {
        return true;
    }
    let computed = has(|byte| matches!(byte, b'(' | b'[' | b'{'))
        || is_path(bytes)
        || value.text.contains("->");
    if computed {
        return false;
    }
    let random = looks_random(bytes) || sign && digit;
    match value.binding {
        Binding::Tight => random || !is_named(table, &value),
        _ => value.ends_line && (random || !is_named(table, &value)),
    }
}

/// Keys and tokens are made by machines: long and random.
fn is_key(value: Value<'_>) -> bool {
    let least = if value.quoted || value.binding == Binding::Tight { 12 } else { 16 };
    let bytes = value.text.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+/=~!@#$%^&*:?".contains(byte);
    bytes.len() >= least
        && bytes.iter().all(allowed)
        && looks_random(bytes)
        && (value.quoted || !is_path(bytes))
}

/// Whether a value is an expression such as `settings.password1`.
fn is_path(value: &[u8]) -> bool {
    let part =
        |part: &[u8]| part.first().is_some_and(u8::is_ascii_alphabetic) && is_identifier(part);
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(part)
}

fn is_identifier(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a value looks like the name of a variable or a type: it is made of words, or has a word
/// for what it holds.
fn is_named(table: &Table, value: &Value<'_>) -> bool {
    let lower = value.text.to_ascii_lowercase();
    let vowel = |byte: u8| b"aeiouy".contains(&byte);
    let is_word = |word: &String| word.len() > 2 && word.bytes().any(vowel);
    let words = words(value.text);
    let mut letters =
        words.iter().filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let joined = letters.clone().count() > 1 && letters.all(is_word);
    is_identifier(value.text.as_bytes())
        && (joined
            || value.text.contains('_')
            || table.names_of_variables.iter().any(|word| lower.contains(word)))
}
