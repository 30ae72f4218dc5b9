//! Durable appends of whole lines, with `O_APPEND` and one write each.
//!
//! One `write` with its newline, on a handle opened with `O_APPEND`, cannot be
//! torn apart by other writers, ours or not. The lock is held for the write and
//! released for the wait on the disk, so that the appends of many threads share
//! one flush of the file system's journal. A file that is not there yet is made
//! whole with its first text.
//!
//! After the `write` the text stands in the file, whatever fails then: what could
//! not be read is left out of the answer, or the answer is [`Error::InDoubt`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::error::{Error, Interrupt, Result};
use crate::files::history::BackupDir;
use crate::files::lock::LockGuard;
use crate::files::open::{READ_FLAGS, is_only_name, open_regular, refusal};
use crate::files::path_handle::PathHandle;
use crate::files::platform::OpenFlags;
use crate::files::root::Root;
use crate::files::version::Version;
use crate::files::write_rules;
use crate::files::{Expected, Files};
use crate::text::encoding::{UTF16_BLOCK, is_utf16};

/// A last line longer than this is taken for torn without being parsed.
const MAX_PARSED_TAIL: u64 = 64 << 20;
/// How often a file may be replaced while we append before we give up.
const MAX_TRIES: usize = 8;
/// Up to this size the version of a note is computed with each append.
const MAX_HASHED: u64 = 1 << 20;
/// How long a write that is half done may take to its end.
const PARTIAL_WRITE_WAIT: Duration = Duration::from_millis(5);

/// Lines that are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The path as stored, in NFC when we made it.
    pub path: String,
    /// Where the text is in the file, newline included; none where the system did not say.
    pub span: Option<Range<u64>>,
    /// What the file said when the text was in it; none for a transcript, for a file larger than
    /// 1 MiB (see [`Files::version_until`]), and where it could not be read.
    pub version: Option<Version>,
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
        self.append_if(path, bytes, expected, None)
    }

    /// Adds `bytes` as [`Files::append`] does, if the file is still `end` bytes long; one that is
    /// not there has 0.
    ///
    /// # Errors
    /// As for [`Files::append`]; [`Error::Conflict`] when it is longer or shorter.
    pub fn append_at(&self, path: &str, bytes: &[u8], end: u64) -> Result<Appended> {
        self.append_if(path, bytes, Expected::Any, Some(end))
    }

    fn append_if(
        &self,
        path: &str,
        bytes: &[u8],
        expected: Expected,
        end: Option<u64>,
    ) -> Result<Appended> {
        let (file, appended) = {
            let guard = self.begin()?;
            let target = self.resolve_target(path, expected)?;
            match self.add(&guard, &target, bytes, expected, end)? {
                (None, appended) => return Ok(appended),
                (Some(file), appended) => (file, appended),
            }
        };
        match file.sync_data() {
            Ok(()) => Ok(appended),
            Err(source) => Err(Error::InDoubt { path: appended.path, source }),
        }
    }

    /// Returns the version of a file's first `end` bytes: what it said when an append ended there,
    /// if nobody has changed what stands before.
    ///
    /// # Errors
    /// As for [`Files::read`]; [`Error::Interrupted`].
    pub fn version_until(&self, path: &str, end: u64, interrupt: Interrupt<'_>) -> Result<Version> {
        Version::of_first(&self.root.open_read(path)?, end, path, interrupt)
    }

    /// Adds to the file, or makes it; an open file is still to be made durable.
    fn add(
        &self,
        guard: &LockGuard<'_>,
        target: &PathHandle,
        bytes: &[u8],
        expected: Expected,
        end: Option<u64>,
    ) -> Result<(Option<File>, Appended)> {
        let path = &*target.path;
        for _ in 0..MAX_TRIES {
            let Some(file) = open(target)? else {
                expected.check(path, None)?;
                check_end(path, end, 0)?;
                match self.make(guard, target, bytes) {
                    // somebody else has made it
                    Err(Error::Conflict { .. }) if expected == Expected::Any => continue,
                    made => return Ok((None, made?)),
                }
            };
            match expected {
                Expected::Any => {}
                Expected::Absent => return Err(absent_expected(target)),
                Expected::Version(_) => expected.check(path, Some(target.version()?))?,
            }
            check_utf8(path, &file)?;
            let size = file.metadata().map_err(|e| Error::io("append to", path, e))?.len();
            check_end(path, end, size)?;
            let (start, quarantined) = end_last_line(&self.root, path, &file)?;
            // From the root: the folder may have been moved out of the memory.
            if !is_only_name((self.root.handle(), path), &file)
                .map_err(|e| refusal("append to", path, e))?
            {
                continue;
            }
            let span = write_once(path, &file, start, bytes)?;
            let still = target.is_name_of(&file);
            if still.map_err(|e| Error::InDoubt { path: path.into(), source: e.into() })? {
                let is_small = |span: &&Range<u64>| {
                    span.end <= MAX_HASHED && !write_rules::is_transcript(path)
                };
                let small = span.as_ref().filter(is_small);
                let version = small.and_then(|span| Version::of_file(&file, span.end).ok());
                let path = path.to_owned();
                let done = Appended { path, span, version, created: false, quarantined };
                return Ok((Some(file), done));
            }
            // An editor saved by rename meanwhile: our lines went into the file
            // that it replaced. They belong into the new one.
        }
        let found = target.version_shown();
        Err(Error::Conflict {
            path: path.into(),
            expected: "a file that is not being replaced".into(),
            found,
        })
    }

    /// Makes the file, with a line end behind the text where it has none.
    fn make(&self, guard: &LockGuard<'_>, target: &PathHandle, bytes: &[u8]) -> Result<Appended> {
        let text = [bytes, line_end(bytes)].concat();
        let version = Some(self.publish(guard, target, None, &text)?.version);
        let (path, span) = (target.path.to_string(), Some(0..text.len() as u64));
        Ok(Appended { path, span, version, created: true, quarantined: None })
    }
}

