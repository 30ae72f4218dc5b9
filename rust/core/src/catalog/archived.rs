//! Archived files: transcripts whose documents are in the archive on the disk, not in this index.
//!
//! The list of them has their size and time. A file that has changed since is indexed here again:
//! what is in the archive of it counts no more. So each message is in exactly one of the two,
//! whatever a crash has left of the move from one to the other.

use crate::catalog::archive_list::ArchivedFile;
use crate::catalog::{Catalog, FileMeta};
use crate::files::file_kind::FileKind;
use crate::files::root::Stat;

/// Why an archived file is left out of the index.
pub(crate) const ARCHIVED: &str = "archive";

impl Catalog {
    /// Returns whether what the archive has of a file counts: of a transcript only while this index
    /// leaves it out.
    pub(crate) fn is_archived(&self, path: &str) -> bool {
        self.file(path).is_some_and(|file| {
            file.left_out == Some(ARCHIVED) || file.kind != FileKind::Transcript
        })
    }

    /// Returns whether this index still holds a file that is in the archive, as a snapshot does that
    /// was written before.
    pub(crate) fn is_newly_archived(&self, file: &FileMeta) -> bool {
        let can_be = file.kind == FileKind::Transcript && file.left_out.is_none();
        can_be && self.archived.get(&file.path, &file.stat).is_some()
    }

    /// Takes over files of a walk that are archived and not in the table yet; returns the others.
    ///
    /// Nothing of them is read: the walk has their stamps, and the list says the rest.
    ///
    /// # Arguments
    /// * `places`: of files in `seen`.
    pub(crate) fn take_archived(
        &mut self,
        seen: &[(String, Stat)],
        mut places: Vec<usize>,
    ) -> Vec<usize> {
        let archived = self.archived.clone();
        places.retain(|&at| {
            let (path, stat) = &seen[at];
            let can_be = FileKind::of(path) == FileKind::Transcript && self.file(path).is_none();
            let Some(file) = archived.get(path, stat).filter(|_| can_be) else { return true };
            let summary = self.labels.interner().intern(&file.summary);
            let place = self.place(path) as usize;
            let known = &mut self.files[place];
            (known.stat, known.summary, known.left_out) = (*stat, summary, Some(ARCHIVED));
            self.changes.push(path);
            false
        });
        self.report_memory_use();
        places
    }

    /// Returns what is known of a file that is in the archive, and not in this index.
    pub(crate) fn archived_file(&self, file: &FileMeta) -> Option<&ArchivedFile> {
        let is_left_out = file.left_out == Some(ARCHIVED);
        self.archived.files().get(&file.path).filter(|_| is_left_out)
    }
}
