//! Opening of one name in a folder, by the spelling that it has on disk.

use std::fs::OpenOptions;
use std::ops::BitOr;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_IF,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_APPEND_DATA, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ, FILE_GENERIC_WRITE,
    FILE_READ_ATTRIBUTES, FILE_WRITE_DATA, SYNCHRONIZE,
};

use super::folder_entries::FolderEntries;
use super::nt_create::{LIST, Opening, SHARE_ALL, open_relative, reopen, wide_name};
use super::query::stat;
use super::{Errno, Handle, HandleRef};
use crate::files::platform::{FileInfo, FileType, NameAt, SysResult};

/// What a file is opened for, and how; as the flags of `open` of POSIX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFlags(u32);

impl OpenFlags {
    pub const RDONLY: Self = Self(0);
    pub const WRONLY: Self = Self(1);
    pub const RDWR: Self = Self(2);
    pub const APPEND: Self = Self(4);
    pub const CREATE: Self = Self(8);
    pub const EXCL: Self = Self(16);
    pub const DIRECTORY: Self = Self(32);
    /// A link is never followed, whether this is asked for or not.
    pub const NOFOLLOW: Self = Self(64);
    /// Nothing here waits for another end, and no handle is inherited.
    pub const NONBLOCK: Self = Self(0);
    /// See [`Self::NONBLOCK`].
    pub const NOCTTY: Self = Self(0);
    /// See [`Self::NONBLOCK`].
    pub const CLOEXEC: Self = Self(0);

    pub const fn empty() -> Self {
        Self(0)
    }

    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn access(self) -> u32 {
        if self.contains(Self::DIRECTORY) {
            return LIST;
        }
        let read = if self.contains(Self::WRONLY) { SYNCHRONIZE } else { FILE_GENERIC_READ };
        let mut write = match self.contains(Self::WRONLY) || self.contains(Self::RDWR) {
            true => FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES,
            false => 0,
        };
        if self.contains(Self::APPEND) {
            // without the other right each write goes to the end, whoever has written meanwhile
            write = write & !FILE_WRITE_DATA | FILE_APPEND_DATA;
        }
        read | write
    }
}

impl BitOr for OpenFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// Opens a path of the whole system, through links; a folder to list it, else to read.
pub(crate) fn open_path(path: &Path, flags: OpenFlags) -> SysResult<Handle> {
    let mut options = OpenOptions::new();
    options.read(true).share_mode(SHARE_ALL).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    let opened = options.open(path).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    let opened = Handle::from(opened);
    match flags.contains(OpenFlags::DIRECTORY) && stat(&opened)?.kind != FileType::Folder {
        true => Err(Errno::NOTDIR),
        false => Ok(opened),
    }
}

/// Opens one name in a folder; `.` is the folder itself.
pub(crate) fn open_at(name: NameAt<'_>, flags: OpenFlags) -> SysResult<Handle> {
    let disposition = match (flags.contains(OpenFlags::CREATE), flags.contains(OpenFlags::EXCL)) {
        (true, true) => FILE_CREATE,
        (true, false) => FILE_OPEN_IF,
        (false, _) => FILE_OPEN,
    };
    let options = if flags.contains(OpenFlags::DIRECTORY) { FILE_DIRECTORY_FILE } else { 0 };
    let opening = Opening { access: flags.access(), share: SHARE_ALL, disposition, options };
    let opened = open_entry(name, opening)?;
    match stat(&opened)?.kind {
        FileType::Link => Err(Errno::LOOP),
        _ => Ok(opened),
    }
}

/// As [`open_at`]; of a reparse point it is itself that is opened.
pub(super) fn open_entry((dir, name): NameAt<'_>, opening: Opening) -> SysResult<Handle> {
    if name == "." {
        return open_relative(dir, &[], opening);
    }
    let wide = wide_name(name)?;
    let opened = open_relative(dir, &wide, opening)?;
    // what was made has the spelling that it was made with
    if opening.disposition != FILE_CREATE && !is_spelled(dir, &wide)? {
        return Err(Errno::NOENT);
    }
    Ok(opened)
}

/// Looks at what stands at one name in a folder, through no link.
pub(crate) fn stat_at(name: NameAt<'_>) -> SysResult<FileInfo> {
    stat(open_entry(name, Opening::existing(FILE_READ_ATTRIBUTES))?)
}

/// Looks at a path of the whole system, through links.
pub(crate) fn stat_path(path: &Path) -> SysResult<FileInfo> {
    stat(open_path(path, OpenFlags::RDONLY)?)
}

/// Says whether an entry of a folder is spelled as its name on disk, not in another case and not as
/// the short name that NTFS gives to a long one.
fn is_spelled(dir: HandleRef<'_>, name: &[u16]) -> SysResult<bool> {
    let folder = reopen(dir, Opening::existing(LIST))?;
    let mut entries = FolderEntries::of_name(folder, name);
    Ok(entries.read().transpose()?.is_some_and(|entry| entry.is_named(name)))
}
