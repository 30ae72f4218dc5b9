//! What changed below the root since the last call, told by the system (inotify).
//!
//! The queue is read in the caller's own thread at the start of each query: the kernel queues an
//! event before the write that caused it returns, so a file saved before the query is never
//! missed, and a quiet queue costs one system call. A background thread, as watcher crates have,
//! could still be asleep at that moment.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::files::platform::{Changes, FolderWatch};

/// A queue of the kernel, and the folders that it tells of.
#[derive(Debug)]
pub(crate) struct Inotify {
    queue: OwnedFd,
    folders: BTreeMap<i32, String>,
    numbers: BTreeMap<String, i32>,
    /// Set when an event or a folder may have been missed.
    lost: bool,
}

/// File systems that others write to as well, of which the system tells nothing.
const SHARED: [u32; 9] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
    0x6573_5546, // FUSE, virtiofs
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x786f_4256, // VirtualBox
];

fn is_shared(place: &str) -> bool {
    rustix::fs::statfs(place).is_ok_and(|found| SHARED.contains(&(found.f_type as u32)))
}

const SEEN: WatchFlags = WatchFlags::ATTRIB
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
        // through the handle, so that a root that was renamed is still found
        let place = format!("/proc/self/fd/{}/{folder}", root.as_raw_fd());
        if is_shared(&place) {
            return false;
        }
        match inotify::add_watch(&self.queue, place, SEEN) {
            Ok(number) => {
                if let Some(old) = self.folders.insert(number, folder.to_owned()) {
                    self.numbers.remove(&old);
                }
                self.numbers.insert(folder.to_owned(), number);
                true
            }
            // gone, or not to be listed either; if that changes, its own folder tells
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => true,
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
}

impl Inotify {
    /// Lets go of a folder that is no longer where it was, and of those below it.
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
