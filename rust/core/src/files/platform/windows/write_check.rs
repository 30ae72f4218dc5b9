//! Read lease of Windows: finds open writers by a sharing violation, and maps nothing.

use std::fs::File;

use windows_sys::Wdk::Storage::FileSystem::FILE_OPEN;
use windows_sys::Win32::Foundation::STATUS_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_READ_DATA, FILE_SHARE_DELETE, FILE_SHARE_READ, SYNCHRONIZE,
};

use super::AsHandle as _;
use super::nt_create::{Opening, call};
use crate::files::platform::ReadLease;
use crate::files::platform::portable::{NoLease, NoWindow};

/// No lease; but who writes is known.
#[derive(Debug)]
pub(crate) struct WriteCheck(NoLease);

impl ReadLease for WriteCheck {
    type Window<'l> = NoWindow;

    fn take(open: &File) -> Option<Self> {
        NoLease::take(open).map(Self)
    }

    fn window(&self, from: u64, size: usize) -> Option<NoWindow> {
        self.0.window(from, size)
    }

    /// Opens the file for a moment so that nobody may write it, which is refused when somebody does.
    fn is_open_for_writing(open: &File) -> Option<bool> {
        let share = FILE_SHARE_READ | FILE_SHARE_DELETE;
        let access = FILE_READ_DATA | SYNCHRONIZE;
        let opening = Opening { access, share, disposition: FILE_OPEN, options: 0 };
        match call(open.as_handle(), &[], opening) {
            Ok(_) => Some(false),
            Err(STATUS_SHARING_VIOLATION) => Some(true),
            Err(_) => None,
        }
    }
}
