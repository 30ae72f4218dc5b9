//! Exports of Claude.ai: an array of conversations, each with its `chat_messages`.
//!
//! Source: `conversations.json` as the export of Claude.ai has it. `text` is what was said, but empty
//! in some exports, and with a notice in place of each use of a tool; `content` has the blocks.
//! What a user pastes comes as an attachment, with its text in `extracted_content`.

use memchr::memmem;
use serde_json::{Value, json};

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

/// What stands in `text` for a block that is none of text.
const NOTICE: &[u8] = b"This block is not supported on your current device yet.";

/// Reads an element of `chat_messages`.
fn message(raw: &[u8], sink: &mut ImportSink<'_>) -> Result<()> {
    let mut role = String::new();
    let (mut text, mut time, mut id) = (None, None, None);
    let mut has_attachments = false;
    let _ = PullParser::new(raw).object(|key, parser| {
        let value = parser.skip()?;
        match key {
            b"sender" => role = word(value).unwrap_or_default(),
            b"text" => text = Some(value),
            b"created_at" => time = Some(value),
            b"uuid" => id = Some(value),
            b"attachments" => has_attachments = value != b"[]",
            _ => {}
        }
        Some(())
    });
    let is_whole = text
        .and_then(string_body)
        .is_some_and(|body| !body.is_empty() && memmem::find(body, NOTICE).is_none());
    let blocks = if is_whole && !has_attachments { None } else { blocks(raw, is_whole) };
    let blocks = blocks.map(|blocks| Value::from(blocks).to_string());
    let text = blocks
        .as_ref()
        .map(|blocks| blocks.as_bytes())
        .or_else(|| text.filter(|raw| string_body(raw).is_some()));
    let Some(text) = text else {
        sink.skip("no text");
        return Ok(());
    };
    let session = sink.session().id.clone();
    let role = if role == "human" { "user" } else { &role };
    let line = MessageLine::new(role).json("content", text).json("timestamp", time);
    sink.message(line.text("session", session.as_deref()).json("id", id))
}

/// The blocks of a message with its attachments; what was said comes from `text` if that `is_whole`.
/// None if there is nothing in it.
fn blocks(raw: &[u8], is_whole: bool) -> Option<Vec<Value>> {
    let message: Value = serde_json::from_slice(raw).ok()?;
    let list = |key: &str| message[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut blocks = match is_whole {
        true => vec![json!({ "type": "text", "text": message["text"] })],
        false => list("content").iter().filter_map(block).collect(),
    };
    let attached = list("attachments").iter().filter_map(|file| {
        let text = file["extracted_content"].as_str().filter(|text| !text.is_empty())?;
        Some(json!({ "type": "attachment", "name": file["file_name"], "text": text }))
    });
    blocks.extend(attached);
    (!blocks.is_empty()).then_some(blocks)
}

/// A block without what only the page of Claude.ai needs.
fn block(block: &Value) -> Option<Value> {
    match block["type"].as_str()? {
        "text" => Some(json!({ "type": "text", "text": block["text"] })),
        "thinking" => Some(json!({ "type": "thinking", "thinking": block["thinking"] })),
        "tool_use" => {
            Some(json!({ "type": "tool_use", "name": block["name"], "input": block["input"] }))
        }
        "tool_result" => Some(json!({ "type": "tool_result", "content": block["content"] })),
        _ => None,
    }
}
