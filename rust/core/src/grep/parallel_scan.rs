//! Parallel run of a scan job, chunk by chunk, with results in file order.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memchr_iter;

use super::chunk::scan_chunk;
use super::chunk_result::ChunkResult;
use super::cursor::read_full;
use super::job::{ScanJob, Worker};
use super::scan_plan::ScanRange;
use crate::error::{Interrupt, Result};
use crate::files::platform::next_data;
use crate::parallel::ordered_map;

impl ScanJob<'_> {
    /// Scans the ranges and gives what is found to `take` in order.
    ///
    /// It ends with the range in which `wanted` matches are reached, or any if `most` ranges are
    /// scanned; without a match it goes on to the end.
    pub fn run(
        &self,
        ranges: &[ScanRange],
        workers: &mut [Worker],
        (most, wanted): (usize, usize),
        interrupt: Interrupt<'_>,
        take: impl FnMut(ChunkResult) -> Result<()>,
    ) -> Result<()> {
        let found = AtomicUsize::new(0);
        let work = |worker: &mut Worker, index: usize| {
            let range = ranges[index];
            if let Some(known) = range.skipped() {
                return Ok((known, true));
            }
            let chunk = scan_chunk(self, worker, range.from, range.to)?;
            let new = chunk.matches.len();
            let found = found.fetch_add(new, Ordering::Relaxed) + new;
            let enough = found >= wanted || found > 0 && index >= most;
            Ok((chunk, !enough))
        };
        ordered_map(workers, ranges.len(), interrupt, work, take)
    }
}

/// Counts the line ends before `end`; a scan backwards must know its last line's number.
pub(super) fn count_lines(
    file: &File,
    path: &str,
    end: u64,
    workers: &mut [Worker],
    interrupt: Interrupt<'_>,
) -> Result<u64> {
    const PIECE: u64 = 256 * 1024;
    let mut sum = 0;
    let count = |worker: &mut Worker, index: usize| {
        let from = index as u64 * PIECE;
        let size = PIECE.min(end - from) as usize;
        if next_data(file, from) >= from + size as u64 {
            return Ok((0, true));
        }
        let buffer = worker.room(size);
        let read = read_full(file, path, from, buffer)?;
        Ok((memchr_iter(b'\n', &buffer[..read]).count() as u64, true))
    };
    ordered_map(workers, end.div_ceil(PIECE) as usize, interrupt, count, |count| {
        sum += count;
        Ok(())
    })?;
    Ok(sum)
}
