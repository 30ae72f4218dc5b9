//! Crash recovery by a search of the whole root: leftovers are finished, kept or shown as conflict
//! copies.

use crate::error::{Error, Interrupt, Result};
use crate::files::Files;
use crate::files::history::{BackupDir, make_conflict_copy, parse_copy_path, parse_history_path};
use crate::files::path_handle::PathHandle;
use crate::files::paths::OWN;
use crate::files::platform::{Errno, FileType, FolderEntries, stat};
use crate::files::recovery_list::{RecoveryEntry, RecoveryList};
use crate::files::version::Version;

/// The outcome for a temporary file.
pub(crate) enum Recovered {
    /// It was nothing that is not elsewhere, or is no file of ours.
    Nothing,
    /// It is visible at this path.
    ConflictCopy(String),
    /// It was displaced by a crashed writer, and is here in the history.
    InHistory(String),
}

/// Stamps of a copy in the history are this close: it was written, not displaced.
const COPY_STAMP_NS: i64 = 10_000_000;

impl Files {
    /// Searches the whole root for what crashed writers left, and returns the conflict copies that
    /// it made.
    ///
    /// A temporary file that is also in the file or in its history is removed, and so is a second
    /// name that we gave. A displaced text of known version goes to the history. Anything else may
    /// be a person's save: it becomes visible beside its file, as
    /// `facts/user.conflict-1a2b3c4d.md`. So does a displaced file that an editor wrote into
    /// later. Bytes that are nowhere else are never removed, but for a copy into the history that
    /// was cut short.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`], [`Error::Interrupted`].
    pub fn recover(&self) -> Result<Vec<String>> {
        let guard = &self.lock.acquire(&self.root)?;
        let mut list = self.recovery_list.lock();
        list.load(guard)?;
        let before = list.conflict_copies.len();
        let interrupt = self.interrupt();
        let looked = self.check_entries(&mut list, true, &interrupt);
        let searched = looked.and_then(|()| self.search_root(&mut list, &interrupt));
        list.root_searched |= searched.is_ok();
        list.complete |= searched.is_ok();
        list.store(guard)?;
        searched.map(|()| list.conflict_copies.split_off(before))
    }

    /// Reads every text in the history and returns those that are not what their name says, in
    /// words; what an editor wrote there becomes visible.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`], [`Error::Interrupted`].
    pub fn verify_history(&self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let walk = match self.root.walk_all(&format!("{OWN}/history"), interrupt, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            walk => walk.map_err(|error| error.below(self.root.path()))?,
        };
        let doubled = walk.skipped.iter().filter(|(_, why)| *why == "hardlink");
        let unread = |kept: &String| format!("{kept}: not read, for it has a second name");
        let mut differences: Vec<String> = doubled.map(|(kept, _)| unread(kept)).collect();
        for (kept, _) in walk.files {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let Some((path, named)) = parse_history_path(&kept) else { continue };
            let file = match self.root.open_own(&kept) {
                Err(Error::NotFound { .. } | Error::Refused { .. }) => continue,
                file => file?,
            };
            if Version::of_whole(&file, &kept, interrupt)? == named {
                continue;
            }
            let guard = self.begin()?;
            let shown = self.conflict_copy_if_changed(&kept, path, named, interrupt)?;
            drop(guard);
            differences.push(match shown {
                Some(shown) => format!("{kept}: written into later; now visible as {shown}"),
                None => format!("{kept}: not the text that its name says"),
            });
        }
        Ok(differences)
    }

