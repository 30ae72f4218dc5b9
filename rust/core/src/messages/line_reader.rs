//! Line reader of transcripts, in constant memory.

use std::fs::File;
use std::ops::Range;

use crate::error::{Error, Interrupt, Result};
use crate::files::platform::FileExt as _;
use crate::text::encoding::{UTF16_BLOCK, is_utf16};

/// Lines longer than this are not read as messages.
pub const LONGEST_LINE: usize = 64 << 20;

/// Says whether a file is in UTF-16, so that no line of it can be read.
///
/// # Errors
/// Those of reading.
pub fn is_in_utf16(file: &File, path: &str) -> Result<bool> {
    // with the mark, and a byte that shows whether there is more
    let mut start = [0; UTF16_BLOCK + 3];
    let read = file.read_at(&mut start, 0).map_err(|error| Error::io("read", path, error))?;
    Ok(is_utf16(&start[..read]))
}

/// Refuses a file in UTF-16.
///
/// # Errors
/// [`Error::Format`]; those of reading.
pub fn check_encoding(file: &File, path: &str) -> Result<()> {
    if is_in_utf16(file, path)? {
        let why = "it is in UTF-16; save it as UTF-8 to have it read".to_owned();
        return Err(Error::Format { path: path.to_owned(), line: None, why });
    }
    Ok(())
}

/// Hands out each line with its end; `whole` is false for one that is longer than `longest`, of
/// which there may be only the end.
///
/// # Errors
/// Those of reading; [`Error::Interrupted`].
pub fn lines(
    file: &File,
    path: &str,
    span: Range<u64>,
    longest: usize,
    interrupt: Interrupt<'_>,
    each: &mut dyn FnMut(u64, &[u8], bool),
) -> Result<()> {
    const CHUNK: u64 = 1 << 18;
    let mut buffer = Vec::new();
    let Range { start: mut offset, end: size } = span;
    let (mut start, mut whole) = (offset, true);
    while offset < size {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let held = buffer.len();
        buffer.resize(held + CHUNK.min(size - offset) as usize, 0);
        let read = file
            .read_at(&mut buffer[held..], offset)
            .map_err(|error| Error::io("read", path, error))?;
        buffer.truncate(held + read);
        if read == 0 {
            break;
        }
        offset += read as u64;
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[held..]) {
            let end = held + end + 1;
            each(start, &buffer[from..end], whole && end - from <= longest);
            start += (end - from) as u64;
            from = end;
            whole = true;
        }
        buffer.drain(..from);
        if buffer.len() > longest {
            start += buffer.len() as u64;
            buffer.clear();
            whole = false;
        }
    }
    if !buffer.is_empty() {
        each(start, &buffer, whole);
    }
    Ok(())
}
