//! Scan results of one chunk of a file.

use super::report::Match;

/// The most matches that are built of a chunk: lines may be as short as a byte.
pub(super) const MAX_CHUNK_MATCHES: usize = 4096;

/// What a chunk of a file holds. A line belongs to the chunk in which it begins.
#[derive(Debug, Default)]
pub(super) struct ChunkResult {
    pub from: u64,
    pub to: u64,
    /// Line ends in `from..to`.
    pub line_ends: u64,
    /// Lines that begin here.
    pub lines: u64,
    pub matched: u64,
    /// `line` is the number of line ends between `from` and the match.
    pub matches: Vec<Match>,
    pub bad_lines: u64,
    /// The first bad lines, by the line ends between `from` and them.
    pub first_bad_lines: Vec<u64>,
    /// Set by the chunk that holds the beginning of the file's last line.
    pub tail: Option<FileTail>,
}

impl ChunkResult {
    /// Whether it holds more matches than one pass keeps; later ones are left for the next pass.
    pub fn has_too_many_matches(&self) -> bool {
        self.matches.len() > MAX_CHUNK_MATCHES
    }
}

/// The end of the file, or the beginning of its torn last line.
#[derive(Debug)]
pub(super) struct FileTail {
    pub offset: u64,
    pub line_ends: u64,
    pub torn: bool,
}
