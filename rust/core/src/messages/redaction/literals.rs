//! Multi-literal scan: a filter of trigrams, then comparison.
//!
//! Nearly all strings of a transcript hold none of the literals, and nothing else of them is looked
//! at. So the cost of redaction is that of this scan: one pass, a lookup for each byte, however
//! many literals there are. Teddy (`aho_corasick::packed`) has to pass once for each 48 of them.

use crate::error::{Error, Interrupt, Result};

/// The table of trigrams has so many places, in bits: sparse, so that few bytes of a text meet one that
/// is taken; the places that a text asks for again and again stay in the first cache.
const HASH_BITS: u32 = 16;
/// Trigrams whose places are looked up before the first branch.
const BLOCK: usize = 8;
/// Bytes that are scanned between two looks at the interrupt.
const STEP: usize = 1 << 20;
/// Buckets there are at most: the table holds their places in a byte, and 0 is none.
const MAX_BUCKETS: usize = u8::MAX as usize;
/// Small letters of English by frequency. What is not among them is rarer.
const FREQUENT: &[u8; 26] = b"etaoinshrdlcumwfgypbvkjxqz";

/// A place where a literal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LiteralHit {
    pub at: usize,
    /// Which literal, by its place in the list.
    pub literal: usize,
}

#[derive(Debug)]
pub(super) struct LiteralScan {
    /// For each hash of a trigram: 0, or one more than the place of its bucket.
    table: Box<[u8; 1 << HASH_BITS]>,
    buckets: Vec<Vec<Candidate>>,
}

/// A literal, and how many bytes of it stand before its rarest trigram.
#[derive(Debug)]
struct Candidate {
    text: Box<[u8]>,
    trigram: u32,
    before: usize,
    literal: usize,
}

impl LiteralScan {
    /// Builds the scan; `None` if a literal is shorter than a trigram.
    pub fn new(literals: &[String]) -> Option<Self> {
        let mut table = Box::new([0; 1 << HASH_BITS]);
        let mut buckets: Vec<Vec<Candidate>> = Vec::new();
        for (literal, text) in literals.iter().enumerate() {
            let text: Box<[u8]> = text.as_bytes().into();
            let before = rarest_trigram(&text)?;
            let trigram = trigram(&text[before..]);
            let place = &mut table[hash(trigram)];
            if *place == 0 {
                // literals beyond the last bucket share one with others
                let bucket = match buckets.len() {
                    MAX_BUCKETS => literal % MAX_BUCKETS,
                    next => {
                        buckets.push(Vec::new());
                        next
                    }
                };
                *place = u8::try_from(bucket + 1).ok()?;
            }
            buckets[usize::from(*place) - 1].push(Candidate { text, trigram, before, literal });
        }
        Some(Self { table, buckets })
    }

    /// Puts the hits of a text into `hits`, in order of place.
    pub fn find(
        &self,
        text: &[u8],
        hits: &mut Vec<LiteralHit>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        hits.clear();
        let mut at = 0;
        let mut checked = 0;
        // the last trigram of a block ends two bytes behind it
        while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
            if self.is_candidate(block) {
                (at..at + BLOCK).for_each(|at| self.compare(text, at, hits));
            }
            at += BLOCK;
            if at - checked >= STEP {
                checked = at;
                if interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        (at..text.len().saturating_sub(2)).for_each(|at| self.compare(text, at, hits));
        hits.sort_unstable();
        Ok(())
    }

    /// Whether a literal may have its trigram at one of the first [`BLOCK`] bytes.
    #[inline]
    fn is_candidate(&self, block: &[u8; 16]) -> bool {
        let bytes = u128::from_le_bytes(*block);
        let (low, high) = (bytes as u64, (bytes >> 32) as u64);
        let mut any = 0;
        for at in 0..BLOCK / 2 {
            any |= self.table[hash((low >> (8 * at)) as u32)];
            any |= self.table[hash((high >> (8 * at)) as u32)];
        }
        any != 0
    }

    /// Adds the literals that have their trigram at `at`.
    fn compare(&self, text: &[u8], at: usize, hits: &mut Vec<LiteralHit>) {
        let trigram = trigram(&text[at..]);
        let Some(bucket) = usize::from(self.table[hash(trigram)]).checked_sub(1) else { return };
        for candidate in self.buckets[bucket].iter().filter(|found| found.trigram == trigram) {
            let start = at.checked_sub(candidate.before);
            if let Some(at) = start.filter(|&at| text[at..].starts_with(&candidate.text)) {
                hits.push(LiteralHit { at, literal: candidate.literal });
            }
        }
    }
}

/// The first three bytes of a text as a number.
fn trigram(text: &[u8]) -> u32 {
    match text {
        [a, b, c, ..] => u32::from_le_bytes([*a, *b, *c, 0]),
        _ => 0,
    }
}

/// The place of a trigram in the table; the fourth byte of the number is shifted out.
#[inline]
fn hash(trigram: u32) -> usize {
    ((trigram << 8).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

/// Where the trigram stands in a literal that is the rarest in text.
fn rarest_trigram(literal: &[u8]) -> Option<usize> {
    let rank = |byte: &u8| FREQUENT.iter().position(|c| c == byte).unwrap_or(FREQUENT.len());
    let rarity = |at: &usize| literal[*at..at + 3].iter().map(rank).sum::<usize>();
    (0..literal.len().checked_sub(2)?).max_by_key(rarity)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literals() -> Vec<String> {
        ["abc", "bcd", "abcd", "://", "password", "Password", "xoxb-", "\\u006"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn there_may_be_more_literals_than_buckets() {
        let literals: Vec<String> = (0..2000).map(|number| format!("{number:04}")).collect();
        let scan = LiteralScan::new(&literals).unwrap();
        assert_eq!(scan.buckets.len(), MAX_BUCKETS);
        let mut hits = Vec::new();
        for (literal, text) in literals.iter().enumerate() {
            scan.find(text.as_bytes(), &mut hits, &|| false).unwrap();
            assert_eq!(hits, [LiteralHit { at: 0, literal }]);
        }
    }

    proptest! {
        #[test]
        fn every_literal_is_found(parts in prop::collection::vec(prop_oneof![
            prop::sample::select(literals()),
            "[a-dx:/\\\\ ]{0,20}",
        ], 0..20)) {
            let (text, literals) = (parts.concat(), literals());
            let mut hits = Vec::new();
            LiteralScan::new(&literals).unwrap().find(text.as_bytes(), &mut hits, &|| false).unwrap();
            let mut expected = Vec::new();
            for at in 0..text.len() {
                let here = literals.iter().enumerate().filter(|(_, word)| text[at..].starts_with(*word));
                expected.extend(here.map(|(literal, _)| LiteralHit { at, literal }));
            }
            prop_assert_eq!(hits, expected);
        }
    }
}
