//! Methods of `_core.Store` for the archive.

use commonplace_core::store;
use pyo3::prelude::*;

use crate::archive::{ArchiveRows, ArchivedFiles, Row, archived_place, asked_words};
use crate::engine::{EngineDocument, shared};
use crate::engine_query::QueryNames;
use crate::from_python::Text;
use crate::store::Store;

#[pymethods]
impl Store {
    fn archive_rows(&self, py: Python<'_>, path: Text, number: u64) -> PyResult<ArchiveRows> {
        self.call(py, |store, _| store.archive_rows(&path, number)).map(ArchiveRows::from)
    }

    fn archive_list(&self, py: Python<'_>) -> PyResult<ArchivedFiles> {
        self.call(py, |store, _| store.archive_list()).map(ArchivedFiles::from)
    }

    fn archive_stamp(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let stamp = self.open(py)?.archive_stamp();
        Ok(stamp.map(|stat| (stat.ino, stat.size, stat.mtime_ns)))
    }

    fn archived_files(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, usize)>> {
        let files = self.call(py, |store, interrupt| store.archived_files(interrupt))?;
        Ok(files.into_iter().map(|(path, file)| (path, file.id, file.messages())).collect())
    }

    #[pyo3(signature = (rows, with_neighbours, names = None))]
    fn archived_documents(
        &self,
        py: Python<'_>,
        rows: Vec<Row>,
        with_neighbours: usize,
        names: Option<&QueryNames>,
    ) -> PyResult<(Vec<EngineDocument>, Vec<String>)> {
        let places: Vec<_> = rows.into_iter().map(archived_place).collect();
        let asked = asked_words(names);
        let (documents, changed) = self.call(py, |store, interrupt| {
            store.archived_documents(&places, with_neighbours, asked.as_ref(), interrupt)
        })?;
        let documents = documents.into_iter().map(EngineDocument::from).collect();
        Ok((documents, changed.into_iter().collect()))
    }

    #[pyo3(signature = (documents, names = None))]
    fn archived_turns(
        &self,
        py: Python<'_>,
        documents: Vec<PyRef<'_, EngineDocument>>,
        names: Option<&QueryNames>,
    ) -> PyResult<(Vec<EngineDocument>, Vec<String>)> {
        let (documents, asked) = (shared(&documents), asked_words(names));
        let (documents, changed) = self.call(py, |store, interrupt| {
            store.archived_turns(&documents, asked.as_ref(), interrupt)
        })?;
        let documents = documents.into_iter().map(EngineDocument::from).collect();
        Ok((documents, changed.into_iter().collect()))
    }

    fn check_archived(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        rows: Vec<Row>,
    ) -> PyResult<(Vec<String>, Vec<String>, Vec<String>)> {
        let places: Vec<_> = rows.into_iter().map(archived_place).collect();
        let check =
            self.call(py, |store, interrupt| store.check_archived(&paths, &places, interrupt))?;
        Ok((check.differing, check.unread, check.notes))
    }

    fn no_longer_archived(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.call(py, store::Store::no_longer_archived)
    }

    fn remove_archive_index(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |store, _| store.remove_archive_index())
    }
}
