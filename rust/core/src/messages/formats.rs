//! Transcript formats: detection, and conversion to the lines of a `messages.jsonl`.
//!
//! Each message becomes one line,
//! `{"role":…,"content":<as it was>,"timestamp":…,"session":…,"id":…,"name":…}`,
//! with keys left out where the source has none. Nothing is dropped unseen: the
//! outcome counts what was skipped and why, and names the bad lines. Besides
//! files of lines, a JSON array of messages and a Claude.ai export are read.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::value::RawValue;

use crate::error::{Error, Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::messages::json::PullParser;
use crate::messages::json_string::decode;
use crate::messages::line_reader::LONGEST_LINE;
use crate::messages::message::{self, Fields, LazyMessage, ParsedLine, string_body, word};

/// A longer line is skipped and reported, as no index would hold it.
pub const MAX_LINE: usize = LONGEST_LINE;
/// A longer array is refused.
const MAX_ARRAY: u64 = 256 << 20;
/// Bytes that are taken at most to read a byte of an array.
const READ_ARRAY: u64 = 12;
/// How many numbers of bad lines are kept.
pub const MAX_BAD_LINES: usize = 20;
/// How many different reasons are told apart; the rest is `other`.
const MAX_REASONS: usize = 64;

/// Who wrote a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Claude Code's session files.
    ClaudeCode,
    /// The `stream-json` output of Claude Code.
    ClaudeStream,
    /// Codex rollouts.
    Codex,
    /// pi, OpenClaw and their kin.
    Pi,
    /// OpenAI chat messages with tool calls.
    OpenAi,
    /// A Claude.ai export.
    ClaudeAi,
    /// `{role, content}` and no more.
    Plain,
    /// No message was found.
    #[default]
    Unknown,
}

impl Format {
    /// The word that callers see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeStream => "claude-stream",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::OpenAi => "openai",
            Self::ClaudeAi => "claude-ai",
            Self::Plain => "plain",
            Self::Unknown => "unknown",
        }
    }
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The format of the first message.
    pub format: Format,
    /// Lines given to the sink.
    pub messages: u64,
    /// Lines that are no messages, counted by their `type` or another reason.
    pub skipped: BTreeMap<String, u64>,
    /// Lines that are not JSON or too long.
    pub bad_lines: u64,
    /// The numbers of the first [`MAX_BAD_LINES`] of them.
    pub first_bad_lines: Vec<u64>,
    /// Secrets that were replaced in what was stored, by kind.
    pub redacted: BTreeMap<String, u64>,
}

/// Reads a transcript and gives `sink` one line, with its line end, for each message.
///
/// Memory stays within some times [`MAX_LINE`] or what `limit` allows of it, or the whole of an
/// array. `progress` gets the bytes read so far. A sink's error ends the import and is returned.
///
/// # Errors
/// [`Error::Format`], [`Error::Memory`] for an array; [`Error::Io`]; [`Error::Interrupted`].
pub fn import(
    mut reader: impl BufRead,
    path: &str,
    limit: &MemoryLimit,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    progress: &mut dyn FnMut(u64),
    interrupt: Interrupt<'_>,
) -> Result<Imported> {
    let mut import = Import { sink, outcome: Imported::default(), session: None, out: Vec::new() };
    let (mut line, mut number, mut read, mut shown) = (Vec::new(), 0, 0, 0);
    let longest = limit.longest_line(MAX_LINE);
    if fill(&mut reader).map(opens_array).map_err(|e| Error::io("read", path, e))? {
        let text = whole_array(&mut reader, path, limit)?;
        import.array(&text, path)?;
        read = text.len() as u64;
    }
    loop {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let size =
            read_line(&mut reader, &mut line, longest).map_err(|e| Error::io("read", path, e))?;
        if size == 0 {
            break;
        }
        number += 1;
        read += size;
        match size > longest as u64 {
            true => import.bad(number),
            false => import.line(&line, number)?,
        }
        if read - shown >= 1 << 20 {
            shown = read;
            progress(read);
        }
    }
    progress(read);
    Ok(import.outcome)
}

/// Reads one line and gives its length, of which no more than `longest` bytes are kept.
pub(crate) fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    longest: usize,
) -> std::io::Result<u64> {
    line.clear();
    let mut size = 0;
    loop {
        let buffer = fill(reader)?;
        let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
        let taken = end.unwrap_or(buffer.len());
        line.extend_from_slice(&buffer[..taken.min(longest - line.len())]);
        reader.consume(taken);
        size += taken as u64;
        if end.is_some() || taken == 0 {
            return Ok(size);
        }
    }
}

