//! Parallel directory walk: every file below a folder with its stat data, sorted by path.

use std::fmt::Write as _;
use std::thread::ScopedJoinHandle;

use rustc_hash::FxHashMap;

use crate::error::{Error, Interrupt, Result};
use crate::files::open::{MAX_LINK_WAITS, check_regular, refusal, stat_settled};
use crate::files::paths::{self, MAX_DEPTH};
use crate::files::platform::{
    AsHandle as _, Errno, FileInfo, FileType, FolderEntries, FolderEntry, Handle, HandleRef,
    SysResult,
};
use crate::files::root::{Root, Stat};
use crate::sync::{Condvar, Mutex};

/// What is below a folder. All paths are relative to the root and sorted by bytes.
#[derive(Debug, Default)]
pub struct Walk {
    /// The regular files that are not hidden.
    pub files: Vec<(String, Stat)>,
    /// The folders, the one that was asked for included; `""` is the root.
    pub dirs: Vec<String>,
    /// What was left out, with unprintable characters escaped, and why:
    /// `symlink`, `hardlink`, `type`, `encoding`, `control`, `backslash`, `name`, `deep`, `long`,
    /// `perm`.
    pub skipped: Vec<(String, &'static str)>,
    /// What a write that was cut short left behind: hidden, and ending in `.swap`.
    pub(crate) leftovers: Vec<String>,
}

/// A folder of a walk that is about to be listed.
#[derive(Debug)]
pub struct OpenedFolder<'w> {
    /// Relative to the root.
    pub path: &'w str,
    /// The handle that it is listed by, for to open it again takes as long; or why there is none.
    pub(crate) handle: SysResult<HandleRef<'w>>,
}

/// Called with each folder of a walk.
type Enter<'f> = &'f (dyn Fn(&OpenedFolder<'_>) + Sync);

impl Root {
    /// Lists everything below `prefix` (`""` for all). Hidden files and folders are
    /// left out without a word; what cannot be read by us is named in `skipped`.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::NotFound`] for `prefix`, [`Error::Io`],
    /// [`Error::Interrupted`].
    pub fn walk(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Walk> {
        self.walk_visiting(prefix, interrupt, &|_| {})
    }

    /// As [`Root::walk`], and calls `enter` with each folder before it is listed.
    ///
    /// # Errors
    /// Those of [`Root::walk`].
    pub fn walk_visiting(
        &self,
        prefix: &str,
        interrupt: Interrupt<'_>,
        enter: Enter<'_>,
    ) -> Result<Walk> {
        if !prefix.is_empty() {
            paths::check_read(prefix)?;
        }
        self.walk_all(prefix, interrupt, enter)
    }

    /// As [`Root::walk`], for our own hidden folders too.
    pub(crate) fn walk_all(
        &self,
        prefix: &str,
        interrupt: Interrupt<'_>,
        enter: Enter<'_>,
    ) -> Result<Walk> {
        let queue =
            Mutex::new(WalkQueue { folders: vec![prefix.to_owned()], listing: 0, stopped: false });
        let walk_state = ParallelWalk { root: self, prefix, enter, queue, more: Condvar::new() };
        let mut found = ThreadListing::default();
        let walked = std::thread::scope(|scope| {
            // most of the time is spent in the kernel, which stats two files at once; but a few
            // folders are listed before a second thread has begun
            let mut second = None;
            let _stop_on_panic = StopOnPanic(&walk_state);
            while let Some(folder) = walk_state.next() {
                if interrupt() {
                    return Err(walk_state.stop(Error::Interrupted));
                }
                walk_state.visit(&folder, &mut found)?;
                if second.is_none() && walk_state.queue.lock().folders.len() >= PARALLEL_FROM {
                    second = Some(scope.spawn(|| {
                        let _stop_on_panic = StopOnPanic(&walk_state);
                        let mut found = ThreadListing::default();
                        while let Some(folder) = walk_state.next() {
                            walk_state.visit(&folder, &mut found)?;
                        }
                        Ok(found)
                    }));
                }
            }
            match second.map(ScopedJoinHandle::join) {
                None => Ok(ThreadListing::default()),
                Some(Ok(more)) => more,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
            }
        });
        let more = walked?;
        let mut walk = found.walk;
        walk.dirs.extend(more.walk.dirs);
        walk.skipped.extend(more.walk.skipped);
        walk.leftovers.extend(more.walk.leftovers);
        found.listings.extend(more.listings);
        // to grow step by step would copy what is there
        walk.files.reserve_exact(found.listings.values().map(Vec::len).sum());
        collect_in_order(prefix, &mut found.listings, &mut walk.files);
        walk.dirs.sort_unstable();
        walk.skipped.sort_unstable();
        walk.leftovers.sort_unstable();
        Ok(walk)
    }
}

/// Why a folder is left out that we may not list.
pub(crate) const UNLISTABLE: &str = "perm";
/// Folders from which on two threads list them.
const PARALLEL_FROM: usize = 8;

/// The state that the threads of a walk share.
struct ParallelWalk<'a> {
    root: &'a Root,
    prefix: &'a str,
    enter: Enter<'a>,
    queue: Mutex<WalkQueue>,
    /// Notified when there are more folders, or no more.
    more: Condvar,
}

struct WalkQueue {
    folders: Vec<String>,
    /// Folders that are being listed, and may hold others.
    listing: usize,
    stopped: bool,
}

/// Stops the walk when its thread panics: the other would wait forever for its folder.
struct StopOnPanic<'a>(&'a ParallelWalk<'a>);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.lock().stopped = true;
            self.0.more.notify_all();
        }
    }
}

/// The part of a walk that one thread listed.
#[derive(Default)]
struct ThreadListing {
    walk: Walk,
    /// For each folder what is in it, in order.
    listings: FxHashMap<String, Vec<ListedEntry>>,
}

