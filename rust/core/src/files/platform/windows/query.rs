//! Stat data of open files by `GetFileInformationByHandleEx`.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_BASIC_INFO, FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_STANDARD_INFO, FILE_TYPE_DISK,
    FileBasicInfo, FileIdInfo, FileStandardInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, GetFileType,
};
use xxhash_rust::xxh3::xxh3_64;

use super::{AsHandle, Errno, HandleRef};
use crate::files::platform::{FileInfo, FileType, Stat, SysResult};
use crate::files::racy_stat::now_ns;

/// Data of a file that the system writes as they stand.
trait Data: Default {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS;
}

impl Data for FILE_BASIC_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileBasicInfo;
}

impl Data for FILE_STANDARD_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileStandardInfo;
}

impl Data for FILE_ID_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileIdInfo;
}

fn query<D: Data>(handle: HANDLE) -> SysResult<D> {
    let mut data = D::default();
    // SAFETY: the handle is open, and the system writes at most the size that it is told: the three
    // types are plain numbers and flags, and are what it writes for their class.
    #[expect(unsafe_code, reason = "the standard library gives neither identity nor link count")]
    let done = unsafe {
        let size = size_of::<D>() as u32;
        GetFileInformationByHandleEx(handle, D::CLASS, (&raw mut data).cast(), size)
    };
    if done == 0 { Err(Errno::last()) } else { Ok(data) }
}

/// Looks at an open file.
pub(crate) fn stat(open: impl AsHandle) -> SysResult<FileInfo> {
    let handle = open.as_handle().as_raw_handle();
    let (basic, standard) =
        (query::<FILE_BASIC_INFO>(handle)?, query::<FILE_STANDARD_INFO>(handle)?);
    let (dev, ino) = identity(handle)?;
    let stat = Stat {
        dev,
        ino,
        size: standard.EndOfFile.cast_unsigned(),
        mtime_ns: unix_ns(basic.LastWriteTime),
        ctime_ns: match basic.ChangeTime {
            // A file system that keeps none (FAT): two looks never prove that nothing has changed.
            0 => now_ns(),
            time => unix_ns(time),
        },
    };
    let mut kind = kind(basic.FileAttributes);
    // SAFETY: it asks for the type of an open handle.
    #[expect(unsafe_code, reason = "a function of the system")]
    if kind == FileType::File && unsafe { GetFileType(handle) } != FILE_TYPE_DISK {
        kind = FileType::Other;
    }
    let links = if standard.DeletePending { 0 } else { u64::from(standard.NumberOfLinks) };
    Ok(FileInfo { kind, links, stat })
}

/// Returns how much room an open file takes on its disk.
pub(super) fn stored_bytes(open: HandleRef<'_>) -> SysResult<u64> {
    let standard = query::<FILE_STANDARD_INFO>(open.as_raw_handle())?;
    Ok(standard.AllocationSize.cast_unsigned())
}

/// Returns the volume and the file on it.
fn identity(handle: HANDLE) -> SysResult<(u64, u64)> {
    let Ok(id) = query::<FILE_ID_INFO>(handle) else { return short_identity(handle) };
    let number = u128::from_le_bytes(id.FileId.Identifier);
    // on NTFS it has 64 bits, on ReFS 128
    let number = u64::try_from(number).unwrap_or_else(|_| xxh3_64(&id.FileId.Identifier));
    Ok((id.VolumeSerialNumber, number))
}

/// The same of a file system that is older than the long identity.
fn short_identity(handle: HANDLE) -> SysResult<(u64, u64)> {
    let mut data = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the system writes what the type says.
    #[expect(unsafe_code, reason = "the standard library gives no identity")]
    if unsafe { GetFileInformationByHandle(handle, &raw mut data) } == 0 {
        return Err(Errno::last());
    }
    let number = u64::from(data.nFileIndexHigh) << 32 | u64::from(data.nFileIndexLow);
    Ok((u64::from(data.dwVolumeSerialNumber), number))
}

/// Returns a time in units of 100 ns since 1601 as ns since 1970.
fn unix_ns(time: i64) -> i64 {
    const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
    time.saturating_sub(UNIX_EPOCH).saturating_mul(100)
}

/// Returns the kind of file that has these attributes.
pub(super) fn kind(attributes: u32) -> FileType {
    if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        FileType::Link
    } else if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
        FileType::Folder
    } else {
        FileType::File
    }
}
