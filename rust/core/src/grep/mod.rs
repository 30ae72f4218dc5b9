//! Search in a transcript or a note without loading it.
//!
//! A [`Scan`] reads its file in chunks on a few threads. Raw bytes are searched
//! for the text that every match must hold; only lines that hold it are taken
//! apart, and only decoded text is matched. Memory stays constant whatever the
//! length of the file or of a line, and a file that grows or shrinks meanwhile
//! is no error: the scan ends where the file ended when it began, or earlier.
//!
//! **What matches.** In a transcript the pattern runs over the decoded text of
//! each message ([`crate::messages::message::Message::said`], then `tools` on request) with
//! `^` and `$` at line ends; in a note it runs over each line. A message or line
//! is one match, however often the pattern occurs in it.

mod chunk;
mod context;
mod cursor;
pub mod gram_index;
mod job;
mod line_matcher;
mod long_lines;
mod pattern;
mod prefilter;
mod scan;
mod scan_plan;
mod simd_scan;
mod snippet;

pub use context::Context;
pub use cursor::Resume;
pub(crate) use job::share;
pub use pattern::{Case, MAX_COMPILED, MAX_PATTERN, Pattern};
pub use scan::{Scan, Searcher};

use scan::MOST_MAPPED;

/// The most matches that one [`Scan::next_batch`] gives.
pub const MAX_BATCH: usize = 256;
/// How many numbers of bad lines a [`Report`] names.
pub const MAX_BAD_LINES: usize = 20;

/// What to search for and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// A regular expression, or literal text if `fixed`.
    pub pattern: String,
    /// Take `pattern` literally.
    pub fixed: bool,
    /// Whether upper and lower case differ.
    pub case: Case,
    /// Only messages of these roles; empty for all.
    pub roles: Vec<String>,
    /// Only messages at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only messages before this time, in milliseconds since 1970.
    pub until: Option<i64>,
    /// How many messages (lines of a note) to give before each match.
    pub before: usize,
    /// How many messages (lines of a note) to give after each match.
    pub after: usize,
    /// Stop after this many matches.
    pub limit: Option<usize>,
    /// Give the last match of the file first.
    pub newest_first: bool,
    /// Search tool input and output and thinking too.
    pub tools: bool,
    /// The most characters of a snippet.
    pub max_snippet: usize,
    /// The most bytes that a thread looks at at a time.
    pub chunk: usize,
    /// From so many bytes on a file is mapped where that is safe, and not read.
    pub worth_mapping: u64,
    /// How many threads scan; zero for two, or one where there is one processor.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pattern: String::new(),
            fixed: false,
            case: Case::Smart,
            roles: Vec::new(),
            since: None,
            until: None,
            before: 0,
            after: 0,
            limit: None,
            newest_first: false,
            tools: false,
            max_snippet: 300,
            chunk: MOST_MAPPED,
            worth_mapping: 8 << 20,
            threads: 0,
        }
    }
}

/// A message, or a line of a note, that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The line in the file, counted from 1.
    pub line: u64,
    /// The byte in the file at which the line begins.
    pub offset: u64,
    /// The message's role; empty in a note.
    pub role: String,
    /// The speaker's name.
    pub name: Option<String>,
    /// The message's time as written.
    pub time: Option<String>,
    /// The message's session.
    pub session: Option<String>,
    /// The text around the first match, with `…` where it was cut.
    pub snippet: String,
    /// The matches in `snippet`, as ranges of characters.
    pub highlights: Vec<(usize, usize)>,
    /// The messages before it, oldest first.
    pub before: Vec<Context>,
    /// The messages after it, oldest first.
    pub after: Vec<Context>,
    /// The byte after the line, for resuming behind it.
    pub(crate) end: u64,
}

/// What a scan has seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Matches found; of a scan that stopped at its limit, those given.
    pub messages_matched: u64,
    /// Lines looked at.
    pub lines: u64,
    /// Bytes looked at.
    pub bytes: u64,
    /// Lines that are not JSON, or too long to take apart. A line that holds nothing
    /// the pattern needs is judged by its first and last byte only.
    pub bad_lines: u64,
    /// The numbers of the first [`MAX_BAD_LINES`] bad lines.
    pub first_bad_lines: Vec<u64>,
    /// The last line has no end and is not whole JSON: a write under way or cut off.
    pub torn_tail: bool,
    /// Where to go on when the file has grown.
    pub resume: Resume,
}
