//! Python class of documents for engines outside of this process, and the ranking of candidates.

use std::collections::BTreeMap;
use std::sync::Arc;

use commonplace_core::catalog::extract::Corpus;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::index::bm25f::Field;
use commonplace_core::search::Wanted;
use commonplace_core::store::engine::{candidates, document, extraction};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::detached::{detached, to_py_err};
use crate::engine_query::{CollectionStats, QueryNames};
use crate::filter::SearchFilter;
use crate::from_python::{Count, Text, Unit, Weights, weights_or_default};
use crate::hit::{Hit, Hits};

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

/// Ranks candidates as a store ranks its own documents.
#[pyfunction]
#[pyo3(signature = (documents, names, stats, *, limit, filter, unit, weights = None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
pub fn rank_candidates(
    py: Python<'_>,
    documents: Vec<PyRef<'_, EngineDocument>>,
    names: &QueryNames,
    stats: &CollectionStats,
    limit: Count,
    filter: &SearchFilter,
    unit: Unit,
    weights: Option<&Weights>,
) -> PyResult<Hits> {
    let weights = weights_or_default(weights);
    let documents = shared(&documents);
    let wanted = Wanted {
        limit: limit.into(),
        unit: unit.0,
        stats: Some(&stats.stats),
        ..Wanted::default()
    };
    let (query, filter) = (&names.names.query, &filter.filter);
    let ranked = detached(py, |interrupt| {
        candidates::rank(&documents, query, filter, wanted, &weights, interrupt)
    })?;
    Hits::new(py, ranked)
}

/// Returns the candidates that are found, best first, by their indices.
#[pyfunction]
#[pyo3(signature = (documents, names, stats, *, filter, weights = None))]
pub fn best_first(
    py: Python<'_>,
    documents: Vec<PyRef<'_, EngineDocument>>,
    names: &QueryNames,
    stats: &CollectionStats,
    filter: &SearchFilter,
    weights: Option<&Weights>,
) -> PyResult<Vec<usize>> {
    let (weights, documents) = (weights_or_default(weights), shared(&documents));
    let (query, filter) = (&names.names.query, &filter.filter);
    detached(py, |interrupt| {
        candidates::best_first(&documents, query, filter, &stats.stats, &weights, interrupt)
    })
}
