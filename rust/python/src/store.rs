//! The engine of a store, as Python calls it.

use std::sync::{Arc, Mutex, PoisonError};

use commonplace_core::draft::Kind;
use commonplace_core::error::{Error, Interrupt, Result};
use commonplace_core::files::{Expected, Written as Done};
use commonplace_core::grep::{Case, Options};
use commonplace_core::hits::Request;
use commonplace_core::search::Filter;
use commonplace_core::sections::line_of;
use commonplace_core::store;
use commonplace_core::transcript::Placed;
use commonplace_core::version::Version;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::enter::{enter, error_of};
use crate::grep::Grep;
use crate::results::{Entry, Hits, Message, Section, Status, Verified, Weights, Written};

/// The engine behind `commonplace.Store`.
#[pyclass(frozen, module = "commonplace._core")]
pub struct Store {
    /// None once closed.
    store: Mutex<Option<Arc<store::Store>>>,
}

impl Store {
    fn open(&self) -> PyResult<Arc<store::Store>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.clone().ok_or_else(|| PyValueError::new_err("this store is closed; open it again"))
    }

    fn enter<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&store::Store, Interrupt<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let store = self.open()?;
        enter(py, |interrupt| work(&store, interrupt))
    }
}

fn expected(py: Python<'_>, version: Option<&str>) -> PyResult<Expected> {
    match version {
        None => Ok(Expected::Any),
        Some("absent") => Ok(Expected::Absent),
        Some(version) => {
            let version: Result<Version> = version.parse();
            version.map(Expected::Version).map_err(|error| error_of(py, error))
        }
    }
}

fn written(done: Done, applied: usize) -> Written {
    Written {
        path: done.path,
        version: done.version.to_string(),
        previous: done.previous.map(|version| version.to_string()),
        history: done.history,
        applied,
    }
}

fn milliseconds(seconds: Option<f64>) -> Option<i64> {
    seconds.map(|seconds| (seconds * 1000.0).round() as i64)
}

