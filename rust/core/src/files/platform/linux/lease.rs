//! Memory-mapped reads under a Linux read lease, which keeps writers out meanwhile.
//!
//! Copying a file out of the page cache costs more than searching it. Mapped, it is searched where
//! it lies; but a mapped file that another process cuts short ends this one with SIGBUS, and one
//! that it overwrites changes under a `&[u8]`. So a file is mapped only under a read lease
//! (fcntl(2), "Leases"): the kernel grants one when nobody has the file open for writing, and
//! whoever wants to write or cut it then waits until the lease is given back; who opens it with
//! `O_NONBLOCK` is told to try again. It is given back when the open windows are closed, some
//! milliseconds later. Without a lease the file is read.

use std::fs::File;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::is_local;
use crate::files::platform::ReadLease;
use crate::sync::Mutex;

/// A window begins at a multiple of this, the page of every processor that Linux runs on.
const MAP_ALIGNMENT: u64 = 64 << 10;

/// Not in the crate libc; from Linux's asm-generic/fcntl.h.
const F_SETSIG: i32 = 10;

/// The right to map a file, until somebody wants to write it.
#[derive(Debug)]
pub(crate) struct FileLease {
    /// Opened by us: a lease belongs to the open file, and nobody else may give this one back.
    file: File,
    /// The size that the file keeps while this is held.
    size: u64,
    state: Mutex<LeaseState>,
}

#[derive(Debug, Default)]
struct LeaseState {
    /// How many windows are open.
    windows: usize,
    /// No more are to be opened: somebody waits for the lease, or has it.
    revoked: bool,
}

/// A part of a leased file.
#[derive(Debug)]
pub(crate) struct MappedWindow<'l> {
    lease: &'l FileLease,
    start: *mut std::ffi::c_void,
    mapped: usize,
    /// What was asked for begins so far into what is mapped.
    lead: usize,
}

impl ReadLease for FileLease {
    type Window<'l> = MappedWindow<'l>;

    /// Takes a lease on an open file; `None` where somebody writes it, where it is not ours, where
    /// the kernel does not see everybody who may write it, and where it has holes.
    fn take(open: &File) -> Option<Self> {
        if !is_local(open) {
            return None;
        }
        let file = File::open(format!("/proc/self/fd/{}", open.as_raw_fd())).ok()?;
        // Whoever waits for the lease is announced by a signal. The usual one ends a process; this
        // one is ignored unless asked for. We ask the kernel instead, before each window.
        fcntl(&file, F_SETSIG, libc::SIGURG)?;
        fcntl(&file, libc::F_SETLEASE, libc::F_RDLCK)?;
        let mut lease = Self { file, size: 0, state: Mutex::default() };
        let metadata = lease.file.metadata().ok()?;
        lease.size = metadata.len();
        // On tmpfs a hole takes memory when it is read through a mapping.
        (metadata.blocks() >= metadata.len() / 512).then_some(lease)
    }

    fn window(&self, from: u64, size: usize) -> Option<MappedWindow<'_>> {
        let start = from - from % MAP_ALIGNMENT;
        let lead = (from - start) as usize;
        let mapped = (self.size.checked_sub(start)?).min((lead + size) as u64) as usize;
        if mapped <= lead {
            return None;
        }
        let mut state = self.state.lock();
        state.revoked |= fcntl(&self.file, libc::F_GETLEASE, 0) != Some(libc::F_RDLCK);
        if state.revoked {
            state.release_if_due(&self.file);
            return None;
        }
        let (at, read) = (std::ptr::null_mut(), ProtFlags::READ);
        // SAFETY: a mapping at a place the kernel chooses touches no memory of ours.
        #[expect(unsafe_code, reason = "mmap")]
        let start = unsafe { mmap(at, mapped, read, MapFlags::SHARED, &self.file, start) }.ok()?;
        state.windows += 1;
        Some(MappedWindow { lease: self, start, mapped, lead })
    }

    fn is_open_for_writing(open: &File) -> Option<bool> {
        if !is_local(open) {
            return None;
        }
        fcntl(open, F_SETSIG, libc::SIGURG)?;
        if fcntl(open, libc::F_SETLEASE, libc::F_RDLCK).is_some() {
            fcntl(open, libc::F_SETLEASE, libc::F_UNLCK);
            return Some(false);
        }
        let refused = std::io::Error::last_os_error();
        (refused.raw_os_error() == Some(libc::EAGAIN)).then_some(true)
    }
}

impl LeaseState {
    /// Gives the lease back if that is due and no window needs it.
    fn release_if_due(&self, file: &File) {
        if self.revoked && self.windows == 0 {
            let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
        }
    }
}

impl Drop for FileLease {
    fn drop(&mut self) {
        self.state.get_mut().revoked = true;
        self.state.get_mut().release_if_due(&self.file);
    }
}

// SAFETY: the mapping is read only, and belongs to the window alone until it is dropped.
#[expect(unsafe_code, reason = "a mapping may be read from any thread")]
unsafe impl Send for MappedWindow<'_> {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a mapping may be read from any thread")]
unsafe impl Sync for MappedWindow<'_> {}

