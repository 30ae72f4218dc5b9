//! How posting lists are written: blocks that are never changed. [`super::cursor`] reads them.
//!
//! A packed list is, in this order: the [`Impact`] of all of it, one entry a full block (last
//! document, where its bytes begin, its impact), the blocks, and the rest of less than a block;
//! without a full block, it is the rest alone. A block holds 128 documents as bit-packed gaps (crate `bitpacking`), two bytes each for the
//! impact, and one byte each for the pattern; 255 says that the number stands behind the block in
//! full.

use bitpacking::{BitPacker, BitPacker4x};

/// Documents in a full block.
pub const BLOCK: usize = BitPacker4x::BLOCK_LEN;
/// Bytes of an impact.
pub(super) const IMPACT: usize = 3;
/// Bytes of the entry of a block.
pub(super) const ENTRY: usize = 8 + IMPACT;
/// Stands for the patterns that do not fit in a byte.
pub(super) const ESCAPE: u8 = 255;

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
        // with room for how f32 rounds; up, without the call that `ceil` is on plain x86-64
        let level = |part: f32| {
            let exact = (part * 255.0 * 1.000_01).min(255.0);
            let down = exact as u8;
            down + u8::from(f32::from(down) < exact)
        };
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

    fn to_bytes(self) -> [u8; IMPACT] {
        [self.saturation, self.heading, u8::from(self.speaker)]
    }

    /// Reads what [`encode`] wrote.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self { saturation: bytes[0], heading: bytes[1], speaker: bytes[2] > 0 }
    }
}

/// Appends a list, sorted by document, to `out`; `impact` says how much each posting can say.
pub fn encode(list: &[Posting], impact: impl Fn(&Posting) -> Impact, out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let (full, rest) = list.as_chunks::<BLOCK>();
    let start = out.len();
    let mut all = Impact::default();
    if !full.is_empty() {
        out.extend(all.to_bytes());
    }
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
        all = all.or(most);
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
        let own = impact(posting);
        all = all.or(own);
        varint(posting.document - next, out);
        out.extend_from_slice(&own.to_bytes());
        out.push(code(posting.pattern));
        if code(posting.pattern) == ESCAPE {
            varint(posting.pattern, out);
        }
        next = posting.document + 1;
    }
    if !full.is_empty() {
        out[start..start + IMPACT].copy_from_slice(&all.to_bytes());
    }
}

/// Returns the byte that stands for a pattern.
pub(super) fn code(pattern: u32) -> u8 {
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
