//! Portable platform: opening component by component, no exchange, no change notification.
//!
//! It needs only what the files of each system (`unix.rs`, `windows/`) offer.
//! Without an exchange a file gets a second hard link before it loses its own; `files/replace` does
//! so.

use std::convert::Infallible;
use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Deref;

use super::{
    AsHandle as _, Changes, Errno, FileType, FolderWatch, Handle, HandleRef, NameAt, OpenFlags,
    Platform, ReadLease, SysResult, TRAVERSE, open_at, stat_at,
};

/// See the module.
#[derive(Debug)]
pub(crate) struct Portable;

impl Platform for Portable {
    type Watch = NoWatch;
    type Lease = NoLease;

    const PASS_THROUGH: OpenFlags = OpenFlags::RDONLY;

    /// Opens one component after the other, none of which may be a link.
    fn open_beneath((dir, path): NameAt<'_>, flags: OpenFlags) -> SysResult<Handle> {
        let mut at: Option<Handle> = None;
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        for component in folders.split('/').filter(|component| !component.is_empty()) {
            let here = at.as_ref().map_or(dir, |at| at.as_handle());
            at = Some(step((here, component), TRAVERSE)?);
        }
        step((at.as_ref().map_or(dir, |at| at.as_handle()), name), flags)
    }

    fn exchange(_: NameAt<'_>, _: NameAt<'_>) -> SysResult<()> {
        Err(Errno::NOSYS)
    }

    fn rename_noreplace(_: NameAt<'_>, _: NameAt<'_>) -> SysResult<()> {
        Err(Errno::NOSYS)
    }

    fn sync_folder(folder: HandleRef<'_>) -> SysResult<()> {
        super::system::sync_folder(folder)
    }

    fn readahead(_: HandleRef<'_>, _: u64, _: NonZeroU64) {}

    fn lower_thread_priority() {}
}

/// Opens what a folder holds, unless it is a link.
fn step((dir, name): NameAt<'_>, flags: OpenFlags) -> SysResult<Handle> {
    if name == ".." {
        return Err(Errno::XDEV);
    }
    match open_at((dir, name), flags | OpenFlags::NOFOLLOW) {
        // A folder was asked for; was it a link?
        Err(Errno::NOTDIR) => {
            let link = stat_at((dir, name))?.kind == FileType::Link;
            Err(if link { Errno::LOOP } else { Errno::NOTDIR })
        }
        done => done,
    }
}

/// No watch: stamps are compared.
#[derive(Debug)]
pub(crate) struct NoWatch(Infallible);

impl FolderWatch for NoWatch {
    fn new() -> Option<Self> {
        None
    }

    fn add(&self, _: &str, _: SysResult<HandleRef<'_>>) -> bool {
        match self.0 {}
    }

    fn drain(&mut self) -> Changes {
        match self.0 {}
    }

    fn abandon(self, _: bool) {
        match self.0 {}
    }
}

/// No lease: files are read.
#[derive(Debug)]
pub(crate) struct NoLease(Infallible);

/// No mapped part either.
#[derive(Debug)]
pub(crate) struct NoWindow(Infallible);

impl Deref for NoWindow {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self.0 {}
    }
}

impl ReadLease for NoLease {
    type Window<'l> = NoWindow;

    fn take(_: &File) -> Option<Self> {
        None
    }

    fn window(&self, _: u64, _: usize) -> Option<NoWindow> {
        match self.0 {}
    }

    fn is_open_for_writing(_: &File) -> Option<bool> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::open::{DIRECTORY_FLAGS, READ_FLAGS};
    use crate::files::platform::linux::Linux;
    use crate::files::root::Root;

    #[test]
    fn it_opens_what_the_kernel_would() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("root/sub/deeper")).unwrap();
        fs::write(at("secret.md"), "CANARY").unwrap();
        fs::write(at("root/sub/a.md"), "a").unwrap();
        symlink(at("secret.md"), at("root/out.md")).unwrap();
        symlink(dir.path(), at("root/outside")).unwrap();
        symlink("sub", at("root/inside")).unwrap();
        let root = Root::open(at("root"), false).unwrap();
        let anything = OpenFlags::PATH | OpenFlags::NOFOLLOW | OpenFlags::CLOEXEC;
        let made = READ_FLAGS | OpenFlags::RDWR | OpenFlags::CREATE | OpenFlags::EXCL;
        for path in [
            "sub/a.md",
            "out.md",
            "outside/secret.md",
            "inside/a.md",
            "outside",
            "inside",
            "..",
            "../secret.md",
            "sub/a.md/x",
            "missing.md",
            "outside/missing.md",
            "sub",
            ".",
            "sub/deeper",
        ] {
            for flags in [READ_FLAGS, DIRECTORY_FLAGS, TRAVERSE, anything, made] {
                let kernel = Linux::open_beneath((root.handle(), path), flags).map(|_| ());
                if flags == made && kernel.is_ok() {
                    fs::remove_file(at("root").join(path)).unwrap();
                }
                let steps = Portable::open_beneath((root.handle(), path), flags).map(|_| ());
                if flags == made && steps.is_ok() {
                    fs::remove_file(at("root").join(path)).unwrap();
                }
                assert_eq!(kernel, steps, "{path:?} {flags:?}");
            }
        }
        assert!(!at("missing.md").exists());
    }
}
