//! Import of transcripts and of whole folders of them.
//!
//! [`transcript`] brings one file into one transcript. [`Store::import_sessions`] brings every
//! session that it finds into a transcript of its own, and costs next to nothing when little is new:
//!
//! 1. [`sources`] lists files: a host's own folder, folders and files that were named, or stdin.
//! 2. [`ledger`] knows each by size and time; what has not changed is done. Of one that has grown,
//!    what stands behind the offset that was reached is read, if the bytes before it hash as before.
//! 3. The format converts what is read, and its session gets a folder ([`session_names`]).
//! 4. A message that a transcript holds already is known by its key ([`message_index`]). One of
//!    another transcript is not stored again: a line `{"type":"copy","of":…,"count":…}` points to it.
//! 5. [`session_target`] adds the rest behind a `session` record, in whole lines, durably.
//!
//! Ledger and message index are derived. Whatever they say is checked against the files before it
//! counts, so to lose them costs time and no message.

mod changed_source;
mod context;
mod index_frame;
mod later_versions;
mod ledger;
mod message_index;
mod opencode_database;
mod opencode_storage;
mod ordinals;
mod pending_lines;
mod report;
mod session_batch;
mod session_folder;
mod session_names;
mod session_target;
mod sessions;
mod source_import;
mod sources;
mod standard_input;
mod transcript;

pub(super) use ordinals::Ordinals;
pub use report::{ImportReport, Outcome, SourceReport};
pub use sources::{ImportFrom, Source};

use std::fs::File;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::platform::{Errno, FileExt, OpenFlags, open_path};
use crate::messages::formats::Imported;
#[cfg(doc)]
use crate::store::Store;

/// What an import may be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Whether secrets are copied as they are, and not redacted.
    pub keep_secrets: bool,
}

/// Why nothing was taken of a source.
pub const NO_MESSAGE: &str = "it holds no message of a known format";
/// The same, of a file by what it begins with.
const OTHER_CONTENT: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "it is a zip archive; unpack it and import the folder"),
    (b"\x1f\x8b", "it is compressed; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it is compressed; unpack it first"),
];

/// Types of lines that hosts write before a session has a message.
const RECORD_TYPES: [&str; 6] =
    ["ai-title", "custom-title", "file-history-snapshot", "session", "session_meta", "summary"];

/// Says why nothing was taken of a source without messages.
fn no_message(file: Option<&File>, imported: &Imported) -> &'static str {
    if RECORD_TYPES.iter().any(|name| imported.skipped.contains_key(*name)) {
        return "its session has no message yet";
    }
    let mut start = [0; 4];
    let Some(Ok(read)) = file.map(|file| file.read_at(&mut start, 0)) else { return NO_MESSAGE };
    let other = OTHER_CONTENT.iter().find(|(mark, _)| start[..read].starts_with(mark));
    match other {
        _ if read == 0 => "it is empty",
        Some((_, why)) => why,
        None => NO_MESSAGE,
    }
}

/// Says what is wrong with a source, without its name, which is told beside it.
fn reason(error: &Error) -> String {
    match error {
        Error::Format { why, line: None, .. } | Error::Refused { why, .. } => why.clone(),
        error => error.to_string(),
    }
}

/// Opens what the user named, wherever it lies; a FIFO must not keep us waiting.
fn open_source(source: &Path, shown: &str) -> Result<File> {
    let flags = OpenFlags::RDONLY | OpenFlags::NONBLOCK | OpenFlags::NOCTTY | OpenFlags::CLOEXEC;
    let file = match open_path(source, flags) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => {
            return Err(Error::missing(shown, "check the path of the file to import"));
        }
        Err(error) => return Err(Error::io("open", shown, error)),
    };
    let kind = file.metadata().map_err(|error| Error::io("open", shown, error))?.file_type();
    match kind {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => {
            Err(Error::refused(shown, "type", "it is a folder; name a file of messages in it"))
        }
        _ => Err(Error::refused(shown, "type", "it is not a regular file; save it as one first")),
    }
}
