//! How posting lists are written: bytes that are never changed. [`crate::index::postings::reader`] reads them.
//!
//! The documents of a collection lie in stretches of 2,048 and rows of 128, and a list is cut where
//! these are. So the most that a list says in a row is known without a look at its postings, those of
//! a row are found without one at those before, and a document needs a byte.
//!
//! A list of a few postings is those, one after the other. Any other is the number of its parts; of
//! every part, each by itself, the most saturation, the most of headings, and where it begins and how
//! many postings it has; and the parts. If it is in a third of all stretches, it has a part for each,
//! be it empty; else the stretches follow too. A part has, each by itself: of every row, the most
//! saturation, the most of headings, and the number of postings; of every posting, its place in the
//! row, its saturation, the code of its pattern and, if any stands in a heading, that impact; and
//! the patterns that need more than a byte. Where the postings are few, the row of each stands in
//! place of what is said of all rows.

/// Documents of a stretch.
pub(crate) const STRETCH: usize = ROWS * ROW;
/// Rows of a stretch.
pub(crate) const ROWS: usize = 16;
/// Documents of a row.
pub(crate) const ROW: usize = 128;
/// Postings from which on a list is cut into parts.
pub(crate) const CUT: usize = 64;
/// Postings from which on a part says what is in each row: fewer are looked at as quickly.
pub(crate) const MANY: usize = 32;
/// Bytes of an impact.
pub(crate) const IMPACT: usize = 3;
/// Bytes that say where a part begins and how many postings it has.
pub(crate) const SPOT: usize = 6;
/// In the number of postings of a part: some of them are a speaker's name.
pub(crate) const SPEAKER: u16 = 1 << 15;
/// In the number of parts: there is one for each stretch.
pub(crate) const FULL: u32 = 1 << 31;
/// Stands for the patterns that do not fit in a byte.
pub(crate) const ESCAPE: u8 = 255;

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
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self { saturation: bytes[0], heading: bytes[1], speaker: bytes[2] > 0 }
    }
}

/// Appends a list, sorted by document, to `out`; `impact` says how much each posting can say.
pub fn encode(list: &[Posting], impact: impl Fn(&Posting) -> Impact, out: &mut Vec<u8>) {
    if list.len() < CUT {
        return encode_few(list, impact, out);
    }
    let stretch = |posting: &Posting| posting.document as usize / STRETCH;
    let parts = list.chunk_by(|a, b| stretch(a) == stretch(b));
    let (count, stretches) = (parts.clone().count(), list.last().map_or(0, stretch) + 1);
    let full = count * 3 >= stretches;
    let slots = if full { stretches } else { count };
    out.extend((slots as u32 | if full { FULL } else { 0 }).to_le_bytes());
    let saturations = out.len();
    let [headings, spots] = [saturations + slots, saturations + 2 * slots];
    out.resize(spots + slots * SPOT, 0);
    if !full {
        out.extend(parts.clone().flat_map(|part| (stretch(&part[0]) as u32).to_le_bytes()));
    }
    let data = out.len();
    let mut impacts = Vec::with_capacity(STRETCH);
    for (at, part) in parts.enumerate() {
        let slot = if full { stretch(&part[0]) } else { at };
        let start = (out.len() - data) as u32;
        impacts.clear();
        impacts.extend(part.iter().map(&impact));
        let most = encode_part(part, &impacts, out);
        let postings = part.len() as u16 | if most.speaker { SPEAKER } else { 0 };
        (out[saturations + slot], out[headings + slot]) = (most.saturation, most.heading);
        let spot = &mut out[spots + slot * SPOT..][..SPOT];
        spot[..4].copy_from_slice(&start.to_le_bytes());
        spot[4..].copy_from_slice(&postings.to_le_bytes());
    }
}

/// Appends the postings of one stretch and returns what they say together.
fn encode_part(part: &[Posting], impacts: &[Impact], out: &mut Vec<u8>) -> Impact {
    let row = |posting: &Posting| posting.document as usize / ROW % ROWS;
    let mut rows = [(Impact::default(), 0u8); ROWS];
    for (posting, &impact) in part.iter().zip(impacts) {
        let (most, count) = &mut rows[row(posting)];
        (*most, *count) = (most.or(impact), *count + 1);
    }
    let most = rows.iter().fold(Impact::default(), |most, (row, _)| most.or(*row));
    if part.len() < MANY {
        out.extend(part.iter().map(|posting| row(posting) as u8));
    } else {
        out.extend(rows.iter().map(|(most, _)| most.saturation));
        out.extend(rows.iter().map(|(most, _)| most.heading));
        out.extend(rows.iter().map(|(_, count)| count));
    }
    out.extend(part.iter().map(|posting| (posting.document as usize % ROW) as u8));
    out.extend(impacts.iter().map(|impact| impact.saturation));
    out.extend(part.iter().map(|posting| code(posting.pattern)));
    if most.heading > 0 {
        out.extend(impacts.iter().map(|impact| impact.heading));
    }
    for posting in part.iter().filter(|posting| code(posting.pattern) == ESCAPE) {
        out.extend_from_slice(&posting.pattern.to_le_bytes());
    }
    most
}

fn encode_few(list: &[Posting], impact: impl Fn(&Posting) -> Impact, out: &mut Vec<u8>) {
    let mut next = 0;
    for posting in list {
        varint(posting.document - next, out);
        out.extend_from_slice(&impact(posting).to_bytes());
        out.push(code(posting.pattern));
        if code(posting.pattern) == ESCAPE {
            varint(posting.pattern, out);
        }
        next = posting.document + 1;
    }
}

/// Returns the byte that stands for a pattern.
pub(crate) fn code(pattern: u32) -> u8 {
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

/// Returns a list of postings at most so far apart, for the tests: steps and patterns are drawn.
#[cfg(test)]
pub(crate) fn spaced(gap: u32, steps: Vec<(u32, u32)>) -> Vec<Posting> {
    let mut next = 0;
    let list = steps.into_iter().map(|(step, pattern)| {
        let document = next + step % gap;
        next = document + 1;
        Posting { document, pattern }
    });
    list.collect()
}
