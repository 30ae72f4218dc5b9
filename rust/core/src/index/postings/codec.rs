//! Encoding of posting lists into superblocks and blocks with their impact maxima.
//!
//! A superblock is 2,048 consecutive documents, a block is 128: lists are cut there.
//! So the maximum impact of a block is known without reading its postings, the postings of a block
//! are found without reading those before, and a document takes one byte. An encoded list is never
//! changed; [`crate::index::postings::reader`] reads it.
//!
//! A short list (fewer than [`MIN_BLOCKED`] postings) is its postings, one after the other. Any
//! other list has
//! - the number of its superblocks, with a flag that says whether every superblock of the
//!   collection has an entry, be it empty (if the list is in a third of all superblocks or more),
//! - as one array each, for every superblock: the maximum saturation, the maximum in headings, and
//!   the skip entry (where its data begins, and how many postings it has),
//! - unless every superblock has an entry: the numbers of the superblocks,
//! - the data of the superblocks.
//!
//! The data of a superblock has, as one array each,
//! - for every block: the maximum saturation, the maximum in headings, and the number of postings;
//!   or, where there are fewer than [`MIN_WITH_MAXIMA`] postings, for every posting: its block,
//! - for every posting: its offset in the block, its saturation, the code of its profile and, if
//!   any posting is in a heading, its saturation there,
//! - the profiles that need more than a byte.

/// Documents of a superblock.
pub(crate) const SUPERBLOCK: usize = BLOCKS_PER_SUPERBLOCK * BLOCK;
/// Blocks of a superblock.
pub(crate) const BLOCKS_PER_SUPERBLOCK: usize = 16;
/// Documents of a block.
pub(crate) const BLOCK: usize = 128;
/// Postings from which on a list is cut into superblocks.
pub(crate) const MIN_BLOCKED: usize = 64;
/// Postings from which on a superblock stores block maxima: fewer postings are read as quickly.
pub(crate) const MIN_WITH_MAXIMA: usize = 32;
/// Bytes of an impact in a short list.
pub(crate) const IMPACT_BYTES: usize = 3;
/// Bytes of a skip entry: where a superblock begins and how many postings it has.
pub(crate) const SKIP_ENTRY_BYTES: usize = 6;
/// Flag in the number of postings of a superblock: some of them are in a speaker's name.
pub(crate) const HAS_SPEAKER: u16 = 1 << 15;
/// Flag in the number of superblocks: every superblock of the collection has an entry.
pub(crate) const DENSE: u32 = 1 << 31;
/// The code of profiles that do not fit in a byte.
pub(crate) const ESCAPE: u8 = 255;

/// One document that holds a concept, and the term-frequency profile of the concept in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Posting {
    /// The document.
    pub document: u32,
    /// The number of its profile.
    pub profile: u32,
}

/// An upper bound of the saturated term frequency of a posting, or of a range of postings.
///
/// Two bytes a posting tell whether a document is worth scoring, at a tenth of what scoring costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Impact {
    /// `tf~ / (k1 + tf~)` in 255ths, rounded up.
    pub saturation: u8,
    /// The same of headings and titles alone.
    pub heading: u8,
    /// Whether the term is in a speaker's name.
    pub speaker: bool,
}

impl Impact {
    /// No posting has more.
    pub const MAX: Self = Self { saturation: u8::MAX, heading: u8::MAX, speaker: true };

    /// Rounds two saturations, from 0 to 1, up.
    pub fn new(saturation: f32, heading: f32, speaker: bool) -> Self {
        // with room for how f32 rounds; up, without the call that `ceil` is on plain x86-64
        let level = |part: f32| {
            let exact = (part * 255.0 * 1.000_01).min(255.0);
            let down = exact as u8;
            down + u8::from(f32::from(down) < exact)
        };
        Self { saturation: level(saturation), heading: level(heading), speaker }
    }

    /// Returns the maximum of both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            saturation: self.saturation.max(other.saturation),
            heading: self.heading.max(other.heading),
            speaker: self.speaker | other.speaker,
        }
    }

    fn to_bytes(self) -> [u8; IMPACT_BYTES] {
        [self.saturation, self.heading, u8::from(self.speaker)]
    }

    /// Reads what [`encode`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self { saturation: bytes[0], heading: bytes[1], speaker: bytes[2] > 0 }
    }
}

