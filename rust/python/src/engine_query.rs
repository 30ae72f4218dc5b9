//! Python classes of what a query asks of an engine: names to look up, and the statistics to score by.

use std::collections::BTreeMap;
use std::sync::Arc;

use commonplace_core::index::bm25f::{Field, Totals};
use commonplace_core::search::collection_stats;
use commonplace_core::store::engine::query_names::{self, PatternKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::engine::{EngineDocument, by_field};
use crate::filter::SearchFilter;
use crate::from_python::{Text, Weights, weights_or_default};

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

/// Name, kind, most typos and terms of a pattern.
type Pattern = (String, &'static str, u8, Vec<String>);

/// A query as it is put to an engine.
#[pyclass(frozen, module = "commonplace._core")]
pub struct QueryNames {
    text: String,
    pub names: query_names::QueryNames,
}

#[pymethods]
impl QueryNames {
    #[new]
    #[pyo3(signature = (query, weights = None, languages = None))]
    fn new(
        py: Python<'_>,
        query: Text,
        weights: Option<&Weights>,
        languages: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let weights = weights_or_default(weights);
        let names = detached(py, |interrupt| {
            query_names::QueryNames::parse(&query, &weights, languages.as_deref(), interrupt)
        })?;
        Ok(Self { text: query.into(), names })
    }

    #[getter]
    fn query(&self) -> &str {
        &self.text
    }

    fn without_phrases(&self, py: Python<'_>) -> PyResult<Self> {
        let names = detached(py, |interrupt| self.names.without_phrases(interrupt))?;
        Ok(Self { text: self.text.clone(), names })
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.names.names.clone()
    }

    #[getter]
    fn patterns(&self) -> Vec<Pattern> {
        let pattern = |pattern: &query_names::Pattern| {
            let (kind, typos) = match pattern.kind {
                PatternKind::Prefix => ("prefix", 0),
                PatternKind::Fuzzy(typos) => ("fuzzy", typos),
                PatternKind::Field => ("field", 0),
            };
            (pattern.name.clone(), kind, typos, pattern.terms.clone())
        };
        self.names.patterns.iter().map(pattern).collect()
    }

    #[getter]
    fn phrases(&self) -> Vec<Vec<Vec<String>>> {
        self.names.phrases()
    }

    #[getter]
    fn excludes(&self) -> bool {
        self.names.excludes()
    }

    fn weights(&self, py: Python<'_>, stats: &CollectionStats) -> PyResult<Vec<(String, f32)>> {
        detached(py, |interrupt| self.names.weights(&stats.stats, interrupt))
    }

    fn restricted<'py>(
        &self,
        py: Python<'py>,
        filter: &SearchFilter,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.names.restricted(&filter.filter) {
            Ok(filter) => Ok(Bound::new(py, SearchFilter { filter })?.into_any()),
            Err(note) => Ok(note.into_pyobject(py)?.into_any()),
        }
    }
}
