//! Import of all sessions that a caller means, each into a transcript of its own.

use std::ffi::OsString;
use std::path::Path;

use crate::error::{Error, Interrupt, Result};
use crate::files::walk::Walk;
use crate::store::Store;
use crate::store::forget::Tombstones;
use crate::store::import::changed_source::ChangedSource;
use crate::store::import::context::Context;
use crate::store::import::ledger::{self, Ledger};
use crate::store::import::message_index::MessageIndex;
use crate::store::import::report::{ImportReport, Outcome, SourceReport};
use crate::store::import::session_batch::SessionBatch;
use crate::store::import::session_folder::walk_sessions;
use crate::store::import::session_names::SessionNames;
use crate::store::import::source_import::SourceImport;
use crate::store::import::sources::{self, ImportFrom};
use crate::store::import::{ImportOptions, reason};

/// Sources between two times that the ledger is saved.
const SAVE_EVERY: usize = 256;

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
        let ledger = Ledger::open(self)?;
        let changed = self.changed_sources(found, &ledger, &mut report, interrupt)?;
        if changed.is_empty() {
            return Ok(report);
        }
        let mut index = MessageIndex::open(self)?;
        // what others have put into transcripts matters only to sessions that are read from their start
        let is_read_on = changed.iter().all(|one| one.known.is_some());
        let stored = if is_read_on { Walk::default() } else { walk_sessions(self, interrupt)? };
        index.read_changed(self, &stored.files, interrupt)?;
        let names = SessionNames::new(self, &ledger);
        let forgotten = Tombstones::open(self.root())?;
        let mut run = ImportRun {
            store: self,
            options,
            interrupt,
            index,
            forgotten,
            names,
            ledger,
            batch: SessionBatch::default(),
            report,
            waiting: Vec::new(),
        };
        let outcome = run.import_all(&changed, progress);
        if !matches!(outcome, Ok(()) | Err(Error::Interrupted)) {
            run.keep(&changed);
        }
        run.save();
        outcome.map(|()| run.report)
    }
}

/// An import of sources, one after the other.
struct ImportRun<'a> {
    store: &'a Store,
    options: ImportOptions,
    interrupt: Interrupt<'a>,
    index: MessageIndex,
    forgotten: Tombstones,
    names: SessionNames<'a>,
    ledger: Ledger,
    batch: SessionBatch,
    report: ImportReport,
    /// Sources of which the transcripts wait in the batch.
    waiting: Vec<Waiting>,
}

/// A source that was read, while its transcripts are not yet on the disk.
struct Waiting {
    /// Its number among the changed sources.
    number: usize,
    /// Its place in the report.
    reported: usize,
    entry: ledger::Entry,
}

impl ImportRun<'_> {
    fn import_all(
        &mut self,
        changed: &[ChangedSource],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let total = changed.iter().map(ChangedSource::left).sum();
        let mut done = 0;
        for (number, one) in changed.iter().enumerate() {
            let (report, entry) = self.import_one(number, one, &mut |read| {
                progress(done + read.min(one.left()), total)
            })?;
            done += one.left();
            let reported = self.report.sources.len();
            self.report.sources.push(report);
            self.waiting.extend(entry.map(|entry| Waiting { number, reported, entry }));
            if self.batch.is_full() || self.waiting.len() >= SAVE_EVERY {
                self.settle(changed)?;
            }
        }
        self.settle(changed)?;
        progress(total, total);
        Ok(())
    }

    /// Imports one source; an error of the source itself is told in the report.
    fn import_one(
        &mut self,
        number: usize,
        one: &ChangedSource,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(SourceReport, Option<ledger::Entry>)> {
        self.batch.source = number;
        let context = Context {
            store: self.store,
            index: &mut self.index,
            batch: &mut self.batch,
            forgotten: &self.forgotten,
            options: self.options,
            interrupt: self.interrupt,
        };
        let mut run = SourceImport::new(one, context, &mut self.names);
        let outcome = run.import(progress);
        let mut report = run.report;
        match outcome {
            Ok(entry) => Ok((report, entry)),
            Err(error) if is_of_memory(&error, self.store.root().path()) => Err(error),
            Err(error) => {
                report.outcome = Outcome::Skipped(reason(&error));
                Ok((report, None))
            }
        }
    }

    /// Makes the transcripts of the batch, and saves what was imported. A source of which one could
    /// not be made with the others is imported again by itself.
    fn settle(&mut self, changed: &[ChangedSource]) -> Result<()> {
        self.batch.publish(self.store, &mut self.index, self.interrupt)?;
        let failed = self.batch.take_failed();
        for Waiting { number, reported, entry } in std::mem::take(&mut self.waiting) {
            let one = &changed[number];
            let entry = if failed.contains(&number) {
                self.batch.is_direct = true;
                // another session may have got the path meanwhile
                self.names = SessionNames::new(self.store, &self.ledger);
                let again = self.import_one(number, one, &mut |_| {});
                self.batch.is_direct = false;
                let (report, entry) = again?;
                self.report.sources[reported] = report;
                entry
            } else {
                Some(entry)
            };
            if let (Some(entry), Some(key)) = (entry, one.key()) {
                self.ledger.set(key, entry);
            }
        }
        self.save();
        Ok(())
    }

    /// Keeps what was read before an error: else the next import, which may end there as well, would
    /// never store it.
    fn keep(&mut self, changed: &[ChangedSource]) {
        // the first error is told
        let _ = self.batch.publish(self.store, &mut self.index, self.interrupt);
        let failed = self.batch.take_failed();
        let waiting = std::mem::take(&mut self.waiting);
        for Waiting { number, entry, .. } in
            waiting.into_iter().filter(|one| !failed.contains(&one.number))
        {
            if let Some(key) = changed[number].key() {
                self.ledger.set(key, entry);
            }
        }
    }

    /// Saves what makes the next import fast; without it that takes longer. The index comes first: what
    /// the ledger knows is in the index.
    fn save(&mut self) {
        if self.index.save(self.store).is_ok() {
            let _ = self.ledger.save(self.store);
        }
    }
}

/// Whether an error is of the memory, so that the next source would meet it as well.
fn is_of_memory(error: &Error, root: &Path) -> bool {
    match error {
        Error::Interrupted | Error::Busy { .. } | Error::InDoubt { .. } => true,
        Error::Io { path, .. } => !path.starts_with('/') || Path::new(path).starts_with(root),
        _ => false,
    }
}
