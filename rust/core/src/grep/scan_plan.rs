//! Which parts of a file are to be scanned, and how many lines lie between them.

use super::chunk::Chunk;
use super::gram_index::Stretch;

/// How a file is divided; without stretches, all of it is scanned.
#[derive(Debug, Default)]
pub(super) struct Parts {
    stretches: Vec<Stretch>,
}

/// A part of a file: the lines that begin in it are scanned together, or need not be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub from: u64,
    pub to: u64,
    clear: Option<(u64, u64)>,
}

impl Parts {
    /// `stretches` follow one another without gaps.
    pub fn new(stretches: Vec<Stretch>) -> Self {
        Self { stretches }
    }

    /// Whether nothing is known of any part, so that all is scanned.
    pub fn is_whole(&self) -> bool {
        self.stretches.is_empty()
    }

    /// The next parts of `from..to` in the order of the scan, up to `most` of them to be scanned.
    pub fn next(&self, from: u64, to: u64, chunk: u64, backwards: bool, most: usize) -> Vec<Part> {
        let (mut from, mut to, mut parts, mut scanned) = (from, to, Vec::new(), 0);
        while from < to && scanned < most {
            let inside = if backwards { to - 1 } else { from };
            let at = self.stretches.partition_point(|stretch| stretch.to <= inside);
            let whole = Part { from, to, clear: None };
            let stretch = self.stretches.get(at).map_or(whole, |stretch| Part {
                from: from.max(stretch.from),
                to: to.min(stretch.to),
                clear: stretch.clear,
            });
            let part = match (stretch.clear, backwards) {
                (Some(_), _) => stretch,
                (None, false) => Part { to: stretch.to.min(from + chunk), ..stretch },
                (None, true) => {
                    Part { from: stretch.from.max(to.saturating_sub(chunk)), ..stretch }
                }
            };
            if backwards {
                to = part.from
            } else {
                from = part.to
            }
            scanned += usize::from(part.clear.is_none());
            parts.push(part);
        }
        parts
    }
}

impl Part {
    /// What a scan would have found here, where that is known.
    pub fn known(self) -> Option<Chunk> {
        let Self { from, to, clear } = self;
        clear.map(|(line_ends, lines)| Chunk { from, to, line_ends, lines, ..Chunk::default() })
    }
}
