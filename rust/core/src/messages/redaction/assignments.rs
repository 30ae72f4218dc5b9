//! Detection of assignments to names of credentials: `password=…`, `"api_key": "…"`, `--token …`.

use std::ops::Range;

use crate::messages::redaction::binding::{Binding, behind_name, binding, paired, value_below};
use crate::messages::redaction::extent::{
    LONGEST_VALUE, Opening, begins_assignment, fills_line, length, length_with_specials, opening,
};
use crate::messages::redaction::plausibility::{
    is_description, is_generated, is_hex_number, is_mixed, is_placeholder, is_rule, is_special,
    is_strong_phrase, is_uuid, is_version, looks_random,
};
use crate::messages::redaction::table::Table;

/// The longest name, on each side of the word that tells it.
const LONGEST_NAME: usize = 48;

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
    if is_part {
        return None;
    }
    let is_pass = text[start..end].eq_ignore_ascii_case("pass");
    if is_pass && !is_listed(&bytes[..=start]) {
        return None;
    }
    let is_password = name.kind == "password";
    let (mut at, binding) = binding(bytes, start, end, name.at)
        .or_else(|| if is_password { unbound_password(bytes, end) } else { None })
        .or_else(|| Some((paired(bytes, end)?, Binding::Loose)).filter(|_| !is_password))?;
    // a password is short, and so may be any word in the next line
    if !is_password || bytes.get(at) == Some(&b'|') {
        at = value_below(bytes, at).unwrap_or(at);
    }
    let (from, opened) = opening(bytes, at);
    let in_url = start > 0 && matches!(bytes[start - 1], b'?' | b'&' | b'#');
    let word = from + length(&bytes[from..], opened, in_url, binding)?;
    let may_have_specials = is_password && opened == Opening::None && !in_url;
    // in shells and files of settings a comma separates nothing
    let is_setting = binding == Binding::Tight && is_option_or_variable(&bytes[start..end]);
    let end = match may_have_specials {
        true => from + length_with_specials(&bytes[from..], word - from, binding, is_setting),
        false => word,
    };
    let ends_line = ends_line(&bytes[from..], end - from);
    let quoted = opened != Opening::None;
    let value = Value { text: text.get(from..end)?, quoted, binding, ends_line };
    // a call, or the type of a variable
    let is_code = !quoted && [&b"("[..], b" = "].iter().any(|code| bytes[end..].starts_with(code));
    // `pass: 99.85%`
    let is_rate = is_pass && !value.text.bytes().any(|byte| byte.is_ascii_alphabetic());
    (!is_code && !is_rate && is_secret(table, value, name.kind)).then_some(from..end)
}

/// Whether a name is that of a variable of a shell, or of an option: `DB_PASSWORD`, `--password`.
fn is_option_or_variable(name: &[u8]) -> bool {
    name.starts_with(b"--") || !name.iter().any(u8::is_ascii_lowercase)
}

/// Whether a word can be no name: it has letters, digits and special characters, or looks random.
fn is_strong(word: &[u8]) -> bool {
    is_mixed(word) && (word.iter().any(is_special) || looks_random(word))
}

