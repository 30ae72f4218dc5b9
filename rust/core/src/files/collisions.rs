//! Name collisions: new names that another file system would take for an existing one.

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::files::open::refusal;
use crate::files::platform::{AsHandle as _, Errno, FolderEntries, Handle, SysResult, stat_at};
use crate::files::{Files, paths};

/// The names in folders, read once for many files that are made.
#[derive(Debug, Default)]
pub(super) struct NameCache(FxHashMap<String, FxHashMap<String, String>>);

impl NameCache {
    /// Returns the entry of a folder that a name collides with; else the name is one from now on.
    fn find_or_add(&mut self, folder: &str, dir: Handle, name: &str) -> SysResult<Option<String>> {
        if !self.0.contains_key(folder) {
            let mut names = FxHashMap::default();
            let mut entries = FolderEntries::new(dir)?;
            while let Some(entry) = entries.read() {
                if let Some(name) = entry?.name() {
                    names.insert(paths::fold(name), name.to_owned());
                }
            }
            self.0.insert(folder.to_owned(), names);
        }
        let names = self.0.entry(folder.to_owned()).or_default();
        let other = names.entry(paths::fold(name)).or_insert_with(|| name.to_owned());
        Ok(Some(other.clone()).filter(|other| other != name))
    }
}

impl Files {
    /// Refuses a new name that a case-insensitive or normalizing file system would confuse with an
    /// existing one.
    ///
    /// Only the first missing component can collide; `moving` is the file
    /// that is about to lose its name, and may collide with itself.
    pub(super) fn check_collisions(&self, path: &str, moving: Option<&str>) -> Result<()> {
        self.check_names(path, moving, None)
    }

    /// As [`Self::check_collisions`], for one of many files that are made under one lock.
    pub(super) fn check_collisions_with(&self, path: &str, names: &mut NameCache) -> Result<()> {
        self.check_names(path, None, Some(names))
    }

    fn check_names(
        &self,
        path: &str,
        moving: Option<&str>,
        mut names: Option<&mut NameCache>,
    ) -> Result<()> {
        let mut folder = String::new();
        for component in path.split('/') {
            let dir = self.root.open_dir(&folder).map_err(|e| refusal("open", path, e))?;
            match stat_at((dir.as_handle(), component)) {
                Ok(_) => {}
                Err(Errno::NOENT) => {
                    let found = match &mut names {
                        Some(names) => names.find_or_add(&folder, dir, component),
                        None => find_collision(dir, component),
                    };
                    let found = found.map_err(|e| refusal("list", path, e))?;
                    let Some(other_name) = found else {
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
