//! Reads at an offset, locks, flushes and access rights of open files.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::windows::fs::FileExt as _;
use std::os::windows::io::AsRawHandle;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem::{
    FlushFileBuffers, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, READ_CONTROL,
    UnlockFileEx, WRITE_DAC,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

use super::nt_create::{Opening, reopen, reopen_to_flush};
use super::{AsHandle, Errno, HandleRef, query};
use crate::files::platform::SysResult;

/// Reads and writes at an offset, as on Unix: the position of the handle stays. The system moves it,
/// so that nobody else may use the position meanwhile.
pub(crate) trait FileExt {
    /// Reads what there is from an offset on, at most all that was asked for; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads all that was asked for.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of it.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        keeping_position(self, || self.seek_read(buffer, offset))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let place = offset + done as u64;
            match keeping_position(self, || self.seek_write(&bytes[done..], place)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn keeping_position<T>(mut file: &File, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = file.stream_position()?;
    let done = call();
    file.seek(SeekFrom::Start(before))?;
    done
}

/// The byte that stands for a whole file in a lock. Nobody else can read or write what is locked, so
/// that it lies where no file has any.
fn locked_byte() -> OVERLAPPED {
    let offset = OVERLAPPED_0_0 { Offset: 0, OffsetHigh: i32::MAX as u32 };
    let anonymous = OVERLAPPED_0 { Anonymous: offset };
    OVERLAPPED { Internal: 0, InternalHigh: 0, Anonymous: anonymous, hEvent: null_mut() }
}

/// Takes the lock of an open file if nobody has it.
pub(crate) fn try_lock(file: &File) -> SysResult<bool> {
    let how = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    let mut byte = locked_byte();
    // SAFETY: the handle is open and synchronous, so that the place is not used after the call.
    #[expect(unsafe_code, reason = "the lock of the standard library covers what is to be read")]
    let taken = unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &raw mut byte) };
    match taken {
        0 if io::Error::last_os_error().raw_os_error() == Some(ERROR_LOCK_VIOLATION as i32) => {
            Ok(false)
        }
        0 => Err(Errno::last()),
        _ => Ok(true),
    }
}

/// Frees the lock of an open file.
pub(crate) fn unlock(file: &File) {
    let mut byte = locked_byte();
    // SAFETY: as for the lock.
    #[expect(unsafe_code, reason = "as for the lock")]
    // what fails is freed when the handle is closed
    let _ = unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut byte) };
}

/// Makes an open file durable, whatever it was opened for.
pub(crate) fn sync_file(file: &File) -> io::Result<()> {
    match flush(file) {
        // a flush needs the right to write
        Err(Errno::ACCESS) => flush(&reopen_to_flush(file.as_handle())?)?,
        done => done?,
    }
    Ok(())
}

/// Makes what an open file holds durable, whatever it was opened for.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    sync_file(file)
}

/// Makes what a handle with the right to write has open durable.
pub(super) fn flush(open: &impl AsRawHandle) -> SysResult<()> {
    // SAFETY: the handle is open.
    #[expect(unsafe_code, reason = "the standard library flushes no folder")]
    let done = unsafe { FlushFileBuffers(open.as_raw_handle()) };
    if done == 0 { Err(Errno::last()) } else { Ok(()) }
}

/// Returns the first byte at or after `from` that is stored; holes are read here.
pub(crate) fn next_data(_: &File, from: u64) -> u64 {
    from
}

/// Returns how much room an open file takes on its disk.
pub(crate) fn stored_bytes(file: &File) -> io::Result<u64> {
    Ok(query::stored_bytes(file.as_handle())?)
}

/// Gives `file` the list of access rights of `base`, if it is another. Its owner is who writes it.
pub(crate) fn copy_metadata(file: &File, base: &File) -> SysResult<()> {
    let (ours, theirs) = (access_rights(file.as_handle())?, access_rights(base.as_handle())?);
    let Some(mut rights) = theirs.filter(|theirs| ours.as_ref() != Some(theirs)) else {
        return Ok(());
    };
    let open = reopen(file.as_handle(), Opening::existing(WRITE_DAC | READ_CONTROL))?;
    // SAFETY: the handle is open, and the rights are as the system has written them.
    #[expect(unsafe_code, reason = "the standard library knows no access rights")]
    let set = unsafe {
        let rights = rights.as_mut_ptr().cast();
        SetKernelObjectSecurity(open.as_raw_handle(), DACL_SECURITY_INFORMATION, rights)
    };
    if set == 0 { Err(Errno::last()) } else { Ok(()) }
}

/// Returns the list of access rights of an open file; none where the file system has no rights. It
/// is in words, for the system wants it aligned.
fn access_rights(open: HandleRef<'_>) -> SysResult<Option<Vec<u64>>> {
    let open = reopen(open, Opening::existing(READ_CONTROL))?;
    let mut rights = vec![0_u64; 32];
    loop {
        let (size, mut needed) = (size_of_val(&*rights) as u32, 0);
        // SAFETY: the handle is open, and the system writes at most the size that it is told.
        #[expect(unsafe_code, reason = "the standard library knows no access rights")]
        let got = unsafe {
            let (open, rights) = (open.as_raw_handle(), rights.as_mut_ptr().cast());
            GetKernelObjectSecurity(open, DACL_SECURITY_INFORMATION, rights, size, &raw mut needed)
        };
        if got != 0 {
            return Ok(Some(rights));
        }
        match Errno::last() {
            _ if needed > size => rights.resize(needed.div_ceil(8) as usize, 0),
            Errno::NOSYS => return Ok(None),
            error => return Err(error),
        }
    }
}
