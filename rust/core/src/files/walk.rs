//! Every file below a folder, with its stat: the listing that the index starts from.

use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::thread::ScopedJoinHandle;

use rustc_hash::FxHashMap;
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use crate::error::{Error, Interrupt, Result};
use crate::files::open::{LINKED, check_regular, refusal, stat_settled};
use crate::files::paths::{self, MAX_DEPTH};
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
    /// `symlink`, `hardlink`, `type`, `encoding`, `control`, `backslash`, `deep`, `long`, `perm`.
    pub skipped: Vec<(String, &'static str)>,
    /// What a write that was cut short left behind: hidden, and ending in `.swap`.
    pub(crate) leftovers: Vec<String>,
}

impl Root {
    /// Lists everything below `prefix` (`""` for all). Hidden files and folders are
    /// left out without a word; what cannot be read by us is named in `skipped`.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::NotFound`] for `prefix`, [`Error::Io`],
    /// [`Error::Interrupted`].
    pub fn walk(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Walk> {
        self.walk_entering(prefix, interrupt, &|_| {})
    }

    /// As [`Root::walk`], and calls `enter` with each folder before it is listed.
    ///
    /// # Errors
    /// Those of [`Root::walk`].
    pub fn walk_entering(
        &self,
        prefix: &str,
        interrupt: Interrupt<'_>,
        enter: &(dyn Fn(&str) + Sync),
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
        enter: &(dyn Fn(&str) + Sync),
    ) -> Result<Walk> {
        let pending =
            Mutex::new(Pending { folders: vec![prefix.to_owned()], listing: 0, stopped: false });
        let tour = Tour { root: self, prefix, enter, pending, more: Condvar::new() };
        let mut found = Found::default();
        let walked = std::thread::scope(|scope| {
            // most of the time goes to the kernel, which looks at two files at once; but a few
            // folders are listed before a second thread has begun
            let mut second = None;
            let _alarm = Alarm(&tour);
            while let Some(folder) = tour.next() {
                if interrupt() {
                    return Err(tour.stop(Error::Interrupted));
                }
                tour.visit(&folder, &mut found)?;
                if second.is_none() && tour.pending.lock().folders.len() >= MANY {
                    second = Some(scope.spawn(|| {
                        let _alarm = Alarm(&tour);
                        let mut found = Found::default();
                        while let Some(folder) = tour.next() {
                            tour.visit(&folder, &mut found)?;
                        }
                        Ok(found)
                    }));
                }
            }
            match second.map(ScopedJoinHandle::join) {
                None => Ok(Found::default()),
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
        gather(prefix, &mut found.listings, &mut walk.files);
        walk.dirs.sort_unstable();
        walk.skipped.sort_unstable();
        walk.leftovers.sort_unstable();
        Ok(walk)
    }
}

/// Why a folder is left out that we may not list.
pub(crate) const CLOSED: &str = "perm";
/// Folders from which on two threads list them.
const MANY: usize = 8;

/// What the threads of a walk share.
struct Tour<'a> {
    root: &'a Root,
    prefix: &'a str,
    enter: &'a (dyn Fn(&str) + Sync),
    pending: Mutex<Pending>,
    /// Told when there are more folders, or no more.
    more: Condvar,
}

struct Pending {
    folders: Vec<String>,
    /// Folders that are being listed, and may hold others.
    listing: usize,
    stopped: bool,
}

/// Ends the walk when its thread panics: the other would wait for ever for what it was listing.
struct Alarm<'a>(&'a Tour<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.pending.lock().stopped = true;
            self.0.more.notify_all();
        }
    }
}

/// What one thread found.
#[derive(Default)]
struct Found {
    walk: Walk,
    /// For each folder what is in it, in order.
    listings: FxHashMap<String, Vec<Listed>>,
}

/// A file, or with a slash at the end a folder: so they are in the order of all paths below.
type Listed = (String, Option<Stat>);

