//! Erasure: what a call of `forget` takes away, as data, and its journal.
//!
//! The journal `.commonplace/forgetting` is on the disk before anything is erased, and is gone when
//! all is. So a call that was killed is finished by the next one that opens the memory. It holds the
//! texts that are erased, so it is the last that goes.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::files::paths::OWN;
use crate::files::platform::sync_file;
use crate::files::root::Root;
use crate::files::side_files::Access;
use crate::store::forget::needles::Needle;

/// Below [`OWN`].
const JOURNAL: &str = "forgetting";

/// Returns where the journal lies.
pub(super) fn journal_path() -> String {
    format!("{OWN}/{JOURNAL}")
}

/// A passage that is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The file, relative to the root.
    pub path: String,
    /// The first line, from 1.
    pub first: u64,
    /// The last line.
    pub last: u64,
    /// What it says: of a message what was said, of a note its lines.
    pub text: String,
}

/// Bytes of a file that others take the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub start: u64,
    pub end: u64,
    pub with: String,
}

impl Edit {
    /// Gives a line another text, with the end that it had.
    pub fn line(start: u64, line: &[u8], with: &[u8]) -> Self {
        let ending = line.len() - line.trim_ascii_end().len();
        let ending = line[line.len() - ending..].iter().filter(|byte| b"\r\n".contains(byte));
        let with = with.iter().chain(ending).copied().collect();
        let with = String::from_utf8(with).unwrap_or_default();
        Self { start, end: start + line.len() as u64, with }
    }
}

/// What goes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileErasure {
    /// The version that the edits are of.
    pub version: String,
    pub edits: Vec<Edit>,
    /// Whether the file goes with all its history.
    pub whole: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Erasure {
    pub files: BTreeMap<String, FileErasure>,
    /// Texts of the history that lose what is erased, by their addresses.
    pub revisions: Vec<String>,
    /// Those that go as a whole, and torn lines.
    pub dropped: Vec<String>,
    /// Texts that go.
    pub anywhere: Vec<Needle>,
    /// Texts that go from the history of a file, by its path.
    pub own: BTreeMap<String, Vec<Needle>>,
    /// Hashes of messages and of texts, for the tombstones.
    pub messages: Vec<u128>,
    pub texts: Vec<u128>,
}

impl Erasure {
    /// Texts that go from logs and caches.
    pub fn all_needles(&self) -> impl Iterator<Item = &Needle> {
        self.anywhere.iter().chain(self.own.values().flatten())
    }

    /// The texts that go from the history of a file.
    pub fn needles_of(&self, path: &str) -> impl Iterator<Item = &Needle> {
        self.anywhere.iter().chain(self.own.get(path).into_iter().flatten())
    }

    /// Writes the journal, durably; one that cannot be written is removed, for it holds texts.
    pub fn store(&self, root: &Root) -> Result<()> {
        let mut file = root.open_reserved(JOURNAL, Access::New)?;
        let written = file.write_all(self.to_json().to_string().as_bytes());
        let written = written.and_then(|()| sync_file(&file));
        drop(file);
        let written = written.map_err(|error| Error::io("write", journal_path(), error));
        let written = written.and_then(|()| root.path_handle(&journal_path())?.sync_folder());
        if written.is_err() {
            // the first error is the one to tell
            let _ = Self::discard(root);
        }
        written
    }

    /// Reads the journal of a call that was killed. One that is not whole is removed: nothing was
    /// erased before it was.
    pub fn load(root: &Root) -> Result<Option<Self>> {
        let mut bytes = Vec::new();
        match root.open_own(&journal_path()) {
            Err(Error::NotFound { .. }) => return Ok(None),
            file => file?
                .read_to_end(&mut bytes)
                .map_err(|error| Error::io("read", journal_path(), error))?,
        };
        let own = serde_json::from_slice(&bytes).ok().and_then(|value| Self::from_json(&value));
        if own.is_none() {
            Self::discard(root)?;
        }
        Ok(own)
    }

    /// Removes the journal.
    pub fn discard(root: &Root) -> Result<()> {
        let path = journal_path();
        let target = root.path_handle(&path)?;
        target.unlink().map_err(|error| Error::io("remove", path, error))?;
        target.sync_folder()
    }

