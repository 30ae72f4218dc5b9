//! Adding lines to a log: each whole, each once, and none of what was there touched.
//!
//! One `write` with its newline, on a handle opened with `O_APPEND`, cannot be
//! torn apart by other writers, ours or not. The lock is held for the write and
//! let go for the wait on the disk, so that the appends of many threads share
//! one flush of the file system's journal.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::files::history::Shelf;
use crate::files::open::{PRIVATE, READ, is_only_name, open_regular, refusal};
use crate::files::root::{Place, Root, Stat};
use crate::files::rules;
use crate::files::{Expected, Files};

/// A last line longer than this is taken for torn without being parsed.
const LONGEST_TAIL: u64 = 64 << 20;
/// How often a file may be replaced under our hands before we give up.
const TRIES: usize = 8;
/// How long a write that is half done may take to its end.
const UNDER_WAY: Duration = Duration::from_millis(5);

/// Lines that are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The path as stored, in NFC when we made it.
    pub path: String,
    /// The byte at which the text begins.
    pub offset: u64,
    /// The byte after it, newline included.
    pub end: u64,
    /// Whether the file was made for it.
    pub created: bool,
    /// Where the torn last line of a transcript was copied to, if there was one.
    pub quarantined: Option<String>,
}

impl Files {
    /// Adds `bytes` at the end of a file, which is made if it is missing; a final
    /// newline is added where it is missing.
    ///
    /// A last line without a newline is ended first. In a transcript, if that line
    /// is no whole JSON object, it is also copied to `.commonplace/quarantine`.
    /// `Expected::Version` costs reading the whole file.
    ///
    /// # Errors
    /// As for [`Files::write`]; [`Error::InDoubt`] when the text is in the file but
    /// the disk did not confirm it.
    pub fn append(&self, path: &str, bytes: &[u8], expected: Expected) -> Result<Appended> {
        let (file, place, appended) = {
            let _guard = self.begin()?;
            let place = self.target(path, expected)?;
            let (file, appended) = self.add(&place, bytes, expected)?;
            (file, place, appended)
        };
        file.sync_data().map_err(|source| Error::InDoubt { path: place.path.clone(), source })?;
        if appended.created {
            place.sync_folder()?;
        }
        Ok(appended)
    }

    fn add(&self, place: &Place, bytes: &[u8], expected: Expected) -> Result<(File, Appended)> {
        let path = &*place.path;
        let mut made = false;
        for _ in 0..TRIES {
            let (file, created) = open_or_create(place)?;
            made |= created;
            match expected {
                Expected::Any => {}
                _ if created => expected.check(path, None)?,
                Expected::Absent => return Err(absent_expected(place)),
                Expected::Version(_) => expected.check(path, Some(place.version()?))?,
            }
            let (start, quarantined) = end_last_line(&self.root, path, &file)?;
            // From the root: the folder may have been moved out of the memory.
            if !is_only_name((self.root.fd(), path), &file)
                .map_err(|e| refusal("append to", path, e))?
            {
                continue;
            }
            let (offset, end) = write_once(path, &file, start, bytes)?;
            if is_still_at(place, &file) {
                let path = path.to_owned();
                return Ok((file, Appended { path, offset, end, created: made, quarantined }));
            }
            // An editor saved by rename meanwhile: our lines went into the file
            // that it replaced. They belong into the new one.
        }
        let found = place.version_shown();
        Err(Error::Conflict { path: path.into(), expected: "one steady file".into(), found })
    }
}

fn open_or_create(place: &Place) -> Result<(File, bool)> {
    let flags = READ | OFlags::RDWR | OFlags::APPEND;
    for _ in 0..TRIES {
        match open_regular(place.name(), flags, &place.path) {
            Err(Error::NotFound { .. }) => {}
            done => return done.map(|file| (file, false)),
        }
        let new = flags | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::openat(&place.dir, &*place.name, new, PRIVATE) {
            Ok(file) => return Ok((File::from(file), true)),
            Err(Errno::EXIST) => {}
            Err(e) => return Err(refusal("append to", &place.path, e)),
        }
    }
    Err(refusal("append to", &place.path, Errno::AGAIN))
}

