//! Erasure of files and of their kept texts: what is taken away goes to no history.
//!
//! For `forget` and `retain` only: every other change keeps what it displaces. The caller holds the
//! lock, and has noted what it erases, so that a crash is made good by the next call.

use crate::error::{Error, Result};
use crate::files::Files;
use crate::files::history::parse_revision_name;
use crate::files::lock::LockGuard;
use crate::files::open::refusal;
use crate::files::path_handle::PathHandle;
use crate::files::platform::{Errno, remove_folder};
use crate::files::rename::rename_noreplace;
use crate::files::temp_file::TempFile;
use crate::files::version::Version;

/// Folders above an erased file that are removed if nothing is left in them.
const FOLDERS_ABOVE: usize = 3;

impl Files {
    /// Puts a text in the place of a file's, which is kept nowhere.
    ///
    /// # Errors
    /// As for [`Files::write`]; [`Error::Conflict`] when it is not that version.
    pub(crate) fn rewrite_unkept(
        &self,
        guard: &LockGuard<'_>,
        path: &str,
        expected: Version,
        bytes: &[u8],
    ) -> Result<()> {
        let target = self.root.path_handle(path)?;
        let base = target.base(&|| false)?.ok_or_else(|| Error::NotFound { path: path.into() })?;
        if base.version != expected {
            let (expected, found) = (expected.to_string(), base.version.to_string());
            return Err(Error::Conflict { path: path.into(), expected, found });
        }
        let written = self.publish(guard, &target, Some(base), bytes)?;
        match written.history {
            Some(kept) => self.remove_unkept(&kept),
            None => Ok(()),
        }
    }

    /// Removes a file, or a text of the history, and the folders that are empty then.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::InDoubt`].
    pub(crate) fn remove_unkept(&self, path: &str) -> Result<()> {
        let target = match self.root.path_handle(path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            target => target?,
        };
        match target.unlink() {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(refusal("remove", path, error)),
        }
        target.sync_folder()?;
        drop(target);
        let mut folder = path;
        for _ in 0..FOLDERS_ABOVE {
            let Some((above, _)) = folder.rsplit_once('/') else { break };
            let Ok(place) = self.root.path_handle(above) else { break };
            // one that holds anything is not removed
            if !above.contains('/') || remove_folder(place.name()).is_err() {
                break;
            }
            folder = above;
        }
        Ok(())
    }

    /// Puts another text in the place of one of the history, which keeps its time; an empty one is
    /// removed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::InDoubt`].
    pub(crate) fn rewrite_revision(&self, address: &str, bytes: &[u8]) -> Result<()> {
        let (folder, name) = address.rsplit_once('/').unwrap_or(("", address));
        if bytes.trim_ascii().is_empty() || parse_revision_name(name).is_none() {
            return self.remove_unkept(address);
        }
        let version = Version::of(bytes);
        let (time, rest) = name.split_once('-').unwrap_or((name, ""));
        let named = format!("{time}-{version}{}", rest.get(32..).unwrap_or_default());
        let old = self.root.path_handle(address)?;
        // the shape of a copy that is not whole, which recovery knows
        let at = PathHandle {
            path: format!("{folder}/.{version}.swap"),
            ..old.sibling(format!(".{version}.swap"))?
        };
        let _ = at.unlink();
        let mut temp = TempFile::write(at, bytes, None)?;
        match rename_noreplace(&temp.at, &old.sibling(named)?) {
            Ok(_) => temp.remove_on_drop = false,
            // it is there already
            Err(Errno::EXIST) => {}
            Err(error) => return Err(refusal("write", address, error)),
        }
        drop(temp);
        self.remove_unkept(address)
    }
}