/// Returns what can be read without waiting for more.
fn fill(reader: &mut impl BufRead) -> std::io::Result<&[u8]> {
    while let Err(error) = reader.fill_buf() {
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    reader.fill_buf()
}

/// Reads all of an array.
fn whole_array(reader: &mut impl BufRead, path: &str, limit: &MemoryLimit) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let step = (text.len() as u64).clamp(1 << 20, MAX_ARRAY);
        let needed = (text.len() as u64 + step) * READ_ARRAY;
        limit.check(&format!("importing {path:?}, which is one JSON array,"), needed)?;
        let read =
            std::io::Read::read_to_end(&mut std::io::Read::take(&mut *reader, step), &mut text);
        let read = read.map_err(|error| Error::io("read", path, error))?;
        if text.len() as u64 > MAX_ARRAY {
            let why = format!(
                "a JSON array of more than {} MiB; convert it to one message a line",
                MAX_ARRAY >> 20
            );
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        if (read as u64) < step {
            return Ok(text);
        }
    }
}

/// Whether a file that begins with these bytes is one array of objects.
fn opens_array(line: &[u8]) -> bool {
    match message::trim(line) {
        [b'['] => true,
        [b'[', rest @ ..] => rest.trim_ascii_start().starts_with(b"{"),
        _ => false,
    }
}

struct Import<'s> {
    sink: &'s mut dyn FnMut(&[u8]) -> Result<()>,
    outcome: Imported,
    /// The session that the file named before its messages.
    session: Option<String>,
    out: Vec<u8>,
}

