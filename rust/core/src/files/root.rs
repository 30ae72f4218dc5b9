//! Root folder of a memory: one directory handle (capability), and nothing outside it.
//!
//! Every access starts from that handle and lets the kernel refuse links and
//! `..` (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), so there is no
//! moment between a check and a use. What the kernel lets through, hard links
//! and special files, is refused by looking at the open file.

use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::files::git_files;
pub use crate::files::open::MAX_WHOLE;
use crate::files::open::{
    DIRECTORY_FLAGS, MAX_LINK_WAITS, READ_FLAGS, check_regular, file_id, open_regular, read_whole,
    refusal, stat_settled,
};
use crate::files::path_handle::PathHandle;
use crate::files::paths::{self, OWN};
use crate::files::platform::{Platform as _, System};
use crate::files::root_creation;
use crate::memory_limit::MemoryLimit;

/// Stat data that identify the state of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Stat {
    /// The device that the file is on.
    pub dev: u64,
    /// The inode; file systems use it again soon after a file is deleted.
    pub ino: u64,
    /// The length in bytes.
    pub size: u64,
    /// When the content changed, in ns since 1970; anyone can set it.
    pub mtime_ns: i64,
    /// When content or attributes changed, in ns since 1970; set by the kernel alone.
    pub ctime_ns: i64,
}

impl Stat {
    #[allow(clippy::unnecessary_cast)] // The widths differ between systems.
    pub(crate) fn from_raw(raw: &rustix::fs::Stat) -> Self {
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Self {
            dev: raw.st_dev as u64,
            ino: raw.st_ino as u64,
            size: raw.st_size as u64,
            mtime_ns: ns(raw.st_mtime as i64, raw.st_mtime_nsec as i64),
            ctime_ns: ns(raw.st_ctime as i64, raw.st_ctime_nsec as i64),
        }
    }
}

/// An open memory folder. Renaming the folder does not disturb it.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    /// The device and inode of the folder.
    identity: (u64, u64),
    path: PathBuf,
    /// The absolute path that it was opened by; a link may be on its way.
    given: Option<PathBuf>,
    limit: MemoryLimit,
}

