//! Windows platform: NT calls relative to open folders, POSIX renames, locks beyond the end of files.
//!
//! The calls have the names of `unix.rs`. A name is one component below an open folder
//! (`NtCreateFile` with `RootDirectory`), so that neither a drive, a device such as `NUL` nor `..`
//! can be meant; a reparse point is opened itself and refused. A file opens only by the spelling that
//! it has on disk, neither in other case nor by its short name.

mod change;
mod errno;
mod file_io;
mod folder_entries;
mod nt_create;
mod open;
mod query;
mod write_check;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub(crate) use std::os::windows::io::{
    AsHandle, BorrowedHandle as HandleRef, OwnedHandle as Handle,
};

pub(crate) use change::{link, make_folder, remove_folder, rename, unlink};
pub(crate) use errno::Errno;
pub(crate) use file_io::{
    FileExt, copy_metadata, next_data, stored_bytes, sync_data, sync_file, try_lock, unlock,
};
pub(crate) use folder_entries::{FolderEntries, FolderEntry};
pub(crate) use open::{OpenFlags, open_at, open_path, stat_at, stat_path};
pub(crate) use query::stat;

use super::portable::{NoWatch, Portable};
use super::{NameAt, Platform, SysResult};

/// See the module.
#[derive(Debug)]
pub(crate) struct Windows;

impl Platform for Windows {
    type Watch = NoWatch;
    type Lease = write_check::WriteCheck;

    const PASS_THROUGH: OpenFlags = Portable::PASS_THROUGH;

    fn open_beneath(path: NameAt<'_>, flags: OpenFlags) -> SysResult<Handle> {
        Portable::open_beneath(path, flags)
    }

    fn exchange(one: NameAt<'_>, other: NameAt<'_>) -> SysResult<()> {
        Portable::exchange(one, other)
    }

    fn rename_noreplace(from: NameAt<'_>, to: NameAt<'_>) -> SysResult<()> {
        change::rename_noreplace(from, to)
    }

    fn sync_folder(folder: HandleRef<'_>) -> SysResult<()> {
        Portable::sync_folder(folder)
    }

    fn readahead(file: HandleRef<'_>, start: u64, length: NonZeroU64) {
        Portable::readahead(file, start, length);
    }

    fn lower_thread_priority() {
        Portable::lower_thread_priority();
    }
}

/// Makes the names in a folder durable, where the file system can: NTFS does.
pub(super) fn sync_folder(folder: HandleRef<'_>) -> SysResult<()> {
    match nt_create::reopen_to_flush(folder).and_then(|open| file_io::flush(&open)) {
        Err(Errno::NOSYS) => Ok(()),
        done => done,
    }
}

/// Makes the folder of a root, with those above it.
pub(crate) fn make_root(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Returns the path of an existing folder without links, as people write it: `C:\…`.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    let plain = real.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    Ok(match plain.filter(|plain| plain.as_bytes().get(1) == Some(&b':')) {
        Some(plain) => PathBuf::from(plain),
        None => real,
    })
}

/// Returns the user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("USERPROFILE").map(PathBuf::from)
}

/// The number of an open file, by which a child of a fork finds what it has inherited: there are no
/// forks here.
#[derive(Debug, Default)]
pub(crate) struct Inheritable(());

impl Inheritable {
    /// Does nothing.
    pub fn set(&self, _: &fs::File) {}

    /// Does nothing.
    pub fn forget(&self) {}

    /// Does nothing.
    pub fn close_inherited(&self, _: impl FnOnce(&fs::File) -> bool) {}
}
