//! Refresh of the index before each call, from change notifications or a comparison of stat data.
//!
//! (Longer than 350 lines: every way in which the index follows the files, by one walk.)

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::catalog::extract::Corpus;
use crate::catalog::omission::Omission;
use crate::catalog::{Catalog, FileMeta};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;
use crate::files::platform::{Changes, FolderWatch as _, Watch};
use crate::files::racy_stat::FsClock;
use crate::files::root::{Root, Stat};
use crate::files::walk::{UNLISTABLE, Walk};
use crate::index::dictionary::expansion::Expander;
use crate::store::document_cache::DocumentCache;
use crate::store::{IndexState, Store};
use crate::sync::RwLockReadGuard;

/// Changed folders above which the whole root is walked: each costs a pass over all files.
const MAX_FOLDERS: usize = 64;
/// Number of new files from which on a rebuild may be faster.
const REBUILD_FROM: usize = 256;
/// [`Catalog::update`] or [`Catalog::verify`].
type ReadFile = fn(&mut Catalog, &Root, &str, Interrupt<'_>) -> Result<bool>;

impl Store {
    /// Updates the index from the files and lets it be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn refresh(&self, interrupt: Interrupt<'_>) -> Result<RwLockReadGuard<'_, IndexState>> {
        let recovered = self.files().recheck_if_due()?;
        if !recovered.is_empty() {
            self.write_state(interrupt)?.recovered.extend(recovered);
        }
        // held until the changes are in, so that another thread cannot slip in between
        let mut watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        let is_first = self.read_state(interrupt)?.snapshot.is_none();
        if is_first {
            let state = &mut *self.write_state(interrupt)?;
            self.open_index(state, &mut watch, interrupt)?;
            // what a crashed writer has left was seen by that; nothing is waited for
            state.recovered.extend(self.files().recheck_if_due()?);
        }
        self.follow_archive(interrupt)?;
        // without a watch the files were all compared just now
        let is_compared = is_first && watch.is_none();
        let mut changes = if is_compared { Changes::none() } else { self.drain(&mut watch) };
        if self.read_state(interrupt)?.main.is_damaged() {
            // the snapshot was lost under us: all is new
            let mut state = self.write_state(interrupt)?;
            state.main = self.empty(Corpus::Main);
            state.snapshot = Some("rebuilt: the snapshot is damaged".to_owned());
            self.snapshot_current.store(false, Ordering::Relaxed);
            changes = Changes::Unknown;
        }
        let state = self.read_state(interrupt)?;
        if state.check_error.is_some() {
            changes = Changes::Unknown;
        }
        if let Changes::Some { files, .. } = &mut changes {
            // what could not be read may be readable now, and no event reports that
            files.extend(state.unreadable.keys().cloned());
        }
        if changes.is_empty() {
            self.changes_unapplied.store(false, Ordering::Relaxed);
            return Ok(state);
        }
        drop(state);
        let mut state = self.write_state(interrupt)?;
        match self.apply(&mut state, changes, &mut watch, interrupt) {
            Ok(()) => state.check_error = None,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => state.check_error = Some(error.to_string()),
        }
        self.changes_unapplied.store(false, Ordering::Relaxed);
        drop(state);
        let state = self.read_state(interrupt)?;
        drop(watch);
        Ok(state)
    }

    /// Drains the change notifications, which are given only once: until that is in the index, and
    /// [`Store::changes_unapplied`] is cleared, every other call compares all files.
    pub(super) fn drain(&self, watch: &mut Option<Watch>) -> Changes {
        let new = watch.as_mut().map_or(Changes::Unknown, Watch::drain);
        if self.changes_unapplied.swap(true, Ordering::Relaxed) { Changes::Unknown } else { new }
    }

    pub(super) fn apply(
        &self,
        state: &mut IndexState,
        changes: Changes,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let (files, folders) = match changes {
            Changes::Some { files, folders } if folders.len() <= MAX_FOLDERS => (files, folders),
            _ => (BTreeSet::new(), BTreeSet::from([String::new()])),
        };
        for folder in &folders {
            let seen = match walk(self.root(), folder, self.clock, watch, interrupt) {
                Err(Error::NotFound { .. } | Error::Refused { .. }) if !folder.is_empty() => {
                    Walk::default()
                }
                Err(Error::Io { source, .. })
                    if !folder.is_empty()
                        && source.kind() == std::io::ErrorKind::PermissionDenied =>
                {
                    Walk { skipped: vec![(folder.clone(), UNLISTABLE)], ..Walk::default() }
                }
                seen => seen?,
            };
            self.apply_walk(state, seen, folder, interrupt)?;
        }
        for file in files {
            self.update(state, &file, interrupt)?;
        }
        let has_room = |path: &&String| state.main.has_room_for(path);
        let again: Vec<String> = state.incomplete.keys().filter(has_room).cloned().collect();
        for file in again {
            self.update(state, &file, interrupt)?;
        }
        Ok(())
    }

    /// Applies a walk of a folder: reads new and changed files, removes missing ones.
    pub(crate) fn apply_walk(
        &self,
        state: &mut IndexState,
        seen: Walk,
        folder: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let (changed, gone) = state.main.compare(&seen.files, folder);
        let is_gone = |path: &str| {
            let found = seen.files.binary_search_by(|(file, _)| file.as_str().cmp(path));
            is_below(path, folder) && found.is_err()
        };
        let IndexState { main, unreadable, .. } = &mut *state;
        unreadable.retain(|path, _| {
            let is_gone = is_gone(path);
            if is_gone {
                main.changes.push(path);
            }
            !is_gone
        });
        state.skipped.retain(|path, _| !is_below(path, folder));
        state.skipped.extend(seen.skipped);
        if folder.is_empty() && is_mostly_new(&state.main, &seen.files, &changed) {
            return self.rebuild(state, &seen.files, interrupt);
        }
        for path in gone {
            self.update(state, &path, interrupt)?;
        }
        let changed = match state.tools.is_none() && state.unreadable.is_empty() {
            true => state.main.take_archived(&seen.files, changed),
            false => changed,
        };
        for at in changed {
            self.update(state, &seen.files[at].0, interrupt)?;
        }
        Ok(())
    }

    /// Rebuilds all: two threads and one packing beat file by file.
    fn rebuild(
        &self,
        state: &mut IndexState,
        files: &[(String, Stat)],
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        // two at a time would need twice the memory; whoever interrupts this begins again
        let with_tools = state.tools.take().is_some();
        state.main = self.empty(Corpus::Main);
        let (main, failed) = self.empty(Corpus::Main).fill(self.root(), files, interrupt)?;
        state.main = main;
        if with_tools {
            let files = transcripts(files);
            let tools = self.empty(Corpus::Tools).fill(self.root(), &files, interrupt)?;
            state.tools = Some(tools.0);
        }
        self.snapshot_current.store(false, Ordering::Relaxed);
        state.unreadable = BTreeMap::new();
        self.expanders.iter().for_each(Expander::reset);
        for (path, error) in failed {
            note_failure(state, &path, error);
        }
        self.update_omissions(state);
        Ok(())
    }

    /// Reads all files as if there were no index.
    ///
    /// # Errors
    /// As for [`Root::walk`]; [`Error::Interrupted`].
    pub(super) fn read_all_anew(
        &self,
        state: &mut IndexState,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let seen = walk(self.root(), "", self.clock, watch, interrupt)?;
        state.skipped = seen.skipped.into_iter().collect();
        self.rebuild(state, &seen.files, interrupt)
    }

    /// Drops what is indexed: the next refresh opens the index again.
    pub(super) fn close_index(&self, state: &mut IndexState) {
        (state.main, state.tools, state.snapshot) = (self.empty(Corpus::Main), None, None);
        self.limit.set_held(Corpus::Tools as usize, 0);
        self.snapshot_current.store(false, Ordering::Relaxed);
        self.expanders.iter().for_each(Expander::reset);
        *self.document_cache.lock() = DocumentCache::default();
    }

    /// Returns a catalog of nothing, for this store.
    fn empty(&self, corpus: Corpus) -> Catalog {
        let empty = Catalog::new(self.weights.clone(), corpus);
        empty.with_clock(self.clock).with_limit(self.limit.clone()).without(self.archived())
    }

    /// Notes what the index does not hold of each file.
    pub(crate) fn update_omissions(&self, state: &mut IndexState) {
        let files = state.main.files.iter().filter(|file| file.present);
        let of_tools = |file: &FileMeta| state.tools.as_ref()?.omission(&file.path);
        let of = |file: &FileMeta| {
            let omission = state.main.omission_of(file).or_else(|| of_tools(file))?;
            Some((file.path.clone(), omission))
        };
        state.incomplete = files.filter_map(of).collect();
    }

    /// Updates one file; a failure is kept for the notes of every answer.
    pub(super) fn update(
        &self,
        state: &mut IndexState,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        self.read_with(state, path, Catalog::update, interrupt).map(|_| ())
    }

    /// Lets both catalogs read a file; returns whether the main one has changed.
    pub(super) fn read_with(
        &self,
        state: &mut IndexState,
        path: &str,
        read: ReadFile,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let before = state.unreadable.remove(path);
        state.skipped.remove(path);
        let changed = match read(&mut state.main, self.root(), path, interrupt) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => {
                note_failure(state, path, error);
                true
            }
            Ok(changed) => changed,
        };
        // it is tried at each refresh, and mostly fails as before
        if state.unreadable.get(path) != before.as_ref() {
            state.main.changes.push(path);
        }
        if let Some(tools) = &mut state.tools
            && FileKind::of(path) == FileKind::Transcript
            && let Err(Error::Interrupted) = read(tools, self.root(), path, interrupt)
        {
            // what else fails here has failed above
            return Err(Error::Interrupted);
        }
        match omission(state, path) {
            Some(omission) => state.incomplete.insert(path.to_owned(), omission),
            None => state.incomplete.remove(path),
        };
        self.pack(state, interrupt)?;
        Ok(changed)
    }

    /// Repacks the catalogs that need it.
    fn pack(&self, state: &mut IndexState, interrupt: Interrupt<'_>) -> Result<()> {
        let catalogs =
            [Some(&mut state.main), state.tools.as_mut()].into_iter().zip(&self.expanders);
        for (catalog, expander) in catalogs {
            if let Some(catalog) = catalog.filter(|catalog| catalog.needs_packing()) {
                expander.reset();
                catalog.repack_unless(interrupt)?;
            }
        }
        Ok(())
    }

    /// Reads files again that turned out to differ from what the index says.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn read_again(
        &self,
        paths: &BTreeSet<String>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let mut state = self.write_state(interrupt)?;
        for path in paths {
            self.update(&mut state, path, interrupt)?;
        }
        Ok(())
    }

    /// Makes the index over tool input and output, if there is none yet.
    pub(crate) fn make_tools(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut state = self.write_state(interrupt)?;
        if state.tools.is_none() {
            let is_transcript =
                |file: &&FileMeta| file.present && file.kind == FileKind::Transcript;
            let look = |file: &FileMeta| {
                let stat = self.root().stat(&file.path).ok()?;
                Some((file.path.clone(), self.clock.truncate(stat)))
            };
            let files = state.main.files.iter().filter(is_transcript).filter_map(look);
            let mut files: Vec<(String, Stat)> = files.collect();
            files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let tools = self.empty(Corpus::Tools).fill(self.root(), &files, interrupt)?;
            state.tools = Some(tools.0);
            self.update_omissions(&mut state);
            self.expanders[1].reset();
        }
        Ok(())
    }
}

