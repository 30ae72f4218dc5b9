//! Reading of one posting list: impact maxima of its superblocks and blocks, and its postings.
//!
//! (Longer than 350 lines: all that knows the layout of an encoded list is here.)

use std::iter::zip;
use std::ops::Range;

use crate::index::postings::codec::{
    BLOCK, BLOCKS_PER_SUPERBLOCK, DENSE, ESCAPE, HAS_SPEAKER, IMPACT_BYTES, Impact, MIN_BLOCKED,
    MIN_WITH_MAXIMA, Posting, SKIP_ENTRY_BYTES, SUPERBLOCK, take_varint,
};
use crate::index::prefetch::prefetch;

/// A packed posting list, and the tail of postings that were added since.
#[derive(Clone)]
pub struct PostingList<'a> {
    superblocks: Superblocks<'a>,
    /// The postings of a packed list that is too short for superblocks.
    short: Vec<(Posting, Impact)>,
    tail: &'a [Posting],
    /// The maximum impact of the tail.
    tail_impact: Impact,
    /// A bit for each superblock, modulo 64, in which a posting of `short` or `tail` may be. Most
    /// words of a query that are read in a language have a short list, and are in few superblocks.
    unblocked: u64,
}

/// The superblocks of a packed list, with the maxima of each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Superblocks<'a> {
    /// The maximum saturation of each superblock.
    pub saturations: &'a [u8],
    /// The maximum saturation in headings of each superblock.
    pub headings: &'a [u8],
    skip_entries: &'a [[u8; SKIP_ENTRY_BYTES]],
    /// The number of each superblock, unless there is an entry for every one.
    numbers: Option<&'a [[u8; 4]]>,
    data: &'a [u8],
}

/// The postings of a list in one superblock.
pub(crate) struct Superblock<'a> {
    bytes: &'a [u8],
    /// The number of postings.
    count: usize,
    /// Whether some are in a speaker's name.
    pub has_speaker: bool,
    /// Whether some are in a heading.
    pub has_heading: bool,
}

/// Where the postings of a block are in the columns of its superblock.
pub(crate) struct Places {
    start: usize,
    /// For each document of the block the place of its posting behind `start`, plus one; 0 if it has
    /// none.
    after: [u8; BLOCK],
}

/// What a superblock stores of its blocks.
pub(crate) enum BlockMaxima<'a> {
    /// For each block: the maximum saturation, the maximum in headings, and the number of postings.
    Stored(&'a [[u8; BLOCKS_PER_SUPERBLOCK]; 3]),
    /// For each posting: its block.
    PerPosting(&'a [u8]),
}

/// Returns the sum of the first `count` bytes.
#[inline]
fn prefix_sum(count: usize, bytes: &[u8; BLOCKS_PER_SUPERBLOCK]) -> usize {
    // within one register (SWAR): a loop over bytes takes longer than the rest of a lookup
    const EVEN_BYTES: u128 = u128::MAX / 0xffff * 0xff;
    let first = u128::from_le_bytes(*bytes) & !(u128::MAX << (8 * count));
    let pairs = (first & EVEN_BYTES) + (first >> 8 & EVEN_BYTES);
    let fours = (pairs as u64).wrapping_add((pairs >> 64) as u64);
    (fours.wrapping_mul(u64::MAX / 0xffff) >> 48) as usize
}

/// Returns a bit for each superblock, modulo 64, from the first to the last posting.
fn superblock_bits(list: &[Posting]) -> u64 {
    let [Some(first), Some(last)] = [list.first(), list.last()] else { return 0 };
    let [first, last] = [first, last].map(|posting| posting.document as usize / SUPERBLOCK);
    (first..=last.min(first + 63)).fold(0, |bits, superblock| bits | 1 << (superblock % 64))
}

impl<'a> Superblocks<'a> {
    fn open(header: u32, bytes: &'a [u8]) -> Self {
        let entries = (header & !DENSE) as usize;
        let (saturations, rest) = bytes.split_at(entries);
        let (headings, rest) = rest.split_at(entries);
        let (skip_entries, rest) = rest.split_at(entries * SKIP_ENTRY_BYTES);
        let (numbers, data) = rest.split_at(if header & DENSE > 0 { 0 } else { entries * 4 });
        let numbers = (header & DENSE == 0).then_some(numbers.as_chunks().0);
        Self { saturations, headings, skip_entries: skip_entries.as_chunks().0, numbers, data }
    }

    /// Says whether every superblock of the collection has an entry.
    pub fn is_dense(&self) -> bool {
        self.numbers.is_none()
    }

    /// Returns the number of each superblock.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        let number = |entry| match self.numbers {
            Some(numbers) => u32::from_le_bytes(numbers[entry]) as usize,
            None => entry,
        };
        (0..self.skip_entries.len()).map(number)
    }

    /// Returns the numbers of the superblocks in which the term is in a speaker's name.
    pub fn with_speaker(&self) -> impl Iterator<Item = usize> {
        let has_speaker = |[.., low, high]: &[u8; SKIP_ENTRY_BYTES]| {
            u16::from_le_bytes([*low, *high]) & HAS_SPEAKER > 0
        };
        let all = zip(self.numbers(), self.skip_entries);
        all.filter(move |(_, entry)| has_speaker(entry)).map(|(number, _)| number)
    }

    /// Returns the superblock with this number; it may be empty.
    #[inline]
    pub fn get(&self, number: usize) -> Option<Superblock<'a>> {
        let entry = match self.numbers {
            None => number,
            Some(all) => {
                all.binary_search_by_key(&(number as u32), |n| u32::from_le_bytes(*n)).ok()?
            }
        };
        let [a, b, c, d, count @ ..] = *self.skip_entries.get(entry)?;
        let count = u16::from_le_bytes(count);
        Some(Superblock {
            bytes: &self.data[u32::from_le_bytes([a, b, c, d]) as usize..],
            count: usize::from(count & !HAS_SPEAKER),
            has_speaker: count & HAS_SPEAKER > 0,
            has_heading: self.headings[entry] > 0,
        })
    }
}

