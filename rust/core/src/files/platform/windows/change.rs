//! Changes of names by `NtSetInformationFile`: rename, second name, removal.

use std::os::windows::io::AsRawHandle;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_DISPOSITION_DELETE, FILE_DISPOSITION_INFORMATION,
    FILE_DISPOSITION_INFORMATION_EX, FILE_DISPOSITION_POSIX_SEMANTICS, FILE_INFORMATION_CLASS,
    FILE_NON_DIRECTORY_FILE, FILE_RENAME_INFORMATION, FILE_RENAME_POSIX_SEMANTICS,
    FILE_RENAME_REPLACE_IF_EXISTS, FileDispositionInformation, FileDispositionInformationEx,
    FileLinkInformation, FileRenameInformation, FileRenameInformationEx, NtSetInformationFile,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::nt_create::{LIST, Opening, SHARE_ALL, wide_name};
use super::open::open_entry;
use super::{AsHandle as _, Errno, Handle, HandleRef};
use crate::files::platform::{NameAt, SysResult};

/// The right to change a name.
const CHANGE_NAME: u32 = DELETE | FILE_READ_ATTRIBUTES;

/// Removes the name of a file. Who has it open keeps it, where the file system can do so.
pub(crate) fn unlink(name: NameAt<'_>) -> SysResult<()> {
    remove(name, FILE_NON_DIRECTORY_FILE)
}

/// Removes an empty folder.
pub(crate) fn remove_folder(name: NameAt<'_>) -> SysResult<()> {
    remove(name, FILE_DIRECTORY_FILE)
}

fn remove(name: NameAt<'_>, options: u32) -> SysResult<()> {
    let file = open_entry(name, Opening { options, ..Opening::existing(CHANGE_NAME) })?;
    let flags = FILE_DISPOSITION_DELETE | FILE_DISPOSITION_POSIX_SEMANTICS;
    let posix = FILE_DISPOSITION_INFORMATION_EX { Flags: flags };
    match set(&file, FileDispositionInformationEx, &posix.Flags.to_ne_bytes()) {
        Err(Errno::NOSYS) => {
            let plain = FILE_DISPOSITION_INFORMATION { DeleteFile: true };
            set(&file, FileDispositionInformation, &[u8::from(plain.DeleteFile)])
        }
        done => done,
    }
}

/// Gives a file another name, which whatever else has it loses.
pub(crate) fn rename(from: NameAt<'_>, to: NameAt<'_>) -> SysResult<()> {
    let file = open_entry(from, Opening::existing(CHANGE_NAME))?;
    let name = wide_name(to.1)?;
    let flags = FILE_RENAME_REPLACE_IF_EXISTS | FILE_RENAME_POSIX_SEMANTICS;
    match set(&file, FileRenameInformationEx, &new_name(to.0, &name, flags)) {
        // an older system, or a file system that does not know it; then no file is replaced that is
        // open
        Err(Errno::NOSYS) => {
            let flags = FILE_RENAME_REPLACE_IF_EXISTS;
            set(&file, FileRenameInformation, &new_name(to.0, &name, flags))
        }
        done => done,
    }
}

/// Gives a file another name if that is free.
pub(super) fn rename_noreplace(from: NameAt<'_>, to: NameAt<'_>) -> SysResult<()> {
    let file = open_entry(from, Opening::existing(CHANGE_NAME))?;
    set(&file, FileRenameInformation, &new_name(to.0, &wide_name(to.1)?, 0))
}

/// Gives a file a second name, which must be free.
pub(crate) fn link(file: NameAt<'_>, new: NameAt<'_>) -> SysResult<()> {
    let file = open_entry(file, Opening::existing(FILE_WRITE_ATTRIBUTES))?;
    // its request has the form of that for a rename
    set(&file, FileLinkInformation, &new_name(new.0, &wide_name(new.1)?, 0))
}

/// Makes a folder.
pub(crate) fn make_folder(name: NameAt<'_>) -> SysResult<()> {
    let (disposition, options) = (FILE_CREATE, FILE_DIRECTORY_FILE);
    let made = Opening { access: LIST, share: SHARE_ALL, disposition, options };
    open_entry(name, made).map(drop)
}

/// Returns the request for a name in a folder.
fn new_name(folder: HandleRef<'_>, name: &[u16], flags: u32) -> Vec<u8> {
    type Request = FILE_RENAME_INFORMATION;
    let mut request = vec![0; size_of::<Request>() + size_of_val(name)];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &flags.to_ne_bytes());
    let handle = folder.as_raw_handle().expose_provenance();
    put(std::mem::offset_of!(Request, RootDirectory), &handle.to_ne_bytes());
    let length = size_of_val(name) as u32;
    put(std::mem::offset_of!(Request, FileNameLength), &length.to_ne_bytes());
    put(std::mem::offset_of!(Request, FileName), bytemuck::cast_slice(name));
    request
}

/// Asks for a change of an open file.
fn set(file: &Handle, class: FILE_INFORMATION_CLASS, request: &[u8]) -> SysResult<()> {
    // the system wants what it reads aligned
    let mut words = vec![0_u64; request.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..request.len()].copy_from_slice(request);
    let mut block = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open and synchronous, and the request has the size that is told; what it
    // says to be the length of a name is that of the name in it.
    #[expect(unsafe_code, reason = "the standard library renames by path only")]
    let status = unsafe {
        let handle = file.as_handle().as_raw_handle();
        let size = request.len() as u32;
        NtSetInformationFile(handle, &raw mut block, words.as_ptr().cast(), size, class)
    };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(()) }
}