/// Returns whether most of the text is in files that the catalog has not read as they are.
///
/// A file that was read within the last tick is only checked again, and does not count.
fn is_mostly_new(catalog: &Catalog, files: &[(String, Stat)], changed: &[usize]) -> bool {
    if changed.is_empty() {
        return false;
    }
    let is_new = |(path, stat): &&(String, Stat)| {
        let same =
            |doc: &FileMeta| (doc.stat.size, doc.stat.mtime_ns) == (stat.size, stat.mtime_ns);
        !catalog.file(path).is_some_and(same) && catalog.archived.get(path, stat).is_none()
    };
    let bytes = |(_, stat): &(String, Stat)| stat.size;
    let new = changed.iter().map(|&at| &files[at]).filter(is_new);
    let new: Vec<&(String, Stat)> = new.collect();
    let all: u64 = files.iter().map(bytes).sum();
    let enough = catalog.files.is_empty() || new.len() > REBUILD_FROM;
    !new.is_empty() && enough && new.into_iter().map(bytes).sum::<u64>() >= all / 2
}

/// Returns what the indexes do not hold of a file.
fn omission(state: &IndexState, path: &str) -> Option<Omission> {
    let of_tools = || state.tools.as_ref()?.omission(path);
    state.main.omission(path).or_else(of_tools)
}

