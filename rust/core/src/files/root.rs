//! Root folder of a memory: one directory handle (capability), and nothing outside it.
//!
//! Every access starts from that handle and lets the kernel refuse links and
//! `..` (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), so there is no
//! moment between a check and a use. What the kernel lets through, hard links
//! and special files, is refused by looking at the open file.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::git_files;
pub use crate::files::open::MAX_WHOLE;
use crate::files::open::{
    DIRECTORY_FLAGS, MAX_LINK_WAITS, READ_FLAGS, check_regular, open_regular, read_whole, refusal,
    stat_beneath, stat_settled,
};
use crate::files::path_handle::PathHandle;
use crate::files::paths::{self, OWN};
pub use crate::files::platform::Stat;
use crate::files::platform::{
    self, AsHandle as _, Errno, Handle, HandleRef, Platform as _, SysResult, System, make_folder,
    make_root, open_path, real_path, stat,
};
use crate::files::root_creation;
use crate::memory_limit::MemoryLimit;

/// An open memory folder. Renaming the folder does not disturb it.
#[derive(Debug)]
pub struct Root {
    dir: Handle,
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
            let made = make_root(path);
            made.map_err(|source| {
                let system =
                    Error::Io { action: "create", path: shown.as_ref().to_owned(), source };
                root_creation::obstacle(path).unwrap_or(system)
            })?;
        }
        let real = real_path(path).map_err(|e| match Error::io("open", shown.as_ref(), e) {
            Error::NotFound { path: missing } => {
                let hint = "create it, or choose another folder with --root";
                root_creation::obstacle(path).unwrap_or_else(|| Error::missing(&missing, hint))
            }
            error => root_creation::obstacle(path).unwrap_or(error),
        })?;
        let home = platform::home().and_then(|home| real_path(&home).ok());
        if real.parent().is_none() || home.is_some_and(|home| home == real) {
            let why = "a memory needs a folder of its own, not the home folder or \"/\"";
            return Err(Error::refused(&shown, "config", why));
        }
        let opened = open_path(&real, DIRECTORY_FLAGS).and_then(|dir| Ok((stat(&dir)?.id(), dir)));
        let (identity, dir) = opened.map_err(|e| match e {
            Errno::NOTDIR => root_creation::is_no_folder(&shown, &real),
            e => Error::io("open", shown.as_ref(), e),
        })?;
        root_creation::check_file_system(&shown, &real, dir.as_handle())?;
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

    fn reopen(&self) -> Result<Handle> {
        let shown = self.path.to_string_lossy();
        let dir = open_path(&self.path, DIRECTORY_FLAGS)
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

    fn is_folder(&self, dir: &Handle) -> bool {
        stat(dir).is_ok_and(|info| info.id() == self.identity)
    }

    /// Returns the handle that all access is relative to.
    #[must_use]
    pub fn handle(&self) -> HandleRef<'_> {
        self.dir.as_handle()
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
        open_regular((self.handle(), path), READ_FLAGS, path)
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
        let info = stat_settled(|| stat_beneath(self.handle(), path), &mut { MAX_LINK_WAITS })
            .map_err(|e| refusal("stat", path, e))?;
        check_regular(path, &info)?;
        Ok(info.stat)
    }

    /// Opens (and makes, mode 0700) a folder of ours, `sub` under `.commonplace`.
    ///
    /// # Errors
    /// [`Error::Refused`] with `symlink` or `type` when something else is in its
    /// place, [`Error::Io`].
    pub fn own_dir(&self, sub: &str) -> Result<Handle> {
        let folder = if sub.is_empty() { OWN.into() } else { format!("{OWN}/{sub}") };
        self.make_dirs(&folder).map_err(|error| error.below(&self.path))
    }

    /// Opens a folder; `""` is the root.
    pub(crate) fn open_dir(&self, path: &str) -> SysResult<Handle> {
        System::open_beneath(
            (self.handle(), if path.is_empty() { "." } else { path }),
            DIRECTORY_FLAGS,
        )
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
    fn make_dirs(&self, path: &str) -> Result<Handle> {
        // Its entry must be as durable as the file that will be in it.
        self.make_dirs_with(path, &mut |dir, _| System::sync_folder(dir.as_handle()))
    }

    /// As [`Root::make_dirs`]; `made_in` gets each folder that one was made in, and its path.
    fn make_dirs_with(
        &self,
        path: &str,
        made_in: &mut dyn FnMut(&Handle, &str) -> SysResult<()>,
    ) -> Result<Handle> {
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
            let next = match System::open_beneath((dir.as_handle(), component), DIRECTORY_FLAGS) {
                Err(Errno::NOENT) => {
                    match make_folder((dir.as_handle(), component)) {
                        Ok(()) => made_in(&dir, above),
                        Err(Errno::EXIST) => Ok(()),
                        Err(e) => Err(e),
                    }
                    .map_err(|e| refusal("create", path, e))?;
                    System::open_beneath((dir.as_handle(), component), DIRECTORY_FLAGS)
                }
                found => found,
            };
            dir = next.map_err(|e| refusal("open", path, e))?;
        }
        if is_new {
            git_files::create(self.handle());
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
        let mut cases = vec![
            (file.clone(), true, "is no folder"),
            (file.clone(), false, "is no folder"),
            (file.join("below/it"), true, "file\" is no folder"),
            (file.join("below/it"), false, "file\" is no folder"),
        ];
        // to make a link takes a right on Windows that few users have
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
            cases.extend(
                [true, false].map(|create| (dir.path().join("link"), create, "is broken")),
            );
        }
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
