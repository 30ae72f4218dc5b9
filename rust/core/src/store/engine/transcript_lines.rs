//! Messages of a transcript read outward from one: its neighbours, or the rest of its turn.

use std::fs::File;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Interrupt, Result};
use crate::files::platform::FileExt as _;
use crate::index::bm25f::Field;
use crate::messages::line_reader::LONGEST_LINE;
use crate::messages::message::{Message, ParsedLine, parse};
use crate::store::engine::archived_place::{ArchivedPlace, Reach};
use crate::store::engine::asked_words::KeptWords;
use crate::store::engine::document::EngineDocument;
use crate::store::engine::extraction::{MessageLine, messages};

/// Bytes that are read before and behind the place that is looked at.
const AHEAD: u64 = 4096;

/// The lines of a transcript, read piece by piece.
pub(super) struct TranscriptLines<'a> {
    path: &'a str,
    file: File,
    size: u64,
    /// The piece that was read last, and where it begins.
    piece: &'a mut Vec<u8>,
    from: u64,
    interrupt: Interrupt<'a>,
}

impl<'a> TranscriptLines<'a> {
    /// Opens the lines of a file.
    ///
    /// # Arguments
    /// * `piece`: the buffer of another file, for it is in the cache of the processor.
    pub(super) fn new(
        path: &'a str,
        file: File,
        piece: &'a mut Vec<u8>,
        interrupt: Interrupt<'a>,
    ) -> Result<Self> {
        let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
        piece.clear();
        Ok(Self { path, file, size, piece, from: 0, interrupt })
    }

    /// Returns the documents at some places, in file order; none if the file has changed.
    ///
    /// # Arguments
    /// * `places`: ascending, each once.
    pub(super) fn documents(
        &mut self,
        places: &[(ArchivedPlace, Reach)],
        kept: KeptWords<'_>,
    ) -> Result<Option<Vec<EngineDocument>>> {
        let (mut found, mut rest) = (Vec::with_capacity(places.len()), places);
        while !rest.is_empty() {
            let Some((run, seen)) = self.run(rest)? else { return Ok(None) };
            found.extend(run.into_documents(self.path, kept));
            rest = &rest[seen..];
        }
        Ok(Some(found))
    }

    /// Returns the messages around the first place and those that follow without a gap, and how many
    /// of the places these are.
    fn run(&mut self, places: &[(ArchivedPlace, Reach)]) -> Result<Option<(Run, usize)>> {
        let (first, reach) = &places[0];
        let Some(message) = self.message_of(first)? else { return Ok(None) };
        let mut lines = vec![message];
        let mut before = 0;
        while let Some(message) = self.message_before(&lines[lines.len() - 1])? {
            let holds = reach.holds(before, is_same_turn(&message, &lines[lines.len() - 1]));
            lines.push(message);
            if !holds {
                break;
            }
            before += 1;
        }
        lines.reverse();
        let at = lines.len() - 1;
        let mut run = Run { own: at - before..at + 1, known: vec![(at, first.clone())], lines };
        let (mut seen, mut reach, mut behind) = (1, *reach, 0);
        while let Some(message) = self.message_behind(&run.lines[run.lines.len() - 1])? {
            let at = run.lines.len();
            let same = is_same_turn(&run.lines[at - 1], &message);
            let next = places.get(seen).filter(|(place, _)| place.start == message.start);
            if let Some((place, _)) = next
                && !is_at(&message, place)
            {
                return Ok(None);
            }
            run.lines.push(message);
            if let Some((place, own)) = next {
                run.known.push((at, place.clone()));
                (seen, reach, behind) = (seen + 1, *own, 0);
            } else if reach.holds(behind, same) {
                behind += 1;
            } else {
                break;
            }
            run.own.end = at + 1;
        }
        Ok(Some((run, seen)))
    }

    /// Returns the message at a place; none if another one is there.
    fn message_of(&mut self, place: &ArchivedPlace) -> Result<Option<MessageLine>> {
        let Some(span) = self.line_from(place.start)? else { return Ok(None) };
        let message = self.message(span, place.line)?;
        Ok(message.filter(|message| is_at(message, place)))
    }

