//! Saving of the index: when a snapshot is worth writing, and the writing of it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::catalog::FileMeta;
use crate::catalog::snapshot::file as snapshot_file;
use crate::error::{Error, Interrupt, Result};
use crate::messages::line_reader::LONGEST_LINE;
use crate::store::{IndexState, Store};

/// How long a save waits for a writer: a program that ends has no time, and the snapshot only
/// saves some.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

impl Store {
    /// Writes the snapshot, if opening again would otherwise cost much.
    ///
    /// # Errors
    /// Those of writing; the store goes on without a snapshot.
    pub fn save(&self) -> Result<()> {
        self.save_unless(&|| false)
    }

    /// As [`Self::save`], unless the caller asks to stop.
    ///
    /// # Errors
    /// Those of [`Self::save`]; [`Error::Interrupted`].
    pub fn save_unless(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let wanted = |state: &IndexState| {
            let text: u64 = state.main.files.iter().map(|file| file.stat.size).sum();
            // the next opening may have more memory
            let longest = self.limit.longest_line(LONGEST_LINE);
            let lacks = |file: &FileMeta| {
                file.lacks_memory() || longest < LONGEST_LINE && file.progress.long_lines > 0
            };
            !state.main.files.is_empty()
                && !state.main.files.iter().any(lacks)
                && (!self.snapshot_current.load(Ordering::Relaxed)
                    || state.main.reread_bytes > text / 16)
        };
        if !wanted(&*self.read_state(interrupt)?) {
            return Ok(());
        }
        let mut state = self.write_state(interrupt)?;
        if !wanted(&state) {
            return Ok(());
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        // to repack what was just built would take a third of the building
        if !state.main.is_packed() {
            self.expanders[0].reset();
            state.main.repack_unless(interrupt)?;
        }
        if !state.main.is_packed() {
            // there was no memory for it: the next opening reads the files
            return Ok(());
        }
        let Some(bytes) = snapshot_file::bytes(&state.main, self.root())? else {
            let damaged = state.main.is_damaged();
            return if damaged { snapshot_file::discard(self.root()) } else { Ok(()) };
        };
        state.main.reread_bytes = 0;
        self.snapshot_current.store(true, Ordering::Relaxed);
        drop(state);
        // One writer at a time, of all processes. Nobody waits for the index with the root locked,
        // nor for the root with the index locked: others would wait for both.
        let guard = self.files.begin_within(LONGEST_WAIT);
        guard
            .and_then(|_guard| match self.was_forgotten_elsewhere() {
                // what is in memory may still know it, and whoever forgot it saves an index
                true => Ok(()),
                false => snapshot_file::publish(self.root(), &bytes, interrupt),
            })
            .inspect_err(|_| self.snapshot_current.store(false, Ordering::Relaxed))
    }

    /// Writes the snapshot for the last time: nothing is written any more when this is dropped.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; without a snapshot the next opening reads the files.
    pub fn close(&self, interrupt: Interrupt<'_>) -> Result<()> {
        self.closed.store(true, Ordering::Relaxed);
        match self.save_unless(interrupt) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // the snapshot only saves time; without it the next opening reads the files
        if self.is_of_this_process() && !self.closed.load(Ordering::Relaxed) {
            let _ = self.save();
        }
    }
}
