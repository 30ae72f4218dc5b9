//! Renaming without replacing: a file gets a new name only where nothing has it.

use crate::files::path_handle::PathHandle;
use crate::files::platform::{Errno, Platform as _, SysResult, System, link};

/// How far a rename came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenameOutcome {
    /// The file has its new name only.
    Complete,
    /// The file has both names, and neither can be removed.
    BothNames,
}

/// Renames without ever taking a name that is in use.
///
/// # Errors
/// What the system says; the file has its old name only.
pub(crate) fn rename_noreplace(from: &PathHandle, to: &PathHandle) -> SysResult<RenameOutcome> {
    match System::rename_noreplace(from.name(), to.name()) {
        Ok(()) => return Ok(RenameOutcome::Complete),
        Err(Errno::NOSYS) => {}
        Err(e) => return Err(e),
    }
    link(from.name(), to.name())?;
    match from.unlink() {
        Ok(()) => Ok(RenameOutcome::Complete),
        Err(e) => match to.unlink() {
            Ok(()) => Err(e),
            Err(_) => Ok(RenameOutcome::BothNames),
        },
    }
}
