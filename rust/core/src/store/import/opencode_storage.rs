//! Storage of opencode: a session, its messages and their parts, each a file, as one document.
//!
//! `storage/session/PROJECT/SESSION.json`, `storage/message/SESSION/MESSAGE.json` and
//! `storage/part/MESSAGE/PART.json`; names rise with time. Source: `packages/opencode/src/storage`
//! of anomalyco/opencode (MIT). Newer versions have a database: see `opencode_database`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::memory_limit::MemoryLimit;
use crate::store::import::ledger::Stamp;

/// Bytes that are taken at most to read a byte of it.
const READ_BYTE: u64 = 12;

/// Returns what tells that neither a session nor a message or part of it has changed, if `source` is
/// a session of such a storage.
pub(super) fn stamp(source: &Path) -> Option<Stamp> {
    let messages = messages(source)?;
    let storage = messages.ancestors().nth(2)?.to_owned();
    let mut stamp = Stamp::of(source)?;
    let mut add = |path: &Path| {
        let one = Stamp::of(path).unwrap_or_default();
        stamp.size += one.size;
        // the sum, for a file may be replaced by an older one
        stamp.mtime_ns = stamp.mtime_ns.wrapping_add(one.mtime_ns);
    };
    for message in json_files(&messages).ok()? {
        add(&message);
        let parts = storage.join("part").join(message.file_stem().unwrap_or_default());
        json_files(&parts).ok()?.iter().for_each(|part| add(part));
    }
    Some(stamp)
}

/// Returns the folder of the messages of a session.
fn messages(source: &Path) -> Option<PathBuf> {
    let above = |levels: usize| source.ancestors().nth(levels);
    let is_session = above(2).and_then(Path::file_name) == Some(OsStr::new("session"));
    let messages = above(3)?.join("message").join(source.file_stem()?);
    (is_session && messages.is_dir()).then_some(messages)
}

/// Returns what `opencode export` would write, if `source` is a session of such a storage.
pub(super) fn document(source: &Path, limit: &MemoryLimit) -> Result<Option<Vec<u8>>> {
    let Some(messages) = messages(source) else { return Ok(None) };
    let storage = messages.ancestors().nth(2).unwrap_or(&messages).to_owned();
    let mut text = b"{\"info\":".to_vec();
    let read = |text: &mut Vec<u8>, path: &Path| -> Result<()> {
        let json =
            fs::read(path).map_err(|error| Error::io("read", path.to_string_lossy(), error))?;
        let needed = (text.len() + json.len()) as u64 * READ_BYTE;
        limit.check(&format!("importing {:?}, which is read as a whole,", source), needed)?;
        // one that is damaged is counted by who reads the document
        let sound = serde_json::from_slice::<&RawValue>(&json).is_ok();
        text.extend_from_slice(if sound { &json } else { b"null" });
        Ok(())
    };
    read(&mut text, source)?;
    text.extend_from_slice(b",\"messages\":[");
    for (at, message) in json_files(&messages)?.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"{\"info\":" } else { b",{\"info\":" });
        read(&mut text, message)?;
        text.extend_from_slice(b",\"parts\":[");
        let parts = storage.join("part").join(message.file_stem().unwrap_or_default());
        for (at, part) in json_files(&parts)?.iter().enumerate() {
            text.extend_from_slice(if at == 0 { b"" } else { b"," });
            read(&mut text, part)?;
        }
        text.extend_from_slice(b"]}");
    }
    text.extend_from_slice(b"]}");
    Ok(Some(text))
}

/// The regular files of a folder that end in `.json`, by name; none if there is no folder.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |error| Error::io("list", folder.to_string_lossy(), error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fail)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fail)?;
        let is_json = entry.path().extension() == Some(OsStr::new("json"));
        if is_json && entry.file_type().map_err(fail)?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
