//! Messages: one line of a transcript in any known format, and import of whole transcripts.

pub mod fields;
pub mod formats;
pub mod harness_text;
pub mod json;
pub mod json_string;
pub mod lazy_message;
pub mod line_reader;
pub mod message;
mod quote_scan;
pub(crate) mod session_record;
