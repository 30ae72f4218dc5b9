//! Reads one posting list: what it says of each stretch and row, and the postings there.

use std::iter::zip;
use std::ops::Range;

use super::postings::{
    CUT, ENTRY, ESCAPE, IMPACT, Impact, MANY, Posting, ROW, ROWS, SPEAKER, STRETCH, take_varint,
};

/// A packed list and the loose tail of what came since.
#[derive(Clone)]
pub struct PostingList<'a> {
    entries: &'a [[u8; ENTRY]],
    data: &'a [u8],
    /// A packed list that has no parts.
    few: Vec<(Posting, Impact)>,
    tail: &'a [Posting],
    tail_impact: Impact,
}

/// The postings of a list that lie in one stretch.
pub(super) struct Part<'a> {
    pub rows: Rows<'a>,
    /// Of each posting the place in its row, how much it says, and the code of its pattern.
    places: &'a [u8],
    saturations: &'a [u8],
    codes: &'a [u8],
    /// Nothing, if none stands in a heading.
    headings: &'a [u8],
    escaped: &'a [u8],
    /// Whether some are a speaker's name.
    pub speaker: bool,
}

/// Which postings lie in which row.
pub(super) enum Rows<'a> {
    /// Of each row the most saturation, the most of headings, and the number of postings.
    All(&'a [[u8; ROWS]; 3]),
    /// The row of each posting.
    Each(&'a [u8]),
}

/// Adds up the first `count` bytes.
#[inline]
fn sum_of_first(count: usize, bytes: &[u8; ROWS]) -> usize {
    // in pairs and all at once: a byte a step takes longer than all else of a look-up
    const EVEN: u128 = u128::MAX / 0xffff * 0xff;
    let first = u128::from_le_bytes(*bytes) & !(u128::MAX << (8 * count));
    let pairs = (first & EVEN) + (first >> 8 & EVEN);
    let fours = (pairs as u64).wrapping_add((pairs >> 64) as u64);
    (fours.wrapping_mul(u64::MAX / 0xffff) >> 48) as usize
}

/// A number of an entry.
fn word(entry: &[u8; ENTRY], at: usize) -> u32 {
    u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
}

fn postings(entry: &[u8; ENTRY]) -> u16 {
    u16::from_le_bytes([entry[8], entry[9]])
}

impl<'a> PostingList<'a> {
    /// Opens a packed list of `count` postings at the front of `bytes`, and what came since.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting], tail_impact: Impact) -> Self {
        let mut list = Self { entries: &[], data: &[], few: Vec::new(), tail, tail_impact };
        if (count as usize) < CUT {
            list.read_few(bytes, count as usize);
        } else if let Some((parts, rest)) = bytes.split_first_chunk() {
            let (entries, data) = rest.split_at(u32::from_le_bytes(*parts) as usize * ENTRY);
            (list.entries, list.data) = (entries.as_chunks().0, data);
        }
        list
    }

    fn read_few(&mut self, mut bytes: &[u8], count: usize) {
        self.few.reserve_exact(count);
        let mut next = 0;
        for _ in 0..count {
            let document = next + take_varint(&mut bytes);
            let (impact, code) = (Impact::from_bytes(bytes), bytes[IMPACT]);
            bytes = &bytes[IMPACT + 1..];
            let pattern = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
            self.few.push((Posting { document, pattern }, impact));
            next = document + 1;
        }
    }

    /// Returns the number behind the last document that it may hold.
    pub fn end(&self) -> u32 {
        let stretch = |entry| (word(entry, 0) + 1).saturating_mul(STRETCH as u32);
        let packed = self.entries.last().map_or(0, stretch);
        let few = self.few.last().map_or(0, |(posting, _)| posting.document.saturating_add(1));
        let tail = self.tail.last().map_or(0, |posting| posting.document.saturating_add(1));
        packed.max(few).max(tail)
    }

    /// Returns of each part the stretch and how much it says.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, Impact)> {
        self.entries.iter().map(|entry| {
            let speaker = postings(entry) & SPEAKER > 0;
            let impact = Impact { saturation: entry[10], heading: entry[11], speaker };
            (word(entry, 0) as usize, impact)
        })
    }

    /// Returns a part by its number.
    #[inline]
    pub(super) fn part(&self, number: usize) -> Part<'a> {
        let entry = &self.entries[number];
        let (start, count) = (word(entry, 4) as usize, usize::from(postings(entry) & !SPEAKER));
        let mut bytes = &self.data[start..];
        let mut take = |count| {
            let taken;
            (taken, bytes) = bytes.split_at(count);
            taken
        };
        let rows = match count < MANY {
            true => Rows::Each(take(count)),
            false => {
                let (rows, _) = take(3 * ROWS).as_chunks().0.as_chunks();
                Rows::All(&rows[0])
            }
        };
        Part {
            rows,
            places: take(count),
            saturations: take(count),
            codes: take(count),
            headings: take(if entry[11] > 0 { count } else { 0 }),
            escaped: bytes,
            speaker: postings(entry) & SPEAKER > 0,
        }
    }

    /// Returns the postings that are in no part, each with how much it says.
    pub(super) fn loose(&self) -> impl Iterator<Item = (Posting, Impact)> {
        self.loose_in(0..u32::MAX)
    }

    /// Returns those of some documents.
    pub(super) fn loose_in(&self, documents: Range<u32>) -> impl Iterator<Item = (Posting, Impact)> {
        let few = {
            let place = |document| self.few.partition_point(|(p, _)| p.document < document);
            &self.few[place(documents.start)..place(documents.end)]
        };
        let place = |document| self.tail.partition_point(|posting| posting.document < document);
        let tail = &self.tail[place(documents.start)..place(documents.end)];
        few.iter().copied().chain(tail.iter().map(|&posting| (posting, self.tail_impact)))
    }

    /// Returns the pattern of a document, if it is in the list.
    pub fn find(&self, document: u32) -> Option<u32> {
        let stretch = document / STRETCH as u32;
        let number = self.entries.binary_search_by_key(&stretch, |entry| word(entry, 0)).ok();
        self.find_in(number, document)
    }

    /// Does the same where the part is known in which it would lie.
    pub(super) fn find_in(&self, part: Option<usize>, document: u32) -> Option<u32> {
        let packed = part.and_then(|number| self.part(number).find(document));
        packed.or_else(|| {
            let found = self.loose_in(document..document.saturating_add(1)).next();
            found.map(|(posting, _)| posting.pattern)
        })
    }

    /// Hands out every posting.
    pub fn each(&self, mut each: impl FnMut(Posting)) {
        for (number, (stretch, _)) in self.parts().enumerate() {
            let part = self.part(number);
            for row in 0..ROWS {
                for at in part.row(row) {
                    let place = stretch * STRETCH + row * ROW + usize::from(part.places[at]);
                    each(Posting { document: place as u32, pattern: part.pattern(at) });
                }
            }
        }
        self.loose().for_each(|(posting, _)| each(posting));
    }
}

