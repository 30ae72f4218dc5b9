//! Malformed lines and merge conflict markers of a file: where, how many, and the warning of them.

use crate::catalog::{FileMeta, ReadProgress};
use crate::files::file_kind::FileKind;
use crate::messages::fields::trim;
use crate::text::citation::cite_line;
use crate::text::merge_markers;

impl ReadProgress {
    /// Notes a line of a transcript that is no JSON; it is the last of the `lines`.
    pub(super) fn note_bad_line(&mut self, line: &[u8]) {
        self.merge_markers += u32::from(merge_markers::is_marker(trim(line)));
        if self.first_bad_line == 0 {
            self.first_bad_line = self.lines;
        }
    }

    /// Notes the conflict markers of a note.
    pub(super) fn note_conflicts(&mut self, text: &str) {
        (self.first_bad_line, self.merge_markers) = merge_markers::in_note(text);
    }
}

impl FileMeta {
    /// Returns how many lines of a transcript are no JSON, or conflict markers a note has.
    #[must_use]
    pub fn bad_line_count(&self) -> u32 {
        match self.kind {
            // too long ones are omissions
            FileKind::Transcript => {
                self.progress.bad_lines.saturating_sub(self.progress.long_lines)
            }
            _ => self.progress.merge_markers,
        }
    }

    /// Returns where the first of these is and what to do, if there are any.
    #[must_use]
    pub fn bad_lines_note(&self) -> Option<String> {
        let ReadProgress { merge_markers: markers, first_bad_line, .. } = self.progress;
        let count = self.bad_line_count();
        let place = cite_line(&self.path, first_bad_line.into());
        (count > 0).then(|| match (self.kind, markers) {
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
