//! Putting new text in the place of old: all of it or none, and nothing lost.
//!
//! The new text is written beside the file, made durable, and then exchanged
//! with it in one step. An exchange destroys nothing: what it displaced is still
//! there to be looked at, so a save that a person made at the last moment is
//! seen, given back, and the caller is told. A check before a plain rename
//! cannot do that; between the two there is always time for a save.

use std::fs::File;
use std::io::Write;

use rustix::fs::{AtFlags, Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::files::history::Shelf;
use crate::files::open::{PRIVATE, READ, open_regular, read_whole, refusal};
use crate::files::platform::{Platform as _, System};
use crate::files::root::Place;
use crate::files::version::Version;

/// How often two saves may cross before we leave the field to the person.
const EXCHANGES: usize = 8;

/// A file as it was when we looked.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: Version,
    file: File,
}

impl Place {
    /// Reads the file that is here, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Base>> {
        match self.open() {
            Ok(mut file) => {
                let bytes = read_whole(&mut file, &self.path)?;
                Ok(Some(Base { version: Version::of(&bytes), bytes, file }))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn open(&self) -> Result<File> {
        open_regular(self.name(), READ, &self.path)
    }

    /// The version of the file that is here, of whatever size.
    pub(crate) fn version(&self) -> Result<Version> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(self.open()?).map_err(|e| Error::io("read", &*self.path, e))?;
        Ok(Version::from_hash(&hasher.finalize()))
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
    fn sibling(&self, name: String) -> Result<Self> {
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
    pub(crate) fn sync(&self, path: &str) -> Result<()> {
        self.file.sync_all().map_err(|source| Error::InDoubt { path: path.into(), source })
    }
}

/// New text on disk, not yet at its name; removed when dropped.
struct Staged {
    at: Place,
    armed: bool,
}

impl Staged {
    /// Writes `bytes` beside `place`, with the owner, mode and attributes of `base`.
    ///
    /// The name says which version it is to replace, so that after a crash the
    /// displaced base is known for what it is.
    fn write(place: &Place, bytes: &[u8], base: Option<&Base>) -> Result<Self> {
        let path = &*place.path;
        let fail = |e: Errno| Error::io("write", path, e);
        let mut random = [0_u8; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(fail)?;
        let mut tag = format!("{:032x}", u128::from_ne_bytes(random));
        if let Some(base) = base {
            tag = format!("{tag}-{:.16}", base.version.to_string());
        }
        let stem = cut(&place.name, 255 - ".".len() - ".".len() - tag.len() - ".swap".len());
        let at = place.sibling(format!(".{stem}.{tag}.swap"))?;
        let flags = READ | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = rustix::fs::openat(&at.dir, &*at.name, flags, PRIVATE).map_err(fail)?;
        let staged = Self { at, armed: true };
        let mut file = File::from(file);
        if let Some(base) = base {
            take_after(&file, &base.file).map_err(fail)?;
        }
        file.write_all(bytes).map_err(|e| Error::io("write", path, e))?;
        // A full or lying disk may have taken less than it said.
        let size = file.metadata().map_err(|e| Error::io("write", path, e))?.len();
        if size != bytes.len() as u64 {
            return Err(Error::io(
                "write",
                path,
                std::io::Error::from(std::io::ErrorKind::WriteZero),
            ));
        }
        // Never tried twice: after a failure the kernel forgets what was dirty,
        // and a second call would succeed over lost data.
        file.sync_all().map_err(|e| Error::io("write", path, e))?;
        Ok(staged)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.armed {
            let _ = self.at.unlink();
        }
    }
}

/// Gives `file` the owner, mode and user attributes of `base`, never more rights.
fn take_after(file: &File, base: &File) -> rustix::io::Result<()> {
    let (ours, theirs) = (rustix::fs::fstat(file)?, rustix::fs::fstat(base)?);
    let mut mode = Mode::from_raw_mode(theirs.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    if (ours.st_uid, ours.st_gid) != (theirs.st_uid, theirs.st_gid) {
        let owner = rustix::process::Uid::from_raw(theirs.st_uid);
        let group = rustix::process::Gid::from_raw(theirs.st_gid);
        if rustix::fs::fchown(file, Some(owner), Some(group)).is_err() {
            // The group's rights would go to another group.
            mode &= Mode::RWXU;
        }
    }
    rustix::fs::fchmod(file, mode)?;
    // Attributes are a courtesy: many file systems have none.
    let mut names = vec![0; 64 << 10];
    let length = rustix::fs::flistxattr(base, &mut names[..]).unwrap_or(0);
    for name in names[..length].split(|&b| b == 0).filter(|name| name.starts_with(b"user.")) {
        let mut value = vec![0; 64 << 10];
        if let Ok(length) = rustix::fs::fgetxattr(base, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
    Ok(())
}

/// Publishes `bytes` under a name that is free.
///
/// # Errors
/// [`Error::Conflict`] when someone took the name, [`Error::InDoubt`], [`Error::Io`].
pub(crate) fn create(place: &Place, bytes: &[u8]) -> Result<()> {
    let mut staged = Staged::write(place, bytes, None)?;
    match rename_new(&staged.at, place) {
        Ok(()) => staged.armed = false,
        Err(Errno::EXIST) => {
            let (path, found) = (place.path.clone(), place.version_shown());
            return Err(Error::Conflict { path, expected: "absent".into(), found });
        }
        Err(e) => return Err(refusal("write", &place.path, e)),
    }
    place.sync_folder()
}

/// Publishes `bytes` in the place of `base` and returns where `base` is kept.
///
/// # Errors
/// [`Error::Conflict`] when what was there is not `base`: it is there again and
/// `bytes` are in the history; [`Error::InDoubt`]; [`Error::Io`].
pub(crate) fn replace(place: &Place, base: &Base, bytes: &[u8], shelf: &Shelf) -> Result<String> {
    let mut staged = Staged::write(place, bytes, Some(base))?;
    let fail = |e| refusal("write", &place.path, e);
    let kept = match staged.at.exchange(place) {
        Ok(()) => {
            // From here on the staged name holds what someone else wrote.
            staged.armed = false;
            if staged.at.version().ok() != Some(base.version) {
                return Err(give_back(place, &staged.at, base, bytes, shelf));
            }
            match shelf.take(&staged.at, base.version) {
                Ok(kept) => kept,
                Err(e) => {
                    let back = undo(place, &staged.at, Version::of(bytes));
                    staged.armed = back == Ok(true);
                    return Err(match back {
                        Ok(_) => fail(e),
                        // The new text stays where it is, and nothing is durable.
                        Err(_) => Error::InDoubt { path: place.path.clone(), source: e.into() },
                    });
                }
            }
        }
        Err(Errno::NOSYS) => {
            let kept = replace_by_link(place, base, &staged.at, shelf).inspect_err(|error| {
                if matches!(error, Error::Conflict { .. }) {
                    let _ = shelf.keep(bytes);
                }
            })?;
            staged.armed = false;
            kept
        }
        Err(Errno::NOENT) => return Err(conflict(place, base)),
        Err(e) => return Err(fail(e)),
    };
    place.sync_folder()?;
    shelf.sync(&place.path)?;
    Ok(kept)
}

/// Exchanges until the newest save is at its name again; true if ours is then
/// at the staged one.
///
/// After each exchange the staged name holds what was at the file's name. If
/// that is what we last put there, no save came in between. If not, it is newer
/// than what is there now, and goes back in turn.
fn undo(place: &Place, staged: &Place, ours: Version) -> rustix::io::Result<bool> {
    let mut put = Some(ours);
    for _ in 0..EXCHANGES {
        let next = staged.version().ok();
        staged.exchange(place)?;
        let came = staged.version().ok();
        if came == put {
            break;
        }
        put = next;
    }
    Ok(staged.version().ok() == Some(ours))
}

/// Gives the place back to a save that came in between; our text goes to the history.
fn give_back(place: &Place, staged: &Place, base: &Base, bytes: &[u8], shelf: &Shelf) -> Error {
    let ours = Version::of(bytes);
    let ours_left = undo(place, staged, ours).unwrap_or(false);
    // What cannot be moved stays at the staged name, and `recover` brings it up.
    if let Ok(version) = staged.version() {
        let _ = shelf.take(staged, version);
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
fn replace_by_link(place: &Place, base: &Base, staged: &Place, shelf: &Shelf) -> Result<String> {
    let fail = |e| refusal("write", &place.path, e);
    let kept = shelf.link(place, base.version).map_err(fail)?;
    let same = |place: &Place| {
        rustix::fs::statat(&place.dir, &*place.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|raw| (raw.st_dev, raw.st_ino))
    };
    let is_base = shelf.version(&kept).ok() == Some(base.version)
        && same(place).ok() == shelf.identity(&kept).ok();
    let rename =
        || rustix::fs::renameat(&staged.dir, &*staged.name, &place.dir, &*place.name).map_err(fail);
    let renamed = is_base.then(rename);
    if let Some(Ok(())) = renamed {
        return Ok(kept);
    }
    // Only a second name of what is still at its first, and before anybody looks at that.
    if same(place).ok() == shelf.identity(&kept).ok() {
        shelf.forget(&kept);
    }
    Err(renamed.and_then(Result::err).unwrap_or_else(|| conflict(place, base)))
}

/// Renames without ever taking a name that is in use.
pub(crate) fn rename_new(from: &Place, to: &Place) -> rustix::io::Result<()> {
    match System::rename_new(from.name(), to.name()) {
        Err(Errno::NOSYS) => {
            rustix::fs::linkat(&from.dir, &*from.name, &to.dir, &*to.name, AtFlags::empty())?;
            from.unlink()
        }
        done => done,
    }
}

/// The start of `name`, at most `length` bytes.
pub(crate) fn cut(name: &str, length: usize) -> &str {
    let mut end = length.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;

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
            if undone == Err(Errno::NOSYS) {
                // nothing is exchanged here (`tests/refuse.py`), and nothing is to be undone
                return assert_eq!(std::fs::read_to_string(live).unwrap(), before.0);
            }
            assert_eq!(undone, Ok(ours_left));
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
        let base = place.read().unwrap().unwrap();
        let shelf = Shelf::history(&root, "a.md").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        for by_link in [false, true] {
            let done = if by_link {
                let staged = Staged::write(&place, b"ours", Some(&base)).unwrap();
                replace_by_link(&place, &base, &staged.at, &shelf)
            } else {
                replace(&place, &base, b"ours", &shelf)
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
