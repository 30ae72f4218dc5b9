//! The index follows the files: every call first takes in what has changed since the last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use crate::catalog::draft::{Kind, Part};
use crate::catalog::shortfall::Shortfall;
use crate::catalog::{Catalog, FileRow};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::platform::{Changes, FolderWatch as _, Watch};
use crate::files::root::{Root, Stat};
use crate::files::stamps::Clock;
use crate::files::walk::{CLOSED, Walk};
use crate::index::expand::Expander;
use crate::search::is_below;
use crate::store::{State, Store};
use crate::sync::{Mutex, RwLockReadGuard};

/// Changed folders above which the whole root is looked at: each costs a pass over all files.
const MOST_FOLDERS: usize = 64;
/// New files from which on building anew is worth a thought.
const MANY: usize = 256;

/// [`Catalog::update`] or [`Catalog::verify`].
type Read = fn(&mut Catalog, &Root, &str, Interrupt<'_>) -> Result<bool>;

impl Store {
    /// Brings the index in step with the files and lets it be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn fresh(&self, interrupt: Interrupt<'_>) -> Result<RwLockReadGuard<'_, State>> {
        let recovered = self.files().catch_up()?;
        if !recovered.is_empty() {
            self.write_state(interrupt)?.recovered.extend(recovered);
        }
        // held until the changes are in, so that another thread cannot slip in between
        let mut watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        if self.read_state(interrupt)?.snapshot.is_none() {
            let state = &mut *self.write_state(interrupt)?;
            self.open_index(state, &mut watch, interrupt)?;
            // what a writer that died has left was seen by that; nothing is waited for
            state.recovered.extend(self.files().catch_up()?);
        }
        let mut changes = self.drain(&mut watch);
        if self.read_state(interrupt)?.said.is_damaged() {
            // the snapshot was lost under us: all is new
            let mut state = self.write_state(interrupt)?;
            state.said = self.empty(Part::Said);
            state.snapshot = Some("rebuilt, for the snapshot: it is damaged".to_owned());
            self.saved.store(false, Ordering::Relaxed);
            changes = Changes::Unknown;
        }
        let state = self.read_state(interrupt)?;
        if state.unchecked.is_some() {
            changes = Changes::Unknown;
        }
        if let Changes::Some { files, .. } = &mut changes {
            // what could not be read may be readable now, and nothing would tell
            files.extend(state.unreadable.keys().cloned());
        }
        if changes.is_empty() {
            self.drained.store(false, Ordering::Relaxed);
            return Ok(state);
        }
        drop(state);
        let mut state = self.write_state(interrupt)?;
        match self.apply(&mut state, changes, &mut watch, interrupt) {
            Ok(()) => state.unchecked = None,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => state.unchecked = Some(error.to_string()),
        }
        self.drained.store(false, Ordering::Relaxed);
        drop(state);
        let state = self.read_state(interrupt)?;
        drop(watch);
        Ok(state)
    }

    /// Takes what the system tells, which it does only once: until that is in the index, and
    /// [`Store::drained`] is cleared, every other call looks at all files.
    pub(super) fn drain(&self, watch: &mut Option<Watch>) -> Changes {
        let told = watch.as_mut().map_or(Changes::Unknown, Watch::drain);
        if self.drained.swap(true, Ordering::Relaxed) { Changes::Unknown } else { told }
    }

    pub(super) fn apply(
        &self,
        state: &mut State,
        changes: Changes,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let (files, folders) = match changes {
            Changes::Some { files, folders } if folders.len() <= MOST_FOLDERS => (files, folders),
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
                    Walk { skipped: vec![(folder.clone(), CLOSED)], ..Walk::default() }
                }
                seen => seen?,
            };
            self.adopt(state, seen, folder, interrupt)?;
        }
        for file in files {
            self.update(state, &file, interrupt)?;
        }
        let has_room = |path: &&String| state.said.has_room_for(path);
        let again: Vec<String> = state.incomplete.keys().filter(has_room).cloned().collect();
        for file in again {
            self.update(state, &file, interrupt)?;
        }
        Ok(())
    }

    /// Takes over what a walk of a folder saw: reads what is new or changed, drops what is gone.
    pub(crate) fn adopt(
        &self,
        state: &mut State,
        seen: Walk,
        folder: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let (changed, gone) = state.said.compare(&seen.files, folder);
        let is_gone = |path: &str| {
            let found = seen.files.binary_search_by(|(file, _)| file.as_str().cmp(path));
            is_below(path, folder) && found.is_err()
        };
        state.unreadable.retain(|path, _| !is_gone(path));
        state.skipped.retain(|path, _| !is_below(path, folder));
        state.skipped.extend(seen.skipped);
        if folder.is_empty() && is_mostly_new(&state.said, &seen.files, &changed) {
            return self.rebuild(state, &seen.files, interrupt);
        }
        for path in gone {
            self.update(state, &path, interrupt)?;
        }
        for at in changed {
            self.update(state, &seen.files[at].0, interrupt)?;
        }
        Ok(())
    }

    /// Reads everything: two threads and one packing beat file by file.
    fn rebuild(
        &self,
        state: &mut State,
        files: &[(String, Stat)],
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        // two at a time would need twice the memory; whoever interrupts this begins again
        let with_tools = state.tools.take().is_some();
        state.said = self.empty(Part::Said);
        let (said, failed) = self.empty(Part::Said).filled(self.root(), files, interrupt)?;
        state.said = said;
        if with_tools {
            let files = transcripts(files);
            let tools = self.empty(Part::Tools).filled(self.root(), &files, interrupt)?;
            state.tools = Some(tools.0);
        }
        self.saved.store(false, Ordering::Relaxed);
        state.unreadable = BTreeMap::new();
        self.expanders.iter().for_each(Expander::reset);
        for (path, error) in failed {
            note_failure(state, &path, error);
        }
        self.note_shortfalls(state);
        Ok(())
    }

    /// Returns a catalog of nothing, for this store.
    fn empty(&self, part: Part) -> Catalog {
        let empty = Catalog::new(self.weights.clone(), part);
        empty.with_clock(self.clock).with_limit(self.limit.clone())
    }

    /// Notes what the index does not hold of each file.
    pub(crate) fn note_shortfalls(&self, state: &mut State) {
        let files = state.said.files.iter().filter(|file| file.present);
        let of = |file: &FileRow| Some((file.path.clone(), shortfall(state, &file.path)?));
        state.incomplete = files.filter_map(of).collect();
    }

    /// Brings one file in step; a failure is kept to be told with every answer.
    fn update(&self, state: &mut State, path: &str, interrupt: Interrupt<'_>) -> Result<()> {
        self.read(state, path, Catalog::update, interrupt).map(|_| ())
    }

    /// Lets both catalogs read a file; returns whether the one of what was said has changed.
    pub(super) fn read(
        &self,
        state: &mut State,
        path: &str,
        read: Read,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        state.unreadable.remove(path);
        state.skipped.remove(path);
        let changed = match read(&mut state.said, self.root(), path, interrupt) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => {
                note_failure(state, path, error);
                true
            }
            Ok(changed) => changed,
        };
        if let Some(tools) = &mut state.tools
            && Kind::of(path) == Kind::Transcript
            && let Err(Error::Interrupted) = read(tools, self.root(), path, interrupt)
        {
            // what else fails here has failed above
            return Err(Error::Interrupted);
        }
        match shortfall(state, path) {
            Some(shortfall) => state.incomplete.insert(path.to_owned(), shortfall),
            None => state.incomplete.remove(path),
        };
        self.pack(state, interrupt)?;
        Ok(changed)
    }

    /// Packs what wants to be.
    fn pack(&self, state: &mut State, interrupt: Interrupt<'_>) -> Result<()> {
        let catalogs =
            [Some(&mut state.said), state.tools.as_mut()].into_iter().zip(&self.expanders);
        for (catalog, expander) in catalogs {
            if let Some(catalog) = catalog.filter(|catalog| catalog.wants_packing()) {
                expander.reset();
                catalog.repack_unless(interrupt)?;
            }
        }
        Ok(())
    }

    /// Reads files anew that turned out to differ from what the index says.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn mend(&self, paths: &BTreeSet<String>, interrupt: Interrupt<'_>) -> Result<()> {
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
            let is_transcript = |file: &&FileRow| file.present && file.kind == Kind::Transcript;
            let look = |file: &FileRow| {
                let stat = self.root().stat(&file.path).ok()?;
                Some((file.path.clone(), self.clock.see(stat)))
            };
            let files = state.said.files.iter().filter(is_transcript).filter_map(look);
            let mut files: Vec<(String, Stat)> = files.collect();
            files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let tools = self.empty(Part::Tools).filled(self.root(), &files, interrupt)?;
            state.tools = Some(tools.0);
            self.note_shortfalls(&mut state);
            self.expanders[1].reset();
        }
        Ok(())
    }
}

