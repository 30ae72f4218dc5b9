//! Lines of a transcript that are erased: messages, and records that repeat what they say.
//!
//! Each gives its place to a record `{"type":"forgotten","line":"<hash>"}`, which is no message: so
//! the citations of all other lines stay right. The record of a session stays without the fields
//! that say what is forgotten, such as its title.

use std::fs::File;

use serde_json::Value;

use crate::error::{Error, Interrupt, Result};
use crate::filter::SearchFilter;
use crate::grep::TranscriptLine;
use crate::messages::fields::trim;
use crate::messages::formats::title_of_prompt;
use crate::messages::line_reader::{LONGEST_LINE, check_encoding, lines};
use crate::messages::message::{ParsedLine, parse_lazy};
use crate::messages::message_key::MessageKey;
use crate::store::forget::erased_line::{forgotten_record, is_forgotten_record};
use crate::store::forget::erasure::{Edit, Passage};
use crate::store::forget::line_text::line_contains;
use crate::store::forget::needles::{Needle, Needles};
use crate::store::forget::{MIN_OWN, own_needles};
use crate::store::import::Ordinals;

/// Fields of a session record by which a session is known.
const IDENTITY: [&str; 5] = ["type", "host", "id", "parent", "started"];

/// Which lines are meant.
pub(super) struct LineSelection<'a> {
    pub path: &'a str,
    pub filter: &'a SearchFilter,
    /// Lines that hold one of these, and pass the filter.
    pub needles: &'a Needles,
    /// These lines, from 1.
    pub lines: &'a [(u64, u64)],
    /// Every line that passes the filter.
    pub all: bool,
}

/// What was found in a transcript.
#[derive(Debug, Default)]
pub(super) struct FoundLines {
    pub edits: Vec<Edit>,
    pub passages: Vec<Passage>,
    /// Hashes by which the messages are stored.
    pub messages: Vec<u128>,
    /// Titles of sessions that are forgotten with them, also those that an import would make.
    pub titles: Vec<String>,
    /// Lines that are too long to be read.
    pub unread: u64,
    /// By what this transcript's other records are known to repeat it.
    pub own: Vec<Needle>,
}

/// Reads a transcript and returns what is to be erased of it. `is_taken` says which hashes belong to
/// messages that were erased before.
///
/// # Errors
/// [`Error::Format`] for a file in UTF-16; those of reading; [`Error::Interrupted`].
pub(super) fn lines_with(
    file: &File,
    selection: &LineSelection<'_>,
    is_taken: &dyn Fn(&u128) -> bool,
    interrupt: Interrupt<'_>,
) -> Result<FoundLines> {
    let path = selection.path;
    check_encoding(file, path)?;
    let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
    let mut found = FoundLines::default();
    let mut ordinals = Ordinals::default();
    let mut sessions: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut number = 0;
    lines(file, path, 0..size, LONGEST_LINE, interrupt, &mut |start, line, is_whole| {
        number += 1;
        if !is_whole {
            found.unread += 1;
            return;
        }
        let parsed = parse_lazy(line);
        let is_named =
            selection.lines.iter().any(|&(first, last)| (first..=last).contains(&number));
        let held = || selection.all || line_contains(line, selection.needles);
        let said = match &parsed {
            ParsedLine::Message(message) => {
                let hash = MessageKey::of(line).map(|key| ordinals.next_free(key, path, is_taken));
                let is_admitted =
                    || selection.filter.admits_fields(&TranscriptLine { path, message });
                if !(is_named || is_admitted() && held()) {
                    return;
                }
                found.messages.extend(hash);
                let said = message.text(false);
                let text = if said.trim().is_empty() { message.tools() } else { said };
                if matches!(&*message.role(), "user" | "human") {
                    found.titles.extend(title_of_prompt(&text));
                }
                text
            }
            ParsedLine::Blank => return,
            _ if is_forgotten_record(line) => return,
            ParsedLine::Other if is_session_record(line) => {
                sessions.push((start, line.to_vec()));
                return;
            }
            // without a role or a time it passes no filter of these
            _ if !is_named && (selection.filter.has_fields() || !held()) => return,
            _ => String::from_utf8_lossy(trim(line)),
        };
        found.own.extend(own_needles(&said));
        let (path, text) = (path.to_owned(), said.into_owned());
        found.passages.push(Passage { path, first: number, last: number, text });
        found.edits.push(Edit::line(start, line, &forgotten_record(line)));
    })?;
    strip_session_records(&mut found, sessions, selection)?;
    found.edits.sort_by_key(|edit| edit.start);
    Ok(found)
}

/// Edits the records of sessions, each with its first byte, that repeat what is forgotten.
fn strip_session_records(
    found: &mut FoundLines,
    records: Vec<(u64, Vec<u8>)>,
    selection: &LineSelection<'_>,
) -> Result<()> {
    let own = Needles::new(&found.own)?;
    let takes_all = selection.all && !selection.filter.has_fields();
    let is_said = |text: &str| {
        let text = text.as_bytes();
        takes_all || own.are_in(text) || selection.needles.are_in(text)
    };
    for (start, line) in records {
        if let Some((record, title)) = without_fields(&line, &is_said) {
            found.edits.push(Edit::line(start, &line, &record));
            found.titles.extend(title);
        }
    }
    Ok(())
}

fn is_session_record(line: &[u8]) -> bool {
    let Ok(record) = serde_json::from_slice::<Value>(trim(line)) else { return false };
    record["type"] == "session" && record["role"].is_null()
}

/// Returns a session record without the fields that say what is forgotten, and its title if that is
/// one of them; none where it says nothing of it.
fn without_fields(
    line: &[u8],
    is_said: &dyn Fn(&str) -> bool,
) -> Option<(Vec<u8>, Option<String>)> {
    let Ok(Value::Object(mut record)) = serde_json::from_slice::<Value>(trim(line)) else {
        return None;
    };
    let before = record.len();
    let mut title = None;
    record.retain(|key, value| {
        let goes = !IDENTITY.contains(&&**key) && is_said(&value.to_string());
        if goes && key == "title" {
            title = value.as_str().map(str::to_owned);
        }
        !goes
    });
    (record.len() < before).then(|| (Value::Object(record).to_string().into_bytes(), title))
}

/// Returns the first line of a text as far as a title repeats it.
pub(super) fn title_start(text: &str) -> Option<&str> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let end = line.char_indices().nth(80).map_or(line.len(), |(end, _)| end);
    Some(&line[..end]).filter(|start| start.len() >= MIN_OWN)
}
