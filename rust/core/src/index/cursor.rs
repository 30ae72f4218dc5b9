//! Reads one posting list: walks it in order of documents, or finds single documents in it.

use bitpacking::{BitPacker, BitPacker4x};

use super::postings::{BLOCK, ENTRY, ESCAPE, IMPACT, Impact, Posting, code, take_varint};

/// What [`Cursor::position`] says behind the last posting.
pub const END: u32 = u32::MAX;

/// The full blocks of a packed list.
#[derive(Clone, Copy)]
struct Blocks<'a> {
    entries: &'a [u8],
    data: &'a [u8],
}

/// A packed list and the loose tail of what came since.
#[derive(Clone)]
pub struct Cursor<'a> {
    blocks: Blocks<'a>,
    /// What is packed but fills no block.
    rest: Vec<(Posting, Impact)>,
    tail: &'a [Posting],
    tail_impact: Impact,
    /// Where the walk is: no document before this one is still to come.
    position: u32,
    /// The block that the walk is in, or the number of blocks.
    block: usize,
    /// Place behind the blocks, in `rest` and then in `tail`.
    loose_at: usize,
    unpacked: Unpacked,
}

/// The documents of the blocks that were unpacked lately: what was walked is looked up next, in no
/// order, and unpacking costs more than all else of a look-up.
#[derive(Clone)]
struct Unpacked {
    /// Which block lies in each place.
    blocks: Vec<usize>,
    documents: Vec<[u32; BLOCK]>,
}

/// Blocks that stay unpacked: those of a frequent word in a stretch.
const UNPACKED: usize = 16;

impl Unpacked {
    /// Makes room for a list of so many blocks.
    fn new(blocks: usize) -> Self {
        let places = blocks.next_power_of_two().min(UNPACKED);
        Self { blocks: vec![usize::MAX; places], documents: Vec::new() }
    }

    fn take(&mut self, block: usize, blocks: Blocks<'_>) -> &[u32; BLOCK] {
        let place = block & (self.blocks.len() - 1);
        if self.blocks[place] != block {
            if place >= self.documents.len() {
                // not before: many lists are opened for a block or two
                self.documents.reserve_exact(self.blocks.len() - self.documents.len());
                self.documents.resize(place + 1, [0; BLOCK]);
            }
            blocks.unpack(block, &mut self.documents[place]);
            self.blocks[place] = block;
        }
        &self.documents[place]
    }
}

impl<'a> Blocks<'a> {
    fn count(&self) -> usize {
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

    #[inline]
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

    /// Returns the first block from `low` on that ends at `document` or later.
    fn holding(&self, document: u32, mut low: usize) -> usize {
        let (mut step, end) = (1, self.count());
        // it is near more often than not
        while low + step < end && self.last(low + step) < document {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(end);
        while low < high {
            let middle = (low + high) / 2;
            if self.last(middle) < document { low = middle + 1 } else { high = middle }
        }
        low
    }
}

impl<'a> Cursor<'a> {
    /// Opens a packed list of `count` postings at the front of `bytes`, and what came since.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting], tail_impact: Impact) -> Self {
        let blocks = count as usize / BLOCK;
        let bytes = if blocks > 0 { &bytes[IMPACT..] } else { bytes };
        let (entries, data) = bytes.split_at(blocks * ENTRY);
        let mut cursor = Self {
            blocks: Blocks { entries, data },
            rest: Vec::new(),
            tail,
            tail_impact,
            position: 0,
            block: 0,
            loose_at: 0,
            unpacked: Unpacked::new(blocks),
        };
        cursor.read_rest(count as usize % BLOCK);
        cursor.settle();
        cursor
    }

    fn read_rest(&mut self, count: usize) {
        let mut next = 0;
        let mut bytes = self.blocks.data;
        if let Some(last) = self.blocks.count().checked_sub(1).filter(|_| count > 0) {
            next = self.blocks.last(last) + 1;
            let codes = self.blocks.codes(last);
            let escapes = memchr::memchr_iter(ESCAPE, &codes[..BLOCK]).count();
            bytes = &codes[BLOCK + escapes * 4..];
        }
        self.rest.reserve_exact(count);
        for _ in 0..count {
            let document = next + take_varint(&mut bytes);
            let (impact, code) = (Impact::from_bytes(bytes), bytes[IMPACT]);
            bytes = &bytes[IMPACT + 1..];
            let pattern = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
            self.rest.push((Posting { document, pattern }, impact));
            next = document + 1;
        }
    }

    /// Returns the number behind the last document.
    pub fn end(&self) -> u32 {
        let rest = self.rest.last().map(|(posting, _)| posting.document);
        let packed = || self.blocks.count().checked_sub(1).map(|last| self.blocks.last(last));
        let last = self.tail.last().map(|posting| posting.document).or(rest).or_else(packed);
        last.map_or(0, |last| last.saturating_add(1))
    }

    /// Returns how many full blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.count()
    }

