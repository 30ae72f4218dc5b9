//! Results of reads as Python objects: sections, messages, entries, status.

use std::collections::BTreeMap;

use commonplace_core::files::file_kind::FileKind;
use commonplace_core::messages::message;
use commonplace_core::store::sections::SectionEntry;
use commonplace_core::store::transcript::LocatedMessage;
use commonplace_core::store::{Store, status, verify};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Milliseconds as the seconds that Python counts in.
pub fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// A heading with the text up to the next one, or what stands before the first.
#[pyclass(frozen, module = "commonplace")]
pub struct Section {
    path: String,
    section: SectionEntry,
}

impl Section {
    /// Wraps the sections of the note at `path`.
    pub fn all(path: &str, sections: Vec<SectionEntry>) -> Vec<Self> {
        sections.into_iter().map(|section| Self { path: path.to_owned(), section }).collect()
    }
}

#[pymethods]
impl Section {
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    #[getter]
    fn heading<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.section.heading)
    }

    #[getter]
    fn level(&self) -> u8 {
        self.section.level
    }

    #[getter]
    fn line(&self) -> u64 {
        self.section.line
    }

    #[getter]
    fn end_line(&self) -> u64 {
        self.section.end_line
    }

    #[getter]
    fn start(&self) -> usize {
        self.section.start
    }

    #[getter]
    fn body(&self) -> usize {
        self.section.body
    }

    #[getter]
    fn end(&self) -> usize {
        self.section.end
    }

    #[getter]
    fn summary(&self) -> Option<&str> {
        self.section.summary.as_deref()
    }

    #[getter]
    fn category(&self) -> Option<&str> {
        self.section.category.as_deref()
    }

    #[getter]
    fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.section.keywords)
    }

    fn __repr__(&self) -> String {
        let SectionEntry { line, heading, .. } = &self.section;
        format!("Section({:?}, line={line}, heading={heading:?})", self.path)
    }
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
    pub fn new(path: &str, located: LocatedMessage) -> Self {
        let LocatedMessage { line, offset, message } = located;
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
    fn text(&self) -> &str {
        &self.message.text
    }

    #[getter]
    fn tools(&self) -> &str {
        &self.message.tools
    }

    fn __repr__(&self) -> String {
        let start: String = self.message.text.chars().take(60).collect();
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

impl From<status::FileEntry> for Entry {
    fn from(entry: status::FileEntry) -> Self {
        Self {
            path: entry.path,
            size: entry.size,
            modified: entry.modified_ns as f64 / 1e9,
            kind: match entry.kind {
                FileKind::Note => "note",
                FileKind::Transcript => "transcript",
                FileKind::Other => "other",
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

/// Which files have changed since a revision.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct FileChanges {
    pub revision: u64,
    pub is_all: bool,
    pub changed: Py<PyList>,
    pub gone: Vec<String>,
}

impl FileChanges {
    /// Makes the Python object.
    pub fn new(py: Python<'_>, changes: status::FileChanges) -> PyResult<Self> {
        let status::FileChanges { revision, is_all, changed, gone } = changes;
        let entries: Vec<Entry> = changed.into_iter().map(Entry::from).collect();
        Ok(Self { revision, is_all, changed: PyList::new(py, entries)?.unbind(), gone })
    }
}

#[pymethods]
impl FileChanges {
    fn __repr__(&self, py: Python<'_>) -> String {
        let (changed, gone) = (self.changed.bind(py).len(), self.gone.len());
        format!("FileChanges({changed} changed, {gone} gone)")
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
    pub tool_messages: usize,
    pub copies: usize,
    pub other_records: usize,
    pub terms: usize,
    pub text_bytes: u64,
    pub index_bytes: usize,
    pub watching: bool,
    pub snapshot: String,
    pub skipped: Vec<(String, String)>,
    pub over_limit: Vec<String>,
    pub redactions: BTreeMap<String, u64>,
    pub hidden: Vec<String>,
    pub archived: usize,
    pub archived_messages: usize,
    pub bad_line_count: u64,
    pub bad_lines: Vec<String>,
    pub recovered: Vec<String>,
}

impl Status {
    /// The numbers of an open store.
    pub fn new(store: &Store, status: status::Status) -> Self {
        Self {
            root: store.root().path().to_string_lossy().into_owned(),
            notes: status.notes,
            transcripts: status.transcripts,
            sections: status.sections,
            messages: status.messages,
            tool_messages: status.tool_messages,
            copies: status.copies,
            other_records: status.other_records,
            terms: status.terms,
            text_bytes: status.text_bytes,
            index_bytes: status.index_bytes,
            watching: status.watching,
            snapshot: status.snapshot,
            skipped: status.skipped,
            over_limit: status.over_limit,
            redactions: status.redactions,
            hidden: status.hidden,
            archived: status.archived,
            archived_messages: status.archived_messages,
            bad_line_count: status.bad_line_count,
            bad_lines: status.bad_lines,
            recovered: status.recovered,
        }
    }
}

#[pymethods]
impl Status {
    fn __repr__(&self) -> String {
        format!(
            "Status({:?}, {}, {}, {}, {})",
            self.root,
            counted(self.notes as u64, "note"),
            counted(self.transcripts as u64, "transcript"),
            counted(self.sections as u64, "section"),
            counted(self.messages as u64, "message")
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
    fn with_archived(
        &self,
        differences: Vec<String>,
        unread: Vec<String>,
        notes: Vec<String>,
    ) -> Self {
        let both = |own: &[String], archived| [own.to_vec(), archived].concat();
        Self {
            files: self.files,
            differences: both(&self.differences, differences),
            unread: both(&self.unread, unread),
            notes: both(&self.notes, notes),
        }
    }

    fn __repr__(&self) -> String {
        let files = counted(self.files as u64, "file");
        format!("Verified({files}, {})", counted(self.differences.len() as u64, "difference"))
    }
}

/// A number with its noun, as representations show it: `2 messages`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
