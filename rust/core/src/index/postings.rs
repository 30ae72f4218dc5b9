//! Posting lists: packed blocks that are never changed, and a loose tail that grows.
//!
//! A packed list is, in this order: one entry a full block (last document, where its bytes begin,
//! its [`Impact`]), the blocks, and the rest of less than a block. A block holds 128 documents as
//! bit-packed gaps (crate `bitpacking`), one byte each for the impact, and one byte each for the
//! pattern; 255 says that the number stands behind the block in full.

use bitpacking::{BitPacker, BitPacker4x};

/// Documents in a full block.
pub const BLOCK: usize = BitPacker4x::BLOCK_LEN;
/// What [`Cursor::document`] says behind the last posting.
pub const END: u32 = u32::MAX;

const ENTRY: usize = 11;
const ESCAPE: u8 = 255;

/// One document that holds a concept, and the pattern in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Posting {
    /// The document.
    pub document: u32,
    /// The number of its pattern.
    pub pattern: u32,
}

/// How much a posting, or the best of a stretch of them, can say: never too little.
///
/// Two bytes a posting tell whether a document is worth scoring, at a tenth of what scoring costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Impact {
    /// `tf~ / (k1 + tf~)` in 255ths, rounded up.
    pub saturation: u8,
    /// The same of headings and titles alone.
    pub heading: u8,
    /// Whether it stands in a speaker's name.
    pub speaker: bool,
}

impl Impact {
    /// More than any posting says.
    pub const MOST: Self = Self { saturation: u8::MAX, heading: u8::MAX, speaker: true };

    /// Rounds two saturations, from 0 to 1, up.
    pub fn new(saturation: f32, heading: f32, speaker: bool) -> Self {
        // with room for how f32 rounds
        let level = |part: f32| (part * 255.0 * 1.000_01).ceil().min(255.0) as u8;
        Self { saturation: level(saturation), heading: level(heading), speaker }
    }

    /// Returns the impact of two stretches together.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            saturation: self.saturation.max(other.saturation),
            heading: self.heading.max(other.heading),
            speaker: self.speaker | other.speaker,
        }
    }

    fn to_bytes(self) -> [u8; 3] {
        [self.saturation, self.heading, u8::from(self.speaker)]
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self { saturation: bytes[0], heading: bytes[1], speaker: bytes[2] > 0 }
    }
}

/// Appends a list, sorted by document, to `out`; `impact` says how much each posting can say.
pub fn encode(list: &[Posting], impact: impl Fn(&Posting) -> Impact, out: &mut Vec<u8>) {
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
        let impacts = block.each_ref().map(&impact);
        let most = impacts.iter().copied().fold(Impact::default(), Impact::or);
        let offset = (out.len() - data) as u32;
        let entry = &mut out[header + at * ENTRY..][..ENTRY];
        entry[..4].copy_from_slice(&last.to_le_bytes());
        entry[4..8].copy_from_slice(&offset.to_le_bytes());
        entry[8..].copy_from_slice(&most.to_bytes());
        out.push(bits);
        out.extend_from_slice(&packed[..length]);
        out.extend(impacts.iter().map(|impact| impact.saturation));
        out.extend(impacts.iter().map(|impact| impact.heading));
        out.extend(block.iter().map(|posting| code(posting.pattern)));
        for posting in block.iter().filter(|posting| code(posting.pattern) == ESCAPE) {
            out.extend_from_slice(&posting.pattern.to_le_bytes());
        }
        previous = Some(last);
    }
    let mut next = previous.map_or(0, |last| last + 1);
    for posting in rest {
        varint(posting.document - next, out);
        out.extend_from_slice(&impact(posting).to_bytes());
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

/// Reads one list: walks it in order of documents, or finds single documents in it.
pub struct Cursor<'a> {
    entries: &'a [u8],
    data: &'a [u8],
    rest: Vec<(Posting, Impact)>,
    tail: &'a [Posting],
    tail_impact: Impact,
    walked: Unpacked,
    /// Place in the block, or behind the blocks in `rest` and then `tail`.
    at: usize,
    current: u32,
    found: Unpacked,
}

/// The documents of one block.
struct Unpacked {
    block: usize,
    documents: [u32; BLOCK],
}

impl Unpacked {
    const NONE: Self = Self { block: usize::MAX, documents: [0; BLOCK] };
}