    /// Hands out between which documents each block lies and how much it says, and moves the walk
    /// behind them.
    pub fn each_block(&mut self, mut each: impl FnMut(u32, u32, Impact)) {
        let mut first = 0;
        for entry in self.blocks.entries.as_chunks::<ENTRY>().0 {
            let last = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            each(first, last, Impact::from_bytes(&entry[8..]));
            first = last.saturating_add(1);
        }
        self.seek(first);
    }

    /// Returns about how many postings lie from `from` on and before `to`, to within two blocks.
    pub fn count(&self, from: u32, to: u32) -> usize {
        let first = self.blocks.holding(from, self.block);
        let last = self.blocks.holding(to, first);
        let loose = if last == self.blocks.count() { self.rest.len() + self.tail.len() } else { 0 };
        (last - first) * BLOCK + loose
    }

    /// Moves the walk to `target`, unpacking nothing.
    pub fn seek(&mut self, target: u32) {
        let behind = self.position <= target;
        let low = if behind { self.block } else { 0 };
        self.position = target;
        let here = behind && low < self.blocks.count() && self.blocks.last(low) >= target;
        if !here {
            self.block = self.blocks.holding(target, low);
        }
        self.loose_at = 0;
        if self.block == self.blocks.count() {
            self.loose_at = self.rest.partition_point(|(p, _)| p.document < target);
            if self.loose_at == self.rest.len() {
                self.loose_at += self.tail.partition_point(|posting| posting.document < target);
            }
            self.settle();
        }
    }

    /// Behind the blocks, moves the position to the next document there is.
    fn settle(&mut self) {
        if self.block == self.blocks.count() {
            self.position = match self.rest.get(self.loose_at) {
                Some((posting, _)) => posting.document,
                None => {
                    let tail = self.tail.get(self.loose_at - self.rest.len());
                    tail.map_or(END, |posting| posting.document)
                }
            };
        }
    }

    /// Moves the walk behind `end` and hands out the documents that are passed, each with its
    /// saturation, that of headings, and the code of its pattern: the number if below 255, else 255.
    ///
    /// Documents in blocks that are not `worth` it are left out.
    #[inline]
    pub fn walk(
        &mut self,
        end: u32,
        worth: impl Fn(Impact) -> bool,
        mut each: impl FnMut(u32, u8, u8, u8),
    ) {
        while self.position <= end && self.block < self.blocks.count() {
            let (block, last) = (self.block, self.blocks.last(self.block));
            if worth(self.blocks.impact(block)) {
                let documents = self.unpacked.take(block, self.blocks);
                let (saturations, rest) = self.blocks.impacts(block).split_at(BLOCK);
                let (headings, codes) = rest.split_at(BLOCK);
                let from = documents.partition_point(|&document| document < self.position);
                let to = match last <= end {
                    true => BLOCK,
                    false => documents.partition_point(|&document| document <= end),
                };
                let passed = documents[from..to].iter().zip(&saturations[from..to]);
                let said = headings[from..to].iter().zip(&codes[from..to]);
                for ((&document, &saturation), (&heading, &code)) in passed.zip(said) {
                    each(document, saturation, heading, code);
                }
            }
            if last > end {
                self.position = end + 1;
                return;
            }
            self.position = last + 1;
            self.block += 1;
            self.settle();
        }
        while self.position <= end && self.block == self.blocks.count() {
            let (pattern, impact) = match self.rest.get(self.loose_at) {
                Some((posting, impact)) => (posting.pattern, *impact),
                None => (self.tail[self.loose_at - self.rest.len()].pattern, self.tail_impact),
            };
            each(self.position, impact.saturation, impact.heading, code(pattern));
            self.loose_at += 1;
            self.settle();
        }
    }

    /// Walks to the end.
    pub fn walk_on(&mut self, each: impl FnMut(u32, u8, u8, u8)) {
        self.walk(END - 1, |_| true, each);
    }

    /// Returns the pattern of a document, if it is in the list; documents may come in any order.
    pub fn find(&mut self, document: u32) -> Option<u32> {
        let block = self.blocks.holding(document, 0);
        if block < self.blocks.count() {
            let documents = self.unpacked.take(block, self.blocks);
            let at = documents.binary_search(&document).ok()?;
            return Some(pattern(self.blocks.codes(block), at));
        }
        self.loose(document).map(|(posting, _)| posting.pattern)
    }

