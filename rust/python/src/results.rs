//! What calls return: the engine's types, as Python sees them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use commonplace_core::catalog::draft::Kind;
use commonplace_core::error::{Error, Result};
use commonplace_core::files::append::Appended;
use commonplace_core::files::{self, past};
use commonplace_core::messages::message;
use commonplace_core::store::transcript::Placed;
use commonplace_core::store::{Store, upkeep, verify};
use commonplace_core::text::sections::{Note, line_of, parse_unless};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::enter::enter;
use crate::given::Text;

/// Milliseconds as the seconds that Python counts in.
pub fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// A heading with the text up to the next one, or what stands before the first.
#[pyclass(frozen, module = "commonplace")]
pub struct Section {
    #[pyo3(get)]
    pub path: String,
    pub heading: Vec<String>,
    #[pyo3(get)]
    pub level: u8,
    #[pyo3(get)]
    pub line: u64,
    #[pyo3(get)]
    pub end_line: u64,
    #[pyo3(get)]
    pub start: usize,
    #[pyo3(get)]
    pub end: usize,
    #[pyo3(get)]
    pub summary: Option<String>,
    #[pyo3(get)]
    pub category: Option<String>,
    pub keywords: Vec<String>,
}

impl Section {
    /// The sections of the note at `path`, in file order.
    pub fn all(path: &str, text: &str, note: &Note) -> Vec<Self> {
        let mut line = 1;
        let sections = note.sections.iter().enumerate().map(|(at, section)| {
            let span = section.span.clone();
            let inner = &text.as_bytes()[span.clone()];
            let first = line;
            line += line_of(inner, inner.len()) - 1;
            Self {
                path: path.to_owned(),
                heading: note.trail(at).into_iter().map(str::to_owned).collect(),
                level: section.level,
                line: first,
                end_line: if inner.ends_with(b"\n") { line - 1 } else { line },
                start: span.start,
                end: span.end,
                summary: section.marks.summary.clone(),
                category: section.marks.category.clone(),
                keywords: section.marks.keywords.clone(),
            }
        });
        sections.collect()
    }
}

#[pymethods]
impl Section {
    #[getter]
    fn heading<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.heading)
    }

    #[getter]
    fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.keywords)
    }

    fn __repr__(&self) -> String {
        format!("Section({:?}, line={}, heading={:?})", self.path, self.line, self.heading)
    }
}

/// Cuts Markdown that lies in no file into sections.
#[pyfunction]
pub fn sections(py: Python<'_>, text: Text) -> PyResult<Vec<Section>> {
    enter(py, |interrupt| Ok(Section::all("", &text, &parse_unless(&text, interrupt)?)))
}

/// One line of a transcript, whatever tool wrote it.
#[pyclass(frozen, module = "commonplace")]
pub struct Message {
    #[pyo3(get)]
    pub path: String,
    #[pyo3(get)]
    pub line: u64,
    #[pyo3(get)]
    pub offset: u64,
    message: message::Message,
}

impl Message {
    /// The message of the transcript at `path`.
    pub fn new(path: &str, placed: Placed) -> Self {
        let Placed { line, offset, message } = placed;
        Self { path: path.to_owned(), line, offset, message }
    }
}

#[pymethods]
impl Message {
    #[getter]
    fn role(&self) -> &str {
        &self.message.role
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.message.name.as_deref()
    }

    #[getter]
    fn time(&self) -> Option<&str> {
        self.message.time.as_deref()
    }

    #[getter]
    fn timestamp(&self) -> Option<f64> {
        self.message.timestamp_ms.map(seconds)
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.message.session.as_deref()
    }

    #[getter]
    fn id(&self) -> Option<&str> {
        self.message.id.as_deref()
    }

    #[getter]
    fn said(&self) -> &str {
        &self.message.said
    }

    #[getter]
    fn tools(&self) -> &str {
        &self.message.tools
    }

    fn __repr__(&self) -> String {
        let start: String = self.message.said.chars().take(60).collect();
        format!("Message({:?}, line={}, {}: {start:?})", self.path, self.line, self.message.role)
    }
}

/// A file of the store as `list` shows it.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Entry {
    pub path: String,
    pub size: u64,
    pub modified: f64,
    pub kind: &'static str,
    pub summary: Option<String>,
}

impl From<upkeep::Entry> for Entry {
    fn from(entry: upkeep::Entry) -> Self {
        Self {
            path: entry.path,
            size: entry.size,
            modified: entry.modified_ns as f64 / 1e9,
            kind: match entry.kind {
                Kind::Note => "note",
                Kind::Transcript => "transcript",
                Kind::Other => "other",
            },
            summary: entry.summary,
        }
    }
}

#[pymethods]
impl Entry {
    fn __repr__(&self) -> String {
        format!("Entry({:?}, {} B)", self.path, self.size)
    }
}

