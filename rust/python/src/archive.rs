//! Rows of the archive for Python, and the places that they name.

use std::sync::{Mutex, MutexGuard, PoisonError};

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
use crate::engine::CollectionStats;
use crate::engine_query::QueryNames;
use crate::from_python::Text;

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

/// Numbers of a row of the archive: its file, and then the columns of its place.
pub type Row = (u64, u32, u32, u32, u32, u32, u64, u64);

/// Returns where an archived document is, and in which file.
pub fn archived_place(row: Row) -> (u64, ArchivedPlace) {
    let (file, start, other_lines, place, turn, session_run, terms, hash) = row;
    let columns = PlaceColumns { start, other_lines, place, turn, session_run, terms, hash };
    (file, columns.into())
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