    fn to_json(&self) -> Value {
        let needles = |needles: &[Needle]| -> Vec<Value> {
            needles.iter().map(|one| json!([one.text, one.ignore_case, one.is_line])).collect()
        };
        let edits = |edits: &[Edit]| -> Vec<Value> {
            edits.iter().map(|edit| json!([edit.start, edit.end, edit.with])).collect()
        };
        let files = self
            .files
            .iter()
            .map(|(path, file)| json!([path, file.version, edits(&file.edits), file.whole]));
        let own = self.own.iter().map(|(path, own)| json!([path, needles(own)]));
        let hex = |hashes: &[u128]| -> Vec<String> {
            hashes.iter().map(|hash| format!("{hash:032x}")).collect()
        };
        json!({
            "files": files.collect::<Vec<_>>(),
            "revisions": self.revisions,
            "dropped": self.dropped,
            "anywhere": needles(&self.anywhere),
            "own": own.collect::<Vec<_>>(),
            "messages": hex(&self.messages),
            "texts": hex(&self.texts),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts =
            |value: &Value| -> Option<Vec<String>> { value.as_array()?.iter().map(text).collect() };
        let needles = |value: &Value| -> Option<Vec<Needle>> {
            let needle = |value: &Value| {
                let is_line = value[2].as_bool().unwrap_or_default();
                Some(Needle { text: text(&value[0])?, ignore_case: value[1].as_bool()?, is_line })
            };
            value.as_array()?.iter().map(needle).collect()
        };
        let edit = |value: &Value| {
            let (start, end) = (value[0].as_u64()?, value[1].as_u64()?);
            Some(Edit { start, end, with: text(&value[2])? })
        };
        let file = |value: &Value| {
            let edits = value[2].as_array()?.iter().map(edit).collect::<Option<_>>()?;
            let (version, whole) = (text(&value[1])?, value[3].as_bool()?);
            Some((text(&value[0])?, FileErasure { version, edits, whole }))
        };
        let own = |value: &Value| Some((text(&value[0])?, needles(&value[1])?));
        let hashes = |value: &Value| -> Option<Vec<u128>> {
            let hash = |value: &Value| u128::from_str_radix(value.as_str()?, 16).ok();
            value.as_array()?.iter().map(hash).collect()
        };
        Some(Self {
            files: value["files"].as_array()?.iter().map(file).collect::<Option<_>>()?,
            revisions: texts(&value["revisions"])?,
            dropped: texts(&value["dropped"])?,
            anywhere: needles(&value["anywhere"])?,
            own: value["own"].as_array()?.iter().map(own).collect::<Option<_>>()?,
            messages: hashes(&value["messages"])?,
            texts: hashes(&value["texts"])?,
        })
    }
}

/// Returns bytes with all edits made, which are in order and apart.
pub(super) fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for Edit { start, end, with } in edits {
        let (start, end) = (*start as usize, (*end as usize).min(bytes.len()));
        if start >= done && start <= end {
            text.extend_from_slice(&bytes[done..start]);
            text.extend_from_slice(with.as_bytes());
            done = end;
        }
    }
    text.extend_from_slice(&bytes[done..]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_keeps_all_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let file = FileErasure {
            version: "1".to_owned(),
            edits: vec![Edit { start: 1, end: 3, with: "é".to_owned() }],
            whole: true,
        };
        let erasure = Erasure {
            files: [("a.md".to_owned(), file)].into(),
            revisions: vec!["r".to_owned()],
            dropped: vec!["q".to_owned()],
            anywhere: vec![Needle::typed("a")],
            own: [("a.md".to_owned(), vec![Needle::exact("b"), Needle::line("c")])].into(),
            messages: vec![u128::MAX],
            texts: vec![7],
        };
        assert_eq!(Erasure::load(&root).unwrap(), None);
        erasure.store(&root).unwrap();
        assert_eq!(Erasure::load(&root).unwrap(), Some(erasure));
        let journal = dir.path().join(OWN).join(JOURNAL);
        std::fs::write(&journal, "{\"files\":[[\"a.md\"").unwrap();
        assert_eq!(Erasure::load(&root).unwrap(), None);
        assert!(!journal.exists(), "what is not whole has erased nothing");
    }
}
