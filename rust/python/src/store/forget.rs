//! Methods of `_core.Store` that erase.

use commonplace_core::store::forget::ForgetRequest;
use pyo3::prelude::*;

use crate::filter::SearchFilter;
use crate::forget::{Forgotten, Retained, rules};
use crate::from_python::{Count, Text, Timestamp};
use crate::store::Store;

#[pymethods]
impl Store {
    #[pyo3(signature = (texts, lines, filter, *, everything, dry_run, token, live_vectors))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn forget(
        &self,
        py: Python<'_>,
        texts: Vec<Text>,
        lines: Vec<(Text, Count, Count)>,
        filter: &SearchFilter,
        everything: bool,
        dry_run: bool,
        token: Option<Text>,
        live_vectors: Option<Vec<[u8; 16]>>,
    ) -> PyResult<Forgotten> {
        let lines = lines.into_iter().map(|(path, first, last)| (path.into(), first.0, last.0));
        let request = ForgetRequest {
            texts: texts.into_iter().map(String::from).collect(),
            lines: lines.collect(),
            all: everything,
            filter: filter.filter.clone(),
            ..ForgetRequest::default()
        };
        let found = self.call(py, |store, interrupt| match dry_run {
            true => store.plan_forget(&request, interrupt),
            false => store.forget(&request, token.as_deref(), live_vectors.as_deref(), interrupt),
        })?;
        Ok(Forgotten::new(found, !dry_run))
    }

    #[pyo3(signature = (
        *, history_since, history_count, sessions_since, session_count, total_bytes, dry_run,
        live_vectors
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn retain(
        &self,
        py: Python<'_>,
        history_since: Option<Timestamp>,
        history_count: Option<Count>,
        sessions_since: Option<Timestamp>,
        session_count: Option<Count>,
        total_bytes: Option<Count>,
        dry_run: bool,
        live_vectors: Option<Vec<[u8; 16]>>,
    ) -> PyResult<Retained> {
        let rules = rules(history_since, history_count, sessions_since, session_count, total_bytes);
        let found = self.call(py, |store, interrupt| {
            store.retain(&rules, dry_run, live_vectors.as_deref(), interrupt)
        })?;
        Ok(Retained::new(found, !dry_run))
    }
}
