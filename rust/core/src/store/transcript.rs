//! Transcript access: durable append of one message, messages by line, lines by offset.

use std::io::BufReader;

use crate::catalog::transcript_resume::line_at;
use crate::catalog::{DocMeta, FileMeta, ReadProgress};
use crate::error::{Error, Interrupt, Result};
use crate::files::Expected;
use crate::files::append::Appended;
use crate::files::file_kind::FileKind;
use crate::messages::formats::read_line;
use crate::messages::line_reader::{LONGEST_LINE, check_encoding, lines};
use crate::messages::message::{self, Message, ParsedLine};
use crate::search::turns::first_lines;
use crate::store::Store;

/// A message and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedMessage {
    /// The line, from 1.
    pub line: u64,
    /// Its first byte.
    pub offset: u64,
    /// The message.
    pub message: Message,
}

impl Store {
    /// Returns up to `limit` messages from line `start` on, counted from 1; other lines are
    /// passed over.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Refused`], [`Error::Io`]; [`Error::Format`] for a file in
    /// UTF-16; [`Error::Interrupted`].
    pub fn messages(
        &self,
        path: &str,
        start: u64,
        limit: usize,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<LocatedMessage>> {
        let path = &*self.root().normalized(path);
        let near = self.near(path, start, interrupt)?;
        let file = self.root().open_read(path)?;
        check_encoding(&file, path)?;
        let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
        // since then the file may have been rewritten
        let near = near.filter(|doc| line_at(&file, doc).is_some());
        let (offset, line) = near.map_or((0, 1), |doc| (doc.start, u64::from(doc.line)));
        let longest = self.limit.longest_line(LONGEST_LINE);
        let mut found = Vec::new();
        let mut number = line;
        // lines are read in steps, so that a few messages of a large file cost little
        const READ_STEP: u64 = 1 << 20;
        let mut from = offset;
        while from < size && found.len() < limit {
            let mut step = READ_STEP;
            let mut next = from;
            while next == from {
                let end = size.min(from + step);
                lines(&file, path, from..end, longest, interrupt, &mut |offset, bytes, whole| {
                    if !bytes.ends_with(b"\n") && end < size {
                        return;
                    }
                    next = offset + bytes.len() as u64;
                    if number >= start
                        && found.len() < limit
                        && whole
                        && let ParsedLine::Message(message) = message::parse(bytes)
                    {
                        found.push(LocatedMessage { line: number, offset, message });
                    }
                    number += 1;
                })?;
                if end == size {
                    next = size;
                }
                step *= 8;
            }
            from = next;
        }
        Ok(found)
    }

    /// Returns the lines at which the turns of a transcript begin, as a search by turn has them; none
    /// for a file without messages.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn turns(&self, path: &str, interrupt: Interrupt<'_>) -> Result<Vec<u64>> {
        let path = &*self.root().normalized(path);
        let catalog = &self.refresh(interrupt)?.main;
        let file = catalog.file(path).filter(|file| file.kind == FileKind::Transcript);
        Ok(file.map_or_else(Vec::new, |file| first_lines(catalog, &file.documents)))
    }

    /// Returns the message at a line.
    ///
    /// # Errors
    /// [`Error::Format`] when the line is no message or not there; else as [`Self::messages`].
    pub fn message(
        &self,
        path: &str,
        line: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<LocatedMessage> {
        let found = self.messages(path, line, 1, interrupt)?;
        found.into_iter().find(|located| located.line == line).ok_or_else(|| Error::Format {
            path: path.to_owned(),
            line: Some(line),
            why: "there is no message at this line".to_owned(),
        })
    }

    /// Returns the lines of a file that begin at `offsets`, each with its end, as far as there is
    /// one; they are read fastest in file order. Of an overlong line only the beginning is
    /// returned.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Refused`], [`Error::Io`]; [`Error::Interrupted`].
    pub fn lines_at(
        &self,
        path: &str,
        offsets: &[u64],
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut reader = BufReader::new(self.root().open_read(&self.root().normalized(path))?);
        let fail = |error| Error::io("read", path, error);
        let longest = self.limit.longest_line(LONGEST_LINE);
        let mut at = 0;
        let mut found = Vec::with_capacity(offsets.len());
        for &offset in offsets {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let mut line = Vec::new();
            // no file of any system is longer than an `i64` says
            if i64::try_from(offset).is_ok() {
                // a step keeps what is buffered
                reader.seek_relative(offset.wrapping_sub(at) as i64).map_err(fail)?;
                at = offset + read_line(&mut reader, &mut line, longest).map_err(fail)?;
            }
            found.push(line);
        }
        Ok(found)
    }

    /// Returns the indexed message that is at `line`, or before it as near as is known.
    fn near(&self, path: &str, line: u64, interrupt: Interrupt<'_>) -> Result<Option<DocMeta>> {
        if !self.is_indexed() {
            return Ok(None);
        }
        let state = self.refresh(interrupt)?;
        let known = |file: &FileMeta| {
            let doc = |number: u32| state.main.docs[number as usize];
            let after = file.documents.partition_point(|d| u64::from(doc(d).line) <= line);
            after.checked_sub(1).map(|at| doc(file.documents.get(at)))
        };
        Ok(state.main.file(path).and_then(known))
    }

    /// Appends one record as one durable line and returns its number, from 1; none when the lines
    /// before it could not be counted: it is written all the same.
    ///
    /// # Errors
    /// [`Error::Format`] when `record` holds a line end, or the file is in UTF-16; else those of
    /// [`Files::append`](crate::files::Files::append).
    pub fn append_message(
        &self,
        path: &str,
        record: &[u8],
        interrupt: Interrupt<'_>,
    ) -> Result<Option<u64>> {
        if FileKind::of(path) != FileKind::Transcript
            || memchr::memchr2(b'\n', b'\r', record).is_some()
        {
            let why = "a message is one line of JSON in a file that ends in .jsonl".to_owned();
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        if let Ok(file) = self.root().open_read(&self.root().normalized(path)) {
            check_encoding(&file, path)?;
        }
        let mut line = record.to_vec();
        line.push(b'\n');
        let appended = self.files().append(path, &line, Expected::Any)?;
        let Appended { path, span: Some(span), .. } = appended else { return Ok(None) };
        // it is written: from here on nothing may look as if it were not
        Ok(self.line_number(&path, span.start).ok())
    }

    /// Returns the number of the line that begins at `offset`.
    fn line_number(&self, path: &str, offset: u64) -> Result<u64> {
        let interrupt: Interrupt<'_> = &|| false;
        let mut progress = ReadProgress::default();
        if self.is_indexed() {
            let state = self.refresh(interrupt)?;
            progress = state.main.file(path).map(|file| file.progress).unwrap_or_default();
        }
        let file = self.root().open_read(path)?;
        // lines that others appended since are behind ours
        let (span, counted) = match progress.offset > offset {
            true => (offset..progress.offset, u64::from(progress.lines)),
            false => (0..offset, 0),
        };
        let mut count = 0;
        let mut ends = |_, bytes: &[u8], _| count += u64::from(bytes.ends_with(b"\n"));
        lines(&file, path, span, LONGEST_LINE, interrupt, &mut ends)?;
        Ok(if counted > 0 { counted - count + 1 } else { count + 1 })
    }
}
