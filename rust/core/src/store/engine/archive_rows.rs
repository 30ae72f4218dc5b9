//! Rows of the archive: each message of a transcript as the line of JSON that tantivy takes in.
//!
//! A row has the names of the message, and numbers by which its text is found in the file again. Its
//! context is not in it: what neighbours say is in their own rows, and all three are read back. A
//! transcript is read piece by piece, so that its rows take little memory however large it is.

use std::fmt::Write as _;
use std::fs::File;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::extract::{Corpus, IndexInput};
use crate::catalog::message_inputs::MessageInputs;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::platform::FileExt as _;
use crate::index::bm25f::{Field, Totals};
use crate::memory_limit::MemoryLimit;
use crate::messages::formats::SessionRecord;
use crate::messages::line_reader::LONGEST_LINE;
use crate::search::term_names::TermKind;
use crate::store::Store;
use crate::store::engine::archived_place::{ArchivedPlace, PlaceColumns};
use crate::store::engine::document::{EngineDocument, StemmedWord, each_name};
use crate::store::engine::extraction::{documents, messages_of_lines};
use crate::text::encoding::is_utf16;

/// How often the name of a stem is repeated at most: more of the same says little.
const MAX_REPEATS: u16 = 4;
/// The letters of a stem and of the word that is spelled like it, in the text and only beside it.
const STEM_AND_WORD: &str = "e";
const STEM_AND_WORD_BESIDE: &str = "d";
/// Bytes of a name and the blank behind it, about.
const NAME_BYTES: usize = 10;
/// Bytes of a file that are read at a time.
const PIECE: usize = 1 << 18;
/// Most bytes that its row and what it is made of take, for each byte of a line.
const ROW_BYTES: u64 = 32;

/// The rows of one file, made piece by piece.
#[derive(Debug)]
pub struct ArchiveRows {
    path: String,
    id: u64,
    source: Source,
    limit: MemoryLimit,
    /// What was read and is not parsed: the beginning of a line.
    rest: Vec<u8>,
    /// Where it begins in the file, and in which line.
    start: u64,
    line: u32,
    /// Whether its line is too long to be a message.
    is_too_long: bool,
    is_at_end: bool,
    messages: MessageInputs,
    session: SessionRecord,
    /// The last document, from which the position of the next one is counted.
    last: Option<EngineDocument>,
    totals: Totals,
    times: [Option<i64>; 2],
}

/// Where a file is read from.
#[derive(Debug)]
enum Source {
    File(File),
    Bytes(Vec<u8>),
}

impl Source {
    /// Appends at most so many bytes from an offset; returns how many there are.
    fn read(&self, path: &str, at: u64, most: usize, into: &mut Vec<u8>) -> Result<usize> {
        match self {
            Self::Bytes(bytes) => {
                let from = bytes.len().min(at as usize);
                let piece = &bytes[from..bytes.len().min(from.saturating_add(most))];
                into.extend_from_slice(piece);
                Ok(piece.len())
            }
            Self::File(file) => {
                let held = into.len();
                into.resize(held + most, 0);
                let read = file.read_at(&mut into[held..], at);
                into.truncate(held + *read.as_ref().unwrap_or(&0));
                read.map_err(|error| Error::io("read", path, error))
            }
        }
    }
}

impl Store {
    /// Returns the rows of a file, whose number in the archive is `id`.
    ///
    /// # Errors
    /// As for [`Root::open_own`](crate::files::root::Root::open_own).
    pub fn archive_rows(&self, path: &str, id: u64) -> Result<ArchiveRows> {
        let source = Source::File(self.root().open_own(path)?);
        Ok(ArchiveRows::new(path, id, source, self.limit.clone()))
    }
}

impl ArchiveRows {
    /// Returns the rows of a file of these bytes, whose number in the archive is `id`.
    #[must_use]
    pub fn of_bytes(path: &str, id: u64, bytes: Vec<u8>) -> Self {
        Self::new(path, id, Source::Bytes(bytes), MemoryLimit::default())
    }