impl<'a> PostingList<'a> {
    /// Opens a packed list of `count` postings at the front of `bytes`, and its tail.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting], tail_impact: Impact) -> Self {
        let superblocks = Superblocks::default();
        let unblocked = superblock_bits(tail);
        let mut list = Self { superblocks, short: Vec::new(), tail, tail_impact, unblocked };
        if (count as usize) < MIN_BLOCKED {
            list.read_short(bytes, count as usize);
        } else if let Some((header, rest)) = bytes.split_first_chunk() {
            list.superblocks = Superblocks::open(u32::from_le_bytes(*header), rest);
        }
        list
    }

    fn read_short(&mut self, mut bytes: &[u8], count: usize) {
        self.short.reserve_exact(count);
        let mut next = 0;
        for _ in 0..count {
            let document = next + take_varint(&mut bytes);
            let (impact, code) = (Impact::from_bytes(bytes), bytes[IMPACT_BYTES]);
            bytes = &bytes[IMPACT_BYTES + 1..];
            let profile = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
            self.short.push((Posting { document, profile }, impact));
            self.unblocked |= 1 << (document as usize / SUPERBLOCK % 64);
            next = document + 1;
        }
    }

    /// Returns a document number that is higher than any in the list.
    pub fn end(&self) -> u32 {
        let superblocks = self.superblocks.numbers().last().map_or(0, |last| last + 1);
        let packed = u32::try_from(superblocks * SUPERBLOCK).unwrap_or(u32::MAX);
        let short = self.short.last().map_or(0, |(posting, _)| posting.document.saturating_add(1));
        let tail = self.tail.last().map_or(0, |posting| posting.document.saturating_add(1));
        packed.max(short).max(tail)
    }

    /// Returns the superblocks.
    pub(crate) fn superblocks(&self) -> &Superblocks<'a> {
        &self.superblocks
    }

    /// Says whether some postings of the documents of a superblock may be in none: those of a short
    /// list, or of the tail.
    #[inline]
    pub(crate) fn may_have_unblocked(&self, superblock: usize) -> bool {
        self.unblocked >> (superblock % 64) & 1 == 1
    }

    /// Returns the postings that are in no superblock, each with its impact.
    pub(crate) fn unblocked(&self) -> impl Iterator<Item = (Posting, Impact)> {
        self.unblocked_in(0..u32::MAX)
    }

    /// Returns those of some documents.
    pub(crate) fn unblocked_in(
        &self,
        documents: Range<u32>,
    ) -> impl Iterator<Item = (Posting, Impact)> {
        let short = {
            let at = |document| self.short.partition_point(|(p, _)| p.document < document);
            &self.short[at(documents.start)..at(documents.end)]
        };
        let at = |document| self.tail.partition_point(|posting| posting.document < document);
        let tail = &self.tail[at(documents.start)..at(documents.end)];
        short.iter().copied().chain(tail.iter().map(|&posting| (posting, self.tail_impact)))
    }

    /// Returns the profile of a document, if it is in the list.
    pub fn find(&self, document: u32) -> Option<u32> {
        let number = document as usize / SUPERBLOCK;
        let packed = self.superblocks.get(number).and_then(|packed| packed.find(document));
        packed.or_else(|| {
            let documents = document..document.saturating_add(1);
            let may_be = self.may_have_unblocked(number);
            may_be.then(|| Some(self.unblocked_in(documents).next()?.0.profile))?
        })
    }

    /// Calls `each` for every posting.
    pub fn for_each(&self, mut each: impl FnMut(Posting)) {
        for number in self.superblocks.numbers() {
            let Some(superblock) = self.superblocks.get(number) else { continue };
            for block in 0..BLOCKS_PER_SUPERBLOCK {
                for at in superblock.block(block) {
                    let offset = usize::from(superblock.column(OFFSETS)[at]);
                    let document = (number * BLOCKS_PER_SUPERBLOCK + block) * BLOCK + offset;
                    each(Posting { document: document as u32, profile: superblock.profile(at) });
                }
            }
        }
        self.unblocked().for_each(|(posting, _)| each(posting));
    }
}

