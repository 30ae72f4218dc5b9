//! Verification: compares the index with every file, and repairs the index.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::catalog::snapshot::file as snapshot_file;
use crate::catalog::{Catalog, FileMeta};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::paths::is_below;
use crate::files::platform::{Changes, Watch};
use crate::files::racy_stat::{is_trusted, now_ns};
use crate::files::walk::unlistable_note;
use crate::store::refresh::walk;
use crate::store::{IndexState, Store};

/// What a comparison of the index with every file found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many files there are.
    pub files: usize,
    /// What differed, one sentence each; the index was repaired. Not what others wrote meanwhile.
    pub differences: Vec<String>,
    /// What could not be read, and so not be compared, and why.
    pub unread: Vec<String>,
    /// What the index leaves out, bad lines and conflict markers, each with what to do: no damage
    /// of the index.
    pub notes: Vec<String>,
}

/// Why a file is reported of which nothing else is wrong.
const UNKNOWN: &str = "the index did not hold its text";
/// A text can be read before the system tells that it was written, by as long as the disk keeps the
/// writer waiting: how often it is asked, and how long after each other.
const MAX_NOTIFICATION_POLLS: usize = 150;
const POLL_PAUSE: Duration = Duration::from_millis(20);
/// How often a file is looked at that is written meanwhile.
const MAX_READ_ATTEMPTS: usize = 4;

/// How the index and a file differed.
enum Difference {
    /// The file says what was indexed, but it was not indexed so.
    Misread,
    /// The file says something else; its stamps are those that the index knows.
    SameStamps,
    /// The file says something else.
    Changed,
}

impl Store {
    /// Reads every file, compares it with the index, and repairs the index where they differ.
    ///
    /// # Errors
    /// Those of listing the root; [`Error::Interrupted`].
    pub fn verify(&self, interrupt: Interrupt<'_>) -> Result<Verified> {
        let began = now_ns();
        let mut differences = self.files().verify_history(interrupt)?;
        drop(self.refresh(interrupt)?);
        let mut watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        let mut state = self.write_state(interrupt)?;
        self.changes_unapplied.store(true, Ordering::Relaxed);
        let seen = walk(self.root(), "", self.clock, &mut watch, interrupt)?;
        let (files, mut wrong, mut written) = (seen.files.len(), BTreeSet::new(), Vec::new());
        for (path, _) in &seen.files {
            match self.difference(&mut state, path, interrupt)? {
                None => {}
                Some(Difference::Misread) => {
                    state.main.mark_untrusted();
                    wrong.insert(path.clone());
                }
                // with reports, two writes of one tick are told apart by these alone
                Some(_) if watch.is_some() => written.push(path.clone()),
                Some(Difference::SameStamps) => drop(wrong.insert(path.clone())),
                Some(Difference::Changed) => {}
            }
        }
        self.apply_walk(&mut state, seen, "", interrupt)?;
        let contradictions = state.main.inconsistent_files(interrupt)?;
        if !contradictions.is_empty() {
            // to be built anew; that a part of the snapshot is lost is no difference: nobody was
            // ever told what was in it
            state.main.mark_untrusted();
            wrong.extend(contradictions);
        }
        self.changes_unapplied.store(false, Ordering::Relaxed);
        self.await_notifications(&mut written, began, &mut state, &mut watch, interrupt)?;
        wrong.extend(written);
        if !state.main.is_lost() {
            // nothing can be compared with what is lost
            differences.extend(wrong.into_iter().map(|path| format!("{path}: {UNKNOWN}")));
        }
        differences.sort_unstable();
        differences.dedup();
        let closed = state.skipped.iter().filter_map(|(path, why)| unlistable_note(path, why));
        let unread = state.unreadable.values().cloned().chain(closed).collect();
        let omissions = state.incomplete.values().map(|omission| omission.why.clone());
        let files_there = state.main.files.iter().filter(|file| file.present);
        let mut notes: Vec<String> = files_there.filter_map(FileMeta::bad_lines_note).collect();
        notes.sort_unstable();
        notes.splice(..0, omissions);
        self.remove_stale_gram_indexes();
        if state.main.is_damaged() {
            // what is on disk is not believed again, and what is in memory is built anew
            let _ = snapshot_file::discard(self.root());
            drop((state, watch));
            drop(self.refresh(interrupt)?);
        }
        Ok(Verified { files, differences, unread, notes })
    }

    /// Reads a file into the index, and says how they differed; what cannot be read differs not.
    fn difference(
        &self,
        state: &mut IndexState,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Difference>> {
        let look = || self.root().stat(path).ok();
        for attempt in 1..=MAX_READ_ATTEMPTS {
            let began = now_ns();
            let (before, known) = (look(), state.main.file(path).map(|file| file.stat));
            let held = state.main.matches_file(self.root(), path, interrupt)?;
            if held == Some(true) && state.tools.is_none() {
                return Ok(None);
            }
            // of what is in the index in part, another part may be by now
            let is_whole = !state.main.file(path).is_some_and(FileMeta::lacks_memory);
            let changed = self.read_with(state, path, Catalog::verify, interrupt)? && is_whole;
            if state.unreadable.contains_key(path) || state.skipped.contains_key(path) {
                return Ok(None);
            }
            let now = look();
            if changed {
                // those stamps that may hide a write are not kept
                let is_same = now.is_some() && now.map(|stat| self.clock.truncate(stat)) == known;
                let how = if is_same { Difference::SameStamps } else { Difference::Changed };
                return Ok(Some(how));
            }
            if held != Some(false) {
                return Ok(None);
            }
            // stamps that are still young prove nothing, but that often it is not written twice
            let is_old = |stat| is_trusted(&self.clock.trusted(&stat, began));
            if now == before && (before.is_some_and(is_old) || attempt == MAX_READ_ATTEMPTS) {
                return Ok(Some(Difference::Misread));
            }
            // it was written between the two looks, and again as it was
        }
        Ok(None)
    }

    /// Says whether a file has changed since then, or is gone: the change time is no writer's to set.
    fn is_changed_since(&self, time_ns: i64, path: &str) -> bool {
        let stat = self.root().stat(path).map(|stat| self.clock.truncate(stat));
        stat.map_or(true, |stat| stat.ctime_ns > time_ns)
    }

    /// Takes the files out of `written` of which the system reports a change, or that have changed
    /// since `began`; all of them where it reports none.
    fn await_notifications(
        &self,
        written: &mut Vec<String>,
        began: i64,
        state: &mut IndexState,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        for _ in 0..MAX_NOTIFICATION_POLLS {
            if watch.is_none() || written.is_empty() {
                written.clear();
                break;
            }
            let changes = self.poll_notifications(state, watch, interrupt)?;
            written.retain(|path| !changes.name(path) && !self.is_changed_since(began, path));
        }
        Ok(())
    }

    /// Takes in what the system tells by now, and returns it.
    fn poll_notifications(
        &self,
        state: &mut IndexState,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<Changes> {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        std::thread::sleep(POLL_PAUSE);
        let changes = self.drain(watch);
        self.apply(state, changes.clone(), watch, interrupt)?;
        state.check_error = None;
        self.changes_unapplied.store(false, Ordering::Relaxed);
        Ok(changes)
    }
}

impl Changes {
    /// Says whether a file is among them.
    fn name(&self, path: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Some { files, folders } => {
                files.contains(path) || folders.iter().any(|folder| is_below(path, folder))
            }
        }
    }
}
