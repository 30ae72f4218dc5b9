//! Crash-safe changes of the files below a root: write, rename, delete, append, patch.
//!
//! Every change takes the lock, reads what is there, compares it with what the
//! caller saw, and answers only when the disk has confirmed it. The changes are
//! here, in `append`, and in `patch`; how a text gets in the place of another is
//! in `replace`.

pub mod append;
mod collisions;
mod create_all;
mod erase;
mod expected;
pub mod file_kind;
mod git_files;
mod given_path;
mod hard_links;
mod hidden;
mod history;
pub mod lock;
mod normalization;
pub(crate) mod open;
pub mod patch;
pub(crate) mod path_handle;
pub mod paths;
pub(crate) mod platform;
pub mod racy_stat;
pub(crate) mod readahead;
mod recheck;
pub mod recover;
pub(crate) mod recovery_list;
mod rename;
mod replace;
pub mod revisions;
pub mod root;
mod root_creation;
pub mod side_files;
mod temp_file;
pub mod version;
pub mod walk;
pub mod write_rules;

use std::time::Duration;

use crate::error::{Error, Result, throttled};
pub use crate::files::expected::Expected;
use crate::files::history::BackupDir;
pub(crate) use crate::files::history::{kept_path, parse_revision_name, timestamp};
use crate::files::lock::{LOCK_TIMEOUT, Lock, LockGuard};
use crate::files::open::{move_refusal, refusal};
use crate::files::path_handle::{BaseFile, PathHandle};
use crate::files::platform::{Errno, sync_file};
use crate::files::recovery_list::{RecoveryEntry, RecoveryList};
use crate::files::rename::{RenameOutcome, rename_noreplace};
use crate::files::root::Root;
use crate::files::temp_file::temp_name;
use crate::files::version::Version;
use crate::files::write_rules::{WriteRules, is_transcript};
use crate::sync::Mutex;

/// The files of one root; shared freely between threads.
#[derive(Debug)]
pub struct Files {
    pub(crate) root: Root,
    pub(crate) rules: WriteRules,
    lock: Lock,
    recovery_list: Mutex<RecoveryList>,
}

/// The result of a durable change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path as stored, in NFC when we made it.
    pub path: String,
    /// The version of the file now; after a delete, its last one.
    pub version: Version,
    /// The version before, if the file existed.
    pub previous: Option<Version>,
    /// The file in the history that holds the previous text, relative to the root.
    pub history: Option<String>,
}

impl Files {
    /// Takes over the files of `root`. What a crashed writer has left is repaired by
    /// [`Files::recheck_if_due`], which is to be called next, or else by the first change.
    #[must_use]
    pub fn new(root: Root, rules: WriteRules) -> Self {
        Self { root, rules, lock: Lock::default(), recovery_list: Mutex::default() }
    }

    /// Ends a wait for the lock when `interrupt` returns true.
    #[must_use]
    pub fn interrupted_by(self, interrupt: fn() -> bool) -> Self {
        Self { lock: self.lock.interrupted_by(interrupt), ..self }
    }

    /// Returns the same files for a child of a fork, with locks of its own; closes what handle of
    /// the lock it inherited.
    pub(crate) fn in_child(&self) -> Result<Self> {
        let root = self.root.for_child()?;
        if self.root.is_open() {
            self.lock.close_inherited(&root);
        }
        let own = Self::new(root, self.rules);
        Ok(own.interrupted_by(self.lock.interrupt))
    }

    /// Returns the root, for reading and listing.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Reads a file and the version to name when changing it.
    ///
    /// # Errors
    /// As for [`Root::read`].
    pub fn read(&self, path: &str) -> Result<(Vec<u8>, Version)> {
        let bytes = self.read_bytes(path)?;
        let version = Version::of(&bytes);
        Ok((bytes, version))
    }

