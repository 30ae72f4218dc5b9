//! macOS platform: the portable one, with flushes that reach the disk.

use std::num::NonZeroU64;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::{Errno, Result};

use super::portable::{NoLease, NoWatch, Portable};
use super::{NameAt, Platform};

/// See the module.
#[derive(Debug)]
pub(crate) struct MacOs;

impl Platform for MacOs {
    type Watch = NoWatch;
    type Lease = NoLease;

    const PASS_THROUGH: OFlags = Portable::PASS_THROUGH;

    fn open_beneath(path: NameAt<'_>, flags: OFlags) -> Result<OwnedFd> {
        Portable::open_beneath(path, flags)
    }

    fn exchange(one: NameAt<'_>, other: NameAt<'_>) -> Result<()> {
        Portable::exchange(one, other)
    }

    fn rename_noreplace(from: NameAt<'_>, to: NameAt<'_>) -> Result<()> {
        Portable::rename_noreplace(from, to)
    }

    /// Flushes the cache of the disk as well, which fsync(2) does not do here. The standard library
    /// does the same for files.
    fn sync_folder(folder: BorrowedFd<'_>) -> Result<()> {
        match rustix::fs::fcntl_fullfsync(folder) {
            // a file system that does not know it, of a file server for instance
            Err(Errno::NOTSUP | Errno::INVAL) => Portable::sync_folder(folder),
            done => done,
        }
    }

    fn readahead(file: BorrowedFd<'_>, start: u64, length: NonZeroU64) {
        // if this fails, the read itself waits
        let _ = rustix::fs::fcntl_rdadvise(file, start, length.get());
    }

    fn lower_thread_priority() {
        Portable::lower_thread_priority();
    }
}
