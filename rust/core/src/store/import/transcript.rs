//! Import of another tool's transcript into a `messages.jsonl`, repeatable and resumable.
//!
//! Messages become lines as [`formats`] writes them. Lines that the file holds already must be
//! those the source begins with; only what follows them is added. So nothing comes in twice, an
//! import that was cut off goes on, a source that has grown is caught up with, and two imports of
//! one source at the same time share the work. A line that the file holds with a secret replaced is
//! the same line.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::platform::sync_data;
use crate::messages::fields::trim;
use crate::messages::formats::{self, Imported, read_line};
use crate::messages::line_reader::check_encoding;
use crate::messages::message::{self, ParsedLine};
use crate::messages::message_key::MessageKey;
use crate::messages::redaction::{
    Redactions, count_placeholders, differs_only_by_redaction, redact_line,
};
use crate::store::Store;
use crate::store::forget::{Tombstones, forgotten_record, is_forgotten_record};
use crate::store::import::ordinals::Ordinals;
use crate::store::import::{ImportOptions, no_message, open_source, opencode_storage};

/// How much is appended at once: enough that waiting for the disk does not count.
const BATCH_BYTES: usize = 8 << 20;
/// Bytes by which a stored line may be longer than the message that it is compared with, so that it
/// is still distinguished from one that is damaged.
const MAX_EXTRA_BYTES: usize = 1 << 20;
/// Under this name [`Imported::skipped`] counts the messages of an earlier import.
const ALREADY_THERE: &str = "already there";

impl Store {
    /// Adds the messages of the transcript `source` to `path`, and returns the stored path and
    /// what was taken; `progress` gets the bytes read so far.
    ///
    /// Secrets are replaced before anything is written, unless the options keep them.
    ///
    /// Memory stays constant. What was added before an error stays, in whole lines.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Refused`] or [`Error::Io`] for a source that is no readable
    /// file; [`Error::Format`] when it, or `path`, is in UTF-16, or it holds no message;
    /// [`Error::Diverged`] when `path` holds others, or somebody adds others meanwhile; else those
    /// of [`Files::append_at`](crate::files::Files::append_at); [`Error::Memory`];
    /// [`Error::Interrupted`].
    pub fn import_transcript(
        &self,
        source: &Path,
        path: &str,
        options: ImportOptions,
        progress: &mut dyn FnMut(u64),
        interrupt: Interrupt<'_>,
    ) -> Result<(String, Imported)> {
        let shown = source.to_string_lossy();
        let file = open_source(source, &shown)?;
        check_encoding(&file, &shown)?;
        let document = opencode_storage::document(source, &self.limit)?;
        let kept = file.try_clone().map_err(|error| Error::io("read", &*shown, error))?;
        let mut target = ImportTarget::open(self, path, &shown, options)?;
        let mut take = |line: &[u8]| target.take(line, interrupt);
        let reader: &mut dyn BufRead = match &document {
            Some(text) => &mut &**text,
            None => &mut BufReader::with_capacity(1 << 18, file),
        };
        let mut imported =
            formats::import(reader, &shown, &self.limit, &mut take, progress, interrupt)?;
        if interrupt() {
            return Err(Error::Interrupted);
        }
        target.finish()?;
        if imported.messages == 0 {
            let why = no_message(Some(&kept), &imported).to_owned();
            return Err(Error::Format { path: shown.into(), line: None, why });
        }
        if target.already_there > 0 {
            imported.messages -= target.already_there;
            imported.skipped.insert(ALREADY_THERE.to_owned(), target.already_there);
        }
        imported.redacted = target.redacted;
        Ok((target.path, imported))
    }
}

/// The file that messages come into: compared with them as far as it goes, then added to.
///
/// It is read without the lock, so it may grow while it is read, and after: another import of the
/// same source is at work, or one that was killed is still in its last `write`. So a batch is added
/// only where the comparison ended; if the file goes on there, the comparison does too.
struct ImportTarget<'a> {
    store: &'a Store,
    path: String,
    source: &'a str,
    /// None where the file does not exist yet.
    reader: Option<BufReader<File>>,
    line: Vec<u8>,
    /// How many lines were compared.
    number: u64,
    /// Where the lines end that were compared or added.
    end: u64,
    /// How many bytes of a line that is not whole stood behind them.
    torn: u64,
    /// What the file does not hold.
    batch: Vec<u8>,
    /// How many messages it held.
    already_there: u64,
    /// Whether what it holds was flushed by us.
    durable: bool,
    options: ImportOptions,
    forgotten: Tombstones,
    /// Which of several equal messages of the source one is.
    ordinals: Ordinals,
    /// Secrets that were replaced in what was added, and in the batch.
    redacted: Redactions,
    batch_redacted: Redactions,
}

impl<'a> ImportTarget<'a> {
    fn open(store: &'a Store, path: &str, source: &'a str, options: ImportOptions) -> Result<Self> {
        if FileKind::of(path) != FileKind::Transcript {
            let why = "messages go to a file that ends in .jsonl".to_owned();
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        let path = store.root().normalized(path).into_owned();
        let (line, batch) = (Vec::new(), Vec::new());
        let (number, end, torn, already_there, durable) = (0, 0, 0, 0, true);
        let mut target = Self {
            store,
            path,
            source,
            reader: None,
            line,
            number,
            end,
            torn,
            batch,
            already_there,
            durable,
            options,
            forgotten: Tombstones::open(store.root())?,
            ordinals: Ordinals::default(),
            redacted: Redactions::new(),
            batch_redacted: Redactions::new(),
        };
        target.open_at_end()?;
        Ok(target)
    }

    /// Opens the file, which may be another one by now, to read on behind what was compared.
    fn open_at_end(&mut self) -> Result<()> {
        let path = &*self.path;
        (self.reader, self.torn) = (None, 0);
        let mut file = match self.store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            done => done?,
        };
        check_encoding(&file, path)?;
        file.seek(SeekFrom::Start(self.end)).map_err(|e| Error::io("read", path, e))?;
        self.reader = Some(BufReader::with_capacity(1 << 18, file));
        Ok(())
    }

