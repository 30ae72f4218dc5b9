//! Record that stands in a transcript for a line that was erased, with the hash of the line.

use serde_json::json;
use xxhash_rust::xxh3::xxh3_128;

use crate::messages::fields::trim;

/// What begins the record that stands for an erased line.
const RECORD: &[u8] = br#"{"type":"forgotten""#;

/// Returns the record that stands for an erased line, without an end.
pub(crate) fn forgotten_record(line: &[u8]) -> Vec<u8> {
    let hash = format!("{:032x}", xxh3_128(trim(line)));
    json!({ "type": "forgotten", "line": hash }).to_string().into_bytes()
}

/// Says whether a line stands for an erased one.
pub(crate) fn is_forgotten_record(line: &[u8]) -> bool {
    trim(line).starts_with(RECORD)
}
