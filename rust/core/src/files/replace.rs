//! Atomic replacement of a file's text by a temporary file and an exchange of names.
//!
//! The new text is written beside the file, made durable, and then exchanged
//! with it in one step. An exchange destroys nothing: what it displaced is still
//! there to be checked, so a save that a person made at the last moment is
//! found and restored, and the caller gets a conflict. A check before a plain rename
//! cannot do that; between the two there is always time for a save.

use crate::error::{Error, Result};
use crate::files::history::BackupDir;
use crate::files::open::{move_refusal, refusal};
use crate::files::path_handle::{BaseFile, PathHandle};
use crate::files::platform::{Errno, rename, sync_file};
use crate::files::rename::{RenameOutcome, rename_noreplace};
use crate::files::temp_file::TempFile;
use crate::files::version::Version;

/// Most exchanges with concurrent saves; after that the person's save stays.
const MAX_EXCHANGES: usize = 8;

/// Publishes `bytes` under a name that is free, by way of `at`.
///
/// # Errors
/// [`Error::Conflict`] when someone took the name, [`Error::InDoubt`], [`Error::Io`].
pub(crate) fn create(target: &PathHandle, bytes: &[u8], at: PathHandle) -> Result<()> {
    let mut temp = TempFile::write(at, bytes, None)?;
    match rename_noreplace(&temp.at, target) {
        // A second hard link is tried once more as `temp` is dropped; else recovery removes it.
        Ok(renamed) => temp.remove_on_drop = renamed == RenameOutcome::BothNames,
        Err(Errno::EXIST) => {
            let (path, found) = (target.path.clone(), target.version_shown());
            return Err(Error::Conflict { path, expected: "absent".into(), found });
        }
        Err(e) => return Err(refusal("write", &target.path, e)),
    }
    target.sync_folder()
}

/// Publishes `bytes` in the place of `base`, by way of `at`; `base` is kept at `kept`.
///
/// What is displaced is made durable first: a person who saved it a moment ago has not done so.
///
/// # Errors
/// [`Error::Conflict`] when what was there is not `base`: it is there again and
/// `bytes` are in the history; [`Error::InDoubt`]; [`Error::Io`], and nothing is changed.
pub(crate) fn replace(
    target: &PathHandle,
    base: BaseFile,
    bytes: &[u8],
    at: PathHandle,
    backups: &BackupDir,
    kept: &str,
) -> Result<()> {
    let mut temp = TempFile::write(at, bytes, Some(&base))?;
    let fail = |e| move_refusal("write", &target.path, e);
    base.sync().map_err(|e| Error::io("write", &*target.path, e))?;
    match temp.at.exchange(target) {
        Ok(()) => {
            // From here on the temporary name holds somebody else's text.
            temp.remove_on_drop = false;
            let taken = match base.is_at(&temp.at) {
                Ok(true) => backups.move_in(&temp.at, kept).map_err(fail),
                Ok(false) => {
                    return Err(restore_newer_save(target, &temp.at, base.version, bytes, backups));
                }
                Err(e) => Err(e),
            };
            if let Err(e) = taken {
                temp.remove_on_drop = undo_exchange(target, &temp.at, Version::of(bytes))?;
                return Err(e);
            }
        }
        Err(Errno::NOSYS) => {
            let replaced = replace_by_link(target, base, &temp.at, backups, kept);
            temp.remove_on_drop = match &replaced {
                Ok(()) => false,
                // What cannot go to the history stays at the temporary name, and recovery shows it.
                Err(Error::Conflict { .. }) => backups.copy_in(bytes).is_ok(),
                Err(_) => true,
            };
            replaced?;
        }
        Err(Errno::NOENT) => return Err(conflict(target, base.version)),
        Err(e) => return Err(fail(e)),
    }
    target.sync_folder()?;
    backups.sync(&target.path)
}