/// Says whether most of the text is in files that the catalog has not read as they are.
///
/// A file that was read within the last tick is only looked at again, and does not count.
fn is_mostly_new(catalog: &Catalog, files: &[(String, Stat)], changed: &[usize]) -> bool {
    if changed.is_empty() {
        return false;
    }
    let is_new = |(path, stat): &&(String, Stat)| {
        let same = |row: &FileRow| (row.stat.size, row.stat.mtime_ns) == (stat.size, stat.mtime_ns);
        !catalog.file(path).is_some_and(same)
    };
    let bytes = |(_, stat): &(String, Stat)| stat.size;
    let new = changed.iter().map(|&at| &files[at]).filter(is_new);
    let new: Vec<&(String, Stat)> = new.collect();
    let all: u64 = files.iter().map(bytes).sum();
    let enough = catalog.files.is_empty() || new.len() > MANY;
    !new.is_empty() && enough && new.into_iter().map(bytes).sum::<u64>() >= all / 2
}

/// Returns what the indexes do not hold of a file.
fn shortfall(state: &State, path: &str) -> Option<Shortfall> {
    let of_tools = || state.tools.as_ref()?.shortfall(path);
    state.said.shortfall(path).or_else(of_tools)
}

fn transcripts(files: &[(String, Stat)]) -> Vec<(String, Stat)> {
    files.iter().filter(|(path, _)| Kind::of(path) == Kind::Transcript).cloned().collect()
}

fn note_failure(state: &mut State, path: &str, error: Error) {
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
    clock: Clock,
    watch: &mut Option<Watch>,
    interrupt: Interrupt<'_>,
) -> Result<Walk> {
    let watching = Mutex::new((watch.as_mut(), true));
    let walk = root.walk_entering(folder, interrupt, &|folder| {
        let (watch, enough) = &mut *watching.lock();
        if let Some(watch) = watch {
            *enough &= watch.add(root.fd(), folder);
        }
    });
    if !watching.into_inner().1 {
        // the system has no more watches to give: from now on stamps are compared
        *watch = None;
    }
    walk.map(|mut walk| {
        walk.files.iter_mut().for_each(|(_, stat)| *stat = clock.see(*stat));
        walk
    })
}
