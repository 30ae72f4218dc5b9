//! Posting lists: packed blocks that are never changed, and a loose tail that grows.
//!
//! A packed list is, in this order: one entry a full block (last document, where its bytes begin,
//! its [`Bound`]), the blocks, and the rest of less than a block.
//! A block holds 128 documents as bit-packed gaps (crate `bitpacking`) and one byte each for the
//! pattern; 255 says that the number stands behind the block in full.

use bitpacking::{BitPacker, BitPacker4x};

/// Documents in a full block.
pub const BLOCK: usize = BitPacker4x::BLOCK_LEN;
/// What [`Cursor::document`] says behind the last posting.
pub const END: u32 = u32::MAX;

const ENTRY: usize = 13;
const ESCAPE: u8 = 255;

/// What is the most that the postings of a stretch can say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bound {
    /// The largest `tf~`.
    pub frequency: f32,
    /// Which of the fields that count once more occur at all, as bits.
    pub fields: u8,
}

impl Bound {
    /// Returns the bound of two stretches together.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { frequency: self.frequency.max(other.frequency), fields: self.fields | other.fields }
    }
}

/// One document that holds a term, and the pattern in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Posting {
    /// The document.
    pub document: u32,
    /// The number of its pattern.
    pub pattern: u32,
}

/// Appends a list, sorted by document, to `out`; `bound` gives what one posting says.
pub fn encode(list: &[Posting], bound: impl Fn(&Posting) -> Bound, out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let (full, rest) = list.as_chunks::<BLOCK>();
    let header = out.len();
    out.resize(header + full.len() * ENTRY, 0);
    let data = out.len();
    let mut previous = None;
    for (at, block) in full.iter().enumerate() {
        let documents = block.map(|posting| posting.document);
        let bits = packer.num_bits_strictly_sorted(previous, &documents);
        let mut packed = [0u8; BLOCK * 4];
        let length = packer.compress_strictly_sorted(previous, &documents, &mut packed, bits);
        let last = documents[BLOCK - 1];
        let most = block.iter().map(&bound).fold(Bound::default(), Bound::or);
        let entry = &mut out[header + at * ENTRY..][..ENTRY];
        entry[..4].copy_from_slice(&last.to_le_bytes());
        entry[8..12].copy_from_slice(&most.frequency.to_le_bytes());
        entry[12] = most.fields;
        let offset = (out.len() - data) as u32;
        out[header + at * ENTRY + 4..][..4].copy_from_slice(&offset.to_le_bytes());
        out.push(bits);
        out.extend_from_slice(&packed[..length]);
        out.extend(block.iter().map(|posting| code(posting.pattern)));
        for posting in block {
            if code(posting.pattern) == ESCAPE {
                out.extend_from_slice(&posting.pattern.to_le_bytes());
            }
        }
        previous = Some(last);
    }
    let mut next = previous.map_or(0, |last| last + 1);
    for posting in rest {
        varint(posting.document - next, out);
        out.push(code(posting.pattern));
        if code(posting.pattern) == ESCAPE {
            varint(posting.pattern, out);
        }
        next = posting.document + 1;
    }
}

fn code(pattern: u32) -> u8 {
    u8::try_from(pattern).unwrap_or(ESCAPE)
}

/// Appends a number in 7-bit groups, low group first.
pub fn varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `bytes`; 0 when there is none.
pub fn take_varint(bytes: &mut &[u8]) -> u32 {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else { break };
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// Walks one list in order of documents: packed blocks, their rest, then the loose tail.
pub struct Cursor<'a> {
    entries: &'a [u8],
    data: &'a [u8],
    rest: Vec<Posting>,
    tail: &'a [Posting],
    /// The block that [`Self::skip`] has reached.
    reached: usize,
    /// The block whose documents are in `documents`.
    decoded: usize,
    documents: [u32; BLOCK],
    codes: &'a [u8],
    /// Place in `documents`, or behind the blocks in `rest` and then `tail`.
    at: usize,
    current: u32,
    loose_bound: Bound,
}

