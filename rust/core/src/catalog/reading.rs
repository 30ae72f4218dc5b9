//! One file read into rows and documents, before they have a place in the index.

use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::{FxBuildHasher, FxHashMap};
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::draft::{self, Cut, Draft, Kind, Messages, Part};
use crate::catalog::footprint::{STEP, parsing_bytes, shortage};
use crate::catalog::{NO_TIME, Row, Seen};
use crate::error::{Error, Interrupt, Result};
use crate::files::root::{Root, Stat};
use crate::index::lexicon::{Document, Lexicon};
use crate::index::terms::Terms;
use crate::memory_limit::MemoryLimit;
use crate::messages::lines::{LONGEST_LINE, is_in_utf16, lines};
use crate::messages::message::{self, Line, Message};
use crate::text::chunks;
use crate::text::sections::{as_text, is_utf16};

/// Notes larger than this are listed and can be searched with grep, but are not indexed.
pub const LARGEST_NOTE: u64 = 256 << 20;
/// Bytes by which a transcript that grew is told from one that was rewritten.
const TAIL: u64 = 1 << 20;

/// What was read of one file, besides its documents.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub seen: Seen,
    pub summary: String,
    /// Why nothing of it was read, when that is so.
    pub left_out: Option<&'static str>,
    /// Bytes that were missing to read more of it.
    pub needs: u64,
    /// Where the first document is for which there was no memory: its first byte, and the lines
    /// before it. Of a transcript nothing is read from there on.
    pub cut: Option<(u64, u32)>,
    /// Whether the caller asked to stop, and something was not read for that.
    stopped: bool,
}

/// What takes the documents of a file as they are read: all at once they would be larger than
/// the index.
pub(crate) trait Sink {
    /// Takes the next new or changed document; before them, and behind them, others may stay as
    /// they are.
    fn take(&mut self, row: Row, content: Content);

    /// Says whether the memory limit allows what was taken and so many bytes more, besides the
    /// dictionaries that the documents were read with.
    fn allows(&self, dictionaries: usize, more: u64) -> bool;
}

/// Why a file is left out of the index, as [`FileRow::left_out`](super::FileRow::left_out).
pub(crate) const LARGE: &str = "large";
pub(crate) const NO_MEMORY: &str = "memory";
/// Why a file in UTF-16 is not indexed: as bytes it would be noise, and it is never rewritten.
pub(crate) const ENCODING: &str = "encoding";

/// The content of a document that was read.
#[derive(Debug)]
pub(crate) enum Content {
    /// The index holds it under this number, and its trail in the row of that number.
    Known(u32),
    /// The index is to take it in.
    New(Document),
}

/// Turns the drafts of a file into rows and documents, with the dictionaries of one thread.
pub(crate) struct Reader<'a> {
    pub root: &'a Root,
    pub lexicon: &'a mut Lexicon,
    pub labels: &'a mut Terms,
    pub part: Part,
    pub interrupt: Interrupt<'a>,
    /// Documents of this file that the index holds.
    pub known: Known,
    pub limit: &'a MemoryLimit,
    pub sink: &'a mut dyn Sink,
}

/// Documents of a file that the index holds, by the hash of all that was indexed of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The place in `rest` of the first document with a key that is not taken.
    first: FxHashMap<u64, usize>,
    /// The documents, and for each the place of the next one with the same key.
    rest: Vec<(Option<u32>, Option<usize>)>,
}

impl Known {
    /// Gathers documents with their keys, given from the last to the first.
    pub fn from_last(documents: impl ExactSizeIterator<Item = (u64, u32)>) -> Self {
        let count = documents.len();
        let mut first = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
        let rest = documents
            .enumerate()
            .map(|(place, (key, number))| (Some(number), first.insert(key, place)))
            .collect();
        Self { first, rest }
    }

    /// Takes the first document with a key.
    fn take(&mut self, key: u64) -> Option<u32> {
        let Entry::Occupied(mut first) = self.first.entry(key) else { return None };
        let (number, next) = &mut self.rest[*first.get()];
        match *next {
            Some(next) => *first.get_mut() = next,
            None => {
                first.remove();
            }
        }
        number.take()
    }

    /// Returns those that nobody took.
    pub fn left(self) -> impl Iterator<Item = u32> {
        self.rest.into_iter().filter_map(|(number, _)| number)
    }
}

/// Where the reading of a transcript that has grown goes on.
pub(crate) struct Resume {
    file: File,
    seen: Seen,
    /// The last message but one: the last one's context.
    before: Option<Message>,
    /// The last message, whose context the new lines may complete.
    last: Option<(Row, Vec<u8>)>,
}

