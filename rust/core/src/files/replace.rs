//! Putting new text in the place of old: all of it or none, and nothing lost.
//!
//! The new text is written beside the file, made durable, and then exchanged
//! with it in one step. An exchange destroys nothing: what it displaced is still
//! there to be looked at, so a save that a person made at the last moment is
//! seen, given back, and the caller is told. A check before a plain rename
//! cannot do that; between the two there is always time for a save.

use std::fs::File;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::error::{Error, Interrupt, Result};
use crate::files::history::{Shelf, identity};
use crate::files::open::{READ, move_refusal, open_regular, read_whole, refusal};
use crate::files::platform::{Platform as _, System};
use crate::files::root::Place;
use crate::files::staged::Staged;
use crate::files::version::Version;
use crate::memory_limit::MemoryLimit;

/// How often two saves may cross before we leave the field to the person.
const EXCHANGES: usize = 8;

/// A file as it was when we looked.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) version: Version,
    pub(crate) file: File,
}

impl Place {
    /// Looks at the file that is here, of whatever size, if there is one.
    pub(crate) fn base(&self, interrupt: Interrupt<'_>) -> Result<Option<Base>> {
        let Some(file) = self.open_if_there()? else { return Ok(None) };
        Ok(Some(Base { version: Version::of_whole(&file, &self.path, interrupt)?, file }))
    }

    /// As [`Place::base`], with the text.
    pub(crate) fn read(&self, limit: &MemoryLimit) -> Result<Option<(Base, Vec<u8>)>> {
        let Some(mut file) = self.open_if_there()? else { return Ok(None) };
        let bytes = read_whole(&mut file, &self.path, limit)?;
        Ok(Some((Base { version: Version::of(&bytes), file }, bytes)))
    }

    fn open_if_there(&self) -> Result<Option<File>> {
        match self.open() {
            Err(Error::NotFound { .. }) => Ok(None),
            file => file.map(Some),
        }
    }

    pub(crate) fn open(&self) -> Result<File> {
        open_regular(self.name(), READ, &self.path)
    }

    /// The version of the file that is here, of whatever size.
    pub(crate) fn version(&self) -> Result<Version> {
        self.version_unless(&|| false)
    }

    /// As [`Place::version`], and can be interrupted.
    pub(crate) fn version_unless(&self, interrupt: Interrupt<'_>) -> Result<Version> {
        Version::of_whole(&self.open()?, &self.path, interrupt)
    }