impl Import<'_> {
    fn bad(&mut self, number: u64) {
        self.outcome.bad_lines += 1;
        if self.outcome.first_bad_lines.len() < MAX_BAD_LINES {
            self.outcome.first_bad_lines.push(number);
        }
    }

    fn skip(&mut self, reason: &str) {
        let skipped = &mut self.outcome.skipped;
        let known = skipped.contains_key(reason) || skipped.len() < MAX_REASONS;
        let reason = if known && reason.len() <= 64 { reason } else { "other" };
        *skipped.entry(reason.to_owned()).or_default() += 1;
    }

    fn line(&mut self, line: &[u8], number: u64) -> Result<()> {
        match message::parse_lazy(line) {
            ParsedLine::Message(lazy) => self.message(&lazy),
            ParsedLine::Blank => Ok(()),
            ParsedLine::Bad => {
                self.bad(number);
                Ok(())
            }
            ParsedLine::Other => {
                self.event(line);
                Ok(())
            }
        }
    }

    /// A line that is no message may name the session of those that follow.
    fn event(&mut self, line: &[u8]) {
        let fields =
            Fields::read(&mut PullParser::new(message::trim(line)), true).unwrap_or_default();
        let kind = fields.kind.and_then(word).unwrap_or_default();
        if matches!(&*kind, "session" | "session_meta") {
            let named = fields.inner.as_deref().unwrap_or(&fields);
            self.session = named.id.iter().flatten().find_map(|raw| word(raw));
        }
        self.skip(if kind.is_empty() { "other" } else { &kind });
    }

    fn array(&mut self, text: &[u8], path: &str) -> Result<()> {
        let refused =
            |why: &str| Error::Format { path: path.to_owned(), line: None, why: why.to_owned() };
        let mut elements = Vec::new();
        let mut parser = PullParser::new(message::trim(text));
        let whole = parser.array(|parser| {
            elements.push(parser.skip()?);
            Some(())
        });
        if whole.is_none() || !parser.is_done() {
            return Err(refused(
                "it begins like a JSON array but is none; expected one JSON object a line",
            ));
        }
        for (index, element) in elements.into_iter().enumerate() {
            match conversation(element) {
                Some((session, messages)) => {
                    self.session = session;
                    for message in messages {
                        self.export_message(message)?;
                    }
                }
                None => self.line(element, index as u64 + 1)?,
            }
        }
        Ok(())
    }

    /// One element of `chat_messages` in a Claude.ai export.
    fn export_message(&mut self, raw: &[u8]) -> Result<()> {
        let mut role = String::new();
        let (mut text, mut time, mut id) = (None, None, None);
        let mut parser = PullParser::new(raw);
        let _ = parser.object(|key, parser| {
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
        if role == "human" {
            role = "user".to_owned();
        }
        let Some(text) = text.filter(|raw| string_body(raw).is_some()) else {
            self.skip("no text");
            return Ok(());
        };
        self.found(Format::ClaudeAi);
        self.begin(&role);
        self.put("content", Some(text));
        self.put("timestamp", time);
        self.put_session(None);
        self.put("id", id);
        self.finish(|| decode(string_body(text).unwrap_or_default()).into_owned())
    }

    fn message(&mut self, lazy: &LazyMessage<'_>) -> Result<()> {
        self.found(format_of(lazy));
        let (outer, core) = (&lazy.outer, lazy.body());
        self.begin(&lazy.role());
        match (core.content, core.arguments, core.output, core.summary) {
            (None, Some(arguments), ..) => {
                self.put_block("tool_use", "input", core.name[0], arguments)
            }
            (None, _, Some(output), _) => self.put_block("tool_result", "content", None, output),
            (None, _, _, Some(summary)) => self.put_block("reasoning", "content", None, summary),
            (content, ..) => self.put("content", Some(content.unwrap_or(b"null"))),
        }
        let first = |a: &[Option<&'_ [u8]>], b: &[Option<&'_ [u8]>]| {
            let scalar = |raw: &&[u8]| word(raw).is_some();
            a.iter().chain(b).flatten().find(|raw| scalar(raw)).map(|raw| raw.to_vec())
        };
        self.put("timestamp", first(&outer.time, &core.time).as_deref());
        self.put_session(first(&outer.session, &core.session).as_deref());
        self.put("id", first(&outer.id, &core.id).as_deref());
        if core.arguments.is_none() {
            self.put("name", first(&core.name, &outer.name).as_deref());
        }
        self.put("tool_calls", core.tool_calls);
        self.put("tool_call_id", core.tool_call_id);
        self.put("isMeta", outer.is_meta.filter(|raw| *raw == b"true"));
        self.finish(|| lazy.text(true).into_owned())
    }

    fn found(&mut self, format: Format) {
        if self.outcome.messages == 0 {
            self.outcome.format = format;
        }
        self.outcome.messages += 1;
    }

    fn begin(&mut self, role: &str) {
        self.out.clear();
        self.out.extend_from_slice(b"{\"role\":");
        self.out.extend_from_slice(serde_json::Value::from(role).to_string().as_bytes());
    }

    fn put(&mut self, key: &str, raw: Option<&[u8]>) {
        if let Some(raw) = raw {
            self.out.extend_from_slice(format!(",\"{key}\":").as_bytes());
            self.out.extend_from_slice(raw);
        }
    }

    fn put_block(&mut self, kind: &str, key: &str, name: Option<&[u8]>, value: &[u8]) {
        self.put("content", Some(format!("[{{\"type\":\"{kind}\"").as_bytes()));
        self.put("name", name);
        self.put(key, Some(value));
        self.out.extend_from_slice(b"}]");
    }

    fn put_session(&mut self, raw: Option<&[u8]>) {
        let named = self.session.clone().map(|name| serde_json::Value::from(name).to_string());
        self.put("session", raw.or(named.as_deref().map(str::as_bytes)));
    }

    /// Ends the line. Where the source was not strict JSON, its text stands for the content.
    fn finish(&mut self, text: impl FnOnce() -> String) -> Result<()> {
        self.out.push(b'}');
        // An array may be laid out over many lines.
        self.out
            .iter_mut()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
        if serde_json::from_slice::<&RawValue>(&self.out).is_err() {
            let role = Fields::read(&mut PullParser::new(&self.out), true)
                .and_then(|fields| word(fields.role?));
            let plain = serde_json::json!({ "role": role.unwrap_or_default(), "content": text() });
            self.out = plain.to_string().into_bytes();
        }
        self.out.push(b'\n');
        (self.sink)(&self.out)
    }
}

/// The id and messages of a Claude.ai conversation.
fn conversation(element: &[u8]) -> Option<(Option<String>, Vec<&[u8]>)> {
    let (mut session, mut messages) = (None, None);
    PullParser::new(element).object(|key, parser| {
        match key {
            b"uuid" => session = word(parser.skip()?),
            b"chat_messages" if parser.peek()? == b'[' => {
                let mut all = Vec::new();
                parser.array(|parser| {
                    all.push(parser.skip()?);
                    Some(())
                })?;
                messages = Some(all);
            }
            _ => drop(parser.skip()?),
        }
        Some(())
    })?;
    Some((session, messages?))
}

fn format_of(lazy: &LazyMessage<'_>) -> Format {
    let outer = &lazy.outer;
    let kind = outer.kind.and_then(word);
    match (&outer.inner, kind.as_deref()) {
        (Some(_), _) if outer.payload => Format::Codex,
        (Some(_), Some("message")) => Format::Pi,
        (Some(_), _) if outer.session[1].is_some() => Format::ClaudeCode,
        (Some(_), _) => Format::ClaudeStream,
        (None, _) if outer.tool_calls.is_some() || outer.tool_call_id.is_some() => Format::OpenAi,
        (None, _) => Format::Plain,
    }
}