fn absent_expected(place: &Place) -> Error {
    let (path, found) = (place.path.clone(), place.version_shown());
    Error::Conflict { path, expected: "absent".into(), found }
}

/// What must be written before the next line, and where a torn one was copied.
fn end_last_line(root: &Root, path: &str, file: &File) -> Result<(&'static [u8], Option<String>)> {
    let fail = |e| Error::io("append to", path, e);
    let look = || -> std::io::Result<(u64, u64)> {
        let size = file.metadata()?.len();
        Ok((last_line_start(file, size)?, size))
    };
    let (mut tail, mut size) = look().map_err(fail)?;
    for _ in 0..TRIES {
        let before = size;
        if tail < size {
            // A line over the end of a page shows in two steps while a stranger writes it.
            std::thread::sleep(UNDER_WAY);
            (tail, size) = look().map_err(fail)?;
        }
        if size == before {
            break;
        }
    }
    if tail == size {
        return Ok((b"", None));
    }
    if !rules::is_transcript(path) || is_whole(file, tail, size).map_err(fail)? {
        return Ok((b"\n", None));
    }
    let shelf = Shelf::quarantine(root, path)?;
    let mut file = file;
    file.seek(SeekFrom::Start(tail)).map_err(fail)?;
    let kept =
        shelf.keep_from(&mut file.take(size - tail)).map_err(|e| refusal("copy", path, e))?;
    shelf.sync(path)?;
    Ok((b"\n", Some(kept)))
}

/// Where the last line without a newline starts; the size when there is none.
fn last_line_start(mut file: &File, size: u64) -> std::io::Result<u64> {
    let mut chunk = [0; 64 << 10];
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(if end == size { 1 } else { chunk.len() as u64 });
        let part = &mut chunk[..usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Says whether the last line is a JSON object to which only the newline is missing.
fn is_whole(mut file: &File, tail: u64, size: u64) -> std::io::Result<bool> {
    if size - tail > LONGEST_TAIL {
        return Ok(false);
    }
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(tail))?;
    file.take(size - tail).read_to_end(&mut line)?;
    Ok(line.trim_ascii_start().starts_with(b"{")
        && serde_json::from_slice::<&RawValue>(&line).is_ok())
}

/// Writes it all in one call, or takes back what went in.
fn write_once(path: &str, mut file: &File, start: &[u8], bytes: &[u8]) -> Result<(u64, u64)> {
    let fail = |e| Error::io("append to", path, e);
    let end: &[u8] = if bytes.is_empty() || bytes.ends_with(b"\n") { b"" } else { b"\n" };
    let text = [start, bytes, end].concat();
    let before = file.metadata().map_err(fail)?.len();
    let written = loop {
        match file.write(&text) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            done => break done.map_err(fail)?,
        }
    };
    let after = file.metadata().map_err(fail)?.len();
    if written < text.len() {
        // Only if nobody without our lock has written after us.
        if after == before + written as u64 {
            file.set_len(before).map_err(fail)?;
        }
        let why = format!("only {written} of {} bytes fitted", text.len());
        return Err(fail(std::io::Error::new(std::io::ErrorKind::StorageFull, why)));
    }
    // With O_APPEND the kernel chose the place and left the position after it.
    let end = file.stream_position().map_err(fail)?;
    Ok((end - (text.len() - start.len()) as u64, end))
}

fn is_still_at(place: &Place, file: &File) -> bool {
    let named = rustix::fs::statat(&place.dir, &*place.name, AtFlags::SYMLINK_NOFOLLOW);
    match (named, rustix::fs::fstat(file)) {
        (Ok(named), Ok(open)) => {
            let (named, open) = (Stat::from_raw(&named), Stat::from_raw(&open));
            (named.dev, named.ino) == (open.dev, open.ino)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lost_its_name_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let place = root.place("log.md").unwrap();
        let (file, created) = open_or_create(&place).unwrap();
        assert!(created && is_still_at(&place, &file));
        std::fs::write(dir.path().join("new"), "x").unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join("log.md")).unwrap();
        assert!(!is_still_at(&place, &file));
    }
}