/// A file, or with a slash at the end a folder: so they are in the order of all paths below.
type ListedEntry = (String, Option<Stat>);

impl ParallelWalk<'_> {
    /// Takes a folder to list; waits while others are still being listed.
    fn next(&self) -> Option<String> {
        let mut queue = self.queue.lock();
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(folder) = queue.folders.pop() {
                queue.listing += 1;
                return Some(folder);
            }
            if queue.listing == 0 {
                return None;
            }
            queue = self.more.wait(queue);
        }
    }

    fn done(&self, folders: Vec<String>) {
        let mut queue = self.queue.lock();
        let is_news = !folders.is_empty() || queue.listing == 1 || queue.stopped;
        queue.folders.extend(folders);
        queue.listing -= 1;
        // most folders hold no others, and to wake nobody is a call of the system too
        if is_news {
            self.more.notify_all();
        }
    }

    /// Ends the walk of both threads.
    fn stop(&self, error: Error) -> Error {
        self.queue.lock().stopped = true;
        self.done(Vec::new());
        error
    }

    fn visit(&self, folder: &str, found: &mut ThreadListing) -> Result<()> {
        let opened = self.root.open_dir(folder);
        let handle = opened.as_ref().map(Handle::as_handle).map_err(|e| *e);
        (self.enter)(&OpenedFolder { path: folder, handle });
        let mut listing = Vec::new();
        let mut below = Vec::new();
        let list = |opened| list(folder, opened, &mut found.walk, &mut listing, &mut below);
        match opened.and_then(list) {
            Ok(()) => found.walk.dirs.push(folder.to_owned()),
            Err(e) if folder == self.prefix => {
                return Err(self.stop(refusal("list", self.prefix, e)));
            }
            // Removed or replaced while we were walking.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::ACCESS | Errno::PERM) => found.walk.skip(folder, UNLISTABLE),
            Err(Errno::LOOP) => found.walk.skip(folder, "symlink"),
            Err(Errno::NAMETOOLONG) => found.walk.skip(folder, "long"),
            // A walk that is short of files without saying so would look
            // like a search without results.
            Err(e) => return Err(self.stop(Error::io("list", folder, e))),
        }
        listing.sort_unstable_by(|a: &ListedEntry, b| a.0.cmp(&b.0));
        found.listings.insert(folder.to_owned(), listing);
        self.done(below);
        Ok(())
    }
}

/// Puts the files of a folder and of those below it in the order of their paths.
fn collect_in_order(
    folder: &str,
    listings: &mut FxHashMap<String, Vec<ListedEntry>>,
    files: &mut Vec<(String, Stat)>,
) {
    for (path, stat) in listings.remove(folder).unwrap_or_default() {
        match stat {
            Some(stat) => files.push((path, stat)),
            None => collect_in_order(path.trim_end_matches('/'), listings, files),
        }
    }
}

fn list(
    folder: &str,
    opened: Handle,
    walk: &mut Walk,
    listing: &mut Vec<ListedEntry>,
    queue: &mut Vec<String>,
) -> SysResult<()> {
    let mut waits = MAX_LINK_WAITS;
    let mut entries = FolderEntries::new(opened)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let Some(name) = entry.name() else {
            if !entry.name_bytes().starts_with(b".") {
                walk.skip(&join(folder, &escape_invalid(entry.name_bytes())), "encoding");
            }
            continue;
        };
        if name.starts_with('.') {
            if name.ends_with(".swap") {
                walk.leftovers.push(join(folder, name));
            }
            continue;
        }
        let path = join(folder, name);
        if let Err(Error::Refused { code, .. }) = paths::check_read(name) {
            walk.skip(&path, code);
            continue;
        }
        let (kind, info) = match stat_entry(&entries, &entry, &mut waits) {
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        match (kind, info) {
            (FileType::Folder, _) if path.split('/').count() >= MAX_DEPTH => {
                walk.skip(&path, "deep");
            }
            (FileType::Folder, _) => {
                listing.push((format!("{path}/"), None));
                queue.push(path);
            }
            (FileType::File, Some(info)) if check_regular(&path, &info).is_ok() => {
                listing.push((path, Some(info.stat)));
            }
            (FileType::File, _) => walk.skip(&path, "hardlink"),
            (FileType::Link, _) => walk.skip(&path, "symlink"),
            _ => walk.skip(&path, "type"),
        }
    }
    Ok(())
}

/// Returns the type of an entry, and its stat if it is or may be a file: only that needs a second
/// call.
fn stat_entry(
    entries: &FolderEntries,
    entry: &FolderEntry,
    waits: &mut usize,
) -> SysResult<(FileType, Option<FileInfo>)> {
    let kind = entry.kind();
    if !matches!(kind, FileType::File | FileType::Unknown) {
        return Ok((kind, None));
    }
    let info = stat_settled(|| entries.stat(entry), waits)?;
    Ok((info.kind, Some(info)))
}

/// Returns the note of an answer about a folder that we may not list, for what is
/// in it would have been searched.
pub(crate) fn unlistable_note(path: &str, why: &str) -> Option<String> {
    (why == UNLISTABLE)
        .then(|| format!("{path}: the folder cannot be listed (permission denied); allow it"))
}

impl Walk {
    fn skip(&mut self, path: &str, why: &'static str) {
        let mut shown = String::with_capacity(path.len());
        for c in path.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
        self.skipped.push((shown, why));
    }
}

pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

/// Shows bytes that are not UTF-8 so that two such names stay apart.
fn escape_invalid(name: &[u8]) -> String {
    name.utf8_chunks().fold(String::new(), |mut shown, chunk| {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| {
            let _ = write!(shown, "\\x{byte:02x}");
        });
        shown
    })
}
