//! Cache of tokenization results: the words of a chunk of text that was seen before.
//!
//! Chunks repeat, so the cache saves most of the folding and stemming of a build. A lookup in the
//! interner of chunks takes four cache misses, which was a third of a build. So short chunks, which
//! nearly all are, have a direct-mapped table in front of it that fits into a core's own cache.

use std::ops::Range;

use crate::index::dictionary::interner::Interner;
use crate::index::prefetch::prefetch;
use crate::text::language::detection::Vote;

/// Chunks that the cache holds before it is cleared.
const MAX_CHUNKS: usize = 1 << 18;
/// The longest chunk that is cached, in bytes.
const MAX_CHUNK_BYTES: usize = 96;
/// Slots for short chunks, as a power of two: 97 of 100 chunks are found there.
const SLOT_BITS: u32 = 15;

/// Chunks with their words.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenCache {
    /// The direct-mapped table of short chunks: a new chunk replaces the old one in its slot.
    short: Vec<ShortChunk>,
    chunks: Interner,
    /// The tokens of each of `chunks`.
    tokens: Vec<CachedTokens>,
    /// The words of chunks that have more than one.
    words: Vec<u32>,
}

/// A chunk of a text, with its key in the table if it is short.
#[derive(Debug, Clone)]
pub(crate) struct ChunkLookup {
    pub span: Range<usize>,
    key: Option<[u64; 2]>,
}

/// The words of a chunk, and what it adds to the length of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct CachedTokens {
    /// The word, if there is one; else where in [`TokenCache::words`] they begin.
    first: u32,
    count: u16,
    /// What it adds to the length of a field.
    pub length: u16,
    /// Its vote for a language.
    pub vote: Vote,
}

/// A slot of the table of short chunks.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct ShortChunk {
    key: [u64; 2],
    tokens: CachedTokens,
    /// Keeps the layout free of padding, and an entry half of a cache line.
    unused: u32,
}

impl TokenCache {
    /// Prefetches the slot of the chunk at `span` of a text.
    #[inline]
    pub fn prefetch(&self, text: &str, span: Range<usize>) -> ChunkLookup {
        let key = short_key_in(text, &span);
        prefetch(&self.short, key.map_or(0, slot));
        ChunkLookup { span, key }
    }

    /// Returns the tokens of a chunk of a text, if they are cached.
    #[inline]
    pub fn get(&mut self, text: &str, lookup: &ChunkLookup) -> Option<CachedTokens> {
        self.get_short(lookup).or_else(|| {
            let tokens = self.get_long(&text[lookup.span.clone()])?;
            lookup.key.into_iter().for_each(|key| self.insert_short(key, tokens));
            Some(tokens)
        })
    }

    /// Returns the tokens of a short chunk that was read lately.
    #[inline]
    pub fn get_short(&self, lookup: &ChunkLookup) -> Option<CachedTokens> {
        let key = lookup.key?;
        self.short.get(slot(key)).filter(|chunk| chunk.key == key).map(|chunk| chunk.tokens)
    }

    fn get_long(&self, chunk: &str) -> Option<CachedTokens> {
        let id = if chunk.len() > MAX_CHUNK_BYTES { None } else { self.chunks.get(chunk) };
        id.map(|id| self.tokens[id as usize])
    }

    fn insert_short(&mut self, key: [u64; 2], tokens: CachedTokens) {
        if self.short.is_empty() {
            self.short = bytemuck::zeroed_vec(1 << SLOT_BITS);
        }
        self.short[slot(key)] = ShortChunk { key, tokens, unused: 0 };
    }

    /// Returns the number of a folded word, if it is cached as a chunk of its own.
    pub fn word(&self, word: &str) -> Option<u32> {
        let key = short_key(word).filter(|_| is_plain(word))?;
        let chunk = self.short.get(slot(key)).filter(|chunk| chunk.key == key)?;
        Some(chunk.tokens.first)
    }

    /// Caches a folded word as a chunk of its own.
    pub fn insert_word(&mut self, word: &str, id: u32, length: u32, vote: Vote) {
        if let Some(key) = short_key(word).filter(|_| is_plain(word)) {
            let length = length as u16;
            self.insert_short(key, CachedTokens { first: id, count: 1, length, vote });
        }
    }

    /// Returns the words of cached tokens.
    #[inline]
    pub fn words<'a>(&'a self, tokens: &'a CachedTokens) -> &'a [u32] {
        match tokens.count {
            1 => std::slice::from_ref(&tokens.first),
            count => &self.words[tokens.first as usize..][..count.into()],
        }
    }

    /// Returns the bytes that the cache takes in cachery.
    pub fn bytes(&self) -> usize {
        self.short.len() * size_of::<ShortChunk>()
            + self.chunks.bytes()
            + self.tokens.capacity() * size_of::<CachedTokens>()
            + self.words.capacity() * 4
    }

