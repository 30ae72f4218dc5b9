//! Ledger of sources: how far each was imported, and into which transcripts.
//!
//! `.commonplace/imports/sources` saves reading sources again. Each line is the xxh3 of a JSON object,
//! and the object; what is damaged is passed over, the last line of a source counts. An entry is used
//! only if the source still is as it says. It is written when what it says was imported is on the disk,
//! so what a transcript lacks of it was removed by the user, and is not imported again.
//!
//! Hooks read from it how large each source was (`doors/capture.py`).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::platform::{FileExt as _, Stat, stat_path};
use crate::files::side_files::Access;
use crate::messages::formats::ImportState;
use crate::store::Store;

const FILE: &str = "imports/sources";
/// How much before an offset is hashed to know a source again.
const TAIL: u64 = 4096;
/// Lines of sources that are known by later lines, as a share of all, from which on it is rewritten.
const MAX_OUTDATED: usize = 2;

/// What of a file tells that it was not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub ino: u64,
    pub size: u64,
    pub mtime_ns: i64,
}

impl Stamp {
    /// Looks at a file; none when it is not there.
    pub fn of(path: &Path) -> Option<Self> {
        let Stat { ino, size, mtime_ns, .. } = stat_path(path).ok()?.stat;
        Some(Self { ino, size, mtime_ns })
    }
}

/// How far a source was imported.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub stamp: Stamp,
    /// Its transcripts, with their sizes when the import ended.
    pub targets: Vec<(String, u64)>,
    /// How to go on; none for what is read as a whole.
    pub state: Option<ImportState>,
    /// Hash of what stands before the offset of the state.
    pub tail: u64,
    /// Up to when a database was read, in milliseconds since 1970.
    pub until: Option<i64>,
    /// The session record that was written last.
    pub record: String,
    /// Why nothing was taken of it.
    pub skipped: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: FxHashMap<String, Entry>,
    /// Lines that are not saved.
    unsaved: Vec<u8>,
    /// How many lines were read.
    lines: usize,
}

impl Ledger {
    pub fn open(store: &Store) -> Result<Self> {
        let bytes = store.root().read_reserved(FILE)?;
        let mut ledger = Self::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            ledger.lines += 1;
            if let Some((source, entry)) = read(line) {
                ledger.entries.insert(source, entry);
            }
        }
        Ok(ledger)
    }

    pub fn get(&self, source: &str) -> Option<&Entry> {
        self.entries.get(source)
    }

    /// The sources of which the names begin so.
    pub fn of_names<'l>(&'l self, start: &'l str) -> impl Iterator<Item = (&'l str, &'l Entry)> {
        let entries = self.entries.iter().map(|(source, entry)| (&**source, entry));
        entries.filter(move |(source, _)| source.starts_with(start))
    }

    /// The transcripts of known sources with the session records in them.
    pub fn records(&self) -> Vec<(String, String)> {
        let mut records: Vec<_> = self
            .entries
            .values()
            .filter_map(|entry| {
                let (path, _) = entry.targets.last()?;
                Some((path.clone(), entry.record.clone()))
            })
            .collect();
        records.sort_unstable();
        records
    }

    pub fn set(&mut self, source: &str, entry: Entry) {
        self.unsaved.extend_from_slice(&line(source, &entry));
        self.entries.insert(source.to_owned(), entry);
    }

    /// Saves what is new; as a new file where most lines are outdated.
    pub fn save(&mut self, store: &Store) -> Result<()> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let fail = |error| Error::io("write", FILE, error);
        if self.lines > 64 + self.entries.len() * MAX_OUTDATED {
            let mut sorted: Vec<_> = self.entries.iter().collect();
            sorted.sort_by_key(|entry| entry.0);
            let all: Vec<u8> =
                sorted.into_iter().flat_map(|(source, entry)| line(source, entry)).collect();
            let temporary = format!("{FILE}.{}", std::process::id());
            store.root().open_side(&temporary, Access::New)?.write_all(&all).map_err(fail)?;
            store.root().rename_side(&temporary, FILE)?;
            self.lines = self.entries.len();
        } else {
            let mut file = store.root().open_side(FILE, Access::Append)?;
            // a line that was torn before it stays apart
            self.unsaved.insert(0, b'\n');
            file.write_all(&self.unsaved).map_err(fail)?;
        }
        self.unsaved.clear();
        Ok(())
    }
}

/// Hashes what stands before an offset of a source; none where the source is shorter.
pub(super) fn tail_hash(file: &File, offset: u64) -> Option<u64> {
    let start = offset.saturating_sub(TAIL);
    let mut bytes = vec![0; (offset - start) as usize];
    file.read_exact_at(&mut bytes, start).ok()?;
    Some(xxh3_64(&bytes))
}

fn line(source: &str, entry: &Entry) -> Vec<u8> {
    let Stamp { ino, size, mtime_ns } = entry.stamp;
    let object = json!({
        "source": source,
        "stamp": [ino, size, mtime_ns],
        "targets": entry.targets,
        "state": entry.state.as_ref().map(ImportState::to_json),
        "tail": entry.tail,
        "until": entry.until,
        "record": entry.record,
        "skipped": entry.skipped,
    })
    .to_string();
    format!("{:016x} {object}\n", xxh3_64(object.as_bytes())).into_bytes()
}

fn read(line: &[u8]) -> Option<(String, Entry)> {
    let (sum, object) = line.split_at_checked(16)?;
    let object = object.strip_prefix(b" ")?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    if xxh3_64(object) != sum {
        return None;
    }
    let object: Value = serde_json::from_slice(object).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut targets = Vec::new();
    for target in object["targets"].as_array()? {
        targets.push((text(&target[0])?, target[1].as_u64()?));
    }
    let stamp = Stamp {
        ino: object["stamp"][0].as_u64()?,
        size: object["stamp"][1].as_u64()?,
        mtime_ns: object["stamp"][2].as_i64()?,
    };
    let state = match &object["state"] {
        Value::Null => None,
        state => Some(ImportState::from_json(state)?),
    };
    let entry = Entry {
        stamp,
        targets,
        state,
        tail: object["tail"].as_u64()?,
        until: object["until"].as_i64(),
        record: text(&object["record"])?,
        skipped: text(&object["skipped"]),
    };
    Some((text(&object["source"])?, entry))
}