    /// Searches the root and the history; what cannot be repaired now is added to the list.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Interrupted`].
    pub(crate) fn search_root(
        &self,
        list: &mut RecoveryList,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        for leftover in self.root.walk("", interrupt)?.leftovers {
            match self.recover_temp_file(&leftover, interrupt) {
                Ok(Recovered::Nothing) => {}
                Ok(Recovered::ConflictCopy(shown)) => list.conflict_copies.push(shown),
                Ok(Recovered::InHistory(kept)) => {
                    list.entries.push(RecoveryEntry::displaced(&kept))
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => list.entries.push(RecoveryEntry::TempFile(leftover)),
            }
        }
        let history = format!("{OWN}/history");
        let walk = match self.root.walk_all(&history, interrupt, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(()),
            walk => walk?,
        };
        for copy in walk.leftovers {
            self.recover_copy(&copy, interrupt)?;
        }
        let doubled = walk.skipped.into_iter().filter(|(_, why)| *why == "hardlink");
        for (kept, _) in doubled {
            if let Some((path, _)) = parse_history_path(&kept) {
                self.remove_extra_link(&self.root.path_handle(&kept)?, path)?;
            }
        }
        for (kept, stat) in walk.files {
            // No editor outlives a boot. What one wrote without leaving these stamps is found by
            // `verify_history`, which reads everything.
            if stat.ctime_ns - stat.mtime_ns <= COPY_STAMP_NS
                && let Some((path, named)) = parse_history_path(&kept)
            {
                let shown = self.conflict_copy_if_changed(&kept, path, named, interrupt)?;
                list.conflict_copies.extend(shown);
            }
        }
        Ok(())
    }

    /// Makes a text in the history visible if it is not what its name says, and not empty.
    fn conflict_copy_if_changed(
        &self,
        kept: &str,
        path: &str,
        named: Version,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<String>> {
        let found = self.root.path_handle(kept)?.version_unless(interrupt)?;
        if found == named || found == Version::of(b"") {
            return Ok(None);
        }
        make_conflict_copy(&self.root, kept, path, found).map(Some)
    }

    /// Finishes, keeps or shows a temporary file.
    pub(crate) fn recover_temp_file(
        &self,
        leftover: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Recovered> {
        if parse_copy_path(leftover).is_some() {
            return self.recover_copy(leftover, interrupt).map(|()| Recovered::Nothing);
        }
        let (folder, hidden) = leftover.rsplit_once('/').unwrap_or(("", leftover));
        let inner = hidden.trim_start_matches('.').trim_end_matches(".swap");
        let (name, tag) = inner.rsplit_once('.').unwrap_or((inner, ""));
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let fail = |e| Error::io("recover", leftover, e);
        let temp = match self.root.path_handle(leftover) {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(Recovered::Nothing),
            temp => temp?,
        };
        let Some(version) = self.version_of_temp_file(&temp, &path, interrupt)? else {
            return Ok(Recovered::Nothing);
        };
        let replaced = tag.rsplit_once('-').map(|(_, version)| version);
        if replaced.is_some_and(|start| start.len() == 16 && version.to_string().starts_with(start))
        {
            // an editor may have it open, so that this file is kept even if its text is elsewhere
            let backups = BackupDir::history(&self.root, &path)?;
            let kept = backups.new_name(version).map_err(fail)?;
            backups.move_in(&temp, &kept).map_err(fail)?;
            backups.sync(&path)?;
            temp.sync_folder()?;
            return Ok(Recovered::InHistory(kept));
        }
        let live = PathHandle { name: name.to_owned(), ..self.root.path_handle(leftover)? };
        let live = match live.version_unless(interrupt) {
            Ok(version) => Some(version),
            Err(Error::NotFound { .. } | Error::Refused { .. }) => None,
            Err(e) => return Err(e),
        };
        if version == Version::of(b"")
            || live == Some(version)
            || self.is_kept(&path, version, interrupt)?
        {
            temp.unlink().map_err(fail)?;
            return Ok(Recovered::Nothing);
        }
        make_conflict_copy(&self.root, leftover, &path, version).map(Recovered::ConflictCopy)
    }

    /// Returns the version of a temporary file of `path`; none where it is no file of ours, cannot
    /// be read, or is only a second hard link, which is removed.
    fn version_of_temp_file(
        &self,
        temp: &PathHandle,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Version>> {
        match temp.stat() {
            Err(Errno::NOENT) => return Ok(None),
            Ok(info) if info.kind != FileType::File => return Ok(None),
            Ok(info) if info.links > 1 => {
                return self.remove_extra_link(temp, path).map(|_| None);
            }
            info => info.map_err(|e| Error::io("recover", &*temp.path, e))?,
        };
        match temp.version_unless(interrupt) {
            Err(Error::Refused { .. } | Error::NotFound { .. }) => Ok(None),
            Err(Error::Io { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Ok(None)
            }
            version => version.map(Some),
        }
    }

    /// Removes a hidden name of ours if the same file has another one beside `path` or in its
    /// history; else says no, for its second hard link is not of our making.
    pub(crate) fn remove_extra_link(&self, hidden: &PathHandle, path: &str) -> Result<bool> {
        let fail = |e| Error::io("recover", &*hidden.path, e);
        let wanted = hidden.stat().map_err(fail)?.id();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for folder in [folder, &format!("{OWN}/history/{path}")] {
            let dir = match self.root.open_dir(folder) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                dir => dir.map_err(fail)?,
            };
            let here = stat(&dir).map_err(fail)?.id();
            let own = stat(&hidden.dir).map_err(fail)?.id() == here;
            let mut entries = FolderEntries::new(dir).map_err(fail)?;
            while let Some(entry) = entries.read() {
                let entry = entry.map_err(fail)?;
                let is_hidden = own && entry.name_bytes() == hidden.name.as_bytes();
                if !entry.may_be(wanted.1) || is_hidden {
                    continue;
                }
                if entries.stat(&entry).map(|info| info.id()) == Ok(wanted) {
                    hidden.unlink().map_err(fail)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether the history of `path` really holds this version.
    fn is_kept(&self, path: &str, version: Version, interrupt: Interrupt<'_>) -> Result<bool> {
        let folder = format!("{OWN}/history/{path}");
        let walk = match self.root.walk_all(&folder, interrupt, &|_| {}) {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(false),
            walk => walk?,
        };
        for (kept, _) in walk.files {
            if parse_history_path(&kept).is_some_and(|(_, named)| named == version)
                && self.root.path_handle(&kept)?.version_unless(interrupt)? == version
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives a copy in the history its name, or removes it when it is not whole: then its text
    /// is where it was copied from, or was never said to be written.
    fn recover_copy(&self, copy: &str, interrupt: Interrupt<'_>) -> Result<()> {
        let target = match self.root.path_handle(copy) {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(()),
            target => target?,
        };
        let version = match target.version_unless(interrupt) {
            // what is no file of ours stays as it is
            Err(Error::Refused { .. } | Error::NotFound { .. }) => return Ok(()),
            version => version?,
        };
        let fail = |e| Error::io("recover", copy, e);
        match parse_copy_path(copy) {
            Some((path, named)) if named == version => {
                let backups = BackupDir::history(&self.root, path)?;
                let kept = backups.new_name(version).map_err(fail)?;
                backups.move_in(&target, &kept).map_err(fail)?;
                backups.sync(path)
            }
            _ => target.unlink().map_err(fail),
        }
    }
}
