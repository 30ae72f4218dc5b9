//! Session records: what a line of a transcript says about its session.
//!
//! An import writes `{"type":"session","host":…,"id":…,"title":…}`; a title that comes later holds.

use crate::messages::fields::{member, trim, word};

/// The first bytes of a record, which hold its type: most lines need not be read for that.
const TYPE_BYTES: usize = 64;
/// Characters of a title that are kept.
const MAX_TITLE: usize = 200;

/// Returns the title of the session that a line gives it.
pub(crate) fn session_title(line: &[u8]) -> Option<String> {
    let line = trim(line);
    let begin = &line[..line.len().min(TYPE_BYTES)];
    memchr::memmem::find(begin, b"\"session\"")?;
    let is_record = member(line, "type").and_then(word).is_some_and(|kind| kind == "session");
    let title = is_record.then(|| member(line, "title").and_then(word)).flatten()?;
    let title: String = title.chars().take(MAX_TITLE).collect();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(title).filter(|title| !title.is_empty())
}
