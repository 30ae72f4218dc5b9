//! Import sink: takes messages and skipped records from a format, and counts both.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::SessionHeader;
use super::session_header::title_of_prompt;
use crate::error::Result;
use crate::messages::fields::Fields;
use crate::messages::json::PullParser;

/// How many numbers of bad lines are kept.
pub const MAX_BAD_LINES: usize = 20;
/// How many different reasons are told apart; the rest is `other`.
const MAX_REASONS: usize = 64;
/// The format of a source without a message.
pub const UNKNOWN_FORMAT: &str = "unknown";

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The name of the format of the first message.
    pub format: &'static str,
    /// Lines given to the sink.
    pub messages: u64,
    /// Lines that are no messages, counted by their `type` or another reason.
    pub skipped: BTreeMap<String, u64>,
    /// Lines that are not JSON or too long.
    pub bad_lines: u64,
    /// The numbers of the first [`MAX_BAD_LINES`] of them.
    pub first_bad_lines: Vec<u64>,
    /// Lines with something else behind a whole object. The object was read.
    pub trailing_garbage: u64,
    /// The numbers of the first [`MAX_BAD_LINES`] of them.
    pub first_trailing_garbage: Vec<u64>,
    /// What the source says about its sessions, in its order; most sources hold one.
    pub sessions: Vec<SessionHeader>,
    /// Secrets that were replaced in what was stored, by kind.
    pub redacted: BTreeMap<String, u64>,
}

impl Imported {
    /// The header of the first session.
    #[must_use]
    pub fn session(&self) -> Option<&SessionHeader> {
        self.sessions.first()
    }

    pub(super) fn bad_line(&mut self, number: u64) {
        self.bad_lines += 1;
        if self.first_bad_lines.len() < MAX_BAD_LINES {
            self.first_bad_lines.push(number);
        }
    }
}

impl Default for Imported {
    fn default() -> Self {
        Self {
            format: UNKNOWN_FORMAT,
            messages: 0,
            skipped: BTreeMap::new(),
            bad_lines: 0,
            first_bad_lines: Vec::new(),
            trailing_garbage: 0,
            first_trailing_garbage: Vec::new(),
            sessions: Vec::new(),
            redacted: BTreeMap::new(),
        }
    }
}

/// What takes the messages of an import, session by session.
pub trait SessionSink {
    /// Begins a session, of which more may be known at its end.
    ///
    /// # Errors
    /// Those of the sink, which end the import.
    fn begin(&mut self, session: &SessionHeader) -> Result<()>;

    /// Takes one line with its line end.
    ///
    /// # Errors
    /// Those of the sink, which end the import.
    fn message(&mut self, line: &[u8]) -> Result<()>;

    /// Ends the session, of which all is known that the source says.
    ///
    /// # Errors
    /// Those of the sink, which end the import.
    fn end(&mut self, session: &SessionHeader) -> Result<()>;
}

/// A session that is being read: its header so far, and what stands for what the header lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenSession {
    pub(super) header: SessionHeader,
    /// Whether it has a message.
    pub(super) is_begun: bool,
    /// The title of its first prompt.
    pub(super) prompt: Option<String>,
    /// The session that its first message names.
    pub(super) named: Option<String>,
}

impl OpenSession {
    /// Drops the titles that are not to be kept.
    pub(crate) fn drop_titles(&mut self, is_dropped: impl Fn(&str) -> bool) {
        for title in [&mut self.header.title, &mut self.prompt] {
            title.take_if(|title| is_dropped(title));
        }
        self.header.leaf_titles.retain(|_, title| !is_dropped(title));
    }

    /// The header with all that is known.
    #[must_use]
    pub fn header(&self) -> SessionHeader {
        let mut header = self.header.clone();
        header.title = header.title.or_else(|| self.prompt.clone());
        header.id = header.id.or_else(|| self.named.clone());
        header.clean_title();
        header
    }
}

/// Where formats put what they read.
pub struct ImportSink<'s> {
    sink: &'s mut dyn SessionSink,
    outcome: Imported,
    session: OpenSession,
    /// A session that has ended, as its sink is not yet told.
    ended: Option<SessionHeader>,
    /// The format that reads.
    format: &'static str,
}

