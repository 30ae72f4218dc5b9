//! Exports of Claude.ai: an array of conversations, each with its `chat_messages`.
//!
//! Source: `conversations.json` as the export of Claude.ai has it.

use super::{ImportSink, MessageLine, Record, SessionHeader, TranscriptFormat};
use crate::error::Result;
use crate::messages::fields::{string_body, word};
use crate::messages::json::PullParser;

/// Exports of Claude.ai.
#[derive(Debug)]
pub(super) struct ClaudeAi;

impl TranscriptFormat for ClaudeAi {
    fn name(&self) -> &'static str {
        "claude-ai"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|line| line.has("chat_messages"))
    }

    fn read(&self, record: Record<'_>, sink: &mut ImportSink<'_>) -> Result<()> {
        let (mut header, mut messages) = (SessionHeader::default(), Vec::new());
        let _ = PullParser::new(record.text()).object(|key, parser| {
            match key {
                b"uuid" => header.id = word(parser.skip()?),
                b"name" => header.set_title(word(parser.skip()?)),
                b"model" => header.model = word(parser.skip()?),
                b"created_at" => header.started = word(parser.skip()?),
                b"chat_messages" if parser.peek()? == b'[' => parser.array(|parser| {
                    messages.push(parser.skip()?);
                    Some(())
                })?,
                _ => drop(parser.skip()?),
            }
            Some(())
        });
        sink.begin_session(header);
        messages.into_iter().try_for_each(|raw| message(raw, sink))
    }
}

/// Reads an element of `chat_messages`.
fn message(raw: &[u8], sink: &mut ImportSink<'_>) -> Result<()> {
    let mut role = String::new();
    let (mut text, mut time, mut id) = (None, None, None);
    let _ = PullParser::new(raw).object(|key, parser| {
        let value = parser.skip()?;
        match key {
            b"sender" => role = word(value).unwrap_or_default(),
            b"text" => text = Some(value),
            b"created_at" => time = Some(value),
            b"uuid" => id = Some(value),
            _ => {}
        }
        Some(())
    });
    let Some(text) = text.filter(|raw| string_body(raw).is_some()) else {
        sink.skip("no text");
        return Ok(());
    };
    let session = sink.session().id.clone();
    let role = if role == "human" { "user" } else { &role };
    let line = MessageLine::new(role).json("content", text).json("timestamp", time);
    sink.message(line.text("session", session.as_deref()).json("id", id))
}
