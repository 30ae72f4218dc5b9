//! System calls that every Unix has, by rustix.

use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::fs::{AtFlags, Dir, DirEntry, FlockOperation, Mode, SeekFrom, XattrFlags};

pub(crate) use std::os::fd::{BorrowedFd as HandleRef, OwnedFd as Handle};
pub(crate) use std::os::unix::fs::FileExt;

pub(crate) use rustix::fs::OFlags as OpenFlags;
pub(crate) use rustix::io::Errno;

use super::{FileInfo, FileType, NameAt, Stat, SysResult};

/// The mode of a file that we make.
pub(super) const PRIVATE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// What has a handle.
pub(crate) trait AsHandle {
    fn as_handle(&self) -> HandleRef<'_>;
}

impl<T: AsFd> AsHandle for T {
    fn as_handle(&self) -> HandleRef<'_> {
        self.as_fd()
    }
}

/// Opens a path of the whole system, through links.
pub(crate) fn open_path(path: &Path, flags: OpenFlags) -> SysResult<Handle> {
    rustix::fs::open(path, flags, Mode::empty())
}

/// Opens one name in a folder; with `CREATE`, what is made is ours alone to read.
pub(crate) fn open_at((dir, name): NameAt<'_>, flags: OpenFlags) -> SysResult<Handle> {
    rustix::fs::openat(dir, name, flags, PRIVATE_MODE)
}

/// Looks at an open file.
pub(crate) fn stat(open: impl AsFd) -> SysResult<FileInfo> {
    rustix::fs::fstat(open).map(|raw| info(&raw))
}

/// Looks at what stands at one name in a folder, through no link.
pub(crate) fn stat_at((dir, name): NameAt<'_>) -> SysResult<FileInfo> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|raw| info(&raw))
}

/// Looks at a path of the whole system, through links.
pub(crate) fn stat_path(path: &Path) -> SysResult<FileInfo> {
    rustix::fs::stat(path).map(|raw| info(&raw))
}

#[allow(clippy::unnecessary_cast)] // The widths differ between systems.
fn info(raw: &rustix::fs::Stat) -> FileInfo {
    let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
    let stat = Stat {
        dev: raw.st_dev as u64,
        ino: raw.st_ino as u64,
        size: raw.st_size as u64,
        mtime_ns: ns(raw.st_mtime as i64, raw.st_mtime_nsec as i64),
        ctime_ns: ns(raw.st_ctime as i64, raw.st_ctime_nsec as i64),
    };
    let kind = kind(rustix::fs::FileType::from_raw_mode(raw.st_mode));
    FileInfo { kind, links: raw.st_nlink as u64, stat }
}

fn kind(raw: rustix::fs::FileType) -> FileType {
    match raw {
        rustix::fs::FileType::RegularFile => FileType::File,
        rustix::fs::FileType::Directory => FileType::Folder,
        rustix::fs::FileType::Symlink => FileType::Link,
        rustix::fs::FileType::Unknown => FileType::Unknown,
        _ => FileType::Other,
    }
}

