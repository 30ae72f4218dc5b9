//! Methods of `_core.Store` for files.

use commonplace_core::error::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::descriptor::into_descriptor;
use crate::detached::{detached, to_py_err};
use crate::from_python::{ABSENT, Text, expected};
use crate::results::{Entry, Section};
use crate::store::Store;
use crate::write_results::{Revision, Written};

#[pymethods]
impl Store {
    #[pyo3(signature = (path, version = None))]
    fn read(&self, py: Python<'_>, path: Text, version: Option<Text>) -> PyResult<String> {
        let bytes = self.call(py, |store, _| match version.as_deref() {
            None => store.files().read_bytes(&path),
            Some(version) => store.files().read_version(&path, version.parse()?),
        })?;
        // only what is not UTF-8 is copied
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn read_bytes(&self, py: Python<'_>, path: Text) -> PyResult<Vec<u8>> {
        self.call(py, |store, _| store.files().read_bytes(&path))
    }

    fn stamp(&self, py: Python<'_>, path: Text) -> PyResult<(u64, u64, i64, i64)> {
        let stat = self.call(py, |store, _| store.root().stat(&store.root().normalized(&path)))?;
        Ok((stat.ino, stat.size, stat.mtime_ns, stat.ctime_ns))
    }

    fn version(&self, py: Python<'_>, path: Text) -> PyResult<Option<String>> {
        self.call(py, |store, _| match store.files().read(&path) {
            Ok((_, version)) => Ok(Some(version.to_string())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn history(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Revision>> {
        let history = self.call(py, |store, _| store.files().history(&path))?;
        Ok(history.into_iter().map(Revision::from).collect())
    }

    fn list(&self, py: Python<'_>, prefix: Text) -> PyResult<Vec<Entry>> {
        let entries = self.call(py, |store, interrupt| store.list(&prefix, interrupt))?;
        Ok(entries.into_iter().map(Entry::from).collect())
    }

    fn holds(&self, py: Python<'_>, prefix: Text) -> PyResult<bool> {
        self.call(py, |store, interrupt| store.holds(&prefix, interrupt))
    }

    fn relative(&self, py: Python<'_>, path: Text) -> PyResult<String> {
        let store = self.open(py)?;
        let relative = store.root().relative(&path).map_err(|error| to_py_err(py, error))?;
        Ok(relative.into_owned())
    }

    fn relative_folder(&self, py: Python<'_>, path: Text) -> PyResult<String> {
        let store = self.open(py)?;
        let relative = store.root().relative_folder(&path).map_err(|error| to_py_err(py, error))?;
        Ok(relative.into_owned())
    }

    #[pyo3(name = "spelled")]
    fn normalized(&self, py: Python<'_>, path: Text) -> PyResult<String> {
        Ok(self.open(py)?.root().normalized(&path).into_owned())
    }

    fn read_to_change(&self, py: Python<'_>, path: Text) -> PyResult<(String, String)> {
        let (text, version) = self.call(py, |store, _| store.files().read_to_change(&path))?;
        Ok((text, version.map_or_else(|| ABSENT.to_owned(), |version| version.to_string())))
    }

    fn keep(&self, py: Python<'_>, path: Text) -> PyResult<Revision> {
        self.call(py, |store, _| store.files().keep(&path)).map(Revision::from)
    }

    #[pyo3(signature = (path, content, expected_version = None))]
    fn write(
        &self,
        py: Python<'_>,
        path: Text,
        content: Text,
        expected_version: Option<Text>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done =
            self.call(py, |store, _| store.files().write(&path, content.as_bytes(), expected))?;
        Ok(Written::new(done, 0))
    }

    #[pyo3(signature = (path, content, expected_version = None))]
    fn append(
        &self,
        py: Python<'_>,
        path: Text,
        content: Text,
        expected_version: Option<Text>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        // held here, so that the version can be read after the call
        let store = self.open(py)?;
        detached(py, |_| store.append(&path, &content, expected)).map(Written::appended)
    }

    #[pyo3(signature = (path, edits, expected_version = None))]
    fn patch(
        &self,
        py: Python<'_>,
        path: Text,
        edits: Vec<(Text, Text)>,
        expected_version: Option<Text>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let edits: Vec<(String, String)> =
            edits.into_iter().map(|(old, new)| (old.into(), new.into())).collect();
        let done = self.call(py, |store, _| store.files().patch(&path, &edits, expected))?;
        Ok(Written::new(done.written, done.applied))
    }

    #[pyo3(name = "move", signature = (source, target, expected_version = None))]
    fn rename(
        &self,
        py: Python<'_>,
        source: Text,
        target: Text,
        expected_version: Option<Text>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done = self.call(py, |store, _| store.files().rename(&source, &target, expected))?;
        Ok(Written::new(done, 0))
    }

    #[pyo3(signature = (path, expected_version = None))]
    fn delete(
        &self,
        py: Python<'_>,
        path: Text,
        expected_version: Option<Text>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done = self.call(py, |store, _| store.files().delete(&path, expected))?;
        Ok(Written::new(done, 0))
    }

    fn open_side(&self, py: Python<'_>, path: Text, mode: Text) -> PyResult<i32> {
        let access = mode.parse().map_err(PyValueError::new_err::<String>)?;
        let file = self.call(py, |store, _| store.root().open_side(&path, access))?;
        into_descriptor(py, file, access)
    }

    fn rename_side(&self, py: Python<'_>, source: Text, target: Text) -> PyResult<()> {
        self.call(py, |store, _| store.root().rename_side(&source, &target))
    }

    fn sections(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Section>> {
        let sections = self.call(py, |store, interrupt| store.sections(&path, interrupt))?;
        Ok(Section::all(&path, sections))
    }
}
