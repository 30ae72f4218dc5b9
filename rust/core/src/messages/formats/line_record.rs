//! Import of a line of JSON that is one message: reads its fields and passes them to the sink.

use super::{ImportSink, MessageLine, Record, TranscriptFormat};
use crate::error::Result;
use crate::messages::fields::{Fields, is_tool_role, word};
use crate::messages::lazy_message::LazyMessage;

/// Reads a record that is one message, or an event of `type`.
pub(super) fn read<F: TranscriptFormat + ?Sized>(
    format: &F,
    record: Record<'_>,
    sink: &mut ImportSink<'_>,
) -> Result<()> {
    if let Some(fields) = &record.fields {
        sink.session().note(fields);
    }
    format.describe(&record, sink.session());
    let Some(fields) = record.fields else {
        sink.skip("other");
        return Ok(());
    };
    if !format.is_message(&fields) {
        sink.skip(fields.kind().as_deref().unwrap_or("other"));
        return Ok(());
    }
    let message = super::lazy_message(format, fields);
    let session = sink.session().id.clone();
    sink.message(line(format.name(), &message, session.as_deref()))
}

fn line(format: &str, message: &LazyMessage<'_>, session: Option<&str>) -> MessageLine {
    let (outer, core) = (&message.outer, message.body());
    let line = content(MessageLine::new(&message.role()), core);
    let line = line.json("timestamp", first(&outer.time, &core.time));
    let line = match first(&outer.session, &core.session) {
        None => line.text("session", session),
        own => line.json("session", own),
    };
    let line = line.json("id", first(&outer.id, &core.id));
    // the name of a call is its tool's
    let name = first(&core.name, &outer.name).filter(|_| core.arguments.is_none());
    let is_true = |raw: &&[u8]| *raw == b"true";
    let is_meta = message.is_tool && !is_tool_role(&message.role());
    // where the host's rules tell what was said, they must be known to who reads the line
    let source = (!message.is_tool && message.has_harness_text())
        .then(|| outer.format.and_then(word).unwrap_or_else(|| format.to_owned()));
    line.json("name", name)
        .json("tool_calls", core.tool_calls)
        .json("tool_call_id", core.tool_call_id)
        .json("isMeta", is_meta.then_some(&b"true"[..]))
        .json("isCompactSummary", outer.is_summary.filter(is_true))
        .text("format", source.as_deref())
        .json("parent", outer.parent.filter(|raw| word(raw).is_some()))
}

/// Adds the content, for which a call or an answer of a tool stands where a host has that apart.
fn content(line: MessageLine, core: &Fields<'_>) -> MessageLine {
    let block = |kind: &str, key: &str, name: Option<&[u8]>, value: &[u8]| {
        let mut json = format!("[{{\"type\":\"{kind}\"").into_bytes();
        for (key, value) in [("name", name), (key, Some(value))] {
            if let Some(value) = value {
                json.extend_from_slice(format!(",\"{key}\":").as_bytes());
                json.extend_from_slice(value);
            }
        }
        json.extend_from_slice(b"}]");
        json
    };
    let block = match (core.content, core.arguments, core.output, core.summary) {
        (None, Some(arguments), ..) => block("tool_use", "input", core.name[0], arguments),
        (None, _, Some(output), _) => block("tool_result", "content", None, output),
        (None, _, _, Some(summary)) => block("reasoning", "content", None, summary),
        (content, ..) => return line.json("content", content.unwrap_or(b"null")),
    };
    line.json("content", &*block)
}

/// The first string or number.
fn first<'a>(a: &[Option<&'a [u8]>], b: &[Option<&'a [u8]>]) -> Option<&'a [u8]> {
    a.iter().chain(b).flatten().copied().find(|raw| word(raw).is_some())
}