impl Root {
    /// Opens the folder at `path`; with `create`, makes it (mode 0700) if it is missing.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code `config` for `/`, the home folder, a file, and a folder where
    /// nothing can be kept, such as one of `/proc`; [`Error::Missing`], [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, create: bool) -> Result<Self> {
        let path = path.as_ref();
        let shown = path.to_string_lossy();
        if create {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| {
                let system =
                    Error::Io { action: "create", path: shown.as_ref().to_owned(), source };
                root_creation::obstacle(path).unwrap_or(system)
            })?;
        }
        let real = path.canonicalize().map_err(|e| match Error::io("open", shown.as_ref(), e) {
            Error::NotFound { path: missing } => {
                let hint = "create it, or choose another folder with --root";
                root_creation::obstacle(path).unwrap_or_else(|| Error::missing(&missing, hint))
            }
            error => root_creation::obstacle(path).unwrap_or(error),
        })?;
        let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        if real == Path::new("/") || home.is_some_and(|home| home == real) {
            let why = "a memory needs a folder of its own, not the home folder or \"/\"";
            return Err(Error::refused(&shown, "config", why));
        }
        let opened = rustix::fs::open(&real, DIRECTORY_FLAGS, Mode::empty())
            .and_then(|dir| Ok((file_id(&rustix::fs::fstat(&dir)?), dir)));
        let (identity, dir) = opened.map_err(|e| match e {
            Errno::NOTDIR => root_creation::is_no_folder(&shown, &real),
            e => Error::io("open", shown.as_ref(), e),
        })?;
        root_creation::check_file_system(&shown, &real, dir.as_fd())?;
        let given = path.is_absolute().then(|| path.to_owned());
        Ok(Self { dir, identity, path: real, given, limit: MemoryLimit::default() })
    }

    /// Reads no file as a whole that takes more memory than a limit allows.
    #[must_use]
    pub fn with_memory_limit(self, limit: MemoryLimit) -> Self {
        Self { limit, ..self }
    }

    /// Returns the limit, which others share.
    pub(crate) fn memory_limit(&self) -> &MemoryLimit {
        &self.limit
    }

    /// Opens the same folder once more in a child of a fork: wherever it is by now, or where it was
    /// if the child closed what it inherited, as one does that becomes a daemon.
    ///
    /// # Errors
    /// [`Error::Refused`] with `config` when another folder is there; [`Error::Io`].
    pub(crate) fn for_child(&self) -> Result<Self> {
        let inherited = self.dir.try_clone().ok().filter(|dir| self.is_folder(dir));
        let dir = match inherited {
            Some(dir) => dir,
            None => self.reopen()?,
        };
        let (identity, path, given) = (self.identity, self.path.clone(), self.given.clone());
        Ok(Self { dir, identity, path, given, limit: self.limit.for_child() })
    }

    fn reopen(&self) -> Result<OwnedFd> {
        let shown = self.path.to_string_lossy();
        let dir = rustix::fs::open(&self.path, DIRECTORY_FLAGS, Mode::empty())
            .map_err(|e| Error::io("open", shown.as_ref(), e))?;
        if self.is_folder(&dir) {
            return Ok(dir);
        }
        let why = "this process closed its handle of the memory, and another folder is there now; \
                   open the memory again";
        Err(Error::refused(&shown, "config", why))
    }

    /// Returns whether the handle still stands for the folder: a child of a fork may have closed
    /// it, and opened another file under its number.
    pub(crate) fn is_open(&self) -> bool {
        self.is_folder(&self.dir)
    }

    fn is_folder(&self, dir: &OwnedFd) -> bool {
        rustix::fs::fstat(dir).is_ok_and(|raw| file_id(&raw) == self.identity)
    }

    /// Returns the handle that all access is relative to.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Returns where the folder was when it was opened; for display, not for access.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path that it was opened by, if it was.
    pub(super) fn given_path(&self) -> Option<&Path> {
        self.given.as_deref()
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`Error::Refused`] as for [`paths::check_read`], or with `symlink`,
    /// `hardlink` or `type` (a folder, FIFO, device, socket, or a file taken
    /// for a folder); [`Error::NotFound`]; [`Error::Io`].
    pub fn open_read(&self, path: &str) -> Result<File> {
        paths::check_read(path)?;
        self.open_own(path)
    }

    /// Opens a regular file for reading, our own hidden ones included: same rules otherwise.
    ///
    /// # Errors
    /// As for [`Root::open_read`], without the check of the name.
    pub fn open_own(&self, path: &str) -> Result<File> {
        open_regular((self.fd(), path), READ_FLAGS, path)
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// As for [`Root::open_read`], and [`Error::Refused`] with `large` above [`MAX_WHOLE`];
    /// [`Error::Memory`].
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        read_whole(&mut self.open_read(path)?, path, &self.limit)
    }

    /// Looks at a regular file without opening it.
    ///
    /// # Errors
    /// As for [`Root::open_read`].
    pub fn stat(&self, path: &str) -> Result<Stat> {
        paths::check_read(path)?;
        self.stat_own(path)
    }

    /// As [`Root::stat`], our own hidden files included.
    pub(crate) fn stat_own(&self, path: &str) -> Result<Stat> {
        let raw = stat_settled((self.fd(), path), &mut { MAX_LINK_WAITS })
            .map_err(|e| refusal("stat", path, e))?;
        check_regular(path, &raw)?;
        Ok(Stat::from_raw(&raw))
    }

    /// Opens (and makes, mode 0700) a folder of ours, `sub` under `.commonplace`.
    ///
    /// # Errors
    /// [`Error::Refused`] with `symlink` or `type` when something else is in its
    /// place, [`Error::Io`].
    pub fn own_dir(&self, sub: &str) -> Result<OwnedFd> {
        let folder = if sub.is_empty() { OWN.into() } else { format!("{OWN}/{sub}") };
        self.make_dirs(&folder).map_err(|error| error.below(&self.path))
    }

    /// Opens a folder; `""` is the root.
    pub(crate) fn open_dir(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        System::open_beneath((self.fd(), if path.is_empty() { "." } else { path }), DIRECTORY_FLAGS)
    }

    /// Opens the folder of `path`, which must exist, for a change to `path`.
    pub(crate) fn path_handle(&self, path: &str) -> Result<PathHandle> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.open_dir(folder).map_err(|e| refusal("open", path, e))?;
        Ok(PathHandle { dir, name: name.into(), path: path.into() })
    }

    /// As [`Root::path_handle`], and makes the folders that are missing.
    pub(crate) fn create_path_handle(&self, path: &str) -> Result<PathHandle> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.make_dirs(folder)?;
        Ok(PathHandle { dir, name: name.into(), path: path.into() })
    }

    /// As [`Root::create_path_handle`]; `made_in` gets each folder that one was made in, which the
    /// caller flushes.
    pub(crate) fn create_path_handle_unflushed(
        &self,
        path: &str,
        made_in: &mut dyn FnMut(String),
    ) -> Result<PathHandle> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.make_dirs_with(folder, &mut |_, made_below| {
            made_in(made_below.to_owned());
            Ok(())
        })?;
        Ok(PathHandle { dir, name: name.into(), path: path.into() })
    }

    /// Opens a folder and makes what is missing, one component at a time, so
    /// that no link is ever walked through.
    fn make_dirs(&self, path: &str) -> Result<OwnedFd> {
        // Its entry must be as durable as the file that will be in it.
        self.make_dirs_with(path, &mut |dir, _| System::sync_folder(dir.as_fd()))
    }

    /// As [`Root::make_dirs`]; `made_in` gets each folder that one was made in, and its path.
    fn make_dirs_with(
        &self,
        path: &str,
        made_in: &mut dyn FnMut(&OwnedFd, &str) -> rustix::io::Result<()>,
    ) -> Result<OwnedFd> {
        match self.open_dir(path) {
            Err(Errno::NOENT) => {}
            done => return done.map_err(|e| refusal("open", path, e)),
        }
        let mut dir = self.open_dir("").map_err(|e| refusal("open", path, e))?;
        let is_new = paths::is_below(path, OWN) && matches!(self.open_dir(OWN), Err(Errno::NOENT));
        let mut end = 0;
        for component in path.split('/') {
            let above = path[..end].trim_end_matches('/');
            end += component.len() + 1;
            let next = match System::open_beneath((dir.as_fd(), component), DIRECTORY_FLAGS) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&dir, component, Mode::RWXU) {
                        Ok(()) => made_in(&dir, above),
                        Err(Errno::EXIST) => Ok(()),
                        Err(e) => Err(e),
                    }
                    .map_err(|e| refusal("create", path, e))?;
                    System::open_beneath((dir.as_fd(), component), DIRECTORY_FLAGS)
                }
                found => found,
            };
            dir = next.map_err(|e| refusal("open", path, e))?;
        }
        if is_new {
            git_files::create(self.fd());
        }
        Ok(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_folder_of_its_own() {
        for path in ["/", "/usr/.."] {
            let refused = Root::open(path, false).unwrap_err();
            assert!(matches!(refused, Error::Refused { code: "config", .. }), "{refused}");
        }
        assert!(matches!(Root::open("/no/such", false), Err(Error::Missing { .. })));
    }

    #[test]
    fn a_root_that_cannot_be_made_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let mut cases = vec![
            (file.clone(), true, "is no folder"),
            (file.clone(), false, "is no folder"),
            (file.join("below/it"), true, "file\" is no folder"),
            (file.join("below/it"), false, "file\" is no folder"),
            (dir.path().join("link"), true, "leads nowhere"),
            (dir.path().join("link"), false, "leads nowhere"),
        ];
        if cfg!(target_os = "linux") {
            cases.extend([
                ("/proc/x".into(), true, "pseudo file system (proc)"),
                ("/proc/self/x/y".into(), true, "pseudo file system (proc)"),
                ("/proc/x".into(), false, "pseudo file system (proc)"),
                ("/proc/self".into(), false, "pseudo file system (proc)"),
            ]);
        }
        for (path, create, told) in cases {
            let refused = Root::open(&path, create).unwrap_err();
            assert!(matches!(refused, Error::Refused { code: "config", .. }), "{refused}");
            assert!(refused.to_string().contains(told), "{refused}");
        }
    }
}
