//! The `stream-json` output of Claude Code: `type: user|assistant`, `message: {role, content}`.
//!
//! Source: the documents of Claude Code's command line and of its SDK.

use super::{Record, TranscriptFormat};
use crate::messages::fields::Fields;

/// `claude -p --output-format stream-json`.
#[derive(Debug)]
pub(super) struct ClaudeStream;

impl TranscriptFormat for ClaudeStream {
    fn name(&self) -> &'static str {
        "claude-stream"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| line.inner.is_some())
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        match (&line.inner, line.kind) {
            (Some(inner), None) => inner.role.is_some() && inner.is_content(),
            _ => line.wraps_message(&["user", "assistant", "system", "human"]),
        }
    }
}
