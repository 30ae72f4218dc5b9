//! Scan job: the inputs that all threads of a scan share, and each worker's buffers.

use std::fs::File;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

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

/// The first byte at or after `from` that is stored; what lies between reads as NUL.
pub(super) fn next_data(file: &File, from: u64) -> u64 {
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(at) => at,
        // Nothing but a hole up to the end of the file.
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => from,
    }
}
