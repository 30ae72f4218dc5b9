//! Markdown → sections: a heading with the text up to the next heading, or a file's preamble.
//!
//! Block structure is CommonMark's (crate `pulldown-cmark`): a `#` in a code block, a comment or
//! a list is no heading. Only headings of the document itself open a section; one inside a quote
//! or a list item belongs to the text around it. Spans are byte offsets into the file and cover
//! it exactly once; lines are computed on demand.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{self, Interrupt};
use crate::text::marks::{self, Marks};
use crate::text::outline::{cut, cut_unless};

/// Stands between the headings of a trail; no heading contains it.
pub const TRAIL: char = '\u{1f}';

/// One section of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Bytes of the file, the heading's own line included.
    pub span: Range<usize>,
    /// Where the text below the heading begins.
    pub body: usize,
    /// 1 to 6, or 0 for a preamble.
    pub level: u8,
    /// The heading as plain text, empty for a preamble.
    pub heading: String,
    /// The enclosing section, as an index into [`Note::sections`]; always an earlier one.
    pub parent: Option<usize>,
    /// What the section's leading lines say about it.
    pub marks: Marks,
}

/// A parsed note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// In file order; their spans cover the file exactly once. Empty for an empty file.
    pub sections: Vec<Section>,
    /// What the front matter says about the whole note.
    pub front: Marks,
    /// Code blocks, in file order.
    pub code: Vec<Range<usize>>,
    /// Where the blocks of the document itself begin: the borders at which text may be split.
    pub breaks: Vec<usize>,
    /// Where the items of its lists begin; those of a list within a list do not count.
    pub items: Vec<usize>,
}

/// Headings of a note that open sections of their own; what follows them is one section more, and
/// is found as its parts. A note of nothing but headings would take fifty times its size.
pub const MAX_SECTIONS: usize = 100_000;

/// Longest heading, in bytes: every section below repeats it. What is longer is text as well.
pub const LONGEST_HEADING: usize = 1000;

impl Note {
    /// Returns the headings from the outermost down to the section's own.
    pub fn trail(&self, section: usize) -> Vec<&str> {
        let mut trail = Vec::new();
        let mut next = Some(section);
        while let Some(at) = next {
            let section = &self.sections[at];
            if section.level > 0 {
                trail.push(section.heading.as_str());
            }
            next = section.parent;
        }
        trail.reverse();
        trail
    }

    /// Returns the title: the front matter's, else the first top-level heading, else none.
    pub fn title(&self) -> Option<&str> {
        self.front
            .title
            .as_deref()
            .or_else(|| self.sections.iter().find(|s| s.level == 1).map(|s| s.heading.as_str()))
    }

    /// Cuts a section into its list items and other blocks; a heading alone is none of them.
    pub fn units(&self, section: usize, text: &str) -> Vec<Range<usize>> {
        let Section { span, body, .. } = &self.sections[section];
        let inside = |borders: &[usize]| -> Vec<usize> {
            let first = borders.partition_point(|&at| at < *body);
            borders[first..].iter().copied().take_while(|&at| at < span.end).collect()
        };
        let mut borders = inside(&self.breaks);
        borders.extend(inside(&self.items));
        borders.sort_unstable();
        borders.dedup();
        let lead = borders.first().map_or(span.end, |&first| first);
        let mut units = Vec::with_capacity(borders.len() + 1);
        if !text[*body..lead].trim().is_empty() {
            units.push(*body..lead);
        }
        let ends = borders.iter().skip(1).copied().chain([span.end]);
        units.extend(borders.iter().zip(ends).map(|(&start, end)| start..end));
        units
    }

    /// Cuts a section into spans of about `limit` characters, at block borders, else at line ends.
    ///
    /// The spans cover the section exactly once. A line is never cut.
    pub fn split(&self, section: usize, text: &str, limit: usize) -> Vec<Range<usize>> {
        let span = self.sections[section].span.clone();
        if span.len() <= limit {
            return vec![span];
        }
        // a Chinese character takes three bytes
        let limit = limit * span.len() / text[span.clone()].chars().count().max(1);
        if span.len() <= limit + limit / 2 {
            return vec![span];
        }
        let first = self.breaks.partition_point(|&at| at <= self.sections[section].body);
        let mut parts = Vec::new();
        let mut start = span.start;
        let mut last_break = start;
        let borders = self.breaks[first..].iter().copied().take_while(|&at| at < span.end);
        for border in borders.chain([span.end]) {
            while border - start > limit {
                // the block that ends at `border` is itself too long when nothing precedes it
                let cut = if last_break > start {
                    last_break
                } else {
                    line_end_after(text, start + limit, border)
                };
                if cut >= border {
                    break;
                }
                parts.push(start..cut);
                start = cut;
            }
            last_break = border;
        }
        // a short rest reads better with what precedes it
        match parts.last_mut() {
            Some(previous) if span.end - start < limit / 4 => previous.end = span.end,
            _ => parts.push(start..span.end),
        }
        parts
    }
}

