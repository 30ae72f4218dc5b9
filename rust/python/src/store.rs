//! Python class `_core.Store`: one method per call of the core, hence longer than 350 lines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use commonplace_core::error::{Error, Interrupt, Result};
use commonplace_core::grep::{Case, GrepOptions};
use commonplace_core::store;
use commonplace_core::store::forget::ForgetRequest;
use commonplace_core::store::import::ImportOptions;
use commonplace_core::store::per_process::PerProcess;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::sessions::SessionFilter;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::archive::{ArchiveRows, ArchivedFiles, Row, archived_place, asked_words};
use crate::descriptor::into_descriptor;
use crate::detached::{detached, is_interrupted, to_py_err};
use crate::engine::{CollectionStats, EngineDocument, shared};
use crate::engine_query::QueryNames;
use crate::explanation::Explanation;
use crate::filter::SearchFilter;
use crate::forget::{Forgotten, Retained, rules};
use crate::from_python::{ABSENT, Count, Text, Timestamp, Unit, Weights, expected};
use crate::grep::Grep;
use crate::hit::{Hit, Hits};
use crate::import::{import, import_sessions};
use crate::results::{Entry, FileChanges, Message, Section, Status, Verified};
use crate::sessions::Session;
use crate::write_results::{ImportReport, Imported, Revision, Written};

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

    fn lines_at(&self, py: Python<'_>, path: Text, offsets: Vec<Count>) -> PyResult<Vec<Vec<u8>>> {
        let offsets: Vec<u64> = offsets.into_iter().map(|offset| offset.0).collect();
        self.call(py, |store, interrupt| store.lines_at(&path, &offsets, interrupt))
    }

    fn stamp(&self, py: Python<'_>, path: Text) -> PyResult<(u64, u64, i64, i64)> {
        let stat = self.call(py, |store, _| store.root().stat(&store.root().normalized(&path)))?;
        Ok((stat.ino, stat.size, stat.mtime_ns, stat.ctime_ns))
    }

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

    fn open_side(&self, py: Python<'_>, path: Text, mode: Text) -> PyResult<i32> {
        let access = mode.parse().map_err(PyValueError::new_err::<String>)?;
        let file = self.call(py, |store, _| store.root().open_side(&path, access))?;
        into_descriptor(py, file, access)
    }

    fn rename_side(&self, py: Python<'_>, source: Text, target: Text) -> PyResult<()> {
        self.call(py, |store, _| store.root().rename_side(&source, &target))
    }

    fn read_to_change(&self, py: Python<'_>, path: Text) -> PyResult<(String, String)> {
        let (text, version) = self.call(py, |store, _| store.files().read_to_change(&path))?;
        Ok((text, version.map_or_else(|| ABSENT.to_owned(), |version| version.to_string())))
    }

    fn history(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Revision>> {
        let history = self.call(py, |store, _| store.files().history(&path))?;
        Ok(history.into_iter().map(Revision::from).collect())
    }

    fn keep(&self, py: Python<'_>, path: Text) -> PyResult<Revision> {
        self.call(py, |store, _| store.files().keep(&path)).map(Revision::from)
    }

    fn version(&self, py: Python<'_>, path: Text) -> PyResult<Option<String>> {
        self.call(py, |store, _| match store.files().read(&path) {
            Ok((_, version)) => Ok(Some(version.to_string())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn list(&self, py: Python<'_>, prefix: Text) -> PyResult<Vec<Entry>> {
        let entries = self.call(py, |store, interrupt| store.list(&prefix, interrupt))?;
        Ok(entries.into_iter().map(Entry::from).collect())
    }

    fn holds(&self, py: Python<'_>, prefix: Text) -> PyResult<bool> {
        self.call(py, |store, interrupt| store.holds(&prefix, interrupt))
    }

    fn has_tool_messages(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |store, interrupt| store.has_tool_messages(interrupt))
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

    fn sections(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Section>> {
        let sections = self.call(py, |store, interrupt| store.sections(&path, interrupt))?;
        Ok(Section::all(&path, sections))
    }

    fn documents(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Hit>> {
        let documents = self.call(py, |store, interrupt| store.documents(&path, interrupt))?;
        Ok(documents.into_iter().map(Hit::from).collect())
    }

    fn turns_of(&self, py: Python<'_>, messages: Vec<(Text, Count)>) -> PyResult<Vec<Option<Hit>>> {
        let messages: Vec<(String, u64)> =
            messages.into_iter().map(|(path, line)| (String::from(path), line.0)).collect();
        let turns = self.call(py, |store, interrupt| store.turns_of(&messages, interrupt))?;
        Ok(turns.into_iter().map(|turn| turn.map(Hit::from)).collect())
    }

    fn revision(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |store, interrupt| store.revision(interrupt))
    }

    #[pyo3(signature = (since = None))]
    fn changes(&self, py: Python<'_>, since: Option<u64>) -> PyResult<FileChanges> {
        let changes = self.call(py, |store, interrupt| store.changes(since, interrupt))?;
        FileChanges::new(py, changes)
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

    #[pyo3(signature = (query, limit, filter, unit, stats = None))]
    fn search(
        &self,
        py: Python<'_>,
        query: Text,
        limit: Count,
        filter: &SearchFilter,
        unit: Unit,
        stats: Option<&CollectionStats>,
    ) -> PyResult<Hits> {
        let (filter, unit) = (filter.filter.clone(), unit.0);
        let stats = stats.map(|stats| stats.stats.clone());
        let (query, limit) = (query.into(), limit.into());
        let request = SearchRequest { query, limit, filter, unit, stats };
        let answer = self.call(py, |store, interrupt| store.search(&request, interrupt))?;
        Hits::new(py, answer)
    }

    fn collection_stats(&self, py: Python<'_>, query: Text) -> PyResult<CollectionStats> {
        let stats = self.call(py, |store, interrupt| store.collection_stats(&query, interrupt))?;
        Ok(CollectionStats::from(stats))
    }

    fn remove_archive_index(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |store, _| store.remove_archive_index())
    }

    fn archive_rows(&self, py: Python<'_>, path: Text, number: u64) -> PyResult<ArchiveRows> {
        self.call(py, |store, _| store.archive_rows(&path, number)).map(ArchiveRows::from)
    }

    fn release_index(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, store::Store::release_index)
    }

    fn archive_stamp(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let stamp = self.open(py)?.archive_stamp();
        Ok(stamp.map(|stat| (stat.ino, stat.size, stat.mtime_ns)))
    }

    fn archive_list(&self, py: Python<'_>) -> PyResult<ArchivedFiles> {
        self.call(py, |store, _| store.archive_list()).map(ArchivedFiles::from)
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

    fn no_longer_archived(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.call(py, store::Store::no_longer_archived)
    }

    fn archived_files(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, usize)>> {
        let files = self.call(py, |store, interrupt| store.archived_files(interrupt))?;
        Ok(files.into_iter().map(|(path, file)| (path, file.id, file.messages())).collect())
    }

    fn resolved_filter(&self, py: Python<'_>, filter: &SearchFilter) -> PyResult<SearchFilter> {
        let own = filter.filter.clone();
        let (filter, _) =
            self.call(py, |store, interrupt| store.resolve_sessions(own, interrupt))?;
        Ok(SearchFilter { filter })
    }

    fn explanation(
        &self,
        py: Python<'_>,
        query: Text,
        citation: Text,
        unit: Unit,
    ) -> PyResult<Explanation> {
        let explained =
            self.call(py, |store, interrupt| store.explain(&query, &citation, unit.0, interrupt))?;
        Ok(Explanation::from(explained))
    }

    #[pyo3(signature = (
        pattern, filter, *, fixed, ignore_case, before, after, limit, newest_first, width, keep
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn grep(
        &self,
        py: Python<'_>,
        pattern: Text,
        filter: &SearchFilter,
        fixed: bool,
        ignore_case: Option<bool>,
        before: Count,
        after: Count,
        limit: Option<Count>,
        newest_first: bool,
        width: Count,
        keep: bool,
    ) -> PyResult<Grep> {
        let options = GrepOptions {
            pattern: pattern.into(),
            fixed,
            case: match ignore_case {
                None => Case::Smart,
                Some(true) => Case::Ignore,
                Some(false) => Case::Sensitive,
            },
            filter: filter.filter.clone(),
            before: before.into(),
            after: after.into(),
            limit: limit.map(usize::from),
            newest_first,
            max_snippet: width.into(),
            ..GrepOptions::default()
        };
        Grep::new(py, self.open(py)?, options, keep)
    }

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
