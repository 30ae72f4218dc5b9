//! Detection of tokens of published forms, whole or broken across lines.

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use crate::messages::redaction::plausibility::{is_placeholder, is_random_body, is_special};
use crate::messages::redaction::table::Table;

/// The longest form that is told from what follows it.
const LONGEST: usize = 24 << 10;
/// The same for a form whose literal stands within it, as that is searched for its start.
const LONGEST_AROUND: usize = 128;
/// The shortest value that an option of a client gives as a password, and what is longer than one
/// that a person chooses.
const SHORTEST: usize = 4;
const LONGEST_PASSWORD: usize = 20;
/// How many lines a token may be broken across.
const MAX_PIECES: usize = 64;
/// A line in the middle of a broken token is at least so long, as whoever breaks it fills lines.
const SHORTEST_MIDDLE: usize = 16;

/// A regular expression of the table, and how much of it may stand before its literal.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenForm<'t> {
    pub regex: &'t Regex,
    pub before: usize,
    /// Whether group 1 is what must go, and the rest its context.
    pub grouped: bool,
}

impl TokenForm<'_> {
    /// Returns where the token stands that the literal at `at` announces. What is copied to join
    /// broken lines is taken from `budget`, so that the whole stays linear.
    pub fn find(
        &self,
        table: &Table,
        text: &str,
        at: usize,
        budget: &mut usize,
    ) -> Option<Range<usize>> {
        // tested first: a run of a form's characters that names its literal again and again would
        // else be read once for each
        if self.before == 0 && !self.grouped && !starts_token(text.as_bytes(), at) {
            return None;
        }
        let whole = self.matched(text, at).filter(|found| self.is_token(table, text, found));
        let end = whole.as_ref().map_or(at, |found| found.end);
        if whole.is_some() && line_break(text.as_bytes(), end).is_none() {
            return whole;
        }
        let Some(joined) = Joined::new(text, at, budget) else { return whole };
        let broken = self
            .matched(&joined.text, joined.at)
            .filter(|found| self.is_token(table, &joined.text, found))
            .map(|found| joined.place(found.start)..joined.place(found.end))
            .filter(|found| whole.is_none() || joined.goes_on_randomly(end, found.end));
        broken.or(whole)
    }

    fn matched(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let from = at.saturating_sub(self.before);
        let anchored = if self.before == 0 { Anchored::Yes } else { Anchored::No };
        let longest = if self.before == 0 { LONGEST } else { LONGEST_AROUND };
        let to = text.len().min(at + longest);
        let input = Input::new(text).range(from..to).anchored(anchored);
        if !self.grouped {
            let found = self.regex.find(input)?;
            return (found.start() <= at && found.end() > at).then(|| found.range());
        }
        let mut captures = self.regex.create_captures();
        self.regex.captures(input, &mut captures);
        captures.get_group(1).map(|group| group.range())
    }

    fn is_token(&self, table: &Table, text: &str, found: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        let ends = bytes.get(found.end).is_none_or(|&next| !is_word(next));
        let starts = self.grouped || starts_token(bytes, found.start);
        let value = &text[found.clone()];
        // the prefix says nothing of randomness
        let body = value.len().saturating_sub(value.len().min(40) / 4);
        let body = &value.as_bytes()[value.len() - body..];
        // a password that a person has chosen may have a special character in place of a digit
        let is_short = value.len() < LONGEST_PASSWORD;
        let looked_at = if is_short { value.as_bytes() } else { body };
        let tells = |byte: &u8| byte.is_ascii_digit() || is_short && is_special(byte);
        let has_digit = !self.grouped || looked_at.iter().any(tells);
        let is_chosen = value.len() >= SHORTEST
            && !(self.grouped && table.not_passwords.contains(&&*value.to_ascii_lowercase()));
        let is_random = has_digit && is_random_body(body) && !is_placeholder(table, value);
        ends && starts && is_chosen && is_random
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a token may start here: not within a word, unless that is the end of an escape such as
/// `\n` or `%3D`, as text in JSON in JSON and in URLs has them.
pub(super) fn starts_token(text: &[u8], at: usize) -> bool {
    match text[..at] {
        [.., b'\\', b'n' | b't' | b'r'] | [.., b'%', _, b'0'..=b'9' | b'A'..=b'F'] => true,
        [.., last] => !is_word(last) && last != b'-',
        [] => true,
    }
}

/// The end of a line break that a token may go on behind: with the indentation, the marks of a
/// quotation or the line numbers that tools put before lines.
pub(super) fn line_break(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let skip = |at: usize, wanted: fn(&u8) -> bool| {
        at + rest[at..].iter().take(32).take_while(|byte| wanted(byte)).count()
    };
    let blank: fn(&u8) -> bool = |byte| matches!(byte, b' ' | b'\t');
    let mut end = skip(0, |byte| matches!(byte, b'\\' | b'\r' | b' '));
    end = match &rest[end..] {
        [b'\n', ..] => end + 1,
        // a line break in JSON in JSON
        [b'n', ..] if end > 0 && rest[end - 1] == b'\\' => end + 1,
        _ => return None,
    };
    end = skip(end, blank);
    let number = skip(end, u8::is_ascii_digit);
    if number > end {
        let arrow = rest[number..].strip_prefix("→".as_bytes()).map(|left| rest.len() - left.len());
        let tab = rest[number..].starts_with(b"\t").then_some(number + 1);
        end = arrow.or(tab).unwrap_or(end);
    }
    end = skip(end, |byte| matches!(byte, b'>' | b'|' | b'#' | b'*'));
    Some(at + skip(end, blank))
}

/// Text in which what was broken across lines is joined, with the place of each piece.
struct Joined {
    text: String,
    /// Where the literal stands in it.
    at: usize,
    /// Where each piece begins: in the joined text, and in the whole.
    pieces: Vec<(usize, usize)>,
}

impl Joined {
    fn new(text: &str, at: usize, budget: &mut usize) -> Option<Self> {
        const CONTEXT: usize = 32;
        if *budget == 0 {
            return None;
        }
        let mut from = at.saturating_sub(CONTEXT);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let mut joined = Self { text: String::new(), at: at - from, pieces: vec![(0, from)] };
        let (mut start, mut end) = (from, run_end(text.as_bytes(), at));
        while joined.pieces.len() < MAX_PIECES {
            joined.text.push_str(&text[start..end]);
            *budget = budget.saturating_sub(end - start + 1);
            let is_short = joined.pieces.len() > 1 && end - start < SHORTEST_MIDDLE;
            let Some(next) = line_break(text.as_bytes(), end).filter(|_| !is_short) else { break };
            let until = run_end(text.as_bytes(), next);
            if until == next {
                break;
            }
            (start, end) = (next, until);
            joined.pieces.push((joined.text.len(), start));
        }
        if joined.pieces.len() < 2 {
            return None;
        }
        // what follows the token tells that it ends
        joined.text.push('\n');
        Some(joined)
    }

    fn place(&self, at: usize) -> usize {
        // an end that is the start of a piece is the end of the one before it
        let behind = self.pieces.partition_point(|piece| piece.0 < at.max(1));
        let (start, place) = self.pieces[behind - 1];
        place + (at - start)
    }

    /// Whether all pieces between two places of the whole look like parts of a token, and not like
    /// the word that happens to begin the next line.
    fn goes_on_randomly(&self, after: usize, until: usize) -> bool {
        let mut ends: Vec<usize> = self.pieces.iter().skip(1).map(|piece| piece.0).collect();
        ends.push(self.text.len() - 1);
        let pieces = self.pieces.iter().zip(ends).filter(|(piece, _)| piece.1 > after);
        let mut any = false;
        for (&(start, place), end) in pieces.filter(|(piece, _)| piece.1 < until) {
            let piece = &self.text.as_bytes()[start..end];
            let digits = piece.iter().any(u8::is_ascii_digit);
            let letters = piece.iter().any(u8::is_ascii_alphabetic);
            if !digits || !letters || place + piece.len() != until && piece.len() < SHORTEST_MIDDLE
            {
                return false;
            }
            any = true;
        }
        any
    }
}

/// Where the run of characters of tokens ends that begins at `at`.
fn run_end(text: &[u8], at: usize) -> usize {
    let token = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
    };
    at + text[at..].iter().take(LONGEST).take_while(|byte| token(byte)).count()
}
