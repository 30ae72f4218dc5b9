//! Entries of a folder by `NtQueryDirectoryFile`.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::AsRawHandle;
use std::ptr::null;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_ID_BOTH_DIR_INFORMATION, FileIdBothDirectoryInformation, NtQueryDirectoryFile,
};
use windows_sys::Win32::Foundation::{
    STATUS_NO_MORE_FILES, STATUS_NO_SUCH_FILE, STATUS_SUCCESS, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::FILE_READ_ATTRIBUTES;
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::nt_create::{Opening, open_relative};
use super::{AsHandle as _, Errno, Handle, HandleRef, query};
use crate::files::platform::{FileInfo, FileType, SysResult};

/// The bytes of entries that are read at a time, in words, for they are aligned.
const BUFFER_WORDS: usize = 4096;

/// The entries of a folder, in no order.
#[derive(Debug)]
pub(crate) struct FolderEntries {
    folder: Handle,
    /// The only name that is asked for, in whatever spelling; empty for all.
    name: Vec<u16>,
    buffer: Vec<u64>,
    /// Where the next entry is in the buffer; none when there is no more of it.
    next: Option<usize>,
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct FolderEntry {
    name: OsString,
    wide: Vec<u16>,
    attributes: u32,
}

impl FolderEntries {
    /// Begins to list a folder by a handle that nobody else lists it by.
    pub fn new(folder: Handle) -> SysResult<Self> {
        Ok(Self::of_name(folder, &[]))
    }

    /// Begins to list what a folder holds of one name.
    pub(super) fn of_name(folder: Handle, name: &[u16]) -> Self {
        Self { folder, name: name.to_vec(), buffer: Vec::new(), next: None }
    }

    /// Reads the next entry; `.` and `..` may be among them.
    pub fn read(&mut self) -> Option<SysResult<FolderEntry>> {
        if self.next.is_none()
            && let Err(e) = self.fill()
        {
            return Some(Err(e));
        }
        let (entry, next) = entry_at(&self.buffer, self.next?)?;
        self.next = next;
        Some(Ok(entry))
    }

    /// Reads as many entries as there is room for.
    fn fill(&mut self) -> SysResult<()> {
        let restart = self.buffer.is_empty();
        self.buffer.resize(BUFFER_WORDS, 0);
        let bytes = u16::try_from(size_of_val(&*self.name)).unwrap_or(u16::MAX);
        let buffer = self.name.as_mut_ptr();
        let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: buffer };
        let mut block = IO_STATUS_BLOCK::default();
        // SAFETY: the handle is open, and for listing synchronously, so that nothing is written
        // after the call; all that is pointed to outlives it, and has the size that is told.
        #[expect(unsafe_code, reason = "the standard library lists by path only")]
        let status = unsafe {
            NtQueryDirectoryFile(
                self.folder.as_raw_handle(),
                std::ptr::null_mut(),
                None,
                null(),
                &raw mut block,
                self.buffer.as_mut_ptr().cast(),
                size_of_val(&*self.buffer) as u32,
                FileIdBothDirectoryInformation,
                false,
                if self.name.is_empty() { null() } else { &raw const name },
                restart,
            )
        };
        self.next = (status == STATUS_SUCCESS && block.Information > 0).then_some(0);
        match status {
            STATUS_SUCCESS | STATUS_NO_MORE_FILES | STATUS_NO_SUCH_FILE => Ok(()),
            status => Err(Errno::of_status(status)),
        }
    }

    /// Looks at what an entry stands for, through no link.
    pub fn stat(&self, entry: &FolderEntry) -> SysResult<FileInfo> {
        let opening = Opening::existing(FILE_READ_ATTRIBUTES);
        query::stat(open_relative(self.folder()?, &entry.wide, opening)?)
    }

    /// The folder.
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
    pub fn folder(&self) -> SysResult<HandleRef<'_>> {
        Ok(self.folder.as_handle())
    }
}

/// Reads the entry that begins at a byte of a buffer, and where the next one begins; none where the
/// buffer does not hold it.
fn entry_at(buffer: &[u64], at: usize) -> Option<(FolderEntry, Option<usize>)> {
    type Entry = FILE_ID_BOTH_DIR_INFORMATION;
    let bytes: &[u8] = bytemuck::cast_slice(buffer);
    let bytes = bytes.get(at..)?;
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let next = number(std::mem::offset_of!(Entry, NextEntryOffset))? as usize;
    let attributes = number(std::mem::offset_of!(Entry, FileAttributes))?;
    let length = number(std::mem::offset_of!(Entry, FileNameLength))? as usize;
    let name = bytes.get(std::mem::offset_of!(Entry, FileName)..)?.get(..length)?;
    let wide: Vec<u16> = name.as_chunks().0.iter().map(|&unit| u16::from_le_bytes(unit)).collect();
    let entry = FolderEntry { name: OsString::from_wide(&wide), wide, attributes };
    Some((entry, (next > 0).then(|| at + next)))
}

impl FolderEntry {
    /// The name; none where it is not in UTF-16.
    pub fn name(&self) -> Option<&str> {
        self.name.to_str()
    }

    /// The bytes of the name; what is not in UTF-16 as three bytes.
    pub fn name_bytes(&self) -> &[u8] {
        self.name.as_encoded_bytes()
    }

    /// Says whether it is spelled so.
    pub(super) fn is_named(&self, name: &[u16]) -> bool {
        self.wide == name
    }

    /// What it stands for.
    pub fn kind(&self) -> FileType {
        query::kind(self.attributes)
    }

    /// Says whether it may be a name of the file with this inode: a listing does not tell all of it.
    pub fn may_be(&self, _: u64) -> bool {
        true
    }
}
