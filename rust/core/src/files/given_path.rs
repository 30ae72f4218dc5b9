//! Paths as callers give them: relative to the root, or absolute and in it.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::paths::leads_out;
use crate::files::root::Root;

impl Root {
    /// Returns the path of a file relative to the root: `notes/a.md` for `./notes/a.md`, and for
    /// its absolute path. Nothing else of it is changed.
    ///
    /// Absolute paths are compared as names: what a link on the way leads to is for the one to see
    /// who opens it.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code `absolute` for an absolute path that is not in the root.
    pub fn relative<'p>(&self, given: &'p str) -> Result<Cow<'p, str>> {
        if given.starts_with('/') {
            return self.inner(given).map(Cow::Owned);
        }
        let mut path = given;
        while let Some(rest) = path.strip_prefix("./") {
            path = rest.trim_start_matches('/');
        }
        Ok(path.into())
    }

    /// As [`Self::relative`], for a folder, which may end in `/`; empty for the root itself.
    ///
    /// # Errors
    /// Those of [`Self::relative`], and [`Error::Refused`] for a path with `..`: no file has one, so
    /// it would pass for an empty folder.
    pub fn relative_folder<'p>(&self, given: &'p str) -> Result<Cow<'p, str>> {
        let path = self.relative(given)?;
        let folder = path.trim_end_matches('/');
        if leads_out(folder) {
            return Err(Error::refused(given, "escape", "it leads out of the memory"));
        }
        if folder.split('/').any(|part| part == "..") {
            return Err(Error::refused(given, "dotdot", "leave out \"..\""));
        }
        Ok(if folder == "." { "".into() } else { folder.to_owned().into() })
    }

    /// Returns what an absolute path is below the root.
    fn inner(&self, given: &str) -> Result<String> {
        let below = |root: &Path| Path::new(given).strip_prefix(root).ok();
        let inner = below(self.path()).or_else(|| below(self.given_path()?));
        let parts = inner.map(|inner| inner.components().map(|part| part.as_os_str()));
        let parts: Option<Vec<&str>> =
            parts.and_then(|parts| parts.map(std::ffi::OsStr::to_str).collect());
        // a file has no "/" at its end, and is refused with one
        let end = if given.ends_with('/') { "/" } else { "" };
        parts.map(|parts| parts.join("/") + end).ok_or_else(|| {
            let root = self.path().to_string_lossy();
            let why = format!(
                "it is not in the memory at {root:?}; give a path in it, or one relative to it"
            );
            Error::refused(given, "absolute", why)
        })
    }
}
