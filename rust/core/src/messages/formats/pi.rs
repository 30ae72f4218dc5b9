//! pi, OpenClaw and their kin: `type: message`, `message: {role, content}`.
//!
//! Source: the session format in the documents of pi's coding agent.

use super::{Record, SessionHeader, TranscriptFormat};
use crate::messages::fields::{Fields, word};

/// Session files of pi.
#[derive(Debug)]
pub(super) struct Pi;

impl TranscriptFormat for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| match line.kind().as_deref() {
            Some("message") => line.inner.is_some(),
            Some("session") => line.role.is_none(),
            _ => false,
        })
    }

    fn describe(&self, record: &Record<'_>, session: &mut SessionHeader) {
        if let Some(line) = record.fields().filter(|line| line.kind().as_deref() == Some("session"))
        {
            let named = line.inner.as_deref().unwrap_or(line);
            session.id = named.id.iter().flatten().find_map(|raw| word(raw));
        }
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        line.wraps_message(&["message"])
    }
}
