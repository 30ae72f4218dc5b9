//! Import of one source: its sessions go to their transcripts, and the ledger gets how far it was read.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::racy_stat::now_ns;
use crate::messages::formats::{
    self, ImportSource, ImportState, Imported, SessionHeader, SessionSink,
};
use crate::messages::line_reader::check_encoding;
use crate::messages::redaction::{Redactions, add_counts};
use crate::store::import::changed_source::ChangedSource;
use crate::store::import::context::Context;
use crate::store::import::ledger::{self, Stamp};
use crate::store::import::opencode_database::{self, Sessions};
use crate::store::import::report::{Outcome, SourceReport};
use crate::store::import::session_names::SessionNames;
use crate::store::import::session_target::SessionTarget;
use crate::store::import::sources::{self, Source};
use crate::store::import::{no_message, open_source, opencode_storage};

/// The import of one source.
pub(super) struct SourceImport<'a, 'n> {
    one: &'a ChangedSource,
    context: Context<'a>,
    names: &'a mut SessionNames<'n>,
    target: Option<SessionTarget>,
    /// The transcripts of sessions that have ended, with their sizes.
    targets: Vec<(String, u64)>,
    record: String,
    has_new: bool,
    redacted: Redactions,
    pub report: SourceReport,
}

impl<'a, 'n> SourceImport<'a, 'n> {
    pub fn new(
        one: &'a ChangedSource,
        context: Context<'a>,
        names: &'a mut SessionNames<'n>,
    ) -> Self {
        Self {
            one,
            context,
            names,
            target: None,
            targets: Vec::new(),
            record: String::new(),
            has_new: false,
            redacted: Redactions::new(),
            report: SourceReport::new(one.source.shown()),
        }
    }

    /// Imports the source; returns what the ledger is to know of it.
    pub fn import(&mut self, progress: &mut dyn FnMut(u64)) -> Result<Option<ledger::Entry>> {
        let outcome = self.read(self.one.known.as_ref(), progress);
        match self.target.take_if(|target| target.is_ambiguous) {
            Some(mut target) => {
                target.flush(&mut self.context)?;
                self.ended(target);
                self.targets.clear();
                self.report.paths.clear();
                self.read(None, progress)
            }
            None => outcome,
        }
    }

