//! Decoding of posting lists and forward-index pages that may have been tampered with.
//!
//! Whatever the bytes are, decoding ends without a panic and without a large allocation.

use crate::index::postings::codec::{
    BLOCK, BLOCKS_PER_SUPERBLOCK, DENSE, ESCAPE, HAS_SPEAKER, IMPACT_BYTES, MIN_BLOCKED,
    MIN_WITH_MAXIMA, Posting, SKIP_ENTRY_BYTES, SUPERBLOCK, take_varint,
};

/// Documents of a page of the forward index: to delete one reads the page and half of its bytes.
pub(crate) const FORWARD_PAGE: usize = 32;

/// Says whether a page of the forward index is well-formed: the concepts of each of its documents,
/// ascending, with their profiles, and nothing behind them.
pub fn is_forward_page(
    page: usize,
    bytes: &[u8],
    documents: usize,
    concepts: usize,
    profiles: usize,
) -> bool {
    let mut all = bytes;
    for _ in page * FORWARD_PAGE..documents.min((page + 1) * FORWARD_PAGE) {
        let length = take_varint(&mut all) as usize;
        let Some((mut bytes, rest)) = all.split_at_checked(length) else { return false };
        all = rest;
        let mut next = 0u32;
        while !bytes.is_empty() {
            let concept = (next.saturating_sub(1)).checked_add(take_varint(&mut bytes));
            let profile = take_varint(&mut bytes) as usize;
            match concept {
                Some(concept)
                    if concept >= next && (concept as usize) < concepts && profile < profiles =>
                {
                    next = concept + 1;
                }
                _ => return false,
            }
        }
    }
    all.is_empty()
}

/// Reads a packed list of `count` postings at the front of `bytes`; `None` if it is malformed.
/// Impacts and maxima are not read.
pub(crate) fn decode(bytes: &[u8], count: usize) -> Option<Vec<Posting>> {
    // a posting takes three bytes or more
    if count > bytes.len() {
        return None;
    }
    let mut list = Vec::with_capacity(count);
    if count < MIN_BLOCKED {
        decode_short(bytes, count, &mut list)
    } else {
        decode_superblocks(bytes, &mut list)
    }?;
    Some(list)
}

fn decode_short(mut bytes: &[u8], count: usize, list: &mut Vec<Posting>) -> Option<()> {
    let mut next = 0u32;
    for _ in 0..count {
        let document = next.checked_add(take_varint(&mut bytes))?;
        let code = *bytes.get(IMPACT_BYTES)?;
        bytes = &bytes[IMPACT_BYTES + 1..];
        let profile = if code == ESCAPE { take_varint(&mut bytes) } else { u32::from(code) };
        list.push(Posting { document, profile });
        next = document.checked_add(1)?;
    }
    Some(())
}

fn decode_superblocks(bytes: &[u8], list: &mut Vec<Posting>) -> Option<()> {
    let (header, rest) = bytes.split_first_chunk()?;
    let header = u32::from_le_bytes(*header);
    let (dense, entries) = (header & DENSE > 0, (header & !DENSE) as usize);
    let (_saturations, rest) = rest.split_at_checked(entries)?;
    let (headings, rest) = rest.split_at_checked(entries)?;
    let (skip_entries, rest) = rest.split_at_checked(entries.checked_mul(SKIP_ENTRY_BYTES)?)?;
    let (numbers, data) =
        rest.split_at_checked(if dense { 0 } else { entries.checked_mul(4)? })?;
    let skip_entries: &[[u8; SKIP_ENTRY_BYTES]] = skip_entries.as_chunks().0;
    let numbers: &[[u8; 4]] = numbers.as_chunks().0;
    for (entry, &[a, b, c, d, low, high]) in skip_entries.iter().enumerate() {
        let count = usize::from(u16::from_le_bytes([low, high]) & !HAS_SPEAKER);
        if count == 0 {
            continue;
        }
        let number = match numbers.get(entry) {
            Some(number) => u32::from_le_bytes(*number) as usize,
            None => entry,
        };
        let first = u32::try_from(number.checked_mul(SUPERBLOCK)?).ok()?;
        let superblock = data.get(u32::from_le_bytes([a, b, c, d]) as usize..)?;
        decode_superblock(superblock, count, headings[entry] > 0, first, list)?;
    }
    Some(())
}

/// Reads the postings of a superblock whose first document is `first`.
fn decode_superblock(
    bytes: &[u8],
    count: usize,
    heading: bool,
    first: u32,
    list: &mut Vec<Posting>,
) -> Option<()> {
    let mut blocks = [0u8; SUPERBLOCK];
    let blocks = blocks.get_mut(..count)?;
    let rest = if count < MIN_WITH_MAXIMA {
        let (each, rest) = bytes.split_at_checked(count)?;
        blocks.copy_from_slice(each);
        rest
    } else {
        let (maxima, rest) = bytes.split_at_checked(3 * BLOCKS_PER_SUPERBLOCK)?;
        let counts = &maxima[2 * BLOCKS_PER_SUPERBLOCK..];
        if counts.iter().map(|&count| usize::from(count)).sum::<usize>() != count {
            return None;
        }
        let of_each =
            (0u8..).zip(counts).flat_map(|(at, &count)| std::iter::repeat_n(at, count.into()));
        blocks.iter_mut().zip(of_each).for_each(|(block, at)| *block = at);
        rest
    };
    let (offsets, rest) = rest.split_at_checked(count)?;
    let (_saturations, rest) = rest.split_at_checked(count)?;
    let (codes, rest) = rest.split_at_checked(count)?;
    let (_headings, rest) = rest.split_at_checked(if heading { count } else { 0 })?;
    let mut escaped = rest.as_chunks().0.iter();
    for ((&block, &offset), &code) in blocks.iter().zip(offsets).zip(codes) {
        let within = usize::from(block) * BLOCK + usize::from(offset);
        let document = first.checked_add(within as u32)?;
        let profile = match code {
            ESCAPE => u32::from_le_bytes(*escaped.next()?),
            code => code.into(),
        };
        list.push(Posting { document, profile });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::postings::codec::{Impact, encode, spaced};

    proptest! {
        #[test]
        fn decode_reads_what_encode_wrote(
            gap in prop_oneof![1u32..4, 2u32..60, 100u32..4000],
            steps in prop::collection::vec((0u32..1000, prop_oneof![9 => 0u32..20, 1 => 0u32..70_000]), 0..2000),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let list = spaced(gap, steps);
            let mut bytes = Vec::new();
            encode(&list, |posting| Impact::new(0.5, (posting.profile % 2) as f32, false), &mut bytes);
            prop_assert_eq!(decode(&bytes, list.len()), Some(list.clone()));
            // whatever the bytes are, decoding ends without a panic
            for (at, byte) in flips {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let _ = decode(&bytes, list.len());
                let _ = is_forward_page(0, &bytes, 32, 1000, 1000);
            }
        }
    }
}
