//! Locks of the standard library without poisoning, with timeouts.
//!
//! On Linux each is a word of memory and a wait in the kernel (futex), with nothing beside it. So a
//! child of a fork, which inherits the locks of its parent as some thread had them, is held up by
//! no lock that it makes itself; locks that queue their waiters in a table of the whole process
//! would hold it up wherever a thread was at that table.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, TryLockError};
use std::time::{Duration, Instant};

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Mutual exclusion.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes a free lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        taken(self.0.try_lock())
    }

    /// Waits for the lock for some time.
    pub fn try_lock_for(&self, time: Duration) -> Option<MutexGuard<'_, T>> {
        try_for(time, || self.try_lock())
    }

    /// Returns the value without the lock, which nobody else can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Many readers or one writer; readers that come after a writer that waits let it go first.
#[derive(Debug, Default)]
pub struct RwLock<T> {
    lock: std::sync::RwLock<T>,
    /// Writers that wait.
    waiting: AtomicUsize,
}

/// A writer that waits, until it is dropped.
#[derive(Debug)]
pub struct WaitingWriter<'a>(&'a AtomicUsize);

impl Drop for WaitingWriter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> RwLock<T> {
    /// Makes a free lock.
    pub const fn new(value: T) -> Self {
        Self { lock: std::sync::RwLock::new(value), waiting: AtomicUsize::new(0) }
    }

    /// Keeps readers from taking the lock before a writer that is to try for it.
    ///
    /// Whoever reads must not wait to read once more: it would wait for the writer, and the writer
    /// for it.
    pub fn wait_to_write(&self) -> WaitingWriter<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingWriter(&self.waiting)
    }

    /// Takes the lock for reading if nobody writes or waits to.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let is_free = self.waiting.load(Ordering::Relaxed) == 0;
        is_free.then(|| taken(self.lock.try_read())).flatten()
    }

    /// Waits for some time until nobody writes or waits to.
    pub fn try_read_for(&self, time: Duration) -> Option<RwLockReadGuard<'_, T>> {
        try_for(time, || self.try_read())
    }

    /// Waits for some time until nobody reads or writes.
    pub fn try_write_for(&self, time: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        try_for(time, || taken(self.lock.try_write()))
    }
}

fn taken<G>(tried: Result<G, TryLockError<G>>) -> Option<G> {
    match tried {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Longest pause between two tries: what a lock that was let go may stay unseen.
const PAUSE: Duration = Duration::from_millis(1);

/// Tries again and again: the locks of the standard library cannot be waited for up to a time.
fn try_for<G>(time: Duration, take: impl Fn() -> Option<G>) -> Option<G> {
    if let Some(guard) = take() {
        return Some(guard);
    }
    let deadline = Instant::now() + time;
    let mut pause = Duration::from_micros(10);
    loop {
        let guard = take();
        if guard.is_some() || Instant::now() >= deadline {
            return guard;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
}

/// Waits for what another thread tells.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Makes one that nobody waits for.
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    /// Lets go of the lock until it is told.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::wait`], up to a time.
    pub fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Instant,
    ) -> MutexGuard<'a, T> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.0.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A lock without a value that can be waited for up to a deadline.
#[derive(Debug, Default)]
pub struct TimedLock {
    taken: Mutex<bool>,
    free: Condvar,
}

/// Guard of a [`TimedLock`], which frees it when it is dropped.
#[derive(Debug)]
pub struct TimedLockGuard<'a>(&'a TimedLock);

impl TimedLock {
    /// Waits for the lock up to a deadline; none when it is not free by then.
    pub fn lock_until(&self, deadline: Instant) -> Option<TimedLockGuard<'_>> {
        let mut taken = self.taken.lock();
        while *taken {
            if Instant::now() >= deadline {
                return None;
            }
            taken = self.free.wait_until(taken, deadline);
        }
        *taken = true;
        Some(TimedLockGuard(self))
    }
}

impl Drop for TimedLockGuard<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::wait_for;

    #[test]
    fn readers_that_overlap_do_not_keep_a_writer_out() {
        let (lock, started) = (RwLock::new(()), Instant::now());
        let is_late = || started.elapsed() > Duration::from_secs(20);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let guard = lock.try_read_for(Duration::from_secs(1));
                        std::thread::sleep(Duration::from_millis(20));
                        drop(guard);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            let waiting = lock.wait_to_write();
            let written = wait_for(&is_late, |slice| lock.try_write_for(slice)).map(drop);
            drop(waiting);
            done.store(true, Ordering::Relaxed);
            assert!(written.is_ok(), "the writer waited for {:?}", started.elapsed());
        });
        assert!(lock.try_read().is_some());
    }
}
