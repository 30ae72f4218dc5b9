//! Platform layer: opening beneath a folder, atomic renames, change notification, mapped reads.
//!
//! Nothing else in the core names a type or a call of a system. What each system can do by itself is
//! in `unix.rs` and `windows/`, under the same names: handles, flags, error numbers, the calls on one
//! name in an open folder. [`Platform`] is what is done in several ways.
//! [`Portable`](portable::Portable) needs only those calls.
//! [`Linux`](linux::Linux) asks its kernel for more, and does as `Portable` where an old kernel, a
//! container or a file system refuses. [`MacOs`](macos::MacOs) is `Portable` but for what flushes a
//! disk there. [`Windows`](windows::Windows) renames without replacing. What is guaranteed of a
//! memory rests on `Portable`; what is better with `Linux` is the time that it takes.

mod file_info;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_vendor = "apple")]
pub(crate) mod macos;
pub(crate) mod portable;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Deref;

pub use file_info::Stat;
pub(crate) use file_info::{FileInfo, FileType};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{
    AsHandle, Errno, FileExt, FolderEntries, FolderEntry, Handle, HandleRef, Inheritable,
    OpenFlags, copy_metadata, home, link, make_folder, make_root, next_data, open_at, open_path,
    real_path, remove_folder, rename, stat, stat_at, stat_path, stored_bytes, sync_data, sync_file,
    try_lock, unlink, unlock,
};

/// The system that this is compiled for.
#[cfg(target_os = "linux")]
pub(crate) type System = linux::Linux;
/// The system that this is compiled for.
#[cfg(target_vendor = "apple")]
pub(crate) type System = macos::MacOs;
/// The system that this is compiled for.
#[cfg(windows)]
pub(crate) type System = windows::Windows;
/// The system that this is compiled for.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
pub(crate) type System = portable::Portable;

/// See [`FolderWatch`].
pub(crate) type Watch = <System as Platform>::Watch;
/// See [`ReadLease`].
pub(crate) type Lease = <System as Platform>::Lease;
/// See [`ReadLease::window`].
pub(crate) type Window<'l> = <Lease as ReadLease>::Window<'l>;

/// What a call of the system returns.
pub(crate) type SysResult<T> = Result<T, Errno>;

/// How a folder on the way to a file is opened.
pub(crate) const TRAVERSE: OpenFlags =
    System::PASS_THROUGH.union(OpenFlags::DIRECTORY).union(OpenFlags::CLOEXEC);

/// A name in an open folder.
pub(crate) type NameAt<'a> = (HandleRef<'a>, &'a str);

/// The system calls that differ between platforms.
pub(crate) trait Platform {
    type Watch: FolderWatch;
    type Lease: ReadLease;

    /// The access with which a folder on the way to a file is opened. A folder that can be passed
    /// through need not be one that can be listed, if the system knows the difference.
    const PASS_THROUGH: OpenFlags;

    /// Opens a path below a folder, through no link and never out of it; with `CREATE`, what is
    /// made is ours alone to read.
    fn open_beneath(path: NameAt<'_>, flags: OpenFlags) -> SysResult<Handle>;

    /// Exchanges two names in one step; `NOSYS` where that cannot be done.
    fn exchange(one: NameAt<'_>, other: NameAt<'_>) -> SysResult<()>;

    /// Gives a file a name that is free, in one step; `EXIST` where it is not, `NOSYS` where that
    /// cannot be done.
    fn rename_noreplace(from: NameAt<'_>, to: NameAt<'_>) -> SysResult<()>;

    /// Makes the names in a folder durable.
    fn sync_folder(folder: HandleRef<'_>) -> SysResult<()>;

    /// Starts reading a part of a file in the background; a hint, which may do nothing.
    fn readahead(file: HandleRef<'_>, start: u64, length: NonZeroU64);

    /// Lets all other threads go before this one; a hint, which may do nothing.
    fn lower_thread_priority();

    /// Returns the name of the file system of an open folder if the kernel makes up what is in it,
    /// so that nothing can be kept there.
    fn pseudo_file_system(_: HandleRef<'_>) -> Option<&'static str> {
        None
    }
}

/// A queue of changes below the root. Where there is none, each call compares stamps.
pub(crate) trait FolderWatch: Sized + Debug + Send + Sync {
    /// Starts without any folder; none where the system has no watch to give.
    fn new() -> Option<Self>;

    /// Watches one folder, given its handle, or why it could not be opened; call it before listing
    /// the folder.
    ///
    /// Returns false when the system has no watch left for it, or would not report everything.
    fn add(&self, folder: &str, handle: SysResult<HandleRef<'_>>) -> bool;

    /// Returns and forgets what happened since the last call.
    fn drain(&mut self) -> Changes;

    /// Closes it in a child of a fork: closes the queue, which is the parent's, if the child
    /// inherited it and has not closed it since, when the number may stand for a file of its own.
    fn abandon(self, is_inherited: bool);
}

/// The right to map a file, until somebody wants to write it. Who has none reads.
pub(crate) trait ReadLease: Sized + Debug + Sync {
    /// A mapped part of the file, which nobody changes while it is open.
    type Window<'l>: Deref<Target = [u8]> + Debug
    where
        Self: 'l;

    /// Takes a lease on an open file; none where that cannot be had.
    fn take(open: &File) -> Option<Self>;

    /// Maps `size` bytes from `from`, or up to the end; `None` when the lease is no longer held.
    fn window(&self, from: u64, size: usize) -> Option<Self::Window<'_>>;

    /// Returns whether somebody has the file open for writing, or mapped for it; none where the
    /// system does not know.
    fn is_open_for_writing(open: &File) -> Option<bool>;
}

/// Files and folders that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    /// These files, and everything below these folders.
    Some {
        /// Paths of files.
        files: BTreeSet<String>,
        /// Paths of folders.
        folders: BTreeSet<String>,
    },
    /// Anything: there is no watch, or it lost count.
    Unknown,
}

impl Changes {
    /// Returns no change.
    pub(crate) fn none() -> Self {
        Self::Some { files: BTreeSet::new(), folders: BTreeSet::new() }
    }

    /// Returns whether nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Some { files, folders } if files.is_empty() && folders.is_empty())
    }
}