    /// What stands at this name, whatever it is.
    pub(crate) fn look(&self) -> rustix::io::Result<rustix::fs::Stat> {
        rustix::fs::statat(&self.dir, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Says whether this name stands for an open file.
    pub(crate) fn is_name_of(&self, file: &File) -> rustix::io::Result<bool> {
        match self.look() {
            Ok(named) => Ok(identity(&named) == identity(&rustix::fs::fstat(file)?)),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// As [`Place::version`], in words for [`Error::Conflict`].
    pub(crate) fn version_shown(&self) -> String {
        match self.version() {
            Ok(version) => version.to_string(),
            Err(Error::NotFound { .. }) => "absent".into(),
            Err(_) => "unreadable".into(),
        }
    }

    /// The same folder, another name in it.
    pub(crate) fn sibling(&self, name: String) -> Result<Self> {
        let dir = self.dir.try_clone().map_err(|e| Error::io("open", &*self.path, e))?;
        Ok(Self { dir, name, path: self.path.clone() })
    }

    pub(crate) fn unlink(&self) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.dir, &*self.name, AtFlags::empty())
    }

    fn exchange(&self, with: &Self) -> rustix::io::Result<()> {
        System::exchange(self.name(), with.name())
    }

    /// Makes the names in this folder durable; a failure leaves the change in doubt.
    pub(crate) fn sync_folder(&self) -> Result<()> {
        let in_doubt = |e: Errno| Error::InDoubt { path: self.path.clone(), source: e.into() };
        rustix::fs::fsync(&self.dir).map_err(in_doubt)
    }
}

impl Base {
    /// Makes what we read durable: someone else may have written it just now.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_all()
    }

    /// Says whether it is still as it was read, under this name.
    fn is_at(&self, place: &Place) -> Result<bool> {
        let fail = |e| Error::io("read", &*place.path, e);
        if !place.is_name_of(&self.file).map_err(|e| fail(e.into()))? {
            return Ok(false);
        }
        Ok(Version::of_file(&self.file, u64::MAX).map_err(fail)? == self.version)
    }
}

/// Publishes `bytes` under a name that is free, by way of `at`.
///
/// # Errors
/// [`Error::Conflict`] when someone took the name, [`Error::InDoubt`], [`Error::Io`].
pub(crate) fn create(place: &Place, bytes: &[u8], at: Place) -> Result<()> {
    let mut staged = Staged::write(at, bytes, None)?;
    match rename_new(&staged.at, place) {
        // A second name is tried once more as `staged` is dropped; else recovery removes it.
        Ok(renamed) => staged.armed = renamed == Renamed::Linked,
        Err(Errno::EXIST) => {
            let (path, found) = (place.path.clone(), place.version_shown());
            return Err(Error::Conflict { path, expected: "absent".into(), found });
        }
        Err(e) => return Err(refusal("write", &place.path, e)),
    }
    place.sync_folder()
}

/// Publishes `bytes` in the place of `base`, by way of `at`; `base` is kept at `kept`.
///
/// What is displaced is made durable first: a person who saved it a moment ago has not done so.
///
/// # Errors
/// [`Error::Conflict`] when what was there is not `base`: it is there again and
/// `bytes` are in the history; [`Error::InDoubt`]; [`Error::Io`], and nothing is changed.
pub(crate) fn replace(
    place: &Place,
    base: &Base,
    bytes: &[u8],
    at: Place,
    shelf: &Shelf,
    kept: &str,
) -> Result<()> {
    let mut staged = Staged::write(at, bytes, Some(base))?;
    let fail = |e| move_refusal("write", &place.path, e);
    base.sync().map_err(|e| Error::io("write", &*place.path, e))?;
    match staged.at.exchange(place) {
        Ok(()) => {
            // From here on the staged name holds what someone else wrote.
            staged.armed = false;
            let taken = match base.is_at(&staged.at) {
                Ok(true) => shelf.take(&staged.at, kept).map_err(fail),
                Ok(false) => return Err(give_back(place, &staged.at, base, bytes, shelf)),
                Err(e) => Err(e),
            };
            if let Err(e) = taken {
                staged.armed = undo(place, &staged.at, Version::of(bytes))?;
                return Err(e);
            }
        }
        Err(Errno::NOSYS) => {
            let replaced = replace_by_link(place, base, &staged.at, shelf, kept);
            staged.armed = match &replaced {
                Ok(()) => false,
                // What cannot go to the history stays at the staged name, and recovery shows it.
                Err(Error::Conflict { .. }) => shelf.keep(bytes).is_ok(),
                Err(_) => true,
            };
            replaced?;
        }
        Err(Errno::NOENT) => return Err(conflict(place, base)),
        Err(e) => return Err(fail(e)),
    }
    place.sync_folder()?;
    shelf.sync(&place.path)
}

/// Exchanges until the newest save is at its name again; true if ours is then
/// at the staged one.
///
/// After each exchange the staged name holds what was at the file's name. If
/// that is what we last put there, no save came in between. If not, it is newer
/// than what is there now, and goes back in turn. What cannot be read cannot be
/// compared; then what we displaced has its name again, and that is all.
///
/// # Errors
/// [`Error::InDoubt`] when ours stays at the file's name.
fn undo(place: &Place, staged: &Place, ours: Version) -> Result<bool> {
    let mut put = Some(ours);
    for n in 0..EXCHANGES {
        let next = staged.version().ok();
        match staged.exchange(place) {
            Err(e) if n == 0 => {
                return Err(Error::InDoubt { path: place.path.clone(), source: e.into() });
            }
            // The save that came in between is at the staged name, and recovery shows it.
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        let came = staged.version().ok();
        if came.is_none() || put.is_none() || came == put {
            break;
        }
        put = next;
    }
    Ok(staged.version().ok() == Some(ours))
}

/// Gives the place back to a save that came in between; our text goes to the history.
fn give_back(place: &Place, staged: &Place, base: &Base, bytes: &[u8], shelf: &Shelf) -> Error {
    let ours_left = match undo(place, staged, Version::of(bytes)) {
        Ok(ours_left) => ours_left,
        // Theirs stays at the staged name, and recovery shows it.
        Err(in_doubt) => return in_doubt,
    };
    if let Ok(version) = staged.version() {
        let _ = staged.open().map(|file| file.sync_all());
        let _ = shelf.new_name(version).and_then(|kept| shelf.take(staged, &kept));
    }
    if !ours_left {
        let _ = shelf.keep(bytes);
    }
    let _ = place.sync_folder();
    let _ = shelf.sync(&place.path);
    conflict(place, base)
}

fn conflict(place: &Place, base: &Base) -> Error {
    let (expected, found) = (base.version.to_string(), place.version_shown());
    Error::Conflict { path: place.path.clone(), expected, found }
}

/// Replaces where two names cannot be exchanged (NFS, some FUSE): the old file
/// gets a second name in the history before its own is taken.
///
/// A save by rename in the instant between the last look and the rename is lost
/// here; no call of these systems can prevent it.
fn replace_by_link(
    place: &Place,
    base: &Base,
    staged: &Place,
    shelf: &Shelf,
    kept: &str,
) -> Result<()> {
    let fail = |e| move_refusal("write", &place.path, e);
    shelf.link(place, kept).map_err(fail)?;
    let renamed = base.is_at(place).and_then(|same| {
        if !same || shelf.identity(kept).map_err(fail)? != identity(&place.look().map_err(fail)?) {
            return Ok(false);
        }
        rustix::fs::renameat(&staged.dir, &*staged.name, &place.dir, &*place.name).map_err(fail)?;
        Ok(true)
    });
    if let Ok(true) = renamed {
        return Ok(());
    }
    // Only a second name of what is still at its first, and before anybody looks at that; of
    // anything else recovery decides.
    let live = place.look().map(|raw| identity(&raw));
    if live.is_ok() && live == shelf.identity(kept) {
        shelf.forget(kept);
    }
    Err(renamed.err().unwrap_or_else(|| conflict(place, base)))
}

/// How far a rename came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// The file has its new name only.
    Whole,
    /// The file has both names, and neither can be removed.
    Linked,
}

/// Renames without ever taking a name that is in use.
///
/// # Errors
/// What the system says; the file has its old name only.
pub(crate) fn rename_new(from: &Place, to: &Place) -> rustix::io::Result<Renamed> {
    match System::rename_new(from.name(), to.name()) {
        Ok(()) => return Ok(Renamed::Whole),
        Err(Errno::NOSYS) => {}
        Err(e) => return Err(e),
    }
    rustix::fs::linkat(&from.dir, &*from.name, &to.dir, &*to.name, AtFlags::empty())?;
    match from.unlink() {
        Ok(()) => Ok(Renamed::Whole),
        Err(e) => match to.unlink() {
            Ok(()) => Err(e),
            Err(_) => Ok(Renamed::Linked),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;
    use crate::files::staged::staged_name;

    #[test]
    fn the_newest_save_gets_its_name_back() {
        // What is at the file's name and at the staged one, before and after; whether
        // ours is at the staged one then.
        for (before, after, ours_left) in [
            (("ours", "theirs"), ("theirs", "ours"), true),
            // They saved again over ours while we looked at what we had displaced.
            (("theirs 2", "theirs 1"), ("theirs 2", "theirs 1"), false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (live, staged) = (dir.path().join("a.md"), dir.path().join(".a.md.1.swap"));
            std::fs::write(&live, before.0).unwrap();
            std::fs::write(&staged, before.1).unwrap();
            let root = Root::open(dir.path(), false).unwrap();
            let place = |name| root.place(name).unwrap();
            let ours = Version::of(b"ours");
            let undone = undo(&place("a.md"), &place(".a.md.1.swap"), ours);
            if let Err(Error::InDoubt { .. }) = undone {
                // nothing is exchanged here (`tests/refuse.py`), and nothing is to be undone
                return assert_eq!(std::fs::read_to_string(live).unwrap(), before.0);
            }
            assert_eq!(undone.unwrap(), ours_left);
            let read = |path| std::fs::read_to_string(path).unwrap();
            assert_eq!((read(&live).as_str(), read(&staged).as_str()), after);
        }
    }

    #[test]
    fn a_last_moment_save_stays_and_ours_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        std::fs::write(&path, "base").unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let place = root.place("a.md").unwrap();
        let base = place.base(&|| false).unwrap().unwrap();
        let shelf = Shelf::history(&root, "a.md").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        for by_link in [false, true] {
            let (at, _) = staged_name(&place, Some(&base)).unwrap();
            let kept = shelf.new_name(base.version).unwrap();
            let done = if by_link {
                let staged = Staged::write(at, b"ours", Some(&base)).unwrap();
                replace_by_link(&place, &base, &staged.at, &shelf, &kept)
            } else {
                replace(&place, &base, b"ours", at, &shelf, &kept)
            };
            assert!(matches!(done, Err(Error::Conflict { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
            let history = dir.path().join(".commonplace/history/a.md");
            let kept = std::fs::read_dir(history).unwrap().map(|e| e.unwrap().path());
            let texts: Vec<_> = kept.map(|path| std::fs::read(path).unwrap()).collect();
            assert_eq!(texts, [b"ours"], "by link: {by_link}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no litter");
        }
    }
}
