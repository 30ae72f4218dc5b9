//! Import of one source: its sessions go to their transcripts, and the ledger gets how far it was read.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::platform::standard_input;
use crate::messages::formats::{self, ImportSource, ImportState, SessionHeader, SessionSink};
use crate::messages::line_reader::check_encoding;
use crate::messages::redaction::Redactions;
use crate::store::import::changed_source::ChangedSource;
use crate::store::import::ledger;
use crate::store::import::report::{Outcome, SourceReport};
use crate::store::import::session_names::SessionNames;
use crate::store::import::session_target::{Context, SessionTarget};
use crate::store::import::sources::{self, Source};
use crate::store::import::{NO_MESSAGE, open_source, opencode_storage};

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
        let shown = self.one.source.shown();
        let file = match &self.one.source {
            Source::File { path, .. } => open_source(path, &shown)?,
            Source::Stdin => standard_input().map_err(|error| Error::io("read", &*shown, error))?,
        };
        let (mut state, start) = self.start(&file, &shown)?;
        let document = match &self.one.source {
            Source::File { path, .. } => opencode_storage::document(path, self.context.limit())?,
            Source::Stdin => None,
        };
        let kept = file.try_clone().map_err(|error| Error::io("read", &*shown, error))?;
        let reader: Box<dyn BufRead> = match document {
            Some(text) => {
                state.is_whole = true;
                Box::new(std::io::Cursor::new(text))
            }
            None => Box::new(BufReader::with_capacity(1 << 18, file)),
        };
        let (limit, interrupt) = (self.context.store.limit.clone(), self.context.interrupt);
        let source =
            ImportSource { formats: &[], reader, path: &shown, limit: &limit, state: &mut state };
        let mut tell = |read: u64| progress(read.saturating_sub(start));
        let imported = formats::import_sessions(source, self, &mut tell, interrupt)?;
        if let Some(target) = self.target.take() {
            // nothing but a title may have come since
            self.ended(target);
        }
        Ok(self.outcome(imported, state, &kept))
    }

    /// Goes to where the source is to be read from.
    fn start(&mut self, mut file: &File, shown: &str) -> Result<(ImportState, u64)> {
        let Some(entry) = &self.one.known else {
            if !matches!(self.one.source, Source::Stdin) {
                check_encoding(file, shown)?;
            }
            return Ok((ImportState::default(), 0));
        };
        let state = entry.state.clone().unwrap_or_default();
        file.seek(SeekFrom::Start(state.offset)).map_err(|e| Error::io("read", shown, e))?;
        let (path, end) = entry.targets[0].clone();
        self.target = Some(match self.context.store.root().stat(&path)?.size == end {
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
        for (kind, count) in target.redacted {
            *self.redacted.entry(kind).or_default() += count;
        }
        self.has_new |= target.is_new;
        self.report.paths.push(target.path.clone());
        self.targets.push((target.path, target.end));
        self.record = target.record;
    }

    fn outcome(
        &mut self,
        imported: formats::Imported,
        mut state: ImportState,
        file: &File,
    ) -> Option<ledger::Entry> {
        let mut entry = ledger::Entry { stamp: self.one.stamp, ..ledger::Entry::default() };
        self.report.is_cut_off = state.is_cut_off;
        self.report.outcome = match () {
            () if self.targets.is_empty() => Outcome::Skipped(NO_MESSAGE.to_owned()),
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
        let is_resumable = !state.is_whole && self.targets.len() == 1;
        if let Some(tail) = ledger::tail_hash(file, state.offset).filter(|_| is_resumable) {
            (entry.tail, entry.state) = (tail, Some(state));
        }
        entry.targets = std::mem::take(&mut self.targets);
        entry.record = std::mem::take(&mut self.record);
        Some(entry)
    }
}

impl SessionSink for SourceImport<'_, '_> {
    fn begin(&mut self, session: &SessionHeader) -> Result<()> {
        let header = self.adapted(session);
        let path = self.names.path(&header, self.one.modified)?;
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