fn message(path: &str, placed: Placed) -> Message {
    let Placed { line, offset, message } = placed;
    Message { path: path.to_owned(), line, offset, message }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (root, *, create = true, watch = true, weights = None))]
    fn new(
        py: Python<'_>,
        root: &str,
        create: bool,
        watch: bool,
        weights: Option<&Weights>,
    ) -> PyResult<Self> {
        let weights = weights.map(|weights| weights.weights.clone()).unwrap_or_default();
        let options = store::Options { create, watch, weights, ..store::Options::default() };
        let store = enter(py, |interrupt| store::Store::open(root, options, interrupt))?;
        Ok(Self { store: Mutex::new(Some(Arc::new(store))) })
    }

    #[getter]
    fn root(&self) -> PyResult<String> {
        Ok(self.open()?.root().path().to_string_lossy().into_owned())
    }

    fn read(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let bytes = self.read_bytes(py, path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_bytes(&self, py: Python<'_>, path: &str) -> PyResult<Vec<u8>> {
        self.enter(py, |store, _| store.root().read(path))
    }

    fn version(&self, py: Python<'_>, path: &str) -> PyResult<Option<String>> {
        self.enter(py, |store, _| match store.files().read(path) {
            Ok((_, version)) => Ok(Some(version.to_string())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    #[pyo3(signature = (prefix = ""))]
    fn list(&self, py: Python<'_>, prefix: &str) -> PyResult<Vec<Entry>> {
        let entries = self.enter(py, |store, interrupt| store.list(prefix, interrupt))?;
        let entry = |entry: commonplace_core::upkeep::Entry| Entry {
            path: entry.path,
            size: entry.size,
            modified: entry.modified_ns as f64 / 1e9,
            kind: match entry.kind {
                Kind::Note => "note",
                Kind::Transcript => "transcript",
                Kind::Other => "other",
            },
            summary: entry.summary,
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    #[pyo3(signature = (path, content, expected_version = None))]
    fn write(
        &self,
        py: Python<'_>,
        path: &str,
        content: &str,
        expected_version: Option<&str>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done =
            self.enter(py, |store, _| store.files().write(path, content.as_bytes(), expected))?;
        Ok(written(done, 0))
    }

    #[pyo3(signature = (path, content, expected_version = None))]
    fn append(
        &self,
        py: Python<'_>,
        path: &str,
        content: &str,
        expected_version: Option<&str>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        self.enter(py, |store, _| {
            let mut text = content.to_owned();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let done = store.files().append(path, text.as_bytes(), expected)?;
            let (_, version) = store.files().read(&done.path)?;
            let version = version.to_string();
            Ok(Written { path: done.path, version, previous: None, history: None, applied: 0 })
        })
    }

    #[pyo3(signature = (path, edits, expected_version = None))]
    fn patch(
        &self,
        py: Python<'_>,
        path: &str,
        edits: Vec<(String, String)>,
        expected_version: Option<&str>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done = self.enter(py, |store, _| store.files().patch(path, &edits, expected))?;
        Ok(written(done.written, done.applied))
    }

    #[pyo3(name = "move", signature = (source, target, expected_version = None))]
    fn rename(
        &self,
        py: Python<'_>,
        source: &str,
        target: &str,
        expected_version: Option<&str>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done = self.enter(py, |store, _| store.files().rename(source, target, expected))?;
        Ok(written(done, 0))
    }

    #[pyo3(signature = (path, expected_version = None))]
    fn delete(
        &self,
        py: Python<'_>,
        path: &str,
        expected_version: Option<&str>,
    ) -> PyResult<Written> {
        let expected = expected(py, expected_version)?;
        let done = self.enter(py, |store, _| store.files().delete(path, expected))?;
        Ok(written(done, 0))
    }

    fn sections(&self, py: Python<'_>, path: &str) -> PyResult<Vec<Section>> {
        let (text, note) = self.enter(py, |store, _| store.sections(path))?;
        let mut line = 1;
        let sections = note.sections.iter().enumerate().map(|(at, section)| {
            let span = section.span.clone();
            let inner = &text.as_bytes()[span.clone()];
            let first = line;
            line += line_of(inner, inner.len()) - 1;
            Section {
                path: path.to_owned(),
                heading: note.trail(at).into_iter().map(str::to_owned).collect(),
                level: section.level,
                line: first,
                end_line: if inner.ends_with(b"\n") { line - 1 } else { line },
                start: span.start,
                end: span.end,
                summary: section.marks.summary.clone(),
                category: section.marks.category.clone(),
                keywords: section.marks.keywords.clone(),
            }
        });
        Ok(sections.collect())
    }

    fn message(&self, py: Python<'_>, path: &str, line: u64) -> PyResult<Message> {
        let placed = self.enter(py, |store, interrupt| store.message(path, line, interrupt))?;
        Ok(message(path, placed))
    }

    #[pyo3(signature = (path, start = 1, limit = None))]
    fn messages(
        &self,
        py: Python<'_>,
        path: &str,
        start: u64,
        limit: Option<usize>,
    ) -> PyResult<Vec<Message>> {
        let limit = limit.unwrap_or(usize::MAX);
        let found =
            self.enter(py, |store, interrupt| store.messages(path, start, limit, interrupt))?;
        Ok(found.into_iter().map(|placed| message(path, placed)).collect())
    }

    fn append_message(&self, py: Python<'_>, path: &str, line: &[u8]) -> PyResult<u64> {
        self.enter(py, |store, interrupt| store.append_message(path, line, interrupt))
    }

    #[pyo3(signature = (
        query, limit = 10, *, prefix = "", source = None, since = None, until = None,
        role = None, session = None, category = None, tools = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn search(
        &self,
        py: Python<'_>,
        query: String,
        limit: usize,
        prefix: &str,
        source: Option<&str>,
        since: Option<f64>,
        until: Option<f64>,
        role: Option<String>,
        session: Option<String>,
        category: Option<String>,
        tools: bool,
    ) -> PyResult<Hits> {
        let kind = match source {
            None => None,
            Some("note") => Some(Kind::Note),
            Some("message") => Some(Kind::Transcript),
            Some(other) => {
                let text = format!("source is \"note\" or \"message\", not {other:?}");
                return Err(PyValueError::new_err(text));
            }
        };
        let filter = Filter {
            prefix: prefix.to_owned(),
            kind,
            since: milliseconds(since),
            until: milliseconds(until),
            role,
            session,
            category,
        };
        let request = Request { query, limit, filter, tools };
        let answer = self.enter(py, |store, interrupt| store.search(&request, interrupt))?;
        Hits::new(py, answer)
    }

    fn explain(&self, py: Python<'_>, query: &str, citation: &str) -> PyResult<String> {
        self.enter(py, |store, interrupt| store.explain(query, citation, interrupt))
    }

    #[pyo3(signature = (
        pattern, *, prefix = "", fixed = false, ignore_case = None, role = None, since = None,
        until = None, before = 0, after = 0, limit = None, newest_first = false, tools = false,
        width = 300
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn grep(
        &self,
        py: Python<'_>,
        pattern: String,
        prefix: &str,
        fixed: bool,
        ignore_case: Option<bool>,
        role: Option<String>,
        since: Option<f64>,
        until: Option<f64>,
        before: usize,
        after: usize,
        limit: Option<usize>,
        newest_first: bool,
        tools: bool,
        width: usize,
    ) -> PyResult<Grep> {
        let options = Options {
            pattern,
            fixed,
            case: match ignore_case {
                None => Case::Smart,
                Some(true) => Case::Ignore,
                Some(false) => Case::Sensitive,
            },
            roles: role.into_iter().collect(),
            since: milliseconds(since),
            until: milliseconds(until),
            before,
            after,
            limit,
            newest_first,
            tools,
            max_snippet: width,
            ..Options::default()
        };
        Grep::new(py, self.open()?, prefix, options)
    }

    fn status(&self, py: Python<'_>) -> PyResult<Status> {
        let store = self.open()?;
        let status = enter(py, |interrupt| store.status(interrupt))?;
        Ok(Status {
            root: store.root().path().to_string_lossy().into_owned(),
            notes: status.notes,
            transcripts: status.transcripts,
            sections: status.sections,
            messages: status.messages,
            terms: status.terms,
            text_bytes: status.text_bytes,
            index_bytes: status.index_bytes,
            watching: store.is_watching(),
            snapshot: store.snapshot.clone(),
            skipped: status.skipped,
        })
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Verified> {
        let (files, differences) = self.enter(py, |store, interrupt| store.verify(interrupt))?;
        Ok(Verified { files, differences })
    }

    fn save(&self, py: Python<'_>) -> PyResult<()> {
        self.enter(py, |store, _| store.save())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        // the last holder saves the snapshot as it lets go
        py.detach(|| drop(store));
        Ok(())
    }
}
