//! Scan of lines too long to hold in memory, in overlapping windows.
//!
//! An elided copy of the line tells which of its strings are to be searched. Those are then read
//! again from the file, decoded and searched window by window. A match longer than the overlap may
//! be missed, and each part of a message is searched by itself.

use memchr::memchr;
use regex_automata::Span;

use super::chunk_result::{ChunkResult, FileTail};
use super::cursor::read_full;
use super::elided_line::{ElidedLine, MAX_ELIDED};
use super::job::{ScanJob, Worker};
use super::line_matcher::describe;
use super::report::{MAX_BAD_LINES, Match};
use crate::error::Result;
use crate::messages::json_string::decode;
use crate::messages::lazy_message::LazyMessage;
use crate::messages::message::{self, ParsedLine};

/// A line with more bytes than this is long.
pub(super) const LONG_LINE: usize = 4 << 20;
const WINDOW: usize = 1 << 20;
const OVERLAP: usize = 64 << 10;

/// Matches the line that begins at `start`, the last one of its chunk.
pub(super) fn match_long_line(
    worker: &mut Worker,
    job: &ScanJob<'_>,
    start: u64,
    chunk: &mut ChunkResult,
) -> Result<()> {
    let matcher = job.matcher;
    let mut elided = ElidedLine::default();
    let (end, terminated) = elided.read(worker, job, start)?;
    chunk.lines += 1;
    let line_ends = chunk.line_ends;
    if terminated && end < chunk.to {
        chunk.line_ends += 1;
    }
    let after = end + u64::from(terminated);
    let place = |found: Match| Match { line: line_ends, offset: start, end: after, ..found };
    let mut found = None;
    let mut bad = elided.text.len() > MAX_ELIDED;
    if !matcher.json {
        found = search(worker, job, start, end, false)?;
        bad = false;
    } else if !bad {
        match message::parse_lazy(&elided.text) {
            ParsedLine::Message(message) if matcher.admits(job.path, &message) => {
                found = search_message(worker, job, &elided, &message)?;
            }
            ParsedLine::Bad => bad = true,
            _ => {}
        }
    }
    let torn = bad && !terminated;
    if bad && !torn {
        chunk.bad_lines += 1;
        chunk.first_bad_lines.push(line_ends);
        chunk.first_bad_lines.truncate(MAX_BAD_LINES);
    }
    if !terminated {
        chunk.tail = Some(FileTail { offset: if torn { start } else { end }, line_ends, torn });
    } else if after >= job.end && chunk.to >= job.end {
        chunk.tail = Some(FileTail { offset: after, line_ends: chunk.line_ends, torn: false });
    }
    if let Some(found) = found {
        chunk.matched += 1;
        if job.build {
            chunk.matches.push(place(found));
        }
    }
    Ok(())
}

/// The first match in the strings of a message; those that are elided are read from the file.
fn search_message(
    worker: &mut Worker,
    job: &ScanJob<'_>,
    elided: &ElidedLine,
    message: &LazyMessage<'_>,
) -> Result<Option<Match>> {
    let matcher = job.matcher;
    let mut bodies = Vec::new();
    message.each_string(matcher.tools(), |body| bodies.push(body));
    for body in bodies {
        let found = match elided.elision_in(body) {
            Some(elision) => search(worker, job, elision.from, elision.to, true)?,
            None => {
                let text = decode(body);
                let first = matcher.search(&text, Span::from(0..text.len()), &mut worker.scratch);
                first.map(|first| matcher.show(&text, first, &mut worker.scratch))
            }
        };
        if let Some(found) = found {
            return Ok(Some(describe(found, message)));
        }
    }
    Ok(None)
}

/// The first match in a part of the file: the body of a string, or a line of a note.
fn search(
    worker: &mut Worker,
    job: &ScanJob<'_>,
    from: u64,
    to: u64,
    json: bool,
) -> Result<Option<Match>> {
    let mut at = from;
    loop {
        let size = (WINDOW as u64).min(to - at) as usize;
        let read = read_full(job.file, job.path, at, worker.room(size))?;
        let last = at + read as u64 >= to || read < size;
        let raw = &worker.room(size)[..read];
        let raw = &raw[..if last { read } else { boundary(raw, read, json) }];
        let text = match json {
            true => decode(raw).into_owned(),
            false => String::from_utf8_lossy(raw).into_owned(),
        };
        let next = boundary(raw, raw.len().saturating_sub(OVERLAP), json);
        // The outermost characters only show what surrounds a match.
        let start = if at == from { 0 } else { text.chars().next().map_or(0, char::len_utf8) };
        let end =
            text.len() - if last { 0 } else { text.chars().next_back().map_or(0, char::len_utf8) };
        let span = Span::from(start.min(end)..end);
        if let Some(first) = job.matcher.search(&text, span, &mut worker.scratch) {
            return Ok(Some(job.matcher.show(&text, first, &mut worker.scratch)));
        }
        if last || next == 0 {
            return Ok(None);
        }
        at += next as u64;
    }
}

/// The greatest place up to `limit` that is inside no escape and no character.
fn boundary(raw: &[u8], limit: usize, json: bool) -> usize {
    let mut from = 0;
    while let Some(slash) = memchr(b'\\', &raw[from..limit]).filter(|_| json) {
        let start = from + slash;
        let size = if raw.get(start + 1) == Some(&b'u') { 6 } else { 2 };
        if start + size > limit {
            return start;
        }
        from = start + size;
    }
    let continued = |&at: &usize| at < raw.len() && raw[at] & 0xC0 == 0x80;
    // Bytes that are not UTF-8 may go on for ever; any place is right for them.
    (from..=limit).rev().take(4).find(|at| !continued(at)).unwrap_or(limit)
}
