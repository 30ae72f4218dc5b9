//! Starting up after a crash: what was left half done is finished, or shown.

use crate::error::{Error, Result};
use crate::files::Files;
use crate::files::history::{Shelf, surface};
use crate::files::names::OWN;
use crate::files::root::{Place, Stat};
use crate::files::version::Version;

/// A file that was written into within this time of being displaced shows it in
/// its stamps: displacing sets the change time only, writing sets both.
const TICK_NS: i64 = 10_000_000;

impl Files {
    /// Cleans up after writers that died, and returns the conflict copies that it made.
    ///
    /// A staged text that is also in the file or in its history is removed. A
    /// displaced text of known version goes to the history. Anything else may be a
    /// person's save: it becomes visible beside its file, as
    /// `facts/user.conflict-1a2b3c4d.md`. So does a displaced file that an editor
    /// wrote into later. Bytes that are nowhere else are never removed, but for a copy into the
    /// history that was cut short.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`].
    pub fn recover(&self) -> Result<Vec<String>> {
        let _guard = self.begin()?;
        let mut surfaced = Vec::new();
        for leftover in self.root.walk("", &|| false)?.leftovers {
            surfaced.extend(self.recover_staged(&leftover)?);
        }
        let history = format!("{OWN}/history");
        let walk = match self.root.walk_all(&history, &|| false, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(surfaced),
            walk => walk?,
        };
        for copy in walk.leftovers {
            self.recover_copy(&history, &copy)?;
        }
        for (kept, stat) in walk.files {
            surfaced.extend(self.recover_displaced(&history, &kept, stat)?);
        }
        Ok(surfaced)
    }

    fn recover_staged(&self, leftover: &str) -> Result<Option<String>> {
        let (folder, hidden) = leftover.rsplit_once('/').unwrap_or(("", leftover));
        let inner = hidden.trim_start_matches('.').trim_end_matches(".swap");
        let (name, tag) = inner.rsplit_once('.').unwrap_or((inner, ""));
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let staged = self.root.place(leftover)?;
        let version = match staged.version() {
            Ok(version) => version,
            // No file of ours, or none that we can read: not ours to judge.
            Err(Error::Refused { .. } | Error::NotFound { .. } | Error::Io { .. }) => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        let fail = |e| Error::io("recover", leftover, e);
        let live = Place { name: name.to_owned(), ..self.root.place(leftover)? };
        if version == Version::of(b"") || live.version().ok() == Some(version) {
            staged.unlink().map_err(fail)?;
            return Ok(None);
        }
        if self.is_kept(&path, version) {
            staged.unlink().map_err(fail)?;
            return Ok(None);
        }
        let replaced = tag.rsplit_once('-').map(|(_, version)| version);
        if replaced.is_some_and(|start| start.len() == 16 && version.to_string().starts_with(start))
        {
            let shelf = Shelf::history(&self.root, &path)?;
            shelf.take(&staged, version).map_err(fail)?;
            shelf.sync(&path)?;
            staged.sync_folder()?;
            return Ok(None);
        }
        surface(&self.root, leftover, &path, version).map(Some)
    }

    /// Says whether the history of `path` really holds this version.
    fn is_kept(&self, path: &str, version: Version) -> bool {
        let folder = format!("{OWN}/history/{path}");
        let Ok(walk) = self.root.walk_all(&folder, &|| false, &|_| {}) else { return false };
        let named = walk.files.into_iter().map(|(kept, _)| kept);
        let mut named = named.filter(|kept| version_in(kept) == Some(version));
        named.any(|kept| {
            self.root.place(&kept).and_then(|place| place.version()).ok() == Some(version)
        })
    }

    /// Gives a copy in the history its name, or removes it when it is not whole: then its text
    /// is where it was copied from, or was never said to be written.
    fn recover_copy(&self, history: &str, copy: &str) -> Result<()> {
        let place = self.root.place(copy)?;
        // what is no file of ours is not ours to judge
        let Ok(version) = place.version() else { return Ok(()) };
        let fail = |e| Error::io("recover", copy, e);
        let path = copy.strip_prefix(history).and_then(|path| path.strip_prefix('/'));
        match path.and_then(|path| path.rsplit_once('/')) {
            Some((path, name)) if name == format!(".{version}.swap") => {
                let shelf = Shelf::history(&self.root, path)?;
                shelf.take(&place, version).map_err(fail)?;
                shelf.sync(path)
            }
            _ => place.unlink().map_err(fail),
        }
    }

    fn recover_displaced(&self, history: &str, kept: &str, stat: Stat) -> Result<Option<String>> {
        let Some(named) = version_in(kept) else { return Ok(None) };
        if stat.ctime_ns - stat.mtime_ns > TICK_NS {
            return Ok(None);
        }
        let version = self.root.place(kept)?.version()?;
        let path = kept.strip_prefix(history).and_then(|path| path.strip_prefix('/'));
        match path.and_then(|path| path.rsplit_once('/')) {
            Some((path, _)) if version != named => {
                surface(&self.root, kept, path, version).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The version in a name such as `20260105T120000.123456789Z-<version>.md`.
fn version_in(kept: &str) -> Option<Version> {
    let (_, name) = kept.rsplit_once('/')?;
    let (_, rest) = name.split_once('-')?;
    rest.get(..32)?.parse().ok()
}
