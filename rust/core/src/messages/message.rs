//! Message parser: one line of a transcript, in any of the formats that agents write.
//!
//! The shape is told from each line alone, so a `messages.jsonl` may hold lines
//! of several kinds, verbatim:
//!
//! | written by | shape |
//! |---|---|
//! | Claude Code, Claude stream-json | `type: user\|assistant`, `message: {role, content}` |
//! | Codex | `type: response_item`, `payload: {role, content}` or a function call |
//! | pi and its kin | `type: message`, `message: {role, content}` |
//! | OpenAI chat | `{role, content, tool_calls?}` |
//! | plain | `{role?, content, timestamp?, name?, session?}` |
//!
//! The **conversation text** of people and models is string content and `text` blocks. Tool
//! input and output, thinking, and what a harness injected (`isMeta`) are kept
//! apart as **tool traffic**. Of duplicate keys the last one counts.

use std::borrow::Cow;

use crate::messages::json::PullParser;
use crate::messages::json_string::{decode, decode_into};
use crate::text::time::parse_time;

mod fields;
mod tool_skip;

pub(crate) use fields::{Fields, string_body, word};
pub(crate) use tool_skip::skip_tool_string;

use fields::{RawJson, first_word, unescaped};

/// One message, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// `user`, `assistant`, `system`, `tool`, … as written; empty when the line names none.
    pub role: String,
    /// The speaker's name.
    pub name: Option<String>,
    /// The time as written.
    pub time: Option<String>,
    /// The time in milliseconds since 1970, where it can be read.
    pub timestamp_ms: Option<i64>,
    /// The session or conversation the message belongs to.
    pub session: Option<String>,
    /// The message's own id.
    pub id: Option<String>,
    /// Text of people and models, without tool traffic; parts are joined by a newline.
    pub text: String,
    /// Tool input and output, thinking, injected text; parts are joined by a newline.
    pub tools: String,
}

/// One line, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedLine<T> {
    /// A message.
    Message(T),
    /// Sound JSON that is no message: progress, snapshots, summaries, other values.
    Other,
    /// Only white space or NUL bytes, as a crash may leave them.
    Blank,
    /// Not JSON.
    Bad,
}

/// Reads one line; a line end, white space and NUL bytes around it are ignored.
pub fn parse(line: &[u8]) -> ParsedLine<Message> {
    match parse_lazy(line) {
        ParsedLine::Message(lazy) => ParsedLine::Message(lazy.message()),
        ParsedLine::Other => ParsedLine::Other,
        ParsedLine::Blank => ParsedLine::Blank,
        ParsedLine::Bad => ParsedLine::Bad,
    }
}

/// Cuts off what surrounds the JSON of a line.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let inside = |b: &u8| !matches!(b, 0 | b' ' | b'\t' | b'\r' | b'\n');
    let Some(start) = line.iter().position(inside) else {
        return &[];
    };
    let end = line.iter().rposition(inside).map_or(start, |last| last + 1);
    // Windows editors put a byte order mark before the first line.
    let line = &line[start..end];
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

/// A message whose fields are located in its line but not yet decoded.
#[derive(Clone, Debug)]
pub(crate) struct LazyMessage<'a> {
    pub outer: Fields<'a>,
    /// Everything in it counts as tools: a tool's answer or injected text.
    is_tool: bool,
}

pub(crate) fn parse_lazy(line: &[u8]) -> ParsedLine<LazyMessage<'_>> {
    let line = trim(line);
    let Some(first) = line.first() else {
        return ParsedLine::Blank;
    };
    let mut parser = PullParser::new(line);
    if *first != b'{' {
        let sound = parser.skip().is_some() && parser.is_done();
        return if sound { ParsedLine::Other } else { ParsedLine::Bad };
    }
    match Fields::read(&mut parser, true) {
        Some(fields) if parser.is_done() => {
            LazyMessage::new(fields).map_or(ParsedLine::Other, ParsedLine::Message)
        }
        _ => ParsedLine::Bad,
    }
}

impl<'a> LazyMessage<'a> {
    fn new(outer: Fields<'a>) -> Option<Self> {
        let kind = outer.kind.and_then(string_body).map(unescaped);
        let kind = kind.as_deref();
        if let Some(inner) = &outer.inner {
            let fits = match kind {
                Some(b"user" | b"assistant" | b"system" | b"message" | b"human") => {
                    inner.role.is_some() || inner.content.is_some()
                }
                Some(b"response_item") => {
                    let kind = inner.kind.and_then(string_body).map(unescaped);
                    match kind.as_deref() {
                        Some(b"function_call" | b"custom_tool_call") => inner.name[0].is_some(),
                        Some(b"function_call_output" | b"custom_tool_call_output") => {
                            inner.output.is_some()
                        }
                        Some(b"reasoning") => true,
                        _ => inner.role.is_some() && inner.is_content(),
                    }
                }
                None => inner.role.is_some() && inner.is_content(),
                _ => false,
            };
            if !fits || (inner.content.is_some() && !inner.is_content()) {
                return None;
            }
        } else {
            let fits = match outer.role {
                Some(role) => string_body(role).is_some() && outer.is_content(),
                // A line of a known envelope without a role is an event, not a message.
                None => kind.is_none() && outer.content.is_some() && outer.is_content(),
            };
            if !fits || (outer.content.is_none() && outer.tool_calls.is_none()) {
                return None;
            }
        }
        let mut lazy = Self { outer, is_tool: false };
        // A tool's answer on a line of its own; `tool_skip` relies on this.
        let answers_tool = lazy.body().tool_use_id.is_some();
        let role = lazy.role();
        lazy.is_tool = answers_tool
            || matches!(&*role, "tool" | "toolResult" | "function" | "tool_result")
            || lazy.outer.is_meta == Some(b"true");
        Some(lazy)
    }

