//! Verification of the index against all files, with a list of the differences.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::catalog::{Catalog, snapshot_file};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::platform::{Changes, Watch};
use crate::search::is_below;
use crate::store::refresh::walk;
use crate::store::{IndexState, Store};

/// The message for a file whose index entry was wrong.
const MISMATCH: &str = "the index did not hold its text";
/// A text can be read a moment before the system reports that it was written: how often it is
/// asked, and how long after each other.
const MAX_POLLS: usize = 150;
const POLL_PAUSE: Duration = Duration::from_millis(20);

/// The result of comparing one file with the index.
enum FileCheck {
    Same,
    /// The index was wrong, or the file cannot be read.
    Differs(String),
    /// The file has changed; whether the index missed that is seen later.
    Changed,
}

impl Store {
    /// Reads every file, mends the index where it differs, and returns what differed: not what
    /// others wrote meanwhile.
    ///
    /// # Errors
    /// Those of listing the root; [`Error::Interrupted`].
    pub fn verify(&self, interrupt: Interrupt<'_>) -> Result<(usize, Vec<String>)> {
        let changed = self.files().verify_history(interrupt)?;
        drop(self.refresh(interrupt)?);
        let mut watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        let mut state = self.write_state(interrupt)?;
        self.changes_unapplied.store(true, Ordering::Relaxed);
        let seen = walk(self.root(), "", self.clock, &mut watch, interrupt)?;
        let (mut differences, mut written) = (changed, Vec::new());
        let watched = watch.is_some();
        for (path, _) in &seen.files {
            match self.verify_file(&mut state, path, watched, interrupt)? {
                FileCheck::Same => {}
                FileCheck::Differs(why) => differences.push(format!("{path}: {why}")),
                FileCheck::Changed => written.push(path.clone()),
            }
        }
        let count = seen.files.len();
        self.apply_walk(&mut state, seen, "", interrupt)?;
        differences.extend(self.contradictions(&mut state, interrupt)?);
        self.changes_unapplied.store(false, Ordering::Relaxed);
        for _ in 0..MAX_POLLS {
            if watch.is_none() || written.is_empty() {
                written.clear();
                break;
            }
            let changes = self.apply_new_changes(&mut state, &mut watch, interrupt)?;
            written.retain(|path| !changes.name(path));
        }
        differences.extend(written.into_iter().map(|path| format!("{path}: {MISMATCH}")));
        if state.main.is_lost() {
            // nothing can be compared with what is lost
            differences.retain(|difference| !difference.ends_with(MISMATCH));
        }
        differences.sort_unstable();
        differences.dedup();
        self.sweep_sieves();
        if state.main.is_damaged() {
            // the snapshot is not used again, and the index is rebuilt
            let _ = snapshot_file::discard(self.root());
            drop((state, watch));
            drop(self.refresh(interrupt)?);
        }
        Ok((count, differences))
    }

    /// Compares a file with the index, and updates the index where they differ.
    fn verify_file(
        &self,
        state: &mut IndexState,
        path: &str,
        watched: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<FileCheck> {
        let before = state.main.file(path).map(|file| file.stat);
        let held = state.main.matches_file(self.root(), path, interrupt)?;
        if held == Some(true) && state.tools.is_none() {
            return Ok(FileCheck::Same);
        }
        if !self.read_with(state, path, Catalog::verify, interrupt)? {
            if held == Some(false) {
                // its text is what was indexed, but not as it was indexed
                state.main.mark_untrusted();
                return Ok(FileCheck::Differs(MISMATCH.to_owned()));
            }
            return Ok(FileCheck::Same);
        }
        // without reports a write shows in the stamps, and those that may hide one are not
        // kept; with reports, two writes of one tick are distinguished by these alone
        let now = self.root().stat(path).ok().map(|stat| self.clock.truncate(stat));
        let is_same = !watched && now.is_some() && now == before;
        let why = state.unreadable.get(path).map(String::as_str);
        Ok(match why.or(state.skipped.get(path).copied()) {
            Some(why) => FileCheck::Differs(why.to_owned()),
            None if is_same => FileCheck::Differs(MISMATCH.to_owned()),
            None => FileCheck::Changed,
        })
    }

    /// Returns the contradictions within the index; it is to be rebuilt then. That a part of
    /// its snapshot is lost is no difference: no answer was ever given from it.
    fn contradictions(
        &self,
        state: &mut IndexState,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<String>> {
        let files = state.main.inconsistent_files(interrupt)?;
        let differences: Vec<String> =
            files.into_iter().map(|path| format!("{path}: {MISMATCH}")).collect();
        if !differences.is_empty() {
            state.main.mark_untrusted();
        }
        Ok(differences)
    }

    /// Applies the changes that the system has reported since, and returns them.
    fn apply_new_changes(
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
    /// Returns whether a file is among them.
    fn name(&self, path: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Some { files, folders } => {
                files.contains(path) || folders.iter().any(|folder| is_below(path, folder))
            }
        }
    }
}
