//! Name collisions: new names that another file system would take for an existing one.

use crate::error::{Error, Result};
use crate::files::open::refusal;
use crate::files::platform::{AsHandle as _, Errno, FolderEntries, Handle, SysResult, stat_at};
use crate::files::{Files, paths};

impl Files {
    /// Refuses a new name that a case-insensitive or normalizing file system would confuse with an
    /// existing one.
    ///
    /// Only the first missing component can collide; `moving` is the file
    /// that is about to lose its name, and may collide with itself.
    pub(super) fn check_collisions(&self, path: &str, moving: Option<&str>) -> Result<()> {
        let mut folder = String::new();
        for component in path.split('/') {
            let dir = self.root.open_dir(&folder).map_err(|e| refusal("open", path, e))?;
            match stat_at((dir.as_handle(), component)) {
                Ok(_) => {}
                Err(Errno::NOENT) => {
                    let Some(other_name) =
                        find_collision(dir, component).map_err(|e| refusal("list", path, e))?
                    else {
                        return Ok(());
                    };
                    let found =
                        format!("{folder}{}{other_name}", if folder.is_empty() { "" } else { "/" });
                    if moving == Some(&found) {
                        return Ok(());
                    }
                    let case = other_name.eq_ignore_ascii_case(component);
                    let why = format!("it is on disk as {found:?}; use that spelling");
                    return Err(Error::refused(path, if case { "case" } else { "collision" }, why));
                }
                Err(e) => return Err(refusal("stat", path, e)),
            }
            if !folder.is_empty() {
                folder.push('/');
            }
            folder.push_str(component);
            if folder.len() < path.len() {
                // A file or a link in the place of a folder.
                self.root.open_dir(&folder).map_err(|e| refusal("open", path, e))?;
            }
        }
        Ok(())
    }
}

/// Returns the entry of a folder that a name collides with.
fn find_collision(dir: Handle, name: &str) -> SysResult<Option<String>> {
    let folded = paths::fold(name);
    // of ASCII names, which most are, only the case can differ: ten thousand are compared in 1 ms
    let collides = |other: &str| {
        let plain = other.is_ascii();
        plain && other.eq_ignore_ascii_case(&folded) || !plain && paths::fold(other) == folded
    };
    let mut entries = FolderEntries::new(dir)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        if let Some(other) = entry.name().filter(|other| collides(other)) {
            return Ok(Some(other.to_owned()));
        }
    }
    Ok(None)
}
