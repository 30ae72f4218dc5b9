//! Malformed lines and merge conflict markers of a file: where, how many, and the warning of them.

use crate::catalog::{FileMeta, ReadProgress};
use crate::files::file_kind::FileKind;
use crate::messages::fields::trim;
use crate::messages::message::ParsedLine;
use crate::text::citation::cite_line;
use crate::text::merge_markers;

impl ReadProgress {
    /// Takes the next line of a transcript, which begins at `start` and has an end.
    ///
    /// # Arguments
    /// * `is_whole`: whether it is no longer than lines may be.
    pub(crate) fn take_line(
        &mut self,
        start: u64,
        line: &[u8],
        kind: &ParsedLine<bool>,
        is_whole: bool,
    ) {
        self.lines += 1;
        self.offset = start + line.len() as u64;
        if is_whole && *kind == ParsedLine::Bad {
            self.note_bad_line(line);
        }
        self.long_lines += u32::from(!is_whole);
        self.count(kind, line);
    }

    /// Notes a line of a transcript that is not JSON; it is the last of the `lines`.
    fn note_bad_line(&mut self, line: &[u8]) {
        self.merge_markers += u32::from(merge_markers::is_marker(trim(line)));
        if self.first_bad_line == 0 {
            self.first_bad_line = self.lines;
        }
    }

    /// Notes the conflict markers of a note.
    pub(super) fn note_conflicts(&mut self, text: &str) {
        (self.first_bad_line, self.merge_markers) = merge_markers::in_note(text);
    }

    /// Returns how many lines of a transcript are not JSON, or how many conflict markers a note has.
    fn bad_line_count(&self, kind: FileKind) -> u32 {
        match kind {
            // too long ones are omissions
            FileKind::Transcript => self.bad_lines.saturating_sub(self.long_lines),
            _ => self.merge_markers,
        }
    }

    /// Returns where the first of these is in a file and what to do, if there are any.
    pub(crate) fn bad_lines_note(&self, path: &str, kind: FileKind) -> Option<String> {
        let Self { merge_markers: markers, first_bad_line, .. } = self;
        let (count, place) = (self.bad_line_count(kind), cite_line(path, (*first_bad_line).into()));
        (count > 0).then(|| match (kind, markers) {
            (FileKind::Transcript, 0) => format!(
                "{place}: the first of {count} lines that are not valid JSON and not searched; \
                 fix or delete them"
            ),
            (FileKind::Transcript, _) => format!(
                "{place}: the first of {count} lines that are not valid JSON, {markers} of them \
                 conflict markers of git; delete those and keep the messages between them"
            ),
            _ => format!(
                "{place}: the first of {count} conflict markers of git; keep the text that is right \
                 and delete them"
            ),
        })
    }
}

impl FileMeta {
    /// Returns how many lines of a transcript are not JSON, or how many conflict markers a note has.
    #[must_use]
    pub fn bad_line_count(&self) -> u32 {
        self.progress.bad_line_count(self.kind)
    }

    /// Returns where the first of these is and what to do, if there are any.
    #[must_use]
    pub fn bad_lines_note(&self) -> Option<String> {
        self.progress.bad_lines_note(&self.path, self.kind)
    }
}
