//! Methods of `_core.Store` for sessions and their messages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use commonplace_core::store::import::ImportOptions;
use commonplace_core::store::sessions::SessionFilter;
use pyo3::prelude::*;

use crate::from_python::{Count, Text, Timestamp};
use crate::import::{import, import_sessions};
use crate::results::Message;
use crate::sessions::Session;
use crate::store::Store;
use crate::write_results::{ImportReport, Imported};

#[pymethods]
impl Store {
    #[pyo3(signature = (*, project, since, until))]
    fn sessions(
        &self,
        py: Python<'_>,
        project: Option<Text>,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> PyResult<Vec<Session>> {
        let wanted = SessionFilter {
            project: project.map(String::from),
            since: since.map(Timestamp::milliseconds),
            until: until.map(Timestamp::milliseconds),
        };
        let sessions = self.call(py, |store, interrupt| store.sessions(&wanted, interrupt))?;
        Ok(sessions.into_iter().map(Session::from).collect())
    }

    fn find_session(&self, py: Python<'_>, name: Text) -> PyResult<Option<Session>> {
        let found = self.call(py, |store, interrupt| store.find_session(&name, interrupt))?;
        Ok(found.map(Session::from))
    }

    fn session(&self, py: Python<'_>, name: Text) -> PyResult<Session> {
        self.call(py, |store, interrupt| store.session(&name, interrupt)).map(Session::from)
    }

    fn message(&self, py: Python<'_>, path: Text, line: Count) -> PyResult<Message> {
        let located = self.call(py, |store, interrupt| store.message(&path, line.0, interrupt))?;
        Ok(Message::new(&path, located))
    }

    fn messages(
        &self,
        py: Python<'_>,
        path: Text,
        start: Count,
        limit: Option<Count>,
    ) -> PyResult<Vec<Message>> {
        let limit = limit.map_or(usize::MAX, usize::from);
        let found =
            self.call(py, |store, interrupt| store.messages(&path, start.0, limit, interrupt))?;
        Ok(found.into_iter().map(|located| Message::new(&path, located)).collect())
    }

    fn turns(&self, py: Python<'_>, path: Text) -> PyResult<Vec<u64>> {
        self.call(py, |store, interrupt| store.turns(&path, interrupt))
    }

    fn lines_at(&self, py: Python<'_>, path: Text, offsets: Vec<Count>) -> PyResult<Vec<Vec<u8>>> {
        let offsets: Vec<u64> = offsets.into_iter().map(|offset| offset.0).collect();
        self.call(py, |store, interrupt| store.lines_at(&path, &offsets, interrupt))
    }

    fn has_tool_messages(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |store, interrupt| store.has_tool_messages(interrupt))
    }

    fn append_message(&self, py: Python<'_>, path: Text, line: &[u8]) -> PyResult<Option<u64>> {
        self.call(py, |store, interrupt| store.append_message(&path, line, interrupt))
    }

    fn log_redacted_text(
        &self,
        py: Python<'_>,
        path: Text,
        redacted: BTreeMap<String, u64>,
    ) -> PyResult<()> {
        self.call(py, |store, _| store.log_redacted_text(&path, &redacted))
    }

    #[pyo3(signature = (source, path, progress, *, keep_secrets))]
    fn import_transcript(
        &self,
        py: Python<'_>,
        source: PathBuf,
        path: Text,
        progress: Option<Py<PyAny>>,
        keep_secrets: bool,
    ) -> PyResult<Imported> {
        let options = ImportOptions { keep_secrets };
        import(py, &*self.open(py)?, &source, &path, options, progress)
    }

    #[pyo3(signature = (paths, hosts, progress, *, keep_secrets))]
    fn import_sessions(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        hosts: Vec<String>,
        progress: Option<Py<PyAny>>,
        keep_secrets: bool,
    ) -> PyResult<ImportReport> {
        let options = ImportOptions { keep_secrets };
        import_sessions(py, &*self.open(py)?, paths, hosts, options, progress)
    }
}
