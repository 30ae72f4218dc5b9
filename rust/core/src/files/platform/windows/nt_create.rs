//! `NtCreateFile`: an entry of an open folder, or an open file once more.

use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::ptr::{null, null_mut};
use std::thread::sleep;
use std::time::Duration;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_OPEN, FILE_OPEN_REPARSE_POINT, FILE_SYNCHRONOUS_IO_NONALERT,
    NTCREATEFILE_CREATE_DISPOSITION, NTCREATEFILE_CREATE_OPTIONS, NtCreateFile,
};
use windows_sys::Win32::Foundation::{
    HANDLE, NTSTATUS, OBJ_CASE_INSENSITIVE, STATUS_SHARING_VIOLATION, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_NORMAL, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_TRAVERSE, FILE_WRITE_DATA, SYNCHRONIZE,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::{Errno, Handle, HandleRef};
use crate::files::platform::SysResult;

/// Everybody else may do with the file what he wants, as on Unix.
pub(super) const SHARE_ALL: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
/// How a folder is listed.
pub(super) const LIST: u32 =
    FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
/// The longest name, in units of UTF-16.
const MAX_NAME: usize = 255;
/// How often a file is tried that another program does not share: most do so for a moment.
const MAX_SHARING_WAITS: usize = 50;

/// How a name in a folder is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    pub access: u32,
    pub share: u32,
    pub disposition: NTCREATEFILE_CREATE_DISPOSITION,
    pub options: NTCREATEFILE_CREATE_OPTIONS,
}

impl Opening {
    /// Opens what is there.
    pub const fn existing(access: u32) -> Self {
        let access = access | SYNCHRONIZE;
        Self { access, share: SHARE_ALL, disposition: FILE_OPEN, options: 0 }
    }
}

/// Opens an open file or folder once more.
pub(super) fn reopen(open: HandleRef<'_>, opening: Opening) -> SysResult<Handle> {
    open_relative(open, &[], opening)
}

/// Opens an open file or folder once more, with the right to make it durable.
pub(super) fn reopen_to_flush(open: HandleRef<'_>) -> SysResult<Handle> {
    // of a folder this is the right to make files in it
    reopen(open, Opening::existing(FILE_WRITE_DATA))
}

/// Returns a name in UTF-16 that means nothing but an entry of a folder: no stream (`a.md:b`), no
/// path, no pattern.
pub(super) fn wide_name(name: &str) -> SysResult<Vec<u16>> {
    let is_special = |c: char| c < ' ' || "\\/:*?\"<>|".contains(c);
    if name.is_empty() || name == ".." || name.contains(is_special) {
        return Err(Errno::NOENT);
    }
    let wide: Vec<u16> = name.encode_utf16().collect();
    if wide.len() > MAX_NAME { Err(Errno::NAMETOOLONG) } else { Ok(wide) }
}

/// Opens a name in a folder, in whatever case, or with no name what is open; of a reparse point it is
/// itself that is opened.
pub(super) fn open_relative(
    dir: HandleRef<'_>,
    name: &[u16],
    opening: Opening,
) -> SysResult<Handle> {
    let mut waits = 0;
    loop {
        match call(dir, name, opening) {
            Err(STATUS_SHARING_VIOLATION) if waits < MAX_SHARING_WAITS => {
                waits += 1;
                sleep(Duration::from_millis(1));
            }
            done => return done.map_err(Errno::of_status),
        }
    }
}

/// Opens once, without waiting for a program that does not share the file.
pub(super) fn call(dir: HandleRef<'_>, name: &[u16], opening: Opening) -> Result<Handle, NTSTATUS> {
    let bytes = u16::try_from(size_of_val(name)).unwrap_or(u16::MAX);
    let buffer = name.as_ptr().cast_mut();
    let object_name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: buffer };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: dir.as_raw_handle(),
        ObjectName: &raw const object_name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let mut handle: HANDLE = null_mut();
    let mut block = IO_STATUS_BLOCK::default();
    let options = opening.options | FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT;
    // SAFETY: all that is pointed to outlives the call, and the name is as long as it says: names
    // have at most `MAX_NAME` units. A buffer of length 0 is not read, and none is written.
    #[expect(unsafe_code, reason = "no safe function opens relative to a folder")]
    let status = unsafe {
        NtCreateFile(
            &raw mut handle,
            opening.access,
            &raw const attributes,
            &raw mut block,
            null(),
            FILE_ATTRIBUTE_NORMAL,
            opening.share,
            opening.disposition,
            options,
            null(),
            0,
        )
    };
    if status < 0 {
        return Err(status);
    }
    // SAFETY: the call succeeded, so that the handle is open, and it is ours alone.
    #[expect(unsafe_code, reason = "a new handle")]
    Ok(unsafe { Handle::from_raw_handle(handle) })
}