impl std::fmt::Debug for ImportSink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportSink").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl<'s> ImportSink<'s> {
    /// Begins with a session of which the messages so far were taken before.
    pub(super) fn new(sink: &'s mut dyn SessionSink, session: OpenSession) -> Self {
        let outcome = Imported::default();
        Self { sink, outcome, session, ended: None, format: UNKNOWN_FORMAT }
    }

    /// Ends the last session; returns what was done, and that session.
    pub(super) fn finish(mut self) -> Result<(Imported, OpenSession)> {
        let last = self.session.clone();
        self.begin_session(SessionHeader::default());
        self.tell_end()?;
        Ok((self.outcome, last))
    }

    fn tell_end(&mut self) -> Result<()> {
        self.ended.take().map_or(Ok(()), |ended| self.sink.end(&ended))
    }

    pub(super) fn set_format(&mut self, format: &'static str) {
        self.format = format;
    }

    pub(super) fn bad(&mut self, number: u64) {
        self.outcome.bad_line(number);
    }

    pub(super) fn trailing(&mut self, number: u64) {
        self.outcome.trailing_garbage += 1;
        if self.outcome.first_trailing_garbage.len() < MAX_BAD_LINES {
            self.outcome.first_trailing_garbage.push(number);
        }
    }

    /// Begins another session; the messages that follow belong to it.
    pub fn begin_session(&mut self, next: SessionHeader) {
        let next = OpenSession { header: next, ..OpenSession::default() };
        let ended = std::mem::replace(&mut self.session, next);
        if ended.is_begun {
            let header = ended.header();
            self.outcome.sessions.push(header.clone());
            self.ended = Some(header);
        }
    }

    /// The session that the messages belong to.
    pub fn session(&mut self) -> &mut SessionHeader {
        &mut self.session.header
    }

    /// Counts a record, or a part of it, that is no message.
    pub fn skip(&mut self, reason: &str) {
        let skipped = &mut self.outcome.skipped;
        let known = skipped.contains_key(reason) || skipped.len() < MAX_REASONS;
        let reason = if known && reason.len() <= 64 { reason } else { "other" };
        *skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Takes a message. One that names no session belongs to the current one.
    ///
    /// # Errors
    /// Those of writing it.
    pub fn message(&mut self, message: MessageLine) -> Result<()> {
        if self.outcome.messages == 0 {
            self.outcome.format = self.format;
        }
        self.tell_end()?;
        self.outcome.messages += 1;
        let begins = !std::mem::replace(&mut self.session.is_begun, true);
        if begins {
            self.session.header.host = self.format.to_owned();
        }
        let session = self.session.header.id.as_deref().filter(|_| !message.has_session);
        let line = message.text("session", session).finish();
        if self.session.header.started.is_none() || self.session.prompt.is_none() {
            self.note(&line);
        }
        if begins {
            self.sink.begin(&self.session.header())?;
        }
        self.sink.message(&line)
    }

    /// Notes the first time and the first prompt of a session.
    fn note(&mut self, line: &[u8]) {
        let fields = Fields::read(&mut PullParser::new(line), true);
        let Some(message) = fields.and_then(|fields| super::message_of(line, fields)) else {
            return;
        };
        let session = &mut self.session;
        if session.header.started.is_none() {
            session.header.started = message.written_time();
        }
        if session.named.is_none() {
            session.named = message.session();
        }
        if session.prompt.is_none() && message.role() == "user" {
            // the prompt of a subagent is tool text, as no person wrote it, and gives the title
            let is_inner = session.header.parent.is_some();
            session.prompt = title_of_prompt(&message.text(is_inner));
        }
    }
}

/// One line of a `messages.jsonl` in the making:
/// `{"role":…,"content":…,"timestamp":…,"session":…,"id":…,"name":…}`, without what the source
/// does not have.
#[derive(Debug)]
pub struct MessageLine {
    json: Vec<u8>,
    has_session: bool,
}

impl MessageLine {
    /// Begins a message of `role`.
    #[must_use]
    pub fn new(role: &str) -> Self {
        let mut json = b"{\"role\":".to_vec();
        json.extend_from_slice(serde_json::Value::from(role).to_string().as_bytes());
        Self { json, has_session: false }
    }

    /// Adds a string.
    #[must_use]
    pub fn text<'t>(self, key: &str, value: impl Into<Option<&'t str>>) -> Self {
        let json = value.into().map(|text| serde_json::Value::from(text).to_string());
        self.json(key, json.as_deref().map(str::as_bytes))
    }

    /// Adds a value that is JSON already.
    #[must_use]
    pub fn json<'t>(mut self, key: &str, value: impl Into<Option<&'t [u8]>>) -> Self {
        if let Some(value) = value.into() {
            self.has_session |= key == "session";
            self.json.extend_from_slice(b",\"");
            self.json.extend_from_slice(key.as_bytes());
            self.json.extend_from_slice(b"\":");
            self.json.extend_from_slice(value);
        }
        self
    }

    /// Ends the line. Where the source was not strict JSON, its text stands for the content.
    fn finish(mut self) -> Vec<u8> {
        self.json.push(b'}');
        // An array may be laid out over many lines.
        let ends = self.json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r'));
        ends.for_each(|byte| *byte = b' ');
        if serde_json::from_slice::<&RawValue>(&self.json).is_err()
            && let Some(fields) = Fields::read(&mut PullParser::new(&self.json), true)
            && let Some(message) = super::message_of(&self.json, fields)
        {
            let content = message.text(true);
            self.json = serde_json::json!({ "role": message.role(), "content": content })
                .to_string()
                .into_bytes();
        }
        self.json.push(b'\n');
        self.json
    }
}
