//! Snapshot file of a root: load, replace by rename, discard.

use std::fs::File;
use std::io::Write;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::Catalog;
use crate::catalog::snapshot;
use crate::error::{Error, Interrupt, Result};
use crate::files::paths::OWN;
use crate::files::platform::{
    AsHandle as _, Errno, OpenFlags, open_at, rename, stat, stored_bytes, unlink,
};
use crate::files::root::Root;
use crate::index::bm25f::Weights;
use crate::memory_limit::MemoryLimit;

/// Its name, below [`OWN`].
const NAME: &str = "index";
/// Its name while it is written; the lock of the root lets only one be written at a time.
const TEMP_NAME: &str = "index.new";

/// Bytes that are written at a time.
const WRITE_CHUNK: usize = 8 << 20;

/// Opens the snapshot of a root; none when there is none.
///
/// # Errors
/// Why it cannot be used, in words.
pub fn load(
    root: &Root,
    weights: &Weights,
    limit: &MemoryLimit,
) -> std::result::Result<Option<Catalog>, String> {
    let file = match root.open_own(&format!("{OWN}/{NAME}")) {
        Ok(file) => file,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let root = identity(root).map_err(|error| error.to_string())?;
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let stored = stored_bytes(&file).map_err(|error| error.to_string())?;
    // what takes no room on disk is to take none in memory; some file systems compress, but not so
    const SPARSE_ALLOWANCE: u64 = 64 << 20;
    if size > SPARSE_ALLOWANCE + 16 * stored {
        return Err("the snapshot: it is larger than what is in it".to_owned());
    }
    limit.check("the snapshot", size).map_err(|error| error.to_string())?;
    snapshot::read(file, root, weights).map(Some).map_err(|why| format!("the snapshot: {why}"))
}

/// Returns the snapshot of a catalog, which must be packed; none when a part of it is lost, or there
/// is no memory for it.
///
/// # Errors
/// [`Error::Io`] when the stat of the root fails.
pub fn bytes(catalog: &Catalog, root: &Root) -> Result<Option<Vec<u8>>> {
    let bytes = snapshot::write(catalog, identity(root)?);
    Ok(bytes.filter(|_| !catalog.is_damaged()))
}

/// Deletes the snapshot, so that the next opening rebuilds.
///
/// # Errors
/// [`Error::Io`], [`Error::Refused`].
pub fn discard(root: &Root) -> Result<()> {
    let done = unlink((root.own_dir("")?.as_handle(), NAME));
    done.map_err(|error| Error::io("remove", format!("{OWN}/{NAME}"), error))
}

/// Removes the snapshot, and what a writer that crashed left of one, if they are there.
///
/// # Errors
/// [`Error::Io`], [`Error::Refused`].
pub fn remove(root: &Root) -> Result<()> {
    let folder = root.own_dir("")?;
    for name in [NAME, TEMP_NAME] {
        match unlink((folder.as_handle(), name)) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(Error::io("remove", format!("{OWN}/{name}"), error)),
        }
    }
    Ok(())
}

/// Publishes a snapshot by one rename; it needs no fsync, for its checksum decides.
///
/// # Errors
/// [`Error::Io`], [`Error::Refused`], [`Error::Interrupted`]; the old snapshot then stays.
pub fn publish(root: &Root, bytes: &[u8], interrupt: Interrupt<'_>) -> Result<()> {
    let folder = root.own_dir("")?;
    let fail = |error: Errno| Error::io("write", format!("{OWN}/{NAME}"), error);
    let create = OpenFlags::WRONLY
        | OpenFlags::CREATE
        | OpenFlags::EXCL
        | OpenFlags::NOFOLLOW
        | OpenFlags::CLOEXEC;
    let temp = (folder.as_handle(), TEMP_NAME);
    let open = || open_at(temp, create);
    let remove = || unlink(temp);
    let file = match open() {
        // a writer crashed; what it left may also be a link to some other file
        Err(Errno::EXIST) => remove().and_then(|()| open()),
        opened => opened,
    };
    let mut file = File::from(file.map_err(fail)?);
    let write = |part: &[u8]| match interrupt() {
        true => Err(Error::Interrupted),
        false => file.write_all(part).map_err(|e| Error::io("write", format!("{OWN}/{NAME}"), e)),
    };
    let done = bytes
        .chunks(WRITE_CHUNK)
        .try_for_each(write)
        .and_then(|()| rename(temp, (folder.as_handle(), NAME)).map_err(fail));
    if done.is_err() {
        // a half-written file of ours that nobody else knows of
        let _ = remove();
    }
    done
}

/// Returns an id of a root, which a copy of it does not have.
fn identity(root: &Root) -> Result<u64> {
    let info = stat(root.handle())
        .map_err(|error| Error::io("look at", root.path().to_string_lossy(), error))?;
    let (device, inode) = info.id();
    Ok(xxh3_64(bytemuck::bytes_of(&[device, inode])))
}
