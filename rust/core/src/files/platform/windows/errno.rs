//! Error codes of Windows, under the names that POSIX gives to the same conditions.

use std::io;

use windows_sys::Wdk::Storage::FileSystem::RtlNtStatusToDosErrorNoTeb;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_BAD_PATHNAME, ERROR_CALL_NOT_IMPLEMENTED,
    ERROR_CANT_RESOLVE_FILENAME, ERROR_DIRECTORY, ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_FILE_EXISTS,
    ERROR_FILE_NOT_FOUND, ERROR_FILENAME_EXCED_RANGE, ERROR_INVALID_FUNCTION, ERROR_INVALID_NAME,
    ERROR_IO_DEVICE, ERROR_NOT_A_REPARSE_POINT, ERROR_NOT_SAME_DEVICE, ERROR_NOT_SUPPORTED,
    ERROR_PATH_NOT_FOUND, ERROR_PRIVILEGE_NOT_HELD, ERROR_RETRY, ERROR_TOO_MANY_OPEN_FILES,
    NTSTATUS, STATUS_DELETE_PENDING, STATUS_FILE_IS_A_DIRECTORY, STATUS_INVALID_INFO_CLASS,
    STATUS_INVALID_PARAMETER,
};

/// An error code of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(u32);

impl Errno {
    pub const ACCESS: Self = Self(ERROR_ACCESS_DENIED);
    pub const AGAIN: Self = Self(ERROR_RETRY);
    pub const EXIST: Self = Self(ERROR_FILE_EXISTS);
    pub const IO: Self = Self(ERROR_IO_DEVICE);
    pub const ISDIR: Self = Self(ERROR_DIRECTORY_NOT_SUPPORTED);
    pub const LOOP: Self = Self(ERROR_CANT_RESOLVE_FILENAME);
    pub const MFILE: Self = Self(ERROR_TOO_MANY_OPEN_FILES);
    pub const NAMETOOLONG: Self = Self(ERROR_FILENAME_EXCED_RANGE);
    pub const NOENT: Self = Self(ERROR_FILE_NOT_FOUND);
    pub const NOSYS: Self = Self(ERROR_NOT_SUPPORTED);
    pub const NOTDIR: Self = Self(ERROR_DIRECTORY);
    pub const NXIO: Self = Self(ERROR_NOT_A_REPARSE_POINT);
    pub const PERM: Self = Self(ERROR_PRIVILEGE_NOT_HELD);
    pub const XDEV: Self = Self(ERROR_NOT_SAME_DEVICE);

    /// Takes one code for several that say the same.
    fn of(code: u32) -> Self {
        match code {
            ERROR_PATH_NOT_FOUND | ERROR_INVALID_NAME | ERROR_BAD_PATHNAME => Self::NOENT,
            ERROR_ALREADY_EXISTS => Self::EXIST,
            ERROR_INVALID_FUNCTION | ERROR_CALL_NOT_IMPLEMENTED => Self::NOSYS,
            code => Self(code),
        }
    }

    /// Translates the status of a system call.
    pub fn of_status(status: NTSTATUS) -> Self {
        match status {
            // its name stays until the last handle is closed, but opens nothing any more
            STATUS_DELETE_PENDING => Self::NOENT,
            STATUS_FILE_IS_A_DIRECTORY => Self::ISDIR,
            // what a file system says of a request that is newer than it
            STATUS_INVALID_INFO_CLASS | STATUS_INVALID_PARAMETER => Self::NOSYS,
            status => {
                // SAFETY: it looks a number up in a table.
                #[expect(unsafe_code, reason = "a function of the system")]
                Self::of(unsafe { RtlNtStatusToDosErrorNoTeb(status) })
            }
        }
    }

    /// Returns the error of the last call of this thread.
    pub fn last() -> Self {
        Self::from_io_error(&io::Error::last_os_error()).unwrap_or(Self::IO)
    }

    /// Returns the code of an error of the system.
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(|code| Self::of(code.cast_unsigned()))
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0.cast_signed())
    }
}
