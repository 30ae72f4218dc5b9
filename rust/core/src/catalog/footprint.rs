//! Memory that a note or a message takes until it is in the index, told before it is asked for.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

use crate::error::Interrupt;
use crate::text::{chunks, tokens};

/// Bytes that are taken at most to draft a byte of a message, and mostly to parse one of a note.
pub(crate) const DRAFTED: u64 = 8;
/// Bytes that any text takes at most in the index, for a byte of it: a word of three bytes.
const MOST: u64 = 128;
/// Bytes that a word of a document takes at most that stands in no other: in the dictionaries, in
/// the counts of the document, in a list of its own, each of which grows by doubling.
const WORD: u64 = 384;
/// Bytes of text that are read before something is asked again.
pub(crate) const STEP: usize = 1 << 16;
/// Bits by which words are told from each other, as a power of two.
const BITS: u32 = 22;

/// Returns how many bytes it takes at most to parse a note: what the parser makes of a mark or a
/// line is much larger than what it makes of a word.
pub(crate) fn parsing_bytes(text: &[u8]) -> u64 {
    let is_mark = |byte: &&u8| matches!(byte, b'\n' | b'\r' | b'*' | b'-' | b'+' | b'|' | b'>');
    4 * text.len() as u64 + 96 * text.iter().filter(is_mark).count() as u64
}

/// Returns how many bytes a document of some texts needs, if that is more than there are; `allows`
/// says of a number of bytes whether there are so many.
pub(crate) fn shortage<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    allows: impl Fn(u64) -> bool,
    interrupt: Interrupt<'_>,
) -> Option<u64> {
    let size: usize = texts.clone().map(str::len).sum();
    if allows(MOST * size as u64) {
        return None;
    }
    let mut needed = DRAFTED * size as u64;
    if size > STEP {
        needed = needed.max(WORD * words(texts, interrupt));
    }
    (!allows(needed)).then_some(needed)
}

/// Returns about how many different words are in some texts, by linear counting: each word marks a
/// bit, and the share of bits that nothing marked tells how many words there are.
fn words<'t>(texts: impl Iterator<Item = &'t str>, interrupt: Interrupt<'_>) -> u64 {
    let mut marked = vec![0u64; 1 << (BITS - 6)];
    for piece in texts.flat_map(|text| chunks::pieces(text, STEP)) {
        if interrupt() {
            break;
        }
        chunks::each(piece, &mut |chunk| {
            tokens::terms(chunk, &mut |term| {
                let mut hasher = FxHasher::default();
                hasher.write(term.text.as_bytes());
                let bit = hasher.finish() >> (u64::BITS - BITS);
                marked[bit as usize / 64] |= 1 << (bit % 64);
            });
        });
    }
    let free: u32 = marked.iter().map(|bits| bits.count_zeros()).sum();
    let all = f64::from(1 << BITS);
    (all * (all / f64::from(free.max(1))).ln()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_words_are_counted_nearly() {
        let count = |text: &str| words([text].into_iter(), &|| false);
        for words in [0u64, 1, 1000, 300_000] {
            let text: String = (0..3 * words).map(|n| format!("w{} ", n % words)).collect();
            let found = count(&text);
            assert!(found.abs_diff(words) <= words / 50, "{found} of {words}");
        }
        assert!((2..5).contains(&count("数据数据数")));
    }

    #[test]
    fn many_different_words_need_more_than_one_that_comes_back() {
        let different: String = (0..100_000).map(|n| format!("{n}x ")).collect();
        let same = "word ".repeat(different.len() / 5);
        let needs =
            |text: &str, most: u64| shortage([text].into_iter(), |bytes| bytes <= most, &|| false);
        assert_eq!(needs(&different, u64::MAX), None);
        assert_eq!(needs(&same, 16 << 20), None);
        assert!(needs(&different, 16 << 20).is_some_and(|bytes| bytes > 36 << 20));
    }
}
