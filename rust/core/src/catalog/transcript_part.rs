//! Parts of a large transcript, which number their lines from 1, joined again.

use crate::catalog::ReadProgress;
use crate::catalog::file_reader::ReadResult;
use crate::messages::formats::{DESCRIBED_LINES, SessionRecord};

impl ReadResult {
    /// Returns whether a part, which begins at `start`, says as much as a reading in one piece: there
    /// was memory for all of it, and the lines that describe the session are in the first part.
    pub(super) fn is_whole_part(&self, start: u64) -> bool {
        let is_described = start > 0 || self.progress.lines >= DESCRIBED_LINES;
        self.cut.is_none() && self.left_out.is_none() && is_described
    }

    /// Appends the next part.
    pub(super) fn append(&mut self, next: &Self) {
        let (own, next_progress) = (&mut self.progress, &next.progress);
        if own.first_bad_line == 0 && next_progress.first_bad_line > 0 {
            own.first_bad_line = own.lines + next_progress.first_bad_line;
        }
        *own = ReadProgress {
            offset: next_progress.offset,
            lines: own.lines + next_progress.lines,
            bad_lines: own.bad_lines + next_progress.bad_lines,
            long_lines: own.long_lines + next_progress.long_lines,
            textless: own.textless + next_progress.textless,
            records: own.records + next_progress.records,
            copies: own.copies.saturating_add(next_progress.copies),
            merge_markers: own.merge_markers + next_progress.merge_markers,
            first_bad_line: own.first_bad_line,
            tail: next_progress.tail,
        };
        let mut session = SessionRecord::parse(&self.summary);
        session.take_later(&SessionRecord::parse(&next.summary));
        self.summary = session.to_text();
    }
}