    /// Returns what [`Self::walk`] would hand out for a document, if it is in the list and not
    /// before the walk.
    pub fn look_up(&mut self, document: u32) -> Option<(u8, u8, u8)> {
        let block = self.blocks.holding(document, self.block);
        if block < self.blocks.count() {
            let documents = self.unpacked.take(block, self.blocks);
            let at = documents.binary_search(&document).ok()?;
            let impacts = self.blocks.impacts(block);
            return Some((impacts[at], impacts[BLOCK + at], impacts[2 * BLOCK + at]));
        }
        let (posting, impact) = self.loose(document)?;
        Some((impact.saturation, impact.heading, code(posting.pattern)))
    }

    /// Finds a document behind the blocks.
    fn loose(&self, document: u32) -> Option<(Posting, Impact)> {
        if let Ok(at) = self.rest.binary_search_by_key(&document, |(p, _)| p.document) {
            return Some(self.rest[at]);
        }
        let at = self.tail.binary_search_by_key(&document, |posting| posting.document).ok()?;
        Some((self.tail[at], self.tail_impact))
    }

    /// Hands out every posting.
    pub fn each(&self, mut each: impl FnMut(Posting)) {
        let mut documents = [0; BLOCK];
        for block in 0..self.blocks.count() {
            self.blocks.unpack(block, &mut documents);
            let codes = self.blocks.codes(block);
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

    use super::super::postings::encode;
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
            let most = |at: usize| if at < packed.len() { list[at].pattern as u8 } else { 255 };
            let mut all = Vec::new();
            cursor().each(|posting| all.push(posting));
            prop_assert_eq!(&all, &list);

            let mut finding = cursor();
            for &target in targets.iter().chain(list.iter().map(|p| &p.document)) {
                let expected = list.iter().find(|posting| posting.document == target);
                prop_assert_eq!(finding.find(target), expected.map(|posting| posting.pattern));
            }

            let mut seeking = cursor();
            for target in targets {
                seeking.seek(target);
                let behind: Vec<(usize, &Posting)> =
                    list.iter().enumerate().filter(|(_, p)| p.document >= target).collect();
                let mut next = None;
                seeking.clone().walk(END - 1, |_| true, |document, _, _, _| {
                    next = next.or(Some(document));
                });
                prop_assert_eq!(next, behind.first().map(|(_, p)| p.document));
                for &(at, posting) in behind.iter().step_by(37) {
                    let found = seeking.look_up(posting.document);
                    prop_assert_eq!(found, Some((most(at), most(at), code(posting.pattern))));
                    let other = posting.document + 1;
                    let held = list.iter().any(|posting| posting.document == other);
                    prop_assert_eq!(seeking.look_up(other).is_some(), held);
                }
            }

            let (mut blocks, mut end) = (0, 0);
            cursor().each_block(|first, last, impact| {
                let block = &packed[blocks * BLOCK..][..BLOCK];
                assert_eq!((first, last), (end, block[BLOCK - 1].document));
                let most = block.iter().map(|posting| posting.pattern as u8).max();
                assert_eq!(Some(impact.saturation), most);
                (blocks, end) = (blocks + 1, last + 1);
            });
            prop_assert_eq!(blocks, cursor().blocks());
            prop_assert_eq!(cursor().end(), list.last().map_or(0, |last| last.document + 1));

            let mut walking = cursor();
            let mut seen = Vec::new();
            let mut ends = ends;
            ends.sort_unstable();
            for end in ends.into_iter().chain([END - 1]) {
                walking.walk(end, |_| true, |document, most, heading, code| {
                    assert_eq!(most, heading);
                    seen.push((document, most, code));
                });
                prop_assert!(seen.iter().all(|&(document, ..)| document <= end));
            }
            let seen_of = |(at, p): (usize, &Posting)| (p.document, most(at), code(p.pattern));
            let expected: Vec<(u32, u8, u8)> = list.iter().enumerate().map(seen_of).collect();
            prop_assert_eq!(seen, expected);

            // leaving out blocks loses no document that is worth it
            let (least, mut worthy) = (12, Vec::new());
            cursor().walk(END - 1, |block| block.saturation >= least, |document, most, _, _| {
                worthy.extend((most >= least).then_some(document));
            });
            let documents = list.iter().enumerate().filter(|(at, _)| most(*at) >= least);
            let expected: Vec<u32> = documents.map(|(_, posting)| posting.document).collect();
            prop_assert_eq!(worthy, expected);
        }
    }
}
