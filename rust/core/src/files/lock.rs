//! Writer lock of a root, across threads and processes (`flock`). Readers never wait.

use std::fs::File;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, wait_for};
use crate::files::open::{READ_FLAGS, is_only_name, open_regular, refusal};
use crate::files::paths::OWN;
use crate::files::platform::{AsHandle as _, Inheritable, OpenFlags, sync_file, try_lock, unlock};
use crate::files::root::Root;
use crate::sync::{TimedLock, TimedLockGuard};

/// How long a writer waits for another before it gives up.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The lock of one root: a turn for our threads, `flock` for other processes.
///
/// `flock` is on a file of its own: locking a data file would lock an inode that
/// the next save replaces, and closing any handle on it would drop a POSIX lock.
/// The kernel frees it when its holder dies, so that a lock file is there says nothing.
#[derive(Debug)]
pub struct Lock {
    threads: TimedLock,
    /// The handle that is locked, or is about to be: a child of a fork inherits it.
    open: Inheritable,
    /// Returns whether to go on waiting: most calls that take the lock have no other way to ask.
    pub(crate) interrupt: fn() -> bool,
}

impl Default for Lock {
    fn default() -> Self {
        Self { threads: TimedLock::default(), open: Inheritable::default(), interrupt: || false }
    }
}

/// The right to write, held until it is dropped.
#[derive(Debug)]
pub struct LockGuard<'a> {
    /// The lock file, which also holds the list of [`crate::files::recovery_list`].
    pub(crate) file: File,
    lock: &'a Lock,
    _thread: TimedLockGuard<'a>,
}

impl Lock {
    /// Ends waiting when `interrupt` says so.
    #[must_use]
    pub fn interrupted_by(self, interrupt: fn() -> bool) -> Self {
        Self { interrupt, ..self }
    }

    /// Waits up to [`LOCK_TIMEOUT`] for the lock of `root`.
    ///
    /// # Errors
    /// [`Error::Busy`]; [`Error::Interrupted`]; [`Error::Refused`] when `.commonplace` is not a
    /// real folder; [`Error::Io`], for instance on a read-only file system.
    pub fn acquire(&self, root: &Root) -> Result<LockGuard<'_>> {
        self.acquire_within(root, LOCK_TIMEOUT)
    }

    /// Waits for the lock of `root`, at most so long.
    ///
    /// # Errors
    /// Those of [`Self::acquire`].
    pub fn acquire_within(&self, root: &Root, longest: Duration) -> Result<LockGuard<'_>> {
        let deadline = Instant::now() + longest;
        let busy = || Error::Busy {
            path: root.path().to_string_lossy().into_owned(),
            seconds: longest.as_secs(),
        };
        let thread = wait_for(&self.interrupt, |slice| {
            let taken = self.threads.lock_until(deadline.min(Instant::now() + slice));
            (taken.is_some() || Instant::now() >= deadline).then_some(taken)
        })?
        .ok_or_else(busy)?;
        let mut pause = Duration::from_micros(100);
        loop {
            if let Some(file) = self.try_flock(root)? {
                return Ok(LockGuard { file, lock: self, _thread: thread });
            }
            if Instant::now() >= deadline {
                return Err(busy());
            }
            if (self.interrupt)() {
                return Err(Error::Interrupted);
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Takes the lock of `root` if nobody has it.
    ///
    /// # Errors
    /// Those of [`Lock::acquire`], but for [`Error::Busy`].
    pub fn try_acquire(&self, root: &Root) -> Result<Option<LockGuard<'_>>> {
        let Some(thread) = self.threads.lock_until(Instant::now()) else { return Ok(None) };
        Ok(self.try_flock(root)?.map(|file| LockGuard { file, lock: self, _thread: thread }))
    }

    /// Takes the lock if it is free. A handle of its own each time, so that a
    /// forked child does not believe that it holds what its parent holds.
    fn try_flock(&self, root: &Root) -> Result<Option<File>> {
        let path = format!("{OWN}/lock");
        let fail = |e| refusal("lock", &path, e).below(root.path());
        let dir = root.own_dir("")?;
        let flags = READ_FLAGS | OpenFlags::RDWR | OpenFlags::CREATE;
        let file = match open_regular((dir.as_handle(), "lock"), flags, &path) {
            // the folder was deleted since it was opened
            Err(Error::NotFound { .. }) => return Ok(None),
            file => file.map_err(|error| error.below(root.path()))?,
        };
        self.open.set(&file);
        let taken = match try_lock(&file) {
            // Someone may have deleted `.commonplace` in between, and another writer
            // have locked the new file; then ours guards nothing.
            Ok(true) => is_only_name((root.handle(), &path), &file).map_err(fail),
            Ok(false) => Ok(false),
            Err(e) => Err(fail(e)),
        };
        if matches!(taken, Ok(true)) {
            return Ok(Some(file));
        }
        self.open.forget();
        taken.map(|_| None)
    }

    /// In a child of the process that has this lock: closes the handle that was inherited, which
    /// would else keep the root locked if the parent died. It releases nothing.
    pub(crate) fn close_inherited(&self, root: &Root) {
        let name = format!("{OWN}/lock");
        let is_lock = |file: &File| is_only_name((root.handle(), &name), file).unwrap_or(false);
        self.open.close_inherited(is_lock);
    }
}

