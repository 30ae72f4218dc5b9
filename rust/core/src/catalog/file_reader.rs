//! Reader of one file: turns it into document metadata and documents for the index.
//!
//! (Longer than 350 lines: notes and transcripts share the sink, the labels and the memory limit.)

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::catalog::archive_list::ArchivedFiles;
use crate::catalog::archived::ARCHIVED;
use crate::catalog::extract::{self, Corpus, FieldText, IndexInput, SectionRange};
use crate::catalog::indexed_docs::IndexedDocs;
use crate::catalog::memory_estimate::{CHECK_BYTES, missing_memory, parsing_bytes};
use crate::catalog::message_inputs::MessageInputs;
use crate::catalog::transcript_resume::{TranscriptResume, message_before, tail};
use crate::catalog::{DocMeta, NO_TIME, ReadProgress};
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::root::{Root, Stat};
use crate::index::dictionary::document_analysis::AnalyzedDocument;
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::lexicon::Lexicon;
use crate::memory_limit::MemoryLimit;
use crate::messages::formats::SessionRecord;
use crate::messages::line_reader::{LONGEST_LINE, is_in_utf16, lines};
use crate::messages::message::ParsedLine;
use crate::text::encoding::{as_text, is_utf16};
use crate::text::segmentation;

/// Notes larger than this are listed and can be searched with grep, but are not indexed.
pub const MAX_NOTE_BYTES: u64 = 256 << 20;

/// The result of reading one file, besides its documents.
#[derive(Debug, Default)]
pub(crate) struct ReadResult {
    pub progress: ReadProgress,
    /// What a note says of itself in one line, or the session record of a transcript.
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
    /// Whether this is what follows the first lines, which alone may describe the session.
    is_later_part: bool,
}

/// Consumer of the documents of a file as they are read: collected they would be larger than the
/// index.
pub(crate) trait DocSink {
    /// Takes the next new or changed document; before them, and behind them, others may stay as
    /// they are.
    fn take(&mut self, doc: DocMeta, content: DocContent);

    /// Returns whether the memory limit allows what was taken and so many bytes more, besides the
    /// dictionaries that the documents were read with.
    fn allows(&self, dictionaries: usize, more: u64) -> bool;
}

/// Why a file is left out of the index, as [`FileMeta::left_out`](super::FileMeta::left_out).
pub(crate) const LARGE: &str = "large";
pub(crate) const NO_MEMORY: &str = "memory";
/// Why a file in UTF-16 is not indexed: as bytes it would be noise, and it is never rewritten.
pub(crate) const ENCODING: &str = "encoding";

/// The content of a document that was read.
#[derive(Debug)]
pub(crate) enum DocContent {
    /// The index holds it under this number, and its trail in the document table.
    Indexed(u32),
    /// The index is to take it in.
    New(AnalyzedDocument),
}

/// Turns the index inputs of a file into documents, with the dictionaries of one thread.
pub(crate) struct FileReader<'a> {
    pub root: &'a Root,
    pub lexicon: &'a mut Lexicon,
    pub labels: &'a mut Interner,
    pub corpus: Corpus,
    pub interrupt: Interrupt<'a>,
    /// Documents of this file that the index holds.
    pub indexed: IndexedDocs,
    pub limit: &'a MemoryLimit,
    pub archived: &'a ArchivedFiles,
    pub sink: &'a mut dyn DocSink,
}

