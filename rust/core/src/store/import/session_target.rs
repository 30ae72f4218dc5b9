//! Session target: the transcript of one session, to which what is new is added.
//!
//! Its first line is the session's record. What it holds already is known by the message index. A
//! run of messages that another transcript holds becomes one line that points there.
//! (Longer than 350 lines: the state of one transcript, and all that changes it.)

use std::ops::Range;

use memchr::memmem;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Result};
use crate::messages::fields::trim;
use crate::messages::formats::{self, SessionHeader};
use crate::messages::line_reader::{LONGEST_LINE, check_encoding, lines};
use crate::messages::message::{ParsedLine, parse_lazy};
use crate::messages::message_key::MessageKey;
use crate::messages::redaction::{Redactions, add_counts, redact_line};
use crate::store::forget::Tombstones;
use crate::store::import::context::Context;
use crate::store::import::later_versions::LaterVersions;
use crate::store::import::message_index::{Known, Location};
use crate::store::import::ordinals::Ordinals;
use crate::store::import::pending_lines::PendingLines;
use crate::store::import::session_batch::NewSession;
use crate::text::citation::cite;

/// How much is appended at once: enough that waiting for the disk does not count.
const BATCH_BYTES: usize = 8 << 20;
/// The first bytes of a line, which say whether it is a record.
const RECORD_START: usize = 64;
/// How often others may add to the transcript before we give up.
const MAX_TRIES: usize = 8;

/// A run of messages that stand one after the other in another transcript.
struct CopyRun {
    file: u32,
    lines: (u32, u32),
    count: u64,
}

