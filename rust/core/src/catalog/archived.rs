//! Archived files: transcripts whose documents are in the archive on the disk, not in this index.
//!
//! `.commonplace/archive/files.json` lists them with their size and time. A file that has changed
//! since is indexed here again: what is in the archive of it counts no more. So each message is in
//! exactly one of the two, whatever a crash has left of the move from one to the other.

use std::io::Read as _;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use crate::catalog::{Catalog, FileMeta};
use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::files::paths::OWN;
use crate::files::root::{Root, Stat};

/// Below [`OWN`].
const LIST: &str = "archive/files.json";
/// Why an archived file is left out of the index.
pub(crate) const ARCHIVED: &str = "archive";

/// What is known of an archived file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its size when it was archived.
    pub size: u64,
    /// Its modification time then, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Its number in the archive.
    pub id: u64,
    /// Messages that are in the archive.
    pub messages: usize,
    /// Its session record.
    pub summary: String,
    /// The times of its first and its last message, in milliseconds since 1970.
    pub times: [Option<i64>; 2],
}

/// The list of archived files.
#[derive(Debug, Default)]
pub struct ArchivedFiles {
    /// The stamps of the list when it was read; none where there is none.
    stamp: Option<Stat>,
    files: FxHashMap<String, ArchivedFile>,
    /// The paths by the numbers.
    paths: FxHashMap<u64, String>,
    /// Documents were deleted, or a change is not finished.
    has_others: bool,
}

impl ArchivedFiles {
    /// Reads the list; what cannot be read archives nothing.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn open(root: &Root) -> Result<Self> {
        let stamp = Self::stamp(root);
        let mut text = String::new();
        match root.open_own(&format!("{OWN}/{LIST}")) {
            // of a link in its place, whoever writes there says what is wrong
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(Self::default()),
            file => {
                let read = file?.read_to_string(&mut text);
                read.map_err(|error| Error::io("read", format!("{OWN}/{LIST}"), error))?;
            }
        }
        let list = fields(&text);
        let is_true = |name: &str| list.get(name).is_some_and(|value| value.get() == "true");
        let has_others = is_true("deleted") || is_true("unfinished");
        let files = list.get("files").map(|files| fields(files.get())).unwrap_or_default();
        let files = files.into_iter().filter_map(|(path, file)| Some((path, archived_file(file)?)));
        let files: FxHashMap<String, ArchivedFile> = files.collect();
        let paths = files.iter().map(|(path, file)| (file.id, path.clone())).collect();
        Ok(Self { stamp, files, paths, has_others })
    }

    /// Returns the stamps of the list; none where there is none.
    pub(crate) fn stamp(root: &Root) -> Option<Stat> {
        root.stat_own(&format!("{OWN}/{LIST}")).ok()
    }

    /// Returns whether the list on the disk is another one by now.
    pub(crate) fn has_changed(&self, root: &Root) -> bool {
        Self::stamp(root) != self.stamp
    }

    /// Returns the archived file of this path, if it is as it was when it was archived.
    pub(crate) fn get(&self, path: &str, stat: &Stat) -> Option<&ArchivedFile> {
        let same = |file: &&ArchivedFile| (file.size, file.mtime_ns) == (stat.size, stat.mtime_ns);
        self.files.get(path).filter(same)
    }

    /// Returns whether the archive may hold words of files that are not in the list: an index keeps
    /// those of deleted documents until it is merged.
    pub(crate) fn may_hold_others(&self) -> bool {
        self.has_others || self.files.is_empty()
    }

    /// Returns the path of the file with this number.
    pub(crate) fn path(&self, id: u64) -> Option<&str> {
        self.paths.get(&id).map(|path| &**path)
    }

    /// Returns the files, in no order.
    pub(crate) fn files(&self) -> &FxHashMap<String, ArchivedFile> {
        &self.files
    }
}

impl Catalog {
    /// Returns whether what the archive has of a file counts: of a transcript only while this index
    /// leaves it out.
    pub(crate) fn is_archived(&self, path: &str) -> bool {
        self.file(path).is_some_and(|file| {
            file.left_out == Some(ARCHIVED) || file.kind != FileKind::Transcript
        })
    }

    /// Returns whether this index still holds a file that is in the archive, as a snapshot does that
    /// was written before.
    pub(crate) fn is_newly_archived(&self, file: &FileMeta) -> bool {
        let can_be = file.kind == FileKind::Transcript && file.left_out.is_none();
        can_be && self.archived.get(&file.path, &file.stat).is_some()
    }

    /// Takes over files of a walk that are archived and not in the table yet; returns the others.
    ///
    /// Nothing of them is read: the walk has their stamps, and the list says the rest.
    ///
    /// # Arguments
    /// * `places`: of files in `seen`.
    pub(crate) fn take_archived(
        &mut self,
        seen: &[(String, Stat)],
        mut places: Vec<usize>,
    ) -> Vec<usize> {
        let archived = self.archived.clone();
        places.retain(|&at| {
            let (path, stat) = &seen[at];
            let can_be = FileKind::of(path) == FileKind::Transcript && self.file(path).is_none();
            let Some(file) = archived.get(path, stat).filter(|_| can_be) else { return true };
            let summary = self.labels.interner().intern(&file.summary);
            let place = self.place(path) as usize;
            let known = &mut self.files[place];
            (known.stat, known.summary, known.left_out) = (*stat, summary, Some(ARCHIVED));
            self.changes.push(path);
            false
        });
        self.report_memory_use();
        places
    }

    /// Returns what is known of a file that is in the archive, and not in this index.
    pub(crate) fn archived_file(&self, file: &FileMeta) -> Option<&ArchivedFile> {
        let is_left_out = file.left_out == Some(ARCHIVED);
        self.archived.files.get(&file.path).filter(|_| is_left_out)
    }
}

/// Returns the fields of an object, unparsed: most of a list of ten thousand files is not needed
/// here. Of what is no object there is none.
fn fields(json: &str) -> FxHashMap<String, &RawValue> {
    serde_json::from_str(json).unwrap_or_default()
}

fn archived_file(file: &RawValue) -> Option<ArchivedFile> {
    let fields = fields(file.get());
    let text = |field: &str| fields.get(field).map(|value| value.get());
    let time = |field: &str| serde_json::from_str(text(field)?).ok();
    Some(ArchivedFile {
        size: serde_json::from_str(text("size")?).ok()?,
        mtime_ns: serde_json::from_str(text("mtime_ns")?).ok()?,
        id: serde_json::from_str(text("id")?).ok()?,
        messages: serde_json::from_str(text("messages")?).ok()?,
        summary: serde_json::from_str(text("summary")?).ok()?,
        times: [time("first"), time("last")],
    })
}
