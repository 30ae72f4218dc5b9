//! Lines too long to hold: an abridged copy shows their shape, windows show their text.
//!
//! The copy keeps everything but the middle of long strings, so the ordinary
//! reading of a line finds in it which strings were said. Those are then read
//! again from the file, decoded and searched in windows that overlap. A match
//! longer than the overlap may be missed, and each part of a message is searched
//! by itself.

use memchr::{memchr, memchr2};
use regex_automata::Span;

use super::Match;
use super::chunk::{Chunk, Tail, Worker};
use super::cursor::read_full;
use super::job::{Round, next_data};
use super::line_matcher::describe;
use crate::error::Result;
use crate::messages::json;
use crate::messages::message::{self, Line};

/// A line with more bytes than this is long.
pub(super) const LONG_LINE: usize = 4 << 20;
/// What the abridged copy keeps of a string.
const KEEP: usize = 16 << 10;
/// The abridged copy itself is given up beyond this; the line is then a bad one.
const MAX_ABRIDGED: usize = 4 << 20;
const WINDOW: usize = 1 << 20;
const OVERLAP: usize = 64 << 10;

/// A string of the copy whose middle is left out.
struct Cut {
    /// Where it ends in the copy.
    at: usize,
    /// Where it stands in the file.
    from: u64,
    to: u64,
}

#[derive(Default)]
struct Abridged {
    text: Vec<u8>,
    cuts: Vec<Cut>,
    /// Where in the file the current string begins.
    string: Option<u64>,
    kept: usize,
    cutting: bool,
    escape: Escape,
}

/// How much of an escape is still to come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Letter,
    Digits(u8),
}

/// Judges the line that begins at `start`, the last one of its chunk.
pub(super) fn judge(
    worker: &mut Worker,
    round: &Round<'_>,
    start: u64,
    chunk: &mut Chunk,
) -> Result<()> {
    let finder = round.finder;
    let mut abridged = Abridged::default();
    let (end, terminated) = abridged.read(worker, round, start)?;
    chunk.lines += 1;
    let line_ends = chunk.line_ends;
    if terminated && end < chunk.to {
        chunk.line_ends += 1;
    }
    let after = end + u64::from(terminated);
    let place = |found: Match| Match { line: line_ends, offset: start, end: after, ..found };
    let mut found = None;
    let mut bad = abridged.text.len() > MAX_ABRIDGED;
    if !finder.json {
        found = search(worker, round, start, end, false)?;
        bad = false;
    } else if !bad {
        match message::outline(&abridged.text) {
            Line::Message(outline) if finder.admits(&outline) => {
                let mut bodies = Vec::new();
                outline.each_text(finder.tools, |body| bodies.push(body));
                for body in bodies {
                    found = match abridged.cut_in(body) {
                        Some(cut) => search(worker, round, cut.from, cut.to, true)?,
                        None => {
                            let text = json::decode(body);
                            let first =
                                finder.search(&text, Span::from(0..text.len()), &mut worker.memory);
                            first.map(|first| finder.show(&text, first, &mut worker.memory))
                        }
                    };
                    if found.is_some() {
                        break;
                    }
                }
                found = found.map(|found| describe(found, &outline));
            }
            Line::Bad => bad = true,
            _ => {}
        }
    }
    let torn = bad && !terminated;
    if bad && !torn {
        chunk.bad_lines += 1;
        chunk.first_bad_lines.push(line_ends);
        chunk.first_bad_lines.truncate(super::MAX_BAD_LINES);
    }
    if !terminated {
        chunk.tail = Some(Tail { offset: if torn { start } else { end }, line_ends, torn });
    } else if after >= round.end && chunk.to >= round.end {
        chunk.tail = Some(Tail { offset: after, line_ends: chunk.line_ends, torn: false });
    }
    if let Some(found) = found {
        chunk.matched += 1;
        if round.build {
            chunk.matches.push(place(found));
        }
    }
    Ok(())
}

