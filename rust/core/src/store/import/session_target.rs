//! Session target: the transcript of one session, to which what is new is added.
//!
//! Its first line is the session's record. What it holds already is known by the message index, or,
//! of messages without id and time, by how often the transcript holds them. A run of messages that
//! another transcript holds becomes one line that points there.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::messages::fields::trim;
use crate::messages::formats::SessionHeader;
use crate::messages::line_reader::{LONGEST_LINE, check_encoding, lines};
use crate::messages::message_key::MessageKey;
use crate::messages::redaction::{Redactions, count_placeholders, redact_line};
use crate::store::Store;
use crate::store::import::ImportOptions;
use crate::store::import::message_index::{Entry, Location, MessageIndex};

/// How much is appended at once: enough that waiting for the disk does not count.
const BATCH_BYTES: usize = 8 << 20;
/// How often others may add to the transcript before we give up.
const MAX_TRIES: usize = 8;

/// What an import works with.
pub(super) struct Context<'a> {
    pub store: &'a Store,
    pub index: &'a mut MessageIndex,
    pub options: ImportOptions,
    pub interrupt: Interrupt<'a>,
}

impl Context<'_> {
    pub fn limit(&self) -> &MemoryLimit {
        &self.store.limit
    }
}

/// A run of messages that stand one after the other in another transcript.
struct CopyRun {
    file: u32,
    lines: (u32, u32),
    count: u64,
}

/// What a transcript holds, for a source that is read from its start.
#[derive(Default)]
struct Held {
    /// How often it holds messages without id and time, by the hashes of their keys.
    plain: FxHashMap<u128, u64>,
    /// How many messages its copy lines stand for.
    copies: u64,
    header: SessionHeader,
}

pub(super) struct SessionTarget {
    pub path: String,
    pub header: SessionHeader,
    /// The record that it holds, as it was written last.
    pub record: String,
    /// Bytes of the file.
    pub end: u64,
    /// Whether there was no such file.
    pub is_new: bool,
    pub messages: u64,
    pub copies: u64,
    /// Secrets that were replaced in what was added.
    pub redacted: Redactions,
    batch_redacted: Redactions,
    number: u32,
    held: Held,
    batch: Vec<u8>,
    /// Messages of the batch by hash, first byte in it and line in it.
    entries: Vec<Entry>,
    batched: FxHashSet<u128>,
    batch_lines: u64,
    copy: Option<CopyRun>,
}

impl SessionTarget {
    /// Opens the transcript of a session, which need not be there, for a source of which the lines
    /// up to byte `from` of the transcript have been taken.
    pub fn open(
        path: String,
        from: u64,
        header: &SessionHeader,
        context: &mut Context<'_>,
    ) -> Result<Self> {
        let mut target = Self::at_end(path, 0, String::new(), context);
        target.header = redacted_header(header, context)?;
        let file = match context.store.root().open_read(&target.path) {
            Err(Error::NotFound { .. }) => {
                target.is_new = true;
                return Ok(target);
            }
            file => file?,
        };
        check_encoding(&file, &target.path)?;
        let size = file.metadata().map_err(|e| Error::io("read", &*target.path, e))?.len();
        let held = &mut target.held;
        lines(
            &file,
            &target.path,
            0..size,
            LONGEST_LINE,
            context.interrupt,
            &mut |at, line, _| match MessageKey::of(line) {
                Some(key) if key.is_unique || at < from => {}
                Some(key) => *held.plain.entry(key.hash).or_default() += 1,
                None => held.note(line, at >= from),
            },
        )?;
        target.end = size;
        target.record = held.header.record();
        context.index.read_on(context.store, &target.path, context.interrupt)?;
        Ok(target)
    }

    /// Goes on at the end of a transcript of so many bytes, with what follows in its source.
    pub fn at_end(path: String, end: u64, record: String, context: &mut Context<'_>) -> Self {
        let number = context.index.number(&path);
        Self {
            path,
            header: SessionHeader::default(),
            record,
            end,
            is_new: false,
            messages: 0,
            copies: 0,
            redacted: Redactions::new(),
            batch_redacted: Redactions::new(),
            number,
            held: Held::default(),
            batch: Vec::new(),
            entries: Vec::new(),
            batched: FxHashSet::default(),
            batch_lines: 0,
            copy: None,
        }
    }

