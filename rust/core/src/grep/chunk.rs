//! Loads a chunk of a file up to the end of its last line: mapped, or read.

use memchr::{memchr, memrchr};

use super::Match;
use super::cursor::read_full;
use super::job::{Round, next_data};
use super::line_matcher::{Lines, Memory};
use super::long_lines::{self, LONG_LINE};
use crate::error::Result;
use crate::files::platform::{ReadLease as _, Window};

/// The most matches that are built of a chunk: lines may be as short as a byte.
pub(super) const MOST_MATCHES: usize = 4096;

/// The most that is read on at a time for the end of a line.
const MOST_READ_ON: usize = 1 << 20;

/// What a chunk of a file holds. A line belongs to the chunk in which it begins.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub from: u64,
    pub to: u64,
    /// Line ends in `from..to`.
    pub line_ends: u64,
    /// Lines that begin here.
    pub lines: u64,
    pub matched: u64,
    /// `line` is the number of line ends between `from` and the match.
    pub matches: Vec<Match>,
    pub bad_lines: u64,
    /// The first bad lines, by the line ends between `from` and them.
    pub first_bad_lines: Vec<u64>,
    /// Set by the chunk that holds the beginning of the file's last line.
    pub tail: Option<Tail>,
}

impl Chunk {
    /// Whether it holds more than is to be kept at once; what is found after that is not noted.
    pub fn is_overfull(&self) -> bool {
        self.matches.len() > MOST_MATCHES
    }
}

/// The end of the file, or the beginning of its torn last line.
#[derive(Debug)]
pub(super) struct Tail {
    pub offset: u64,
    pub line_ends: u64,
    pub torn: bool,
}

/// What one thread keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Worker {
    buffer: Vec<u8>,
    pub memory: Memory,
}

impl Worker {
    /// Room for `size` bytes to read into.
    pub fn buffer(&mut self, size: usize) -> &mut [u8] {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        &mut self.buffer[..size]
    }

    /// Judges the lines that begin in `from..to`.
    pub fn scan(&mut self, round: &Round<'_>, from: u64, to: u64) -> Result<Chunk> {
        let mut chunk = Chunk { from, to, ..Chunk::default() };
        // The byte before tells whether a line begins at `from`.
        let lead = usize::from(from > 0);
        let base = from - lead as u64;
        let size = lead + (to - from) as usize;
        let mut loaded = Loaded::new(round, base, size, std::mem::take(&mut self.buffer));
        let long = loaded.judge(lead, size, &mut self.memory, &mut chunk);
        let Loaded { buffer, window, .. } = loaded;
        // a long line may take seconds, and nobody is to wait for them
        drop(window);
        self.buffer = buffer;
        if self.buffer.len() > size.max(1 << 20) {
            self.buffer.truncate(size);
            self.buffer.shrink_to_fit();
        }
        if let Some(last) = long?.filter(|_| !chunk.is_overfull()) {
            long_lines::judge(self, round, base + last as u64, &mut chunk)?;
        }
        Ok(chunk)
    }
}

/// The bytes of a file from `base` on, as far as they are looked at.
struct Loaded<'r> {
    round: &'r Round<'r>,
    base: u64,
    /// They are mapped where that can be done, and else read.
    window: Option<Window<'r>>,
    buffer: Vec<u8>,
    /// How many there are.
    count: usize,
}

impl<'r> Loaded<'r> {
    fn new(round: &'r Round<'r>, base: u64, size: usize, buffer: Vec<u8>) -> Self {
        // The last line may go on; what is not looked at costs nothing.
        let most = size + LONG_LINE + 2 * MOST_READ_ON;
        let window = round.lease.and_then(|lease| lease.window(base, most));
        Self { round, base, window, buffer, count: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.window.as_deref().unwrap_or(&self.buffer)[..self.count]
    }

    /// Loads up to `size` bytes; fewer only at the end of the file.
    fn load(&mut self, size: usize) -> Result<()> {
        if let Some(window) = &self.window {
            self.count = window.len().min(size);
            return Ok(());
        }
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let Round { file, path, .. } = *self.round;
        let place = self.base + self.count as u64;
        self.count += read_full(file, path, place, &mut self.buffer[self.count..size])?;
        Ok(())
    }

    /// Judges the whole lines, up to a long last one, whose beginning is given.
    fn judge(
        &mut self,
        lead: usize,
        size: usize,
        memory: &mut Memory,
        chunk: &mut Chunk,
    ) -> Result<Option<usize>> {
        let (round, base) = (self.round, self.base);
        let hole = round.finder.json && next_data(round.file, chunk.from) >= chunk.to;
        self.load(if hole { lead } else { size })?;
        let mut start = 0;
        if lead > 0 {
            match memchr(b'\n', self.bytes()) {
                Some(end) => start = end + 1,
                None => return Ok(None),
            }
        }
        if hole {
            self.load(size)?;
        }
        if start > lead {
            chunk.line_ends += 1;
        }
        let own = self.count;
        let mut at_end = base + own as u64 >= round.end || own < size;
        if !at_end && start < own {
            at_end = self.finish_line(start)?;
        }
        let mut long = None;
        if self.count - start > LONG_LINE {
            let last = memrchr(b'\n', &self.bytes()[start..]).map_or(start, |end| start + end + 1);
            if self.count - last > LONG_LINE {
                (long, self.count) = (Some(last), last);
            }
        }
        let text = self.bytes();
        let mut lines = Lines {
            round,
            text: &text[start..],
            offset: base + start as u64,
            skipped_ends: chunk.line_ends,
            memory,
            chunk,
        };
        lines.look(at_end && long.is_none());
        // The end of the last line may lie beyond this chunk.
        let beyond = text.len() > own && text.ends_with(b"\n");
        chunk.line_ends -= u64::from(beyond);
        let offset = base + text.len() as u64;
        let last = offset >= chunk.to && chunk.to >= round.end;
        if at_end && long.is_none() && chunk.tail.is_none() && last {
            chunk.tail = Some(Tail { offset, line_ends: chunk.line_ends, torn: false });
        }
        Ok(long)
    }

    /// Goes on to the end of the last line, unless it is long; `true` at the end of the file.
    fn finish_line(&mut self, start: usize) -> Result<bool> {
        if self.bytes().ends_with(b"\n") {
            return Ok(false);
        }
        let mut step = 8 * 1024;
        let line = memrchr(b'\n', &self.bytes()[start..]).map_or(start, |end| start + end + 1);
        while self.count - line <= LONG_LINE {
            let before = self.count;
            let left = self.round.end - (self.base + before as u64);
            let size = (step as u64).min(left) as usize;
            self.load(before + size)?;
            if let Some(end) = memchr(b'\n', &self.bytes()[before..]) {
                self.count = before + end + 1;
                return Ok(false);
            }
            if self.count < before + size || self.base + self.count as u64 >= self.round.end {
                return Ok(true);
            }
            step = (step * 2).min(MOST_READ_ON);
        }
        Ok(false)
    }
}
