//! Messages: one line of a transcript in any known format, and import of whole transcripts.

pub mod formats;
pub mod json;
pub mod json_string;
pub mod line_reader;
pub mod message;
mod quote_scan;
pub mod redaction;
