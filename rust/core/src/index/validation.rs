//! Validation of the postings that a snapshot keeps, before any of them is used.
//!
//! A checksum tells what a disk did, not what somebody wrote on purpose. A list is used only if
//! its postings, written again, give the same bytes, with every impact and upper bound worked out
//! anew, and if they add up to the document frequencies that scores are made of. It is done once a
//! list, when it is first asked for.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bm25f::Bm25f;
use super::impacts::Impacts;
use super::packing::HOLDERS;
use super::postings::{
    CUT, ESCAPE, FULL, IMPACT, Impact, MANY, Posting, ROW, ROWS, SPEAKER, SPOT, STRETCH, encode,
    take_varint,
};
use super::{Holders, Index};
use crate::error::{Error, Interrupt, Result};

/// Postings that are looked at before it is asked whether to stop.
const STEP: u32 = 1 << 13;

/// What is known of the lists of a snapshot.
#[derive(Debug)]
pub(super) struct Validation {
    /// The formula with which the lists were packed.
    formula: Bm25f,
    /// By concept, whether its list may be used.
    valid: Vec<AtomicBool>,
}

impl Validation {
    /// Trusts no list yet.
    pub fn new(formula: Bm25f, concepts: usize) -> Self {
        let mut valid = Vec::new();
        valid.resize_with(concepts, AtomicBool::default);
        Self { formula, valid }
    }
}

impl Index {
    /// Returns the packed list of a concept and how many postings are in it; an empty one, and
    /// damage, if it is of a snapshot and cannot be what was written.
    pub(super) fn packed_list(&self, concept: u32) -> (&[u8], u32) {
        // nobody stops it
        self.validated(concept, &|| false).unwrap_or((&[], 0))
    }

    /// Validates the list of a concept, if that is not done: of one that every message is in, this
    /// takes long, and what opens it later cannot be stopped.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn validate_list(&self, concept: u32, interrupt: Interrupt<'_>) -> Result<()> {
        self.validated(concept, interrupt).map(|_| ())
    }

    pub(super) fn validated(&self, concept: u32, interrupt: Interrupt<'_>) -> Result<(&[u8], u32)> {
        let (bytes, count) = self.packed.list(concept);
        let Some(validation) = &self.validation else { return Ok((bytes, count)) };
        // new concepts have none
        let Some(valid) = validation.valid.get(concept as usize) else { return Ok((bytes, count)) };
        if !valid.load(Ordering::Relaxed) {
            let (asked, stopped) = (Cell::new(0u32), Cell::new(false));
            let stops = || {
                asked.set(asked.get().wrapping_add(1));
                if asked.get().is_multiple_of(STEP) && interrupt() {
                    stopped.set(true);
                }
                stopped.get()
            };
            let found = self.validate(concept, bytes, count, &validation.formula, &stops);
            if stopped.get() {
                return Err(Error::Interrupted);
            }
            if found.is_none() {
                self.packed.lists.reject();
                return Ok((&[], 0));
            }
            valid.store(true, Ordering::Relaxed);
        }
        Ok((bytes, count))
    }

    /// Once `stops` says so, what it returns is of no use.
    fn validate(
        &self,
        concept: u32,
        bytes: &[u8],
        count: u32,
        formula: &Bm25f,
        stops: &impl Fn() -> bool,
    ) -> Option<()> {
        let patterns = &self.lexicon.patterns;
        let documents = self.packed.documents;
        if count == 0 || count > documents {
            return None;
        }
        let list = decode(bytes, count as usize)?;
        let ascending = list.windows(2).all(|pair| pair[0].document < pair[1].document);
        let known = |posting: &Posting| {
            posting.document < documents && (posting.pattern as usize) < patterns.len()
        };
        if list.len() != count as usize || !ascending || !list.iter().all(known) {
            return None;
        }
        let impacts = Impacts::for_some(formula, list.len());
        let impact = |posting: &Posting| match stops() {
            true => Impact::default(),
            false => {
                let lengths = &self.lengths[posting.document as usize];
                impacts.of(patterns.sum(posting.pattern), lengths)
            }
        };
        let mut same = Vec::with_capacity(bytes.len());
        encode(&list, impact, &mut same);
        (bytes.starts_with(&same) && self.adds_up(concept, &list, stops)).then_some(())
    }

    /// Says whether a list, with what came since, gives the document frequencies of its concept.
    fn adds_up(&self, concept: u32, list: &[Posting], stops: &impl Fn() -> bool) -> bool {
        let patterns = &self.lexicon.patterns;
        let words = self.lexicon.spellings(concept);
        let mut holders = Holders::default();
        let mut word_holders = vec![0u32; words.len()];
        let tail = self.tail.get(&concept).map_or(&[][..], |tail| &tail.postings);
        for posting in list.iter().chain(tail) {
            if stops() {
                return false;
            }
            let live = u32::from(self.is_live(posting.document));
            holders.change(patterns.sum(posting.pattern), |count| *count += live);
            for spelling in patterns.spellings(posting.pattern) {
                let Some(count) = word_holders.get_mut(usize::from(spelling.number)) else {
                    return false;
                };
                *count += live;
            }
        }
        holders == self.holders(concept)
            && words.iter().zip(word_holders).all(|(&word, count)| self.word_holders(word) == count)
    }

    /// Adds up what the documents of every concept and word are counted to be: whatever the
    /// numbers of concepts and words, the sum is the same.
    pub fn census(&self) -> [u64; 4] {
        let mut sums = [0u64; 4];
        for held in &self.holders {
            for (sum, count) in sums.iter_mut().zip([held.any, held.heading, held.speaker]) {
                *sum += u64::from(count) * u64::from(count);
            }
        }
        sums[3] = self.word_holders.iter().map(|&count| u64::from(count) * u64::from(count)).sum();
        sums
    }
}

