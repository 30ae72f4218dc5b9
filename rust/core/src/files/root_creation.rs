//! Checks before a root is created: a file or broken link in its place, a pseudo file system.

use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::platform::{AsHandle as _, HandleRef, Platform as _, System};

/// Returns why there is no folder at a path and none can be made, where that can be told.
pub(super) fn obstacle(path: &Path) -> Option<Error> {
    let shown = path.to_string_lossy();
    // the nearest that is there is to blame
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok())?;
    match there.metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let why = format!("the link {} is broken; fix or remove it", quoted(there));
            Some(Error::refused(&shown, "config", why))
        }
        Ok(found) if !found.is_dir() => Some(is_no_folder(&shown, there)),
        _ => {
            let open = std::fs::File::open(there).ok()?;
            check_file_system(&shown, there, open.as_handle()).err()
        }
    }
}

/// Returns the error for a root that is a file or the like, or lies below one.
pub(super) fn is_no_folder(shown: &str, file: &Path) -> Error {
    let why = format!("{} is no folder; choose another place for the memory", quoted(file));
    Error::refused(shown, "config", why)
}

/// Refuses a folder in which nothing can be kept.
pub(super) fn check_file_system(shown: &str, folder: &Path, open: HandleRef<'_>) -> Result<()> {
    let Some(name) = System::pseudo_file_system(open) else { return Ok(()) };
    let why = format!(
        "{} is in a pseudo file system ({name}) of the kernel, which keeps no files; choose a \
         folder on a disk",
        quoted(folder)
    );
    Err(Error::refused(shown, "config", why))
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy().chars().take(120).collect::<String>())
}
