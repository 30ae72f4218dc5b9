//! Options of a grep.

use super::pattern::Case;
use crate::filter::SearchFilter;

/// The most bytes that a thread maps at a time. With less, unmapping costs more than it spares.
pub(super) const MAX_MAPPED: usize = 8 << 20;

/// What to search for and how.
#[derive(Clone, Debug)]
pub struct GrepOptions {
    /// A regular expression, or literal text if `fixed`.
    pub pattern: String,
    /// Take `pattern` literally.
    pub fixed: bool,
    /// Whether upper and lower case differ.
    pub case: Case,
    /// Which messages may be found. A scan of one file takes that file as admitted.
    pub filter: SearchFilter,
    /// How many messages (lines of a note) to give before each match.
    pub before: usize,
    /// How many messages (lines of a note) to give after each match.
    pub after: usize,
    /// Stop after this many matches.
    pub limit: Option<usize>,
    /// Give the last match of the file first.
    pub newest_first: bool,
    /// The most characters of a snippet.
    pub max_snippet: usize,
    /// The most bytes that a thread looks at at a time.
    pub chunk: usize,
    /// From so many bytes on a file is mapped where that is safe, and not read.
    pub worth_mapping: u64,
    /// How many threads scan; zero for two, or one where there is one processor.
    pub threads: usize,
}

impl Default for GrepOptions {
    fn default() -> Self {
        Self {
            pattern: String::new(),
            fixed: false,
            case: Case::Smart,
            filter: SearchFilter::default(),
            before: 0,
            after: 0,
            limit: None,
            newest_first: false,
            max_snippet: 300,
            chunk: MAX_MAPPED,
            worth_mapping: 8 << 20,
            threads: 0,
        }
    }
}