    /// Caches the words of a chunk, unless it is long, what it adds to the length of a field, and
    /// its vote.
    pub fn insert(&mut self, chunk: &str, words: &[u32], length: u32, vote: Vote) {
        if chunk.len() > MAX_CHUNK_BYTES {
            return;
        }
        if self.chunks.len() >= MAX_CHUNKS {
            *self = Self::default();
        }
        let first = match words {
            [word] => *word,
            _ => {
                self.words.extend_from_slice(words);
                (self.words.len() - words.len()) as u32
            }
        };
        // a byte of the chunk gives at most two words, so both are small
        let (count, length) = (words.len() as u16, length as u16);
        let tokens = CachedTokens { first, count, length, vote };
        self.chunks.intern(chunk);
        self.tokens.push(tokens);
        if let Some(key) = short_key(chunk) {
            self.insert_short(key, tokens);
        }
    }
}

/// Says whether a chunk is certainly one word, and is its own folded form.
fn is_plain(chunk: &str) -> bool {
    chunk.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Returns a chunk of up to 16 bytes as a key; no byte of a chunk is 0, so no two have the same.
#[inline]
fn short_key(chunk: &str) -> Option<[u64; 2]> {
    let bytes = chunk.as_bytes();
    let number = |bytes: &[u8]| {
        // two halves that overlap need no loop over bytes
        let four = |at: usize| {
            u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
        };
        match bytes.len() {
            0 => 0,
            1..=3 => bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
            length => four(0) | four(length - 4) << (8 * (length - 4)),
        }
    };
    match bytes.len() {
        0..=8 => Some([number(bytes), 0]),
        9..=16 => Some([number(&bytes[..8]), number(&bytes[8..])]),
        _ => None,
    }
}

/// As [`short_key`], for a chunk in a text: bytes behind it are read and masked, so that no branch
/// depends on its length, which no processor can predict.
#[inline]
fn short_key_in(text: &str, span: &Range<usize>) -> Option<[u64; 2]> {
    let (bytes, length) = (&text.as_bytes()[span.start..], span.len());
    let (Some(&[low, high]), Some(mask)) =
        (bytes.as_chunks::<8>().0.first_chunk::<2>(), MASKS.get(length))
    else {
        return short_key(&text[span.clone()]);
    };
    Some([u64::from_le_bytes(low) & mask[0], u64::from_le_bytes(high) & mask[1]])
}

/// By length, the bits of so many bytes.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut length = 1;
    while length < masks.len() {
        let mask = u128::MAX >> (128 - 8 * length);
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

#[inline]
fn slot(key: [u64; 2]) -> usize {
    // odd numbers without regularity; the product's middle depends on all bits of both
    let product =
        u128::from(key[0] ^ 0x9e37_79b9_7f4a_7c15) * u128::from(key[1] ^ 0xd6e8_feb8_6659_fd93);
    ((product as u64 ^ (product >> 64) as u64) >> (u64::BITS - SLOT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::text::language::detection::vote_of;

    /// The reference is a hash map; there are more chunks than slots.
    #[test]
    fn the_cache_returns_what_was_inserted() {
        let (mut cache, mut reference) = (TokenCache::default(), HashMap::new());
        let votes = ["is", "ist", "il", "le", "el", "en", "word"].map(vote_of);
        for number in (0u32..60_000).chain(0..60_000) {
            let mixed = number.wrapping_mul(2_654_435_761);
            let chunk = match number % 4 {
                0 => format!("w{mixed:x}"),
                1 => format!("{number:x}-é数"),
                2 => format!("{number}/{mixed:x}/{}", "long".repeat(number as usize % 30)),
                _ => char::from_u32(number + 0x4e00).unwrap_or('x').to_string(),
            };
            let words: Vec<u32> = match is_plain(&chunk) {
                true => vec![number],
                false => (number..number + number % 5).collect(),
            };
            let (text, span) = (format!("{chunk} and what is behind"), 0..chunk.len());
            assert_eq!(short_key_in(&text, &span), short_key(&chunk));
            let lookup = cache.prefetch(&text, span);
            if let Some(tokens) = cache.get(&text, &lookup) {
                let found = (cache.words(&tokens).to_vec(), tokens.length);
                assert_eq!(tokens.vote, votes[usize::from(tokens.length)]);
                assert_eq!(Some(&found), reference.get(&chunk), "{chunk}");
            } else {
                assert!(
                    chunk.len() > MAX_CHUNK_BYTES || !reference.contains_key(&chunk),
                    "{chunk}"
                );
                cache.insert(&chunk, &words, number % 7, votes[number as usize % 7]);
                reference.insert(chunk.clone(), (words, (number % 7) as u16));
            }
            let word = cache.word(&chunk);
            assert!(word.is_none_or(|word| reference[&chunk].0 == [word]), "{chunk}");
        }
    }
}