impl LockGuard<'_> {
    /// Makes what the lock file holds durable.
    pub(crate) fn sync(&self) -> Result<()> {
        sync_file(&self.file).map_err(|e| Error::io("write", format!("{OWN}/lock"), e))
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        // Closing is not enough: a child forked meanwhile shares the handle.
        unlock(&self.file);
        self.lock.open.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_in_the_lock_file_is_no_lock_but_a_holder_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(OWN)).unwrap();
        std::fs::write(dir.path().join(OWN).join("lock"), "999999").unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let lock = Lock::default();
        let guard = lock.acquire(&root).unwrap();
        let other = Lock::default();
        assert!(other.try_flock(&root).unwrap().is_none());
        drop(guard);
        assert!(other.try_flock(&root).unwrap().is_some());
    }

    // there is no fork on Windows
    #[cfg(unix)]
    #[test]
    fn a_child_closes_the_handle_it_inherits_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let (lock, other) = (Lock::default(), Lock::default());
        let file = lock.try_flock(&root).unwrap().unwrap();
        // as a fork does: the same open file under another number
        let child = Lock::default();
        child.open.set(&std::mem::ManuallyDrop::new(file.try_clone().unwrap()));
        child.close_inherited(&root);
        child.close_inherited(&root);
        assert!(other.try_flock(&root).unwrap().is_none(), "it is still the parent's");
        drop(file);
        assert!(other.try_flock(&root).unwrap().is_some(), "and nobody's once that is gone");
        let own = File::create(dir.path().join("own")).unwrap();
        child.open.set(&own);
        child.close_inherited(&root);
        assert!(own.metadata().is_ok());
    }

    #[test]
    fn who_waits_may_be_asked_to_stop() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let (lock, other) = (Lock::default().interrupted_by(|| true), Lock::default());
        let begun = Instant::now();
        let fd = other.acquire(&root).unwrap();
        // another process
        assert!(matches!(lock.acquire(&root), Err(Error::Interrupted)));
        drop(fd);
        // another thread
        let _held = lock.acquire(&root).unwrap();
        assert!(matches!(lock.acquire(&root), Err(Error::Interrupted)));
        assert!(begun.elapsed() < LOCK_TIMEOUT / 2);
    }

    // to make a link takes a right on Windows that few users have
    #[cfg(unix)]
    #[test]
    fn the_folder_of_the_lock_is_never_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(OWN)).unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let refused = Lock::default().acquire(&root).unwrap_err();
        assert!(matches!(refused, Error::Refused { code: "symlink", .. }), "{refused}");
        let told = refused.to_string();
        assert!(told.starts_with(&format!("{:?}", dir.path().join(OWN))), "{told}");
        assert!(told.contains("move it away") && !told.contains("name the file"), "{told}");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
