//! Text → terms, the same for documents and queries.
//!
//! Text falls into *chunks*, which can be read one by one whatever stands around them: a word, an
//! identifier or path such as `src/a-b.rs`, or a run of a script that is written without spaces.
//! A chunk gives its words (folded), the whole of an
//! identifier beside its parts, and the characters and pairs of characters of an unspaced run.
//! Folding is NFKC, case and accents.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::text::starts::Starts;
use crate::text::stems::is_stop_word;

/// Longest word and longest whole identifier that are kept, in bytes; words are cut, wholes left.
const LONGEST_WORD: usize = 64;
const LONGEST_WHOLE: usize = 48;

/// What a term is of its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A folded word.
    Word,
    /// An identifier in one piece.
    Whole,
    /// Two neighbouring characters of an unspaced script.
    Pair,
    /// One character of an unspaced script.
    Character,
}

/// One term of a chunk.
#[derive(Debug)]
pub struct Term<'a> {
    /// As it stands in the dictionary.
    pub text: &'a str,
    /// What it is.
    pub form: Form,
    /// Bytes in the chunk.
    pub range: Range<usize>,
    /// Whether it counts for the length of its field: no stop word, and once a word.
    pub counts: bool,
}

const fn is_connector(c: char) -> bool {
    matches!(c, '\'' | '’' | '.' | '-' | '/' | ':' | '@' | '+')
}

/// Scripts written without spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    is_ideographic(c)
        || matches!(c as u32,
            0x0E00..=0x0EFF // Thai, Lao
            | 0x1000..=0x109F // Myanmar
            | 0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF // Hangul
            | 0x1780..=0x17FF // Khmer
        )
}

/// Han, kana and what stands for them: here a line end may fall within a word.
fn is_ideographic(c: char) -> bool {
    matches!(c as u32,
        0x3005..=0x3007 | 0x3021..=0x3029
        | 0x3041..=0x3096 | 0x309D..=0x309F // Hiragana
        | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F // Katakana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF // Han
    )
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
pub fn chunks<'a>(text: &'a str, emit: &mut impl FnMut(&'a str)) {
    spans(text, &mut |span| emit(&text[span]));
}

/// Hands out where the chunks of a text lie, in order.
#[inline]
pub fn spans(text: &str, emit: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at = first(bytes, at, |eight| word_bytes(eight) | eight & HIGH);
        let end = match bytes.get(at) {
            None => return,
            Some(byte) if byte.is_ascii() => word_end(text, at),
            Some(_) => match next_char(text, at) {
                Some(c) if is_unspaced(c) => run_end(text, at),
                Some(c) if is_word(c) => word_end(text, at),
                Some(c) => {
                    at += c.len_utf8();
                    continue;
                }
                None => return,
            },
        };
        emit(at..end);
        at = end;
    }
}

/// The highest bit of each of eight bytes.
const HIGH: u64 = each(0x80);