    /// Takes the next message of the source.
    pub fn take(&mut self, line: &[u8], context: &mut Context<'_>) -> Result<()> {
        let mut secrets = Redactions::new();
        let redacted = redact_line(line, &mut secrets, context.interrupt)?;
        let keys = [MessageKey::of(line), redacted.as_deref().and_then(MessageKey::of)];
        // an import before may have kept what this one does not, or the other way round
        for key in keys.into_iter().flatten() {
            if self.is_known(key, context)? {
                return Ok(());
            }
        }
        let (line, key) = match redacted.as_deref().filter(|_| !context.options.keep_secrets) {
            None => (line, keys[0]),
            Some(redacted) => {
                for (kind, count) in secrets {
                    *self.batch_redacted.entry(kind).or_default() += count;
                }
                (redacted, keys[1])
            }
        };
        self.end_copy(context);
        self.push_message(line, key);
        self.messages += 1;
        if self.batch.len() >= BATCH_BYTES { self.flush(context) } else { Ok(()) }
    }

    /// Whether a message is stored, here or in another transcript, to which a line will point.
    fn is_known(&mut self, key: MessageKey, context: &mut Context<'_>) -> Result<bool> {
        if !key.is_unique {
            let left = self.held.plain.get_mut(&key.hash).filter(|left| **left > 0);
            return Ok(left.map(|left| *left -= 1).is_some());
        }
        if self.batched.contains(&key.hash) {
            return Ok(true);
        }
        let found = context.index.find(context.store, key.hash, context.interrupt)?;
        if let Some(place) = found.filter(|place| place.file != self.number) {
            self.take_copy(place, context);
        }
        Ok(found.is_some())
    }

    /// Ends the session: adds what is left, and its record where that says something new.
    pub fn finish(&mut self, header: &SessionHeader, context: &mut Context<'_>) -> Result<()> {
        self.header = redacted_header(header, context)?;
        self.end_copy(context);
        let is_begun = !self.is_new || self.end > 0;
        if is_begun {
            let mut known = SessionHeader::default();
            known.take_record(&serde_json::from_str(&self.record).unwrap_or_default());
            let before = known.record();
            known.take_record(&serde_json::from_str(&self.header.record()).unwrap_or_default());
            if known.record() != before {
                self.record = known.record();
                self.push(self.record.clone().as_bytes());
            }
        }
        self.flush(context)
    }

    /// Adds a message to the batch.
    fn push_message(&mut self, line: &[u8], key: Option<MessageKey>) {
        if let Some(key) = key.filter(|key| key.is_unique) {
            let number = u32::try_from(self.batch_lines + 1).unwrap_or(u32::MAX);
            self.batched.insert(key.hash);
            self.entries.push((key.hash, self.batch.len() as u64, number));
        }
        self.push(line);
    }

    fn push(&mut self, line: &[u8]) {
        self.batch.extend_from_slice(line);
        self.batch_lines += 1;
    }

    fn take_copy(&mut self, place: Location, context: &mut Context<'_>) {
        if self.held.copies > 0 {
            self.held.copies -= 1;
            return;
        }
        self.copies += 1;
        match &mut self.copy {
            Some(run) if run.file == place.file && run.lines.1 + 1 == place.line => {
                run.lines.1 = place.line;
                run.count += 1;
            }
            _ => {
                self.end_copy(context);
                let lines = (place.line, place.line);
                self.copy = Some(CopyRun { file: place.file, lines, count: 1 });
            }
        }
    }

    /// Writes the line that points to a run of messages.
    fn end_copy(&mut self, context: &Context<'_>) {
        let Some(CopyRun { file, lines: (first, last), count }) = self.copy.take() else { return };
        let path = context.index.path(file);
        let place = match first == last {
            true => format!("{path}#L{first}"),
            false => format!("{path}#L{first}-L{last}"),
        };
        let line = json!({ "type": "copy", "of": place, "count": count });
        self.push(format!("{line}\n").as_bytes());
    }

