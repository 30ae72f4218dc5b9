//! Scan job: the inputs that all threads of a scan share, and each worker's buffers.

use std::fs::File;

use super::line_matcher::{LineMatcher, Scratch};
use crate::files::platform::Lease;

/// One step of a scan: some ranges of a file, scanned in parallel.
pub(super) struct ScanJob<'s> {
    pub file: &'s File,
    pub lease: Option<&'s Lease>,
    pub path: &'s str,
    pub matcher: &'s LineMatcher,
    /// The end of the file when the scan began.
    pub end: u64,
    /// Whether matches are built, and not only counted.
    pub build: bool,
}

/// What one thread keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub buffer: Vec<u8>,
    pub scratch: Scratch,
}

impl Worker {
    /// Room for `size` bytes to read into.
    pub fn room(&mut self, size: usize) -> &mut [u8] {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        &mut self.buffer[..size]
    }
}
