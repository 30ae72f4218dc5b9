//! Expected versions: the precondition of a change (optimistic concurrency control).

use crate::error::{Error, Result};
use crate::files::version::Version;

/// What a caller expects to find at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Any state.
    Any,
    /// No file: it is to be created.
    Absent,
    /// Exactly this version.
    Version(Version),
}

impl Expected {
    pub(crate) fn check(self, path: &str, found: Option<Version>) -> Result<()> {
        let expected = match (self, found) {
            (Self::Any, _) | (Self::Absent, None) => return Ok(()),
            (Self::Version(version), Some(found)) if version == found => return Ok(()),
            (Self::Absent, Some(_)) => "absent".into(),
            (Self::Version(version), _) => version.to_string(),
        };
        let found = found.map_or_else(|| "absent".into(), |version| version.to_string());
        Err(Error::Conflict { path: path.into(), expected, found })
    }
}
