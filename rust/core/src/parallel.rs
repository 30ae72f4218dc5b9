//! Parallel map over scoped threads with results in order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;

use crate::error::{Error, Interrupt, Result};

/// Runs two functions at once and returns what both returned; one after the other where no second
/// thread can be had.
pub fn in_parallel<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, &one);
        let second = other();
        let first = match thread.map(ScopedJoinHandle::join) {
            Ok(first) => first.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => one(),
        };
        (first, second)
    })
}

/// Results that may wait for an earlier one: it bounds what is kept in memory.
const MAX_AHEAD: usize = 8;

/// Runs `work` for `0..count` in rising order, a worker a thread, until one says `false`: enough;
/// gives what comes of it to `take`, in the same order.
///
/// Everything begun is finished and taken, so there are no gaps, and the first error ends it.
/// The calling thread works too, and it alone takes and asks `interrupt`.
pub fn ordered_map<W: Send, T: Send>(
    workers: &mut [W],
    count: usize,
    interrupt: Interrupt<'_>,
    work: impl Fn(&mut W, usize) -> Result<(T, bool)> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let Some((own, others)) = workers.split_first_mut() else {
        return Ok(());
    };
    let queue = OrderedQueue::new(count);
    let run = |worker: &mut W, index| {
        let outcome = work(worker, index);
        let more = matches!(outcome, Ok((_, true)));
        queue.finish(index, outcome.map(|(done, _)| done), more);
    };
    std::thread::scope(|scope| {
        // Whatever ends this thread's range, nobody waits for it.
        let _over = EndOnDrop(&queue);
        // Where no thread can be had, the calling one does all the work.
        for worker in others.iter_mut().take(count.saturating_sub(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                let _over = EndOnDrop(&queue);
                while let Step::Work(index) = queue.next(false) {
                    run(worker, index);
                }
            });
        }
        loop {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            match queue.next(true) {
                Step::Take(done) => take(done?)?,
                Step::Work(index) => run(own, index),
                Step::Done => return Ok(()),
            }
        }
    })
}

/// Work handed out in order, and what came of it until it is taken in order.
struct OrderedQueue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
}

struct QueueState<T> {
    /// What is handed out next, and what ends it.
    next: usize,
    count: usize,
    /// What is taken next: `done` begins with it.
    taken: usize,
    done: [Option<Result<T>>; MAX_AHEAD],
    /// A thread came to no end.
    broken: bool,
}

enum Step<T> {
    Take(Result<T>),
    Work(usize),
    Done,
}

/// Ends the work when a thread leaves, by a panic too: the others would wait for it for ever.
struct EndOnDrop<'q, T>(&'q OrderedQueue<T>);

impl<T> Drop for EndOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.end(std::thread::panicking());
    }
}

impl<T> OrderedQueue<T> {
    fn new(count: usize) -> Self {
        let done = std::array::from_fn(|_| None);
        let state = QueueState { next: 0, count, taken: 0, done, broken: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to do; only who `takes` is given what is done, and that first.
    fn next(&self, takes: bool) -> Step<T> {
        let mut state = self.lock();
        loop {
            let QueueState { next, count, taken, .. } = *state;
            let first = taken % MAX_AHEAD;
            if takes && let Some(done) = state.done[first].take() {
                state.taken += 1;
                self.changed.notify_all();
                return Step::Take(done);
            }
            if next < count && next < taken + MAX_AHEAD {
                state.next += 1;
                return Step::Work(next);
            }
            if next >= count && (!takes || taken == next) || state.broken {
                return Step::Done;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, index: usize, outcome: Result<T>, more: bool) {
        let mut state = self.lock();
        state.done[index % MAX_AHEAD] = Some(outcome);
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
    use std::sync::atomic::{AtomicUsize, Ordering};
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
        let done = ordered_map(&mut workers, 100, &|| false, slow, |index| {
            all.push(index);
            Ok(())
        });
        (all, done)
    }

    #[test]
    fn results_come_in_order_without_gaps() {
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
    fn no_worker_runs_far_ahead() {
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
        ordered_map(&mut [(); 4], 200, &|| false, work, take).unwrap();
        assert!(ahead.into_inner() <= MAX_AHEAD);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_in_a_worker_ends_the_wait() {
        let own = std::thread::current().id();
        let work = |(): &mut (), index| {
            std::thread::sleep(Duration::from_millis(1));
            assert!(std::thread::current().id() == own, "elsewhere");
            Ok((index, true))
        };
        let _ = ordered_map(&mut [(); 2], 100, &|| false, work, |_: usize| Ok(()));
    }
}
