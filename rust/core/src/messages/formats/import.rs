//! Import of a source: finds the format of its lines, its array's elements or its whole document.
//!
//! Each message becomes one line as [`MessageLine`] has it. Nothing is dropped unseen: the outcome
//! counts what was skipped and why, and names the bad lines.

use std::io::BufRead;

use super::{
    EXPORT_FORMATS, ImportSink, ImportState, Imported, LINE_FORMATS, Record, SessionHeader,
    SessionSink, TranscriptFormat,
};
use crate::error::{Error, Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::messages::fields::{Fields, trim};
use crate::messages::json::PullParser;
use crate::messages::line_reader::LONGEST_LINE;

/// A longer line is skipped and reported, as no index would hold it.
pub const MAX_LINE: usize = LONGEST_LINE;
/// A longer array is refused.
const MAX_ARRAY: u64 = 256 << 20;
/// Bytes that are taken at most to read a byte of an array.
const READ_ARRAY: u64 = 12;

/// Reads a transcript and gives `sink` one line, with its line end, for each message.
///
/// Memory stays within some times [`MAX_LINE`] or what `limit` allows of it, or the whole of an
/// array. `progress` gets the bytes read so far. A sink's error ends the import and is returned.
///
/// # Errors
/// [`Error::Format`], [`Error::Memory`] for an array; [`Error::Io`]; [`Error::Interrupted`].
pub fn import(
    reader: impl BufRead,
    path: &str,
    limit: &MemoryLimit,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    progress: &mut dyn FnMut(u64),
    interrupt: Interrupt<'_>,
) -> Result<Imported> {
    import_with(&[], reader, path, limit, sink, progress, interrupt)
}

/// Reads a transcript as [`import`] does; `formats` of the caller come before those that are known.
///
/// # Errors
/// As [`import`].
pub fn import_with(
    formats: &[&dyn TranscriptFormat],
    reader: impl BufRead,
    path: &str,
    limit: &MemoryLimit,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    progress: &mut dyn FnMut(u64),
    interrupt: Interrupt<'_>,
) -> Result<Imported> {
    let state = &mut ImportState::default();
    let source = ImportSource { formats, reader, path, limit, state };
    let mut imported = import_sessions(source, &mut LineSink(sink), progress, interrupt)?;
    if state.is_cut_off {
        imported.bad_line(state.lines + 1);
    }
    Ok(imported)
}

/// A source, and where the import of it goes on.
#[derive(Debug)]
pub struct ImportSource<'a, R> {
    /// Formats of the caller, which come before those that are known.
    pub formats: &'a [&'a dyn TranscriptFormat],
    /// What is left of the source.
    pub reader: R,
    /// Its name in errors.
    pub path: &'a str,
    /// How much of it may be held.
    pub limit: &'a MemoryLimit,
    /// What was read before; after the import, what was read then.
    pub state: &'a mut ImportState,
}

/// Takes the lines of all sessions alike.
struct LineSink<'s>(&'s mut dyn FnMut(&[u8]) -> Result<()>);

impl SessionSink for LineSink<'_> {
    fn begin(&mut self, _session: &SessionHeader) -> Result<()> {
        Ok(())
    }

    fn message(&mut self, line: &[u8]) -> Result<()> {
        (self.0)(line)
    }

    fn end(&mut self, _session: &SessionHeader) -> Result<()> {
        Ok(())
    }
}

/// Reads a transcript as [`import_with`] does, from where its state says, session by session.
///
/// # Errors
/// As [`import`].
pub fn import_sessions(
    source: ImportSource<'_, impl BufRead>,
    sink: &mut dyn SessionSink,
    progress: &mut dyn FnMut(u64),
    interrupt: Interrupt<'_>,
) -> Result<Imported> {
    let ImportSource { formats, mut reader, path, limit, state } = source;
    let formats = [formats, &EXPORT_FORMATS, &LINE_FORMATS].concat();
    let session = std::mem::take(&mut state.session);
    let mut import = Import { formats: &formats, sink: ImportSink::new(sink, session) };
    let (mut line, mut shown) = (Vec::new(), state.offset);
    let longest = limit.longest_line(MAX_LINE);
    (state.is_whole, state.is_cut_off) = (false, false);
    let is_start = state.offset == 0;
    if is_start && fill(&mut reader).map(opens_array).map_err(|e| Error::io("read", path, e))? {
        let text = whole(&mut reader, Vec::new(), path, limit)?;
        import.array(&text, path)?;
        (state.offset, state.is_whole) = (text.len() as u64, true);
    }
    loop {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let size =
            read_line(&mut reader, &mut line, longest).map_err(|e| Error::io("read", path, e))?;
        state.is_cut_off = !line.ends_with(b"\n") && size <= longest as u64 && is_torn(&line);
        if size == 0 || state.is_cut_off {
            break;
        }
        state.lines += 1;
        state.offset += size;
        if state.lines == 1 && import.begins_document(&line) {
            let text = whole(&mut reader, std::mem::take(&mut line), path, limit)?;
            (state.offset, state.is_whole) = (text.len() as u64, true);
            import.document(&text)?;
            continue;
        }
        match size > longest as u64 {
            true => import.sink.bad(state.lines),
            false => import.line(&line, state.lines)?,
        }
        if state.offset - shown >= 1 << 20 {
            shown = state.offset;
            progress(shown);
        }
    }
    progress(state.offset);
    let (imported, session) = import.sink.finish()?;
    state.session = session;
    Ok(imported)
}