    fn message_before(&mut self, message: &MessageLine) -> Result<Option<MessageLine>> {
        let (mut start, mut line) = (message.start, message.line);
        while let Some(span) = self.line_before(start)? {
            (start, line) = (span.start, line.saturating_sub(1));
            if let Some(message) = self.message(span, line)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn message_behind(&mut self, message: &MessageLine) -> Result<Option<MessageLine>> {
        let mut end = message.start + message.bytes.len() as u64;
        let mut line = message.line;
        while let Some(span) = self.line_from(end)? {
            (end, line) = (span.end, line.saturating_add(1));
            if let Some(message) = self.message(span, line)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Returns the message with text that a line is; none of another line.
    fn message(&mut self, span: Range<u64>, line: u32) -> Result<Option<MessageLine>> {
        if (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        if span.end - span.start > LONGEST_LINE as u64 {
            return Ok(None);
        }
        self.read(span.start, span.end)?;
        let from = (span.start - self.from) as usize;
        let bytes = &self.piece[from..from + (span.end - span.start) as usize];
        Ok(match parse(bytes) {
            ParsedLine::Message(message) if !message.text.is_empty() => {
                Some(MessageLine { start: span.start, line, bytes: bytes.to_vec(), message })
            }
            _ => None,
        })
    }

    /// Returns the line that begins here; none at the end.
    fn line_from(&mut self, start: u64) -> Result<Option<Range<u64>>> {
        let mut at = start;
        while at < self.size {
            self.read(at, at + 1)?;
            let rest = &self.piece[(at - self.from) as usize..];
            if let Some(end) = memchr::memchr(b'\n', rest) {
                return Ok(Some(start..at + end as u64 + 1));
            }
            at += rest.len() as u64;
        }
        Ok((start < self.size).then_some(start..self.size))
    }

    /// Returns the line that ends here, with its end; none at the beginning.
    fn line_before(&mut self, end: u64) -> Result<Option<Range<u64>>> {
        let Some(mut at) = end.checked_sub(1) else { return Ok(None) };
        while at > 0 {
            self.read(at - 1, at)?;
            let first = &self.piece[..(at - self.from) as usize];
            if let Some(before) = memchr::memrchr(b'\n', first) {
                return Ok(Some(self.from + before as u64 + 1..end));
            }
            at = self.from;
        }
        Ok(Some(0..end))
    }

    /// Reads these bytes, which are in the file, and some around them.
    fn read(&mut self, start: u64, end: u64) -> Result<()> {
        if self.from <= start && end <= self.from + self.piece.len() as u64 {
            return Ok(());
        }
        self.from = start.saturating_sub(AHEAD);
        let length = end.saturating_add(AHEAD).min(self.size) - self.from;
        self.piece.resize(length as usize, 0);
        let read = self.file.read_exact_at(self.piece, self.from);
        read.inspect_err(|_| self.piece.clear())
            .map_err(|error| Error::io("read", self.path, error))
    }
}

/// Says whether a message is the one that was archived at a place.
fn is_at(message: &MessageLine, place: &ArchivedPlace) -> bool {
    (message.start, xxh3_64(&message.bytes) as u32) == (place.start, place.hash)
}

/// Says whether a message is of the same turn as the one before it.
fn is_same_turn(before: &MessageLine, message: &MessageLine) -> bool {
    !message.message.is_prompt && session(&before.message) == session(&message.message)
}

fn session(message: &Message) -> &str {
    message.session.as_deref().unwrap_or_default()
}

/// Messages that follow each other.
struct Run {
    lines: Vec<MessageLine>,
    /// Those that are returned; the others are context.
    own: Range<usize>,
    /// Those of which the position is known, ascending.
    known: Vec<(usize, ArchivedPlace)>,
}

impl Run {
    fn into_documents(self, path: &str, kept: KeptWords<'_>) -> Vec<EngineDocument> {
        let first = self.own.start;
        let mut context_lengths = vec![None; self.own.len()];
        for (at, place) in &self.known {
            if let Some(length) = context_lengths.get_mut(at - first) {
                *length = Some(place.context_length);
            }
        }
        let mut documents = messages(path, self.lines, self.own, &context_lengths, kept);
        for (at, place) in self.known.iter().map(|(at, place)| (at - first, place)) {
            if let Some(document) = documents.get_mut(at) {
                document.position = place.position;
            }
        }
        let step = |documents: &[EngineDocument], at: usize| {
            let [before, own] = [&documents[at - 1], &documents[at]];
            let terms = before.lengths[Field::Body as usize];
            (terms, before.session == own.session, own.section_meta.starts == 1)
        };
        let anchor = self.known[0].0 - first;
        for at in (1..=anchor.min(documents.len().saturating_sub(1))).rev() {
            let (terms, same_session, is_prompt) = step(&documents, at);
            documents[at - 1].position =
                documents[at].position.previous(terms, same_session, is_prompt);
        }
        let mut known = self.known.iter().map(|(at, _)| at - first).peekable();
        for at in anchor + 1..documents.len() {
            while known.next_if(|&known| known < at).is_some() {}
            if known.peek() != Some(&at) {
                let (terms, same_session, is_prompt) = step(&documents, at);
                documents[at].position =
                    documents[at - 1].position.next(terms, same_session, is_prompt);
            }
        }
        documents
    }
}