    /// Takes the next message of the source. A record stands for one that was forgotten, so that the
    /// lines are those of the source.
    fn take(&mut self, line: &[u8], interrupt: Interrupt<'_>) -> Result<()> {
        let is_forgotten = self.is_forgotten(line, interrupt)?;
        if self.batch.is_empty() && self.next_is(line, is_forgotten)? {
            self.already_there += 1;
            self.durable = false;
            return Ok(());
        }
        if is_forgotten {
            self.batch.extend_from_slice(&forgotten_record(line));
            self.batch.push(b'\n');
            return Ok(());
        }
        let redacted = match self.options.keep_secrets {
            true => None,
            false => redact_line(line, &mut self.batch_redacted, interrupt)?,
        };
        self.batch.extend_from_slice(redacted.as_deref().unwrap_or(line));
        if self.batch.len() >= BATCH_BYTES { self.append() } else { Ok(()) }
    }

    /// Returns whether a message was forgotten, as it stands in the source or without its secrets.
    fn is_forgotten(&mut self, line: &[u8], interrupt: Interrupt<'_>) -> Result<bool> {
        if self.forgotten.is_empty() {
            return Ok(false);
        }
        let redacted = redact_line(line, &mut Redactions::new(), interrupt)?;
        let mut is_forgotten = false;
        for line in [Some(line), redacted.as_deref()].into_iter().flatten() {
            let ParsedLine::Message(message) = message::parse_lazy(line) else { continue };
            let key = MessageKey::of(line).map(|key| (key, self.ordinals.next(key)));
            let hash = key.map(|(key, ordinal)| key.stored_hash(&self.path, ordinal));
            is_forgotten |= hash.is_some_and(|hash| self.forgotten.messages.contains(&hash))
                || self.forgotten.hold_text(&message.text(false));
        }
        Ok(is_forgotten)
    }

    /// Adds what is left, and sees to it that what the file held before is on the disk as well.
    fn finish(&mut self) -> Result<()> {
        self.append()?;
        match self.reader.as_ref().filter(|_| !self.durable) {
            Some(reader) => {
                sync_data(reader.get_ref()).map_err(|e| Error::io("flush", &*self.path, e))
            }
            None => Ok(()),
        }
    }

    /// Adds the batch to the file, but for what others have added meanwhile.
    fn append(&mut self) -> Result<()> {
        while !self.batch.is_empty() {
            let end = self.end + self.torn;
            self.store.log_redactions(&self.path, end, &self.batch_redacted)?;
            match self.store.files().append_at(&self.path, &self.batch, end) {
                Ok(done) => {
                    self.end = done.span.map_or(end + self.batch.len() as u64, |span| span.end);
                    let lines = memchr::memchr_iter(b'\n', &self.batch).count() as u64;
                    self.number += lines + u64::from(self.torn > 0);
                    (self.torn, self.durable, self.reader) = (0, true, None);
                    self.path = done.path;
                    self.batch.clear();
                    for (kind, count) in std::mem::take(&mut self.batch_redacted) {
                        *self.redacted.entry(kind).or_default() += count;
                    }
                }
                Err(conflict @ Error::Conflict { .. }) => {
                    self.compare_batch()?;
                    if self.end + self.torn == end {
                        return Err(conflict);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes from the batch the lines that the file holds already.
    fn compare_batch(&mut self) -> Result<()> {
        self.open_at_end()?;
        let batch = std::mem::take(&mut self.batch);
        let mut left = &*batch;
        while let Some(end) = memchr::memchr(b'\n', left) {
            let (line, rest) = left.split_at(end + 1);
            if !self.next_is(line, false)? {
                break;
            }
            (self.already_there, self.durable, left) = (self.already_there + 1, false, rest);
        }
        if left.len() < batch.len() {
            self.batch_redacted.clear();
            count_placeholders(left, &mut self.batch_redacted);
        }
        self.batch = left.to_vec();
        Ok(())
    }

    /// Returns whether the next message of the file is `wanted`, or stands for it; false at its end.
    fn next_is(&mut self, wanted: &[u8], is_forgotten: bool) -> Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        loop {
            let longest = wanted.len() + MAX_EXTRA_BYTES;
            let size = read_line(reader, &mut self.line, longest)
                .map_err(|error| Error::io("read", &*self.path, error))?;
            let (stored, wanted) = (trim(&self.line), trim(wanted));
            let stands_for =
                is_forgotten_record(stored) && (is_forgotten || is_forgotten_record(wanted));
            let same = stored == wanted || stands_for || differs_only_by_redaction(stored, wanted);
            // a crash may have left the start of a line, which the next append ended
            let is_damaged = !same
                && matches!(message::parse_lazy(&self.line), ParsedLine::Bad | ParsedLine::Blank);
            if size == 0 || is_damaged && size <= longest as u64 && !self.line.ends_with(b"\n") {
                self.torn = size;
                return Ok(false);
            }
            (self.end, self.number) = (self.end + size, self.number + 1);
            if same {
                return Ok(true);
            }
            if !is_damaged {
                return Err(Error::Diverged {
                    path: self.path.clone(),
                    line: self.number,
                    source_path: self.source.to_owned(),
                });
            }
        }
    }
}
