//! Exports of ChatGPT: an array of conversations, each a tree of messages in `mapping`.
//!
//! Source: `docs/chatgpt-data-export-format.md` of mitkury/chatgpt-export-parser (MIT). All branches
//! are read, in the order of the tree; each message names its parent.

use serde_json::{Value, json};

use super::{ImportSink, MessageLine, Record, SessionHeader, TranscriptFormat};
use crate::error::Result;

/// Exports of ChatGPT.
#[derive(Debug)]
pub(super) struct ChatGpt;

impl TranscriptFormat for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some_and(|fields| fields.has("mapping") && fields.role.is_none())
    }

    fn read(&self, record: Record<'_>, sink: &mut ImportSink<'_>) -> Result<()> {
        let Ok(conversation) = serde_json::from_slice::<Value>(record.text()) else {
            sink.skip("not strict JSON");
            return Ok(());
        };
        let text = |key: &str| conversation[key].as_str().map(str::to_owned);
        sink.begin_session(SessionHeader {
            id: text("conversation_id").or_else(|| text("id")),
            model: text("default_model_slug"),
            title: text("title").filter(|title| !title.is_empty()),
            started: conversation["create_time"].as_f64().map(|time| time.to_string()),
            ..SessionHeader::default()
        });
        in_tree_order(&conversation["mapping"]).into_iter().try_for_each(|node| message(node, sink))
    }
}

/// The nodes of a tree, each before its children and these in their order.
fn in_tree_order(mapping: &Value) -> Vec<&Value> {
    let Some(nodes) = mapping.as_object() else { return Vec::new() };
    let is_root = |node: &&Value| node["parent"].as_str().is_none_or(|up| !nodes.contains_key(up));
    let mut todo: Vec<&Value> = nodes.values().filter(is_root).collect();
    todo.reverse();
    let mut ordered = Vec::new();
    // no more than there are, should children name their parents
    while let Some(node) = todo.pop().filter(|_| ordered.len() < nodes.len()) {
        ordered.push(node);
        let children = node["children"].as_array().into_iter().flatten().rev();
        todo.extend(children.filter_map(|id| nodes.get(id.as_str()?)));
    }
    ordered
}

fn message(node: &Value, sink: &mut ImportSink<'_>) -> Result<()> {
    let message = &node["message"];
    let Some(role) = message["author"]["role"].as_str() else {
        return Ok(());
    };
    let content = content(&message["content"], message["recipient"].as_str());
    if content.is_empty() {
        sink.skip("no text");
        return Ok(());
    }
    if sink.session().model.is_none() {
        sink.session().model = message["metadata"]["model_slug"].as_str().map(str::to_owned);
    }
    let is_hidden = message["metadata"]["is_visually_hidden_from_conversation"] == true;
    let time = message["create_time"].is_number().then(|| message["create_time"].to_string());
    let line = MessageLine::new(role)
        .json("content", Value::from(content).to_string().as_bytes())
        .json("timestamp", time.as_deref().map(str::as_bytes))
        .text("id", message["id"].as_str())
        .text("name", message["author"]["name"].as_str())
        .json("isMeta", (is_hidden || role == "system").then_some(&b"true"[..]))
        .text("parent", node["parent"].as_str());
    sink.message(line)
}

/// The blocks of a message: what was said as text, the rest under its type.
fn content(content: &Value, recipient: Option<&str>) -> Vec<Value> {
    let kind = content["content_type"].as_str().unwrap_or("text");
    let is_text_block =
        matches!(kind, "text" | "multimodal_text") && recipient.is_none_or(|to| to == "all");
    let block = if is_text_block { "text" } else { kind };
    let block = if block == "text" && !is_text_block { "tool_use" } else { block };
    let mut blocks = Vec::new();
    for part in content["parts"].as_array().into_iter().flatten() {
        // what was spoken comes with its transcription
        if let Some(text) = part.as_str().or(part["text"].as_str()).filter(|text| !text.is_empty())
        {
            blocks.push(json!({ "type": block, "text": text }));
        }
    }
    for key in ["text", "result", "content", "thoughts", "user_profile", "user_instructions"] {
        if !matches!(&content[key], Value::Null) && content[key] != "" {
            blocks.push(json!({ "type": block, "content": content[key] }));
        }
    }
    blocks
}
