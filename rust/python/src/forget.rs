//! Receipts of `forget` and `retain` as Python objects, and the arguments of both.

use commonplace_core::store::forget;
use commonplace_core::store::retain::{self, RetainRules};
use commonplace_core::text::citation::cite;
use pyo3::prelude::*;

use crate::from_python::{Count, Timestamp};
use crate::results::counted;

/// A passage that is forgotten.
#[pyclass(frozen, get_all, from_py_object, module = "commonplace._core")]
#[derive(Clone)]
pub struct Passage {
    pub path: String,
    pub first: u64,
    pub last: u64,
    pub text: String,
}

#[pymethods]
impl Passage {
    #[getter]
    fn citation(&self) -> String {
        cite(&self.path, self.first, self.last)
    }

    fn __repr__(&self) -> String {
        format!("Passage({:?})", self.citation())
    }
}

/// What was forgotten, or would be.
#[pyclass(frozen, get_all, module = "commonplace._core")]
pub struct Forgotten {
    pub passages: Vec<Passage>,
    pub files: Vec<String>,
    pub revisions: usize,
    pub left: Vec<String>,
    pub token: String,
    pub erased: bool,
}

impl Forgotten {
    /// What a call found, and whether that is gone.
    pub fn new(found: forget::Forgotten, erased: bool) -> Self {
        let erased = erased && !found.is_empty();
        let passages = found.passages.into_iter().map(|passage| {
            let forget::Passage { path, first, last, text } = passage;
            Passage { path, first, last, text }
        });
        Self {
            passages: passages.collect(),
            files: found.files,
            revisions: found.revisions,
            left: found.left,
            token: found.token,
            erased,
        }
    }
}

#[pymethods]
impl Forgotten {
    fn __repr__(&self) -> String {
        let passages = counted(self.passages.len() as u64, "passage");
        let files = counted(self.files.len() as u64, "file");
        let done = if self.erased { "erased" } else { "planned" };
        let revisions = counted(self.revisions as u64, "old text");
        format!("Forgotten({done}: {passages}, {files}, {revisions})")
    }
}

/// What `retain` erased, or would.
#[pyclass(frozen, get_all, module = "commonplace._core")]
pub struct Retained {
    pub sessions: Vec<String>,
    pub files: Vec<String>,
    pub revisions: Vec<String>,
    pub bytes: u64,
    pub erased: bool,
}

impl Retained {
    /// What the rules do not keep, and whether that is gone.
    pub fn new(found: retain::Retained, erased: bool) -> Self {
        let retain::Retained { sessions, files, revisions, bytes } = found;
        let erased = erased && !(files.is_empty() && revisions.is_empty());
        Self { sessions, files, revisions, bytes, erased }
    }
}

#[pymethods]
impl Retained {
    fn __repr__(&self) -> String {
        let sessions = counted(self.sessions.len() as u64, "session");
        let revisions = counted(self.revisions.len() as u64, "old text");
        let done = if self.erased { "erased" } else { "planned" };
        format!("Retained({done}: {sessions}, {revisions}, {} B)", self.bytes)
    }
}

/// The rules of a call.
pub fn rules(
    history_since: Option<Timestamp>,
    history_count: Option<Count>,
    sessions_since: Option<Timestamp>,
    session_count: Option<Count>,
    total_bytes: Option<Count>,
) -> RetainRules {
    RetainRules {
        history_since: history_since.map(Timestamp::milliseconds),
        history_count: history_count.map(usize::from),
        sessions_since: sessions_since.map(Timestamp::milliseconds),
        session_count: session_count.map(usize::from),
        total_bytes: total_bytes.map(|bytes| bytes.0),
    }
}
