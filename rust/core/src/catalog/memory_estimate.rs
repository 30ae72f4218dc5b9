//! Estimates of the memory that parsing and indexing a document takes, made before allocation.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

use crate::error::Interrupt;
use crate::text::{segmentation, tokens};

/// Most bytes of memory per byte of a message while it is extracted, and mostly of a note.
pub(crate) const EXTRACTION_FACTOR: u64 = 8;
/// Most bytes of memory per byte of any text in the index: of a word of three bytes.
const INDEXING_FACTOR: u64 = 128;
/// Most bytes that a word takes that is in one document only: in the dictionaries, in the counts of
/// the document, in a list of its own, each of which grows by doubling.
const BYTES_PER_WORD: u64 = 384;
/// Bytes of text that are read between two checks of the memory limit, or for an interrupt.
pub(crate) const CHECK_BYTES: usize = 1 << 16;
/// Size of the bitmap by which different words are counted, as a power of two.
const BITMAP_BITS: u32 = 22;

/// Returns how many bytes it takes at most to parse a note: what the parser makes of a mark or a
/// line is much larger than what it makes of a word.
pub(crate) fn parsing_bytes(text: &[u8]) -> u64 {
    let is_mark = |byte: &&u8| matches!(byte, b'\n' | b'\r' | b'*' | b'-' | b'+' | b'|' | b'>');
    4 * text.len() as u64 + 96 * text.iter().filter(is_mark).count() as u64
}

/// Returns how many bytes a document of some texts needs, if that is more than the limit allows;
/// `allows` returns whether it allows so many bytes more.
pub(crate) fn missing_memory<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    allows: impl Fn(u64) -> bool,
    interrupt: Interrupt<'_>,
) -> Option<u64> {
    let size: usize = texts.clone().map(str::len).sum();
    if allows(INDEXING_FACTOR * size as u64) {
        return None;
    }
    let mut needed = EXTRACTION_FACTOR * size as u64;
    if size > CHECK_BYTES {
        needed = needed.max(BYTES_PER_WORD * different_words(texts, interrupt));
    }
    (!allows(needed)).then_some(needed)
}

/// Estimates how many different words are in some texts, by linear counting: each word sets a bit,
/// and the share of bits that are not set gives the number of words.
fn different_words<'t>(texts: impl Iterator<Item = &'t str>, interrupt: Interrupt<'_>) -> u64 {
    let mut bitmap = vec![0u64; 1 << (BITMAP_BITS - 6)];
    for piece in texts.flat_map(|text| segmentation::pieces(text, CHECK_BYTES)) {
        if interrupt() {
            break;
        }
        segmentation::each(piece, &mut |chunk| {
            tokens::terms(chunk, &mut |term| {
                let mut hasher = FxHasher::default();
                hasher.write(term.text.as_bytes());
                let bit = hasher.finish() >> (u64::BITS - BITMAP_BITS);
                bitmap[bit as usize / 64] |= 1 << (bit % 64);
            });
        });
    }
    let unset: u32 = bitmap.iter().map(|bits| bits.count_zeros()).sum();
    let all = f64::from(1 << BITMAP_BITS);
    (all * (all / f64::from(unset.max(1))).ln()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_different_words_is_nearly_right() {
        let count = |text: &str| different_words([text].into_iter(), &|| false);
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
        let needs = |text: &str, most: u64| {
            missing_memory([text].into_iter(), |bytes| bytes <= most, &|| false)
        };
        assert_eq!(needs(&different, u64::MAX), None);
        assert_eq!(needs(&same, 16 << 20), None);
        assert!(needs(&different, 16 << 20).is_some_and(|bytes| bytes > 36 << 20));
    }
}
