//! Changed sources: those that are to be read, how far each was read before, and in which order.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::messages::formats::{self, ImportSource, ImportState, SessionHeader, SessionSink};
use crate::store::Store;
use crate::store::import::ledger::{self, Ledger, Stamp};
use crate::store::import::report::ImportReport;
use crate::store::import::session_folder::FIRST_TIME;
use crate::store::import::sources::Source;
use crate::store::import::standard_input::StandardInput;
use crate::store::import::{open_source, opencode_database, opencode_storage, reason};
use crate::text::time::parse_time;

/// How much of a source is read at once to know when its session began.
const HEAD: usize = 1 << 16;

/// A source that is to be read, or read on.
#[derive(Debug, Default)]
pub(super) struct ChangedSource {
    pub source: Source,
    pub stamp: Stamp,
    /// How far it was read, where it goes on there.
    pub known: Option<ledger::Entry>,
    /// Up to when a database was read, in milliseconds since 1970.
    pub until: Option<i64>,
    is_subagent: bool,
    /// When its first message was written, in milliseconds since 1970.
    started: i64,
    /// When its file was made or last changed, whichever is earlier; now where that cannot be.
    pub modified: i64,
    /// What came in, if it is standard input.
    pub input: Option<StandardInput>,
}

impl ChangedSource {
    /// How many bytes are to be read.
    pub fn left(&self) -> u64 {
        let read = self.known.as_ref().and_then(|entry| entry.state.as_ref());
        self.stamp.size.saturating_sub(read.map_or(0, |state| state.offset))
    }

    /// Its name in the ledger.
    pub fn key(&self) -> Option<&str> {
        match &self.source {
            Source::File { path, .. } => path.to_str(),
            Source::Stdin => self.input.as_ref().map(|input| &*input.key),
        }
    }

    fn of_input(input: StandardInput) -> Self {
        let stamp = input.stamp();
        let modified = milliseconds(SystemTime::now());
        Self { stamp, modified, started: modified, input: Some(input), ..Self::default() }
    }

    /// Reads the head of the source, to know in which order to import.
    fn look_ahead(&mut self, limit: &MemoryLimit, meta: &fs::Metadata, interrupt: Interrupt<'_>) {
        let times = [meta.created(), meta.modified()].into_iter().flatten();
        let times = times.map(milliseconds).filter(|time| *time >= FIRST_TIME);
        self.modified = times.min().unwrap_or_else(|| milliseconds(SystemTime::now()));
        let header = match (&self.known, &self.source) {
            (Some(entry), _) => entry.state.as_ref().map(|state| state.session.header()),
            (None, Source::File { path, .. }) => head(path, limit, interrupt),
            (None, Source::Stdin) => None,
        };
        let started = header.as_ref().and_then(|header| header.started.as_deref());
        self.started = started.and_then(parse_time).unwrap_or(self.modified);
        self.is_subagent = header.is_some_and(|header| header.parent.is_some());
    }
}

impl Store {
    /// Returns the sources that have changed since the last import, in the order of import: sessions
    /// before those that hold copies of them, agents before their subagents.
    pub(super) fn changed_sources(
        &self,
        found: Vec<Source>,
        ledger: &Ledger,
        report: &mut ImportReport,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<ChangedSource>> {
        let mut changed = Vec::new();
        for source in found {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let Source::File { path, is_named } = &source else {
                let read = StandardInput::read(ledger, &self.limit, interrupt);
                match read {
                    Ok(input) if input.is_known => report.unread += 1,
                    Ok(input) => changed.push(ChangedSource::of_input(input)),
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => report.skip(&source.shown(), &reason(&error)),
                }
                continue;
            };
            let stamp = opencode_database::stamp(path)
                .or_else(|| opencode_storage::stamp(path))
                .or_else(|| Stamp::of(path));
            let Some((meta, stamp)) = fs::metadata(path).ok().zip(stamp) else {
                report.skip(&source.shown(), "it was deleted meanwhile");
                continue;
            };
            let entry = path.to_str().and_then(|key| ledger.get(key));
            if let Some(entry) = entry.filter(|entry| entry.stamp == stamp) {
                match &entry.skipped {
                    None => {
                        let is_gone = |path: &str| {
                            matches!(self.root().stat(path), Err(Error::NotFound { .. }))
                        };
                        report.unread += 1;
                        let gone = entry.targets.iter().filter(|target| is_gone(&target.0));
                        report.removed += gone.count() as u64;
                    }
                    Some(why) if *is_named => report.skip(&source.shown(), why),
                    Some(_) => report.unread_skipped += 1,
                }
                continue;
            }
            let state = entry.filter(|entry| is_continued(path, entry)).cloned();
            let until = entry.and_then(|entry| entry.until);
            let mut one =
                ChangedSource { source, stamp, known: state, until, ..Default::default() };
            one.look_ahead(&self.limit, &meta, interrupt);
            changed.push(one);
        }
        changed.sort_by_key(|one| (one.is_subagent, one.started, one.modified));
        Ok(changed)
    }
}

/// A time in milliseconds since 1970.
fn milliseconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// Whether a source still begins with what was read of it.
fn is_continued(path: &Path, entry: &ledger::Entry) -> bool {
    let Some(state) = entry.state.as_ref().filter(|_| entry.targets.len() == 1) else {
        return false;
    };
    let file = open_source(path, &path.to_string_lossy());
    file.is_ok_and(|file| ledger::tail_hash(&file, state.offset) == Some(entry.tail))
}

/// Returns what a source says about its session up to the first message; none of a document.
fn head(path: &Path, limit: &MemoryLimit, interrupt: Interrupt<'_>) -> Option<SessionHeader> {
    struct First(Option<SessionHeader>);
    impl SessionSink for First {
        fn begin(&mut self, session: &SessionHeader) -> Result<()> {
            self.0 = Some(session.clone());
            Err(Error::Interrupted)
        }
        fn message(&mut self, _line: &[u8]) -> Result<()> {
            Ok(())
        }
        fn end(&mut self, _session: &SessionHeader) -> Result<()> {
            Ok(())
        }
    }
    let shown = path.to_string_lossy();
    if !shown.ends_with(".jsonl") {
        return None;
    }
    let reader = BufReader::with_capacity(HEAD, open_source(path, &shown).ok()?);
    let state = &mut ImportState::default();
    let source = ImportSource { formats: &[], reader, path: &shown, limit, state };
    let mut first = First(None);
    // what is wrong with it is told when it is imported
    let _ = formats::import_sessions(source, &mut first, &mut |_| {}, interrupt);
    first.0
}