/// What the records of a transcript say, for a source that is read from its start.
#[derive(Default)]
struct Held {
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
    /// Whether only what stands before in the source can tell which of several equal messages one is.
    pub is_ambiguous: bool,
    /// Whether what stands before in the source was not read.
    is_continued: bool,
    number: u32,
    ordinals: Ordinals,
    held: Held,
    pending: PendingLines,
    later: LaterVersions,
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
        if context.batch.holds_path(&path) {
            context.publish_batch()?;
        }
        let mut target = Self::at_end(path, 0, String::new(), context);
        target.is_continued = from > 0;
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
        let mut note = |at: u64, line: &[u8], _| held.note(line, at >= from);
        lines(&file, &target.path, 0..size, LONGEST_LINE, context.interrupt, &mut note)?;
        target.end = size;
        target.record = held.header.record();
        context.index.read_on(context.store, &target.path, context.interrupt)?;
        Ok(target)
    }

    /// Goes on at the end of a transcript of so many bytes, with what follows in its source.
    pub fn at_end(path: String, end: u64, record: String, context: &mut Context<'_>) -> Self {
        let number = context.index.number(&path);
        let mut header = SessionHeader::default();
        header.take_record(&serde_json::from_str(&record).unwrap_or_default());
        Self {
            path,
            header,
            record,
            end,
            is_new: false,
            messages: 0,
            copies: 0,
            redacted: Redactions::new(),
            is_ambiguous: false,
            is_continued: true,
            number,
            ordinals: Ordinals::default(),
            held: Held::default(),
            pending: PendingLines::default(),
            later: LaterVersions::default(),
            copy: None,
        }
    }

    /// Takes the next message of the source.
    pub fn take(&mut self, line: &[u8], context: &mut Context<'_>) -> Result<()> {
        let mut secrets = Redactions::new();
        let redacted = redact_line(line, &mut secrets, context.interrupt)?;
        let keys = [MessageKey::of(line), redacted.as_deref().and_then(MessageKey::of)];
        let keys = keys.map(|key| key.map(|key| (key, self.ordinals.next(key))));
        // an import before may have kept what this one does not, or the other way round
        let is_rewritten = formats::rewrites_messages(&self.header.host);
        for (key, ordinal) in keys.into_iter().flatten() {
            if self.pending.holds(key.stored_hash(&self.path, ordinal)) {
                return Ok(());
            }
            if self.is_stored(key, ordinal, context)? {
                let is_dropped = is_rewritten
                    && (self.pending.drop_version(line) || self.later.drop_version(line));
                self.messages -= u64::from(is_dropped);
                return Ok(());
            }
        }
        if is_forgotten(redacted.as_deref().unwrap_or(line), context.forgotten) {
            return Ok(());
        }
        let (line, key, secrets) =
            match redacted.as_deref().filter(|_| !context.options.keep_secrets) {
                None => (line, keys[0], Redactions::new()),
                Some(redacted) => (redacted, keys[1], secrets),
            };
        self.end_copy(context);
        let hash = key.map(|(key, ordinal)| key.stored_hash(&self.path, ordinal));
        if is_rewritten {
            let was_waiting = self.later.holds(line);
            if self.later.take(line, &secrets, (&self.path, self.end), context)? {
                self.messages += u64::from(!was_waiting);
                return Ok(());
            }
        }
        if !is_rewritten || !self.pending.replace_version(line, hash, &secrets) {
            self.pending.push_message(line, hash, secrets);
            self.messages += 1;
        }
        if self.pending.bytes() >= BATCH_BYTES { self.flush(context) } else { Ok(()) }
    }

    /// Whether a message was stored before, here or in another transcript, to which a line will point.
    fn is_stored(
        &mut self,
        key: MessageKey,
        ordinal: u32,
        context: &mut Context<'_>,
    ) -> Result<bool> {
        if context.batch.holds(key.stored_hash(&self.path, ordinal)) {
            // a line can point only to what is there
            context.publish_batch()?;
        }
        let wanted = (key, ordinal, &*self.path);
        let known = context.index.find(context.store, wanted, context.interrupt)?;
        if known != Known::No && key.is_repeatable && self.is_continued {
            self.is_ambiguous = true;
            return Err(Error::Interrupted);
        }
        match known {
            Known::No => return Ok(false),
            Known::At(place) if place.file != self.number => self.take_copy(place, context),
            Known::At(_) | Known::Removed => {}
        }
        Ok(true)
    }

    /// Ends the session: adds what is left, and its record where that says something new. A new
    /// transcript is made with the others of the batch.
    pub fn finish(&mut self, header: &SessionHeader, context: &mut Context<'_>) -> Result<()> {
        self.header = redacted_header(header, context)?;
        self.end_copy(context);
        if self.is_new && self.end == 0 && !self.pending.is_empty() && !context.batch.is_direct {
            self.record = self.header.record();
            let bytes = self.pending.text(&self.record);
            let added = self.pending.take(&self.record, 0, 0);
            self.end = bytes.len() as u64;
            add_counts(&mut self.redacted, added.redacted.clone());
            let (path, number) = (self.path.clone(), self.number);
            context.batch.add(NewSession { path, number, bytes, added });
            return Ok(());
        }
        if !self.is_new || self.end > 0 {
            let mut known = SessionHeader::default();
            known.take_record(&serde_json::from_str(&self.record).unwrap_or_default());
            let before = known.record();
            known.take_record(&serde_json::from_str(&self.header.record()).unwrap_or_default());
            if known.record() != before {
                self.record = known.record();
                self.pending.push_record(self.record.as_bytes());
            }
        }
        self.flush(context)
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
        let place = cite(context.index.path(file), first.into(), last.into());
        let line = json!({ "type": "copy", "of": place, "count": count });
        self.pending.push_record(format!("{line}\n").as_bytes());
    }

    /// Adds what is pending to the transcript.
    pub fn flush(&mut self, context: &mut Context<'_>) -> Result<()> {
        let replaced = self.later.put_in_place(&self.path, context)?;
        self.end = self.end.saturating_add_signed(replaced.bytes);
        add_counts(&mut self.redacted, replaced.redacted);
        for _ in 0..MAX_TRIES {
            if self.pending.is_empty() {
                return Ok(());
            }
            let record = if self.end == 0 { self.header.record() } else { String::new() };
            let bytes = self.pending.text(&record);
            context.store.log_redactions(&self.path, self.end, &self.pending.redacted())?;
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
        self.end = span.end;
        let added = self.pending.take(record, span.start, before);
        add_counts(&mut self.redacted, added.redacted);
        let lines = [before, before + added.lines];
        if !context.index.add(self.number, span, lines, &added.entries) {
            // behind what was not ours
            context.index.read_on(context.store, &self.path, context.interrupt)?;
        }
        Ok(())
    }

    /// Drops from what is pending the lines that somebody else has added meanwhile.
    fn drop_known(&mut self, context: &mut Context<'_>) -> Result<()> {
        let file = match context.store.root().open_read(&self.path) {
            Err(Error::NotFound { .. }) => {
                // it was removed: what is new begins another
                self.end = 0;
                return Ok(());
            }
            file => file?,
        };
        let size = file.metadata().map_err(|e| Error::io("read", &*self.path, e))?.len();
        let key = |line: &[u8]| MessageKey::of(line).ok_or_else(|| xxh3_128(trim(line)));
        let mut there: FxHashMap<_, u64> = FxHashMap::default();
        let span = self.end.min(size)..size;
        let is_made_meanwhile = self.end == 0;
        let mut made = Held::default();
        lines(&file, &self.path, span, LONGEST_LINE, context.interrupt, &mut |at, line, _| {
            *there.entry(key(line)).or_default() += 1;
            if is_made_meanwhile && at == 0 {
                made.note(line, false);
            }
        })?;
        let owner = |header: &SessionHeader| (header.host.clone(), header.id.clone());
        if is_made_meanwhile && size > 0 && owner(&made.header) != owner(&self.header) {
            let (expected, found) = ("no file".to_owned(), "another session".to_owned());
            return Err(Error::Conflict { path: self.path.clone(), expected, found });
        }
        self.end = size;
        let messages = &mut self.messages;
        self.pending.retain(|line| match there.get_mut(&key(line)).filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                *messages -= u64::from(MessageKey::of(line).is_some());
                false
            }
            None => true,
        });
        // other sessions may hold copies of what somebody else has added
        context.index.read_on(context.store, &self.path, context.interrupt)
    }
}