impl FileReader<'_> {
    /// Reads a file from its beginning.
    pub fn whole(&mut self, path: &str, stat: &Stat) -> Result<ReadResult> {
        let mut reading = ReadResult::default();
        match FileKind::of(path) {
            FileKind::Note if self.corpus == Corpus::Main => {
                let allows = |more| self.allows(more);
                match read_note(self.root, path, stat, self.limit, &allows)? {
                    Ok(bytes) => self.note(path, &as_text(&bytes), &mut reading)?,
                    Err(left_out) => left_out.note(&mut reading),
                }
            }
            FileKind::Transcript => {
                if let Some(file) = self.archived.get(path, stat) {
                    reading.left_out = Some(ARCHIVED);
                    reading.summary.clone_from(&file.summary);
                    return Ok(reading);
                }
                let file = self.root.open_read(path)?;
                if is_in_utf16(&file, path)? {
                    reading.left_out = Some(ENCODING);
                } else {
                    let messages = MessageInputs::new(self.corpus, None);
                    let span = 0..stat.size;
                    self.transcript(&file, path, span, stat.size, messages, &mut reading)?;
                }
            }
            _ => {}
        }
        Ok(reading)
    }

    /// Reads a part of a transcript, which begins and ends with lines.
    pub fn part(&mut self, path: &str, stat: &Stat, span: Range<u64>) -> Result<ReadResult> {
        let file = self.root.open_read(path)?;
        let mut reading = ReadResult { is_later_part: span.start > 0, ..ReadResult::default() };
        reading.progress.offset = span.start;
        let longest = self.limit.longest_line(LONGEST_LINE);
        let read_as = (self.corpus, longest);
        let before = message_before((&file, path), span.start, read_as, self.interrupt)?;
        let messages = MessageInputs::new(self.corpus, before);
        self.transcript(&file, path, span, stat.size, messages, &mut reading)?;
        Ok(reading)
    }

    /// Reads what a transcript has grown by.
    pub fn rest(
        &mut self,
        path: &str,
        stat: &Stat,
        resume: TranscriptResume,
    ) -> Result<ReadResult> {
        let TranscriptResume { file, progress, before, last, summary } = resume;
        let mut reading = ReadResult { progress, summary, ..ReadResult::default() };
        let mut messages = MessageInputs::new(self.corpus, before);
        // a last line without its end is behind `seen` and comes again by itself
        if let Some((doc, bytes)) = last.filter(|(doc, _)| doc.start < progress.offset) {
            messages.line(doc.start, doc.line, &bytes, &mut |d| self.emit(&d, &mut reading));
        }
        let span = progress.offset..stat.size;
        self.transcript(&file, path, span, stat.size, messages, &mut reading)?;
        Ok(reading)
    }

    /// Reads all of a note.
    pub fn note(&mut self, path: &str, text: &str, reading: &mut ReadResult) -> Result<()> {
        let interrupt = self.interrupt;
        reading.progress.note_conflicts(text);
        let summary =
            extract::note(path, text, interrupt, &mut |input| self.emit(&input, reading))?;
        reading.summary = summary.unwrap_or_default();
        reading.check_complete()
    }

    /// Reads what has changed in a note.
    pub fn changed_sections(
        &mut self,
        path: &str,
        text: &str,
        range: &SectionRange<'_>,
        reading: &mut ReadResult,
    ) -> Result<()> {
        reading.progress.note_conflicts(text);
        extract::section_inputs(path, text, range, &mut |input| self.emit(&input, reading));
        reading.check_complete()
    }

    /// Returns whether the memory limit allows so many bytes more.
    fn allows(&self, more: u64) -> bool {
        self.sink.allows(self.lexicon.bytes() + self.labels.bytes(), more)
    }

    /// Reads the messages of some lines; what follows them in the file, which has so many bytes,
    /// is context.
    fn transcript(
        &mut self,
        file: &File,
        path: &str,
        span: Range<u64>,
        size: u64,
        mut messages: MessageInputs,
        reading: &mut ReadResult,
    ) -> Result<()> {
        let (mut progress, is_later) = (reading.progress, reading.is_later_part);
        let mut session = SessionRecord::parse(&reading.summary);
        // the counts before the last message with text, which may turn out to be cut off
        let mut before_last = progress;
        if !self.allows(0) {
            // what the index held before stays
            messages.finish(&mut |input| self.emit(&input, reading));
            reading.cut.get_or_insert((progress.offset, progress.lines));
        }
        let (full, interrupt) = (AtomicBool::new(reading.cut.is_some()), self.interrupt);
        let stop = || full.load(Ordering::Relaxed) || interrupt();
        let longest = self.limit.longest_line(LONGEST_LINE);
        let done = lines(file, path, span.clone(), longest, &stop, &mut |start, bytes, whole| {
            if reading.cut.is_some() {
                return full.store(true, Ordering::Relaxed);
            }
            let number = progress.lines + 1;
            let kind = match whole {
                true => messages.line(start, number, bytes, &mut |d| self.emit(&d, reading)),
                false => ParsedLine::Bad,
            };
            if kind == ParsedLine::Message(true) && reading.cut.is_none() {
                before_last = progress;
            }
            if bytes.ends_with(b"\n") {
                progress.take_line(start, bytes, &kind, whole);
                if whole && self.corpus == Corpus::Main {
                    session.take_line(if is_later { u32::MAX } else { number }, bytes);
                }
            }
        });
        match done {
            Err(Error::Interrupted) if full.into_inner() => {}
            done => done?,
        }
        if reading.cut.is_none() && span.end < size {
            self.read_context(file, path, span.end..size, &mut messages, reading)?;
        }
        match reading.cut {
            None => messages.finish(&mut |input| self.emit(&input, reading)),
            Some((offset, lines)) => progress = ReadProgress { offset, lines, ..before_last },
        }
        reading.check_complete()?;
        progress.tail = tail(file, path, progress.offset)?;
        reading.progress = progress;
        reading.summary = session.to_text();
        Ok(())
    }

    /// Reads on until the first message with text, which is context of the last one: it belongs to
    /// the next part.
    fn read_context(
        &mut self,
        file: &File,
        path: &str,
        span: Range<u64>,
        messages: &mut MessageInputs,
        reading: &mut ReadResult,
    ) -> Result<()> {
        let (found, interrupt) = (AtomicBool::new(false), self.interrupt);
        let stop = || found.load(Ordering::Relaxed) || interrupt();
        let longest = self.limit.longest_line(LONGEST_LINE);
        let done = lines(file, path, span, longest, &stop, &mut |start, bytes, whole| {
            if whole && !found.load(Ordering::Relaxed) {
                let kind = messages.line(start, 0, bytes, &mut |d| self.emit(&d, reading));
                found.store(kind == ParsedLine::Message(true), Ordering::Relaxed);
            }
        });
        match done {
            Err(Error::Interrupted) if found.load(Ordering::Relaxed) => {}
            done => done?,
        }
        if found.into_inner() {
            messages.forget_last();
        }
        Ok(())
    }

    /// Passes a document to the sink, unless there is no memory for it: then a transcript ends
    /// there, and a note continues with the documents that the index holds already. Returns whether
    /// there is any use in going on.
    fn emit(&mut self, input: &IndexInput<'_>, reading: &mut ReadResult) -> bool {
        let (start, length) = (input.start, u64::from(input.length));
        let asks =
            start == 0 || start / CHECK_BYTES as u64 != (start + length) / CHECK_BYTES as u64;
        reading.stopped |= asks && (self.interrupt)();
        if reading.stopped {
            return false;
        }
        let content = match self.indexed.take(input.key) {
            Some(number) => DocContent::Indexed(number),
            None => {
                if reading.cut.is_none() && asks {
                    let texts = input.fields.iter().map(|field| field.text);
                    let allows = |more| self.allows(more);
                    if let Some(needs) = missing_memory(texts, allows, self.interrupt) {
                        reading.cut = Some((start, input.line - 1));
                        reading.needs = needs;
                    }
                }
                if reading.cut.is_some() {
                    return true;
                }
                let Some(document) = self.analyze(input) else {
                    reading.stopped = true;
                    return false;
                };
                DocContent::New(document)
            }
        };
        // the index has the heading of what it holds: to look up all those of a long note takes as
        // long as to hash it
        let trail = match content {
            DocContent::Indexed(_) => 0,
            DocContent::New(_) => self.labels.intern(&input.trail),
        };
        let doc = DocMeta {
            start: input.start,
            hash: input.hash,
            key: input.key,
            time: input.time.unwrap_or(NO_TIME),
            file: 0,
            length: input.length,
            line: input.line,
            trail,
            role: self.labels.intern(&input.role),
            session: self.labels.intern(&input.session),
            category: self.labels.intern(&input.category),
            section_meta: input.section_meta,
        };
        self.sink.take(doc, content);
        true
    }

    /// Analyzes the words of a document, unless the caller asks to stop.
    fn analyze(&mut self, input: &IndexInput<'_>) -> Option<AnalyzedDocument> {
        self.add_fields(input)?;
        if self.lexicon.rereads() {
            self.add_fields(input)?;
        }
        Some(self.lexicon.finish())
    }

    /// Gives the fields of a document to the lexicon.
    fn add_fields(&mut self, input: &IndexInput<'_>) -> Option<()> {
        for &FieldText { field, text, counted } in &input.fields {
            if let Some(counted) = counted.filter(|_| text.len() <= CHECK_BYTES) {
                self.lexicon.add_shared(field, text, &mut counted.borrow_mut());
                continue;
            }
            for piece in segmentation::pieces(text, CHECK_BYTES) {
                if piece.len() < text.len() && (self.interrupt)() {
                    self.lexicon.abandon();
                    return None;
                }
                self.lexicon.add(field, piece);
            }
        }
        Some(())
    }
}

