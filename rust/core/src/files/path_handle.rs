//! A file's name in an open folder (as of the `*at` system calls): what every change goes through.
//!
//! The folder is held open, so that a change reaches the folder that was checked, wherever it is
//! moved meanwhile.

use std::fs::File;

use crate::error::{Error, Interrupt, Result};
use crate::files::open::{READ_FLAGS, open_regular, read_whole};
use crate::files::platform::{
    AsHandle as _, Errno, FileInfo, Handle, NameAt, Platform as _, SysResult, System, stat,
    stat_at, sync_file, unlink,
};
use crate::files::version::Version;
use crate::memory_limit::MemoryLimit;

/// A file's name in its open folder.
#[derive(Debug)]
pub(crate) struct PathHandle {
    pub(crate) dir: Handle,
    pub(crate) name: String,
    pub(crate) path: String,
}

/// A file as it was when we looked.
#[derive(Debug)]
pub(crate) struct BaseFile {
    pub(crate) version: Version,
    pub(crate) file: File,
}

impl PathHandle {
    /// The name, for calls of the system.
    pub(crate) fn name(&self) -> NameAt<'_> {
        (self.dir.as_handle(), &self.name)
    }

    /// Looks at the file that is here, of whatever size, if there is one.
    pub(crate) fn base(&self, interrupt: Interrupt<'_>) -> Result<Option<BaseFile>> {
        let Some(file) = self.open_if_there()? else { return Ok(None) };
        Ok(Some(BaseFile { version: Version::of_whole(&file, &self.path, interrupt)?, file }))
    }

    /// As [`PathHandle::base`], with the text.
    pub(crate) fn read(&self, limit: &MemoryLimit) -> Result<Option<(BaseFile, Vec<u8>)>> {
        let Some(mut file) = self.open_if_there()? else { return Ok(None) };
        let bytes = read_whole(&mut file, &self.path, limit)?;
        Ok(Some((BaseFile { version: Version::of(&bytes), file }, bytes)))
    }

    fn open_if_there(&self) -> Result<Option<File>> {
        match self.open() {
            Err(Error::NotFound { .. }) => Ok(None),
            file => file.map(Some),
        }
    }

    pub(crate) fn open(&self) -> Result<File> {
        open_regular(self.name(), READ_FLAGS, &self.path)
    }

    /// The version of the file that is here, of whatever size.
    pub(crate) fn version(&self) -> Result<Version> {
        self.version_unless(&|| false)
    }

    /// As [`PathHandle::version`], and can be interrupted.
    pub(crate) fn version_unless(&self, interrupt: Interrupt<'_>) -> Result<Version> {
        Version::of_whole(&self.open()?, &self.path, interrupt)
    }

    /// What stands at this name, whatever it is.
    pub(crate) fn stat(&self) -> SysResult<FileInfo> {
        stat_at(self.name())
    }

    /// Returns whether this name stands for an open file.
    pub(crate) fn is_name_of(&self, file: &File) -> SysResult<bool> {
        match self.stat() {
            Ok(named) => Ok(named.id() == stat(file)?.id()),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// As [`PathHandle::version`], in words for [`Error::Conflict`].
    pub(crate) fn version_shown(&self) -> String {
        match self.version() {
            Ok(version) => version.to_string(),
            Err(Error::NotFound { .. }) => "absent".into(),
            Err(_) => "unreadable".into(),
        }
    }

    /// The same folder, another name in it.
    pub(crate) fn sibling(&self, name: String) -> Result<Self> {
        let dir = self.dir.try_clone().map_err(|e| Error::io("open", &*self.path, e))?;
        Ok(Self { dir, name, path: self.path.clone() })
    }

    pub(crate) fn unlink(&self) -> SysResult<()> {
        unlink(self.name())
    }

    pub(crate) fn exchange(&self, with: &Self) -> SysResult<()> {
        System::exchange(self.name(), with.name())
    }

    /// Makes the names in this folder durable; a failure leaves the change in doubt.
    pub(crate) fn sync_folder(&self) -> Result<()> {
        let in_doubt = |e: Errno| Error::InDoubt { path: self.path.clone(), source: e.into() };
        System::sync_folder(self.dir.as_handle()).map_err(in_doubt)
    }
}

impl BaseFile {
    /// Makes what we read durable: someone else may have written it just now.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        sync_file(&self.file)
    }

    /// Closes the file, and returns what it was.
    pub(crate) fn close(self) -> Version {
        self.version
    }

    /// Returns whether it is still as it was read, under this name.
    pub(crate) fn is_at(&self, target: &PathHandle) -> Result<bool> {
        let fail = |e| Error::io("read", &*target.path, e);
        if !target.is_name_of(&self.file).map_err(|e| fail(e.into()))? {
            return Ok(false);
        }
        Ok(Version::of_file(&self.file, u64::MAX).map_err(fail)? == self.version)
    }
}