/// The columns of the postings of a superblock, in this order.
const OFFSETS: usize = 0;
const SATURATIONS: usize = 1;
const CODES: usize = 2;
const HEADINGS: usize = 3;

impl<'a> Superblock<'a> {
    /// Prefetches the block maxima.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.bytes, 0);
        prefetch(self.bytes, 3 * BLOCKS_PER_SUPERBLOCK - 1);
    }

    /// Prefetches the postings of a block.
    #[inline]
    pub fn prefetch_block(&self, block: usize) {
        let from = self.block(block).start;
        for column in [OFFSETS, SATURATIONS, CODES, HEADINGS] {
            prefetch(self.column(column), from);
        }
    }

    /// Returns the block maxima, or the block of each posting.
    #[inline]
    pub fn block_maxima(&self) -> BlockMaxima<'a> {
        match self.bytes.first_chunk::<{ 3 * BLOCKS_PER_SUPERBLOCK }>() {
            Some(maxima) if self.count >= MIN_WITH_MAXIMA => {
                BlockMaxima::Stored(bytemuck::cast_ref(maxima))
            }
            _ => BlockMaxima::PerPosting(&self.bytes[..self.count]),
        }
    }

    /// Returns the bytes from the start of a column of the postings on.
    #[inline]
    fn column(&self, column: usize) -> &'a [u8] {
        let blocks =
            if self.count < MIN_WITH_MAXIMA { self.count } else { 3 * BLOCKS_PER_SUPERBLOCK };
        &self.bytes[blocks + column * self.count..]
    }

    /// Returns the range of the postings of a block.
    #[inline]
    fn block(&self, block: usize) -> Range<usize> {
        match self.block_maxima() {
            BlockMaxima::Stored([_, _, counts]) => {
                let from = prefix_sum(block, counts);
                from..from + usize::from(counts[block])
            }
            BlockMaxima::PerPosting(blocks) => {
                let below =
                    |block| blocks.iter().filter(|&&other| usize::from(other) < block).count();
                below(block)..below(block + 1)
            }
        }
    }

    /// Returns the number of postings of each block.
    #[inline]
    pub fn counts(&self) -> [u8; BLOCKS_PER_SUPERBLOCK] {
        match self.block_maxima() {
            BlockMaxima::Stored([_, _, counts]) => *counts,
            BlockMaxima::PerPosting(blocks) => {
                let mut counts = [0; BLOCKS_PER_SUPERBLOCK];
                for &block in blocks {
                    counts[usize::from(block) % BLOCKS_PER_SUPERBLOCK] += 1;
                }
                counts
            }
        }
    }

    /// Returns the impacts of all postings: the saturation, that in headings, and the code of the
    /// profile.
    pub fn impacts(&self) -> impl Iterator<Item = (u8, u8, u8)> {
        let headings = if self.has_heading { self.column(HEADINGS) } else { &[] };
        let heading = move |at| headings.get(at).copied().unwrap_or(0);
        let impacts = zip(self.column(SATURATIONS), self.column(CODES)).take(self.count);
        let impacts = impacts.enumerate();
        impacts.map(move |(at, (&saturation, &code))| (saturation, heading(at), code))
    }

    /// Calls `each` for the postings of a block: the offset in it, the saturation, that in headings,
    /// and the code of the profile. Where none is in a heading, groups of postings are left out that
    /// all have less than a `least` saturation.
    #[inline]
    pub fn for_each_in_block(
        &self,
        block: usize,
        least: u32,
        mut each: impl FnMut(usize, u8, u8, u8),
    ) {
        let range = self.block(block);
        let of = |column| &self.column(column)[range.clone()];
        let (offsets, saturations, codes) = (of(OFFSETS), of(SATURATIONS), of(CODES));
        // most words are in few headings
        if self.has_heading {
            for ((&offset, (&saturation, &code)), &heading) in
                zip(zip(offsets, zip(saturations, codes)), of(HEADINGS))
            {
                each(offset.into(), saturation, heading, code);
            }
            return;
        }
        // one comparison skips a group
        const GROUP: usize = 16;
        let groups = zip(offsets.as_chunks::<GROUP>().0, codes.as_chunks::<GROUP>().0);
        for (saturations, (offsets, codes)) in zip(saturations.as_chunks::<GROUP>().0, groups) {
            let max = saturations.iter().fold(0, |max: u8, &saturation| max.max(saturation));
            if u32::from(max) >= least {
                for (&offset, (&saturation, &code)) in zip(offsets, zip(saturations, codes)) {
                    each(offset.into(), saturation, 0, code);
                }
            }
        }
        let rest = zip(saturations.as_chunks::<GROUP>().1, codes.as_chunks::<GROUP>().1);
        for (&offset, (&saturation, &code)) in zip(offsets.as_chunks::<GROUP>().1, rest) {
            each(offset.into(), saturation, 0, code);
        }
    }

    /// Returns the impact of the posting at an offset of a block, if there is one: the saturation,
    /// that in headings, and the code of the profile.
    #[inline]
    pub fn impact_at(&self, block: usize, offset: usize) -> Option<(u8, u8, u8)> {
        let range = self.block(block);
        let at = range.start + memchr::memchr(offset as u8, &self.column(OFFSETS)[range])?;
        let heading = if self.has_heading { self.column(HEADINGS)[at] } else { 0 };
        Some((self.column(SATURATIONS)[at], heading, self.column(CODES)[at]))
    }

    /// Returns where the posting of each document of a block is, so that many can be looked up.
    #[inline]
    pub fn places(&self, block: usize) -> Places {
        let range = self.block(block);
        let mut after = [0; BLOCK];
        for (at, &offset) in (1..).zip(&self.column(OFFSETS)[range.clone()]) {
            after[usize::from(offset) % BLOCK] = at;
        }
        Places { start: range.start, after }
    }

    /// As [`Self::impact_at`], in the block of these places.
    #[inline]
    pub fn impact_in(&self, places: &Places, offset: usize) -> Option<(u8, u8, u8)> {
        let at = places.start + usize::from(places.after[offset % BLOCK].checked_sub(1)?);
        let heading = if self.has_heading { self.column(HEADINGS)[at] } else { 0 };
        Some((self.column(SATURATIONS)[at], heading, self.column(CODES)[at]))
    }

    /// Returns the profile of a document, if it is in the superblock.
    #[inline]
    fn find(&self, document: u32) -> Option<u32> {
        let block = document as usize / BLOCK % BLOCKS_PER_SUPERBLOCK;
        let (offset, range) = (document as usize % BLOCK, self.block(block));
        let at = memchr::memchr(offset as u8, &self.column(OFFSETS)[range.clone()])?;
        Some(self.profile(range.start + at))
    }

    fn profile(&self, at: usize) -> u32 {
        let codes = self.column(CODES);
        if codes[at] != ESCAPE {
            return codes[at].into();
        }
        let before = memchr::memchr_iter(ESCAPE, &codes[..at]).count();
        let escaped = self.column(if self.has_heading { HEADINGS + 1 } else { HEADINGS });
        u32::from_le_bytes(escaped.as_chunks().0[before])
    }
}

#[cfg(test)]
mod tests;