impl<'a> Cursor<'a> {
    /// Opens a packed list of `count` postings that starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting]) -> Self {
        let blocks = count as usize / BLOCK;
        let (entries, data) = bytes.split_at(blocks * ENTRY);
        let mut cursor = Self {
            entries,
            data,
            rest: Vec::new(),
            tail,
            reached: 0,
            decoded: usize::MAX,
            documents: [0; BLOCK],
            codes: &[],
            at: 0,
            current: 0,
            loose_bound: Bound { frequency: f32::INFINITY, fields: u8::MAX },
        };
        cursor.read_rest(count as usize % BLOCK);
        cursor.seek(0);
        cursor
    }

    fn read_rest(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let mut next = 0;
        let mut bytes = self.data;
        if let Some(last) = self.blocks().checked_sub(1) {
            next = self.last(last) + 1;
            bytes = &self.data[self.end_of(last)..];
        }
        self.rest.reserve_exact(count);
        for _ in 0..count {
            let document = next + take_varint(&mut bytes);
            let code = bytes[0];
            bytes = &bytes[1..];
            let pattern = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
            self.rest.push(Posting { document, pattern });
            next = document + 1;
        }
    }

    fn blocks(&self) -> usize {
        self.entries.len() / ENTRY
    }

    fn word(&self, block: usize, at: usize) -> u32 {
        let start = block * ENTRY + at;
        let mut word = [0; 4];
        word.copy_from_slice(&self.entries[start..start + 4]);
        u32::from_le_bytes(word)
    }

    fn last(&self, block: usize) -> u32 {
        self.word(block, 0)
    }

    /// Returns where in `data` the codes of a block begin.
    fn codes_of(&self, block: usize) -> usize {
        let start = self.word(block, 4) as usize;
        start + 1 + self.data[start] as usize * BLOCK / 8
    }

    fn end_of(&self, block: usize) -> usize {
        let codes = self.codes_of(block);
        let escapes = memchr::memchr_iter(ESCAPE, &self.data[codes..codes + BLOCK]).count();
        codes + BLOCK + escapes * 4
    }

    /// Returns the postings between the packed blocks and the tail.
    pub fn rest(&self) -> &[Posting] {
        &self.rest
    }

    /// Says what the postings outside the packed blocks can say.
    pub fn set_loose_bound(&mut self, bound: Bound) {
        self.loose_bound = bound;
    }

    /// Returns the bound of the whole list, as it was when the blocks were packed.
    pub fn bound(&self) -> Bound {
        let packed = (0..self.blocks()).map(|block| self.block_bound(block));
        let loose = self.rest.len() + self.tail.len() > 0;
        packed.fold(if loose { self.loose_bound } else { Bound::default() }, Bound::or)
    }

    fn block_bound(&self, block: usize) -> Bound {
        let fields = self.entries[block * ENTRY + 12];
        Bound { frequency: f32::from_bits(self.word(block, 8)), fields }
    }

    /// Returns the current document, or [`END`].
    #[inline]
    pub fn document(&self) -> u32 {
        self.current
    }

    /// Returns the pattern of the current document.
    #[inline]
    pub fn pattern(&self) -> u32 {
        if self.reached >= self.blocks() {
            return match self.rest.get(self.at) {
                Some(posting) => posting.pattern,
                None => self.tail[self.at - self.rest.len()].pattern,
            };
        }
        self.packed_pattern()
    }

    #[inline]
    fn packed_pattern(&self) -> u32 {
        let code = self.codes[self.at];
        if code != ESCAPE {
            return u32::from(code);
        }
        let before = memchr::memchr_iter(ESCAPE, &self.codes[..self.at]).count();
        let start = BLOCK + before * 4;
        let mut word = [0; 4];
        word.copy_from_slice(&self.codes[start..start + 4]);
        u32::from_le_bytes(word)
    }

    /// Returns the end and the bound of the block that `document` would be in.
    ///
    /// Nothing is decoded; `document` must not go back.
    #[inline]
    pub fn skip(&mut self, document: u32) -> (u32, Bound) {
        let mut reached = self.reached;
        while reached < self.blocks() && self.last(reached) < document {
            reached += 1;
        }
        match reached < self.blocks() {
            true => (self.last(reached), self.block_bound(reached)),
            false => (END - 1, self.loose_bound),
        }
    }

    /// Moves to the next document.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
        if self.reached < self.blocks() {
            if self.at < BLOCK {
                self.current = self.documents[self.at];
                return;
            }
            self.reached += 1;
            self.at = 0;
            if self.reached < self.blocks() {
                self.decode();
                self.current = self.documents[0];
                return;
            }
        }
        self.current = self.loose_document();
    }

    /// Moves to the first document that is `target` or later; does nothing when already there.
    #[inline]
    pub fn seek(&mut self, target: u32) {
        if self.current >= target && self.decoded != usize::MAX {
            return;
        }
        if self.reached < self.blocks() {
            let before = self.reached;
            while self.reached < self.blocks() && self.last(self.reached) < target {
                self.reached += 1;
            }
            if self.reached < self.blocks() {
                let mut from = self.at;
                if self.reached != self.decoded {
                    self.decode();
                    from = 0;
                }
                // most steps are short: look near by before halving the rest of the block
                let near = (from + 8).min(BLOCK - 1);
                let (from, to) =
                    if self.documents[near] < target { (near, BLOCK) } else { (from, near) };
                let rest = &self.documents[from..to];
                self.at = from + rest.partition_point(|&document| document < target);
                self.current = self.documents[self.at];
                return;
            }
            if before < self.blocks() {
                self.at = 0;
            }
        }
        self.decoded = self.blocks();
        if self.at < self.rest.len() {
            self.at += self.rest[self.at..].partition_point(|posting| posting.document < target);
        }
        if self.at >= self.rest.len() {
            let at = self.at - self.rest.len();
            self.at += self.tail[at..].partition_point(|posting| posting.document < target);
        }
        self.current = self.loose_document();
    }

    fn loose_document(&self) -> u32 {
        match self.rest.get(self.at) {
            Some(posting) => posting.document,
            None => self.tail.get(self.at - self.rest.len()).map_or(END, |p| p.document),
        }
    }

    fn decode(&mut self) {
        let start = self.word(self.reached, 4) as usize;
        let bits = self.data[start];
        let previous = self.reached.checked_sub(1).map(|block| self.last(block));
        BitPacker4x::new().decompress_strictly_sorted(
            previous,
            &self.data[start + 1..],
            &mut self.documents,
            bits,
        );
        self.codes = &self.data[self.codes_of(self.reached)..];
        self.decoded = self.reached;
    }

    /// Moves behind `end` and hands out every posting that is passed.
    #[inline]
    pub fn walk(&mut self, end: u32, each: &mut impl FnMut(u32, u32)) {
        while self.current <= end {
            if self.reached < self.blocks() {
                while self.at < BLOCK && self.documents[self.at] <= end {
                    each(self.documents[self.at], self.packed_pattern());
                    self.at += 1;
                }
                // step back, so that the border of the block is passed in one place only
                self.at -= 1;
            } else {
                each(self.current, self.pattern());
            }
            self.advance();
        }
    }

    /// Returns every posting from here on.
    pub fn collect(mut self) -> Vec<Posting> {
        let mut all = Vec::new();
        while self.document() != END {
            all.push(Posting { document: self.document(), pattern: self.pattern() });
            self.advance();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lists() -> impl Strategy<Value = Vec<Posting>> {
        prop::collection::vec((1u32..2000, prop_oneof![9 => 0u32..20, 1 => 0u32..70_000]), 0..700)
            .prop_map(|gaps| {
                let mut document = 0;
                let mut list = Vec::new();
                for (gap, pattern) in gaps {
                    document += gap;
                    list.push(Posting { document: document - 1, pattern });
                }
                list
            })
    }

    proptest! {
        #[test]
        fn a_cursor_walks_and_seeks_like_the_plain_list(
            list in lists(),
            cut in 0usize..700,
            targets in prop::collection::vec(0u32..1_500_000, 0..40),
        ) {
            let (packed, tail) = list.split_at(cut.min(list.len()));
            let mut bytes = Vec::new();
            let bound = |posting: &Posting| Bound { frequency: posting.pattern as f32, fields: 1 };
            encode(packed, bound, &mut bytes);
            let cursor = || Cursor::new(&bytes, packed.len() as u32, tail);
            prop_assert_eq!(cursor().collect(), list.clone());
            let mut seeking = cursor();
            let mut least = 0;
            for target in targets {
                least = least.max(target);
                seeking.seek(target);
                let expected = list.iter().find(|posting| posting.document >= least);
                prop_assert_eq!(seeking.document(), expected.map_or(END, |p| p.document));
                if let Some(expected) = expected {
                    prop_assert_eq!(seeking.pattern(), expected.pattern);
                }
                let (end, bound) = seeking.skip(least);
                for posting in packed.iter().filter(|p| (least..=end).contains(&p.document)) {
                    prop_assert!(posting.pattern as f32 <= bound.frequency);
                    prop_assert!(bound.fields & 1 == 1);
                }
            }
        }
    }
}
