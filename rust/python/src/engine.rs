//! Python classes of documents for engines outside of this process, and of their statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use commonplace_core::catalog::extract::Corpus;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::index::bm25f::{Field, Totals};
use commonplace_core::search::collection_stats;
use commonplace_core::store::engine::{candidates, document, extraction};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::detached::{detached, to_py_err};
use crate::from_python::{Text, Unit, Weights, weights_or_default};
use crate::hit::Hit;

/// A section of a note or a message, as an engine outside of this process stores it.
#[pyclass(frozen, module = "commonplace._core")]
pub struct EngineDocument {
    pub document: Arc<document::EngineDocument>,
}

#[pymethods]
impl EngineDocument {
    #[getter]
    fn path(&self) -> &str {
        &self.document.path
    }

    #[getter]
    fn start(&self) -> u64 {
        self.document.start
    }

    #[getter]
    fn length(&self) -> usize {
        self.document.bytes.len()
    }

    #[getter]
    fn line(&self) -> u32 {
        self.document.line
    }

    #[getter]
    fn hash(&self) -> u64 {
        self.document.hash
    }

    #[getter]
    fn key(&self) -> u64 {
        self.document.key
    }

    #[getter]
    fn source(&self) -> &'static str {
        match (FileKind::of(&self.document.path), self.document.corpus) {
            (FileKind::Transcript, Corpus::Main) => "message",
            (FileKind::Transcript, Corpus::Tools) => "tool",
            _ => "note",
        }
    }

    #[getter]
    fn heading<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.document.headings().collect::<Vec<_>>())
    }

    #[getter]
    fn timestamp_ms(&self) -> Option<i64> {
        self.document.time
    }

    #[getter]
    fn role(&self) -> &str {
        &self.document.role
    }

    #[getter]
    fn session(&self) -> &str {
        &self.document.session
    }

    #[getter]
    fn category(&self) -> &str {
        &self.document.category
    }

    #[getter]
    fn title(&self) -> Option<&str> {
        self.document.title.as_deref()
    }

    #[getter]
    fn text(&self) -> String {
        self.document.text().0
    }

    #[getter]
    fn position(&self) -> (u32, u32) {
        (self.document.position.place, self.document.position.turn)
    }

    #[getter]
    fn lengths(&self) -> BTreeMap<&'static str, u16> {
        by_field(&self.document.lengths)
    }

    #[pyo3(signature = (*, context = true))]
    fn names(&self, context: bool) -> Vec<String> {
        self.document.names(context)
    }

    #[pyo3(signature = (stats, weights = None))]
    fn impacts(&self, stats: &CollectionStats, weights: Option<&Weights>) -> Vec<(String, f32)> {
        self.document.impacts(&weights_or_default(weights), &stats.stats.totals)
    }

    fn to_json(&self) -> String {
        self.document.to_json()
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: Text) -> PyResult<Self> {
        let document = document::EngineDocument::from_json(&text);
        document.map(Self::from).map_err(|error| to_py_err(py, error))
    }

    fn __repr__(&self) -> String {
        format!("EngineDocument({:?}, line {})", self.document.path, self.document.line)
    }
}

impl From<document::EngineDocument> for EngineDocument {
    fn from(document: document::EngineDocument) -> Self {
        Self { document: Arc::new(document) }
    }
}

/// The statistics of documents by which a query is scored.
#[pyclass(frozen, eq, module = "commonplace._core")]
#[derive(PartialEq, Eq)]
pub struct CollectionStats {
    pub stats: Arc<collection_stats::CollectionStats>,
}

impl From<collection_stats::CollectionStats> for CollectionStats {
    fn from(stats: collection_stats::CollectionStats) -> Self {
        Self { stats: Arc::new(stats) }
    }
}

