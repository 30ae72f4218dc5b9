//! Python classes of documents, names and statistics for engines outside of this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use commonplace_core::catalog::TranscriptPosition;
use commonplace_core::catalog::extract::Corpus;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::index::bm25f::{Field, Totals};
use commonplace_core::memory_limit;
use commonplace_core::search::term_names::ConceptNames;
use commonplace_core::search::{Wanted, collection_stats};
use commonplace_core::store::engine::archive_rows as rows;
use commonplace_core::store::engine::archived_place::ArchivedPlace;
use commonplace_core::store::engine::asked_words::AskedWords;
use commonplace_core::store::engine::context_order;
use commonplace_core::store::engine::query_names::PatternKind;
use commonplace_core::store::engine::{candidates, document, extraction, query_names};
use commonplace_core::text::language::readings::LanguageId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::detached::{detached, to_py_err};
use crate::filter::SearchFilter;
use crate::from_python::{Count, Text, Unit, Weights};
use crate::hit::{Hit, Hits};

/// A section of a note or a message, as an engine outside of this process stores it.
#[pyclass(frozen, module = "commonplace._core")]
pub struct EngineDocument {
    document: Arc<document::EngineDocument>,
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
fn by_field<N: Copy + Default + PartialEq>(numbers: &[N]) -> BTreeMap<&'static str, N> {
    let named = Field::ALL.into_iter().map(|field| (field.name(), numbers[field as usize]));
    named.filter(|(_, number)| *number != N::default()).collect()
}

fn weights_or_default(weights: Option<&Weights>) -> commonplace_core::index::bm25f::Weights {
    weights.map(|weights| weights.weights.clone()).unwrap_or_default()
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
    names: query_names::QueryNames,
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

/// The rows of a file for the archive, made piece by piece.
#[pyclass(frozen, module = "commonplace._core")]
pub struct ArchiveRows {
    rows: Mutex<rows::ArchiveRows>,
}

impl From<rows::ArchiveRows> for ArchiveRows {
    fn from(rows: rows::ArchiveRows) -> Self {
        Self { rows: Mutex::new(rows) }
    }
}

impl ArchiveRows {
    fn lock(&self) -> MutexGuard<'_, rows::ArchiveRows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ArchiveRows {
    #[new]
    fn new(path: Text, data: &[u8], number: u64) -> Self {
        rows::ArchiveRows::of_bytes(&path, number, data.to_vec()).into()
    }

    fn next_rows(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, |interrupt| self.lock().next_rows(interrupt))
    }

    #[getter]
    fn stats(&self) -> CollectionStats {
        let totals = self.lock().totals().clone();
        collection_stats::CollectionStats { totals, ..Default::default() }.into()
    }

    #[getter]
    fn summary(&self) -> String {
        self.lock().summary()
    }

    #[getter]
    fn times(&self) -> [Option<i64>; 2] {
        self.lock().times()
    }

    fn __repr__(&self) -> String {
        "ArchiveRows()".to_owned()
    }
}

/// Returns how many more bytes the system lets this process take, if it sets a limit.
#[pyfunction]
pub fn memory_left() -> Option<u64> {
    memory_limit::memory_left()
}

/// Returns the name of a role or a session in the archive.
#[pyfunction]
pub fn archive_label(letter: char, text: &str) -> String {
    rows::label(letter, text)
}

/// Returns for each language its code and the names of which a document in it has one.
#[pyfunction]
pub fn language_names() -> Vec<(&'static str, [String; 2])> {
    let names = |language: LanguageId| {
        let names = ConceptNames::of_language(language);
        (language.code(), [names.text, names.beside])
    };
    LanguageId::all().map(names).collect()
}

/// Returns the names of rows of the archive that stand for a name.
#[pyfunction]
pub fn archive_row_names(name: &str) -> Vec<String> {
    rows::row_names(name)
}

/// Numbers of a row of the archive: file, start, line, place, turn, run, terms before it, hash, and
/// the length of its context.
pub type Row = (u64, u64, u32, u32, u32, u32, u32, u32, u16);

/// Returns where an archived document is, and in which file.
pub fn archived_place(row: Row) -> (u64, ArchivedPlace) {
    let (file, start, line, place, turn, session_run, terms_before, hash, context_length) = row;
    let position = TranscriptPosition { place, turn, session_run, terms_before };
    (file, ArchivedPlace { start, line, position, hash, context_length })
}

/// Returns the words that a query asks for, if it is given and asks for known ones.
pub fn asked_words(names: Option<&QueryNames>) -> Option<AskedWords> {
    AskedWords::of(&names?.names)
}

/// Returns messages by their rows (score, file, place) and those of their neighbours, best first.
#[pyfunction]
pub fn by_context(rows: Vec<(f64, u64, u32)>) -> Vec<(usize, bool)> {
    context_order::by_context(&rows)
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
