//! Import of all sessions that a caller means, each into a transcript of its own.

use std::ffi::OsString;
use std::path::Path;

use crate::error::{Error, Interrupt, Result};
use crate::files::walk::Walk;
use crate::store::Store;
use crate::store::import::ImportOptions;
use crate::store::import::ledger::Ledger;
use crate::store::import::message_index::MessageIndex;
use crate::store::import::report::{ImportReport, Outcome};
use crate::store::import::session_folder::SESSIONS;
use crate::store::import::session_names::SessionNames;
use crate::store::import::session_target::Context;
use crate::store::import::source_import::SourceImport;
use crate::store::import::sources::{self, ImportFrom};

/// Sources between two times that the ledger is saved.
const SAVE_EVERY: usize = 100;

impl Store {
    /// Imports every session found at `places`, each into `sessions/PROJECT/DATE-ID/messages.jsonl`,
    /// and returns what became of each source.
    ///
    /// What was imported before is not read again; of a source that has grown only what is new is
    /// read. A source that cannot be read is named in the report, and the others are imported.
    /// `variable` gives the value of an environment variable, by which hosts are told other places;
    /// `progress` gets the bytes read so far and those that there are.
    ///
    /// # Errors
    /// [`Error::Format`] for an unknown host; those of [`Files::append`](crate::files::Files::append)
    /// when the memory cannot be written: what was added before stays, in whole lines;
    /// [`Error::Interrupted`].
    pub fn import_sessions(
        &self,
        places: &[ImportFrom],
        options: ImportOptions,
        variable: &dyn Fn(&str) -> Option<OsString>,
        progress: &mut dyn FnMut(u64, u64),
        interrupt: Interrupt<'_>,
    ) -> Result<ImportReport> {
        let mut report = ImportReport::default();
        let found = sources::list(places, variable, self.root().path(), &mut report, interrupt)?;
        let mut ledger = Ledger::open(self)?;
        let changed = self.changed_sources(found, &ledger, &mut report, interrupt)?;
        if changed.is_empty() {
            return Ok(report);
        }
        let total = changed.iter().map(|one| one.left()).sum();
        let stored = match self.root().walk(SESSIONS, interrupt) {
            Err(Error::NotFound { .. }) => Walk::default(),
            walk => walk?,
        };
        let mut index = MessageIndex::open(self, &stored.files, interrupt)?;
        let mut names = SessionNames::new(self, &stored.dirs, &ledger);
        let mut done = 0;
        for (number, one) in changed.iter().enumerate() {
            let context = Context { store: self, index: &mut index, options, interrupt };
            let mut run = SourceImport::new(one, context, &mut names);
            let outcome = run.import(&mut |read| progress(done + read.min(one.left()), total));
            done += one.left();
            let entry = match outcome {
                Ok(entry) => entry,
                Err(error) if is_of_memory(&error, self.root().path()) => {
                    save(self, &mut ledger, &mut index);
                    return Err(error);
                }
                Err(error) => {
                    run.report.outcome = Outcome::Skipped(error.to_string());
                    None
                }
            };
            report.sources.push(run.report);
            if let (Some(entry), Some(key)) = (entry, one.key()) {
                ledger.set(key, entry);
            }
            if number % SAVE_EVERY == SAVE_EVERY - 1 {
                save(self, &mut ledger, &mut index);
            }
        }
        progress(total, total);
        save(self, &mut ledger, &mut index);
        Ok(report)
    }
}

/// Saves what makes the next import fast; without it that takes longer.
fn save(store: &Store, ledger: &mut Ledger, index: &mut MessageIndex) {
    let _ = ledger.save(store);
    let _ = index.save(store);
}

/// Whether an error is of the memory, so that the next source would meet it as well.
fn is_of_memory(error: &Error, root: &Path) -> bool {
    match error {
        Error::Interrupted | Error::Busy { .. } | Error::InDoubt { .. } => true,
        Error::Io { path, .. } => !path.starts_with('/') || Path::new(path).starts_with(root),
        _ => false,
    }
}
