//! Python class `_core.Store`: one method per call of the core.

mod archive;
mod files;
mod forget;
mod search;
mod transcripts;

use std::sync::Arc;

use commonplace_core::error::{Interrupt, Result};
use commonplace_core::store;
use commonplace_core::store::per_process::PerProcess;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::detached::{detached, is_interrupted, to_py_err};
use crate::from_python::{Count, Text, Weights};
use crate::results::{FileChanges, Status, Verified};

/// The engine behind `commonplace.Store`.
#[pyclass(frozen, module = "commonplace._core")]
pub struct Store {
    store: PerProcess,
}

impl Store {
    fn open(&self, py: Python<'_>) -> PyResult<Arc<store::Store>> {
        let in_child = |inherited: &store::Store| py.detach(|| inherited.in_child());
        let store = self.store.get(in_child).map_err(|error| to_py_err(py, error))?;
        store.ok_or_else(|| PyValueError::new_err("this store is closed; open it again"))
    }

    fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&store::Store, Interrupt<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let store = self.open(py)?;
        detached(py, |interrupt| work(&store, interrupt))
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (root, *, create = true, watch = true, weights = None, memory_limit = None))]
    fn new(
        py: Python<'_>,
        root: Text,
        create: bool,
        watch: bool,
        weights: Option<&Weights>,
        memory_limit: Option<Count>,
    ) -> PyResult<Self> {
        let weights = weights.map(|weights| weights.weights.clone()).unwrap_or_default();
        let memory_limit = memory_limit.map(|limit| limit.0);
        let interrupt = is_interrupted;
        let options = store::StoreOptions {
            create,
            watch,
            weights,
            memory_limit,
            interrupt,
            ..Default::default()
        };
        let store = detached(py, |_| store::Store::open(&root, options))?;
        Ok(Self { store: PerProcess::new(store) })
    }

    #[getter]
    fn root(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open(py)?.root().path().to_string_lossy().into_owned())
    }

    fn revision(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |store, interrupt| store.revision(interrupt))
    }

    #[pyo3(signature = (since = None))]
    fn changes(&self, py: Python<'_>, since: Option<u64>) -> PyResult<FileChanges> {
        let changes = self.call(py, |store, interrupt| store.changes(since, interrupt))?;
        FileChanges::new(py, changes)
    }

    fn release_index(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, store::Store::release_index)
    }

    fn has_vectors(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |store, _| Ok(store.has_vectors()))
    }

    fn status(&self, py: Python<'_>) -> PyResult<Status> {
        let store = self.open(py)?;
        let status = detached(py, |interrupt| store.status(interrupt))?;
        Ok(Status::new(&store, status))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Verified> {
        self.call(py, |store, interrupt| store.verify(interrupt)).map(Verified::from)
    }

    fn wait_for_gram_indexes(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.open(py)?;
        py.detach(|| store.wait_for_gram_indexes());
        Ok(())
    }

    fn save(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |store, interrupt| store.save_unless(interrupt))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store.close();
        detached(py, |interrupt| store.map_or(Ok(()), |store| store.close(interrupt)))
    }
}