/// Says whether a message says, under whatever id, what was forgotten.
fn is_forgotten(line: &[u8], forgotten: &Tombstones) -> bool {
    !forgotten.is_empty()
        && match parse_lazy(line) {
            ParsedLine::Message(message) => forgotten.hold_text(&message.text(false)),
            _ => false,
        }
}

/// The header as it is stored: its title may be a prompt with a secret in it, or be forgotten.
fn redacted_header(header: &SessionHeader, context: &Context<'_>) -> Result<SessionHeader> {
    let header = &without_forgotten_title(header.clone(), context.forgotten);
    if context.options.keep_secrets {
        return Ok(header.clone());
    }
    let mut own = SessionHeader::default();
    let record = header.record();
    let redacted = redact_line(record.as_bytes(), &mut Redactions::new(), context.interrupt)?;
    let record = redacted.as_deref().unwrap_or(record.as_bytes());
    own.take_record(&serde_json::from_slice(record).unwrap_or_default());
    Ok(without_forgotten_title(own, context.forgotten))
}

fn without_forgotten_title(header: SessionHeader, forgotten: &Tombstones) -> SessionHeader {
    let title = header.title.filter(|title| !forgotten.hold_title(title));
    SessionHeader { title, ..header }
}

impl Held {
    /// Notes a line if it is a record; only new ones stand for copies that may come.
    fn note(&mut self, line: &[u8], is_new: bool) {
        let start = &line[..line.len().min(RECORD_START)];
        if ["session", "copy"].iter().all(|kind| memmem::find(start, kind.as_bytes()).is_none()) {
            return;
        }
        let Ok(record) = serde_json::from_slice::<Value>(trim(line)) else { return };
        match record["type"].as_str().filter(|_| record["role"].is_null()) {
            Some("session") => self.header.take_record(&record),
            Some("copy") if is_new => self.copies += record["count"].as_u64().unwrap_or(0),
            _ => {}
        }
    }
}
