//! The list of archived files for Python, rows of the archive, and the places that they name.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use commonplace_core::catalog::archive_list;
use commonplace_core::memory_limit;
use commonplace_core::search::collection_stats;
use commonplace_core::search::term_names::ConceptNames;
use commonplace_core::store::engine::archive_rows as rows;
use commonplace_core::store::engine::archived_place::{ArchivedPlace, PlaceColumns};
use commonplace_core::store::engine::asked_words::AskedWords;
use commonplace_core::store::engine::context_order;
use commonplace_core::text::language::readings::LanguageId;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::engine::{CollectionStats, by_field};
use crate::engine_query::QueryNames;
use crate::from_python::Text;

/// The list of archived files as it was read.
#[pyclass(frozen, module = "commonplace._core")]
#[derive(Default)]
pub struct ArchivedFiles {
    list: Arc<archive_list::ArchivedFiles>,
}

impl From<Arc<archive_list::ArchivedFiles>> for ArchivedFiles {
    fn from(list: Arc<archive_list::ArchivedFiles>) -> Self {
        Self { list }
    }
}

/// What the list says of a file: a dictionary, as it is written.
#[derive(IntoPyObject)]
pub struct ArchivedFile<'l> {
    id: u64,
    size: u64,
    mtime_ns: i64,
    messages: usize,
    fields: BTreeMap<&'static str, u32>,
    lengths: BTreeMap<&'static str, u64>,
    summary: &'l str,
    first: Option<i64>,
    last: Option<i64>,
}

impl<'l> From<&'l archive_list::ArchivedFile> for ArchivedFile<'l> {
    fn from(file: &'l archive_list::ArchivedFile) -> Self {
        Self {
            id: file.id,
            size: file.size,
            mtime_ns: file.mtime_ns,
            messages: file.messages(),
            fields: by_field(&file.totals.docs_with_field),
            lengths: by_field(&file.totals.length),
            summary: &file.summary,
            first: file.times[0],
            last: file.times[1],
        }
    }
}

#[pymethods]
impl ArchivedFiles {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn version(&self) -> Option<i64> {
        self.list.version
    }

    #[getter]
    fn next(&self) -> u64 {
        self.list.next()
    }

    #[getter]
    fn has_deleted(&self) -> bool {
        self.list.has_deleted
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.list.is_finished
    }

    #[getter]
    fn is_damaged(&self) -> bool {
        self.list.is_damaged
    }

    #[getter]
    fn stats(&self) -> CollectionStats {
        let totals = self.list.totals.clone();
        collection_stats::CollectionStats { totals, ..Default::default() }.into()
    }

    fn numbers(&self) -> BTreeMap<&str, u64> {
        self.list.files().iter().map(|(path, file)| (&**path, file.id)).collect()
    }

    fn documents_of_parts(&self, parts: NonZeroUsize) -> Vec<usize> {
        self.list.documents_of_parts(parts)
    }

    fn entries(&self) -> BTreeMap<&str, ArchivedFile<'_>> {
        self.list.files().iter().map(|(path, file)| (&**path, file.into())).collect()
    }

    fn __repr__(&self) -> String {
        format!("ArchivedFiles({} files)", self.list.files().len())
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

/// Numbers of a row of the archive: the columns of its place.
pub type Row = (u64, u32, u64, u64, u32, u64);

/// Returns where an archived document is: the number of its file, and the place there.
pub fn archived_place(row: Row) -> (u64, ArchivedPlace) {
    let (upper, other_lines, run, lower, file, hash) = row;
    PlaceColumns { upper, other_lines, run, lower, file, hash }.file_and_place()
}

/// Returns the words that a query asks for, if it is given and asks for known ones.
pub fn asked_words(names: Option<&QueryNames>) -> Option<AskedWords> {
    AskedWords::of(&names?.names)
}

/// Returns messages by their rows, each with its score, and those of their neighbours, best first.
#[pyfunction]
pub fn by_context(rows: Vec<(f64, Row)>) -> Vec<(usize, bool)> {
    let placed = rows.into_iter().map(|(score, row)| {
        let (file, place) = archived_place(row);
        (score, file, place.position.place)
    });
    context_order::by_context(&placed.collect::<Vec<_>>())
}