    fn new(path: &str, id: u64, source: Source, limit: MemoryLimit) -> Self {
        Self {
            path: path.to_owned(),
            id,
            source,
            limit,
            rest: Vec::new(),
            start: 0,
            line: 1,
            is_too_long: false,
            is_at_end: false,
            messages: MessageInputs::new(Corpus::Main, None),
            session: SessionRecord::default(),
            last: None,
            totals: Totals::default(),
            times: [None; 2],
        }
    }

    /// Returns the next rows; none at the end.
    ///
    /// # Errors
    /// Those of reading; [`Error::Memory`] for a line that the memory limit does not allow;
    /// [`Error::Interrupted`]. After an error there is nothing to go on with.
    pub fn next_rows(&mut self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        while !self.is_at_end {
            let rows = match FileKind::of(&self.path) {
                FileKind::Note => self.note(interrupt)?,
                FileKind::Transcript => self.piece(interrupt)?,
                _ => break,
            };
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// Returns the statistics of the documents, when all were returned.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the session record of the transcript, when all rows were returned.
    #[must_use]
    pub fn summary(&self) -> String {
        self.session.to_text()
    }

    /// Returns the times of its first and its last message, in milliseconds since 1970.
    #[must_use]
    pub fn times(&self) -> [Option<i64>; 2] {
        self.times
    }

    fn note(&mut self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let mut at = 0;
        loop {
            self.limit.check_whole(&self.path, at)?;
            match self.source.read(&self.path, at, PIECE, &mut self.rest)? {
                0 => break,
                read => at += read as u64,
            }
        }
        self.is_at_end = true;
        let found = documents(&self.path, &self.rest, Corpus::Main, interrupt)?;
        found.iter().for_each(|document| self.count(document));
        Ok(found.iter().map(|document| row(document, document.stemmed(false), self.id)).collect())
    }

    /// Returns the rows of the next piece of a transcript.
    fn piece(&mut self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let held = self.rest.len();
        let at = self.start + held as u64;
        let read = self.source.read(&self.path, at, PIECE, &mut self.rest)?;
        self.is_at_end = read == 0 || (at == 0 && is_utf16(&self.rest));
        if self.is_at_end && read > 0 {
            return Ok(Vec::new());
        }
        let end = match read {
            0 => self.rest.len(),
            _ => memchr::memrchr(b'\n', &self.rest[held..]).map_or(0, |end| held + end + 1),
        };
        let mut known = self.last.take().into_iter().collect::<Vec<_>>();
        let first = known.len();
        let (mut start, mut number) = (self.start, self.line);
        // another thread has a lexicon of its own
        self.messages.forget_counts();
        let (messages, session) = (&mut self.messages, &mut self.session);
        let lines = self.rest[..end].split_inclusive(|&byte| byte == b'\n');
        let (is_last, limit, path, id) = (self.is_at_end, &self.limit, &self.path, self.id);
        let is_too_long = &mut self.is_too_long;
        let read = |take: &mut dyn FnMut(IndexInput<'_>) -> bool| {
            for line in lines {
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                let is_part = std::mem::take(is_too_long);
                if !is_part && line.len() <= LONGEST_LINE {
                    let what = || format!("line {number} of {path:?}");
                    check_line(limit, what, line.len())?;
                    messages.line(start, number, line, take);
                    session.take_line(number, line);
                }
                (start, number) = (start + line.len() as u64, number + 1);
            }
            if is_last {
                messages.finish(take);
            }
            Ok(())
        };
        let mut rows = Vec::new();
        let mut each = |document: &EngineDocument, words: Vec<StemmedWord<'_>>| {
            rows.push(row(document, words, id));
        };
        messages_of_lines(path, &mut known, read, &mut each)?;
        (self.start, self.line) = (start, number);
        self.rest.drain(..end);
        if self.rest.len() > LONGEST_LINE {
            (self.start, self.is_too_long) = (self.start + self.rest.len() as u64, true);
            self.rest.clear();
        }
        check_line(&self.limit, || format!("line {number} of {:?}", self.path), self.rest.len())?;
        known[first..].iter().for_each(|document| self.count(document));
        self.last = known.pop();
        Ok(rows)
    }

    fn count(&mut self, document: &EngineDocument) {
        self.totals.add(&document.lengths);
        self.times = [self.times[0].or(document.time), document.time.or(self.times[1])];
    }
}

/// Makes sure that a line of so many bytes may be made a row.
fn check_line(limit: &MemoryLimit, what: impl FnOnce() -> String, length: usize) -> Result<()> {
    // most lines are small, and what is always there suffices for them
    if length < PIECE {
        return Ok(());
    }
    limit.check(&what(), ROW_BYTES * length as u64)
}

fn row(document: &EngineDocument, words: Vec<StemmedWord<'_>>, id: u64) -> String {
    let PlaceColumns { upper, other_lines, run, lower, file, hash } =
        PlaceColumns::new(id, &ArchivedPlace::from(document));
    // no text has what JSON cannot hold
    let names = serde_json::to_string(&names(document, words)).unwrap_or_default();
    let mut row = format!(r#"{{"t":{names},"f":{id},"o":{upper},"l":{other_lines}"#);
    let _ = write!(row, r#","r":{run},"w":{lower},"x":{file},"h":{hash}"#);
    if let Some(time) = document.time {
        let _ = write!(row, r#","d":{time}"#);
    }
    row.push('}');
    row
}

/// Returns the names of a document, separated by blanks. A stem and the word that is spelled like it
/// are one name, for most words are their own stems: so there are half as many. `n_t` stays exact,
/// since a document has either this name or one of the two (see [`row_names`]).
fn names(document: &EngineDocument, words: Vec<StemmedWord<'_>>) -> String {
    let mut row = String::with_capacity(NAME_BYTES * (words.len() + 4));
    let mut stem = WaitingStem::default();
    each_name(words, &mut |kind, name, counts| match kind {
        TermKind::Stem | TermKind::StemBeside => {
            stem.end(&mut row);
            let in_text: u16 = counts[..Field::Speaker as usize].iter().sum();
            stem.begin(kind, name, in_text.clamp(1, MAX_REPEATS));
        }
        TermKind::Word | TermKind::WordBeside if stem.takes(kind, name) => {}
        _ => push(&mut row, name),
    });
    stem.end(&mut row);
    push(&mut row, &label('R', &document.role));
    push(&mut row, &label('S', &document.session));
    row
}

fn push(row: &mut String, name: &str) {
    row.push_str(name);
    row.push(' ');
}

/// The name of a stem that becomes another one where a word is spelled like it: the words of a stem
/// follow it, and those without a stem come before all stems.
#[derive(Debug, Default)]
struct WaitingStem {
    kind: Option<TermKind>,
    name: String,
    repeats: u16,
}

impl WaitingStem {
    fn begin(&mut self, kind: TermKind, name: &str, repeats: u16) {
        (self.kind, self.repeats) = (Some(kind), repeats);
        self.name.clear();
        self.name.push_str(name);
    }

    /// Takes the name of a word that is spelled like the stem; says whether it is such a word.
    fn takes(&mut self, kind: TermKind, name: &str) -> bool {
        let both = match (self.kind, kind) {
            (Some(TermKind::Stem), TermKind::Word) => STEM_AND_WORD,
            (Some(TermKind::StemBeside), TermKind::WordBeside) => STEM_AND_WORD_BESIDE,
            _ => return false,
        };
        let is_alike = self.name[1..] == name[1..];
        if is_alike {
            self.name.replace_range(..1, both);
        }
        is_alike
    }

    fn end(&mut self, row: &mut String) {
        if self.kind.take().is_some() {
            (0..self.repeats).for_each(|_| push(row, &self.name));
        }
    }
}

/// Returns the names of rows that stand for a name: a document has one of them.
#[must_use]
pub fn row_names(name: &str) -> Vec<String> {
    let both = match name.as_bytes().first() {
        Some(b'c' | b'w') => STEM_AND_WORD,
        Some(b'b' | b'v') => STEM_AND_WORD_BESIDE,
        _ => return vec![name.to_owned()],
    };
    vec![name.to_owned(), format!("{both}{}", &name[1..])]
}

/// Returns the name of a role or a session: a hash, for they may have blanks in them.
#[must_use]
pub fn label(letter: char, text: &str) -> String {
    format!("{letter}{:08x}", xxh3_64(text.as_bytes()) as u32)
}
