//! One line of a transcript, in any of the shapes that agents write, as a [`Message`].
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
//! What people and models **said** is string content and `text` blocks. Tool
//! input and output, thinking, and what a harness injected (`isMeta`) are kept
//! apart as **tools**. Of duplicate keys the last one counts.

use std::borrow::Cow;

use crate::messages::json::{Cursor, decode, decode_into};
use crate::text::time::parse_time;

mod fields;
mod tool_skip;

pub(crate) use fields::{Fields, string_body, word};
pub(crate) use tool_skip::beyond_unsaid;

use fields::{Raw, first_word, unescaped};

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
    /// What was said; parts are joined by a newline.
    pub said: String,
    /// Tool input and output, thinking, injected text; parts are joined by a newline.
    pub tools: String,
}

/// What one line turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<T> {
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
pub fn parse(line: &[u8]) -> Line<Message> {
    match outline(line) {
        Line::Message(outline) => Line::Message(outline.message()),
        Line::Other => Line::Other,
        Line::Blank => Line::Blank,
        Line::Bad => Line::Bad,
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

/// A message that is found but not yet decoded.
#[derive(Clone, Debug)]
pub(crate) struct Outline<'a> {
    pub outer: Fields<'a>,
    /// Everything in it is aside: a tool's answer or injected text.
    aside: bool,
}

pub(crate) fn outline(line: &[u8]) -> Line<Outline<'_>> {
    let line = trim(line);
    let Some(first) = line.first() else {
        return Line::Blank;
    };
    let mut cursor = Cursor::new(line);
    if *first != b'{' {
        let sound = cursor.skip().is_some() && cursor.is_done();
        return if sound { Line::Other } else { Line::Bad };
    }
    match Fields::read(&mut cursor, true) {
        Some(fields) if cursor.is_done() => Outline::new(fields).map_or(Line::Other, Line::Message),
        _ => Line::Bad,
    }
}

impl<'a> Outline<'a> {
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
                // A line of a known envelope without a role is an event, not speech.
                None => kind.is_none() && outer.content.is_some() && outer.is_content(),
            };
            if !fits || (outer.content.is_none() && outer.tool_calls.is_none()) {
                return None;
            }
        }
        let mut outline = Self { outer, aside: false };
        // A tool's answer on a line of its own; `near` relies on this.
        let answers_tool = outline.core().tool_use_id.is_some();
        let role = outline.role();
        outline.aside = answers_tool
            || matches!(&*role, "tool" | "toolResult" | "function" | "tool_result")
            || outline.outer.is_meta == Some(b"true");
        Some(outline)
    }

    /// The object that holds `content`.
    pub fn core(&self) -> &Fields<'a> {
        self.outer.inner.as_deref().unwrap_or(&self.outer)
    }

    pub fn role(&self) -> Cow<'a, str> {
        let core = self.core();
        let written =
            core.role.or_else(|| self.outer.inner.is_some().then_some(self.outer.kind)?);
        let role = written.and_then(string_body).map(decode).unwrap_or_default();
        if &*role == "response_item" {
            return match core.output {
                Some(_) => Cow::Borrowed("tool"),
                None => Cow::Borrowed("assistant"),
            };
        }
        role
    }

    pub fn time(&self) -> Option<String> {
        first_word(&self.outer.time).or_else(|| first_word(&self.core().time))
    }

    pub fn timestamp_ms(&self) -> Option<i64> {
        parse_time(&self.time()?)
    }

    pub fn session(&self) -> Option<String> {
        first_word(&self.outer.session).or_else(|| first_word(&self.core().session))
    }

    pub fn id(&self) -> Option<String> {
        first_word(&self.outer.id).or_else(|| first_word(&self.core().id))
    }

    pub fn name(&self) -> Option<String> {
        // The name of a function call is the tool's, which is no speaker.
        let core = self.core();
        if core.arguments.is_some() {
            return first_word(&self.outer.name[1..]);
        }
        first_word(&core.name).or_else(|| first_word(&self.outer.name))
    }

    /// Visits the body of each string that was said.
    pub fn each_said(&self, mut visit: impl FnMut(&'a [u8])) {
        if self.aside {
            return;
        }
        let core = self.core();
        if let Some(body) = core.content.and_then(string_body) {
            visit(body);
        }
        for block in core.blocks.iter().filter(|block| block.is_said()) {
            if let Some(body) = block.text.and_then(string_body) {
                visit(body);
            }
        }
    }

    /// Visits the body of each string, and the text of each number or word, that is aside.
    pub fn each_tool(&self, mut visit: impl FnMut(&'a [u8])) {
        let core = self.core();
        if self.aside
            && let Some(body) = core.content.and_then(string_body)
        {
            visit(body);
        }
        for block in &core.blocks {
            if block.is_said() {
                if let (true, Some(body)) = (self.aside, block.text.and_then(string_body)) {
                    visit(body);
                }
                continue;
            }
            let aside = [block.name, block.thinking, block.text, block.input, block.content];
            aside.into_iter().flatten().for_each(|raw| leaves(raw, &mut visit));
        }
        // the name of a call is its tool's
        let tool = core.name[0].filter(|_| core.arguments.is_some());
        let aside = [tool, core.arguments, core.output, core.summary, core.tool_calls];
        aside.into_iter().flatten().for_each(|raw| leaves(raw, &mut visit));
    }

    /// Visits what was said and, if asked, what is aside.
    pub fn each_text(&self, tools: bool, mut visit: impl FnMut(&'a [u8])) {
        self.each_said(&mut visit);
        if tools {
            self.each_tool(visit);
        }
    }

    /// The text to search, borrowed from the line where it needs no decoding.
    pub fn text(&self, tools: bool) -> Cow<'a, str> {
        joined(|visit| self.each_text(tools, visit))
    }

    /// What was said, borrowed from the line where it needs no decoding.
    pub fn said(&self) -> Cow<'a, str> {
        joined(|visit| self.each_said(visit))
    }

    pub fn tools(&self) -> Cow<'a, str> {
        joined(|visit| self.each_tool(visit))
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
            said: self.said().into_owned(),
            tools: self.tools().into_owned(),
        }
    }
}

/// Visits every scalar in a value but a block's `type`, in order.
fn leaves<'a>(raw: Raw<'a>, visit: &mut impl FnMut(&'a [u8])) {
    // A stack of our own: the depth is the input's.
    let mut todo = vec![raw];
    while let Some(raw) = todo.pop() {
        let start = todo.len();
        let mut cursor = Cursor::new(raw);
        match raw.first() {
            Some(b'"') => {
                if let Some(body) = string_body(raw) {
                    visit(body);
                }
            }
            Some(b'{') => drop(cursor.object(|key, cursor| {
                let value = cursor.skip()?;
                if key != b"type" {
                    todo.push(value);
                }
                Some(())
            })),
            Some(b'[') => drop(cursor.array(|cursor| {
                todo.push(cursor.skip()?);
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
