//! What the chunks of text that came lately are as words: they repeat, so this saves most of the
//! folding and stemming of a build.
//!
//! A dictionary of chunks takes four looks into far memory for each of them, which was a third of
//! a build. So short ones, which nearly all are, have in front of it a table that a core's own
//! cache holds, with all that is known of a chunk in one place.

use std::ops::Range;

use crate::index::dictionary::interner::Terms;

/// Chunks the memo holds before it starts anew, and the longest it takes.
const CHUNKS: usize = 1 << 18;
const LONGEST: usize = 96;
/// Places for short chunks, as a power of two: 97 of 100 are found there.
const RECENT_BITS: u32 = 15;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    /// Each short chunk has one place, and the last one that came has it.
    recent: Vec<Recent>,
    chunks: Terms,
    /// What is known of each of `chunks`.
    known: Vec<Known>,
    /// The words of those that have more than one.
    words: Vec<u32>,
}

/// The words of a chunk, and what it adds to the length of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Known {
    /// The word of a chunk that is one; else where in [`Memo::words`] they begin.
    first: u32,
    count: u16,
    /// What it adds to the length of a field.
    pub length: u16,
}

/// A short chunk.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Recent {
    key: [u64; 2],
    known: Known,
    /// Keeps the layout free of holes, and an entry half of a cache line.
    unused: u64,
}

impl Memo {
    /// Returns what is known of the chunk that lies there in a text.
    #[inline]
    pub fn get(&mut self, text: &str, span: &Range<usize>) -> Option<Known> {
        let Some(key) = short_in(text, span) else { return self.get_any(&text[span.clone()]) };
        let place = place(key);
        match self.recent.get(place) {
            Some(recent) if recent.key == key => Some(recent.known),
            _ => {
                let known = self.get_any(&text[span.clone()])?;
                self.keep(key, known);
                Some(known)
            }
        }
    }

    fn get_any(&self, chunk: &str) -> Option<Known> {
        let id = if chunk.len() > LONGEST { None } else { self.chunks.get(chunk) };
        id.map(|id| self.known[id as usize])
    }

    fn keep(&mut self, key: [u64; 2], known: Known) {
        if self.recent.is_empty() {
            self.recent = bytemuck::zeroed_vec(1 << RECENT_BITS);
        }
        self.recent[place(key)] = Recent { key, known, unused: 0 };
    }

    /// Returns the word that a folded word is as a chunk of its own, if it came lately.
    pub fn word(&self, word: &str) -> Option<u32> {
        let key = short(word).filter(|_| is_plain(word))?;
        let recent = self.recent.get(place(key)).filter(|recent| recent.key == key)?;
        Some(recent.known.first)
    }

    /// Notes that a folded word is a chunk of its own.
    pub fn note_word(&mut self, word: &str, id: u32, length: u32) {
        if let Some(key) = short(word).filter(|_| is_plain(word)) {
            self.keep(key, Known { first: id, count: 1, length: length as u16 });
        }
    }

    /// Returns the words of a chunk of which something is known.
    #[inline]
    pub fn words<'a>(&'a self, known: &'a Known) -> &'a [u32] {
        match known.count {
            1 => std::slice::from_ref(&known.first),
            count => &self.words[known.first as usize..][..count.into()],
        }
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.recent.len() * size_of::<Recent>()
            + self.chunks.bytes()
            + self.known.capacity() * size_of::<Known>()
            + self.words.capacity() * 4
    }

    /// Notes the words of a chunk, unless it is long, and what it adds to the length of a field.
    pub fn note(&mut self, chunk: &str, words: &[u32], length: u32) {
        if chunk.len() > LONGEST {
            return;
        }
        if self.chunks.len() >= CHUNKS {
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
        let known = Known { first, count: words.len() as u16, length: length as u16 };
        self.chunks.intern(chunk);
        self.known.push(known);
        if let Some(key) = short(chunk) {
            self.keep(key, known);
        }
    }
}

/// Says whether a chunk is surely one word, which is spelled as it is.
fn is_plain(chunk: &str) -> bool {
    chunk.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Returns a chunk of up to 16 bytes as numbers; no byte of a chunk is 0, so no two are the same.
#[inline]
fn short(chunk: &str) -> Option<[u64; 2]> {
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

/// As [`short`], for a chunk in a text: what is behind it is read too, so that no branch depends on
/// its length, which no processor can foretell.
#[inline]
fn short_in(text: &str, span: &Range<usize>) -> Option<[u64; 2]> {
    let (bytes, length) = (&text.as_bytes()[span.start..], span.len());
    let (Some(&[low, high]), Some(mask)) =
        (bytes.as_chunks::<8>().0.first_chunk::<2>(), MASKS.get(length))
    else {
        return short(&text[span.clone()]);
    };
    Some([u64::from_le_bytes(low) & mask[0], u64::from_le_bytes(high) & mask[1]])
}

/// The bits of so many bytes.
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
fn place(key: [u64; 2]) -> usize {
    // odd numbers without a pattern; the product's middle depends on all bits of both
    let product =
        u128::from(key[0] ^ 0x9e37_79b9_7f4a_7c15) * u128::from(key[1] ^ 0xd6e8_feb8_6659_fd93);
    ((product as u64 ^ (product >> 64) as u64) >> (u64::BITS - RECENT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// The plain twin is a map of all that was noted; there are more chunks than places.
    #[test]
    fn what_is_known_of_a_chunk_is_what_was_noted() {
        let (mut memo, mut twin) = (Memo::default(), HashMap::new());
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
            assert_eq!(short_in(&text, &span), short(&chunk));
            if let Some(known) = memo.get(&text, &span) {
                let found = (memo.words(&known).to_vec(), known.length);
                assert_eq!(Some(&found), twin.get(&chunk), "{chunk}");
            } else {
                assert!(chunk.len() > LONGEST || !twin.contains_key(&chunk), "{chunk}");
                memo.note(&chunk, &words, number % 7);
                twin.insert(chunk.clone(), (words, (number % 7) as u16));
            }
            let word = memo.word(&chunk);
            assert!(word.is_none_or(|word| twin[&chunk].0 == [word]), "{chunk}");
        }
    }
}
