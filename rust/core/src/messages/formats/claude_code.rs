//! Session files of Claude Code: `type: user|assistant`, `sessionId`, `message: {role, content}`.
//!
//! Source: session files as Claude Code writes them below `~/.claude/projects`; the format is
//! declared internal, so it is read leniently.

use super::{Record, TranscriptFormat};
use crate::messages::fields::Fields;

/// Session files of Claude Code.
#[derive(Debug)]
pub(super) struct ClaudeCode;

impl TranscriptFormat for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| line.session[1].is_some() && line.inner.is_some())
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        line.wraps_message(&["user", "assistant", "system", "human"])
    }
}
