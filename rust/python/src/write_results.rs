//! Write results as Python objects: receipts of writes and imports, revisions of the history.

use std::collections::BTreeMap;

use commonplace_core::files::{self, revisions};
use commonplace_core::messages::formats;
use commonplace_core::store::lazy_version::LazyVersion;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::results::{counted, seconds};

/// What a write did: the stored path, the new version, and where the old text now lies.
#[pyclass(frozen, module = "commonplace")]
pub struct Written {
    #[pyo3(get)]
    pub path: String,
    version: LazyVersion,
    #[pyo3(get)]
    pub previous: Option<String>,
    #[pyo3(get)]
    pub history: Option<String>,
    #[pyo3(get)]
    pub applied: usize,
}

/// The version of a file that was changed but could not be read since.
const UNKNOWN_VERSION: &str = "unknown";

impl Written {
    /// A change that is on disk, of so many edits.
    pub fn new(done: files::Written, applied: usize) -> Self {
        Self {
            path: done.path,
            version: done.version.into(),
            previous: done.previous.map(|version| version.to_string()),
            history: done.history,
            applied,
        }
    }

    /// Text that is at the end of a file.
    pub fn appended((path, version): (String, LazyVersion)) -> Self {
        Self { path, version, previous: None, history: None, applied: 0 }
    }
}

#[pymethods]
impl Written {
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<String> {
        let version = detached(py, |interrupt| self.version.get(interrupt))?;
        Ok(version.map_or_else(|| UNKNOWN_VERSION.to_owned(), |version| version.to_string()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Written({:?}, version={:?})", self.path, self.version(py)?))
    }
}

/// A text that the history keeps: which it is, since when, and where it lies.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Revision {
    pub version: String,
    pub time: f64,
    pub size: u64,
    pub address: String,
}

impl From<revisions::Revision> for Revision {
    fn from(revision: revisions::Revision) -> Self {
        let revisions::Revision { version, time_ms, size, address } = revision;
        Self { version: version.to_string(), time: seconds(time_ms), size, address }
    }
}

#[pymethods]
impl Revision {
    fn __repr__(&self) -> String {
        format!("Revision({:?}, {} B)", self.address, self.size)
    }
}

/// What a source says about a session.
#[pyclass(frozen, get_all, from_py_object, module = "commonplace")]
#[derive(Clone)]
pub struct SessionHeader {
    pub host: String,
    pub id: Option<String>,
    pub parent: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub model: Option<String>,
    pub title: Option<String>,
    pub started: Option<String>,
}

impl From<formats::SessionHeader> for SessionHeader {
    fn from(header: formats::SessionHeader) -> Self {
        Self {
            host: header.host,
            id: header.id,
            parent: header.parent,
            cwd: header.cwd,
            git_branch: header.git_branch,
            model: header.model,
            title: header.title,
            started: header.started,
        }
    }
}

#[pymethods]
impl SessionHeader {
    fn __repr__(&self) -> String {
        let id = self.id.as_deref().unwrap_or_default();
        format!("SessionHeader({:?}, {id:?}, {:?})", self.host, self.title.as_deref().unwrap_or(""))
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
    pub trailing_garbage: Vec<u64>,
    pub trailing_garbage_count: u64,
    pub sessions: Vec<SessionHeader>,
    pub redacted: BTreeMap<String, u64>,
}

impl Imported {
    /// What an import took into the transcript at `path`.
    pub fn new(path: String, imported: formats::Imported) -> Self {
        Self {
            path,
            format: imported.format.to_owned(),
            messages: imported.messages,
            skipped: imported.skipped,
            bad_lines: imported.first_bad_lines,
            bad_line_count: imported.bad_lines,
            trailing_garbage: imported.first_trailing_garbage,
            trailing_garbage_count: imported.trailing_garbage,
            sessions: imported.sessions.into_iter().map(Into::into).collect(),
            redacted: imported.redacted,
        }
    }
}

#[pymethods]
impl Imported {
    fn __repr__(&self) -> String {
        let skipped: u64 = self.skipped.values().sum();
        format!(
            "Imported({:?}, {:?}, {}, {skipped} skipped, {})",
            self.path,
            self.format,
            counted(self.messages, "message"),
            counted(self.bad_line_count, "bad line")
        )
    }
}

/// What an import of sessions took from one source.
#[pyclass(frozen, get_all, from_py_object, module = "commonplace")]
#[derive(Clone)]
pub struct ImportedSource {
    pub source: String,
    pub outcome: &'static str,
    pub why: Option<String>,
    pub paths: Vec<String>,
    pub messages: u64,
    pub copies: u64,
    pub cut_off: bool,
    pub format: String,
    pub left_out: BTreeMap<String, u64>,
    pub bad_lines: Vec<u64>,
    pub bad_line_count: u64,
    pub trailing_garbage: Vec<u64>,
    pub trailing_garbage_count: u64,
    pub bad_rows: Vec<String>,
    pub bad_row_count: u64,
    pub sessions: Vec<SessionHeader>,
    pub redacted: BTreeMap<String, u64>,
}

#[pymethods]
impl ImportedSource {
    fn __repr__(&self) -> String {
        let messages = counted(self.messages, "message");
        format!("ImportedSource({:?}, {}, {messages})", self.source, self.outcome)
    }
}

/// What an import of sessions did.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct ImportReport {
    pub places: Vec<String>,
    pub new: u64,
    pub grown: u64,
    pub unchanged: u64,
    pub skipped: u64,
    pub messages: u64,
    pub copies: u64,
    pub redacted: BTreeMap<String, u64>,
    pub removed: u64,
    pub sources: Vec<ImportedSource>,
}

#[pymethods]
impl ImportReport {
    fn __repr__(&self) -> String {
        let Self { new, grown, unchanged, skipped, .. } = self;
        let messages = counted(self.messages, "message");
        format!(
            "ImportReport({new} new, {grown} grown, {unchanged} unchanged, {skipped} skipped, \
             {messages})"
        )
    }
}