fn line_end_after(text: &str, from: usize, end: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[from..end]).map_or(end, |at| from + at + 1)
}

/// Says whether the bytes of a file are UTF-16, with its mark or as JSON without it.
///
/// The first bytes alone do not say: a crash leaves NULs, and a line of garbage may begin with
/// anything. So the first block must be no UTF-8, or be NUL at every second byte or so, as ASCII is,
/// and hold no line that is a record in UTF-8.
pub fn is_utf16(bytes: &[u8]) -> bool {
    let (bytes, read) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, u16::from_le_bytes as fn([u8; 2]) -> u16),
        [0xfe, 0xff, rest @ ..] => (rest, u16::from_be_bytes as _),
        [b'{' | b'[', 0, 1..=0x7f, 0, ..] => (bytes, u16::from_le_bytes as _),
        [0, b'{' | b'[', 0, 1..=0x7f, ..] => (bytes, u16::from_be_bytes as _),
        _ => return false,
    };
    let block = &bytes[..bytes.len().min(UTF16_BLOCK)];
    let nuls = block.iter().filter(|&&byte| byte == 0).count();
    let is_utf8 = match std::str::from_utf8(block) {
        Ok(_) => true,
        // a character that the block cuts
        Err(error) => error.error_len().is_none() && bytes.len() > block.len(),
    };
    // behind garbage there may be lines that can be read
    let is_record = |line: &[u8]| {
        let inside = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        inside.is_some_and(|inside| inside.starts_with(b"\""))
            && !line.contains(&0)
            && std::str::from_utf8(line).is_ok()
    };
    let has_record = block.split(|&byte| byte == b'\n').any(is_record);
    let units = block.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    // a run of NULs is what a crash leaves, and no text
    let is_text = |unit: &Result<char, _>| unit.as_ref().is_ok_and(|&c| c != '\0');
    let mut broken = char::decode_utf16(units).filter(|unit| !is_text(unit)).count();
    broken += usize::from(bytes.len() % 2 == 1 && bytes.len() == block.len());
    // the block may cut a pair
    broken <= usize::from(bytes.len() > block.len())
        && !has_record
        && (!is_utf8 || nuls * 3 > block.len())
}

/// How much of a file is looked at to tell UTF-16; an even number.
pub const UTF16_BLOCK: usize = 4 << 10;

/// Returns the bytes of a file as text of the same length, so that spans stay true.
///
/// Each byte that is not UTF-8 becomes one SUB character, which no word contains.
pub fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(std::iter::repeat_n('\u{1a}', chunk.invalid().len()));
            }
            Cow::Owned(text)
        }
    }
}

/// Splits a note into its sections.
///
/// Never fails: whatever the text, every byte belongs to exactly one section.
///
/// ```
/// let text = "Intro\n\n# One\ntext\n\n```\n# no heading\n```\nTwo\n---\nmore\n";
/// let note = commonplace_core::text::sections::parse(text);
/// let headings: Vec<_> = note.sections.iter().map(|s| s.heading.as_str()).collect();
/// assert_eq!(headings, ["", "One", "Two"]);
/// ```
pub fn parse(text: &str) -> Note {
    if text.is_empty() {
        return Note::default();
    }
    let (front, start) = front(text);
    cut(text, start..text.len(), front, Some(preamble(text, start)))
}

/// Does the same, unless the caller asks to stop meanwhile.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn parse_unless(text: &str, interrupt: Interrupt<'_>) -> error::Result<Note> {
    if text.is_empty() {
        return Ok(Note::default());
    }
    let (front, start) = front(text);
    cut_unless(text, start..text.len(), front, Some(preamble(text, start)), interrupt)
}

pub(super) fn preamble(text: &str, start: usize) -> Section {
    Section {
        span: 0..text.len(),
        body: start,
        level: 0,
        heading: String::new(),
        parent: None,
        marks: Marks::default(),
    }
}

/// Returns what the front matter of a note says, and where the text behind it begins.
pub fn front(text: &str) -> (Marks, usize) {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut front = Marks::default();
    let start = bom + marks::front_matter(&text[bom..], &mut front);
    (front, start)
}

/// Splits a part of a note that begins with a heading of the document itself: what stands before
/// such a heading says nothing of the blocks behind it.
///
/// The spans are those in the note, and parents are sought in the part alone.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn parse_part(
    text: &str,
    part: Range<usize>,
    front: Marks,
    interrupt: Interrupt<'_>,
) -> error::Result<Note> {
    cut_unless(text, part, front, None, interrupt)
}

/// Returns the line, counted from 1, that holds the byte at `offset`.
pub fn line_of(bytes: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &bytes[..offset.min(bytes.len())]).count() as u64 + 1
}
