//! Extent of an assigned value: where it begins within quotation marks, and where it ends.

use crate::messages::redaction::binding::Binding;
use crate::messages::redaction::plausibility::{is_mixed, is_special};

/// The longest value.
pub(super) const LONGEST_VALUE: usize = 512;
/// The longest name of a next assignment, as in `&next=1`.
const LONGEST_NEXT: usize = 32;
/// Names of characters in HTML: `&quot;`.
const ENTITIES: [&str; 6] = ["amp", "apos", "gt", "lt", "nbsp", "quot"];

/// What opens a value, and so tells how it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    None,
    /// A quotation mark behind so many backslashes, as JSON in JSON has it.
    Quote {
        mark: u8,
        backslashes: usize,
    },
    /// A typographic quotation mark.
    Typographic,
}

/// What opens a value at `at`, and where its text begins.
pub(super) fn opening(text: &[u8], at: usize) -> (usize, Opening) {
    let rest = &text[at..];
    let length = |marks: &[&str], text: &[u8]| {
        marks.iter().find(|mark| text.starts_with(mark.as_bytes())).map(|mark| mark.len())
    };
    if let Some(mark) = length(&["“", "„", "‘", "«", "「"], rest) {
        // in French a blank is within it
        let blank = length(&[" ", "\u{a0}", "\u{202f}"], &rest[mark..]).unwrap_or(0);
        return (at + mark + blank, Opening::Typographic);
    }
    let prefix = |byte: &&u8| matches!(byte, b'\\' | b'b' | b'r' | b'u' | b'f');
    let skipped = rest.iter().take(8).take_while(prefix).count();
    let backslashes = rest[..skipped].iter().rev().take_while(|byte| **byte == b'\\').count();
    match rest.get(skipped) {
        Some(mark @ (b'"' | b'\'' | b'`')) => {
            (at + skipped + 1, Opening::Quote { mark: *mark, backslashes })
        }
        _ => (at, Opening::None),
    }
}

/// How long the value is at the start of a text; `None` if it is too long or never closed.
pub(super) fn length(
    text: &[u8],
    opening: Opening,
    in_url: bool,
    binding: Binding,
) -> Option<usize> {
    let window = &text[..text.len().min(LONGEST_VALUE)];
    let end = match opening {
        Opening::Quote { mark, backslashes } => {
            return quoted(window, mark, backslashes).or_else(|| cut_off(window, mark));
        }
        // perhaps with a blank before what closes it
        Opening::Typographic => window
            .iter()
            .position(|byte| !byte.is_ascii() || byte.is_ascii_whitespace() || *byte == b'\\')?,
        Opening::None => {
            let is_separator = in_url || binding == Binding::Tight;
            let is_shell = binding == Binding::Tight && !in_url;
            let is_end = |&at: &usize| match window[at] {
                b'\\' if is_shell && at > 0 => !is_escape(&window[at..]),
                b'&' if is_shell && window[..at].ends_with(b"\\") => false,
                b'&' => is_separator || begins_entity(&window[at + 1..]),
                b'#' => in_url,
                byte => ends_word(byte),
            };
            let printed = memchr::memmem::find(window, "”".as_bytes());
            let end = (0..window.len()).find(is_end).into_iter().chain(printed).min();
            end.or((window.len() < LONGEST_VALUE).then_some(window.len()))?
        }
    };
    Some(without_stops(&window[..end], binding).len())
}

/// A value without the marks that end its sentence.
fn without_stops(value: &[u8], binding: Binding) -> &[u8] {
    let is_stop = |byte: &&u8| matches!(byte, b'.' | b'!' | b'?' | b':');
    let stops = value.iter().rev().take_while(is_stop).count();
    if binding == Binding::Prose { &value[..value.len() - stops] } else { value }
}

/// Whether a byte ends a value without quotation marks, unless it is a special character of a password.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'\\' | b'|'
        )
        // the first byte of Chinese, Japanese or Korean, or of their punctuation
        || matches!(byte, 0xE3..=0xEF)
}

/// How long a value is that a mark opened, with the marks within it: YAML and SQL double them, and a
/// shell has `'\''` for one.
fn quoted(text: &[u8], mark: u8, backslashes: usize) -> Option<usize> {
    let mut end = closed(text, mark, backslashes)?;
    while let Some(inner) = inner_mark(&text[end..]).filter(|_| mark == b'\'' && end > 0) {
        let more = closed(&text[end + inner..], mark, backslashes);
        let Some(next) = more.map(|more| end + inner + more).filter(|next| {
            text.get(*next) == Some(&mark) && !text[end..*next].iter().any(u8::is_ascii_whitespace)
        }) else {
            break;
        };
        end = next;
    }
    Some(end)
}

/// How long `''` or `'\''` is at the start of a text, if a value goes on behind it.
fn inner_mark(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"'")?;
    let backslashes = rest.iter().take(4).take_while(|byte| **byte == b'\\').count();
    let marks = if backslashes > 0 { &b"''"[..] } else { b"'" };
    let rest = rest[backslashes..].strip_prefix(marks)?;
    let goes_on = rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || is_special(byte));
    goes_on.then(|| text.len() - rest.len())
}

