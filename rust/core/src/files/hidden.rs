//! Search for the hidden folders of a root, which no listing enters.

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::{MAX_DEPTH, OWN};
use crate::files::platform::{FileType, FolderEntries, FolderEntry};
use crate::files::root::Root;
use crate::files::walk::join;

impl Root {
    /// Returns the hidden folders, sorted, but for our own. Only names are read: a walk, which looks
    /// at each file as well, takes several times as long.
    ///
    /// # Errors
    /// [`Error::Interrupted`]. A folder that cannot be listed is named by a walk.
    pub fn hidden_folders(&self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let (mut hidden, mut queue) = (Vec::new(), vec![(String::new(), 0)]);
        while let Some((folder, depth)) = queue.pop() {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let Ok(mut entries) = self.open_dir(&folder).and_then(FolderEntries::new) else {
                continue;
            };
            while let Some(Ok(entry)) = entries.read() {
                let Some(name) = entry.name() else { continue };
                if matches!(name, "." | "..") || !is_folder(&entries, &entry) {
                    continue;
                }
                let path = join(&folder, name);
                if !name.starts_with('.') {
                    queue.extend((depth < MAX_DEPTH).then_some((path, depth + 1)));
                } else if path != OWN {
                    hidden.push(path);
                }
            }
        }
        hidden.sort_unstable();
        Ok(hidden)
    }
}

/// Not every file system says of a name what it stands for.
fn is_folder(entries: &FolderEntries, entry: &FolderEntry) -> bool {
    let look = || Some(entries.stat(entry).ok()?.kind);
    let kind = entry.kind();
    let kind = if kind == FileType::Unknown { look() } else { Some(kind) };
    kind == Some(FileType::Folder)
}
