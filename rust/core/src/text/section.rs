//! Data model of a parsed Markdown note and its sections, and the chunks of a long section.
//!
//! Only headings of the document itself open a section; one inside a quote or a list item belongs to
//! the text around it. Spans are byte offsets into the file and cover it exactly once; lines are
//! computed on demand.

use std::ops::Range;

use crate::text::metadata::Metadata;

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
    pub metadata: Metadata,
}

/// A parsed note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// In file order; their spans cover the file exactly once. Empty for an empty file.
    pub sections: Vec<Section>,
    /// What the front matter says about the whole note.
    pub front: Metadata,
    /// Code blocks, in file order.
    pub code: Vec<Range<usize>>,
    /// Where the blocks of the document itself begin: the boundaries at which text may be split.
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
        let inside = |boundaries: &[usize]| -> Vec<usize> {
            let first = boundaries.partition_point(|&at| at < *body);
            boundaries[first..].iter().copied().take_while(|&at| at < span.end).collect()
        };
        let mut boundaries = inside(&self.breaks);
        boundaries.extend(inside(&self.items));
        boundaries.sort_unstable();
        boundaries.dedup();
        let lead = boundaries.first().map_or(span.end, |&first| first);
        let mut units = Vec::with_capacity(boundaries.len() + 1);
        if !text[*body..lead].trim().is_empty() {
            units.push(*body..lead);
        }
        let ends = boundaries.iter().skip(1).copied().chain([span.end]);
        units.extend(boundaries.iter().zip(ends).map(|(&start, end)| start..end));
        units
    }

    /// Cuts a section into spans of about `limit` characters, at block boundaries, else line ends.
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
        let boundaries = self.breaks[first..].iter().copied().take_while(|&at| at < span.end);
        for boundary in boundaries.chain([span.end]) {
            while boundary - start > limit {
                // the block that ends at `boundary` is itself too long when nothing precedes it
                let cut = if last_break > start {
                    last_break
                } else {
                    line_end_after(text, start + limit, boundary)
                };
                if cut >= boundary {
                    break;
                }
                parts.push(start..cut);
                start = cut;
            }
            last_break = boundary;
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
