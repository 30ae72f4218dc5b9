//! Change notification by inotify.
//!
//! The queue is read in the caller's own thread at the start of each query: the kernel queues an
//! event before the write that caused it returns, so a file saved before the query is never
//! missed, and a quiet queue costs one system call. A background thread, as watcher crates have,
//! could still be asleep at that moment.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::is_local;
use crate::files::platform::{Changes, FolderWatch, Platform as _, System, TRAVERSE};

/// An inotify queue, and the folders that it watches.
#[derive(Debug)]
pub(crate) struct Inotify {
    queue: OwnedFd,
    folders: BTreeMap<i32, String>,
    numbers: BTreeMap<String, i32>,
    /// Set when an event or a folder may have been missed.
    lost: bool,
}

const WATCHED_EVENTS: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

impl FolderWatch for Inotify {
    fn new() -> Option<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let (folders, numbers) = (BTreeMap::new(), BTreeMap::new());
        Some(Self { queue, folders, numbers, lost: false })
    }

    fn add(&mut self, root: BorrowedFd<'_>, folder: &str) -> bool {
        let path = if folder.is_empty() { "." } else { folder };
        // through the handle, so that a root that was renamed is still found
        let opened = match System::open_beneath((root, path), TRAVERSE) {
            Ok(opened) => opened,
            // gone, or not to be reached; if that changes, the watch of its parent reports it
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return true,
            Err(_) => return false,
        };
        if !is_local(&opened) {
            return false;
        }
        // without `/proc` there is no such path, and no watch
        let place = format!("/proc/self/fd/{}/.", opened.as_raw_fd());
        match inotify::add_watch(&self.queue, place, WATCHED_EVENTS) {
            Ok(number) => {
                if let Some(old) = self.folders.insert(number, folder.to_owned()) {
                    self.numbers.remove(&old);
                }
                self.numbers.insert(folder.to_owned(), number);
                true
            }
            // not to be listed either; if that changes, the watch of its parent reports it
            Err(Errno::ACCESS) => true,
            Err(_) => false,
        }
    }

    fn drain(&mut self) -> Changes {
        let mut files = BTreeSet::new();
        let mut folders = BTreeSet::new();
        let mut moved = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    self.lost = true;
                    break;
                }
            };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.lost = true;
            }
            if what.contains(ReadFlags::IGNORED) {
                if let Some(folder) = self.folders.remove(&event.wd())
                    && self.numbers.get(&folder) == Some(&event.wd())
                {
                    self.numbers.remove(&folder);
                }
                continue;
            }
            let Some(folder) = self.folders.get(&event.wd()) else { continue };
            let Some(name) = event.file_name() else { continue };
            // a name that is not UTF-8 or is hidden is not in the store
            let Ok(name) = name.to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let path = match folder.as_str() {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            };
            if what.contains(ReadFlags::ISDIR) {
                if what.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE) {
                    moved.push(path.clone());
                }
                folders.insert(path);
            } else {
                files.insert(path);
            }
        }
        for folder in moved {
            self.forget(&folder);
        }
        if std::mem::take(&mut self.lost) {
            return Changes::Unknown;
        }
        Changes::Some { files, folders }
    }

    fn abandon(self, is_inherited: bool) {
        if !(is_inherited && self.is_open()) {
            let _ = self.queue.into_raw_fd();
        }
    }
}

impl Inotify {
    /// Returns whether the number that was opened for the queue stands for a queue still.
    fn is_open(&self) -> bool {
        // a queue looks for the file, which no empty path names; nothing else comes as far
        inotify::add_watch(&self.queue, "", WATCHED_EVENTS) == Err(Errno::NOENT)
    }

    /// Removes the watch of a folder that is no longer where it was, and of those below it.
    fn forget(&mut self, folder: &str) {
        let below = format!("{folder}/");
        let gone: Vec<(String, i32)> = self
            .numbers
            .range(folder.to_owned()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .filter(|(path, _)| *path == folder || path.starts_with(&below))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in gone {
            self.numbers.remove(&path);
            self.folders.remove(&number);
            // it may be gone already, which is as well
            let _ = inotify::remove_watch(&self.queue, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_told_from_another_file() {
        let Some(mut watch) = Inotify::new() else { return };
        assert!(watch.is_open());
        watch.queue = std::fs::File::open("/dev/null").unwrap().into();
        assert!(!watch.is_open());
        let folder = std::fs::File::open("/").unwrap();
        let number = folder.as_raw_fd();
        watch.queue = folder.into();
        watch.abandon(true);
        assert!(std::fs::exists(format!("/proc/self/fd/{number}")).unwrap());
    }
}
