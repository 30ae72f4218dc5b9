//! Temporary files: new text written durably beside the file that it is to replace.

use std::fs::File;
use std::io::Write;

use crate::error::{Error, Result};
use crate::files::open::READ_FLAGS;
use crate::files::path_handle::{BaseFile, PathHandle};
use crate::files::paths::check_read;
use crate::files::platform::{Errno, OpenFlags, copy_metadata, open_at};

/// A temporary file; removed when dropped.
pub(crate) struct TempFile {
    pub(crate) at: PathHandle,
    pub(crate) remove_on_drop: bool,
}

/// Returns a name beside `place` for the text that is to replace `base`, and its path.
///
/// The name holds the version that is replaced, so that recovery knows the displaced file by it.
pub(crate) fn temp_name(
    target: &PathHandle,
    base: Option<&BaseFile>,
) -> Result<(PathHandle, String)> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|e| Error::io("write", &*target.path, e))?;
    let mut tag = format!("{:032x}", u128::from_ne_bytes(random));
    if let Some(base) = base {
        tag = format!("{tag}-{:.16}", base.version.to_string());
    }
    let stem = truncate(&target.name, 255 - ".".len() - ".".len() - tag.len() - ".swap".len());
    let name = format!(".{stem}.{tag}.swap");
    let folder = target.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
    Ok((target.sibling(name)?, path))
}

/// Returns whether a path has the shape that [`temp_name`] gives, beside a file that can be read.
pub(crate) fn is_temp_name(path: &str) -> bool {
    let (folder, hidden) = path.rsplit_once('/').unwrap_or(("", path));
    let inner = hidden.strip_prefix('.').and_then(|name| name.strip_suffix(".swap"));
    let Some((name, tag)) = inner.and_then(|inner| inner.rsplit_once('.')) else { return false };
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_tag = match tag.split_once('-') {
        Some((random, version)) => is_hex(random, 32) && is_hex(version, 16),
        None => is_hex(tag, 32),
    };
    let is_folder = folder.is_empty() || check_read(folder).is_ok();
    is_tag && is_folder && check_read(name).is_ok()
}

impl TempFile {
    /// Writes `bytes` to `at`, durably, with the owner, mode and attributes of `base`.
    pub(crate) fn write(at: PathHandle, bytes: &[u8], base: Option<&BaseFile>) -> Result<Self> {
        let (temp, file) = Self::write_unflushed(at, bytes, base)?;
        // Never tried twice: after a failure the kernel forgets what was dirty,
        // and a second call would succeed over lost data.
        file.sync_all().map_err(|e| Error::io("write", &*temp.at.path, e))?;
        Ok(temp)
    }

    /// As [`TempFile::write`]; the caller flushes the file that it gets, once.
    pub(crate) fn write_unflushed(
        at: PathHandle,
        bytes: &[u8],
        base: Option<&BaseFile>,
    ) -> Result<(Self, File)> {
        let path = at.path.clone();
        let path = path.as_str();
        let fail = |e: Errno| Error::io("write", path, e);
        let flags = READ_FLAGS | OpenFlags::WRONLY | OpenFlags::CREATE | OpenFlags::EXCL;
        let file = open_at(at.name(), flags).map_err(fail)?;
        let temp = Self { at, remove_on_drop: true };
        let mut file = File::from(file);
        if let Some(base) = base {
            copy_metadata(&file, &base.file).map_err(fail)?;
        }
        file.write_all(bytes).map_err(|e| Error::io("write", path, e))?;
        // A full or lying disk may have taken less than it said.
        let size = file.metadata().map_err(|e| Error::io("write", path, e))?.len();
        if size != bytes.len() as u64 {
            return Err(Error::io(
                "write",
                path,
                std::io::Error::from(std::io::ErrorKind::WriteZero),
            ));
        }
        Ok((temp, file))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if self.remove_on_drop {
            let _ = self.at.unlink();
        }
    }
}

/// The start of `name`, at most `length` bytes.
pub(crate) fn truncate(name: &str, length: usize) -> &str {
    let mut end = length.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
