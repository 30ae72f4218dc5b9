//! Reads one posting list: what it says of each stretch and row, and the postings there.

use std::iter::zip;
use std::ops::Range;

use crate::index::postings::codec::{
    CUT, ESCAPE, FULL, IMPACT, Impact, MANY, Posting, ROW, ROWS, SPEAKER, SPOT, STRETCH,
    take_varint,
};
use crate::index::prefetch::prefetch;

/// A packed list and the loose tail of what came since.
#[derive(Clone)]
pub struct PostingList<'a> {
    parts: Parts<'a>,
    /// A packed list that has no parts.
    few: Vec<(Posting, Impact)>,
    tail: &'a [Posting],
    tail_impact: Impact,
}

/// What is said of the parts of a list, and these.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts<'a> {
    /// The most saturation of each part, and that of headings.
    pub saturations: &'a [u8],
    pub headings: &'a [u8],
    spots: &'a [[u8; SPOT]],
    /// The stretches, unless it has a part for each.
    stretches: Option<&'a [[u8; 4]]>,
    data: &'a [u8],
}

/// The postings of a list that lie in one stretch.
pub(crate) struct Part<'a> {
    bytes: &'a [u8],
    /// So many.
    count: usize,
    /// Whether some are a speaker's name.
    pub speaker: bool,
    /// Whether some stand in a heading.
    pub heading: bool,
}

/// Which postings lie in which row.
pub(crate) enum Rows<'a> {
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

impl<'a> Parts<'a> {
    fn open(count: u32, bytes: &'a [u8]) -> Self {
        let slots = (count & !FULL) as usize;
        let (saturations, rest) = bytes.split_at(slots);
        let (headings, rest) = rest.split_at(slots);
        let (spots, rest) = rest.split_at(slots * SPOT);
        let (stretches, data) = rest.split_at(if count & FULL > 0 { 0 } else { slots * 4 });
        let stretches = (count & FULL == 0).then_some(stretches.as_chunks().0);
        Self { saturations, headings, spots: spots.as_chunks().0, stretches, data }
    }

    /// Says whether there is a part for each stretch.
    pub fn is_full(&self) -> bool {
        self.stretches.is_none()
    }

    /// Returns the stretch of each part.
    pub fn stretches(&self) -> impl Iterator<Item = usize> {
        let stretch = |slot| match self.stretches {
            Some(stretches) => u32::from_le_bytes(stretches[slot]) as usize,
            None => slot,
        };
        (0..self.spots.len()).map(stretch)
    }

    /// Returns the stretches in which it is in a speaker's name.
    pub fn of_speakers(&self) -> impl Iterator<Item = usize> {
        let speaker =
            |[.., low, high]: &[u8; SPOT]| u16::from_le_bytes([*low, *high]) & SPEAKER > 0;
        let all = zip(self.stretches(), self.spots);
        all.filter(move |(_, spot)| speaker(spot)).map(|(stretch, _)| stretch)
    }

    /// Returns the part in a stretch; it may be empty.
    #[inline]
    pub fn get(&self, stretch: usize) -> Option<Part<'a>> {
        let slot = match self.stretches {
            None => stretch,
            Some(all) => {
                all.binary_search_by_key(&(stretch as u32), |s| u32::from_le_bytes(*s)).ok()?
            }
        };
        let [a, b, c, d, count @ ..] = *self.spots.get(slot)?;
        let count = u16::from_le_bytes(count);
        Some(Part {
            bytes: &self.data[u32::from_le_bytes([a, b, c, d]) as usize..],
            count: usize::from(count & !SPEAKER),
            speaker: count & SPEAKER > 0,
            heading: self.headings[slot] > 0,
        })
    }
}

