//! Scan of one chunk of a file, mapped or read up to the end of its last line.

use memchr::{memchr, memrchr};

use super::chunk_result::{ChunkResult, FileTail};
use super::cursor::read_full;
use super::job::{ScanJob, Worker};
use super::line_matcher::Scratch;
use super::line_scan::LineScan;
use super::long_lines::{self, LONG_LINE};
use crate::error::Result;
use crate::files::platform::next_data;
use crate::files::platform::{ReadLease as _, Window};

/// The most that is read on at a time for the end of a line.
const MAX_READ_ON: usize = 1 << 20;

/// Scans the lines that begin in `from..to`.
pub(super) fn scan_chunk(
    job: &ScanJob<'_>,
    worker: &mut Worker,
    from: u64,
    to: u64,
) -> Result<ChunkResult> {
    let mut chunk = ChunkResult { from, to, ..ChunkResult::default() };
    // The byte before tells whether a line begins at `from`.
    let lead = usize::from(from > 0);
    let base = from - lead as u64;
    let size = lead + (to - from) as usize;
    let mut loaded = LoadedChunk::new(job, base, size, std::mem::take(&mut worker.buffer));
    let long = loaded.scan_lines(lead, size, &mut worker.scratch, &mut chunk);
    // unmapped: a long line may take seconds, and nobody is to wait for them
    loaded.window = None;
    worker.buffer = loaded.buffer;
    if worker.buffer.len() > size.max(1 << 20) {
        worker.buffer.truncate(size);
        worker.buffer.shrink_to_fit();
    }
    if let Some(last) = long?.filter(|_| !chunk.has_too_many_matches()) {
        long_lines::match_long_line(worker, job, base + last as u64, &mut chunk)?;
    }
    Ok(chunk)
}

/// The bytes of a file from `base` on, as far as they are looked at.
struct LoadedChunk<'r> {
    job: &'r ScanJob<'r>,
    base: u64,
    /// They are mapped where that can be done, and else read.
    window: Option<Window<'r>>,
    buffer: Vec<u8>,
    /// How many there are.
    count: usize,
}

impl<'r> LoadedChunk<'r> {
    fn new(job: &'r ScanJob<'r>, base: u64, size: usize, buffer: Vec<u8>) -> Self {
        // The last line may go on; what is not looked at costs nothing.
        let most = size + LONG_LINE + 2 * MAX_READ_ON;
        let window = job.lease.and_then(|lease| lease.window(base, most));
        Self { job, base, window, buffer, count: 0 }
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
        let ScanJob { file, path, .. } = *self.job;
        let place = self.base + self.count as u64;
        self.count += read_full(file, path, place, &mut self.buffer[self.count..size])?;
        Ok(())
    }

    /// Scans the whole lines, up to a long last one, whose beginning is given.
    fn scan_lines(
        &mut self,
        lead: usize,
        size: usize,
        scratch: &mut Scratch,
        chunk: &mut ChunkResult,
    ) -> Result<Option<usize>> {
        let (job, base) = (self.job, self.base);
        let hole = job.matcher.json && next_data(job.file, chunk.from) >= chunk.to;
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
        let mut at_end = base + own as u64 >= job.end || own < size;
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
        let mut lines = LineScan {
            job,
            text: &text[start..],
            offset: base + start as u64,
            skipped_ends: chunk.line_ends,
            scratch,
            chunk,
        };
        lines.look(at_end && long.is_none());
        // The end of the last line may lie beyond this chunk.
        let beyond = text.len() > own && text.ends_with(b"\n");
        chunk.line_ends -= u64::from(beyond);
        let offset = base + text.len() as u64;
        let last = offset >= chunk.to && chunk.to >= job.end;
        if at_end && long.is_none() && chunk.tail.is_none() && last {
            chunk.tail = Some(FileTail { offset, line_ends: chunk.line_ends, torn: false });
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
            let left = self.job.end - (self.base + before as u64);
            let size = (step as u64).min(left) as usize;
            self.load(before + size)?;
            if let Some(end) = memchr(b'\n', &self.bytes()[before..]) {
                self.count = before + end + 1;
                return Ok(false);
            }
            if self.count < before + size || self.base + self.count as u64 >= self.job.end {
                return Ok(true);
            }
            step = (step * 2).min(MAX_READ_ON);
        }
        Ok(false)
    }
}
