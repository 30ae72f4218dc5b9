//! Unicode normalization of paths: a new name is stored in NFC, an existing one is found as
//! spelled.
//!
//! A tool that spells `café.md` in NFD (as macOS gives it) must find what it wrote under that
//! name. A person's own name is taken as it is: where both spellings are there, each names its own.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::error::Error;
use crate::files::paths::check_read;
use crate::files::root::Root;

impl Root {
    /// Returns `path` with those parts in NFC that are not on disk as given.
    ///
    /// What [`check_read`] refuses comes back as it is, for whoever opens it to refuse.
    #[must_use]
    pub fn normalized<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if is_nfc(path) || check_read(path.trim_end_matches('/')).is_err() {
            return path.into();
        }
        let mut found = String::with_capacity(path.len());
        for component in path.split_inclusive('/') {
            let before = found.len();
            found.push_str(component);
            let looked = self.stat_own(found.trim_end_matches('/'));
            if matches!(looked, Err(Error::NotFound { .. })) {
                found.truncate(before);
                found.extend(component.nfc());
            }
        }
        found.into()
    }
}
