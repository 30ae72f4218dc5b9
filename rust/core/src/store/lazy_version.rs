//! The version of a file after an append, read from the file only when it is asked for.
//!
//! To hash all of a long log at each append would cost more than the append.

use std::sync::{Arc, OnceLock, Weak};

use crate::error::{Error, Interrupt, Result};
use crate::files::Expected;
use crate::files::append::Appended;
use crate::files::version::Version;
use crate::store::Store;

/// A version that is known, or is read when it is first asked for.
#[derive(Debug)]
pub struct LazyVersion {
    version: OnceLock<Option<Version>>,
    /// The store, the path, and the byte at which the append ended.
    unread: Option<(Weak<Store>, String, u64)>,
}

impl From<Version> for LazyVersion {
    fn from(version: Version) -> Self {
        Self { version: OnceLock::from(Some(version)), unread: None }
    }
}

impl LazyVersion {
    /// Returns what the file said when the append was in it, if nobody has changed what stands
    /// before; none where that could not be read, and after the store was closed.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn get(&self, interrupt: Interrupt<'_>) -> Result<Option<Version>> {
        if let Some(version) = self.version.get() {
            return Ok(*version);
        }
        let unread = self.unread.as_ref();
        let known = unread.and_then(|(store, path, end)| Some((store.upgrade()?, path, *end)));
        let version = match known {
            None => None,
            Some((store, path, end)) => match store.files().version_until(path, end, interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                read => read.ok(),
            },
        };
        Ok(*self.version.get_or_init(|| version))
    }
}

impl Store {
    /// Adds text at the end of a file as [`Files::append`](crate::files::Files::append) does, and
    /// an empty line for empty text; returns the stored path and the version of the file.
    ///
    /// # Errors
    /// Those of [`Files::append`](crate::files::Files::append).
    pub fn append(
        self: &Arc<Self>,
        path: &str,
        text: &str,
        expected: Expected,
    ) -> Result<(String, LazyVersion)> {
        let text = if text.is_empty() { "\n" } else { text };
        let Appended { path, version, span, .. } =
            self.files().append(path, text.as_bytes(), expected)?;
        let unread = span.map(|span| (Arc::downgrade(self), path.clone(), span.end));
        let version = version.map(|version| OnceLock::from(Some(version))).unwrap_or_default();
        Ok((path, LazyVersion { version, unread }))
    }
}
