//! Opening a file below a folder handle: through no link, blocking on nothing, and
//! only if it is one plain file.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::memory_limit::room;

/// The largest file that is read into memory whole; longer transcripts are streamed.
pub const MAX_WHOLE: u64 = 256 << 20;

/// How files are opened: never blocking on a FIFO, never through a link.
pub(crate) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// Without `NOFOLLOW`: with it the kernel calls a link "not a folder", and hides what it is.
pub(crate) const FOLDER: OFlags = READ.difference(OFlags::NOFOLLOW).union(OFlags::DIRECTORY);
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Opens `path` below `dir` without following any link.
pub(crate) fn open_beneath(
    dir: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN: something was renamed while the kernel made sure that we stay
    // beneath. It is rare; a bound keeps a hostile renamer from holding us.
    for _ in 0..128 {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            // Kernels before 5.6, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_by_steps(dir, path, flags),
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Does what `openat2` does, one component at a time.
fn open_by_steps(dir: BorrowedFd<'_>, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for component in folders.split('/').filter(|component| !component.is_empty()) {
        let here = at.as_ref().map_or(dir, AsFd::as_fd);
        if component == ".." {
            return Err(Errno::XDEV);
        }
        let next = rustix::fs::openat(here, component, step, Mode::empty())?;
        match FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode) {
            FileType::Directory => at = Some(next),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTDIR),
        }
    }
    if name == ".." {
        return Err(Errno::XDEV);
    }
    let here = at.as_ref().map_or(dir, AsFd::as_fd);
    match rustix::fs::openat(here, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        // A folder was asked for; was it a link?
        Err(Errno::NOTDIR) => {
            let raw = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let link = FileType::from_raw_mode(raw.st_mode) == FileType::Symlink;
            Err(if link { Errno::LOOP } else { Errno::NOTDIR })
        }
        done => done,
    }
}

/// How often a file that is held by a lease is tried again, a millisecond later each time.
const HELD: usize = 5_000;

/// Opens with `open` and makes sure that it is one plain file.
///
/// Whoever looks at the file under a lease, as a grep of ours does, gives way when we ask, but
/// since we wait for nothing, we are told to ask again.
///
/// Some editors, and we where the kernel cannot exchange two names, link a file
/// to its backup for a moment; so a second link is looked at again, briefly.
pub(crate) fn open_regular(
    open: impl Fn() -> rustix::io::Result<OwnedFd>,
    path: &str,
) -> Result<File> {
    let (mut tries, mut held) = (0, 0);
    loop {
        let file = match open() {
            Err(Errno::AGAIN) if held < HELD => {
                held += 1;
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            done => done.map_err(|e| refusal("open", path, e))?,
        };
        let raw = rustix::fs::fstat(&file).map_err(|e| refusal("open", path, e))?;
        match check_regular(path, &raw) {
            Ok(()) => return Ok(File::from(file)),
            Err(Error::Refused { code: "hardlink", .. }) if tries < 3 => tries += 1,
            Err(refused) => return Err(refused),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn check_regular(path: &str, raw: &rustix::fs::Stat) -> Result<()> {
    match FileType::from_raw_mode(raw.st_mode) {
        // 0 links: it was replaced since we opened it, and is still one version.
        FileType::RegularFile if raw.st_nlink <= 1 => Ok(()),
        FileType::RegularFile => {
            let why = "it has a second name, which may be outside the memory; copy it";
            Err(Error::refused(path, "hardlink", why))
        }
        FileType::Symlink => Err(refusal("open", path, Errno::LOOP)),
        FileType::Directory => Err(refusal("open", path, Errno::ISDIR)),
        _ => Err(refusal("open", path, Errno::NXIO)),
    }
}

pub(crate) fn read_whole(file: &mut File, path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
    if size <= MAX_WHOLE {
        bytes = room(|| format!("reading {path:?} as a whole"), size)?;
        // It may grow while it is read.
        let read = file.take(MAX_WHOLE + 1).read_to_end(&mut bytes);
        read.map_err(|e| Error::io("read", path, e))?;
    }
    if size.max(bytes.len() as u64) > MAX_WHOLE {
        let why = format!("more than {} MiB; split it, or grep it", MAX_WHOLE >> 20);
        return Err(Error::refused(path, "large", why));
    }
    Ok(bytes)
}

/// Turns what the kernel says about a path into a refusal, where it is one.
pub(crate) fn refusal(action: &'static str, path: &str, errno: Errno) -> Error {
    let (code, why) = match errno {
        Errno::LOOP => ("symlink", "it is, or goes through, a symbolic link; name the file itself"),
        Errno::XDEV => ("escape", "it leads out of the memory"),
        Errno::NOTDIR => ("type", "a part of it is a file, not a folder"),
        Errno::ISDIR => ("type", "it is a folder, not a file"),
        Errno::NXIO => ("type", "it is not a regular file"),
        Errno::NAMETOOLONG => ("long", "the system takes no name this long"),
        errno => return Error::io(action, path, errno),
    };
    Error::refused(path, code, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;
    use std::os::unix::fs::symlink;

    #[test]
    fn stepping_agrees_with_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("root/sub/deeper")).unwrap();
        std::fs::write(at("secret.md"), "CANARY").unwrap();
        std::fs::write(at("root/sub/a.md"), "a").unwrap();
        symlink(at("secret.md"), at("root/out.md")).unwrap();
        symlink(dir.path(), at("root/outside")).unwrap();
        symlink("sub", at("root/inside")).unwrap();
        let root = Root::open(at("root"), false).unwrap();
        let anything = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
            "sub",
            ".",
            "sub/deeper",
        ] {
            for flags in [READ, FOLDER, anything] {
                let kernel = open_beneath(root.fd(), path, flags).map(|_| ());
                let steps = open_by_steps(root.fd(), path, flags).map(|_| ());
                assert_eq!(kernel, steps, "{path:?} {flags:?}");
            }
        }
    }
}