/// Opens a file to add to it; none when it is not there.
fn open(target: &PathHandle) -> Result<Option<File>> {
    let flags = READ_FLAGS | OpenFlags::RDWR | OpenFlags::APPEND;
    match open_regular(target.name(), flags, &target.path) {
        Err(Error::NotFound { .. }) => Ok(None),
        done => done.map(Some),
    }
}

/// Refuses a file in UTF-16, in which a line in UTF-8 would be noise.
fn check_utf8(path: &str, mut file: &File) -> Result<()> {
    let fail = |e| Error::io("append to", path, e);
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    file.take(UTF16_BLOCK as u64 + 3).read_to_end(&mut start).map_err(fail)?;
    if !is_utf16(&start) {
        return Ok(());
    }
    let why = "it is in UTF-16; save it as UTF-8 before you add to it".to_owned();
    Err(Error::Format { path: path.to_owned(), line: None, why })
}

/// What is missing of the end of a line.
fn line_end(bytes: &[u8]) -> &'static [u8] {
    if bytes.is_empty() || bytes.ends_with(b"\n") { b"" } else { b"\n" }
}

fn absent_expected(target: &PathHandle) -> Error {
    let (path, found) = (target.path.clone(), target.version_shown());
    Error::Conflict { path, expected: "absent".into(), found }
}

/// Refuses a file that has grown or shrunk since the caller read it.
fn check_end(path: &str, end: Option<u64>, found: u64) -> Result<()> {
    let Some(end) = end.filter(|end| *end != found) else { return Ok(()) };
    let (expected, found) = (format!("{end} bytes"), format!("{found} bytes"));
    Err(Error::Conflict { path: path.into(), expected, found })
}

/// What must be written before the next line, and where a torn one was copied.
fn end_last_line(root: &Root, path: &str, file: &File) -> Result<(&'static [u8], Option<String>)> {
    let fail = |e| Error::io("append to", path, e);
    let look = || -> std::io::Result<(u64, u64)> {
        let size = file.metadata()?.len();
        Ok((last_line_start(file, size)?, size))
    };
    let (mut tail, mut size) = look().map_err(fail)?;
    for _ in 0..MAX_TRIES {
        let before = size;
        if tail < size {
            // A line over the end of a page shows in two steps while a stranger writes it.
            std::thread::sleep(PARTIAL_WRITE_WAIT);
            (tail, size) = look().map_err(fail)?;
        }
        if size == before {
            break;
        }
    }
    if tail == size {
        return Ok((b"", None));
    }
    if !write_rules::is_transcript(path) || is_whole(file, tail, size).map_err(fail)? {
        return Ok((b"\n", None));
    }
    let backups = BackupDir::quarantine(root, path)?;
    let mut file = file;
    file.seek(SeekFrom::Start(tail)).map_err(fail)?;
    let kept =
        backups.copy_from(&mut file.take(size - tail)).map_err(|e| refusal("copy", path, e))?;
    backups.sync(path)?;
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

/// Returns whether the last line is a JSON object to which only the newline is missing.
fn is_whole(mut file: &File, tail: u64, size: u64) -> std::io::Result<bool> {
    if size - tail > MAX_PARSED_TAIL {
        return Ok(false);
    }
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(tail))?;
    file.take(size - tail).read_to_end(&mut line)?;
    Ok(line.trim_ascii_start().starts_with(b"{")
        && serde_json::from_slice::<&RawValue>(&line).is_ok())
}

/// Writes it all in one call, or takes back what went in; says where it is.
///
/// # Errors
/// [`Error::Io`] when nothing is in the file; [`Error::InDoubt`] when a part may be.
fn write_once(
    path: &str,
    mut file: &File,
    start: &[u8],
    bytes: &[u8],
) -> Result<Option<Range<u64>>> {
    let fail = |e| Error::io("append to", path, e);
    let text = [start, bytes, line_end(bytes)].concat();
    let before = file.metadata().map_err(fail)?.len();
    let written = loop {
        match file.write(&text) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            done => break done.map_err(fail)?,
        }
    };
    if written < text.len() {
        let why = format!("only {written} of {} bytes fitted", text.len());
        let short = std::io::Error::new(std::io::ErrorKind::StorageFull, why);
        // Only if nobody without our lock has written after us.
        let after = file.metadata().map(|metadata| metadata.len());
        return Err(match after {
            Ok(after) if after == before + written as u64 && file.set_len(before).is_ok() => {
                fail(short)
            }
            _ => Error::InDoubt { path: path.into(), source: short },
        });
    }
    // With O_APPEND the kernel chose the place and left the position after it.
    let end = file.stream_position().ok();
    Ok(end.map(|end| end - (text.len() - start.len()) as u64..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lost_its_name_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path(), false).unwrap();
        let target = root.path_handle("log.md").unwrap();
        assert!(open(&target).unwrap().is_none());
        std::fs::write(dir.path().join("log.md"), "").unwrap();
        let file = open(&target).unwrap().unwrap();
        assert!(target.is_name_of(&file).unwrap());
        std::fs::write(dir.path().join("new"), "x").unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join("log.md")).unwrap();
        assert!(!target.is_name_of(&file).unwrap());
        std::fs::remove_file(dir.path().join("log.md")).unwrap();
        assert!(!target.is_name_of(&file).unwrap());
    }
}