#[pymethods]
impl CollectionStats {
    #[new]
    #[pyo3(signature = (documents = 0, docs_with_field = None, lengths = None, doc_freqs = None))]
    fn new(
        documents: u32,
        docs_with_field: Option<BTreeMap<String, u32>>,
        lengths: Option<BTreeMap<String, u64>>,
        doc_freqs: Option<BTreeMap<String, u32>>,
    ) -> PyResult<Self> {
        let mut totals = Totals { documents, ..Totals::default() };
        for (name, count) in docs_with_field.unwrap_or_default() {
            totals.docs_with_field[field(&name)?] = count;
        }
        for (name, length) in lengths.unwrap_or_default() {
            totals.length[field(&name)?] = length;
        }
        let doc_freqs = doc_freqs.unwrap_or_default().into_iter().collect();
        Ok(Self::from(collection_stats::CollectionStats { totals, doc_freqs }))
    }

    #[staticmethod]
    fn of(documents: Vec<PyRef<'_, EngineDocument>>) -> Self {
        let mut stats = collection_stats::CollectionStats::default();
        documents.iter().for_each(|document| stats.totals.add(&document.document.lengths));
        Self::from(stats)
    }

    #[getter]
    fn documents(&self) -> u32 {
        self.stats.totals.documents
    }

    #[getter]
    fn docs_with_field(&self) -> BTreeMap<&'static str, u32> {
        by_field(&self.stats.totals.docs_with_field)
    }

    #[getter]
    fn lengths(&self) -> BTreeMap<&'static str, u64> {
        by_field(&self.stats.totals.length)
    }

    #[getter]
    fn doc_freqs(&self) -> BTreeMap<&str, u32> {
        self.stats.doc_freqs.iter().map(|(name, count)| (&**name, *count)).collect()
    }

    fn merged(&self, other: &Self) -> Self {
        let mut stats = (*self.stats).clone();
        stats.add(&other.stats);
        Self::from(stats)
    }

    fn without(&self, other: &Self) -> Self {
        let mut stats = (*self.stats).clone();
        stats.subtract(&other.stats);
        Self::from(stats)
    }

    fn __repr__(&self) -> String {
        format!("CollectionStats({} documents)", self.stats.totals.documents)
    }
}

fn field(name: &str) -> PyResult<usize> {
    let field = Field::named(name).map(|field| field as usize);
    field.ok_or_else(|| PyValueError::new_err(format!("there is no field {name:?}")))
}

/// Returns what is not 0 by the name of its field.
pub fn by_field<N: Copy + Default + PartialEq>(numbers: &[N]) -> BTreeMap<&'static str, N> {
    let named = Field::ALL.into_iter().map(|field| (field.name(), numbers[field as usize]));
    named.filter(|(_, number)| *number != N::default()).collect()
}

/// Returns the documents of a file.
#[pyfunction]
#[pyo3(signature = (path, data, *, tools = false))]
pub fn engine_documents(
    py: Python<'_>,
    path: Text,
    data: &[u8],
    tools: bool,
) -> PyResult<Vec<EngineDocument>> {
    let corpus = if tools { Corpus::Tools } else { Corpus::Main };
    let documents =
        detached(py, |interrupt| extraction::documents(&path, data, corpus, interrupt))?;
    Ok(documents.into_iter().map(EngineDocument::from).collect())
}

/// Returns the documents behind Python's.
pub fn shared(documents: &[PyRef<'_, EngineDocument>]) -> Vec<Arc<document::EngineDocument>> {
    documents.iter().map(|document| document.document.clone()).collect()
}

/// Returns the hits of documents without a query.
#[pyfunction]
pub fn document_hits(
    py: Python<'_>,
    documents: Vec<PyRef<'_, EngineDocument>>,
    unit: Unit,
) -> PyResult<Vec<Hit>> {
    let documents = shared(&documents);
    let found = detached(py, |_| Ok(candidates::hits(&documents, unit.0)))?;
    Ok(found.into_iter().map(Hit::from).collect())
}
