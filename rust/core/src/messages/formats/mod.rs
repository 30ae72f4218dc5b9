//! Transcript formats: a registry of the formats that hosts write, one file for each.
//!
//! A format tells its records from those of others, reads messages from them, and knows what in a
//! line was said by people and models and what is of tools and of the harness. To add one, copy the
//! file that is nearest (`pi` for lines of JSON, `claude_ai` for an export in one array) and name
//! it in the list below. [`import_with`] takes formats of the caller besides.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::error::Result;
use crate::messages::fields::string_body;
use crate::messages::lazy_message::LazyMessage;

mod chatgpt;
mod claude_ai;
mod claude_code;
mod claude_stream;
mod codex;
mod gemini;
mod host_folder;
mod import;
mod import_state;
mod line_record;
mod openai;
mod opencode;
mod pi;
mod plain;
mod session_header;
mod session_record;
mod sink;
mod specstory;

pub use crate::messages::fields::Fields;
pub use crate::messages::harness_text::HarnessText;
pub use host_folder::HostFolder;
pub(crate) use import::read_line;
pub use import::{ImportSource, MAX_LINE, import, import_sessions, import_with};
pub use import_state::ImportState;
pub use session_header::SessionHeader;
pub(crate) use session_header::title_of_prompt;
pub use session_record::SessionRecord;
pub(crate) use session_record::{DESCRIBED_LINES, copied_lines, copies_of};
pub use sink::{
    ImportSink, Imported, MAX_BAD_LINES, MessageLine, OpenSession, SessionSink, UNKNOWN_FORMAT,
};

/// Formats whose lines are read where they lie as well. The first that knows a line has it.
const LINE_FORMATS: [&dyn TranscriptFormat; 7] = [
    &codex::Codex,
    &pi::Pi,
    &claude_code::ClaudeCode,
    &claude_stream::ClaudeStream,
    &gemini::Gemini,
    &openai::OpenAi,
    &plain::Plain,
];

/// Formats that are only imported: their records hold several messages each.
const EXPORT_FORMATS: [&dyn TranscriptFormat; 4] =
    [&claude_ai::ClaudeAi, &chatgpt::ChatGpt, &opencode::OpenCode, &specstory::SpecStory];

/// A transcript format.
///
/// Lines lie in a root as their host wrote them or as an import wrote them. Both give the same
/// answers: where a host's rules take something away from what was said, the imported line has
/// `"format"` with the host's name, or `"isMeta": true` where nothing in it was said.
///
/// For lines of JSON with one message each, [`detect`](Self::detect) and what differs of the
/// methods about a line are enough; other formats have their own [`read`](Self::read).
pub trait TranscriptFormat: Debug + Sync {
    /// The word that callers see.
    fn name(&self) -> &'static str;

    /// Returns whether a record is of this format.
    fn detect(&self, record: &Record<'_>) -> bool;

    /// Gives `sink` each message of a record, or the reason why there is none.
    ///
    /// # Errors
    /// Those of `sink`.
    fn read(&self, record: Record<'_>, sink: &mut ImportSink<'_>) -> Result<()> {
        line_record::read(self, record, sink)
    }

    /// Where the host keeps its sessions, if it has one place for them.
    fn folder(&self) -> Option<HostFolder> {
        None
    }

    /// Whether the host writes a message again, under its id, when it has grown or was changed.
    fn rewrites_messages(&self) -> bool {
        false
    }

    /// Notes what a line says about its session.
    fn describe(&self, _record: &Record<'_>, _session: &mut SessionHeader) {}

    /// Returns whether a source that begins with this line is one record as a whole.
    fn is_document(&self, _first_line: &[u8]) -> bool {
        false
    }

    /// Returns whether a line is a message.
    fn is_message(&self, line: &Fields<'_>) -> bool {
        line.is_bare_message()
    }

    /// Returns who speaks in a message.
    fn role<'a>(&self, line: &Fields<'a>) -> Cow<'a, str> {
        line.written_role()
    }

    /// Returns what the host writes into the texts of `role`.
    fn harness_text(&self, _role: &str) -> &'static HarnessText {
        &HarnessText::NONE
    }

    /// Returns whether all of a message is of tools or of the harness.
    fn is_tool(&self, line: &Fields<'_>, role: &str) -> bool {
        line.is_tool_message(role)
    }
}

/// A record of a source: a line, an element of an array, or a document.
#[derive(Debug)]
pub struct Record<'a> {
    text: &'a [u8],
    fields: Option<Fields<'a>>,
}

impl<'a> Record<'a> {
    /// The record as it was written.
    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Its fields, if it is a JSON object.
    #[must_use]
    pub fn fields(&self) -> Option<&Fields<'a>> {
        self.fields.as_ref()
    }
}

/// Returns the hosts that have a place of their own for sessions, by the name of their format.
pub fn hosts() -> impl Iterator<Item = (&'static str, HostFolder)> {
    let formats = LINE_FORMATS.iter().chain(&EXPORT_FORMATS);
    formats.filter_map(|format| Some((format.name(), format.folder()?)))
}

/// Whether a host writes a message again, under its id, when it has grown or was changed.
pub(crate) fn rewrites_messages(host: &str) -> bool {
    let mut formats = LINE_FORMATS.iter().chain(&EXPORT_FORMATS);
    formats.any(|format| format.name() == host && format.rewrites_messages())
}

/// Reads a line that lies in a transcript as a message, if it is one.
pub(crate) fn message_of<'a>(text: &'a [u8], fields: Fields<'a>) -> Option<LazyMessage<'a>> {
    let record = Record { text, fields: Some(fields) };
    let format = LINE_FORMATS.iter().find(|format| format.detect(&record))?;
    let fields = record.fields.filter(|fields| format.is_message(fields))?;
    Some(lazy_message(*format, fields))
}

/// Takes a line that is a message of `format`, or of the format that an import found it in.
fn lazy_message<'a, F: TranscriptFormat + ?Sized>(
    format: &F,
    fields: Fields<'a>,
) -> LazyMessage<'a> {
    let role = format.role(&fields);
    let is_tool = format.is_tool(&fields, &role);
    let source = fields.format.filter(|_| fields.inner.is_none()).and_then(string_body);
    let source =
        source.and_then(|name| LINE_FORMATS.iter().find(|format| format.name().as_bytes() == name));
    let harness_text = match source {
        Some(source) => source.harness_text(&role),
        None => format.harness_text(&role),
    };
    LazyMessage::new(fields, role, is_tool, harness_text)
}