/// What a write did: the stored path, the new version, and where the old text now lies.
#[pyclass(frozen, module = "commonplace")]
pub struct Written {
    #[pyo3(get)]
    pub path: String,
    version: OnceLock<String>,
    /// Where to read the version when it is asked for.
    unread: Option<(Weak<Store>, u64)>,
    #[pyo3(get)]
    pub previous: Option<String>,
    #[pyo3(get)]
    pub history: Option<String>,
    #[pyo3(get)]
    pub applied: usize,
}

/// The version of a file that was changed but could not be read since.
const UNKNOWN: &str = "unknown";

impl Written {
    /// A change that is on disk, of so many edits.
    pub fn new(done: files::Written, applied: usize) -> Self {
        Self {
            path: done.path,
            version: OnceLock::from(done.version.to_string()),
            unread: None,
            previous: done.previous.map(|version| version.to_string()),
            history: done.history,
            applied,
        }
    }

    /// Text that is at the end of a file of `store`.
    pub fn appended(done: Appended, store: &Arc<Store>) -> Self {
        let version = done.version.map(|version| OnceLock::from(version.to_string()));
        Self {
            path: done.path,
            version: version.unwrap_or_default(),
            unread: done.span.map(|span| (Arc::downgrade(store), span.end)),
            previous: None,
            history: None,
            applied: 0,
        }
    }
}

#[pymethods]
impl Written {
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<&str> {
        if let Some(version) = self.version.get() {
            return Ok(version);
        }
        let unread = self.unread.as_ref();
        let known = unread.and_then(|(store, end)| Some((store.upgrade()?, *end)));
        let read = enter(py, |interrupt| -> Result<_> {
            let Some((store, end)) = known else { return Ok(None) };
            match store.files().version_until(&self.path, end, interrupt) {
                Err(Error::Interrupted) => Err(Error::Interrupted),
                read => Ok(read.ok()),
            }
        })?;
        let version = read.map_or_else(|| UNKNOWN.to_owned(), |version| version.to_string());
        Ok(self.version.get_or_init(|| version))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Written({:?}, version={:?})", self.path, self.version(py)?))
    }
}

/// A text that the history keeps: which it is, since when, and where it lies.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Past {
    pub version: String,
    pub time: f64,
    pub size: u64,
    pub address: String,
}

impl From<past::Past> for Past {
    fn from(past: past::Past) -> Self {
        let past::Past { version, time_ms, size, address } = past;
        Self { version: version.to_string(), time: seconds(time_ms), size, address }
    }
}

#[pymethods]
impl Past {
    fn __repr__(&self) -> String {
        format!("Past({:?}, {} B)", self.address, self.size)
    }
}

/// What an import took, and what it left out and why.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Imported {
    pub path: String,
    pub format: String,
    pub messages: u64,
    pub skipped: BTreeMap<String, u64>,
    pub bad_lines: Vec<u64>,
    pub bad_line_count: u64,
}

#[pymethods]
impl Imported {
    fn __repr__(&self) -> String {
        let skipped: u64 = self.skipped.values().sum();
        format!(
            "Imported({:?}, {:?}, {} messages, {skipped} skipped, {} bad lines)",
            self.path, self.format, self.messages, self.bad_line_count
        )
    }
}

/// The state of a store in numbers.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Status {
    pub root: String,
    pub notes: usize,
    pub transcripts: usize,
    pub sections: usize,
    pub messages: usize,
    pub terms: usize,
    pub text_bytes: u64,
    pub index_bytes: usize,
    pub watching: bool,
    pub snapshot: String,
    pub skipped: Vec<(String, String)>,
    pub recovered: Vec<String>,
}

impl Status {
    /// The numbers of an open store.
    pub fn new(store: &Store, status: upkeep::Status) -> Self {
        Self {
            root: store.root().path().to_string_lossy().into_owned(),
            notes: status.notes,
            transcripts: status.transcripts,
            sections: status.sections,
            messages: status.messages,
            terms: status.terms,
            text_bytes: status.text_bytes,
            index_bytes: status.index_bytes,
            watching: status.watching,
            snapshot: status.snapshot,
            skipped: status.skipped,
            recovered: status.recovered,
        }
    }
}

#[pymethods]
impl Status {
    fn __repr__(&self) -> String {
        format!(
            "Status({:?}, {} notes, {} transcripts, {} sections, {} messages)",
            self.root, self.notes, self.transcripts, self.sections, self.messages
        )
    }
}

/// What a full check of index against files found.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Verified {
    pub files: usize,
    pub differences: Vec<String>,
    pub unread: Vec<String>,
    pub notes: Vec<String>,
}

impl From<verify::Verified> for Verified {
    fn from(verified: verify::Verified) -> Self {
        let verify::Verified { files, differences, unread, notes } = verified;
        Self { files, differences, unread, notes }
    }
}

#[pymethods]
impl Verified {
    fn __repr__(&self) -> String {
        format!("Verified({} files, {} differences)", self.files, self.differences.len())
    }
}
