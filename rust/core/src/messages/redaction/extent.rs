//! Extent of an assigned value: where it begins within quotation marks, and where it ends.

use crate::messages::redaction::binding::Binding;
use crate::messages::redaction::plausibility::{is_mixed, is_sign};

/// The longest value.
pub(super) const LONGEST_VALUE: usize = 512;
/// The longest name of a next assignment, as in `&next=1`.
const LONGEST_NEXT: usize = 32;

/// What opens a value, and so tells how it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    None,
    /// A quotation mark behind so many backslashes, as JSON in JSON has it.
    Quote {
        mark: u8,
        backslashes: usize,
    },
    /// A quotation mark of print.
    Print,
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
        return (at + mark + blank, Opening::Print);
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
        Opening::Quote { mark, backslashes } => return closed(window, mark, backslashes),
        // perhaps with a blank before what closes it
        Opening::Print => window
            .iter()
            .position(|byte| !byte.is_ascii() || byte.is_ascii_whitespace() || *byte == b'\\')?,
        Opening::None => {
            let is_amp = |byte: &u8| *byte == b'&' && (in_url || binding == Binding::Tight);
            let is_end = |byte: &u8| ends_word(*byte) || is_amp(byte) || *byte == b'#' && in_url;
            let printed = memchr::memmem::find(window, "”".as_bytes());
            let end = window.iter().position(is_end).into_iter().chain(printed).min();
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

/// Whether a byte ends a value without quotation marks, unless it is a sign of a password.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'\\' | b'|'
        )
        // the first byte of Chinese, Japanese or Korean, or of their punctuation
        || matches!(byte, 0xE3..=0xEF)
}

/// Where a mark closes that opened behind so many backslashes: one behind more is within the value.
fn closed(text: &[u8], mark: u8, backslashes: usize) -> Option<usize> {
    let mut run = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\\' => run += 1,
            b'\n' => return Some(at - run),
            // the end of a line in JSON in JSON
            b'n' | b'r' if run > 0 => return Some(at - run),
            _ if *byte == mark && run <= backslashes => return Some(at - run),
            _ => run = 0,
        }
    }
    None
}

/// How much longer a password without quotation marks is than the word it begins with: a mark that
/// ends a word is a sign of the password where the rest goes on like one, and begins nothing new.
/// `PASSWORD=Tr0ub4dor&3;` ends at the semicolon, `password=q7Rt2Lm9x&next=1` at the ampersand.
///
/// `is_setting` is whether the value ends with its word, as in a shell.
pub(super) fn length_with_signs(
    text: &[u8],
    mut end: usize,
    binding: Binding,
    is_setting: bool,
) -> usize {
    let window = &text[..text.len().min(LONGEST_VALUE)];
    let is_word = is_setting || binding == Binding::Loose && fills_line(window);
    while let Some(mark) = window.get(end).filter(|mark| joins(**mark)) {
        let rest = &window[end + 1..];
        let is_end = |byte: &u8| ends_word(*byte) || matches!(byte, b'&' | b'>');
        let part = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let part = without_stops(part, binding);
        let is_strong = is_mixed(part) || part.iter().any(is_sign);
        let has_sign = window[..end].iter().chain(part).any(is_sign);
        let is_joined = part.first().is_some_and(u8::is_ascii_alphanumeric);
        let goes_on = match mark {
            b'&' => is_joined && part != b"amp",
            // in `f(password=pwd1,user2)` it parts arguments
            b',' if is_word => !part.is_empty(),
            b',' | b';' | b'|' => is_strong && has_sign && part.len() > 2,
            _ => is_strong && is_joined,
        };
        if !goes_on || begins_assignment(rest) {
            break;
        }
        end += 1 + part.len();
    }
    end
}

/// Whether a word without quotation marks and brackets, as code has them, is all of its line.
fn fills_line(text: &[u8]) -> bool {
    let word = text.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'\\');
    let (word, rest) = text.split_at(word.unwrap_or(text.len()));
    matches!(rest.first(), None | Some(b'\n' | b'\r' | b'\\'))
        && !word.iter().any(|byte| b"()[]{}<>\"'`".contains(byte))
}

/// Whether a mark may be a sign within a password that has no quotation marks.
fn joins(mark: u8) -> bool {
    matches!(mark, b'&' | b',' | b';' | b'|' | b'\'' | b')' | b']' | b'}')
}

/// Whether a name and what binds it begin a text, as in `user=bob`.
fn begins_assignment(text: &[u8]) -> bool {
    let named = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = text.iter().take(LONGEST_NEXT).take_while(named).count();
    matches!(text.get(name), Some(b'=' | b':'))
}
