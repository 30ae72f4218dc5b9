//! Detection of the Linux calls that `tests/refuse.py` may refuse.

use std::fs;

use rustix::fs::inotify::{self, CreateFlags};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};

/// Where not, stamps are compared.
pub fn has_watch() -> bool {
    inotify::init(CreateFlags::CLOEXEC).is_ok()
}

/// Where not, each folder on the way to a file is opened by itself.
pub fn has_openat2() -> bool {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, ".", flags, Mode::empty(), ResolveFlags::empty()).is_ok()
}

/// Where not, a file that is replaced gets a second name in the history first.
pub fn has_exchange() -> bool {
    can_rename("b", RenameFlags::EXCHANGE)
}

/// Says whether a file can be renamed only if the name is free; where not, it has both for a while.
pub fn has_rename_new() -> bool {
    can_rename("c", RenameFlags::NOREPLACE)
}

/// Takes root's power from this thread.
pub fn become_nobody() {
    rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
}

fn can_rename(to: &str, how: RenameFlags) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ["a", "b"].iter().for_each(|name| fs::write(at(name), "").unwrap());
    renameat_with(CWD, at("a"), CWD, at(to), how).is_ok()
}
