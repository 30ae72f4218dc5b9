//! Cursor of a scan: where it ended, with a hash that shows whether the file only grew since.

use std::fs::File;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::platform::FileExt as _;

const TAIL: u64 = 4096;

/// A position in a file to resume from. The default is the start of any file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The byte to go on at.
    pub offset: u64,
    /// The line ends before it.
    pub line: u64,
    /// A hash of the up to 4 KiB before it.
    pub tail_hash: u64,
}

impl Cursor {
    pub(super) fn at(file: &File, path: &str, offset: u64, line: u64) -> Result<Self> {
        let tail_hash = tail_hash(file, path, offset)?;
        Ok(Self { offset, line, tail_hash })
    }

    /// Whether the bytes before this place are what they were.
    pub(super) fn fits(&self, file: &File, path: &str, end: u64) -> Result<bool> {
        if self.offset == 0 || self.offset > end {
            return Ok(self.offset == 0 && self.line == 0);
        }
        Ok(tail_hash(file, path, self.offset)? == self.tail_hash)
    }
}

fn tail_hash(file: &File, path: &str, offset: u64) -> Result<u64> {
    if offset == 0 {
        return Ok(0);
    }
    let start = offset.saturating_sub(TAIL);
    let mut tail = vec![0; (offset - start) as usize];
    let read = read_full(file, path, start, &mut tail)?;
    Ok(xxh3_64(&tail[..read]))
}

/// Reads until `buffer` is full or the file ends; gives how much was read.
pub(super) fn read_full(file: &File, path: &str, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", path, e)),
        }
    }
    Ok(read)
}
