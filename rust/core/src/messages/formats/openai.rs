//! OpenAI chat messages with tool calls: `{role, content, tool_calls?, tool_call_id?}`.
//!
//! Source: the reference of the Chat Completions API.

use super::{Record, TranscriptFormat};

/// OpenAI chat.
#[derive(Debug)]
pub(super) struct OpenAi;

impl TranscriptFormat for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| {
            line.inner.is_none() && (line.tool_calls.is_some() || line.tool_call_id.is_some())
        })
    }
}