impl<'a> Cursor<'a> {
    /// Opens a packed list of `count` postings at the front of `bytes`, and what came since.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting], tail_impact: Impact) -> Self {
        let blocks = count as usize / BLOCK;
        let (entries, data) = bytes.split_at(blocks * ENTRY);
        let mut cursor = Self {
            entries,
            data,
            rest: Vec::new(),
            tail,
            tail_impact,
            walked: Unpacked { block: 0, ..Unpacked::NONE },
            at: 0,
            current: 0,
            found: Unpacked::NONE,
        };
        cursor.read_rest(count as usize % BLOCK);
        cursor.enter();
        cursor
    }

    fn read_rest(&mut self, count: usize) {
        let mut next = 0;
        let mut bytes = self.data;
        if let Some(last) = self.blocks().checked_sub(1).filter(|_| count > 0) {
            next = self.last(last) + 1;
            let codes = self.codes(last);
            let escapes = memchr::memchr_iter(ESCAPE, &codes[..BLOCK]).count();
            bytes = &codes[BLOCK + escapes * 4..];
        }
        self.rest.reserve_exact(count);
        for _ in 0..count {
            let document = next + take_varint(&mut bytes);
            let (impact, code) = (Impact::from_bytes(bytes), bytes[3]);
            bytes = &bytes[4..];
            let pattern = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
            self.rest.push((Posting { document, pattern }, impact));
            next = document + 1;
        }
    }

    fn blocks(&self) -> usize {
        self.entries.len() / ENTRY
    }

    #[inline]
    fn word(&self, block: usize, at: usize) -> u32 {
        let start = block * ENTRY + at;
        let mut word = [0; 4];
        word.copy_from_slice(&self.entries[start..start + 4]);
        u32::from_le_bytes(word)
    }

    #[inline]
    fn last(&self, block: usize) -> u32 {
        self.word(block, 0)
    }

    fn impact(&self, block: usize) -> Impact {
        Impact::from_bytes(&self.entries[block * ENTRY + 8..])
    }

    /// Returns the impacts of a block, with the codes behind them.
    fn impacts(&self, block: usize) -> &'a [u8] {
        let start = self.word(block, 4) as usize;
        &self.data[start + 1 + self.data[start] as usize * BLOCK / 8..]
    }

    /// Returns the codes of a block, with the numbers in full behind them.
    fn codes(&self, block: usize) -> &'a [u8] {
        &self.impacts(block)[2 * BLOCK..]
    }

    fn unpack(&self, block: usize, into: &mut [u32; BLOCK]) {
        let start = self.word(block, 4) as usize;
        let previous = block.checked_sub(1).map(|block| self.last(block));
        let (bits, packed) = (self.data[start], &self.data[start + 1..]);
        BitPacker4x::new().decompress_strictly_sorted(previous, packed, into, bits);
    }

    /// Returns how much the whole list can say.
    pub fn most(&self) -> Impact {
        let packed = (0..self.blocks()).map(|block| self.impact(block));
        packed.fold(self.loose(), Impact::or)
    }

    fn loose(&self) -> Impact {
        let tail = if self.tail.is_empty() { Impact::default() } else { self.tail_impact };
        self.rest.iter().map(|(_, impact)| *impact).fold(tail, Impact::or)
    }

    /// Returns the document that the walk has come to, or [`END`].
    #[inline]
    pub fn document(&self) -> u32 {
        self.current
    }

    /// Takes up the block or loose posting that the walk stands before.
    fn enter(&mut self) {
        if self.walked.block < self.blocks() {
            let mut documents = self.walked.documents;
            self.unpack(self.walked.block, &mut documents);
            self.walked.documents = documents;
            self.current = documents[self.at];
        } else {
            self.current = self.loose_document(self.at);
        }
    }

    fn loose_document(&self, at: usize) -> u32 {
        match self.rest.get(at) {
            Some((posting, _)) => posting.document,
            None => self.tail.get(at - self.rest.len()).map_or(END, |posting| posting.document),
        }
    }

    /// Moves the walk to the first document that is `target` or later.
    pub fn seek(&mut self, target: u32) {
        if self.current >= target {
            return;
        }
        let from = self.walked.block;
        while self.walked.block < self.blocks() && self.last(self.walked.block) < target {
            self.walked.block += 1;
        }
        if self.walked.block > from {
            self.at = 0;
            self.enter();
        }
        if self.walked.block < self.blocks() {
            let behind = &self.walked.documents[self.at..];
            self.at += behind.partition_point(|&document| document < target);
            self.current = self.walked.documents[self.at];
            return;
        }
        if self.at < self.rest.len() {
            self.at += self.rest[self.at..].partition_point(|(p, _)| p.document < target);
        }
        if self.at >= self.rest.len() {
            let behind = &self.tail[self.at - self.rest.len()..];
            self.at += behind.partition_point(|posting| posting.document < target);
        }
        self.current = self.loose_document(self.at);
    }

    /// Returns the end and the impact of the block that `document` is or would be in.
    ///
    /// Nothing is unpacked; `document` must not lie before the walk.
    #[inline]
    pub fn block_at(&self, document: u32) -> (u32, Impact) {
        let mut block = self.walked.block;
        while block < self.blocks() && self.last(block) < document {
            block += 1;
        }
        match block < self.blocks() {
            true => (self.last(block), self.impact(block)),
            false => (END - 1, self.loose()),
        }
    }

    /// Moves the walk behind `end` and hands out the documents that are passed, each with its
    /// saturation, that of headings, and the code of its pattern: the number if below 255, else 255.
    #[inline]
    pub fn walk(&mut self, end: u32, mut each: impl FnMut(u32, u8, u8, u8)) {
        while self.current <= end {
            if self.walked.block < self.blocks() {
                let (saturations, rest) = self.impacts(self.walked.block).split_at(BLOCK);
                let (headings, codes) = rest.split_at(BLOCK);
                let codes = &codes[..BLOCK];
                let documents = &self.walked.documents;
                while self.at < BLOCK && documents[self.at] <= end {
                    let at = self.at;
                    each(documents[at], saturations[at], headings[at], codes[at]);
                    self.at += 1;
                }
                if self.at < BLOCK {
                    self.current = documents[self.at];
                    return;
                }
                self.walked.block += 1;
                self.at = 0;
                self.enter();
            } else {
                let (pattern, impact) = match self.rest.get(self.at) {
                    Some((posting, impact)) => (posting.pattern, *impact),
                    None => (self.tail[self.at - self.rest.len()].pattern, self.tail_impact),
                };
                each(self.current, impact.saturation, impact.heading, code(pattern));
                self.at += 1;
                self.current = self.loose_document(self.at);
            }
        }
    }

    /// Returns the pattern of a document, if it is in the list; documents may come in any order.
    pub fn find(&mut self, document: u32) -> Option<u32> {
        if self.blocks() > 0 && document <= self.last(self.blocks() - 1) {
            let block = self.block_of(document);
            if block != self.found.block {
                let mut documents = self.found.documents;
                self.unpack(block, &mut documents);
                self.found = Unpacked { block, documents };
            }
            let at = self.found.documents.binary_search(&document).ok()?;
            return Some(pattern(self.codes(block), at));
        }
        if let Ok(at) = self.rest.binary_search_by_key(&document, |(p, _)| p.document) {
            return Some(self.rest[at].0.pattern);
        }
        let at = self.tail.binary_search_by_key(&document, |posting| posting.document).ok()?;
        Some(self.tail[at].pattern)
    }

    /// Returns the block that a document is or would be in; it is known to be in one.
    fn block_of(&self, document: u32) -> usize {
        let (mut low, mut high) = (0, self.blocks() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.last(middle) < document { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Hands out every posting.
    pub fn each(&self, mut each: impl FnMut(Posting)) {
        let mut documents = [0; BLOCK];
        for block in 0..self.blocks() {
            self.unpack(block, &mut documents);
            let codes = self.codes(block);
            for (at, &document) in documents.iter().enumerate() {
                each(Posting { document, pattern: pattern(codes, at) });
            }
        }
        self.rest.iter().for_each(|(posting, _)| each(*posting));
        self.tail.iter().for_each(|posting| each(*posting));
    }
}

/// Returns the pattern at a place of a block.
#[inline]
fn pattern(codes: &[u8], at: usize) -> u32 {
    if codes[at] != ESCAPE {
        return u32::from(codes[at]);
    }
    let before = memchr::memchr_iter(ESCAPE, &codes[..at]).count();
    let start = BLOCK + before * 4;
    let mut word = [0; 4];
    word.copy_from_slice(&codes[start..start + 4]);
    u32::from_le_bytes(word)
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

    fn impact(posting: &Posting) -> Impact {
        Impact { saturation: posting.pattern as u8, heading: posting.pattern as u8, speaker: true }
    }

    proptest! {
        #[test]
        fn a_cursor_walks_seeks_and_finds_like_the_plain_list(
            list in lists(),
            cut in 0usize..700,
            targets in prop::collection::vec(0u32..1_500_000, 0..40),
            ends in prop::collection::vec(0u32..1_500_000, 0..40),
        ) {
            let (packed, tail) = list.split_at(cut.min(list.len()));
            let mut bytes = Vec::new();
            encode(packed, impact, &mut bytes);
            let cursor = || Cursor::new(&bytes, packed.len() as u32, tail, Impact::MOST);
            let mut all = Vec::new();
            cursor().each(|posting| all.push(posting));
            prop_assert_eq!(&all, &list);

            let mut finding = cursor();
            for &target in targets.iter().chain(list.iter().map(|p| &p.document)) {
                let expected = list.iter().find(|posting| posting.document == target);
                prop_assert_eq!(finding.find(target), expected.map(|posting| posting.pattern));
            }

            let mut seeking = cursor();
            let mut least = 0;
            for target in targets {
                least = least.max(target);
                seeking.seek(least);
                let expected = list.iter().find(|posting| posting.document >= least);
                prop_assert_eq!(seeking.document(), expected.map_or(END, |p| p.document));
                let (end, most) = seeking.block_at(least);
                for posting in packed.iter().filter(|p| (least..=end).contains(&p.document)) {
                    prop_assert_eq!(most.or(impact(posting)), most);
                }
            }

            let mut walking = cursor();
            let mut seen = Vec::new();
            let mut ends = ends;
            ends.sort_unstable();
            for end in ends.into_iter().chain([END - 1]) {
                walking.walk(end, |document, most, heading, code| {
                    assert_eq!(most, heading);
                    seen.push((document, most, code));
                });
                prop_assert!(seen.iter().all(|&(document, ..)| document <= end));
            }
            let most = |at: usize| if at < packed.len() { list[at].pattern as u8 } else { 255 };
            let seen_of = |(at, p): (usize, &Posting)| (p.document, most(at), code(p.pattern));
            let expected: Vec<(u32, u8, u8)> = list.iter().enumerate().map(seen_of).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