/// Appends a list, sorted by document, to `out`; `impact` gives the impact of each posting, and is
/// asked for them in their order.
pub fn encode(list: &[Posting], mut impact: impl FnMut(&Posting) -> Impact, out: &mut Vec<u8>) {
    if list.len() < MIN_BLOCKED {
        return encode_short(list, impact, out);
    }
    let number = |posting: &Posting| posting.document as usize / SUPERBLOCK;
    let superblocks = list.chunk_by(|a, b| number(a) == number(b));
    let (count, end) = (superblocks.clone().count(), list.last().map_or(0, number) + 1);
    let dense = count * 3 >= end;
    let entries = if dense { end } else { count };
    out.extend((entries as u32 | if dense { DENSE } else { 0 }).to_le_bytes());
    let saturations = out.len();
    let [headings, skip_entries] = [saturations + entries, saturations + 2 * entries];
    out.resize(skip_entries + entries * SKIP_ENTRY_BYTES, 0);
    if !dense {
        out.extend(superblocks.clone().flat_map(|part| (number(&part[0]) as u32).to_le_bytes()));
    }
    let data = out.len();
    let mut impacts = Vec::with_capacity(SUPERBLOCK);
    for (at, postings) in superblocks.enumerate() {
        let entry = if dense { number(&postings[0]) } else { at };
        let start = (out.len() - data) as u32;
        impacts.clear();
        impacts.extend(postings.iter().map(&mut impact));
        let max = encode_superblock(postings, &impacts, out);
        let count = postings.len() as u16 | if max.speaker { HAS_SPEAKER } else { 0 };
        (out[saturations + entry], out[headings + entry]) = (max.saturation, max.heading);
        let skip_entry = &mut out[skip_entries + entry * SKIP_ENTRY_BYTES..][..SKIP_ENTRY_BYTES];
        skip_entry[..4].copy_from_slice(&start.to_le_bytes());
        skip_entry[4..].copy_from_slice(&count.to_le_bytes());
    }
}

/// Appends the postings of one superblock and returns their maximum impact.
fn encode_superblock(postings: &[Posting], impacts: &[Impact], out: &mut Vec<u8>) -> Impact {
    let block = |posting: &Posting| posting.document as usize / BLOCK % BLOCKS_PER_SUPERBLOCK;
    let mut blocks = [(Impact::default(), 0u8); BLOCKS_PER_SUPERBLOCK];
    for (posting, &impact) in postings.iter().zip(impacts) {
        let (max, count) = &mut blocks[block(posting)];
        (*max, *count) = (max.max(impact), *count + 1);
    }
    let max = blocks.iter().fold(Impact::default(), |max, (block, _)| max.max(*block));
    if postings.len() < MIN_WITH_MAXIMA {
        out.extend(postings.iter().map(|posting| block(posting) as u8));
    } else {
        out.extend(blocks.iter().map(|(max, _)| max.saturation));
        out.extend(blocks.iter().map(|(max, _)| max.heading));
        out.extend(blocks.iter().map(|(_, count)| count));
    }
    out.extend(postings.iter().map(|posting| (posting.document as usize % BLOCK) as u8));
    out.extend(impacts.iter().map(|impact| impact.saturation));
    out.extend(postings.iter().map(|posting| profile_code(posting.profile)));
    if max.heading > 0 {
        out.extend(impacts.iter().map(|impact| impact.heading));
    }
    for posting in postings.iter().filter(|posting| profile_code(posting.profile) == ESCAPE) {
        out.extend_from_slice(&posting.profile.to_le_bytes());
    }
    max
}

fn encode_short(list: &[Posting], mut impact: impl FnMut(&Posting) -> Impact, out: &mut Vec<u8>) {
    let mut next = 0;
    for posting in list {
        varint(posting.document - next, out);
        out.extend_from_slice(&impact(posting).to_bytes());
        out.push(profile_code(posting.profile));
        if profile_code(posting.profile) == ESCAPE {
            varint(posting.profile, out);
        }
        next = posting.document + 1;
    }
}

/// Returns the byte that stands for a profile.
pub(crate) fn profile_code(profile: u32) -> u8 {
    u8::try_from(profile).unwrap_or(ESCAPE)
}

/// Appends a number in 7-bit groups, low group first (LEB128).
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

/// Returns a list of postings that are at most `gap` documents apart, for property tests.
#[cfg(test)]
pub(crate) fn spaced(gap: u32, steps: Vec<(u32, u32)>) -> Vec<Posting> {
    let mut next = 0;
    let list = steps.into_iter().map(|(step, profile)| {
        let document = next + step % gap;
        next = document + 1;
        Posting { document, profile }
    });
    list.collect()
}
