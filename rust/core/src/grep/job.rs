//! Hands the chunks of a file to a few threads and collects their findings in order.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use memchr::memchr_iter;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::chunk::{Chunk, Worker};
use super::cursor::read_full;
use super::line_matcher::Finder;
use super::scan_plan::Part;
use crate::error::{Error, Interrupt, Result};
use crate::files::platform::Lease;

/// A step of a scan: some parts, scanned in parallel and taken in order.
pub(super) struct Round<'s> {
    pub file: &'s File,
    pub lease: Option<&'s Lease>,
    pub path: &'s str,
    pub finder: &'s Finder,
    pub end: u64,
    pub build: bool,
}

impl Round<'_> {
    /// Scans the parts and gives what is found to `take` in order.
    ///
    /// It ends with the part in which `wanted` matches are reached, or any if `most` parts are
    /// scanned; without a match it goes on to the end.
    pub fn run(
        &self,
        parts: &[Part],
        workers: &mut [Worker],
        (most, wanted): (usize, usize),
        interrupt: Interrupt<'_>,
        take: impl FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        let found = AtomicUsize::new(0);
        let work = |worker: &mut Worker, index: usize| {
            let part = parts[index];
            if let Some(known) = part.known() {
                return Ok((known, true));
            }
            let chunk = worker.scan(self, part.from, part.to)?;
            let new = chunk.matches.len();
            let found = found.fetch_add(new, Ordering::Relaxed) + new;
            let enough = found >= wanted || found > 0 && index >= most;
            Ok((chunk, !enough))
        };
        share(workers, parts.len(), interrupt, work, take)
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
        let buffer = worker.buffer(size);
        let read = read_full(file, path, from, buffer)?;
        Ok((memchr_iter(b'\n', &buffer[..read]).count() as u64, true))
    };
    share(workers, end.div_ceil(PIECE) as usize, interrupt, count, |count| {
        sum += count;
        Ok(())
    })?;
    Ok(sum)
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

/// Findings that may wait for one before them; bounds what is kept of them.
const AHEAD: usize = 8;

/// Runs `work` for `0..count` in rising order, a worker a thread, until one says `false`: enough;
/// gives what comes of it to `take`, in the same order.
///
/// Everything begun is finished and taken, so there are no gaps, and the first error ends it.
/// The calling thread works too, and it alone takes and asks `interrupt`.
pub(crate) fn share<W: Send, T: Send>(
    workers: &mut [W],
    count: usize,
    interrupt: Interrupt<'_>,
    work: impl Fn(&mut W, usize) -> Result<(T, bool)> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let Some((own, others)) = workers.split_first_mut() else {
        return Ok(());
    };
    let queue = Queue::new(count);
    let run = |worker: &mut W, index| {
        let outcome = work(worker, index);
        let more = matches!(outcome, Ok((_, true)));
        queue.finish(index, outcome.map(|(done, _)| done), more);
    };
    std::thread::scope(|scope| {
        // Whatever ends this thread's part, nobody waits for it.
        let _over = Over(&queue);
        // Where no thread can be had, the calling one does all the work.
        for worker in others.iter_mut().take(count.saturating_sub(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                let _over = Over(&queue);
                while let Next::Work(index) = queue.next(false) {
                    run(worker, index);
                }
            });
        }
        loop {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            match queue.next(true) {
                Next::Take(done) => take(done?)?,
                Next::Work(index) => run(own, index),
                Next::Over => return Ok(()),
            }
        }
    })
}

/// Work handed out in order, and what came of it until it is taken in order.
struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// What is handed out next, and what ends it.
    next: usize,
    count: usize,
    /// What is taken next: `done` begins with it.
    taken: usize,
    done: [Option<Result<T>>; AHEAD],
    /// A thread came to no end.
    broken: bool,
}

enum Next<T> {
    Take(Result<T>),
    Work(usize),
    Over,
}

/// Ends the work when a thread leaves, by a panic too: the others would wait for it for ever.
struct Over<'q, T>(&'q Queue<T>);

impl<T> Drop for Over<'_, T> {
    fn drop(&mut self) {
        self.0.end(std::thread::panicking());
    }
}

impl<T> Queue<T> {
    fn new(count: usize) -> Self {
        let done = std::array::from_fn(|_| None);
        let state = State { next: 0, count, taken: 0, done, broken: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to do; only who `takes` is given what is done, and that first.
    fn next(&self, takes: bool) -> Next<T> {
        let mut state = self.lock();
        loop {
            let State { next, count, taken, .. } = *state;
            let first = taken % AHEAD;
            if takes && let Some(done) = state.done[first].take() {
                state.taken += 1;
                self.changed.notify_all();
                return Next::Take(done);
            }
            if next < count && next < taken + AHEAD {
                state.next += 1;
                return Next::Work(next);
            }
            if next >= count && (!takes || taken == next) || state.broken {
                return Next::Over;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, index: usize, outcome: Result<T>, more: bool) {
        let mut state = self.lock();
        state.done[index % AHEAD] = Some(outcome);
        if !more {
            state.count = state.next;
        }
        self.changed.notify_all();
    }

    fn end(&self, broken: bool) {
        let mut state = self.lock();
        state.count = state.next;
        state.broken |= broken;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Shares a hundred pieces of work, of which some take long; gives what was taken.
    fn taken(
        threads: usize,
        work: impl Fn(usize) -> Result<(usize, bool)> + Sync,
    ) -> (Vec<usize>, Result<()>) {
        let (mut workers, mut all) = (vec![(); threads], Vec::new());
        let slow = |(): &mut (), index: usize| {
            if index % 7 == 3 {
                std::thread::sleep(Duration::from_millis(2));
            }
            work(index)
        };
        let done = share(&mut workers, 100, &|| false, slow, |index| {
            all.push(index);
            Ok(())
        });
        (all, done)
    }

    #[test]
    fn findings_are_taken_in_order_and_none_is_left_out() {
        for threads in [1, 2, 5] {
            let (all, done) = taken(threads, |index| Ok((index, true)));
            assert!(done.is_ok() && all.iter().copied().eq(0..100));
            let (all, done) = taken(threads, |index| Ok((index, index != 40)));
            assert!(done.is_ok() && all.len() > 40 && all.iter().copied().eq(0..all.len()));
            let failing =
                |index| if index == 40 { Err(Error::Interrupted) } else { Ok((index, true)) };
            let (all, done) = taken(threads, failing);
            assert!(done.is_err() && all.iter().copied().eq(0..40));
        }
    }

    #[test]
    fn no_worker_is_far_ahead_of_what_is_taken() {
        let (ahead, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |(): &mut (), index: usize| {
            ahead.fetch_max(index - next.load(Ordering::SeqCst), Ordering::SeqCst);
            Ok(((), true))
        };
        let take = |()| {
            std::thread::sleep(Duration::from_micros(100));
            next.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        share(&mut [(); 4], 200, &|| false, work, take).unwrap();
        assert!(ahead.into_inner() <= AHEAD);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_elsewhere_leaves_nobody_waiting() {
        let own = std::thread::current().id();
        let work = |(): &mut (), index| {
            std::thread::sleep(Duration::from_millis(1));
            assert!(std::thread::current().id() == own, "elsewhere");
            Ok((index, true))
        };
        let _ = share(&mut [(); 2], 100, &|| false, work, |_: usize| Ok(()));
    }
}