impl Part<'_> {
    /// Returns which postings lie in a row.
    #[inline]
    fn row(&self, row: usize) -> Range<usize> {
        match self.rows {
            Rows::All([_, _, counts]) => {
                let from = sum_of_first(row, counts);
                from..from + usize::from(counts[row])
            }
            Rows::Each(rows) => {
                let below = |row| rows.iter().filter(|&&other| usize::from(other) < row).count();
                below(row)..below(row + 1)
            }
        }
    }

    /// Returns what is said of all its postings: the saturation, that of headings, and the code of
    /// the pattern.
    pub fn said(&self) -> impl Iterator<Item = (u8, u8, u8)> {
        let heading = |at| self.headings.get(at).copied().unwrap_or(0);
        let said = zip(self.saturations, self.codes).enumerate();
        said.map(move |(at, (&saturation, &code))| (saturation, heading(at), code))
    }

    /// Hands out the postings of a row: the place in it, the saturation, that of headings, and the
    /// code of the pattern.
    #[inline]
    pub fn each_in(&self, row: usize, mut each: impl FnMut(usize, u8, u8, u8)) {
        let row = self.row(row);
        let said = zip(&self.saturations[row.clone()], &self.codes[row.clone()]);
        let said = zip(&self.places[row.clone()], said);
        // most words stand in few headings
        if self.headings.is_empty() {
            for (&place, (&saturation, &code)) in said {
                each(place.into(), saturation, 0, code);
            }
        } else {
            for ((&place, (&saturation, &code)), &heading) in zip(said, &self.headings[row]) {
                each(place.into(), saturation, heading, code);
            }
        }
    }

    /// Returns the pattern of a document, if it is in the part.
    #[inline]
    fn find(&self, document: u32) -> Option<u32> {
        let (row, place) = (document as usize / ROW % ROWS, document as usize % ROW);
        let row = self.row(row);
        let at = memchr::memchr(place as u8, &self.places[row.clone()])?;
        Some(self.pattern(row.start + at))
    }

    fn pattern(&self, at: usize) -> u32 {
        if self.codes[at] != ESCAPE {
            return self.codes[at].into();
        }
        let before = memchr::memchr_iter(ESCAPE, &self.codes[..at]).count();
        let (words, _) = self.escaped.as_chunks();
        u32::from_le_bytes(words[before])
    }
}