impl ReadResult {
    /// Makes sure that nobody asked to stop.
    fn check_complete(&self) -> Result<()> {
        if self.stopped { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Why a note is left out of the index, and the bytes it needs if the memory limit is why.
pub(crate) struct LeftOut {
    why: &'static str,
    needs: u64,
}

impl LeftOut {
    fn of(why: &'static str) -> Self {
        Self { why, needs: 0 }
    }

    pub fn for_memory(needs: u64) -> Self {
        Self { why: NO_MEMORY, needs }
    }

    /// Notes that of this file nothing was read.
    pub fn note(self, reading: &mut ReadResult) {
        (reading.left_out, reading.needs) = (Some(self.why), self.needs);
    }
}

/// Reads the text of a note, or says why it is left out; `allows` returns whether the limit allows
/// so many bytes more.
pub(crate) fn read_note(
    root: &Root,
    path: &str,
    stat: &Stat,
    limit: &MemoryLimit,
    allows: &dyn Fn(u64) -> bool,
) -> Result<std::result::Result<Vec<u8>, LeftOut>> {
    if stat.size > MAX_NOTE_BYTES {
        return Ok(Err(LeftOut::of(LARGE)));
    }
    let bytes = match root.read(path) {
        Err(Error::Memory { needed, .. }) => return Ok(Err(LeftOut::for_memory(needed))),
        read => read?,
    };
    let parsing = parsing_bytes(&bytes);
    if limit.is_set() && !allows(parsing) {
        return Ok(Err(LeftOut::for_memory(parsing)));
    }
    Ok(if is_utf16(&bytes) { Err(LeftOut::of(ENCODING)) } else { Ok(bytes) })
}