/// Says whether a page, by its number, of what so many documents hold reads well: the concepts of
/// each, ascending, with their patterns, and nothing behind them.
pub fn is_page_of_holders(
    page: usize,
    bytes: &[u8],
    documents: usize,
    concepts: usize,
    patterns: usize,
) -> bool {
    let mut all = bytes;
    for _ in page * HOLDERS..documents.min((page + 1) * HOLDERS) {
        let length = take_varint(&mut all) as usize;
        let Some((mut bytes, rest)) = all.split_at_checked(length) else { return false };
        all = rest;
        let mut next = 0u32;
        while !bytes.is_empty() {
            let concept = (next.saturating_sub(1)).checked_add(take_varint(&mut bytes));
            let pattern = take_varint(&mut bytes) as usize;
            match concept {
                Some(concept)
                    if concept >= next && (concept as usize) < concepts && pattern < patterns =>
                {
                    next = concept + 1;
                }
                _ => return false,
            }
        }
    }
    all.is_empty()
}

/// Reads a packed list at the front of `bytes`; none if it is none. What is said of the postings
/// is not looked at.
pub(super) fn decode(bytes: &[u8], count: usize) -> Option<Vec<Posting>> {
    // a posting takes three bytes or more
    if count > bytes.len() {
        return None;
    }
    let mut list = Vec::with_capacity(count);
    if count < CUT { decode_few(bytes, count, &mut list) } else { decode_parts(bytes, &mut list) }?;
    Some(list)
}

fn decode_few(mut bytes: &[u8], count: usize, list: &mut Vec<Posting>) -> Option<()> {
    let mut next = 0u32;
    for _ in 0..count {
        let document = next.checked_add(take_varint(&mut bytes))?;
        let code = *bytes.get(IMPACT)?;
        bytes = &bytes[IMPACT + 1..];
        let pattern = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
        list.push(Posting { document, pattern });
        next = document.checked_add(1)?;
    }
    Some(())
}