/// Whether a word of `length` at the start of a text ends its line, or cannot be code where it ends.
fn ends_line(text: &[u8], length: usize) -> bool {
    let (word, rest) = text.split_at(length);
    // `name1!` is code, what is not null; others are operators of code, or stand in addresses
    let bare = word.strip_suffix(b"!").unwrap_or(word);
    let is_no_code = has_all_kinds(bare) && bare.iter().any(|byte| b"!#$%^".contains(byte));
    match rest {
        [] | [b'\n' | b'\r' | b'\\' | b'#' | b'`', ..] => true,
        [b'"', ..] => is_strong(word),
        [b',', next, ..] if next.is_ascii_alphanumeric() && fills_line(text) => {
            !begins_assignment(&rest[1..])
        }
        [b',' | b';' | b')' | b'}' | b' ', ..] => is_no_code || is_comment(rest),
        _ => false,
    }
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
    let is_credential = !table.not_credentials.contains(&text.get(start..end)?);
    (allowed && !within_word && is_credential).then_some((start, end))
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

/// Where a password begins behind a name that ends at `end`, if nothing binds the two:
/// `log in as ann, password q7Rt!2Lm9`.
fn unbound_password(text: &[u8], end: usize) -> Option<(usize, Binding)> {
    let (closed, at) = behind_name(text, end);
    let (from, opened) = opening(text, at);
    let word = &text[from..from + length(&text[from..], opened, false, Binding::Prose)?];
    (at > closed && has_all_kinds(word)).then_some((at, Binding::Prose))
}

/// Whether a word has letters, digits and special characters, as nothing else in prose has.
fn has_all_kinds(word: &[u8]) -> bool {
    word.len() >= 8 && is_mixed(word) && word.iter().any(is_special)
}

fn is_secret(table: &Table, value: Value<'_>, kind: &str) -> bool {
    let text = value.text;
    let lower = text.to_ascii_lowercase();
    let closed = kind == "password" && (value.quoted || value.binding == Binding::Tight);
    let is_phrase = closed && value.quoted && is_strong_phrase(text);
    let reference = text
        .starts_with(['$', '{', '<', '/', '~', '@', '*', '(', '[', '&', '.', '%', '-', '`'])
            && !(closed && is_generated(text.as_bytes()))
        // what stands between two strings that are joined
        || text.starts_with('+') && text.ends_with(['+', ',', '('])
        // a URL, or a line of `/etc/passwd`
        || text.contains(":/")
        || text.chars().any(|c| match c {
            ' ' => !is_phrase,
            // letters of European languages
            '\u{c0}'..='\u{17f}' => kind != "password" || !c.is_alphabetic(),
            _ => !c.is_ascii_graphic(),
        });
    let made_up = table.placeholder_starts.iter().any(|word| lower.starts_with(word))
        || is_placeholder(table, text)
        || is_description(table, text)
        || is_version(text)
        || is_rule(text)
        || is_uuid(text.trim_end_matches(':').as_bytes());
    if reference || made_up {
        return false;
    }
    match kind {
        "password" => is_password(table, value),
        "key" if is_identifier_of_data(text) => false,
        _ => is_key(value),
    }
}

/// Passwords are short and chosen by people: letters with digits or special characters will do.
fn is_password(table: &Table, value: Value<'_>) -> bool {
    let bytes = value.text.as_bytes();
    let has = |wanted: fn(&u8) -> bool| bytes.iter().any(wanted);
    let special = has(is_special);
    let (digit, letter) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    let mixed = letter && (digit || special) || digit && special;
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
    let random = looks_random(bytes) || special && digit;
    match value.binding {
        Binding::Tight => random || !is_named(table, &value),
        _ => value.ends_line && (random || !is_named(table, &value)),
    }
}

/// Whether what a constant `…_KEY` holds finds an object or a row: a path of a file, or what begins
/// with a date or ends in a UUID.
fn is_identifier_of_data(value: &str) -> bool {
    let extension = value.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_file = value.contains('/')
        && (2..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let bytes = value.as_bytes();
    let is_date = bytes.iter().zip(b"0000-00-00").all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    });
    is_file || is_date || is_uuid(&bytes[bytes.len().saturating_sub(36)..])
}

/// Keys and tokens are made by machines: long and random.
fn is_key(value: Value<'_>) -> bool {
    let least = if value.quoted || value.binding == Binding::Tight { 12 } else { 16 };
    let bytes = value.text.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+/=~!@#$%^&*:?".contains(byte);
    bytes.len() >= least
        && bytes.iter().all(allowed)
        && (looks_random(bytes) || is_hex_number(bytes))
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
