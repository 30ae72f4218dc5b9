//! Safe opening of regular files below a folder handle: no symbolic links, no hard links, no FIFOs.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::files::paths::OWN;
use crate::files::platform::{
    AsHandle as _, Errno, FileInfo, FileType, FolderEntries, HandleRef, NameAt, OpenFlags,
    Platform as _, SysResult, System, TRAVERSE, open_at, stat, stat_at,
};
use crate::memory_limit::{MemoryLimit, try_with_capacity};

/// The largest file that is read into memory whole; longer transcripts are streamed.
pub const MAX_WHOLE: u64 = 256 << 20;

/// How files are opened: never blocking on a FIFO, never through a link.
pub(crate) const READ_FLAGS: OpenFlags = OpenFlags::RDONLY
    .union(OpenFlags::NONBLOCK)
    .union(OpenFlags::NOFOLLOW)
    .union(OpenFlags::NOCTTY)
    .union(OpenFlags::CLOEXEC);
/// Without `NOFOLLOW`: with it the kernel calls a link "not a folder", and hides what it is.
pub(crate) const DIRECTORY_FLAGS: OpenFlags =
    READ_FLAGS.difference(OpenFlags::NOFOLLOW).union(OpenFlags::DIRECTORY);

/// Looks at what is at `path` below `dir`: what it is and how many names it has, in one call.
pub(crate) fn stat_beneath(dir: HandleRef<'_>, path: &str) -> SysResult<FileInfo> {
    in_folder((dir, path), |folder, name| stat_at((folder, name)))
}

