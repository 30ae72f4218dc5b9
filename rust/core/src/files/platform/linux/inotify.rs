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
use rustix::io::{Errno, Result};

use super::is_local;
use crate::files::platform::{Changes, FolderWatch};
use crate::sync::Mutex;

/// An inotify queue, and the folders that it watches.
#[derive(Debug)]
pub(crate) struct Inotify {
    queue: OwnedFd,
    watched: Mutex<WatchedFolders>,
}

/// The folders of a queue.
#[derive(Debug, Default)]
struct WatchedFolders {
    paths: BTreeMap<i32, String>,
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
        Some(Self { queue, watched: Mutex::default() })
    }

    fn add(&self, folder: &str, handle: Result<BorrowedFd<'_>>) -> bool {
        let opened = match handle {
            Ok(opened) => opened,
            // gone, or not to be reached; if that changes, the watch of its parent reports it
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return true,
            Err(_) => return false,
        };
        if !is_local(opened) {
            return false;
        }
        // through the handle, so that it is the folder that is listed, wherever it is moved; without
        // `/proc` there is no such path, and no watch
        let place = format!("/proc/self/fd/{}/.", opened.as_raw_fd());
        match inotify::add_watch(&self.queue, place, WATCHED_EVENTS) {
            Ok(number) => {
                self.watched.lock().insert(folder, number);
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
        let Self { queue, watched } = self;
        let watched = watched.get_mut();
        let mut reader = inotify::Reader::new(&*queue, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    watched.lost = true;
                    break;
                }
            };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                watched.lost = true;
            }
            if what.contains(ReadFlags::IGNORED) {
                watched.remove(event.wd());
                continue;
            }
            let Some(folder) = watched.paths.get(&event.wd()) else { continue };
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
        for number in moved.iter().flat_map(|folder| watched.take_below(folder)) {
            // it may be gone already, which is as well
            let _ = inotify::remove_watch(&*queue, number);
        }
        if std::mem::take(&mut watched.lost) {
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
}

impl WatchedFolders {
    /// Notes the number of the watch of a folder.
    fn insert(&mut self, folder: &str, number: i32) {
        let other = self.paths.insert(number, folder.to_owned()).filter(|path| path != folder);
        if let Some(other) = other {
            // it was renamed while it was opened, and which of the two is its name now is not known
            self.numbers.remove(&other);
            self.lost = true;
        }
        self.numbers.insert(folder.to_owned(), number);
    }

    /// Removes a watch that is no more.
    fn remove(&mut self, number: i32) {
        if let Some(folder) = self.paths.remove(&number)
            && self.numbers.get(&folder) == Some(&number)
        {
            self.numbers.remove(&folder);
        }
    }

    /// Removes a folder that is no longer where it was, and those below it; returns their numbers.
    fn take_below(&mut self, folder: &str) -> Vec<i32> {
        let below = format!("{folder}/");
        let gone: Vec<(String, i32)> = self
            .numbers
            .range(folder.to_owned()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .filter(|(path, _)| *path == folder || path.starts_with(&below))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in &gone {
            self.numbers.remove(path);
            self.paths.remove(number);
        }
        gone.into_iter().map(|(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_folder_that_is_renamed_while_it_is_opened_is_lost_count_of() {
        let Some(mut watch) = Inotify::new() else { return };
        let place = tempfile::tempdir().unwrap();
        let folder = std::fs::File::open(place.path()).unwrap();
        for (path, changes) in [
            ("old", Changes::none()),
            ("old", Changes::none()),
            ("new", Changes::Unknown),
            ("new", Changes::none()),
        ] {
            if !watch.add(path, Ok(folder.as_fd())) {
                return;
            }
            assert_eq!(watch.drain(), changes, "{path}");
        }
        std::fs::write(place.path().join("a.md"), "a").unwrap();
        let files = BTreeSet::from(["new/a.md".to_owned()]);
        assert_eq!(watch.drain(), Changes::Some { files, folders: BTreeSet::new() });
    }

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
