//! Segmentation of a text into chunks, which can be tokenized one by one.
//!
//! A chunk is a word, an identifier or path such as `src/a-b.rs`, or a run of a script that is
//! written without spaces.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::text::ascii::{HIGH, first, is_word_byte, word_bytes};
use crate::text::language::{is_unspaced, runs_over_lines};

/// Bytes behind which a chunk ends where it can: neither a person nor a program writes so long a
/// name or sentence, and a chunk is analyzed without a look at whether the caller asks to stop.
const LONG_CHUNK: usize = 16 << 10;

const fn is_connector(c: char) -> bool {
    matches!(c, '\'' | '’' | '.' | '-' | '/' | ':' | '@' | '+')
}

pub(super) fn is_word(c: char) -> bool {
    if let Ok(byte) = u8::try_from(c)
        && byte.is_ascii()
    {
        return is_word_byte(byte);
    }
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c)
}

/// Hands out the chunks of a text, in order; they are slices of it.
pub fn each<'a>(text: &'a str, emit: &mut impl FnMut(&'a str)) {
    spans(text, &mut |span| emit(&text[span]));
}

/// Cuts a text into pieces that together have the chunks it has; each is about so many bytes long,
/// or longer where it can be cut nowhere.
pub fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece;
        (piece, rest) = rest.split_at(boundary(rest, size));
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns where the first chunk ends that does so behind so many bytes of a text.
fn boundary(text: &str, size: usize) -> usize {
    let mut at = 0;
    while text.len() > size && at <= size {
        match next_span(text, at) {
            Some(span) => at = span.end,
            None => return text.len(),
        }
    }
    if text.len() > size { at } else { text.len() }
}

/// Hands out where the chunks of a text lie, in order.
#[inline]
pub fn spans(text: &str, emit: &mut impl FnMut(Range<usize>)) {
    let mut at = 0;
    while let Some(span) = next_span(text, at) {
        at = span.end;
        emit(span);
    }
}

/// Returns where the first chunk lies that begins at `at` or behind; it depends on nothing before.
#[inline]
fn next_span(text: &str, mut at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    loop {
        at = first(bytes, at, |eight| word_bytes(eight) | eight & HIGH);
        if bytes.get(at)?.is_ascii() {
            return Some(at..word_end(text, at));
        }
        match next_char(text, at)? {
            c if is_unspaced(c) => return Some(at..run_end(text, at)),
            c if is_word(c) => return Some(at..word_end(text, at)),
            c => at += c.len_utf8(),
        }
    }
}

/// Returns a span around `at`, not before `from`, that falls into the same chunks alone as it
/// does within all of the text.
pub(super) fn isolated_span(text: &str, from: usize, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_boundary = |byte: &u8| IS_BOUNDARY[usize::from(*byte)];
    let start = bytes[from..at].iter().rposition(is_boundary).map_or(from, |back| from + back + 1);
    let (mut end, mut ascii_to) = (at + 1, start);
    loop {
        end += bytes[end..].iter().take_while(|byte| !is_boundary(byte)).count();
        // each byte is looked at once, however many boundaries there are
        ascii_to += bytes[ascii_to..end].iter().take_while(|byte| byte.is_ascii()).count();
        // white space within a run of Han is in its chunk
        let is_white = |at: usize| bytes.get(at).is_none_or(|byte| byte.is_ascii_whitespace());
        let ends_run =
            || !is_white(end) || bytes.get(end + 1).is_some_and(u8::is_ascii) && !is_white(end + 1);
        if end >= bytes.len() || ascii_to == end || ends_run() {
            return start..end;
        }
        end += 1;
    }
}

/// ASCII characters that no chunk of words holds.
const IS_BOUNDARY: [bool; 256] = {
    let mut is_boundary = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        is_boundary[byte] = !is_word_byte(c) && !is_connector(c as char) && c != b'#';
        byte += 1;
    }
    is_boundary
};

fn next_char(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Returns where the words joined by single connectors that begin at `at` end.
fn word_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    loop {
        loop {
            at = first(bytes, at, |eight| !word_bytes(eight) & HIGH);
            match bytes.get(at) {
                None => return at,
                Some(&byte) if IS_BOUNDARY[usize::from(byte)] => return at,
                Some(byte) if byte.is_ascii() => break,
                Some(_) => match next_char(text, at).filter(|&c| is_word(c)) {
                    Some(c) => at += c.len_utf8(),
                    None => break,
                },
            }
        }
        let Some(connector) = next_char(text, at).filter(|&c| is_connector(c) || c == '#') else {
            return at;
        };
        let after = at + connector.len_utf8();
        match next_char(text, after) {
            Some(c) if is_word(c) && connector != '#' && at - start < LONG_CHUNK => at = after,
            // C++, C#
            next if connector == '+' && next == Some('+') || connector == '#' => {
                let end = after + usize::from(connector == '+');
                return if next_char(text, end).is_some_and(is_word) { at } else { end };
            }
            _ => return at,
        }
    }
}

/// Returns where a run of an unspaced script ends; in Han and kana it goes on over a line end.
fn run_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut bridging = false;
    let mut last = ' ';
    for (offset, c) in text[start..].char_indices() {
        if offset >= LONG_CHUNK {
            break;
        }
        if is_unspaced(c) && (!bridging || runs_over_lines(c)) || !bridging && is_combining_mark(c)
        {
            end = start + offset + c.len_utf8();
            bridging = false;
            last = c;
        } else if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
            && runs_over_lines(last)
            && start + offset - end < 64
        {
            // an empty line is a boundary
            if c == '\n' && text[end..start + offset].contains('\n') {
                break;
            }
            bridging = true;
        } else {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks(text: &str) -> Vec<&str> {
        let mut chunks = Vec::new();
        each(text, &mut |chunk| chunks.push(chunk));
        chunks
    }

    proptest! {
        #[test]
        fn pieces_have_the_chunks_of_the_whole(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "word", "a", "é", "\u{301}", "数据", "库", "ไทย", "한", "ア", " ", "  ", "\n", "\r\n",
                    "\t", "\u{3000}", "\u{a0}", ".", "。", "+", "++", "#", "'", "’", "-", "/", ", ",
                    "!", "(", "_", "\u{1f600}", "\0",
                ]),
                0..40,
            ),
            size in 0usize..20,
        ) {
            let text = parts.concat();
            let pieces: Vec<&str> = pieces(&text, size).collect();
            prop_assert_eq!(pieces.concat(), &*text);
            let of_pieces: Vec<&str> = pieces.iter().flat_map(|piece| chunks(piece)).collect();
            prop_assert_eq!(of_pieces, chunks(&text), "{:?}", pieces);
        }
    }

    #[test]
    fn a_text_is_cut_where_it_can_be() {
        for text in ["some words ".repeat(100), "数据库。".repeat(100)] {
            assert!(pieces(&text, 64).all(|piece| (1..100).contains(&piece.len())), "{text}");
        }
    }

    #[test]
    fn a_chunk_without_an_end_is_cut() {
        for text in ["数据库".repeat(10_000), "ab/cd.e-".repeat(10_000), "数 据\n".repeat(10_000)]
        {
            let whole = chunks(&text);
            assert!(whole.iter().all(|chunk| chunk.len() <= LONG_CHUNK + 8), "{:.9}", text);
            assert!(whole.len() < 9, "{}", whole.len());
            let pieces: Vec<&str> = pieces(&text, 1 << 15).collect();
            assert!(pieces.iter().all(|piece| piece.len() < 1 << 16));
            assert_eq!(pieces.iter().flat_map(|piece| chunks(piece)).collect::<Vec<_>>(), whole);
        }
    }
}
