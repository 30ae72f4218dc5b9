//! Python class of a query as it is put to an engine, and the ranking of what it finds.

use commonplace_core::search::Wanted;
use commonplace_core::store::engine::candidates;
use commonplace_core::store::engine::query_names::{self, PatternKind};
use pyo3::prelude::*;

use crate::detached::detached;
use crate::engine::{CollectionStats, EngineDocument, shared};
use crate::filter::SearchFilter;
use crate::from_python::{Count, Text, Unit, Weights, weights_or_default};
use crate::hit::Hits;

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
