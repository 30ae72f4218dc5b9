//! Hands the chunks of a file to a few threads and collects their findings in order.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memchr::memchr_iter;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::MAX_BATCH;
use super::lines::{Chunk, Finder, Worker};
use super::parts::Part;
use super::resume::read_full;
use crate::error::{Error, Interrupt, Result};

/// A step of a scan: some parts, scanned in parallel, then taken together.
pub(super) struct Round<'s> {
    pub file: &'s File,
    pub path: &'s str,
    pub finder: &'s Finder,
    pub end: u64,
    pub build: bool,
}

impl Round<'_> {
    /// Scans the parts in their order, fewer of them once a batch is full.
    pub fn run(
        &self,
        parts: &[Part],
        workers: &mut [Worker],
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Chunk>> {
        let found = AtomicUsize::new(0);
        let mut done = share(workers, parts.len(), interrupt, |worker, index| {
            let part = parts[index];
            if let Some(known) = part.known() {
                return Ok(((index, known), true));
            }
            let chunk = worker.scan(self, part.from, part.to)?;
            let before = found.fetch_add(chunk.matches.len(), Ordering::Relaxed);
            let more = before + chunk.matches.len() < MAX_BATCH;
            Ok(((index, chunk), more))
        })?;
        done.sort_unstable_by_key(|(index, _)| *index);
        Ok(done.into_iter().map(|(_, chunk)| chunk).collect())
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
    let counts = share(workers, end.div_ceil(PIECE) as usize, interrupt, |worker, index| {
        let from = index as u64 * PIECE;
        let size = PIECE.min(end - from) as usize;
        if next_data(file, from) >= from + size as u64 {
            return Ok((0, true));
        }
        let buffer = worker.buffer(size);
        let read = read_full(file, path, from, buffer)?;
        Ok((memchr_iter(b'\n', &buffer[..read]).count() as u64, true))
    })?;
    Ok(counts.into_iter().sum())
}

/// The first byte at or after `from` that is stored; what lies between reads as NUL.
pub(super) fn next_data(file: &File, from: u64) -> u64 {
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(at) => at,
        // Nothing but a hole up to the end of the file.
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => from,
    }
}

/// Runs `work` for `0..count` in rising order, a worker a thread, until one says `false`: enough.
///
/// Indices are handed out in order and every one handed out is finished, so
/// what comes back, in any order, has no gaps. The calling thread works too and asks `interrupt`.
pub(crate) fn share<W: Send, T: Send>(
    workers: &mut [W],
    count: usize,
    interrupt: Interrupt<'_>,
    work: impl Fn(&mut W, usize) -> Result<(T, bool)> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let results = Mutex::new(Ok(Vec::new()));
    let finish = |outcome: Result<T>| {
        let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (outcome, &mut *results) {
            (Ok(done), Ok(all)) => all.push(done),
            (Err(error), all @ Ok(_)) => *all = Err(error),
            _ => {}
        }
    };
    let run = |worker: &mut W, asks: bool| {
        while !stop.load(Ordering::Relaxed) {
            if asks && interrupt() {
                stop.store(true, Ordering::Relaxed);
                return finish(Err(Error::Interrupted));
            }
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            match work(worker, index) {
                Ok((done, more)) => {
                    if !more {
                        stop.store(true, Ordering::Relaxed);
                    }
                    finish(Ok(done));
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    finish(Err(error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let Some((own, others)) = workers.split_first_mut() else {
            return;
        };
        // Where no thread can be had, the calling one does all the work.
        for worker in others.iter_mut().take(count.saturating_sub(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || run(worker, false));
        }
        run(own, true);
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