impl Resume {
    /// Checks that a transcript is as it was up to `seen`; `last` are its last two messages.
    pub fn new(
        root: &Root,
        path: &str,
        seen: Seen,
        last: [Option<Row>; 2],
    ) -> Result<Option<Self>> {
        if seen.offset == 0 {
            return Ok(None);
        }
        let file = root.open_read(path)?;
        if tail(&file, path, seen.offset)? != seen.tail {
            return Ok(None);
        }
        let [before, last] = last.map(|row| row.map(|row| (row, line_at(&file, &row))));
        let before = match before {
            None => None,
            Some((_, Some(bytes))) => match message::parse(&bytes) {
                Line::Message(message) => Some(message),
                _ => return Ok(None),
            },
            Some((_, None)) => return Ok(None),
        };
        let last = match last {
            None => None,
            Some((row, Some(bytes))) => Some((row, bytes)),
            Some((_, None)) => return Ok(None),
        };
        Ok(Some(Self { file, seen, before, last }))
    }
}

/// Reads the line of a message back, if it is still what was indexed.
pub(crate) fn line_at(file: &File, row: &Row) -> Option<Vec<u8>> {
    // no more is asked for than there is
    let size = file.metadata().ok()?.len();
    if row.start.checked_add(row.length.into())? > size {
        return None;
    }
    let mut bytes = vec![0; row.length as usize];
    file.read_exact_at(&mut bytes, row.start).ok()?;
    (xxh3_64(&bytes) == row.hash).then_some(bytes)
}

impl Reader<'_> {
    /// Reads a file from its beginning.
    pub fn whole(&mut self, path: &str, stat: &Stat) -> Result<Reading> {
        let mut reading = Reading::default();
        match Kind::of(path) {
            Kind::Note if self.part == Part::Said => {
                let allows = |more| self.allows(more);
                match read_note(self.root, path, stat, self.limit, &allows)? {
                    Ok(bytes) => self.note(path, &as_text(&bytes), &mut reading)?,
                    Err(left_out) => left_out.note(&mut reading),
                }
            }
            Kind::Transcript => {
                let file = self.root.open_read(path)?;
                if is_in_utf16(&file, path)? {
                    reading.left_out = Some(ENCODING);
                } else {
                    let messages = Messages::new(self.part, None);
                    self.transcript(&file, path, stat.size, messages, &mut reading)?;
                }
            }
            _ => {}
        }
        Ok(reading)
    }

    /// Reads what a transcript has grown by.
    pub fn rest(&mut self, path: &str, stat: &Stat, resume: Resume) -> Result<Reading> {
        let Resume { file, seen, before, last } = resume;
        let mut reading = Reading { seen, ..Reading::default() };
        let mut messages = Messages::new(self.part, before);
        // a last line without its end is behind `seen` and comes again by itself
        if let Some((row, bytes)) = last.filter(|(row, _)| row.start < seen.offset) {
            messages.line(row.start, row.line, &bytes, &mut |d| self.draft(&d, &mut reading));
        }
        self.transcript(&file, path, stat.size, messages, &mut reading)?;
        Ok(reading)
    }

    /// Reads all of a note.
    pub fn note(&mut self, path: &str, text: &str, reading: &mut Reading) -> Result<()> {
        let interrupt = self.interrupt;
        let told = draft::note(path, text, interrupt, &mut |draft| self.draft(&draft, reading))?;
        reading.summary = told.unwrap_or_default();
        reading.whole()
    }

    /// Reads what has changed in a note.
    pub fn edited(
        &mut self,
        path: &str,
        text: &str,
        cut: &Cut<'_>,
        reading: &mut Reading,
    ) -> Result<()> {
        draft::each_of(path, text, cut, &mut |draft| self.draft(&draft, reading));
        reading.whole()
    }

    /// Says whether the memory limit allows so many bytes more.
    fn allows(&self, more: u64) -> bool {
        self.sink.allows(self.lexicon.bytes() + self.labels.bytes(), more)
    }

    /// Reads messages from where `reading.seen` says on.
    fn transcript(
        &mut self,
        file: &File,
        path: &str,
        size: u64,
        mut messages: Messages,
        reading: &mut Reading,
    ) -> Result<()> {
        let mut seen = reading.seen;
        if !self.allows(0) {
            // what the index held before stays
            messages.finish(&mut |draft| self.draft(&draft, reading));
            reading.cut.get_or_insert((seen.offset, seen.lines));
        }
        let (full, interrupt) = (AtomicBool::new(reading.cut.is_some()), self.interrupt);
        let stop = || full.load(Ordering::Relaxed) || interrupt();
        let longest = self.limit.longest_line(LONGEST_LINE);
        let done =
            lines(file, path, seen.offset..size, longest, &stop, &mut |start, bytes, whole| {
                if reading.cut.is_some() {
                    return full.store(true, Ordering::Relaxed);
                }
                let sound = whole
                    && messages
                        .line(start, seen.lines + 1, bytes, &mut |d| self.draft(&d, reading));
                if bytes.ends_with(b"\n") {
                    seen.lines += 1;
                    seen.offset = start + bytes.len() as u64;
                    seen.bad_lines += u32::from(!sound);
                    seen.long_lines += u32::from(!whole);
                }
            });
        match done {
            Err(Error::Interrupted) if full.into_inner() => {}
            done => done?,
        }
        match reading.cut {
            None => messages.finish(&mut |draft| self.draft(&draft, reading)),
            Some((offset, lines)) => (seen.offset, seen.lines) = (offset, lines),
        }
        reading.whole()?;
        seen.tail = tail(file, path, seen.offset)?;
        reading.seen = seen;
        Ok(())
    }

    /// Takes in a document, unless there is no memory for it: then it ends what is read of a
    /// transcript, and a note goes on with what the index holds already. Returns whether there is
    /// any use in going on.
    fn draft(&mut self, draft: &Draft<'_>, reading: &mut Reading) -> bool {
        let (start, length) = (draft.start, u64::from(draft.length));
        let asks = start == 0 || start / STEP as u64 != (start + length) / STEP as u64;
        reading.stopped |= asks && (self.interrupt)();
        if reading.stopped {
            return false;
        }
        let content = match self.known.take(draft.key) {
            Some(number) => Content::Known(number),
            None => {
                if reading.cut.is_none() && asks {
                    let texts = draft.fields.iter().map(|&(_, text)| text);
                    let allows = |more| self.allows(more);
                    if let Some(needs) = shortage(texts, allows, self.interrupt) {
                        reading.cut = Some((start, draft.line - 1));
                        reading.needs = needs;
                    }
                }
                if reading.cut.is_some() {
                    return true;
                }
                let Some(document) = self.document(draft) else {
                    reading.stopped = true;
                    return false;
                };
                Content::New(document)
            }
        };
        // the index has the heading of what it holds: to look up all those of a long note takes as
        // long as to hash it
        let trail = match content {
            Content::Known(_) => 0,
            Content::New(_) => self.labels.intern(&draft.trail),
        };
        let row = Row {
            start: draft.start,
            hash: draft.hash,
            key: draft.key,
            time: draft.time.unwrap_or(NO_TIME),
            file: 0,
            length: draft.length,
            line: draft.line,
            trail,
            role: self.labels.intern(&draft.role),
            session: self.labels.intern(&draft.session),
            category: self.labels.intern(&draft.category),
            outline: draft.outline,
        };
        self.sink.take(row, content);
        true
    }

    /// Reads the words of a document, unless the caller asks to stop.
    fn document(&mut self, draft: &Draft<'_>) -> Option<Document> {
        for &(field, text) in &draft.fields {
            for piece in chunks::pieces(text, STEP) {
                if piece.len() < text.len() && (self.interrupt)() {
                    self.lexicon.abandon();
                    return None;
                }
                self.lexicon.add(field, piece);
            }
        }
        Some(self.lexicon.finish())
    }
}