impl Abridged {
    /// Reads the whole line; gives where it ends and whether a line end is there.
    fn read(&mut self, worker: &mut Worker, round: &Round<'_>, start: u64) -> Result<(u64, bool)> {
        let mut at = start;
        while at < round.end {
            // A hole reads as NUL, which means nothing in JSON.
            if round.finder.json {
                at = next_data(round.file, at).min(round.end);
            }
            let size = (WINDOW as u64 / 4).min(round.end - at) as usize;
            let buffer = worker.buffer(size);
            let read = read_full(round.file, round.path, at, buffer)?;
            let stop = memchr(b'\n', &buffer[..read]);
            if round.finder.json && self.text.len() <= MAX_ABRIDGED {
                self.feed(&buffer[..stop.unwrap_or(read)], at);
            }
            if let Some(stop) = stop {
                return Ok((at + stop as u64, true));
            }
            at += read as u64;
            if read < size {
                break;
            }
        }
        Ok((at, false))
    }

    fn feed(&mut self, bytes: &[u8], offset: u64) {
        let mut i = 0;
        while let Some(&byte) = bytes.get(i) {
            let Some(start) = self.string else {
                // NUL bytes that a crash left would only fill the copy.
                if byte != 0 {
                    self.text.push(byte);
                }
                i += 1;
                if byte == b'"' {
                    self.string = Some(offset + i as u64);
                    (self.kept, self.cutting, self.escape) = (0, false, Escape::None);
                }
                continue;
            };
            self.escape = match (self.escape, byte) {
                (Escape::Letter, b'u') => Escape::Digits(4),
                (Escape::Letter, _) => Escape::None,
                (Escape::Digits(left @ 2..), digit) if digit.is_ascii_hexdigit() => {
                    Escape::Digits(left - 1)
                }
                (Escape::Digits(1), digit) if digit.is_ascii_hexdigit() => Escape::None,
                (_, b'"') => {
                    if self.cutting {
                        self.cuts.push(Cut {
                            at: self.text.len(),
                            from: start,
                            to: offset + i as u64,
                        });
                    }
                    self.string = None;
                    self.text.push(byte);
                    i += 1;
                    continue;
                }
                (before, _) => {
                    // Not inside an escape, not inside a character: the copy may stop here.
                    if self.kept >= KEEP && before == Escape::None && byte & 0xC0 != 0x80 {
                        self.cutting = true;
                    }
                    if byte == b'\\' { Escape::Letter } else { Escape::None }
                }
            };
            i += 1;
            if !self.cutting {
                self.text.push(byte);
                self.kept += 1;
            } else if self.escape == Escape::None {
                i += memchr2(b'"', b'\\', &bytes[i..]).unwrap_or(bytes.len() - i);
            }
        }
    }

    /// Where in the file the string stands whose body in the copy is `body`.
    fn cut_in(&self, body: &[u8]) -> Option<&Cut> {
        let end = body.as_ptr_range().end as usize - self.text.as_ptr() as usize;
        self.cuts.iter().find(|cut| cut.at == end)
    }
}

/// The first match in a part of the file: the body of a string, or a line of a note.
fn search(
    worker: &mut Worker,
    round: &Round<'_>,
    from: u64,
    to: u64,
    json: bool,
) -> Result<Option<Match>> {
    let mut at = from;
    loop {
        let size = (WINDOW as u64).min(to - at) as usize;
        let read = read_full(round.file, round.path, at, worker.buffer(size))?;
        let last = at + read as u64 >= to || read < size;
        let raw = &worker.buffer(size)[..read];
        let raw = &raw[..if last { read } else { boundary(raw, read, json) }];
        let text = match json {
            true => json::decode(raw).into_owned(),
            false => String::from_utf8_lossy(raw).into_owned(),
        };
        let next = boundary(raw, raw.len().saturating_sub(OVERLAP), json);
        // The outermost characters only show what surrounds a match.
        let start = if at == from { 0 } else { text.chars().next().map_or(0, char::len_utf8) };
        let end =
            text.len() - if last { 0 } else { text.chars().next_back().map_or(0, char::len_utf8) };
        let span = Span::from(start.min(end)..end);
        if let Some(first) = round.finder.search(&text, span, &mut worker.memory) {
            return Ok(Some(round.finder.show(&text, first, &mut worker.memory)));
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
