//! Every file below a folder, with its stat: the listing that the index starts from.

use std::fmt::Write as _;
use std::mem::MaybeUninit;

use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use crate::error::{Error, Interrupt, Result};
use crate::files::names::{self, MAX_DEPTH};
use crate::files::open::{check_regular, refusal};
use crate::files::root::{Root, Stat};

/// What is below a folder. All paths are relative to the root and sorted by bytes.
#[derive(Debug, Default)]
pub struct Walk {
    /// The regular files that are not hidden.
    pub files: Vec<(String, Stat)>,
    /// The folders, the one that was asked for included; `""` is the root.
    pub dirs: Vec<String>,
    /// What was left out, with unprintable characters escaped, and why:
    /// `symlink`, `hardlink`, `type`, `encoding`, `control`, `backslash`, `deep`, `long`, `perm`.
    pub skipped: Vec<(String, &'static str)>,
    /// What a write that was cut short left behind: hidden, and ending in `.swap`.
    pub(crate) leftovers: Vec<String>,
}

impl Root {
    /// Lists everything below `prefix` (`""` for all). Hidden files and folders are
    /// left out without a word; what cannot be read by us is named in `skipped`.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::NotFound`] for `prefix`, [`Error::Io`],
    /// [`Error::Interrupted`].
    pub fn walk(&self, prefix: &str, interrupt: Interrupt<'_>) -> Result<Walk> {
        self.walk_entering(prefix, interrupt, &mut |_| {})
    }

    /// As [`Root::walk`], and calls `enter` with each folder before it is listed.
    ///
    /// # Errors
    /// Those of [`Root::walk`].
    pub fn walk_entering(
        &self,
        prefix: &str,
        interrupt: Interrupt<'_>,
        enter: &mut dyn FnMut(&str),
    ) -> Result<Walk> {
        if !prefix.is_empty() {
            names::check_read(prefix)?;
        }
        self.walk_all(prefix, interrupt, enter)
    }

    /// As [`Root::walk`], for our own hidden folders too.
    pub(crate) fn walk_all(
        &self,
        prefix: &str,
        interrupt: Interrupt<'_>,
        enter: &mut dyn FnMut(&str),
    ) -> Result<Walk> {
        let mut walk = Walk::default();
        let mut pending = vec![prefix.to_owned()];
        let mut buffer = [MaybeUninit::uninit(); 32 << 10];
        while let Some(folder) = pending.pop() {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            enter(&folder);
            let listed = self.list(&folder, &mut walk, &mut pending, &mut buffer);
            match listed {
                Ok(()) => walk.dirs.push(folder),
                Err(e) if folder == prefix => return Err(refusal("list", prefix, e)),
                // Removed or replaced while we were walking.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(Errno::ACCESS | Errno::PERM) => walk.skip(&folder, "perm"),
                Err(Errno::LOOP) => walk.skip(&folder, "symlink"),
                Err(Errno::NAMETOOLONG) => walk.skip(&folder, "long"),
                // A walk that is short of files without saying so would look
                // like a search without results.
                Err(e) => return Err(Error::io("list", folder, e)),
            }
        }
        walk.files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        walk.dirs.sort_unstable();
        walk.skipped.sort_unstable();
        walk.leftovers.sort_unstable();
        Ok(walk)
    }

    fn list(
        &self,
        folder: &str,
        walk: &mut Walk,
        pending: &mut Vec<String>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> rustix::io::Result<()> {
        let dir = self.open_dir(folder)?;
        let mut entries = RawDir::new(&dir, buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let raw_name = entry.file_name();
            let Ok(name) = raw_name.to_str() else {
                if !raw_name.to_bytes().starts_with(b".") {
                    walk.skip(&join(folder, &lossy(raw_name.to_bytes())), "encoding");
                }
                continue;
            };
            if name.starts_with('.') {
                if name.ends_with(".swap") {
                    walk.leftovers.push(join(folder, name));
                }
                continue;
            }
            let path = join(folder, name);
            if let Err(Error::Refused { code, .. }) = names::check_read(name) {
                walk.skip(&path, code);
                continue;
            }
            // Only what may be a file needs a second call.
            let mut kind = entry.file_type();
            let mut raw = None;
            if matches!(kind, FileType::RegularFile | FileType::Unknown) {
                match rustix::fs::statat(&dir, raw_name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => {
                        kind = FileType::from_raw_mode(found.st_mode);
                        raw = Some(found);
                    }
                    Err(Errno::NOENT) => continue,
                    Err(e) => return Err(e),
                }
            }
            match (kind, raw) {
                (FileType::Directory, _) if path.split('/').count() >= MAX_DEPTH => {
                    walk.skip(&path, "deep");
                }
                (FileType::Directory, _) => pending.push(path),
                (FileType::RegularFile, Some(raw)) if check_regular(&path, &raw).is_ok() => {
                    walk.files.push((path, Stat::from_raw(&raw)));
                }
                (FileType::RegularFile, _) => walk.skip(&path, "hardlink"),
                (FileType::Symlink, _) => walk.skip(&path, "symlink"),
                _ => walk.skip(&path, "type"),
            }
        }
        Ok(())
    }
}

impl Walk {
    fn skip(&mut self, path: &str, why: &'static str) {
        let mut shown = String::with_capacity(path.len());
        for c in path.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
        self.skipped.push((shown, why));
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

/// Shows bytes that are not UTF-8 so that two such names stay apart.
fn lossy(name: &[u8]) -> String {
    name.utf8_chunks().fold(String::new(), |mut shown, chunk| {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| {
            let _ = write!(shown, "\\x{byte:02x}");
        });
        shown
    })
}
