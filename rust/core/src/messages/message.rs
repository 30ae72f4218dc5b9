//! Message parser: one line of a transcript, in any of the formats that agents write.
//!
//! The format is told from each line alone, so a `messages.jsonl` may hold lines of several kinds,
//! verbatim; [`crate::messages::formats`] has them. Of duplicate keys the last one counts.

use crate::messages::fields::{Fields, trim};
use crate::messages::formats;
use crate::messages::json::PullParser;
use crate::messages::lazy_message::LazyMessage;

mod tool_skip;

pub use crate::messages::lazy_message::Message;
pub(crate) use tool_skip::skip_tool_string;

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
            formats::message_of(line, fields).map_or(ParsedLine::Other, ParsedLine::Message)
        }
        _ => ParsedLine::Bad,
    }
}