    /// Reads the source from its start, or goes on behind what is known of it.
    fn read(
        &mut self,
        known: Option<&ledger::Entry>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<ledger::Entry>> {
        let shown = self.one.source.shown();
        let Source::File { path, .. } = &self.one.source else {
            let bytes = self.one.input.as_ref().map(|input| &*input.bytes).unwrap_or_default();
            let mut state = ImportState::default();
            let imported = self.convert(bytes, &mut state, progress)?;
            return Ok(self.outcome(imported, state, None));
        };
        if opencode_database::is_database(path) {
            return self.read_database(path, progress);
        }
        let file = open_source(path, &shown)?;
        let (mut state, start) = self.start(known, &file, &shown)?;
        let document = opencode_storage::document(path, self.context.limit())?;
        let kept = file.try_clone().map_err(|error| Error::io("read", &*shown, error))?;
        let reader: Box<dyn BufRead> = match document {
            Some(text) => {
                state.is_whole = true;
                Box::new(std::io::Cursor::new(text))
            }
            None => Box::new(BufReader::with_capacity(1 << 18, file)),
        };
        let mut tell = |read: u64| progress(read.saturating_sub(start));
        let imported = self.convert(reader, &mut state, &mut tell)?;
        Ok(self.outcome(imported, state, Some(&kept)))
    }

    /// Reads the sessions of a database that have changed.
    fn read_database(
        &mut self,
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<ledger::Entry>> {
        let now = now_ns() / 1_000_000;
        let mut sessions = Sessions::open(path, self.one.until, now, self.context.limit())?;
        let mut state = ImportState { is_whole: true, ..ImportState::default() };
        let had_any = self.one.until.is_some() || !sessions.is_empty();
        let imported = self.convert(&mut sessions, &mut state, progress)?;
        let mut entry = self.outcome(imported, state, None);
        self.report.bad_row_count = sessions.bad.count;
        self.report.bad_rows = std::mem::take(&mut sessions.bad.first);
        if had_any && self.report.messages + self.report.copies == 0 {
            // sessions without a message, or nothing new but a title
            self.report.outcome = Outcome::Unchanged;
        }
        if let Some(entry) = &mut entry {
            entry.until = Some(sessions.until);
            if sessions.has_growing {
                // it is read again even if its host, which may be gone, writes nothing more
                entry.stamp = Stamp::default();
            }
            entry.skipped = entry.skipped.take().filter(|_| !had_any);
        }
        Ok(entry)
    }

    fn convert(
        &mut self,
        reader: impl BufRead,
        state: &mut ImportState,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Imported> {
        let (limit, interrupt) = (self.context.store.limit.clone(), self.context.interrupt);
        let shown = self.one.source.shown();
        let source = ImportSource { formats: &[], reader, path: &shown, limit: &limit, state };
        let imported = formats::import_sessions(source, self, progress, interrupt)?;
        if let Some(target) = self.target.take() {
            // nothing but a title may have come since
            self.ended(target);
        }
        Ok(imported)
    }

    /// Goes to where the source is to be read from.
    fn start(
        &mut self,
        known: Option<&ledger::Entry>,
        mut file: &File,
        shown: &str,
    ) -> Result<(ImportState, u64)> {
        let Some(entry) = known else {
            check_encoding(file, shown)?;
            return Ok((ImportState::default(), 0));
        };
        let state = entry.state.clone().unwrap_or_default();
        file.seek(SeekFrom::Start(state.offset)).map_err(|e| Error::io("read", shown, e))?;
        let (path, end) = entry.targets[0].clone();
        let stat = self.context.store.root().stat(&path);
        self.target = Some(match stat.is_ok_and(|stat| stat.size == end) {
            true => SessionTarget::at_end(path, end, entry.record.clone(), &mut self.context),
            // somebody else has added to it
            false => {
                let header = self.adapted(&state.session.header());
                SessionTarget::open(path, end, &header, &mut self.context)?
            }
        });
        let offset = state.offset;
        Ok((state, offset))
    }

    /// The header with what the place of the source tells as well.
    fn adapted(&self, header: &SessionHeader) -> SessionHeader {
        let mut header = header.clone();
        let shown = self.one.source.shown();
        if let (None, Source::File { path, .. }) = (&header.cwd, &self.one.source) {
            header.cwd = sources::working_directory(path);
        }
        if let (None, Some(input)) = (&header.id, &self.one.input) {
            header.id = Some(input.session_id().to_owned());
        }
        if header.id.is_none() {
            // two files of one name in two folders are two sessions
            let path = Path::new(&shown);
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            // its title may become known only at its end
            let about = format!("{shown}\n{:?}", header.started);
            header.id = Some(format!("{stem}-{:08x}", xxh3_64(about.as_bytes()) as u32));
        }
        header
    }

    fn ended(&mut self, target: SessionTarget) {
        self.report.messages += target.messages;
        self.report.copies += target.copies;
        add_counts(&mut self.redacted, target.redacted);
        self.has_new |= target.is_new;
        self.report.paths.push(target.path.clone());
        self.targets.push((target.path, target.end));
        self.record = target.record;
    }

    fn outcome(
        &mut self,
        imported: Imported,
        mut state: ImportState,
        file: Option<&File>,
    ) -> Option<ledger::Entry> {
        let mut entry = ledger::Entry { stamp: self.one.stamp, ..ledger::Entry::default() };
        self.report.is_cut_off = state.is_cut_off;
        self.report.outcome = match () {
            () if self.targets.is_empty() => {
                Outcome::Skipped(no_message(file, &imported).to_owned())
            }
            () if self.has_new => Outcome::New,
            () if self.report.messages + self.report.copies > 0 => Outcome::Grown,
            () => Outcome::Unchanged,
        };
        if let Outcome::Skipped(why) = &self.report.outcome {
            entry.skipped = Some(why.clone());
        }
        self.report.imported = imported;
        self.report.imported.redacted = std::mem::take(&mut self.redacted);
        state.is_cut_off = false;
        let forgotten = self.context.forgotten;
        state.session.drop_titles(|title| forgotten.hold_title(title));
        let is_resumable = !state.is_whole && self.targets.len() == 1;
        let tail = file.and_then(|file| ledger::tail_hash(file, state.offset));
        if let Some(tail) = tail.filter(|_| is_resumable) {
            (entry.tail, entry.state) = (tail, Some(state));
        }
        if let Some(input) = &self.one.input {
            input.note(&mut entry);
        }
        entry.targets = std::mem::take(&mut self.targets);
        entry.record = std::mem::take(&mut self.record);
        Some(entry)
    }
}

impl SessionSink for SourceImport<'_, '_> {
    fn begin(&mut self, session: &SessionHeader) -> Result<()> {
        let header = self.adapted(session);
        let path = self.names.path(&header, self.one.modified, self.context.interrupt)?;
        self.target = Some(SessionTarget::open(path, 0, &header, &mut self.context)?);
        Ok(())
    }

    fn message(&mut self, line: &[u8]) -> Result<()> {
        match &mut self.target {
            Some(target) => target.take(line, &mut self.context),
            None => Ok(()),
        }
    }

    fn end(&mut self, session: &SessionHeader) -> Result<()> {
        let Some(mut target) = self.target.take() else { return Ok(()) };
        let header = self.adapted(session);
        target.finish(&header, &mut self.context)?;
        self.ended(target);
        Ok(())
    }
}
