//! Sessions of Gemini CLI: `type: user|gemini`, `content`, `toolCalls`; one message a line behind a
//! header with `projectHash`, or all in the `messages` of one document.
//!
//! Source: `packages/core/src/services/chatRecordingTypes.ts` and `chatRecordingService.ts` of
//! google-gemini/gemini-cli (Apache-2.0). A message that grew is written again under its id.

use std::borrow::Cow;

use super::{HostFolder, ImportSink, Record, SessionHeader, TranscriptFormat, line_record};
use crate::error::Result;
use crate::messages::fields::{Fields, member, word};
use crate::messages::harness_text::HarnessText;
use crate::messages::json::PullParser;

/// Sessions of Gemini CLI.
#[derive(Debug)]
pub(super) struct Gemini;

/// What Gemini CLI writes as a user; the text of hooks stands before and behind the prompt.
const HARNESS_TEXT: HarnessText =
    HarnessText { leading: &["session_context"], anywhere: &["hook_context"], ..HarnessText::NONE };

impl TranscriptFormat for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn folder(&self) -> Option<HostFolder> {
        Some(HostFolder {
            variables: &[("GEMINI_CLI_HOME", ".gemini")],
            home: ".gemini",
            sessions: &["tmp"],
            within: Some("chats"),
            extensions: &["json", "jsonl"],
            database: None,
        })
    }

    fn rewrites_messages(&self) -> bool {
        true
    }

    fn is_document(&self, first_line: &[u8]) -> bool {
        first_line == b"{"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        let is_event = |text: &[u8]| text.starts_with(b"{\"$set\"");
        record.fields().is_some_and(|line| {
            line.has("projectHash") || self.is_message(line) || is_event(record.text())
        })
    }

    fn read(&self, record: Record<'_>, sink: &mut ImportSink<'_>) -> Result<()> {
        if !record.fields().is_some_and(|fields| fields.has("messages")) {
            return line_record::read(self, record, sink);
        }
        self.describe(&record, sink.session());
        let mut messages = Vec::new();
        let list = member(record.text(), "messages").unwrap_or_default();
        let _ = PullParser::new(list).array(|parser| {
            messages.push(parser.skip()?);
            Some(())
        });
        messages.into_iter().try_for_each(|text| {
            let fields = Fields::read(&mut PullParser::new(text), true);
            line_record::read(self, Record { text, fields }, sink)
        })
    }

    fn describe(&self, record: &Record<'_>, session: &mut SessionHeader) {
        let Some(line) = record.fields() else { return };
        if line.has("projectHash") {
            session.id = line.session[1].and_then(word);
            session.started = member(record.text(), "startTime").and_then(word);
        }
        let said =
            member(record.text(), "$set").or(line.has("projectHash").then_some(record.text()));
        if let Some(said) = said {
            session.set_title(member(said, "summary").and_then(word));
        }
    }

    fn is_message(&self, line: &Fields<'_>) -> bool {
        let is_bare = line.inner.is_none() && line.role.is_none() && line.content.is_some();
        is_bare
            && line.is_content()
            && line.id[1].is_some()
            && line.time[0].is_some()
            && matches!(line.kind().as_deref(), Some("user" | "gemini"))
    }

    fn harness_text(&self, role: &str) -> &'static HarnessText {
        if role == "user" { &HARNESS_TEXT } else { &HarnessText::NONE }
    }

    fn role<'a>(&self, line: &Fields<'a>) -> Cow<'a, str> {
        match line.kind().as_deref() {
            Some("user") => "user".into(),
            _ => "assistant".into(),
        }
    }
}
