//! Rows of the archive: each message of a transcript as the line of JSON that tantivy takes in.
//!
//! A row has the names of the message, and numbers by which its text is found in the file again. Its
//! context is not in it: what neighbours say is in their own rows, and all three are read back.

use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::extract::Corpus;
use crate::error::{Interrupt, Result};
use crate::index::bm25f::{Field, Totals};
use crate::search::term_names::TermKind;
use crate::store::engine::document::EngineDocument;
use crate::store::engine::extraction::documents_and_record;

/// How often a name is repeated at most: more of the same says little.
const MAX_REPEATS: u16 = 4;

/// A file as the archive takes it in.
#[derive(Debug, Default)]
pub struct ArchiveRows {
    /// One row for each document.
    pub rows: Vec<String>,
    /// Of these documents.
    pub totals: Totals,
    /// The session record of the transcript.
    pub summary: String,
    /// The times of its first and its last message, in milliseconds since 1970.
    pub times: [Option<i64>; 2],
}

/// Returns the rows of a file, whose number in the archive is `id`.
///
/// # Errors
/// [`Error::Interrupted`](crate::error::Error::Interrupted).
pub fn archive_rows(
    path: &str,
    bytes: &[u8],
    id: u64,
    interrupt: Interrupt<'_>,
) -> Result<ArchiveRows> {
    let (documents, summary) = documents_and_record(path, bytes, Corpus::Main, interrupt)?;
    let mut rows = ArchiveRows { summary, ..ArchiveRows::default() };
    let time = |document: &EngineDocument| document.time;
    rows.times = [documents.iter().find_map(time), documents.iter().rev().find_map(time)];
    let end = |document: &EngineDocument| document.start + document.bytes.len() as u64;
    for (at, document) in documents.iter().enumerate() {
        rows.totals.add(&document.lengths);
        let before = at.checked_sub(1).map(|at| &documents[at]);
        let before = before.map_or(0, |before| document.start - before.start);
        let after = documents.get(at + 1).map_or(0, |after| end(after) - end(document));
        rows.rows.push(row(document, id, before, after));
    }
    Ok(rows)
}

fn row(document: &EngineDocument, id: u64, before: u64, after: u64) -> String {
    let (mut text, mut side) = (String::new(), String::new());
    document.each_name(false, &mut |kind, name, counts| {
        let is_text = matches!(kind, TermKind::Stem | TermKind::Word);
        let repeats = match is_text {
            true => counts[..Field::Speaker as usize].iter().sum::<u16>().clamp(1, MAX_REPEATS),
            false => 1,
        };
        let names = if is_text { &mut text } else { &mut side };
        for _ in 0..repeats {
            names.push_str(name);
            names.push(' ');
        }
    });
    side += &label('R', &document.role);
    side.push(' ');
    side += &label('S', &document.session);
    let position = &document.position;
    let mut row = json!({
        "t": text, "s": side, "f": id, "o": document.start, "n": document.bytes.len(),
        "l": document.line, "p": position.place, "u": position.turn, "r": position.session_run,
        "w": position.terms_before, "b": before, "a": after, "h": document.hash as u32,
    });
    if let Some(time) = document.time {
        row["d"] = json!(time);
    }
    row.to_string()
}

/// Returns the name of a role or a session: a hash, for they may have blanks in them.
#[must_use]
pub fn label(letter: char, text: &str) -> String {
    format!("{letter}{:08x}", xxh3_64(text.as_bytes()) as u32)
}
