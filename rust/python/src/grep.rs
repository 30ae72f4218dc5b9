//! Grep as a Python iterator over its matches.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use commonplace_core::grep::{self, GrepOptions};
use commonplace_core::store::Store;
use commonplace_core::store::grep::{GrepFiles, GrepSummary};
use commonplace_core::text::citation::cite_line;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::detached::detached;

/// One grep match: a message or a line of a note, with its neighbours when asked.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Match {
    path: String,
    line: u64,
    offset: u64,
    role: Option<String>,
    name: Option<String>,
    time: Option<String>,
    session: Option<String>,
    snippet: String,
    highlights: Vec<(usize, usize)>,
    citation: String,
    before: Vec<(u64, Option<String>, String)>,
    after: Vec<(u64, Option<String>, String)>,
}

#[pymethods]
impl Match {
    fn __repr__(&self) -> String {
        format!("Match({:?}, {:?})", self.citation, self.snippet)
    }
}

fn neighbours(all: Vec<grep::Context>) -> Vec<(u64, Option<String>, String)> {
    let role = |role: String| Some(role).filter(|role| !role.is_empty());
    all.into_iter().map(|context| (context.line, role(context.role), context.text)).collect()
}

impl Match {
    fn new(path: &str, found: grep::Match) -> Self {
        Self {
            citation: cite_line(path, found.line),
            path: path.to_owned(),
            line: found.line,
            offset: found.offset,
            role: Some(found.role).filter(|role| !role.is_empty()),
            name: found.name,
            time: found.time,
            session: found.session,
            snippet: found.snippet,
            highlights: found.highlights,
            before: neighbours(found.before),
            after: neighbours(found.after),
        }
    }
}

/// A running scan: iterate for the matches, then read what it saw.
#[pyclass(frozen, module = "commonplace")]
pub struct Grep {
    store: Arc<Store>,
    pattern: String,
    running: Mutex<Running>,
}

struct Running {
    files: GrepFiles,
    ready: VecDeque<Match>,
}

impl Grep {
    /// Begins a scan.
    pub fn new(
        py: Python<'_>,
        store: Arc<Store>,
        options: GrepOptions,
        keep: bool,
    ) -> PyResult<Self> {
        let pattern = options.pattern.clone();
        let mut files = detached(py, |interrupt| GrepFiles::new(&store, options, interrupt))?;
        files.write_gram_index = keep;
        Ok(Self { store, pattern, running: Mutex::new(Running { files, ready: VecDeque::new() }) })
    }

    /// Refuses to go on in a forked child: a thread of the parent may have been in the scan.
    fn check_process(&self) -> PyResult<()> {
        if self.store.is_of_this_process() {
            return Ok(());
        }
        let why = "a scan goes on only in the process that began it; begin it again in this one";
        Err(PyValueError::new_err(why))
    }

    /// Waits for the scan without the GIL, for the scan may be waiting for the GIL.
    fn summary(&self, py: Python<'_>) -> PyResult<GrepSummary> {
        self.check_process()?;
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(py.detach(|| running().files.summary.clone()))
    }
}

#[pymethods]
impl Grep {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Match>> {
        self.check_process()?;
        detached(py, |interrupt| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if running.ready.is_empty()
                && let Some((path, batch)) = running.files.next_batch(&self.store, interrupt)?
            {
                running.ready = batch.into_iter().map(|found| Match::new(&path, found)).collect();
            }
            Ok(running.ready.pop_front())
        })
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.check_process()?;
        detached(py, |interrupt| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let ready = std::mem::take(&mut running.ready).len() as u64;
            Ok(ready + running.files.count(&self.store, interrupt)?)
        })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let seen = match self.summary(py) {
            Ok(seen) => format!("{} matched in {} lines so far", seen.matched, seen.lines),
            Err(_) => "of another process".to_owned(),
        };
        format!("<Grep {:?}: {seen}>", self.pattern)
    }

    #[getter]
    fn matched(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.summary(py)?.matched)
    }

    #[getter]
    fn lines(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.summary(py)?.lines)
    }

    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.summary(py)?.bytes)
    }

    #[getter]
    fn bad_lines(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.summary(py)?.first_bad_lines)
    }

    #[getter]
    fn bad_line_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.summary(py)?.bad_lines)
    }

    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.summary(py)?.notes)
    }
}
