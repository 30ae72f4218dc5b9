//! pi, OpenClaw and compatible programs: `type: message`, `message: {role, content}`.
//!
//! Source: `packages/coding-agent/docs/session-format.md` of badlogic/pi-mono (MIT).

use super::{HarnessText, HostFolder, Record, SessionHeader, TranscriptFormat};
use crate::messages::fields::{Fields, member, word};

/// What pi writes as a user: for `/skill:name`, with what the person typed behind it, and for `@file`.
const HARNESS_TEXT: HarnessText = HarnessText {
    leading_followed_by: &[("file", " name="), ("skill", " name=")],
    ..HarnessText::NONE
};

/// Session files of pi.
#[derive(Debug)]
pub(super) struct Pi;

impl TranscriptFormat for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn folder(&self) -> Option<HostFolder> {
        Some(HostFolder {
            variables: &[("PI_CODING_AGENT_SESSION_DIR", ""), ("PI_CODING_AGENT_DIR", "sessions")],
            home: ".pi/agent/sessions",
            sessions: &[""],
            within: None,
            extensions: &["jsonl"],
            database: None,
        })
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| match line.kind().as_deref() {
            Some("message") => line.inner.is_some(),
            Some("session" | "session_info" | "model_change") => line.role.is_none(),
            _ => false,
        })
    }

    fn describe(&self, record: &Record<'_>, session: &mut SessionHeader) {
        let Some(line) = record.fields() else { return };
        match line.kind().as_deref() {
            Some("session") => {
                let named = line.inner.as_deref().unwrap_or(line);
                session.id = named.id.iter().flatten().find_map(|raw| word(raw));
                session.started = named.time[0].and_then(word);
            }
            Some("session_info") => session.set_title(line.name[0].and_then(word)),
            Some("model_change") if session.model.is_none() => {
                session.model = member(record.text(), "modelId").and_then(word);
            }
            _ => {}
        }
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        line.wraps_message(&["message"])
    }

    fn is_tool(&self, line: &Fields<'_>, role: &str) -> bool {
        // what extensions and the shell put into the context
        line.is_tool_message(role) || matches!(role, "custom" | "hookMessage" | "bashExecution")
    }

    fn harness_text(&self, role: &str) -> &'static HarnessText {
        if role == "user" { &HARNESS_TEXT } else { &HarnessText::NONE }
    }
}