/// Looks at a file by `look`; a second hard link that it has just been given is waited for to go
/// away, as long as `waits` is not zero, a millisecond each time.
///
/// Some editors, and we where names cannot be exchanged, link a file to its backup for a moment.
pub(crate) fn stat_settled(
    look: impl Fn() -> SysResult<FileInfo>,
    waits: &mut usize,
) -> SysResult<FileInfo> {
    loop {
        let info = look()?;
        if !is_newly_linked(&info) || *waits == 0 {
            return Ok(info);
        }
        *waits -= 1;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_newly_linked(info: &FileInfo) -> bool {
    info.kind == FileType::File && info.links > 1 && may_be_in_progress(info)
}

/// Calls `look` with the folder of a path, opened if it is not `dir`, and the name in it.
fn in_folder<T>(
    (dir, path): NameAt<'_>,
    look: impl FnOnce(HandleRef<'_>, &str) -> SysResult<T>,
) -> SysResult<T> {
    match path.rsplit_once('/') {
        None => look(dir, path),
        Some((folder, name)) => {
            look(System::open_beneath((dir, folder), TRAVERSE)?.as_handle(), name)
        }
    }
}

/// How often a file that is held by a lease is tried again, a millisecond later each time.
const MAX_LEASE_WAITS: usize = 5_000;

/// How often a file is opened again that is replaced while we open it.
const MAX_REOPENS: usize = 64;
/// How often a second hard link is waited for to go away.
pub(crate) const MAX_LINK_WAITS: usize = 50;
/// How often the link count is read again of a file that is being written.
const MAX_COUNT_READS: usize = 8;
/// Longer than any file system takes, and no longer than a path may be.
const OVERLONG_NAME: &str = match std::str::from_utf8(&[b'x'; 4_000]) {
    Ok(name) => name,
    Err(_) => "",
};
/// Seconds after which a change of a name is done. It takes a thousandth of one.
const RENAME_SETTLED_SECONDS: i64 = 2;

/// Opens `name` below `dir` and makes sure that it is one plain file, and has no other name.
///
/// A reader under a lease, as our grep, returns it when we ask, but
/// since the call does not block, the kernel returns `EAGAIN` and we try again.
///
/// A second hard link that is new is waited for, as by [`stat_settled`].
///
/// A file that was replaced meanwhile is closed, and the new one is opened.
pub(crate) fn open_regular(name: NameAt<'_>, flags: OpenFlags, path: &str) -> Result<File> {
    let fail = |e| refusal("open", path, e);
    let (mut held, mut linked, mut replaced) = (0, 0, 0);
    loop {
        let file = match System::open_beneath(name, flags) {
            Err(Errno::AGAIN) if held < MAX_LEASE_WAITS => {
                held += 1;
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            done => File::from(done.map_err(fail)?),
        };
        let opened = stat(&file).map_err(fail)?;
        match check_regular(path, &opened) {
            Ok(()) if names_only(name, opened).map_err(fail)? => return Ok(file),
            Ok(()) if replaced < MAX_REOPENS => replaced += 1,
            Ok(()) => return Err(fail(Errno::AGAIN)),
            Err(_) if is_newly_linked(&opened) && linked < MAX_LINK_WAITS => {
                linked += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(refused) => return Err(refused),
        }
    }
}

/// Returns whether there was a moment, since this was called, at which the only name of an open
/// file was `name`.
///
/// A link count alone says nothing: of a file outside that had a second hard link here for a moment
/// it is 1 again. So the name is looked up after the file was opened. If it leads to the file, and
/// the file has one link, that is the one; and since an open file stays the file that it is, this
/// holds for all that is read through the handle later. Two things stand in the way.
///
/// A look-up has two steps, name to file and file to link count, and in between the name may be
/// taken away. That changes the change time. So the count is trusted if at the same change time it
/// was the same before; with clocks too coarse for that (kernels before 6.13), a name would have to
/// be given and taken within those two steps. Of a file that is written all the time it is enough
/// that this goes well a few times in a row.
///
/// And the kernel counts a link down before it forgets the name. So as long as the change may still
/// be under way, it is waited for: it holds the lock of the folder.
pub(crate) fn is_only_name(name: NameAt<'_>, file: &File) -> SysResult<bool> {
    names_only(name, stat(file)?)
}

/// As [`is_only_name`], for a file whose stat was taken after it was opened.
fn names_only(name: NameAt<'_>, opened: FileInfo) -> SysResult<bool> {
    let only = in_folder(name, |folder, name| {
        let mut before = opened;
        for _ in 0..MAX_COUNT_READS {
            if may_be_in_progress(&before) {
                wait_for_changes(folder)?;
            }
            let now = stat_at((folder, name))?;
            if now.id() != before.id() || (before.links, now.links) != (1, 1) {
                return Ok(false);
            }
            if now.stat.ctime_ns == before.stat.ctime_ns {
                break;
            }
            before = now;
        }
        Ok(true)
    });
    match only {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
        looked => looked,
    }
}

/// Returns whether the last change of a file's link count may still be in progress.
fn may_be_in_progress(info: &FileInfo) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    info.stat.ctime_ns.div_euclid(1_000_000_000).saturating_add(RENAME_SETTLED_SECONDS)
        >= i64::try_from(now).unwrap_or(i64::MAX)
}

/// Waits until changes of names in a folder that have begun are done: they hold a lock that Linux
/// takes to look up a name which it does not remember, and any system for a listing.
///
/// A name that is too long for the file system is never remembered.
fn wait_for_changes(folder: HandleRef<'_>) -> SysResult<()> {
    let looked = stat_at((folder, OVERLONG_NAME)).map(drop);
    if cfg!(target_os = "linux") && looked == Err(Errno::NAMETOOLONG) {
        return Ok(());
    }
    FolderEntries::new(open_at((folder, "."), DIRECTORY_FLAGS)?)?.read().transpose().map(drop)
}

pub(crate) fn check_regular(path: &str, info: &FileInfo) -> Result<()> {
    match info.kind {
        // 0 links: it lost its name since we opened it.
        FileType::File if info.links <= 1 => Ok(()),
        FileType::File => {
            let why = "it has a second name, which may be outside the memory; copy it";
            Err(Error::refused(path, "hardlink", why))
        }
        FileType::Link => Err(refusal("open", path, Errno::LOOP)),
        FileType::Folder => Err(refusal("open", path, Errno::ISDIR)),
        _ => Err(refusal("open", path, Errno::NXIO)),
    }
}

/// Reads all of an open file, if the limits allow it.
pub(crate) fn read_whole(file: &mut File, path: &str, limit: &MemoryLimit) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
    if size <= MAX_WHOLE {
        limit.check_whole(path, size)?;
        bytes = try_with_capacity(|| format!("reading {path:?} as a whole"), size)?;
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

/// Maps an error number of the system to [`Error::Refused`], where the path is to blame.
pub(crate) fn refusal(action: &'static str, path: &str, errno: Errno) -> Error {
    let (code, why) = match errno {
        Errno::LOOP => ("symlink", "it is, or goes through, a symbolic link"),
        Errno::XDEV => ("escape", "it leads out of the memory"),
        Errno::NOTDIR => ("type", "a part of it is a file, not a folder"),
        Errno::ISDIR => ("type", "it is a folder, not a file"),
        Errno::NXIO => ("type", "it is not a regular file"),
        Errno::NAMETOOLONG => ("long", "the system takes no name this long"),
        errno => return Error::io(action, path, errno),
    };
    // no caller has named what is ours
    let instead = match path.split('/').any(|part| part == OWN) {
        true => "; move it away: what belongs there is made anew",
        false if errno == Errno::LOOP => "; name the file itself",
        false => "",
    };
    Error::refused(path, code, format!("{why}{instead}"))
}

/// As [`refusal`], of a call that moves a file from folder to folder.
pub(crate) fn move_refusal(action: &'static str, path: &str, errno: Errno) -> Error {
    if errno != Errno::XDEV {
        return refusal(action, path, errno);
    }
    let why = "it is on another file system, mounted below the root, from which nothing is moved to \
               the history or elsewhere; append to it, write a new file, or use your file manager";
    Error::refused(path, "mount", why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;

    /// Who looks on a busy machine may be too late at times.
    #[test]
    fn a_second_name_that_is_new_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a.md"), dir.path().join("b.md"));
        std::fs::write(&first, "ours").unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let looks: [fn(&Root) -> bool; 2] =
            [|root| root.open_own("a.md").is_ok(), |root| root.stat_own("a.md").is_ok()];
        let waits = |look: fn(&Root) -> bool| {
            std::fs::hard_link(&first, &second).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(10));
                    std::fs::remove_file(&second).unwrap();
                });
                look(&root)
            })
        };
        assert!(looks.into_iter().all(|look| (0..5).any(|_| waits(look))));
    }

    #[test]
    fn the_only_name_is_told_from_a_second_one() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("root/sub")).unwrap();
        let root = Root::open(at("root"), false).unwrap();
        for name in ["a.md", "sub/a.md"] {
            let (here, path) = ((root.handle(), name), at("root").join(name));
            let open = || File::from(System::open_beneath(here, READ_FLAGS).unwrap());
            let only = |file: &File| is_only_name(here, file).unwrap();
            std::fs::write(&path, "ours").unwrap();
            std::fs::write(at("secret"), "CANARY").unwrap();
            let ours = open();
            assert!(only(&ours));
            std::fs::hard_link(&path, at("second")).unwrap();
            assert!(!only(&ours));
            std::fs::remove_file(at("second")).unwrap();
            assert!(only(&ours));
            // what was open under a name that is gone again
            std::fs::remove_file(&path).unwrap();
            std::fs::hard_link(at("secret"), &path).unwrap();
            let theirs = open();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(stat(&theirs).unwrap().links, 1);
            assert!(!only(&theirs) && !only(&ours));
            std::fs::write(&path, "new").unwrap();
            assert!(!only(&theirs) && !only(&ours));
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::remove_dir(at("root/sub")).unwrap();
        assert!(
            !is_only_name((root.handle(), "sub/a.md"), &File::open(at("secret")).unwrap()).unwrap()
        );
    }
}
