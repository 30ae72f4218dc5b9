//! Grep: regular-expression scan of transcripts and notes in constant memory.
//!
//! A [`Scan`] reads its file in chunks on a few threads. A prefilter searches the
//! raw bytes for literals that every match must hold; only lines that hold one are
//! parsed, and only decoded text is matched. Memory stays constant whatever the
//! length of the file or of a line, and a file that grows or shrinks meanwhile
//! is no error: the scan ends where the file ended when it began, or earlier.
//!
//! **What matches.** In a transcript the pattern runs over the decoded text of
//! each message ([`crate::messages::message::Message::text`], then `tools` on request) with
//! `^` and `$` at line ends; in a note it runs over each line. A message or line
//! is one match, however often the pattern occurs in it.

mod byte_frequency;
mod chunk;
mod chunk_result;
mod context;
mod cursor;
mod elided_line;
pub mod gram_index;
mod job;
mod line_matcher;
mod line_scan;
mod long_lines;
mod options;
mod parallel_scan;
mod pattern;
mod prefilter;
mod report;
mod scan;
mod scan_plan;
mod simd_scan;
mod snippet;

pub use cursor::Cursor;
pub(crate) use line_matcher::TranscriptLine;
pub use options::GrepOptions;
pub use pattern::{Case, MAX_COMPILED, MAX_PATTERN, Pattern};
pub use report::{Context, MAX_BAD_LINES, MAX_BATCH, Match, Report};
pub use scan::{Scan, Searcher};