fn decode_parts(bytes: &[u8], list: &mut Vec<Posting>) -> Option<()> {
    let (slots, rest) = bytes.split_first_chunk()?;
    let slots = u32::from_le_bytes(*slots);
    let (full, slots) = (slots & FULL > 0, (slots & !FULL) as usize);
    let (_saturations, rest) = rest.split_at_checked(slots)?;
    let (headings, rest) = rest.split_at_checked(slots)?;
    let (spots, rest) = rest.split_at_checked(slots.checked_mul(SPOT)?)?;
    let (stretches, data) =
        rest.split_at_checked(if full { 0 } else { slots.checked_mul(4)? })?;
    let spots: &[[u8; SPOT]] = spots.as_chunks().0;
    let stretches: &[[u8; 4]] = stretches.as_chunks().0;
    for (slot, &[a, b, c, d, low, high]) in spots.iter().enumerate() {
        let postings = usize::from(u16::from_le_bytes([low, high]) & !SPEAKER);
        if postings == 0 {
            continue;
        }
        let stretch = match stretches.get(slot) {
            Some(stretch) => u32::from_le_bytes(*stretch) as usize,
            None => slot,
        };
        let first = u32::try_from(stretch.checked_mul(STRETCH)?).ok()?;
        let part = data.get(u32::from_le_bytes([a, b, c, d]) as usize..)?;
        decode_part(part, postings, headings[slot] > 0, first, list)?;
    }
    Some(())
}

/// Reads the postings of a stretch that begins with the document `first`.
fn decode_part(
    part: &[u8],
    count: usize,
    heading: bool,
    first: u32,
    list: &mut Vec<Posting>,
) -> Option<()> {
    let mut rows = [0u8; STRETCH];
    let rows = rows.get_mut(..count)?;
    let rest = if count < MANY {
        let (each, rest) = part.split_at_checked(count)?;
        rows.copy_from_slice(each);
        rest
    } else {
        let (all, rest) = part.split_at_checked(3 * ROWS)?;
        let counts = &all[2 * ROWS..];
        if counts.iter().map(|&count| usize::from(count)).sum::<usize>() != count {
            return None;
        }
        let of_each =
            (0u8..).zip(counts).flat_map(|(row, &count)| std::iter::repeat_n(row, count.into()));
        rows.iter_mut().zip(of_each).for_each(|(row, of)| *row = of);
        rest
    };
    let (places, rest) = rest.split_at_checked(count)?;
    let (_saturations, rest) = rest.split_at_checked(count)?;
    let (codes, rest) = rest.split_at_checked(count)?;
    let (_headings, rest) = rest.split_at_checked(if heading { count } else { 0 })?;
    let mut escaped = rest.as_chunks().0.iter();
    for ((&row, &place), &code) in rows.iter().zip(places).zip(codes) {
        let within = usize::from(row) * ROW + usize::from(place);
        let document = first.checked_add(within as u32)?;
        let pattern = match code {
            ESCAPE => u32::from_le_bytes(*escaped.next()?),
            code => code.into(),
        };
        list.push(Posting { document, pattern });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::postings::spaced;
    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(
            gap in prop_oneof![1u32..4, 2u32..60, 100u32..4000],
            steps in prop::collection::vec((0u32..1000, prop_oneof![9 => 0u32..20, 1 => 0u32..70_000]), 0..2000),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let list = spaced(gap, steps);
            let mut bytes = Vec::new();
            encode(&list, |posting| Impact::new(0.5, (posting.pattern % 2) as f32, false), &mut bytes);
            prop_assert_eq!(decode(&bytes, list.len()), Some(list.clone()));
            // whatever else is there, reading it ends well
            for (at, byte) in flips {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let _ = decode(&bytes, list.len());
                let _ = is_page_of_holders(0, &bytes, 32, 1000, 1000);
            }
        }
    }
}
