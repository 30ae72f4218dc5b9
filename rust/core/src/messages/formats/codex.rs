//! Codex rollouts: `type: response_item`, `payload: {role, content}` or a function call.
//!
//! Source: `codex-rs/protocol/src/protocol.rs`, `codex-rs/core/src/contextual_user_message.rs` of
//! openai/codex (Apache-2.0).

use std::borrow::Cow;

use super::{HarnessText, HostFolder, Record, SessionHeader, TranscriptFormat};
use crate::messages::fields::{Fields, member, word};

/// Codex rollouts.
#[derive(Debug)]
pub(super) struct Codex;

/// The heading before what the user asks.
const REQUEST: &str = "## My request for Codex:";

/// What Codex writes as a user.
const HARNESS_TEXT: HarnessText = HarnessText {
    beginnings: &["# AGENTS.md instructions for "],
    // of its extensions for editors
    prefaces: &[
        ("# Context from my IDE setup:", REQUEST),
        ("# Files mentioned by the user:", REQUEST),
    ],
    leading: &[
        "additional_context",
        "codex_internal_context",
        "collaboration_mode",
        "environment_context",
        "goal_context",
        "hook_prompt",
        "model_switch",
        "permissions instructions",
        "personality_spec",
        "realtime_conversation",
        "recommended_plugins",
        "skill_instructions",
        "subagent_notification",
        "turn_aborted",
        "user_instructions",
        "user_shell_command",
    ],
    leading_followed_by: &[("skill", ">\\n"), ("user_action", ">\\n")],
    ..HarnessText::NONE
};

impl TranscriptFormat for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn folder(&self) -> Option<HostFolder> {
        Some(HostFolder {
            variables: &[("CODEX_HOME", "")],
            home: ".codex",
            sessions: &["sessions", "archived_sessions"],
            within: None,
            extensions: &["jsonl"],
            database: None,
        })
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| line.payload && line.inner.is_some())
    }

    fn describe(&self, record: &Record<'_>, session: &mut SessionHeader) {
        if let Some(line) = record.fields()
            && let (Some("session_meta"), Some(payload)) = (line.kind().as_deref(), &line.inner)
            // a fork holds that of its origin as well
            && session.id.is_none()
        {
            session.id = payload.id.iter().flatten().find_map(|raw| word(raw));
            session.started = payload.time[0].and_then(word);
            let git = member(record.text(), "payload").and_then(|payload| member(payload, "git"));
            session.git_branch = git.and_then(|git| member(git, "branch")).and_then(word);
        }
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        let Some(payload) = line.inner.as_deref() else {
            return false;
        };
        if payload.content.is_some() && !payload.is_content() {
            return false;
        }
        match line.kind().as_deref() {
            Some("response_item") => match payload.kind().as_deref() {
                Some("function_call" | "custom_tool_call") => payload.name[0].is_some(),
                Some("function_call_output" | "custom_tool_call_output") => {
                    payload.output.is_some()
                }
                Some("reasoning") => true,
                _ => payload.role.is_some(),
            },
            None => payload.role.is_some(),
            _ => false,
        }
    }

    fn role<'a>(&self, line: &Fields<'a>) -> Cow<'a, str> {
        match line.inner.as_deref() {
            Some(payload) if payload.role.is_none() && payload.output.is_some() => "tool".into(),
            Some(payload) if payload.role.is_none() => "assistant".into(),
            _ => line.written_role(),
        }
    }

    fn is_tool(&self, line: &Fields<'_>, role: &str) -> bool {
        line.is_tool_message(role) || role == "developer"
    }

    fn harness_text(&self, role: &str) -> &'static HarnessText {
        if role == "user" { &HARNESS_TEXT } else { &HarnessText::NONE }
    }
}