/// Where a mark closes that opened behind so many backslashes: one behind more is within the value.
fn closed(text: &[u8], mark: u8, backslashes: usize) -> Option<usize> {
    // where it ends if a sentence and no value goes on behind
    let mut early = None;
    let mut run = 0;
    for (at, byte) in text.iter().enumerate() {
        let rest = &text[at + 1..];
        match byte {
            b'\\' => {
                run += 1;
                continue;
            }
            b'\n' => return early.or(Some(at - run)),
            // `\n` of the value has more backslashes than the end of a line in JSON in JSON
            b'n' | b'r' if run > 0 => {
                early = early.or(Some(at - run));
                if mark != b'"' || run <= backslashes || begins_assignment(rest) {
                    return early;
                }
            }
            _ if *byte == mark && run <= backslashes => {
                let is_sentence = text[..at].iter().any(u8::is_ascii_whitespace);
                return early.filter(|_| is_sentence).or(Some(at - run));
            }
            // `"a\", user="bob"`: the backslash ends the value and escapes nothing
            _ if *byte == mark && rest.strip_prefix(b", ").is_some_and(begins_assignment) => {
                early = early.or(Some(at - backslashes));
            }
            _ => {}
        }
        run = 0;
    }
    early
}

/// How long a value is whose mark never closes as the text ends before: one word.
fn cut_off(text: &[u8], mark: u8) -> Option<usize> {
    let is_word = |byte: &u8| !ends_word(*byte) && !b"([{>".contains(byte);
    (mark != b'`' && text.len() < LONGEST_VALUE && text.iter().all(is_word)).then_some(text.len())
}

/// How much longer a password without quotation marks is than the word it begins with: a mark that
/// ends a word is a special character of the password where the rest goes on like one, and begins nothing new.
/// `PASSWORD=Tr0ub4dor&3;` ends at the semicolon, `password=q7Rt2Lm9x&next=1` at the ampersand.
///
/// `is_setting` is whether the value ends with its word, as in a shell.
pub(super) fn length_with_specials(
    text: &[u8],
    mut end: usize,
    binding: Binding,
    is_setting: bool,
) -> usize {
    let window = &text[..text.len().min(LONGEST_VALUE)];
    let is_word = is_setting || binding == Binding::Loose && fills_line(window);
    let is_end = |byte: &u8| ends_word(*byte) || matches!(byte, b'&' | b'>');
    while let Some(mark) = window.get(end).filter(|mark| joins(**mark)) {
        let rest = &window[end + 1..];
        let part = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let part = without_stops(part, binding);
        let is_strong = is_mixed(part) || part.iter().any(is_special);
        let has_special = window[..end].iter().chain(part).any(is_special);
        let may_be_next = is_plain_word(part) && !has_special;
        let is_joined = part.first().is_some_and(u8::is_ascii_alphanumeric);
        let goes_on = match mark {
            b'&' => is_joined && !begins_entity(rest) && !may_be_next,
            // in `f(password=pwd1,user2)` it separates arguments
            b',' if is_word => !part.is_empty() && !may_be_next,
            b',' | b';' | b'|' => is_strong && has_special && part.len() > 2,
            _ => is_strong && is_joined,
        };
        if !goes_on || begins_assignment(rest) {
            break;
        }
        end += 1 + part.len();
    }
    end
}

/// Whether a text is a word of letters alone, as a command or a host is: `&echo`, `,localhost`.
fn is_plain_word(text: &[u8]) -> bool {
    text.len() > 2 && text[0].is_ascii_alphabetic() && text[1..].iter().all(u8::is_ascii_lowercase)
}

/// Whether a text begins with what a shell would read otherwise, behind a backslash, or behind more in
/// JSON: `\$`.
fn is_escape(text: &[u8]) -> bool {
    let backslashes = text.iter().take(4).take_while(|byte| **byte == b'\\').count();
    matches!(text.get(backslashes), Some(b'$' | b'!' | b'&' | b'#'))
}

/// Whether a text begins with the rest of an HTML entity: `quot;`.
fn begins_entity(text: &[u8]) -> bool {
    let is_next =
        |name: &&str| text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b";"));
    ENTITIES.iter().any(is_next)
}

/// Whether a word without quotation marks and brackets, as code has them, is all of its line.
pub(super) fn fills_line(text: &[u8]) -> bool {
    let text = &text[..text.len().min(LONGEST_VALUE)];
    let word = text.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'\\');
    let (word, rest) = text.split_at(word.unwrap_or(text.len()));
    matches!(rest.first(), None | Some(b'\n' | b'\r' | b'\\'))
        && !word.iter().any(|byte| b"()[]{}<>\"'`".contains(byte))
}

/// Whether a mark may be a special character within a password that has no quotation marks.
fn joins(mark: u8) -> bool {
    matches!(mark, b'&' | b',' | b';' | b'|' | b'\'' | b')' | b']' | b'}')
}

/// Whether a name and what binds it begin a text, as in `user=bob`.
pub(super) fn begins_assignment(text: &[u8]) -> bool {
    let named = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = text.iter().take(LONGEST_NEXT).take_while(named).count();
    matches!(text.get(name), Some(b'=' | b':'))
}
