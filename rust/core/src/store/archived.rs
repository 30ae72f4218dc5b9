//! The index of a store beside the archive: files that others archive or bring back.

use std::sync::Arc;

use crate::catalog::archive_list::{ArchivedFile, ArchivedFiles};
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::root::Stat;
use crate::memory_limit::trim_heap;
use crate::store::Store;

impl Store {
    /// Returns the list of archived files as it is on the disk, read again only if it has changed.
    ///
    /// # Errors
    /// As for [`ArchivedFiles::open`].
    pub fn archive_list(&self) -> Result<Arc<ArchivedFiles>> {
        let mut list = self.archive_list.lock();
        // a link in its place, which has no stamps either, is refused each time
        if list.has_changed(self.root()) || list.is_missing() {
            *list = Arc::new(ArchivedFiles::open(self.root())?);
        }
        Ok(list.clone())
    }

    /// As [`Store::archive_list`]; of a link in its place, whoever writes there says what is wrong.
    pub(super) fn archive_list_if_allowed(&self) -> Result<Arc<ArchivedFiles>> {
        match self.archive_list() {
            Err(Error::Refused { .. }) => Ok(Arc::default()),
            list => list,
        }
    }

    /// Returns the list of archived files that the index follows.
    pub(crate) fn archived(&self) -> Arc<ArchivedFiles> {
        self.archived.lock().clone()
    }

    /// Returns the stamps of the list of archived files, which change with it; none where nothing was
    /// ever archived.
    pub fn archive_stamp(&self) -> Option<Stat> {
        ArchivedFiles::stamp(self.root())
    }

    /// Returns the files that are in the archive and not in the index, sorted by path.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn archived_files(&self, interrupt: Interrupt<'_>) -> Result<Vec<(String, ArchivedFile)>> {
        let state = self.refresh(interrupt)?;
        let files = state.main.files.iter().filter(|file| file.present);
        let archived = files
            .filter_map(|file| Some((file.path.clone(), state.main.archived_file(file)?.clone())));
        let mut files: Vec<_> = archived.collect();
        files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(files)
    }

    /// Returns the files in the list of the archive of which what is there does not count any more,
    /// for they have changed or are gone; sorted by path.
    ///
    /// Each search asks for them. So where there are none, that is kept until a file or the list
    /// changes.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn no_longer_archived(&self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let state = self.refresh(interrupt)?;
        let (list, revision) = (&state.main.archived, state.main.changes.last());
        let mut kept = self.all_archived.lock();
        if kept.as_ref().is_some_and(|(at, seen)| *seen == revision && Arc::ptr_eq(at, list)) {
            return Ok(Vec::new());
        }
        let listed = list.files().keys();
        let mut changed: Vec<String> =
            listed.filter(|path| !state.main.is_archived(path)).cloned().collect();
        changed.sort_unstable();
        *kept = changed.is_empty().then(|| (list.clone(), revision));
        Ok(changed)
    }

    /// Leaves the index, to have its memory for something else; the next call that needs it opens it
    /// again.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn release_index(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut state = self.write_state(interrupt)?;
        self.close_index(&mut state);
        drop(state);
        trim_heap();
        Ok(())
    }

    /// Takes over a list of archived files that has changed: indexes what has left it, and drops what
    /// is new in it.
    pub(super) fn follow_archive(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let before = self.archived();
        if !before.has_changed(self.root()) {
            return Ok(());
        }
        let after = self.archive_list_if_allowed()?;
        let mut state = self.write_state(interrupt)?;
        state.main.archived = after.clone();
        if let Some(tools) = &mut state.tools {
            tools.archived = after.clone();
        }
        let changed = |one: &ArchivedFiles, other: &ArchivedFiles| -> Vec<String> {
            let files = one.files().iter();
            let files = files.filter(|(path, file)| other.files().get(*path) != Some(*file));
            files.map(|(path, _)| path.clone()).collect()
        };
        let mut paths = changed(&before, &after);
        paths.extend(changed(&after, &before));
        paths.sort_unstable();
        paths.dedup();
        for path in paths.iter().filter(|path| FileKind::of(path) == FileKind::Transcript) {
            self.update(&mut state, path, interrupt)?;
        }
        // an interrupted call begins again
        *self.archived.lock() = after;
        Ok(())
    }
}
