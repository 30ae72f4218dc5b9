//! Scan plan: the ranges of a file to scan, and the line counts of those to skip.

use super::chunk_result::ChunkResult;
use super::gram_index::FileRange;

/// Ranges of a file; without any, all of it is scanned.
#[derive(Debug, Default)]
pub(super) struct ScanPlan {
    ranges: Vec<FileRange>,
}

/// A range of a file: the lines that begin in it are scanned together, or need not be.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanRange {
    pub from: u64,
    pub to: u64,
    skip: Option<(u64, u64)>,
}

impl ScanPlan {
    /// `ranges` follow one another without gaps.
    pub fn new(ranges: Vec<FileRange>) -> Self {
        Self { ranges }
    }

    /// Whether nothing is known of any range, so that all is scanned.
    pub fn is_whole(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The next ranges of `from..to` in the order of the scan, up to `most` of them to be scanned.
    pub fn next(
        &self,
        from: u64,
        to: u64,
        chunk: u64,
        backwards: bool,
        most: usize,
    ) -> Vec<ScanRange> {
        let (mut from, mut to, mut ranges, mut scanned) = (from, to, Vec::new(), 0);
        while from < to && scanned < most {
            let inside = if backwards { to - 1 } else { from };
            let at = self.ranges.partition_point(|range| range.to <= inside);
            let whole = ScanRange { from, to, skip: None };
            let range = self.ranges.get(at).map_or(whole, |range| ScanRange {
                from: from.max(range.from),
                to: to.min(range.to),
                skip: range.skip,
            });
            let range = match (range.skip, backwards) {
                (Some(_), _) => range,
                (None, false) => ScanRange { to: range.to.min(from + chunk), ..range },
                (None, true) => {
                    ScanRange { from: range.from.max(to.saturating_sub(chunk)), ..range }
                }
            };
            if backwards {
                to = range.from
            } else {
                from = range.to
            }
            scanned += usize::from(range.skip.is_none());
            ranges.push(range);
        }
        ranges
    }
}

impl ScanRange {
    /// The result of a range that is skipped.
    pub fn skipped(self) -> Option<ChunkResult> {
        let Self { from, to, skip } = self;
        skip.map(|(line_ends, lines)| ChunkResult {
            from,
            to,
            line_ends,
            lines,
            ..ChunkResult::default()
        })
    }
}