impl Deref for MappedWindow<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `mapped` bytes are mapped from `start` on, all within the file: `window` cuts
        // them at the size that was read under the lease. While a window is open the lease is not
        // given back, so nobody has the file open for writing, and it neither shrinks nor changes.
        // (The kernel takes the lease from who does not give it back in its lease-break-time, 45
        // seconds: from a process that is stopped, for a window takes milliseconds. Who then cuts
        // the file, and a disk that cannot read it, end us by SIGBUS.)
        #[expect(unsafe_code, reason = "mmap")]
        let all = unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.mapped) };
        &all[self.lead..]
    }
}

impl Drop for MappedWindow<'_> {
    fn drop(&mut self) {
        // SAFETY: what `window` has mapped, once; every slice of it has borrowed this window.
        #[expect(unsafe_code, reason = "munmap")]
        let unmapped = unsafe { munmap(self.start, self.mapped) };
        debug_assert!(unmapped.is_ok());
        let mut state = self.lease.state.lock();
        state.windows -= 1;
        state.release_if_due(&self.lease.file);
    }
}

/// What a call of fcntl(2) with a number answers, if it does what it is asked.
fn fcntl(file: &File, command: i32, argument: i32) -> Option<i32> {
    // SAFETY: the descriptor is open, and the commands used here take and give numbers.
    #[expect(unsafe_code, reason = "not in rustix")]
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    (answer >= 0).then_some(answer)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::files::root::Root;
    use crate::files::write_rules::WriteRules;
    use crate::files::{Expected, Files};

    fn file_of(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    /// A lease that is to be had; none where the kernel gives none (`tests/refuse.py`).
    fn take(file: &File) -> Option<FileLease> {
        let (_folder, path) = file_of(b"text");
        let other = File::open(path).unwrap();
        let given = fcntl(&other, libc::F_SETLEASE, libc::F_RDLCK).is_some();
        let lease = FileLease::take(file);
        assert_eq!(lease.is_some(), given);
        lease
    }

    fn some_bytes(size: usize) -> Vec<u8> {
        (0..size).map(|at| (at * 31 % 251) as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_window_shows_what_a_read_gives(from in 0..300_000u64, size in 0..300_000usize) {
            let bytes = some_bytes(200_000);
            let (_folder, path) = file_of(&bytes);
            let file = File::open(path).unwrap();
            let Some(lease) = take(&file) else { return Ok(()) };
            let there = bytes.len().min(from as usize)..bytes.len().min(from as usize + size);
            match lease.window(from, size) {
                Some(window) => prop_assert_eq!(&window[..], &bytes[there]),
                None => prop_assert!(there.is_empty()),
            }
        }
    }

    #[test]
    fn what_somebody_writes_is_not_leased() {
        let (_folder, path) = file_of(b"text");
        let file = File::open(&path).unwrap();
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(FileLease::take(&file).is_none());
        drop(writer);
        drop(take(&file));
        // Given back when dropped: this would wait for ever.
        OpenOptions::new().write(true).open(&path).unwrap();
    }

    #[test]
    fn what_has_holes_is_not_leased() {
        let (_folder, path) = file_of(b"text");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
        assert!(FileLease::take(&File::open(&path).unwrap()).is_none());
    }

    #[test]
    fn leases_on_one_open_file_are_apart() {
        let (_folder, path) = file_of(b"text");
        let file = File::open(&path).unwrap();
        let Some(lease) = take(&file) else { return };
        let window = lease.window(0, 4).unwrap();
        drop(FileLease::take(&file.try_clone().unwrap()));
        assert!(lease.window(0, 4).is_some());
        drop(window);
    }

    #[test]
    fn our_own_append_is_done_when_the_window_is_closed() {
        let (folder, path) = file_of(b"{}\n");
        let jsonl = folder.path().join("messages.jsonl");
        fs::rename(path, &jsonl).unwrap();
        let files = Files::new(Root::open(folder.path(), false).unwrap(), WriteRules::default());
        let file = File::open(&jsonl).unwrap();
        let Some(lease) = take(&file) else { return };
        let window = lease.window(0, 3).unwrap();
        std::thread::scope(|scope| {
            let append = || files.append("messages.jsonl", b"{\"n\":1}", Expected::Any);
            let appended = scope.spawn(append);
            while lease.window(0, 1).is_some() {
                std::thread::yield_now();
            }
            assert_eq!(window[..], *b"{}\n");
            drop(window);
            appended.join().unwrap().unwrap();
        });
        assert_eq!(fs::read(&jsonl).unwrap(), b"{}\n{\"n\":1}\n");
    }

    #[test]
    fn who_cuts_the_file_waits_for_the_open_windows_only() {
        let bytes = some_bytes(100_000);
        let (_folder, path) = file_of(&bytes);
        let file = File::open(&path).unwrap();
        let Some(lease) = take(&file) else { return };
        let window = lease.window(0, bytes.len()).unwrap();
        std::thread::scope(|scope| {
            let cut = scope.spawn(|| {
                let mut writer = OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
                writer.write_all(b"new").unwrap();
            });
            while lease.window(0, 1).is_some() {
                std::thread::yield_now();
            }
            // time enough to cut it, for whoever may
            std::thread::sleep(std::time::Duration::from_millis(30));
            assert!(!cut.is_finished());
            assert_eq!(window[..], bytes[..]);
            drop(window);
            cut.join().unwrap();
        });
        assert!(lease.window(0, 1).is_none());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
