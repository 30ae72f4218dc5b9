//! Import of all sessions that a caller means, each into a transcript of its own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::fold;
use crate::messages::formats::{self, ImportSource, ImportState, SessionHeader, SessionSink};
use crate::messages::line_reader::check_encoding;
use crate::messages::redaction::Redactions;
use crate::store::Store;
use crate::store::import::ledger::{self, Ledger, Stamp};
use crate::store::import::message_index::MessageIndex;
use crate::store::import::report::{ImportReport, Outcome, SourceReport};
use crate::store::import::session_folder::{SESSIONS, beside_parent, candidates, project};
use crate::store::import::session_target::{Context, SessionTarget};
use crate::store::import::sources::{self, ImportFrom, Source};
use crate::store::import::{ImportOptions, NO_MESSAGE, open_source, opencode_storage};

/// The name of the transcript in the folder of a session.
const FILE: &str = "messages.jsonl";
/// How much of a source is read to know when its session began.
const HEAD: usize = 1 << 16;
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
        let changed = self.changed(found, &ledger, &mut report, interrupt)?;
        if changed.is_empty() {
            return Ok(report);
        }
        let total = changed.iter().map(|one| one.left()).sum();
        let mut index = MessageIndex::open(self, interrupt)?;
        let mut names = Names::new(self, &ledger, interrupt)?;
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

    /// Returns the sources that have changed since the last import, in the order of import: sessions
    /// before those that hold copies of them, agents before their subagents.
    fn changed(
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
                changed.push(ChangedSource { source, ..ChangedSource::default() });
                continue;
            };
            let Ok(meta) = fs::metadata(path) else {
                report.skip(&source.shown(), "it was deleted meanwhile");
                continue;
            };
            let stamp = opencode_storage::stamp(path).unwrap_or_else(|| Stamp::of(&meta));
            let entry = path.to_str().and_then(|key| ledger.get(key));
            let entry =
                entry.filter(|entry| entry.targets.iter().all(|target| self.holds_all_of(target)));
            if let Some(entry) = entry.filter(|entry| entry.stamp == stamp) {
                match entry.skipped.as_deref().filter(|_| *is_named) {
                    Some(why) => report.skip(&source.shown(), why),
                    None => report.unread += 1,
                }
                continue;
            }
            let state = entry.filter(|entry| is_continued(path, entry)).cloned();
            let mut one = ChangedSource { source, stamp, known: state, ..Default::default() };
            one.look_ahead(&self.limit, &meta, interrupt);
            changed.push(one);
        }
        changed.sort_by_key(|one| (one.is_subagent, one.started, one.modified));
        Ok(changed)
    }

    /// Whether a transcript is as long as it was when an import ended.
    fn holds_all_of(&self, (path, size): &(String, u64)) -> bool {
        self.root().stat(path).is_ok_and(|stat| stat.size >= *size)
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

/// Whether a source still begins with what was read of it.
fn is_continued(path: &Path, entry: &ledger::Entry) -> bool {
    let Some(state) = entry.state.as_ref().filter(|_| entry.targets.len() == 1) else {
        return false;
    };
    let file = open_source(path, &path.to_string_lossy());
    file.is_ok_and(|file| ledger::tail_hash(&file, state.offset) == Some(entry.tail))
}

/// A source that is to be read, or read on.
#[derive(Debug, Default)]
struct ChangedSource {
    source: Source,
    stamp: Stamp,
    /// How far it was read, where it goes on there.
    known: Option<ledger::Entry>,
    is_subagent: bool,
    /// When its first message was written, in milliseconds since 1970.
    started: i64,
    /// When its file was made or last changed, whichever is earlier.
    modified: i64,
}

impl ChangedSource {
    /// How many bytes are to be read.
    fn left(&self) -> u64 {
        let read = self.known.as_ref().and_then(|entry| entry.state.as_ref());
        self.stamp.size.saturating_sub(read.map_or(0, |state| state.offset))
    }

    /// Its name in the ledger.
    fn key(&self) -> Option<&str> {
        match &self.source {
            Source::File { path, .. } => path.to_str(),
            Source::Stdin => None,
        }
    }

    /// Reads the head of the source, to know in which order to import.
    fn look_ahead(
        &mut self,
        limit: &crate::memory_limit::MemoryLimit,
        meta: &fs::Metadata,
        interrupt: Interrupt<'_>,
    ) {
        let times = [meta.created(), meta.modified()].into_iter().flatten();
        let since = times.filter_map(|time| time.duration_since(UNIX_EPOCH).ok()).min();
        self.modified = since.map_or(0, |since| since.as_millis() as i64);
        let header = match (&self.known, &self.source) {
            (Some(entry), _) => entry.state.as_ref().map(|state| state.session.header()),
            (None, Source::File { path, .. }) => head(path, limit, interrupt),
            (None, Source::Stdin) => None,
        };
        let started = header.as_ref().and_then(|header| header.started.as_deref());
        self.started = started.and_then(crate::text::time::parse_time).unwrap_or(self.modified);
        self.is_subagent = header.is_some_and(|header| header.parent.is_some());
    }
}

/// Returns what a source says about its session up to the first message; none of a document.
fn head(
    path: &Path,
    limit: &crate::memory_limit::MemoryLimit,
    interrupt: Interrupt<'_>,
) -> Option<SessionHeader> {
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

/// Paths of sessions: which were given, and which project folders there are.
struct Names<'s> {
    store: &'s Store,
    /// Paths by host and id of session.
    known: FxHashMap<(String, String), String>,
    /// Host and id of session by path.
    taken: FxHashMap<String, (String, String)>,
    /// Folders of projects, by what other systems take for the same name.
    projects: FxHashMap<String, String>,
}

impl<'s> Names<'s> {
    fn new(store: &'s Store, ledger: &Ledger, interrupt: Interrupt<'_>) -> Result<Self> {
        let mut names = Self {
            store,
            known: FxHashMap::default(),
            taken: FxHashMap::default(),
            projects: FxHashMap::default(),
        };
        let dirs = match store.root().walk(SESSIONS, interrupt) {
            Err(Error::NotFound { .. }) => Vec::new(),
            walk => walk?.dirs,
        };
        for dir in dirs {
            if let Some(project) = dir.strip_prefix("sessions/").filter(|dir| !dir.contains('/')) {
                names.projects.insert(fold(project), project.to_owned());
            }
        }
        for (path, record) in ledger.records() {
            let mut header = SessionHeader::default();
            header.take_record(&serde_json::from_str(record).unwrap_or_default());
            names.note(&header, path);
        }
        Ok(names)
    }

    fn note(&mut self, header: &SessionHeader, path: &str) {
        let key = (header.host.clone(), header.id.clone().unwrap_or_default());
        self.taken.insert(path.to_owned(), key.clone());
        self.known.entry(key).or_insert_with(|| path.to_owned());
    }

    /// Returns the path for a session, which is its own if it has one.
    fn path(&mut self, header: &SessionHeader, modified: i64) -> Result<String> {
        let key = |id: &Option<String>| (header.host.clone(), id.clone().unwrap_or_default());
        if let Some(path) = self.known.get(&key(&header.id)) {
            return Ok(path.clone());
        }
        let project = project(header);
        let project = self.projects.entry(fold(&project)).or_insert(project).clone();
        let paths: Box<dyn Iterator<Item = String>> = match &header.parent {
            None => Box::new(candidates(header, &project, modified)),
            Some(_) => {
                let parent = match self.known.get(&key(&header.parent)) {
                    Some(path) => path.trim_end_matches(FILE).trim_end_matches('/').to_owned(),
                    None => {
                        let id = header.parent.clone();
                        let parent = SessionHeader { id, parent: None, ..header.clone() };
                        candidates(&parent, &project, modified).next().unwrap_or_default()
                    }
                };
                Box::new(beside_parent(header, &parent))
            }
        };
        for folder in paths {
            let path = format!("{folder}/{FILE}");
            let owner = match self.taken.get(&path) {
                Some(owner) => Some(owner.clone()),
                None => self.owner(&path)?,
            };
            if owner.is_none_or(|owner| owner == key(&header.id)) {
                self.note(header, &path);
                return Ok(path);
            }
        }
        let why = "ten thousand sessions have this name; rename their folder";
        Err(Error::refused(&header.record(), "name", why))
    }

    /// Returns host and id of the session in a transcript; none if there is no such file.
    fn owner(&self, path: &str) -> Result<Option<(String, String)>> {
        let file = match self.store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(None),
            file => file?,
        };
        let mut line = Vec::new();
        let mut reader = std::io::Read::take(BufReader::new(file), 1 << 16);
        reader.read_until(b'\n', &mut line).map_err(|error| Error::io("read", path, error))?;
        let mut header = SessionHeader::default();
        let record: serde_json::Value = serde_json::from_slice(&line).unwrap_or_default();
        if record["type"] == "session" {
            header.take_record(&record);
        }
        Ok(Some((header.host, header.id.unwrap_or_default())))
    }
}

/// The import of one source.
struct SourceImport<'a, 'n> {
    one: &'a ChangedSource,
    context: Context<'a>,
    names: &'a mut Names<'n>,
    target: Option<SessionTarget>,
    /// The transcripts of sessions that have ended, with their sizes.
    targets: Vec<(String, u64)>,
    record: String,
    has_new: bool,
    redacted: Redactions,
    report: SourceReport,
}

impl<'a, 'n> SourceImport<'a, 'n> {
    fn new(one: &'a ChangedSource, context: Context<'a>, names: &'a mut Names<'n>) -> Self {
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
    fn import(&mut self, progress: &mut dyn FnMut(u64)) -> Result<Option<ledger::Entry>> {
        let shown = self.one.source.shown();
        let file = match &self.one.source {
            Source::File { path, .. } => open_source(path, &shown)?,
            Source::Stdin => {
                let input = rustix::io::dup(std::io::stdin());
                File::from(input.map_err(|error| Error::io("read", &*shown, error))?)
            }
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
                SessionTarget::open(path, &header, &mut self.context)?
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
            let about = format!("{shown}\n{:?}\n{:?}", header.started, header.title);
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
        self.target = Some(SessionTarget::open(path, &header, &mut self.context)?);
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
