//! Session metadata as a Python object.

use commonplace_core::store::sessions;
use pyo3::prelude::*;

use crate::results::{counted, seconds};

/// A transcript with messages, and what is known of its session.
#[pyclass(frozen, get_all, eq, module = "commonplace")]
#[derive(PartialEq)]
pub struct Session {
    pub path: String,
    pub id: String,
    pub short_id: String,
    pub host: String,
    pub project: String,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub model: Option<String>,
    pub title: Option<String>,
    pub started: Option<f64>,
    pub ended: Option<f64>,
    pub modified: f64,
    pub messages: usize,
    pub tool_messages: usize,
    pub copies: usize,
    pub size: u64,
    pub parent: Option<String>,
}

impl From<sessions::Session> for Session {
    fn from(session: sessions::Session) -> Self {
        Self {
            path: session.path,
            id: session.id,
            short_id: session.short_id,
            host: session.host,
            project: session.project,
            cwd: session.cwd,
            git_branch: session.git_branch,
            model: session.model,
            title: session.title,
            started: session.started.map(seconds),
            ended: session.ended.map(seconds),
            modified: seconds(session.modified),
            messages: session.messages,
            tool_messages: session.tool_messages,
            copies: session.copies,
            size: session.size,
            parent: session.parent,
        }
    }
}

#[pymethods]
impl Session {
    fn __repr__(&self) -> String {
        let title = self.title.as_deref().unwrap_or_default();
        let messages = counted(self.messages as u64, "message");
        format!("Session({:?}, {title:?}, {messages})", self.short_id)
    }
}
