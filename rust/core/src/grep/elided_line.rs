//! Copy of a long JSON line without the middle of its long strings.
//!
//! The copy parses as the line does, so the ordinary reading of a line finds in it which strings
//! are conversation text; where they stand in the file is kept beside it.

use memchr::{memchr, memchr2};

use super::cursor::read_full;
use super::job::{ScanJob, Worker};
use crate::error::Result;
use crate::files::platform::next_data;

/// Bytes read at a time.
const PIECE: u64 = 256 << 10;
/// What the elided copy keeps of a string.
const KEEP: usize = 16 << 10;
/// The elided copy itself is given up beyond this; the line is then a bad one.
pub(super) const MAX_ELIDED: usize = 4 << 20;

/// A string of the copy whose middle is left out.
pub(super) struct Elision {
    /// Where it ends in the copy.
    at: usize,
    /// Where it stands in the file.
    pub from: u64,
    pub to: u64,
}

/// The copy, and where its elided strings stand.
#[derive(Default)]
pub(super) struct ElidedLine {
    pub text: Vec<u8>,
    elisions: Vec<Elision>,
    /// Where in the file the current string begins.
    string: Option<u64>,
    kept: usize,
    eliding: bool,
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

impl ElidedLine {
    /// Reads the whole line; gives where it ends and whether a line end is there.
    pub fn read(
        &mut self,
        worker: &mut Worker,
        job: &ScanJob<'_>,
        start: u64,
    ) -> Result<(u64, bool)> {
        let mut at = start;
        while at < job.end {
            // A hole reads as NUL, which means nothing in JSON.
            if job.matcher.json {
                at = next_data(job.file, at).min(job.end);
            }
            let size = PIECE.min(job.end - at) as usize;
            let buffer = worker.room(size);
            let read = read_full(job.file, job.path, at, buffer)?;
            let stop = memchr(b'\n', &buffer[..read]);
            if job.matcher.json && self.text.len() <= MAX_ELIDED {
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

    /// Copies what follows in the line; `offset` is where it stands in the file.
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
                    (self.kept, self.eliding, self.escape) = (0, false, Escape::None);
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
                    if self.eliding {
                        self.elisions.push(Elision {
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
                        self.eliding = true;
                    }
                    if byte == b'\\' { Escape::Letter } else { Escape::None }
                }
            };
            i += 1;
            if !self.eliding {
                self.text.push(byte);
                self.kept += 1;
            } else if self.escape == Escape::None {
                i += memchr2(b'"', b'\\', &bytes[i..]).unwrap_or(bytes.len() - i);
            }
        }
    }

    /// Where in the file the string stands whose body in the copy is `body`.
    pub fn elision_in(&self, body: &[u8]) -> Option<&Elision> {
        let end = body.as_ptr_range().end as usize - self.text.as_ptr() as usize;
        self.elisions.iter().find(|elision| elision.at == end)
    }
}