impl Reading {
    /// Makes sure that nobody asked to stop.
    fn whole(&self) -> Result<()> {
        if self.stopped { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Why a note is left out of the index, and the bytes that were missing, if it is for want of them.
pub(crate) struct LeftOut {
    why: &'static str,
    needs: u64,
}

impl LeftOut {
    fn of(why: &'static str) -> Self {
        Self { why, needs: 0 }
    }

    fn for_want_of(needs: u64) -> Self {
        Self { why: NO_MEMORY, needs }
    }

    /// Notes that of this file nothing was read.
    pub fn note(self, reading: &mut Reading) {
        (reading.left_out, reading.needs) = (Some(self.why), self.needs);
    }
}

/// Reads the text of a note, or says why it is left out; `allows` says whether the limit allows so
/// many bytes more.
pub(crate) fn read_note(
    root: &Root,
    path: &str,
    stat: &Stat,
    limit: &MemoryLimit,
    allows: &dyn Fn(u64) -> bool,
) -> Result<std::result::Result<Vec<u8>, LeftOut>> {
    if stat.size > LARGEST_NOTE {
        return Ok(Err(LeftOut::of(LARGE)));
    }
    let bytes = match root.read(path) {
        Err(Error::Memory { needed, .. }) => return Ok(Err(LeftOut::for_want_of(needed))),
        read => read?,
    };
    let parsing = parsing_bytes(&bytes);
    if limit.is_set() && !allows(parsing) {
        return Ok(Err(LeftOut::for_want_of(parsing)));
    }
    Ok(if is_utf16(&bytes) { Err(LeftOut::of(ENCODING)) } else { Ok(bytes) })
}

/// Hashes the bytes just before an offset.
fn tail(file: &File, path: &str, offset: u64) -> Result<u64> {
    let mut bytes = vec![0; TAIL.min(offset) as usize];
    let start = offset - bytes.len() as u64;
    match file.read_exact_at(&mut bytes, start) {
        Ok(()) => Ok(xxh3_64(&bytes)),
        // it has become shorter: then it is another text
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(Error::io("read", path, error)),
    }
}