impl Tour<'_> {
    /// Takes a folder to list; waits while others are still being listed.
    fn next(&self) -> Option<String> {
        let mut pending = self.pending.lock();
        loop {
            if pending.stopped {
                return None;
            }
            if let Some(folder) = pending.folders.pop() {
                pending.listing += 1;
                return Some(folder);
            }
            if pending.listing == 0 {
                return None;
            }
            pending = self.more.wait(pending);
        }
    }

    fn done(&self, folders: Vec<String>) {
        let mut pending = self.pending.lock();
        pending.folders.extend(folders);
        pending.listing -= 1;
        self.more.notify_all();
    }

    /// Ends the walk of both threads.
    fn stop(&self, error: Error) -> Error {
        self.pending.lock().stopped = true;
        self.done(Vec::new());
        error
    }

    fn visit(&self, folder: &str, found: &mut Found) -> Result<()> {
        (self.enter)(folder);
        let mut listing = Vec::new();
        let mut below = Vec::new();
        match self.root.list(folder, &mut found.walk, &mut listing, &mut below) {
            Ok(()) => found.walk.dirs.push(folder.to_owned()),
            Err(e) if folder == self.prefix => {
                return Err(self.stop(refusal("list", self.prefix, e)));
            }
            // Removed or replaced while we were walking.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::ACCESS | Errno::PERM) => found.walk.skip(folder, CLOSED),
            Err(Errno::LOOP) => found.walk.skip(folder, "symlink"),
            Err(Errno::NAMETOOLONG) => found.walk.skip(folder, "long"),
            // A walk that is short of files without saying so would look
            // like a search without results.
            Err(e) => return Err(self.stop(Error::io("list", folder, e))),
        }
        listing.sort_unstable_by(|a: &Listed, b| a.0.cmp(&b.0));
        found.listings.insert(folder.to_owned(), listing);
        self.done(below);
        Ok(())
    }
}

/// Puts the files of a folder and of those below it in the order of their paths.
fn gather(
    folder: &str,
    listings: &mut FxHashMap<String, Vec<Listed>>,
    files: &mut Vec<(String, Stat)>,
) {
    for (path, stat) in listings.remove(folder).unwrap_or_default() {
        match stat {
            Some(stat) => files.push((path, stat)),
            None => gather(path.trim_end_matches('/'), listings, files),
        }
    }
}

impl Root {
    fn list(
        &self,
        folder: &str,
        walk: &mut Walk,
        listing: &mut Vec<Listed>,
        pending: &mut Vec<String>,
    ) -> rustix::io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 32 << 10];
        let dir = self.open_dir(folder)?;
        let mut patience = LINKED;
        let mut entries = RawDir::new(&dir, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let raw_name = entry.file_name();
            let Ok(name) = raw_name.to_str() else {
                if !raw_name.to_bytes().starts_with(b".") {
                    walk.skip(&join(folder, &lossy(raw_name.to_bytes())), "encoding");
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
            // Only what may be a file needs a second call.
            let mut kind = entry.file_type();
            let mut raw = None;
            if matches!(kind, FileType::RegularFile | FileType::Unknown) {
                match stat_settled((dir.as_fd(), name), &mut patience) {
                    Ok(found) => {
                        kind = FileType::from_raw_mode(found.st_mode);
                        raw = Some(found);
                    }
                    Err(Errno::NOENT) => continue,
                    Err(e) => return Err(e),
                }
            }
            match (kind, raw) {
                (FileType::Directory, _) if path.split('/').count() >= MAX_DEPTH => {
                    walk.skip(&path, "deep");
                }
                (FileType::Directory, _) => {
                    listing.push((format!("{path}/"), None));
                    pending.push(path);
                }
                (FileType::RegularFile, Some(raw)) if check_regular(&path, &raw).is_ok() => {
                    listing.push((path, Some(Stat::from_raw(&raw))));
                }
                (FileType::RegularFile, _) => walk.skip(&path, "hardlink"),
                (FileType::Symlink, _) => walk.skip(&path, "symlink"),
                _ => walk.skip(&path, "type"),
            }
        }
        Ok(())
    }
}

/// Says of what was left out what an answer is to tell: a folder that we may not list, for what is
/// in it would have been searched.
pub(crate) fn closed_note(path: &str, why: &str) -> Option<String> {
    (why == CLOSED)
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

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

/// Shows bytes that are not UTF-8 so that two such names stay apart.
fn lossy(name: &[u8]) -> String {
    name.utf8_chunks().fold(String::new(), |mut shown, chunk| {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| {
            let _ = write!(shown, "\\x{byte:02x}");
        });
        shown
    })
}