/// Whether a line ends within an object.
fn is_torn(line: &[u8]) -> bool {
    let mut text = trim(line);
    while text.starts_with(b"{") {
        let mut parser = PullParser::new(text);
        if parser.skip().is_none() {
            return true;
        }
        text = trim(parser.rest());
    }
    false
}

/// Reads one line and gives its length, of which no more than `longest` bytes are kept.
pub(crate) fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    longest: usize,
) -> std::io::Result<u64> {
    line.clear();
    let mut size = 0;
    loop {
        let buffer = fill(reader)?;
        let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
        let taken = end.unwrap_or(buffer.len());
        line.extend_from_slice(&buffer[..taken.min(longest - line.len())]);
        reader.consume(taken);
        size += taken as u64;
        if end.is_some() || taken == 0 {
            return Ok(size);
        }
    }
}

/// Returns what can be read without waiting for more.
fn fill(reader: &mut impl BufRead) -> std::io::Result<&[u8]> {
    while let Err(error) = reader.fill_buf() {
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    reader.fill_buf()
}

/// Reads all of an array or of a document, of which `text` was read.
fn whole(
    reader: &mut impl BufRead,
    mut text: Vec<u8>,
    path: &str,
    limit: &MemoryLimit,
) -> Result<Vec<u8>> {
    loop {
        let step = (text.len() as u64).clamp(1 << 20, MAX_ARRAY);
        let needed = (text.len() as u64 + step) * READ_ARRAY;
        limit.check(&format!("importing {path:?}, which is read as a whole,"), needed)?;
        let read =
            std::io::Read::read_to_end(&mut std::io::Read::take(&mut *reader, step), &mut text);
        let read = read.map_err(|error| Error::io("read", path, error))?;
        if text.len() as u64 > MAX_ARRAY {
            let why = format!(
                "one JSON array or document of more than {} MiB; convert it to one message a line",
                MAX_ARRAY >> 20
            );
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        if (read as u64) < step {
            return Ok(text);
        }
    }
}

/// Whether a file that begins with these bytes is one array of objects.
fn opens_array(line: &[u8]) -> bool {
    match trim(line) {
        [b'['] => true,
        [b'[', rest @ ..] => rest.trim_ascii_start().starts_with(b"{"),
        _ => false,
    }
}

struct Import<'f, 's> {
    formats: &'f [&'f dyn TranscriptFormat],
    sink: ImportSink<'s>,
}

impl Import<'_, '_> {
    fn line(&mut self, line: &[u8], number: u64) -> Result<()> {
        let text = trim(line);
        if text.is_empty() {
            return Ok(());
        }
        if text[0] == b'{' {
            return self.objects(text, number);
        }
        let mut parser = PullParser::new(text);
        let record = Record { text, fields: None };
        if self.formats.iter().any(|format| format.detect(&record)) {
            return self.record(record);
        }
        match parser.skip().is_some() && parser.is_done() {
            true => self.sink.skip("other"),
            false => self.sink.bad(number),
        }
        Ok(())
    }

    /// Reads the object of a line, or several where a line end was lost.
    fn objects(&mut self, mut text: &[u8], number: u64) -> Result<()> {
        let whole = text.len();
        while text.first() == Some(&b'{') {
            let mut parser = PullParser::new(text);
            let Some(fields) = Fields::read(&mut parser, true) else {
                break;
            };
            let rest = parser.rest();
            let text_of_object = &text[..text.len() - rest.len()];
            text = trim(rest);
            self.record(Record { text: text_of_object, fields: Some(fields) })?;
            if text.is_empty() {
                if text_of_object.len() < whole {
                    self.sink.trailing(number);
                }
                return Ok(());
            }
        }
        match text.len() < whole {
            true => self.sink.trailing(number),
            false => self.sink.bad(number),
        }
        Ok(())
    }

    fn begins_document(&self, first_line: &[u8]) -> bool {
        self.formats.iter().any(|format| format.is_document(trim(first_line)))
    }

    /// Reads a document as one record, or line by line if no format knows it.
    fn document(&mut self, text: &[u8]) -> Result<()> {
        let mut parser = PullParser::new(trim(text));
        let fields = Fields::read(&mut parser, true).filter(|_| parser.is_done());
        let record = Record { text: trim(text), fields };
        if self.formats.iter().any(|format| format.detect(&record)) {
            return self.record(record);
        }
        let mut lines = (1..).zip(text.split_inclusive(|byte| *byte == b'\n'));
        lines.try_for_each(|(number, line)| self.line(line, number))
    }

    fn record(&mut self, record: Record<'_>) -> Result<()> {
        let Some(format) = self.formats.iter().find(|format| format.detect(&record)) else {
            self.sink.skip("other");
            return Ok(());
        };
        self.sink.set_format(format.name());
        format.read(record, &mut self.sink)
    }

    fn array(&mut self, text: &[u8], path: &str) -> Result<()> {
        let mut elements = Vec::new();
        let mut parser = PullParser::new(trim(text));
        let whole = parser.array(|parser| {
            elements.push(parser.skip()?);
            Some(())
        });
        if whole.is_none() || !parser.is_done() {
            let why = "it begins like a JSON array but is none; expected one JSON object a line";
            return Err(Error::Format { path: path.to_owned(), line: None, why: why.to_owned() });
        }
        (1..).zip(elements).try_for_each(|(number, element)| self.line(element, number))
    }
}
