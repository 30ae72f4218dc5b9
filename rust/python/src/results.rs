//! What calls return: the engine's types, as Python sees them.

use std::collections::BTreeMap;

use commonplace_core::index::bm25f;
use commonplace_core::messages::message;
use commonplace_core::store::hits::{self, Source};
use commonplace_core::text::sections::{Note, line_of, parse};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use crate::enter::error_of;
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

/// Returns the sections of a parsed note as Python sees them.
pub fn sections_of(path: &str, text: &str, note: &Note) -> Vec<Section> {
    let mut line = 1;
    let sections = note.sections.iter().enumerate().map(|(at, section)| {
        let inner = &text.as_bytes()[section.span.clone()];
        let first = line;
        line += line_of(inner, inner.len()) - 1;
        Section {
            path: path.to_owned(),
            heading: note.trail(at).into_iter().map(str::to_owned).collect(),
            level: section.level,
            line: first,
            end_line: if inner.ends_with(b"\n") { line - 1 } else { line },
            start: section.span.start,
            end: section.span.end,
            summary: section.marks.summary.clone(),
            category: section.marks.category.clone(),
            keywords: section.marks.keywords.clone(),
        }
    });
    sections.collect()
}

/// Cuts Markdown that lies in no file into sections.
#[pyfunction]
pub fn sections(py: Python<'_>, text: Text) -> Vec<Section> {
    py.detach(|| sections_of("", &text, &parse(&text)))
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
    pub message: message::Message,
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

/// One ranked result: where it is, how it scored, and the passage that matched.
#[pyclass(frozen, module = "commonplace")]
pub struct Hit {
    hit: hits::Hit,
}

#[pymethods]
impl Hit {
    #[getter]
    fn source(&self) -> &'static str {
        match self.hit.source {
            Source::Note => "note",
            Source::Message => "message",
            Source::Tool => "tool",
        }
    }

    #[getter]
    fn path(&self) -> &str {
        &self.hit.path
    }

    #[getter]
    fn line(&self) -> u64 {
        self.hit.passage().line
    }

    #[getter]
    fn first_line(&self) -> u64 {
        self.hit.first_line
    }

    #[getter]
    fn end_line(&self) -> u64 {
        self.hit.end_line
    }

    #[getter]
    fn start(&self) -> u64 {
        self.hit.start
    }

    #[getter]
    fn end(&self) -> u64 {
        self.hit.end
    }

    #[getter]
    fn heading<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.hit.heading)
    }

    #[getter]
    fn score(&self) -> f32 {
        self.hit.score
    }

    #[getter]
    fn snippet(&self) -> &str {
        &self.hit.passage().snippet
    }

    #[getter]
    fn highlights(&self) -> Vec<(usize, usize)> {
        self.hit.passage().highlights.clone()
    }

    #[getter]
    fn citation(&self) -> &str {
        &self.hit.passage().citation
    }

    #[getter]
    fn text(&self) -> String {
        self.hit.text.replace('\u{1a}', "\u{fffd}")
    }

    #[getter]
    fn role(&self) -> Option<&str> {
        self.hit.message.as_ref().map(|message| message.role.as_str())
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.name.as_deref())
    }

    #[getter]
    fn time(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.time.as_deref())
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.session.as_deref())
    }

    #[getter]
    fn category(&self) -> Option<&str> {
        self.hit.category.as_deref()
    }

    fn __repr__(&self) -> String {
        let passage = self.hit.passage();
        format!("Hit({:?}, {:.3}, {:?})", passage.citation, self.hit.score, passage.snippet)
    }
}

/// Hits, best first, with how far they can be trusted.
#[pyclass(frozen, sequence, module = "commonplace")]
pub struct Hits {
    hits: Py<PyList>,
    #[pyo3(get)]
    freshness: &'static str,
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Hits {
    /// Wraps an answer of the engine.
    pub fn new(py: Python<'_>, answer: hits::Hits) -> PyResult<Self> {
        let hits = answer.hits.into_iter().map(|hit| Hit { hit });
        let hits = hits.map(|hit| Py::new(py, hit)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            hits: PyList::new(py, hits)?.unbind(),
            freshness: answer.freshness.name(),
            notes: answer.notes,
        })
    }
}

#[pymethods]
impl Hits {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.hits.bind(py).len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let hits = self.hits.bind(py).as_any();
        if !index.is_instance_of::<PySlice>() && hits.get_item(index).is_err() {
            return Err(PyIndexError::new_err("there are no more hits"));
        }
        hits.get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.hits.bind(py).as_any().try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<{} hits, {}>", self.hits.bind(py).len(), self.freshness)
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

#[pymethods]
impl Entry {
    fn __repr__(&self) -> String {
        format!("Entry({:?}, {} B)", self.path, self.size)
    }
}

/// What a write did: the stored path, the new version, and where the old text now lies.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Written {
    pub path: String,
    pub version: String,
    pub previous: Option<String>,
    pub history: Option<String>,
    pub applied: usize,
}

#[pymethods]
impl Written {
    fn __repr__(&self) -> String {
        format!("Written({:?}, version={:?})", self.path, self.version)
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

/// What a full check of index against files found.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Verified {
    pub files: usize,
    pub differences: Vec<String>,
}

/// Field weights, length norms and k1 of BM25F; all have defaults.
#[pyclass(frozen, module = "commonplace")]
pub struct Weights {
    pub weights: bm25f::Weights,
}

#[pymethods]
impl Weights {
    #[new]
    #[pyo3(signature = (values = None))]
    fn new(py: Python<'_>, values: Option<BTreeMap<Text, f32>>) -> PyResult<Self> {
        let mut weights = bm25f::Weights::default();
        for (name, value) in values.unwrap_or_default() {
            weights.set(&name, value).map_err(|error| error_of(py, error))?;
        }
        Ok(Self { weights })
    }

    fn as_dict(&self) -> BTreeMap<String, f32> {
        self.weights.named().into_iter().collect()
    }
}
