//! One line of a transcript, whatever tool wrote it, and whole transcripts of other tools.

pub(crate) mod bits;
pub mod formats;
pub mod json;
pub mod lines;
pub mod message;
mod quotes;