fn transcripts(files: &[(String, Stat)]) -> Vec<(String, Stat)> {
    files.iter().filter(|(path, _)| FileKind::of(path) == FileKind::Transcript).cloned().collect()
}

fn note_failure(state: &mut IndexState, path: &str, error: Error) {
    match error {
        Error::Refused { code, .. } => {
            state.skipped.insert(path.to_owned(), code);
        }
        error => {
            state.unreadable.insert(path.to_owned(), error.to_string());
        }
    }
}

/// Walks a folder; each is watched before it is listed, so that nothing falls in between.
pub(crate) fn walk(
    root: &Root,
    folder: &str,
    clock: FsClock,
    watch: &mut Option<Watch>,
    interrupt: Interrupt<'_>,
) -> Result<Walk> {
    let enough = AtomicBool::new(true);
    let watching = watch.as_ref();
    let walk = root.walk_visiting(folder, interrupt, &|folder| {
        if watching.is_some_and(|watch| !watch.add(folder.path, folder.handle)) {
            enough.store(false, Ordering::Relaxed);
        }
    });
    if !enough.into_inner() {
        // the system has no more watches to give: from now on stamps are compared
        *watch = None;
    }
    walk.map(|mut walk| {
        walk.files.iter_mut().for_each(|(_, stat)| *stat = clock.truncate(*stat));
        walk
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    #[test]
    fn a_file_that_stays_unreadable_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
        drop(store.refresh(&|| false).unwrap());
        let fails: ReadFile =
            |_, _, path, _| Err(Error::io("read", path, std::io::Error::other("it is locked")));
        let mut state = store.write_state(&|| false).unwrap();
        let revision = state.main.changes.last();
        store.read_with(&mut state, "a.md", fails, &|| false).unwrap();
        let failed = state.main.changes.last();
        assert_eq!(state.main.changes.since(revision).unwrap().len(), 1);
        store.read_with(&mut state, "a.md", fails, &|| false).unwrap();
        assert_eq!(state.main.changes.last(), failed);
        // it is gone now, though the catalog never had it
        store.apply_walk(&mut state, Walk::default(), "", &|| false).unwrap();
        assert_eq!(state.main.changes.since(failed), Some(BTreeSet::from(["a.md"])));
    }
}