/// Removes the name of a file.
pub(crate) fn unlink((dir, name): NameAt<'_>) -> SysResult<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

/// Removes an empty folder.
pub(crate) fn remove_folder((dir, name): NameAt<'_>) -> SysResult<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// Gives a file another name, which whatever else has it loses.
pub(crate) fn rename(from: NameAt<'_>, to: NameAt<'_>) -> SysResult<()> {
    rustix::fs::renameat(from.0, from.1, to.0, to.1)
}

/// Gives a file a second name, which must be free.
pub(crate) fn link(file: NameAt<'_>, new: NameAt<'_>) -> SysResult<()> {
    rustix::fs::linkat(file.0, file.1, new.0, new.1, AtFlags::empty())
}

/// Makes a folder that is ours alone.
pub(crate) fn make_folder((dir, name): NameAt<'_>) -> SysResult<()> {
    rustix::fs::mkdirat(dir, name, Mode::RWXU)
}

/// Makes the folder of a root, ours alone, with those above it.
pub(crate) fn make_root(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns the path of an existing folder without links.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Returns the user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: HandleRef<'_>) -> SysResult<()> {
    rustix::fs::fsync(folder)
}

/// Takes the lock of an open file if nobody has it.
pub(crate) fn try_lock(file: &File) -> SysResult<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Frees the lock of an open file, also for a child of a fork that shares the handle.
pub(crate) fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Makes an open file durable, whatever it was opened for.
pub(crate) fn sync_file(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Makes what an open file holds durable, whatever it was opened for.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Returns the first byte at or after `from` that is stored; what lies between reads as NUL.
pub(crate) fn next_data(file: &File, from: u64) -> u64 {
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(at) => at,
        // Nothing but a hole up to the end of the file.
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => from,
    }
}

/// Returns how much room an open file takes on its disk.
pub(crate) fn stored_bytes(file: &File) -> io::Result<u64> {
    file.metadata().map(|data| data.blocks().saturating_mul(512))
}

/// Gives `file` the owner, mode and user attributes of `base`, never more rights.
pub(crate) fn copy_metadata(file: &File, base: &File) -> SysResult<()> {
    let (ours, theirs) = (rustix::fs::fstat(file)?, rustix::fs::fstat(base)?);
    let mut mode = Mode::from_raw_mode(theirs.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    if (ours.st_uid, ours.st_gid) != (theirs.st_uid, theirs.st_gid) {
        let owner = rustix::process::Uid::from_raw(theirs.st_uid);
        let group = rustix::process::Gid::from_raw(theirs.st_gid);
        if rustix::fs::fchown(file, Some(owner), Some(group)).is_err() {
            // The group's rights would go to another group.
            mode &= Mode::RWXU;
        }
    }
    rustix::fs::fchmod(file, mode)?;
    // Attributes are a courtesy: many file systems have none.
    let mut names = vec![0; 64 << 10];
    let length = rustix::fs::flistxattr(base, &mut names[..]).unwrap_or(0);
    for name in names[..length].split(|&b| b == 0).filter(|name| name.starts_with(b"user.")) {
        let mut value = vec![0; 64 << 10];
        if let Ok(length) = rustix::fs::fgetxattr(base, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
    Ok(())
}

/// The entries of a folder, in no order.
#[derive(Debug)]
pub(crate) struct FolderEntries(Dir);

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct FolderEntry(DirEntry);

impl FolderEntries {
    /// Begins to list a folder by a handle that nobody else lists it by.
    pub fn new(dir: Handle) -> SysResult<Self> {
        Dir::new(dir).map(Self)
    }

    /// Reads the next entry; `.` and `..` may be among them.
    pub fn read(&mut self) -> Option<SysResult<FolderEntry>> {
        self.0.read().map(|entry| entry.map(FolderEntry))
    }

    /// Looks at what an entry stands for, through no link.
    pub fn stat(&self, entry: &FolderEntry) -> SysResult<FileInfo> {
        let found = rustix::fs::statat(self.0.fd()?, entry.c_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(info(&found))
    }

    /// The folder.
    pub fn folder(&self) -> SysResult<HandleRef<'_>> {
        self.0.fd()
    }
}

impl FolderEntry {
    /// The name; none where it is not in UTF-8.
    pub fn name(&self) -> Option<&str> {
        self.c_name().to_str().ok()
    }

    /// The bytes of the name.
    pub fn name_bytes(&self) -> &[u8] {
        self.c_name().to_bytes()
    }

    fn c_name(&self) -> &CStr {
        self.0.file_name()
    }

    /// What it stands for.
    pub fn kind(&self) -> FileType {
        kind(self.0.file_type())
    }

    /// Says whether it may be a name of the file with this inode.
    pub fn may_be(&self, ino: u64) -> bool {
        self.0.ino() == ino
    }
}

/// No handle.
const NO_FD: i32 = -1;

/// The number of an open file, by which a child of a fork finds what it has inherited.
#[derive(Debug)]
pub(crate) struct Inheritable(AtomicI32);

impl Default for Inheritable {
    fn default() -> Self {
        Self(AtomicI32::new(NO_FD))
    }
}

impl Inheritable {
    /// Notes the file; it is to be forgotten before it is closed.
    pub fn set(&self, file: &File) {
        self.0.store(file.as_raw_fd(), Ordering::Release);
    }

    /// Forgets the file.
    pub fn forget(&self) {
        self.0.store(NO_FD, Ordering::Release);
    }

    /// In a child of the process that noted it: closes the file that was inherited, if `is_it` says
    /// that it still is the one that was noted. It releases nothing.
    pub fn close_inherited(&self, is_it: impl FnOnce(&File) -> bool) {
        let fd = self.0.swap(NO_FD, Ordering::AcqRel);
        if fd == NO_FD {
            return;
        }
        // SAFETY: a number stands there for as long as a thread of the parent has the file open
        // under it. That thread is not in this process, so nobody else closes it here, and the
        // swap gives it out once.
        #[expect(unsafe_code, reason = "a handle whose owner did not come along")]
        let file = unsafe { File::from_raw_fd(fd) };
        if !is_it(&file) {
            // the child closed all that it inherited, and this is a file of its own
            let _ = file.into_raw_fd();
        }
    }
}