impl<'a> PostingList<'a> {
    /// Opens a packed list of `count` postings at the front of `bytes`, and what came since.
    pub fn new(bytes: &'a [u8], count: u32, tail: &'a [Posting], tail_impact: Impact) -> Self {
        let mut list = Self { parts: Parts::default(), few: Vec::new(), tail, tail_impact };
        if (count as usize) < CUT {
            list.read_few(bytes, count as usize);
        } else if let Some((parts, rest)) = bytes.split_first_chunk() {
            list.parts = Parts::open(u32::from_le_bytes(*parts), rest);
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
        let stretch = self.parts.stretches().last().map_or(0, |last| last + 1);
        let packed = u32::try_from(stretch * STRETCH).unwrap_or(u32::MAX);
        let few = self.few.last().map_or(0, |(posting, _)| posting.document.saturating_add(1));
        let tail = self.tail.last().map_or(0, |posting| posting.document.saturating_add(1));
        packed.max(few).max(tail)
    }

    /// Returns the parts.
    pub(crate) fn parts(&self) -> &Parts<'a> {
        &self.parts
    }

    /// Says whether some postings are in no part.
    #[inline]
    pub(crate) fn is_loose(&self) -> bool {
        !(self.few.is_empty() && self.tail.is_empty())
    }

    /// Returns the postings that are in no part, each with how much it says.
    pub(crate) fn loose(&self) -> impl Iterator<Item = (Posting, Impact)> {
        self.loose_in(0..u32::MAX)
    }

    /// Returns those of some documents.
    pub(crate) fn loose_in(
        &self,
        documents: Range<u32>,
    ) -> impl Iterator<Item = (Posting, Impact)> {
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
        let part = self.parts.get(document as usize / STRETCH);
        part.and_then(|part| part.find(document)).or_else(|| {
            let mut found = self.loose_in(document..document.saturating_add(1));
            self.is_loose().then(|| found.next().map(|(posting, _)| posting.pattern))?
        })
    }

    /// Hands out every posting.
    pub fn each(&self, mut each: impl FnMut(Posting)) {
        for stretch in self.parts.stretches() {
            let Some(part) = self.parts.get(stretch) else { continue };
            for row in 0..ROWS {
                for at in part.row(row) {
                    let place = usize::from(part.of_each(PLACES)[at]);
                    let document = (stretch * ROWS + row) * ROW + place;
                    each(Posting { document: document as u32, pattern: part.pattern(at) });
                }
            }
        }
        self.loose().for_each(|(posting, _)| each(posting));
    }
}

/// What is kept of each posting of a part, in this order.
const PLACES: usize = 0;
const SATURATIONS: usize = 1;
const CODES: usize = 2;
const HEADINGS: usize = 3;

