//! One line of a transcript, whatever tool wrote it, and whole transcripts of other tools.

pub mod formats;
pub mod json;
pub mod line_reader;
pub mod message;
mod quote_scan;
