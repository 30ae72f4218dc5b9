//! Linux platform: openat2, renameat2, inotify, read leases.
//!
//! What is refused is done as on any system. That `openat2` is refused is remembered, for it is the
//! kernel or a sandbox that does so; what a file system or a file refuses is asked again.

mod inotify;
mod lease;
mod pseudo;

use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::{Errno, Result};

use super::portable::Portable;
use super::unix::PRIVATE_MODE;
use super::{NameAt, Platform};

/// Set once there has been no `openat2`: the kernel is older than 5.6, or a sandbox says so.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

/// See the module.
#[derive(Debug)]
pub(crate) struct Linux;

impl Platform for Linux {
    type Watch = inotify::Inotify;
    type Lease = lease::FileLease;

    const PASS_THROUGH: OFlags = OFlags::PATH;

    fn open_beneath((dir, path): NameAt<'_>, flags: OFlags) -> Result<OwnedFd> {
        if NO_OPENAT2.load(Ordering::Relaxed) {
            return Portable::open_beneath((dir, path), flags);
        }
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // the call refuses a mode that nothing is made with
        let mode = if flags.contains(OFlags::CREATE) { PRIVATE_MODE } else { Mode::empty() };
        let open = |path| rustix::fs::openat2(dir, path, flags, mode, resolve);
        // EAGAIN: something was renamed while the kernel made sure that we stay
        // beneath. It is rare; a bound keeps a hostile renamer from holding us.
        for _ in 0..128 {
            match open(path) {
                Err(Errno::AGAIN) => {}
                Err(error) if is_unsupported(error, || open("").map(drop)) => {
                    NO_OPENAT2.store(true, Ordering::Relaxed);
                    return Portable::open_beneath((dir, path), flags);
                }
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }

    fn exchange(one: NameAt<'_>, other: NameAt<'_>) -> Result<()> {
        rename(one, other, RenameFlags::EXCHANGE)
    }

    fn rename_noreplace(from: NameAt<'_>, to: NameAt<'_>) -> Result<()> {
        rename(from, to, RenameFlags::NOREPLACE)
    }

    fn sync_folder(folder: BorrowedFd<'_>) -> Result<()> {
        Portable::sync_folder(folder)
    }

    fn readahead(file: BorrowedFd<'_>, start: u64, length: NonZeroU64) {
        // if this fails, the read itself waits
        let _ = rustix::fs::fadvise(file, start, Some(length), Advice::WillNeed);
    }

    /// On Linux a thread has a priority of its own.
    fn lower_thread_priority() {
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
    }

    fn pseudo_file_system(folder: BorrowedFd<'_>) -> Option<&'static str> {
        pseudo::name(folder)
    }
}

/// File systems to which nobody writes but through this kernel.
///
/// Of any other, a file server's above all, the kernel may not see all writers: it then reports too
/// few changes, and gives leases that nobody else knows of. The layers of an overlay must not
/// change beneath it, so that it is as good as they are.
const LOCAL_FILE_SYSTEMS: [u32; 20] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0xF2F5_2010, // F2FS
    0xCA45_1A4E, // bcachefs
    0x2FC1_2FC1, // ZFS
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0x794C_7630, // overlayfs
    0x7371_7368, // SquashFS
    0xE0F5_E1E2, // EROFS
    0x9660,      // ISO 9660
    0x3153_464A, // JFS
    0x5265_4973, // ReiserFS
    0x3434,      // NILFS
    0x2405_1905, // UBIFS
    0x482B,      // HFS+
    0x4D44,      // FAT
    0x2011_BAB0, // exFAT
    0x7366_746E, // NTFS
];

/// Returns whether the kernel sees all who may write a file, or into a folder.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation)] // The widths differ.
fn is_local(open: impl AsFd) -> bool {
    rustix::fs::fstatfs(open)
        .is_ok_and(|system| LOCAL_FILE_SYSTEMS.contains(&(system.f_type as u32)))
}

/// Calls `renameat2`; `NOSYS` also where it is the file system or a sandbox that does not know how.
fn rename(from: NameAt<'_>, to: NameAt<'_>, how: RenameFlags) -> Result<()> {
    let call = |from: NameAt<'_>, to: NameAt<'_>| {
        rustix::fs::renameat_with(from.0, from.1, to.0, to.1, how)
    };
    match call(from, to) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Err(Errno::NOSYS),
        Err(error) if is_unsupported(error, || call((from.0, ""), (to.0, ""))) => Err(Errno::NOSYS),
        done => done,
    }
}

/// Returns whether a call is refused as such, and not for what it was called with: sandboxes say
/// `PERM`, which may be about the file as well. A kernel that knows the call finds no empty name.
fn is_unsupported(error: Errno, call_with_no_name: impl Fn() -> Result<()>) -> bool {
    match error {
        Errno::NOSYS => true,
        Errno::PERM => call_with_no_name() == Err(Errno::PERM),
        _ => false,
    }
}
