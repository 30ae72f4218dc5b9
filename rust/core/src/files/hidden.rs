//! Hidden folders of a root, which no listing enters.

use rustix::fs::{AtFlags, Dir, FileType};

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::{MAX_DEPTH, OWN};
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
            let Ok(mut entries) = self.open_dir(&folder).and_then(Dir::new) else { continue };
            while let Some(Ok(entry)) = entries.read() {
                let Ok(name) = entry.file_name().to_str() else { continue };
                if matches!(name, "." | "..") || !is_folder(&entries, name, entry.file_type()) {
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
fn is_folder(entries: &Dir, name: &str, kind: FileType) -> bool {
    let look = || {
        let raw = rustix::fs::statat(entries.fd().ok()?, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(raw.st_mode))
    };
    let kind = if kind == FileType::Unknown { look() } else { Some(kind) };
    kind == Some(FileType::Directory)
}