impl<'a> Part<'a> {
    /// Asks for what is said of its rows.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.bytes, 0);
        prefetch(self.bytes, 3 * ROWS - 1);
    }

    /// Asks for the postings of a row.
    #[inline]
    pub fn prefetch_row(&self, row: usize) {
        let from = self.row(row).start;
        for kind in [PLACES, SATURATIONS, CODES, HEADINGS] {
            prefetch(self.of_each(kind), from);
        }
    }

    /// Returns which postings lie in which row.
    #[inline]
    pub fn rows(&self) -> Rows<'a> {
        match self.bytes.first_chunk::<{ 3 * ROWS }>() {
            Some(rows) if self.count >= MANY => Rows::All(bytemuck::cast_ref(rows)),
            _ => Rows::Each(&self.bytes[..self.count]),
        }
    }

    /// Returns what is kept of each posting, from some kind of it on.
    #[inline]
    fn of_each(&self, kind: usize) -> &'a [u8] {
        let rows = if self.count < MANY { self.count } else { 3 * ROWS };
        &self.bytes[rows + kind * self.count..]
    }

    /// Returns which postings lie in a row.
    #[inline]
    fn row(&self, row: usize) -> Range<usize> {
        match self.rows() {
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
        let headings = if self.heading { self.of_each(HEADINGS) } else { &[] };
        let heading = move |at| headings.get(at).copied().unwrap_or(0);
        let said = zip(self.of_each(SATURATIONS), self.of_each(CODES)).take(self.count).enumerate();
        said.map(move |(at, (&saturation, &code))| (saturation, heading(at), code))
    }

    /// Hands out the postings of a row: the place in it, the saturation, that of headings, and the
    /// code of the pattern.
    #[inline]
    pub fn each_in(&self, row: usize, mut each: impl FnMut(usize, u8, u8, u8)) {
        let row = self.row(row);
        let of = |kind| &self.of_each(kind)[row.clone()];
        let said = zip(of(PLACES), zip(of(SATURATIONS), of(CODES)));
        // most words stand in few headings
        if !self.heading {
            for (&place, (&saturation, &code)) in said {
                each(place.into(), saturation, 0, code);
            }
        } else {
            for ((&place, (&saturation, &code)), &heading) in zip(said, of(HEADINGS)) {
                each(place.into(), saturation, heading, code);
            }
        }
    }

    /// Returns what the posting at a place of a row says, as [`Self::each_in`] does, if there is one.
    #[inline]
    pub fn said_of(&self, row: usize, place: usize) -> Option<(u8, u8, u8)> {
        let row = self.row(row);
        let at = row.start + memchr::memchr(place as u8, &self.of_each(PLACES)[row])?;
        let heading = if self.heading { self.of_each(HEADINGS)[at] } else { 0 };
        Some((self.of_each(SATURATIONS)[at], heading, self.of_each(CODES)[at]))
    }

    /// Returns the pattern of a document, if it is in the part.
    #[inline]
    fn find(&self, document: u32) -> Option<u32> {
        let (row, place) = (document as usize / ROW % ROWS, document as usize % ROW);
        let row = self.row(row);
        let at = memchr::memchr(place as u8, &self.of_each(PLACES)[row.clone()])?;
        Some(self.pattern(row.start + at))
    }

    fn pattern(&self, at: usize) -> u32 {
        let codes = self.of_each(CODES);
        if codes[at] != ESCAPE {
            return codes[at].into();
        }
        let before = memchr::memchr_iter(ESCAPE, &codes[..at]).count();
        let escaped = self.of_each(if self.heading { HEADINGS + 1 } else { HEADINGS });
        u32::from_le_bytes(escaped.as_chunks().0[before])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::postings::codec::{code, encode, spaced};

    /// Frequent and rare words, each somewhere in headings or nowhere.
    fn lists() -> impl Strategy<Value = Vec<Posting>> {
        let pattern = prop_oneof![9 => 0u32..20, 1 => 0u32..70_000];
        let postings = prop::collection::vec((0u32..1000, pattern), 0..2000);
        (prop_oneof![1u32..4, 2u32..60, 100u32..4000], postings)
            .prop_map(|(gap, steps)| spaced(gap, steps))
    }

    /// What a posting says depends on its pattern alone, and so does the plain twin.
    fn impact(posting: &Posting) -> Impact {
        let heading =
            if (posting.document / 5000).is_multiple_of(2) { posting.pattern as u8 / 2 } else { 0 };
        Impact { saturation: posting.pattern as u8, heading, speaker: posting.pattern == 7 }
    }

    fn most<'p>(postings: impl Iterator<Item = &'p Posting>) -> Impact {
        postings.map(impact).fold(Impact::default(), Impact::or)
    }

    fn said(posting: &Posting) -> (usize, u8, u8, u8) {
        let Impact { saturation, heading, .. } = impact(posting);
        (posting.document as usize % ROW, saturation, heading, code(posting.pattern))
    }

    proptest! {
        #[test]
        fn a_list_says_of_stretches_rows_and_documents_what_the_plain_list_does(
            list in lists(),
            cut in 0usize..2000,
            others in prop::collection::vec(0u32..1_500_000, 0..40),
        ) {
            let (packed, tail) = list.split_at(cut.min(list.len()));
            let mut bytes = Vec::new();
            encode(packed, impact, &mut bytes);
            bytes.extend([1, 2, 3]); // of the next list
            let opened = PostingList::new(&bytes, packed.len() as u32, tail, Impact::MOST);
            let mut all = Vec::new();
            opened.each(|posting| all.push(posting));
            prop_assert_eq!(&all, &list);
            for &document in others.iter().chain(list.iter().map(|posting| &posting.document)) {
                let expected = list.iter().find(|posting| posting.document == document);
                prop_assert_eq!(opened.find(document), expected.map(|posting| posting.pattern));
            }
            let end = list.last().map_or(0, |posting| posting.document + 1);
            prop_assert!(opened.end() >= end && opened.end() as usize <= (end as usize).next_multiple_of(STRETCH));

            let stretch = |posting: &Posting| posting.document as usize / STRETCH;
            let row = |posting: &Posting| posting.document as usize / ROW % ROWS;
            let in_parts = if packed.len() < CUT { &[] } else { packed };
            let mut stretches = Vec::new();
            for postings in in_parts.chunk_by(|a, b| stretch(a) == stretch(b)) {
                stretches.push(stretch(&postings[0]));
                let most_of_all = most(postings.iter());
                let slot = opened.parts().stretches().position(|at| at == stretches[stretches.len() - 1]);
                let slot = slot.expect("a part a stretch");
                prop_assert_eq!(opened.parts().saturations[slot], most_of_all.saturation);
                prop_assert_eq!(opened.parts().headings[slot], most_of_all.heading);
                let part = opened.parts().get(stretch(&postings[0])).expect("the same part");
                prop_assert_eq!(part.speaker, most_of_all.speaker);
                let spoken = opened.parts().of_speakers().any(|at| at == stretch(&postings[0]));
                prop_assert_eq!(spoken, most_of_all.speaker);
                let all: Vec<_> = postings.iter().map(said).map(|(_, a, b, c)| (a, b, c)).collect();
                prop_assert_eq!(part.said().collect::<Vec<_>>(), all);
                for at in 0..ROWS {
                    let here: Vec<&Posting> = postings.iter().filter(|p| row(p) == at).collect();
                    let mut seen = Vec::new();
                    part.each_in(at, |place, saturation, heading, code| {
                        seen.push((place, saturation, heading, code));
                    });
                    prop_assert_eq!(seen, here.iter().map(|p| said(p)).collect::<Vec<_>>());
                    match part.rows() {
                        Rows::All([saturations, headings, counts]) => {
                            let most = most(here.iter().copied());
                            prop_assert_eq!(saturations[at], most.saturation);
                            prop_assert_eq!(headings[at], most.heading);
                            prop_assert_eq!(usize::from(counts[at]), here.len());
                        }
                        Rows::Each(rows) => {
                            let rows = rows.iter().filter(|&&row| usize::from(row) == at);
                            prop_assert_eq!(rows.count(), here.len());
                        }
                    }
                }
            }
            for (slot, stretch) in opened.parts().stretches().enumerate() {
                if !stretches.contains(&stretch) {
                    prop_assert!(opened.parts().is_full());
                    prop_assert_eq!(opened.parts().saturations[slot], 0);
                    let part = opened.parts().get(stretch).expect("an empty part");
                    prop_assert_eq!(part.said().count(), 0);
                }
            }
            prop_assert_eq!(opened.parts().get(800).is_some(), stretches.contains(&800));

            let loose: Vec<(Posting, Impact)> = match packed.len() < CUT {
                true => packed.iter().map(|posting| (*posting, impact(posting))).collect(),
                false => Vec::new(),
            };
            let tail = tail.iter().map(|posting| (*posting, Impact::MOST));
            let loose: Vec<(Posting, Impact)> = loose.into_iter().chain(tail).collect();
            prop_assert_eq!(opened.is_loose(), !loose.is_empty());
            prop_assert_eq!(opened.loose().collect::<Vec<_>>(), loose.clone());
            for pair in others.chunks_exact(2) {
                let range = pair[0].min(pair[1])..pair[0].max(pair[1]);
                let within = loose.iter().filter(|(p, _)| range.contains(&p.document));
                let within: Vec<(Posting, Impact)> = within.copied().collect();
                prop_assert_eq!(opened.loose_in(range).collect::<Vec<_>>(), within);
            }
        }
    }

    #[test]
    fn the_first_bytes_are_added_up() {
        let bytes = std::array::from_fn(|at| 128 - at as u8);
        for count in 0..ROWS {
            let expected = bytes[..count].iter().map(|&byte| usize::from(byte)).sum::<usize>();
            assert_eq!(sum_of_first(count, &bytes), expected);
        }
        assert_eq!(sum_of_first(15, &[255; ROWS]), 15 * 255);
    }
}