/// Exchanges until the newest save is at its name again; true if ours is then
/// at the temporary name.
///
/// After each exchange the temporary name holds what was at the file's name. If
/// that is what we last put there, no save came in between. If not, it is newer
/// than what is there now, and goes back in turn. What cannot be read cannot be
/// compared; then what we displaced has its name again, and that is all.
///
/// # Errors
/// [`Error::InDoubt`] when ours stays at the file's name.
fn undo_exchange(target: &PathHandle, temp: &PathHandle, ours: Version) -> Result<bool> {
    let mut put = Some(ours);
    for n in 0..MAX_EXCHANGES {
        let next = temp.version().ok();
        match temp.exchange(target) {
            Err(e) if n == 0 => {
                return Err(Error::InDoubt { path: target.path.clone(), source: e.into() });
            }
            // The save that came in between is at the temporary name, and recovery shows it.
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        let came = temp.version().ok();
        if came.is_none() || put.is_none() || came == put {
            break;
        }
        put = next;
    }
    Ok(temp.version().ok() == Some(ours))
}

/// Restores a save that came in between; our text goes to the history.
fn restore_newer_save(
    target: &PathHandle,
    temp: &PathHandle,
    base: Version,
    bytes: &[u8],
    backups: &BackupDir,
) -> Error {
    let ours_left = match undo_exchange(target, temp, Version::of(bytes)) {
        Ok(ours_left) => ours_left,
        // Theirs stays at the temporary name, and recovery shows it.
        Err(in_doubt) => return in_doubt,
    };
    if let Ok(version) = temp.version() {
        let _ = temp.open().map(|file| sync_file(&file));
        let _ = backups.new_name(version).and_then(|kept| backups.move_in(temp, &kept));
    }
    if !ours_left {
        let _ = backups.copy_in(bytes);
    }
    let _ = target.sync_folder();
    let _ = backups.sync(&target.path);
    conflict(target, base)
}

fn conflict(target: &PathHandle, base: Version) -> Error {
    let (expected, found) = (base.to_string(), target.version_shown());
    Error::Conflict { path: target.path.clone(), expected, found }
}

/// Replaces where two names cannot be exchanged (NFS, some FUSE): the old file
/// gets a second hard link in the history before its own is taken.
///
/// A save by rename in the instant between the last look and the rename is lost
/// here; no call of these systems can prevent it.
fn replace_by_link(
    target: &PathHandle,
    base: BaseFile,
    temp: &PathHandle,
    backups: &BackupDir,
    kept: &str,
) -> Result<()> {
    let fail = |e| move_refusal("write", &target.path, e);
    backups.link_in(target, kept).map_err(fail)?;
    let same = base.is_at(target);
    // some file systems of Windows replace no file that is open
    let base = base.close();
    let renamed = same.and_then(|same| {
        if !same || backups.identity(kept).map_err(fail)? != target.stat().map_err(fail)?.id() {
            return Ok(false);
        }
        rename(temp.name(), target.name()).map_err(fail)?;
        Ok(true)
    });
    if let Ok(true) = renamed {
        return Ok(());
    }
    // Only a second hard link of what is still at its first, and before anybody checks that; of
    // anything else recovery decides.
    let live = target.stat().map(|info| info.id());
    if live.is_ok() && live == backups.identity(kept) {
        backups.remove(kept);
    }
    Err(renamed.err().unwrap_or_else(|| conflict(target, base)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;
    use crate::files::temp_file::temp_name;

    #[test]
    fn the_newest_save_gets_its_name_back() {
        // What is at the file's name and at the temporary name, before and after; whether
        // ours is at the temporary name then.
        for (before, after, ours_left) in [
            (("ours", "theirs"), ("theirs", "ours"), true),
            // They saved again over ours while we checked what we had displaced.
            (("theirs 2", "theirs 1"), ("theirs 2", "theirs 1"), false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (live, temp) = (dir.path().join("a.md"), dir.path().join(".a.md.1.swap"));
            std::fs::write(&live, before.0).unwrap();
            std::fs::write(&temp, before.1).unwrap();
            let root = Root::open(dir.path(), false).unwrap();
            let target = |name| root.path_handle(name).unwrap();
            let ours = Version::of(b"ours");
            let undone = undo_exchange(&target("a.md"), &target(".a.md.1.swap"), ours);
            if let Err(Error::InDoubt { .. }) = undone {
                // nothing is exchanged here (`tests/refuse.py`), and nothing is to be undone
                return assert_eq!(std::fs::read_to_string(live).unwrap(), before.0);
            }
            assert_eq!(undone.unwrap(), ours_left);
            let read = |path| std::fs::read_to_string(path).unwrap();
            assert_eq!((read(&live).as_str(), read(&temp).as_str()), after);
        }
    }

    #[test]
    fn a_last_moment_save_stays_and_ours_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        let root = Root::open(dir.path(), false).unwrap();
        let target = root.path_handle("a.md").unwrap();
        let backups = BackupDir::history(&root, "a.md").unwrap();
        for by_link in [false, true] {
            std::fs::write(&path, "base").unwrap();
            let base = target.base(&|| false).unwrap().unwrap();
            std::fs::write(&path, "theirs").unwrap();
            let (at, _) = temp_name(&target, Some(&base)).unwrap();
            let kept = backups.new_name(base.version).unwrap();
            let done = if by_link {
                let temp = TempFile::write(at, b"ours", Some(&base)).unwrap();
                replace_by_link(&target, base, &temp.at, &backups, &kept)
            } else {
                replace(&target, base, b"ours", at, &backups, &kept)
            };
            assert!(matches!(done, Err(Error::Conflict { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
            let history = dir.path().join(".commonplace/history/a.md");
            let kept = std::fs::read_dir(history).unwrap().map(|e| e.unwrap().path());
            let texts: Vec<_> = kept.map(|path| std::fs::read(path).unwrap()).collect();
            assert_eq!(texts, [b"ours"], "by link: {by_link}");
            // the note, `.commonplace` and `.gitattributes`
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "no litter");
        }
    }
}
