//! Revisions of a file: the versions that its history keeps.
//!
//! A text in the history is named by time and version. The name is trusted in a list and checked
//! when the text is read: an editor may have written into what was displaced under its hands.

use crate::error::{Error, Result};
use crate::files::Files;
use crate::files::history::{BackupDir, parse_revision_name};
use crate::files::open::{read_whole, refusal};
use crate::files::paths::{OWN, check_read};
use crate::files::platform::Errno;
use crate::files::recovery_list::RecoveryEntry;
use crate::files::version::Version;

/// How many versions the error names that says there is no such one.
const MAX_NAMED: usize = 8;

/// One text that the history keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// What it is.
    pub version: Version,
    /// When it was put there, in milliseconds since 1970.
    pub time_ms: i64,
    /// Bytes.
    pub size: u64,
    /// The file that holds it, relative to the root.
    pub address: String,
}

impl Files {
    /// Returns the texts that the history keeps of `path`, newest first; none for a file that
    /// never lost one. Takes no lock.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that cannot be read; [`Error::Io`].
    pub fn history(&self, path: &str) -> Result<Vec<Revision>> {
        check_read(path)?;
        let path = self.root.normalized(path);
        let folder = format!("{OWN}/history/{path}/");
        let walk = match self.root.walk_all(folder.trim_end_matches('/'), &|| false, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            walk => walk?,
        };
        let kept = walk.files.into_iter().filter_map(|(address, stat)| {
            // below it lies the history of files, when a folder once had this name
            let (time_ms, version) = parse_revision_name(address.strip_prefix(&folder)?)?;
            Some(Revision { version, time_ms, size: stat.size, address })
        });
        let mut kept: Vec<Revision> = kept.collect();
        kept.reverse();
        Ok(kept)
    }

    /// Reads one version of a file: as it is, or from the history.
    ///
    /// # Errors
    /// [`Error::NoVersion`]; [`Error::Interrupted`]; else as for
    /// [`Root::read`](crate::files::root::Root::read).
    pub fn read_version(&self, path: &str, version: Version) -> Result<Vec<u8>> {
        if let Some(bytes) = self.find_version(path, version)? {
            return Ok(bytes);
        }
        // a change under way may have had it in its hands
        let _guard = match self.begin() {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            guard => guard.ok(),
        };
        if let Some(bytes) = self.find_version(path, version)? {
            return Ok(bytes);
        }
        let now = self.read(path).ok().map(|(_, version)| version.to_string());
        let history = self.history(path)?;
        let now = now.map_or_else(|| "is not there now".into(), |version| format!("is {version}"));
        let shown: Vec<_> =
            history.iter().take(MAX_NAMED).map(|revision| revision.version.to_string()).collect();
        let kept = match (shown.join(", "), history.len().saturating_sub(MAX_NAMED)) {
            (_, _) if history.is_empty() => "nothing".into(),
            (shown, 0) => shown,
            (shown, more) => format!("{shown} and {more} more (see `history`)"),
        };
        let known = format!("it {now}, and the history keeps {kept}");
        Err(Error::NoVersion { path: path.into(), version: version.to_string(), known })
    }

    fn find_version(&self, path: &str, version: Version) -> Result<Option<Vec<u8>>> {
        let live = match self.read(path) {
            Ok((bytes, found)) if found == version => return Ok(Some(bytes)),
            Ok(_) | Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        };
        for revision in self.history(path)?.iter().filter(|revision| revision.version == version) {
            if let Some(bytes) = self.read_revision(revision)? {
                return Ok(Some(bytes));
            }
        }
        live
    }

    /// Puts a copy of what a file says into the history, durably, if it is not there already.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Busy`]; [`Error::Io`]; [`Error::InDoubt`].
    pub fn keep(&self, path: &str) -> Result<Revision> {
        let guard = self.begin()?;
        let path = &*self.root.normalized(path);
        let (bytes, version) = self.read(path)?;
        let backups = BackupDir::history(&self.root, path)?;
        for revision in
            self.history(path)?.into_iter().filter(|revision| revision.version == version)
        {
            if self.read_revision(&revision)?.is_some() {
                return Ok(revision);
            }
        }
        self.record_pending(&guard, [RecoveryEntry::TempFile(backups.temp_path(version))])?;
        let address = backups.copy_in(&bytes).map_err(|e: Errno| refusal("keep", path, e))?;
        backups.sync(path)?;
        let name = address.rsplit_once('/').map_or(&*address, |(_, name)| name);
        let time_ms = parse_revision_name(name).map_or(0, |(time_ms, _)| time_ms);
        Ok(Revision { version, time_ms, size: bytes.len() as u64, address })
    }

    /// Reads what lies in the history; none when it is no longer what its name says.
    fn read_revision(&self, revision: &Revision) -> Result<Option<Vec<u8>>> {
        let read = self.root.open_own(&revision.address);
        let limit = self.root.memory_limit();
        match read.and_then(|mut file| read_whole(&mut file, &revision.address, limit)) {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| Version::of(bytes) == revision.version)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }
}