    /// Reads a file. Takes no lock, unless a crashed writer has left it with a second hard link.
    ///
    /// # Errors
    /// As for [`Root::read`].
    pub fn read_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let path = &*self.root.normalized(path);
        match self.root.read(path) {
            Err(Error::Refused { code: "hardlink", .. }) => {
                self.recheck_now()?;
                self.root.read(path).map_err(|e| self.with_link_names(path, e))
            }
            read => read,
        }
    }

    /// Makes a file, or replaces all of its text; the old text goes to the history.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that may not be made (see [`WriteRules::check_write`]),
    /// with `case` or `collision` when it exists in another spelling, and with
    /// `appendonly` for a log; [`Error::Conflict`] when the file is not as
    /// `expected`, or is saved by someone else at this moment; [`Error::Busy`];
    /// [`Error::Io`] when nothing was changed; [`Error::InDoubt`] when that is not known.
    pub fn write(&self, path: &str, bytes: &[u8], expected: Expected) -> Result<Written> {
        let guard = self.begin()?;
        let target = self.resolve_target(path, expected)?;
        let base = target.base(&self.interrupt())?;
        expected.check(&target.path, base.as_ref().map(|base| base.version))?;
        if base.is_some() {
            self.rules.check_rewrite(&target.path)?;
        }
        self.publish(&guard, &target, base, bytes)
    }

    /// Gives a file a new name, which must be free.
    ///
    /// # Errors
    /// As for [`Files::write`], for either name.
    pub fn rename(&self, from: &str, to: &str, expected: Expected) -> Result<Written> {
        let guard = self.begin()?;
        let from = &*self.root.normalized(from);
        let source = self.resolve_for_removal(from, expected)?;
        self.rules.check_write(to)?;
        let path = self.root.normalized(to).into_owned();
        if is_transcript(from) != is_transcript(&path) {
            let why = "a note cannot become a transcript, nor a transcript a note: \
                       the two are read in different ways; write a new file instead";
            return Err(Error::refused(to, "type", why));
        }
        self.check_collisions(&path, Some(from))?;
        let target = self.root.create_path_handle(&path)?;
        let taken = |path| {
            let found = target.version_shown();
            Error::Conflict { path, expected: "absent".into(), found }
        };
        // One file, or one name in two spellings: recovery would take it for a rename half done.
        let files = (source.stat(), target.stat());
        if matches!(files, (Ok(one), Ok(other)) if one.id() == other.id()) {
            return Err(taken(path));
        }
        // Its text may be unsynced, of a person who saved it a moment ago.
        sync_file(&source.open()?).map_err(|e| Error::io("rename", from, e))?;
        self.record_pending(&guard, [RecoveryEntry::Moved(from.into(), path.clone())])?;
        // Not every file system makes a rename whole: after a power cut both names may stand, and
        // then nothing but the list says what they are.
        guard.sync()?;
        match rename_noreplace(&source, &target) {
            Ok(RenameOutcome::Complete) => {}
            Ok(RenameOutcome::BothNames) => return Err(in_doubt(from, Errno::IO)),
            Err(Errno::EXIST) => return Err(taken(path)),
            Err(e) => return Err(move_refusal("rename", from, e)),
        }
        // A rename moves whatever file has the name at that moment; check which one that was.
        let version = match target.version() {
            Ok(version) => version,
            Err(e) => return Err(undo_rename(&target, &source, e)),
        };
        if let Err(conflict) = expected.check(from, Some(version)) {
            return Err(undo_rename(&target, &source, conflict));
        }
        target.sync_folder()?;
        source.sync_folder()?;
        Ok(Written { path, version, previous: Some(version), history: None })
    }

    /// Moves a file to the history.
    ///
    /// # Errors
    /// As for [`Files::write`], and [`Error::NotFound`].
    pub fn delete(&self, path: &str, expected: Expected) -> Result<Written> {
        let guard = self.begin()?;
        let path = &*self.root.normalized(path);
        let target = self.resolve_for_removal(path, expected)?;
        let fail = |e| Error::io("delete", path, e);
        let file = target.open()?;
        let version = Version::of_whole(&file, path, &self.interrupt())?;
        expected.check(path, Some(version))?;
        sync_file(&file).map_err(fail)?;
        let backups = BackupDir::history(&self.root, path)?;
        let kept = backups.new_name(version).map_err(|e| refusal("delete", path, e))?;
        let moved = self.root.path_handle(&kept)?;
        self.record_pending(&guard, [RecoveryEntry::displaced(&kept)])?;
        backups.move_in(&target, &kept).map_err(|e| move_refusal("delete", path, e))?;
        // As for a rename: a person may have saved since we read it.
        let same = moved.is_name_of(&file).map_err(|e| fail(e.into()));
        let found = same.and_then(|same| match same {
            true => Version::of_file(&file, u64::MAX).map_err(fail),
            false => moved.version(),
        });
        let checked = found.and_then(|found| Expected::Version(version).check(path, Some(found)));
        if let Err(e) = checked {
            return Err(undo_rename(&moved, &target, e));
        }
        target.sync_folder()?;
        backups.sync(path)?;
        let path = path.into();
        Ok(Written { path, version, previous: Some(version), history: Some(kept) })
    }

    /// Returns the throttled interrupt check for work under the lock.
    pub(crate) fn interrupt(&self) -> impl Fn() -> bool + Sync + use<> {
        throttled(self.lock.interrupt)
    }

    /// Takes the lock for a change, and checks the recovery list first.
    pub(crate) fn begin(&self) -> Result<LockGuard<'_>> {
        self.begin_within(LOCK_TIMEOUT)
    }

    /// As [`Self::begin`], but waits at most so long for the lock.
    pub(crate) fn begin_within(&self, longest: Duration) -> Result<LockGuard<'_>> {
        let guard = self.lock.acquire_within(&self.root, longest)?;
        self.recheck(&guard)?;
        Ok(guard)
    }

    /// Records in the recovery list what a change may leave behind, before it begins.
    pub(crate) fn record_pending(
        &self,
        guard: &LockGuard<'_>,
        entries: impl IntoIterator<Item = RecoveryEntry>,
    ) -> Result<()> {
        let mut list = self.recovery_list.lock();
        list.entries.extend(entries);
        list.store(guard)
    }

    /// Publishes `bytes` at `place`, where `base` was found.
    pub(crate) fn publish(
        &self,
        guard: &LockGuard<'_>,
        target: &PathHandle,
        base: Option<BaseFile>,
        bytes: &[u8],
    ) -> Result<Written> {
        let (path, version) = (target.path.clone(), Version::of(bytes));
        let (at, temp) = temp_name(target, base.as_ref())?;
        let Some(base) = base else {
            self.record_pending(guard, [RecoveryEntry::TempFile(temp)])?;
            replace::create(target, bytes, at)?;
            return Ok(Written { path, version, previous: None, history: None });
        };
        let previous = Some(base.version);
        if base.version == version {
            base.sync().map_err(|source| Error::InDoubt { path: path.clone(), source })?;
            target.sync_folder()?;
            return Ok(Written { path, version, previous, history: None });
        }
        let backups = BackupDir::history(&self.root, &path)?;
        let kept = backups.new_name(base.version).map_err(|e| refusal("write", &path, e))?;
        // where a text goes that is refused because of a save at the last moment
        let refused = backups.temp_path(version);
        let left = [
            RecoveryEntry::TempFile(temp),
            RecoveryEntry::TempFile(refused),
            RecoveryEntry::displaced(&kept),
        ];
        self.record_pending(guard, left)?;
        replace::replace(target, base, bytes, at, &backups, &kept)?;
        Ok(Written { path, version, previous, history: Some(kept) })
    }

    /// Resolves the target of a change to `path`: the file as it is spelled on disk, or
    /// a place for a new one.
    pub(crate) fn resolve_target(&self, path: &str, expected: Expected) -> Result<PathHandle> {
        let path = self.root.normalized(path);
        match self.resolve_existing(&path) {
            Err(Error::NotFound { .. }) => self.rules.check_write(&path)?,
            done => return done,
        };
        self.check_collisions(&path, None)?;
        expected.check(&path, None)?;
        self.root.create_path_handle(&path)
    }

    /// Resolves a file that is to be changed and must exist.
    pub(crate) fn resolve_existing(&self, path: &str) -> Result<PathHandle> {
        if let Err(e) = self.root.stat(path) {
            // A hostile name is refused as such, not reported as missing; the rule
            // for new names is the stricter one, so it gives the better reason.
            let named = matches!(e, Error::NotFound { .. }) || paths::check_read(path).is_err();
            let better = self.rules.check_write(path).err().filter(|_| named);
            return Err(better.unwrap_or_else(|| self.with_link_names(path, e)));
        }
        self.rules.check_change(path)?;
        self.root.path_handle(path)
    }

    /// Resolves a file that is to be renamed or deleted.
    fn resolve_for_removal(&self, path: &str, expected: Expected) -> Result<PathHandle> {
        let target = self.resolve_existing(path)?;
        self.rules.check_rewrite(path)?;
        match expected {
            Expected::Any => {}
            expected => expected.check(path, Some(target.version()?))?,
        }
        Ok(target)
    }
}

/// Renames a file back, and returns the error that made it necessary.
fn undo_rename(moved: &PathHandle, home: &PathHandle, why: Error) -> Error {
    match rename_noreplace(moved, home) {
        Ok(RenameOutcome::Complete) => why,
        Ok(RenameOutcome::BothNames) => in_doubt(&home.path, Errno::IO),
        Err(e) => in_doubt(&home.path, e),
    }
}

fn in_doubt(path: &str, e: Errno) -> Error {
    Error::InDoubt { path: path.into(), source: e.into() }
}
