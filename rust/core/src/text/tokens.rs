//! Tokenizer: text to terms, the same for documents and queries.
//!
//! Each chunk of a text ([`crate::text::segmentation`]) gives its words (folded), the whole of an
//! identifier beside its parts, and what an unspaced run gives ([`crate::text::run_terms`]).

use std::ops::Range;

use crate::text::folding::fold;
use crate::text::language::{clitics, is_apostrophe, is_stop_word, is_unspaced};
use crate::text::prefix_filter::PrefixFilter;
use crate::text::run_terms::run_terms;
use crate::text::segmentation::is_word;
use crate::text::term::MAX_WORD;
pub use crate::text::term::{Term, TermForm};

/// Longest whole identifier that is kept, in bytes.
const MAX_WHOLE: usize = 48;

/// Hands out the terms of one chunk.
pub fn terms(chunk: &str, emit: &mut impl FnMut(Term<'_>)) {
    filtered_terms(chunk, None, emit);
}

/// Hands out the terms of one chunk, without those that the filter rules out.
pub fn filtered_terms(chunk: &str, filter: Option<&PrefixFilter>, emit: &mut impl FnMut(Term<'_>)) {
    match chunk.chars().next() {
        Some(c) if is_unspaced(c) => run_terms(chunk, filter, emit),
        Some(_) => word_terms(chunk, filter, emit),
        None => {}
    }
}

fn word_terms(chunk: &str, filter: Option<&PrefixFilter>, emit: &mut impl FnMut(Term<'_>)) {
    let passes = |text: &str| filter.is_none_or(|filter| filter.may_match(text.as_bytes()));
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
    if whole.len() <= MAX_WHOLE {
        let folded = fold(whole);
        let (form, counts) = (TermForm::Whole, false);
        emit(Term { text: &folded, spelled: whole, form, range, counts });
    }
}

/// Says whether a folded word counts for the length of a field.
pub fn has_length(word: &str) -> bool {
    !is_stop_word(word)
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
    let text = &folded[..folded.floor_char_boundary(MAX_WORD)];
    if text.is_empty() {
        return;
    }
    let (form, counts) = (TermForm::Word, has_length(text));
    emit(Term { text, spelled: word, form, range, counts });
}

/// Splits at everything but letters, digits, marks and inner apostrophes; drops a final clitic such as `'s`.
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
        let bare = clitics().iter().find_map(|ending| part.strip_suffix(ending));
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
    use crate::text::segmentation;

    fn all(text: &str, forms: &[TermForm]) -> Vec<String> {
        let mut found = Vec::new();
        segmentation::each(text, &mut |chunk| {
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
        assert_eq!(all(text, &[TermForm::Word]), words);
    }

    #[test]
    fn identifiers_give_parts_and_the_whole() {
        let forms = [TermForm::Word, TermForm::Whole];
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
        let forms = [TermForm::Character, TermForm::Pair];
        assert_eq!(all("数据\n库", &forms), ["数", "据", "数据", "库", "据库"]);
        assert_eq!(all("数据\n\n库", &forms), ["数", "据", "数据", "库"]);
        assert_eq!(all("用Rust写", &[TermForm::Character, TermForm::Word]), ["用", "rust", "写"]);
        assert_eq!(all("ไทย", &[TermForm::Pair]), ["ไทย"]);
    }
}