const fn each(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// Returns the highest bit of those of eight bytes of which [`is_word_byte`] says yes.
#[inline]
const fn word_bytes(eight: u64) -> u64 {
    // a byte below 0x80 reaches it by the sum if it is `least` or more, and none carries
    const fn from(seven_bits: u64, least: u8) -> u64 {
        seven_bits + each(0x80 - least)
    }
    let ascii = eight & !HIGH;
    let small = ascii | each(0x20);
    let letters = from(small, b'a') & !from(small, b'z' + 1);
    let digits = from(ascii, b'0') & !from(ascii, b'9' + 1);
    let underscores = !from(ascii ^ each(b'_'), 1);
    (letters | digits | underscores) & !eight & HIGH
}

/// Returns the first place from `at` on whose highest bit `marked` sets.
///
/// Eight at a time, for how long a word is no processor can foretell.
#[inline]
fn first(bytes: &[u8], mut at: usize, marked: impl Fn(u64) -> u64) -> usize {
    while let Some((eight, _)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk) {
        match marked(u64::from_le_bytes(*eight)) {
            0 => at += 8,
            found => return at + found.trailing_zeros() as usize / 8,
        }
    }
    let is_marked = |byte: &u8| marked(u64::from(*byte)) & 0x80 > 0;
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(is_marked).unwrap_or(rest.len())
}

/// Says of an ASCII character what [`is_word`] does.
#[inline]
const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns a stretch around `at`, not before `from`, that falls into the same chunks alone as it
/// does within all of the text.
pub(super) fn apart(text: &str, from: usize, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_border = |byte: &u8| IS_BORDER[usize::from(*byte)];
    let start = bytes[from..at].iter().rposition(is_border).map_or(from, |back| from + back + 1);
    let (mut end, mut ascii_to) = (at + 1, start);
    loop {
        end += bytes[end..].iter().take_while(|byte| !is_border(byte)).count();
        // each byte is looked at once, however many borders there are
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
const IS_BORDER: [bool; 256] = {
    let mut is_border = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        is_border[byte] = !is_word_byte(c) && !is_connector(c as char) && c != b'#';
        byte += 1;
    }
    is_border
};

fn next_char(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Returns where the words joined by single connectors that begin at `at` end.
fn word_end(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        loop {
            at = first(bytes, at, |eight| !word_bytes(eight) & HIGH);
            match bytes.get(at) {
                None => return at,
                Some(&byte) if IS_BORDER[usize::from(byte)] => return at,
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
            Some(c) if is_word(c) && connector != '#' => at = after,
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
        if is_unspaced(c) && (!bridging || is_ideographic(c)) || !bridging && is_combining_mark(c) {
            end = start + offset + c.len_utf8();
            bridging = false;
            last = c;
        } else if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
            && is_ideographic(last)
            && start + offset - end < 64
        {
            // an empty line is a border
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

/// Returns a word without case, accents and compatibility forms.
pub fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        };
    }
    // upper case first: that is where ß becomes ss and all sigmas become one
    let folded = word.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).nfc().collect()
}

/// Hands out the terms of one chunk.
pub fn terms(chunk: &str, emit: &mut impl FnMut(Term<'_>)) {
    terms_like(chunk, None, emit);
}

/// Hands out the terms of one chunk, leaving out what begins otherwise than what is sought.
pub fn terms_like(chunk: &str, sought: Option<&Starts>, emit: &mut impl FnMut(Term<'_>)) {
    match chunk.chars().next() {
        Some(c) if is_unspaced(c) => run_terms(chunk, sought, emit),
        Some(_) => word_terms(chunk, sought, emit),
        None => {}
    }
}

fn run_terms(run: &str, sought: Option<&Starts>, emit: &mut impl FnMut(Term<'_>)) {
    // what begins a pair that may be sought, and its place
    let mut previous: Option<(Cow<'_, str>, usize)> = None;
    for (at, c) in run.char_indices() {
        if !is_unspaced(c) {
            continue;
        }
        let range = at..at + c.len_utf8();
        let plain = &run[range.clone()];
        // half-width kana and compatibility Han
        let folded = if c as u32 >= 0xF900 { fold(plain) } else { plain.into() };
        let begins = sought.is_none_or(|starts| starts.may_begin_run(c));
        if begins {
            let range = range.clone();
            emit(Term { text: &folded, form: Form::Character, range, counts: true });
        }
        if let Some((first, start)) = previous {
            let range = start..range.end;
            let pair = match (&first, &folded) {
                (Cow::Borrowed(_), Cow::Borrowed(_)) if start + first.len() == at => {
                    Cow::Borrowed(&run[range.clone()])
                }
                _ => Cow::Owned(format!("{first}{folded}")),
            };
            emit(Term { text: &pair, form: Form::Pair, range, counts: false });
        }
        previous = begins.then_some((folded, at));
    }
}

fn word_terms(chunk: &str, sought: Option<&Starts>, emit: &mut impl FnMut(Term<'_>)) {
    let passes = |text: &str| sought.is_none_or(|starts| starts.may_begin(text.as_bytes()));
    if chunk.bytes().all(|byte| byte.is_ascii_lowercase()) {
        // by far the most frequent kind of chunk, and all of it is one word
        if passes(chunk) {
            word_term(chunk, 0..chunk.len(), emit);
        }
        return;
    }
    let mut parts = 0;
    for part in parts_of(chunk) {
        let text = &chunk[part.clone()];
        parts += 1;
        let mut pieces = 0;
        for piece in pieces_of(text) {
            pieces += 1;
            let range = part.start + piece.start..part.start + piece.end;
            if passes(&text[piece.clone()]) {
                word_term(&text[piece], range, emit);
            }
        }
        if pieces > 1 && passes(text) {
            let whole: String = text.chars().filter(|c| !is_apostrophe(*c)).collect();
            whole_term(&whole, part, emit);
        }
    }
    if (parts > 1 || chunk.ends_with(['+', '#'])) && passes(chunk) {
        whole_term(chunk, 0..chunk.len(), emit);
    }
}

fn whole_term(whole: &str, range: Range<usize>, emit: &mut impl FnMut(Term<'_>)) {
    if whole.len() <= LONGEST_WHOLE {
        let folded = fold(whole);
        emit(Term { text: &folded, form: Form::Whole, range, counts: false });
    }
}

fn word_term(word: &str, range: Range<usize>, emit: &mut impl FnMut(Term<'_>)) {
    let mut folded = fold(word);
    let apostrophes = match folded.is_ascii() {
        true => folded.as_bytes().contains(&b'\''),
        false => folded.contains(is_apostrophe),
    };
    if apostrophes {
        folded.to_mut().retain(|c| !is_apostrophe(c));
    }
    let text = &folded[..folded.floor_char_boundary(LONGEST_WORD)];
    if text.is_empty() {
        return;
    }
    emit(Term { text, form: Form::Word, range, counts: !is_stop_word(text) });
}

pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Splits at everything but letters, digits, marks and inner apostrophes; drops a final `'s`.
fn parts_of(chunk: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let inside = |c: char| c != '_' && is_word(c);
        let start = at + chunk[at..].find(inside)?;
        let mut end = start;
        loop {
            // nearly all of it
            let letters = chunk.as_bytes()[end..].iter();
            end += letters.take_while(|byte| byte.is_ascii_alphanumeric()).count();
            let mut rest = chunk[end..].chars();
            let Some(c) = rest.next() else { break };
            let joins = is_apostrophe(c) && rest.next().is_some_and(char::is_alphabetic);
            if !(inside(c) || joins) {
                break;
            }
            end += c.len_utf8();
        }
        at = end;
        let part = &chunk[start..end];
        let bare = ["'s", "'S", "’s", "’S"].iter().find_map(|ending| part.strip_suffix(ending));
        Some(start..start + bare.unwrap_or(part).len())
    })
}

/// Splits `getUserName` and `HTTPServer` where a new word begins.
fn pieces_of(part: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = part.get(at..).filter(|rest| !rest.is_empty())?;
        // small letters and digits begin no word
        let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        let first = usize::from(rest.as_bytes()[0].is_ascii());
        let start = first + rest.as_bytes()[first..].iter().take_while(|b| plain(b)).count();
        let mut before = start.checked_sub(1).map(|last| char::from(rest.as_bytes()[last]));
        let mut chars = rest[start..].char_indices().peekable();
        let mut end = rest.len();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|&(_, c)| c);
            let begins = before.is_some_and(|before: char| {
                c.is_uppercase()
                    && (before.is_lowercase()
                        || before.is_numeric()
                        || before.is_uppercase() && next.is_some_and(char::is_lowercase))
            });
            if begins {
                end = start + offset;
                break;
            }
            before = Some(c);
        }
        let piece = at..at + end;
        at += end;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, forms: &[Form]) -> Vec<String> {
        let mut found = Vec::new();
        chunks(text, &mut |chunk| {
            terms(chunk, &mut |term| {
                assert!(chunk.get(term.range.clone()).is_some(), "{chunk} {term:?}");
                if forms.contains(&term.form) {
                    found.push(term.text.to_owned());
                }
            });
        });
        found
    }

    #[test]
    fn words_are_folded() {
        let text = "Straße CAFÉ ﬁnd İstanbul Running don't Alice's";
        let words = ["strasse", "cafe", "find", "istanbul", "running", "dont", "alice"];
        assert_eq!(all(text, &[Form::Word]), words);
    }

    #[test]
    fn eight_bytes_at_once_are_told_as_each() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut eight = [b' ', 0xff, 0, b'a'].repeat(2);
                eight[place] = byte;
                let told = word_bytes(u64::from_le_bytes(eight.clone().try_into().unwrap()));
                for (place, &byte) in eight.iter().enumerate() {
                    let is_word = told >> (8 * place) & 0xff == 0x80;
                    assert_eq!(is_word, is_word_byte(byte), "{byte}");
                    assert_eq!(told & 0x7f << (8 * place), 0);
                }
                for from in 0..=eight.len() {
                    let twin = eight[from..].iter().position(|&byte| is_word_byte(byte));
                    let twin = twin.map_or(eight.len(), |at| from + at);
                    assert_eq!(first(&eight, from, word_bytes), twin);
                }
            }
        }
    }

    #[test]
    fn identifiers_give_parts_and_the_whole() {
        let forms = [Form::Word, Form::Whole];
        assert_eq!(all("getUserName", &forms), ["get", "user", "name", "getusername"]);
        assert_eq!(all("snake_case", &forms), ["snake", "case", "snake_case"]);
        assert_eq!(all("src/a-b.rs", &forms), ["src", "a", "b", "rs", "src/a-b.rs"]);
        assert_eq!(all("v1.2.3", &forms), ["v1", "2", "3", "v1.2.3"]);
        assert_eq!(all("HTTPServer", &forms), ["http", "server", "httpserver"]);
        assert_eq!(
            all("--flag C++ C# gpt-4o.", &forms),
            ["flag", "c", "c++", "c", "c#", "gpt", "4o", "gpt-4o"]
        );
    }

    #[test]
    fn unspaced_scripts_give_characters_and_pairs() {
        let forms = [Form::Character, Form::Pair];
        assert_eq!(all("数据\n库", &forms), ["数", "据", "数据", "库", "据库"]);
        assert_eq!(all("数据\n\n库", &forms), ["数", "据", "数据", "库"]);
        assert_eq!(all("用Rust写", &[Form::Character, Form::Word]), ["用", "rust", "写"]);
        assert_eq!(all("ไทย", &[Form::Pair]), ["ไท", "ทย"]);
    }
}
