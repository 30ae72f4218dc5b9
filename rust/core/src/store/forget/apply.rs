//! Application of an erasure: every step may be done twice, so that a killed call is finished.

use std::io::{Read as _, Write as _};

use crate::catalog::snapshot::file as snapshot_file;
use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::files::lock::LockGuard;
use crate::files::version::Version;
use crate::files::{kept_path, paths::OWN};
use crate::filter::SearchFilter;
use crate::store::Store;
use crate::store::forget::erasure::{Erasure, FileErasure, edited};
use crate::store::forget::line_text::file_contains;
use crate::store::forget::needles::{Needle, Needles};
use crate::store::forget::note_units::{units_with, without};
use crate::store::forget::tombstones::Tombstones;
use crate::store::forget::transcript_units::{LineSelection, lines_with};

/// What scrubbing leaves of a text.
enum Scrubbed {
    /// It is not there, or holds nothing of what is erased.
    NotHeld,
    Left(Vec<u8>),
    /// It holds it, in no unit that could be taken out.
    Undivided,
}

impl Store {
    /// Erases what a journal says, and then the journal.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::InDoubt`]; the journal stays.
    pub(super) fn apply_erasure(
        &self,
        guard: &LockGuard<'_>,
        erasure: &Erasure,
        live_vectors: Option<&[[u8; 16]]>,
    ) -> Result<()> {
        let root = self.root();
        // first, for the messages are known by what is erased
        Tombstones::add(root, &erasure.messages, &erasure.texts)?;
        for (path, file) in &erasure.files {
            self.erase_from(guard, path, file, erasure)?;
        }
        for address in &erasure.dropped {
            self.files.remove_unkept(address)?;
        }
        for address in &erasure.revisions {
            self.erase_from_revision(address, erasure)?;
        }
        // what a killed call left beside a file is in the history now
        for (path, file) in &erasure.files {
            for revision in self.files.history(path)? {
                match file.whole {
                    true => self.files.remove_unkept(&revision.address)?,
                    false => self.erase_from_revision(&revision.address, erasure)?,
                }
            }
        }
        let needles = Needles::new(erasure.all_needles())?;
        let whole = erasure.files.iter().filter(|(_, file)| file.whole);
        let names: Vec<Needle> = whole.map(|(path, _)| Needle::exact(path)).collect();
        self.erase_from_side_files(&needles, &Needles::new(&names)?)?;
        self.remove_gram_indexes(erasure.files.keys());
        self.remove_archive_index_of(erasure.files.keys())?;
        self.keep_vectors(live_vectors)?;
        snapshot_file::remove(root)?;
        Erasure::discard(root)
    }

    /// Erases from a file. If it is not what the plan was made of, a killed call has done it, or
    /// somebody has changed it since: then what it still holds goes.
    fn erase_from(
        &self,
        guard: &LockGuard<'_>,
        path: &str,
        file: &FileErasure,
        erasure: &Erasure,
    ) -> Result<()> {
        if file.whole {
            return self.files.remove_unkept(path);
        }
        let bytes = match self.root().read(path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            bytes => bytes?,
        };
        let version = Version::of(&bytes);
        let left = match version.to_string() == file.version {
            true => Some(edited(&bytes, &file.edits)),
            false => match self.scrubbed(path, path, &Needles::new(&erasure.anywhere)?)? {
                Scrubbed::Left(left) => Some(left),
                // nobody has agreed that all of it goes, and no history keeps it
                Scrubbed::NotHeld | Scrubbed::Undivided => None,
            },
        };
        match left {
            None => Ok(()),
            Some(left) if left.trim_ascii().is_empty() => self.files.remove_unkept(path),
            Some(left) => self.files.rewrite_unkept(guard, path, version, &left),
        }
    }

    /// Erases from a text of the history.
    fn erase_from_revision(&self, address: &str, erasure: &Erasure) -> Result<()> {
        let Some(path) = kept_path(address, "history") else { return Ok(()) };
        let needles = Needles::new(erasure.needles_of(path))?;
        match self.scrubbed(address, path, &needles)? {
            Scrubbed::NotHeld => Ok(()),
            Scrubbed::Left(left) => self.files.rewrite_revision(address, &left),
            // better nothing of an old text than that
            Scrubbed::Undivided => self.files.remove_unkept(address),
        }
    }

    /// Returns what is left of a text of the file `path`, which lies at `address`.
    fn scrubbed(&self, address: &str, path: &str, needles: &Needles) -> Result<Scrubbed> {
        let bytes = match self.read_own(address) {
            Err(Error::NotFound { .. }) => return Ok(Scrubbed::NotHeld),
            bytes => bytes?,
        };
        if !file_contains(path, &bytes, needles) {
            return Ok(Scrubbed::NotHeld);
        }
        let left = match (FileKind::of(path), std::str::from_utf8(&bytes)) {
            (FileKind::Note, Ok(text)) => {
                without(text, &units_with(text, needles, &|| false)?).into_bytes()
            }
            (FileKind::Transcript, _) => {
                let filter = SearchFilter::default();
                let selection =
                    LineSelection { path, filter: &filter, needles, lines: &[], all: false };
                let file = self.root().open_own(address)?;
                match lines_with(&file, &selection, &|_| false, &|| false) {
                    Ok(found) => edited(&bytes, &found.edits),
                    Err(_) => return Ok(Scrubbed::Undivided),
                }
            }
            _ => return Ok(Scrubbed::Undivided),
        };
        Ok(match file_contains(path, &left, needles) {
            true => Scrubbed::Undivided,
            false => Scrubbed::Left(left),
        })
    }

    /// Reads a file, one of our own too.
    pub(super) fn read_own(&self, address: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = self.root().open_own(address)?;
        file.read_to_end(&mut bytes).map_err(|error| Error::io("read", address, error))?;
        Ok(bytes)
    }

    /// Puts a side file in the place of another.
    pub(super) fn replace_side_file(&self, address: &str, bytes: &[u8]) -> Result<()> {
        let name = address.strip_prefix(OWN).and_then(|name| name.strip_prefix('/'));
        let Some(name) = name else { return Ok(()) };
        let temporary = format!("{name}.{}.new", std::process::id());
        let mut file =
            self.root().open_reserved(&temporary, crate::files::side_files::Access::New)?;
        file.write_all(bytes).map_err(|error| Error::io("write", address, error))?;
        self.root().rename_side(&temporary, name)
    }
}
