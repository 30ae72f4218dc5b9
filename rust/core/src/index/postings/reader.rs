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

/// The postings of one block.
pub(crate) struct BlockPostings<'a> {
    offsets: &'a [u8],
    saturations: &'a [u8],
    codes: &'a [u8],
    /// Empty where no posting of the superblock is in a heading.
    headings: &'a [u8],
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
        let mut found = None;
        self.find_all(&[document], |_, profile| found = Some(profile));
        found
    }

    /// Calls `each` for those of some documents of one superblock, in ascending order, that are in the
    /// list: the place among them, and the profile.
    #[inline]
    pub(crate) fn find_all(&self, documents: &[u32], mut each: impl FnMut(usize, u32)) {
        let Some(&first) = documents.first() else { return };
        let number = first as usize / SUPERBLOCK;
        if let Some(mut packed) = self.superblocks.get(number).map(Profiles::of) {
            for (place, &document) in documents.iter().enumerate() {
                packed.find(document).into_iter().for_each(|profile| each(place, profile));
            }
        }
        if !self.may_have_unblocked(number) {
            return;
        }
        for (place, &document) in documents.iter().enumerate() {
            let unblocked = self.unblocked_in(document..document.saturating_add(1));
            unblocked.take(1).for_each(|(posting, _)| each(place, posting.profile));
        }
    }

    /// Calls `each` for every posting.
    pub fn for_each(&self, mut each: impl FnMut(Posting)) {
        for number in self.superblocks.numbers() {
            let Some(superblock) = self.superblocks.get(number) else { continue };
            let mut profiles = Profiles::of(superblock);
            for block in 0..BLOCKS_PER_SUPERBLOCK {
                for at in profiles.superblock.block(block) {
                    let offset = usize::from(profiles.superblock.column(OFFSETS)[at]);
                    let document = (number * BLOCKS_PER_SUPERBLOCK + block) * BLOCK + offset;
                    each(Posting { document: document as u32, profile: profiles.get(at) });
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

    /// Returns the postings of a block.
    #[inline]
    pub fn postings(&self, block: usize) -> BlockPostings<'a> {
        let range = self.block(block);
        let of = |column| &self.column(column)[range.clone()];
        BlockPostings {
            offsets: of(OFFSETS),
            saturations: of(SATURATIONS),
            codes: of(CODES),
            // most words are in few headings
            headings: if self.has_heading { of(HEADINGS) } else { &[] },
        }
    }
}

/// The profiles of the postings of a superblock.
struct Profiles<'a> {
    superblock: Superblock<'a>,
    /// How many profiles that need more than a byte the first so many postings have: to count them from
    /// the start for each document would be much of the time of a lookup.
    counted: (usize, usize),
}

impl<'a> Profiles<'a> {
    fn of(superblock: Superblock<'a>) -> Self {
        Self { superblock, counted: (0, 0) }
    }

    /// Returns the profile of a document, if it is in the superblock.
    #[inline]
    fn find(&mut self, document: u32) -> Option<u32> {
        let block = document as usize / BLOCK % BLOCKS_PER_SUPERBLOCK;
        let range = self.superblock.block(block);
        let offsets = &self.superblock.column(OFFSETS)[range.clone()];
        let at = memchr::memchr((document as usize % BLOCK) as u8, offsets)?;
        Some(self.get(range.start + at))
    }

    /// Returns the profile of the posting at a place.
    #[inline]
    fn get(&mut self, at: usize) -> u32 {
        let codes = self.superblock.column(CODES);
        if codes[at] != ESCAPE {
            return codes[at].into();
        }
        let (places, before) = if self.counted.0 <= at { self.counted } else { (0, 0) };
        let before = before + memchr::memchr_iter(ESCAPE, &codes[places..at]).count();
        self.counted = (at, before);
        let column = if self.superblock.has_heading { HEADINGS + 1 } else { HEADINGS };
        u32::from_le_bytes(self.superblock.column(column).as_chunks().0[before])
    }
}

impl BlockPostings<'_> {
    /// Returns how many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Calls `each` for every posting: the offset in the block, the saturation, that in headings, and the
    /// code of the profile. Where none is in a heading, groups of postings are left out that all have
    /// less than a `least` saturation.
    #[inline]
    pub fn for_each(&self, least: u32, mut each: impl FnMut(usize, u8, u8, u8)) {
        let Self { offsets, saturations, codes, headings } = *self;
        if !headings.is_empty() {
            for ((&offset, (&saturation, &code)), &heading) in
                zip(zip(offsets, zip(saturations, codes)), headings)
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

    /// Returns the place of the posting of each document, plus one, so that many can be looked up; 0 of
    /// documents without a posting.
    #[inline]
    pub fn places(&self) -> [u8; BLOCK] {
        let mut after = [0; BLOCK];
        for (at, &offset) in (1..).zip(self.offsets) {
            after[usize::from(offset) % BLOCK] = at;
        }
        after
    }

    /// Returns the place of the posting at an offset, if there is one.
    #[inline]
    pub fn place(&self, offset: usize) -> Option<usize> {
        memchr::memchr(offset as u8, self.offsets)
    }

    /// Returns the impact of the posting at a place: the saturation, that in headings, and the code of
    /// the profile.
    #[inline]
    pub fn impact(&self, place: usize) -> (u8, u8, u8) {
        let heading = self.headings.get(place).copied().unwrap_or(0);
        (self.saturations[place], heading, self.codes[place])
    }
}

#[cfg(test)]
mod tests;