    /// Adds the batch to the transcript.
    fn flush(&mut self, context: &mut Context<'_>) -> Result<()> {
        for _ in 0..MAX_TRIES {
            if self.batch.is_empty() {
                return Ok(());
            }
            let record = if self.end == 0 { self.header.record() } else { String::new() };
            let bytes = [record.as_bytes(), &*self.batch].concat();
            context.store.log_redactions(&self.path, self.end, &self.batch_redacted)?;
            match context.store.files().append_at(&self.path, &bytes, self.end) {
                Ok(done) => {
                    let span = done.span.unwrap_or(self.end..self.end + bytes.len() as u64);
                    if !record.is_empty() {
                        self.record.clone_from(&record);
                    }
                    return self.added(span, &record, context);
                }
                Err(conflict @ Error::Conflict { .. }) => {
                    let end = self.end;
                    self.drop_known(context)?;
                    if self.end == end {
                        return Err(conflict);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let (expected, found) = ("a file that others let be".to_owned(), "changes".to_owned());
        Err(Error::Conflict { path: self.path.clone(), expected, found })
    }

    /// Takes what was added into the index.
    fn added(&mut self, span: Range<u64>, record: &str, context: &mut Context<'_>) -> Result<()> {
        let (before, _) = context.index.extent(self.number);
        let head = u64::from(!record.is_empty());
        let start = span.start + record.len() as u64;
        for (_, offset, line) in &mut self.entries {
            *offset += start;
            *line = line.saturating_add(u32::try_from(before + head).unwrap_or(u32::MAX));
        }
        let lines = [before, before + head + self.batch_lines];
        self.end = span.end;
        for (kind, count) in std::mem::take(&mut self.batch_redacted) {
            *self.redacted.entry(kind).or_default() += count;
        }
        let is_next = context.index.add(self.number, span, lines, &self.entries);
        self.batch.clear();
        self.entries.clear();
        self.batched.clear();
        self.batch_lines = 0;
        if !is_next {
            // behind what was not ours
            context.index.read_on(context.store, &self.path, context.interrupt)?;
        }
        Ok(())
    }

    /// Drops from the batch the lines that somebody else has added meanwhile.
    fn drop_known(&mut self, context: &mut Context<'_>) -> Result<()> {
        let file = context.store.root().open_read(&self.path)?;
        let size = file.metadata().map_err(|e| Error::io("read", &*self.path, e))?.len();
        let hash = |line: &[u8]| MessageKey::of(line).map_or(xxh3_128(trim(line)), |key| key.hash);
        let mut there: FxHashMap<u128, u64> = FxHashMap::default();
        let span = self.end.min(size)..size;
        lines(&file, &self.path, span, LONGEST_LINE, context.interrupt, &mut |_, line, _| {
            *there.entry(hash(line)).or_default() += 1;
        })?;
        (self.batch_lines, self.end) = (0, size);
        let batch = std::mem::take(&mut self.batch);
        self.entries.clear();
        self.batched.clear();
        for line in batch.split_inclusive(|&byte| byte == b'\n') {
            match there.get_mut(&hash(line)).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    self.messages -= u64::from(MessageKey::of(line).is_some());
                }
                None => self.push_message(line, MessageKey::of(line)),
            }
        }
        if !std::mem::take(&mut self.batch_redacted).is_empty() {
            count_placeholders(&self.batch, &mut self.batch_redacted);
        }
        // other sessions may hold copies of what somebody else has added
        context.index.read_on(context.store, &self.path, context.interrupt)?;
        Ok(())
    }
}

/// The header as it is stored: its title may be a prompt with a secret in it.
fn redacted_header(header: &SessionHeader, context: &Context<'_>) -> Result<SessionHeader> {
    if context.options.keep_secrets {
        return Ok(header.clone());
    }
    let mut own = SessionHeader::default();
    let record = header.record();
    let redacted = redact_line(record.as_bytes(), &mut Redactions::new(), context.interrupt)?;
    let record = redacted.as_deref().unwrap_or(record.as_bytes());
    own.take_record(&serde_json::from_slice(record).unwrap_or_default());
    Ok(own)
}

impl Held {
    /// Notes a line that is no message; only new ones stand for copies that may come.
    fn note(&mut self, line: &[u8], is_new: bool) {
        let Ok(record) = serde_json::from_slice::<Value>(trim(line)) else { return };
        match record["type"].as_str() {
            Some("session") => self.header.take_record(&record),
            Some("copy") if is_new => self.copies += record["count"].as_u64().unwrap_or(0),
            _ => {}
        }
    }
}
