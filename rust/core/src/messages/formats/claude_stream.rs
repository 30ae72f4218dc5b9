//! The `stream-json` output of Claude Code: `type: user|assistant`, `message: {role, content}`.
//!
//! Source: the documents of Claude Code's command line and of its SDK.

use super::claude_code::HARNESS_TEXT;
use super::{HarnessText, Record, TranscriptFormat};
use crate::messages::fields::Fields;

/// `claude -p --output-format stream-json`.
#[derive(Debug)]
pub(super) struct ClaudeStream;

impl TranscriptFormat for ClaudeStream {
    fn name(&self) -> &'static str {
        "claude-stream"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| {
            let is_init = line.session[2].is_some() && line.kind().as_deref() == Some("system");
            line.inner.is_some() || is_init && line.role.is_none()
        })
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        match (&line.inner, line.kind) {
            (Some(inner), None) => inner.role.is_some() && inner.is_content(),
            _ => line.wraps_message(&["user", "assistant", "system", "human"]),
        }
    }

    fn harness_text(&self, role: &str) -> &'static HarnessText {
        if role == "user" { &HARNESS_TEXT } else { &HarnessText::NONE }
    }
}
