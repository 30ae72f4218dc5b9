//! File versions: 128-bit content hashes (BLAKE3).

use std::fmt;
use std::fs::File;
use std::str::FromStr;

use crate::error::{Error, Interrupt, Result};
use crate::files::platform::FileExt as _;

/// The content hash of a file at one moment; equal versions are equal bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version([u8; 16]);

impl Version {
    /// Computes the version of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(&blake3::hash(bytes))
    }

    /// Computes the version of the first `size` bytes of an open file, or of all there are.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of_file(file: &File, size: u64) -> std::io::Result<Self> {
        let version = Self::hashed(file, size, &|| false)?;
        version.ok_or_else(|| std::io::ErrorKind::Interrupted.into())
    }

    /// Computes the version of all of an open file, which an error calls `path`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Interrupted`].
    pub(crate) fn of_whole(file: &File, path: &str, interrupt: Interrupt<'_>) -> Result<Self> {
        Self::of_first(file, u64::MAX, path, interrupt)
    }

    /// Does the same for the first `size` bytes.
    ///
    /// # Errors
    /// As for [`Self::of_whole`].
    pub(crate) fn of_first(
        file: &File,
        size: u64,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let version = Self::hashed(file, size, interrupt);
        version.map_err(|e| Error::io("read", path, e))?.ok_or(Error::Interrupted)
    }

    /// None when interrupted.
    fn hashed(file: &File, size: u64, interrupt: Interrupt<'_>) -> std::io::Result<Option<Self>> {
        let (mut hasher, mut chunk, mut done) = (blake3::Hasher::new(), [0; 64 << 10], 0);
        while done < size {
            if interrupt() {
                return Ok(None);
            }
            let wanted = usize::try_from(size - done).map_or(chunk.len(), |n| n.min(chunk.len()));
            match file.read_at(&mut chunk[..wanted], done) {
                Ok(0) => break,
                Ok(read) => {
                    hasher.update(&chunk[..read]);
                    done += read as u64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Some(Self::from_hash(&hasher.finalize())))
    }

    /// Takes the version out of a hash that was fed piece by piece.
    #[must_use]
    pub fn from_hash(hash: &blake3::Hash) -> Self {
        let mut bits = [0; 16];
        bits.copy_from_slice(&hash.as_bytes()[..16]);
        Self(bits)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl FromStr for Version {
    type Err = Error;

    /// Reads the 32 hex digits that `Display` writes.
    fn from_str(text: &str) -> Result<Self> {
        let why = "a version is 32 lower-case hex digits, as read and write return them";
        let wrong = || Error::refused(text, "version", why);
        if text.len() != 32 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(wrong());
        }
        u128::from_str_radix(text, 16).map(|bits| Self(bits.to_be_bytes())).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let version = Version::of(b"hello");
        assert_eq!(version.to_string(), "ea8f163db38682925e4491c5e58d4bb3");
        assert_eq!(version.to_string().parse::<Version>().unwrap(), version);
        for wrong in ["", "EA8F163DB38682925E4491C5E58D4BB3", "+a8f163db38682925e4491c5e58d4bb3"] {
            assert!(wrong.parse::<Version>().is_err());
        }
    }
}