    /// The object that holds `content`.
    pub fn body(&self) -> &Fields<'a> {
        self.outer.inner.as_deref().unwrap_or(&self.outer)
    }

    pub fn role(&self) -> Cow<'a, str> {
        let body = self.body();
        let written =
            body.role.or_else(|| self.outer.inner.is_some().then_some(self.outer.kind)?);
        let role = written.and_then(string_body).map(decode).unwrap_or_default();
        if &*role == "response_item" {
            return match body.output {
                Some(_) => Cow::Borrowed("tool"),
                None => Cow::Borrowed("assistant"),
            };
        }
        role
    }

    pub fn time(&self) -> Option<String> {
        first_word(&self.outer.time).or_else(|| first_word(&self.body().time))
    }

    pub fn timestamp_ms(&self) -> Option<i64> {
        parse_time(&self.time()?)
    }

    pub fn session(&self) -> Option<String> {
        first_word(&self.outer.session).or_else(|| first_word(&self.body().session))
    }

    pub fn id(&self) -> Option<String> {
        first_word(&self.outer.id).or_else(|| first_word(&self.body().id))
    }

    pub fn name(&self) -> Option<String> {
        // The name of a function call is the tool's, which is no speaker.
        let body = self.body();
        if body.arguments.is_some() {
            return first_word(&self.outer.name[1..]);
        }
        first_word(&body.name).or_else(|| first_word(&self.outer.name))
    }

    /// Visits the body of each string of conversation text.
    pub fn each_conversation_string(&self, mut visit: impl FnMut(&'a [u8])) {
        if self.is_tool {
            return;
        }
        let body = self.body();
        if let Some(body) = body.content.and_then(string_body) {
            visit(body);
        }
        for block in body.blocks.iter().filter(|block| block.is_text_block()) {
            if let Some(body) = block.text.and_then(string_body) {
                visit(body);
            }
        }
    }

    /// Visits the body of each string, and the text of each number or word, of tool traffic.
    pub fn each_tool_string(&self, mut visit: impl FnMut(&'a [u8])) {
        let body = self.body();
        if self.is_tool
            && let Some(body) = body.content.and_then(string_body)
        {
            visit(body);
        }
        for block in &body.blocks {
            if block.is_text_block() {
                if let (true, Some(body)) = (self.is_tool, block.text.and_then(string_body)) {
                    visit(body);
                }
                continue;
            }
            let values = [block.name, block.thinking, block.text, block.input, block.content];
            values.into_iter().flatten().for_each(|raw| scalars(raw, &mut visit));
        }
        // the name of a call is its tool's
        let tool = body.name[0].filter(|_| body.arguments.is_some());
        let values = [tool, body.arguments, body.output, body.summary, body.tool_calls];
        values.into_iter().flatten().for_each(|raw| scalars(raw, &mut visit));
    }

    /// Visits the strings of conversation text and, if asked, of tool traffic.
    pub fn each_string(&self, tools: bool, mut visit: impl FnMut(&'a [u8])) {
        self.each_conversation_string(&mut visit);
        if tools {
            self.each_tool_string(visit);
        }
    }

    /// The text to search, borrowed from the line where it needs no decoding.
    pub fn text(&self, tools: bool) -> Cow<'a, str> {
        joined(|visit| self.each_string(tools, visit))
    }

    /// The conversation text, borrowed from the line where it needs no decoding.
    pub fn conversation_text(&self) -> Cow<'a, str> {
        joined(|visit| self.each_conversation_string(visit))
    }

    pub fn tools(&self) -> Cow<'a, str> {
        joined(|visit| self.each_tool_string(visit))
    }

    pub fn message(&self) -> Message {
        let time = self.time();
        Message {
            role: self.role().into_owned(),
            name: self.name(),
            timestamp_ms: time.as_deref().and_then(parse_time),
            time,
            session: self.session(),
            id: self.id(),
            text: self.conversation_text().into_owned(),
            tools: self.tools().into_owned(),
        }
    }
}

/// Visits every scalar in a value but a block's `type`, in order.
fn scalars<'a>(raw: RawJson<'a>, visit: &mut impl FnMut(&'a [u8])) {
    // A stack of our own: the depth is the input's.
    let mut todo = vec![raw];
    while let Some(raw) = todo.pop() {
        let start = todo.len();
        let mut parser = PullParser::new(raw);
        match raw.first() {
            Some(b'"') => {
                if let Some(body) = string_body(raw) {
                    visit(body);
                }
            }
            Some(b'{') => drop(parser.object(|key, parser| {
                let value = parser.skip()?;
                if key != b"type" {
                    todo.push(value);
                }
                Some(())
            })),
            Some(b'[') => drop(parser.array(|parser| {
                todo.push(parser.skip()?);
                Some(())
            })),
            Some(b'n') | None => {}
            Some(_) => visit(raw),
        }
        todo[start..].reverse();
    }
}

fn joined<'a>(each: impl Fn(&mut dyn FnMut(&'a [u8]))) -> Cow<'a, str> {
    let mut text: Option<Cow<'a, str>> = None;
    each(&mut |body| match &mut text {
        None => text = Some(decode(body)),
        Some(text) => {
            let text = text.to_mut();
            text.push('\n');
            decode_into(body, text);
        }
    });
    text.unwrap_or_default()
}
