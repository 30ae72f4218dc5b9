//! Batches of a build: what a thread reads at a time, runs of files or a part of a large transcript.

use std::fs::File;
use std::ops::Range;

use crate::catalog::archive_list::ArchivedFiles;
use crate::catalog::extract::Corpus;
use crate::catalog::memory_estimate::EXTRACTION_FACTOR;
use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::files::platform::FileExt as _;
use crate::files::root::{Root, Stat};
use crate::memory_limit::MemoryLimit;
use crate::messages::formats::DESCRIBED_LINES;
use crate::messages::line_reader::{LONGEST_LINE, is_in_utf16};

/// Files of a batch: neighbours, which share words, stay on one thread.
const FILES_PER_BATCH: usize = 32;
/// Most bytes of a part of a transcript.
pub(crate) const PART_BYTES: u64 = 16 << 20;
/// A part has at most one in so many of the bytes that are left, so that both threads end at about the
/// same time (guided self-scheduling, Polychronopoulos & Kuck 1987),
const SHARE: u64 = 8;
/// but at least one in so many of the most bytes of a part.
const SHORTEST: u64 = 16;
/// Most bytes of the batch that is read before all others,
const MAX_FIRST_BYTES: u64 = 2 << 20;
/// where there are so many times as many.
const MIN_TIMES_FIRST: u64 = 16;
/// Bytes in which the end of a line is looked for.
const WINDOW: usize = 1 << 18;

/// What a thread reads at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Batch {
    /// Files, by their places in the list.
    Files(Range<usize>),
    /// Bytes of the file with this place, which begin and end with lines.
    Part(usize, Range<u64>),
}

impl Batch {
    /// Returns the place of the file of which this is a part.
    pub fn parted(&self) -> Option<usize> {
        match self {
            Self::Files(_) => None,
            Self::Part(at, _) => Some(*at),
        }
    }
}

/// What is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileList<'a> {
    pub root: &'a Root,
    pub files: &'a [(String, Stat)],
    pub corpus: Corpus,
    pub limit: &'a MemoryLimit,
    /// Files that are left out.
    pub archived: &'a ArchivedFiles,
}

impl FileList<'_> {
    /// Returns the batches in which two threads read all files, each as a whole.
    pub fn whole(&self) -> Vec<Batch> {
        let mut batches = Vec::new();
        add_files(&mut batches, 0..self.files.len());
        batches
    }

    /// Returns the batch that one thread reads before the other begins, if there is so much to read
    /// that it pays: both then have the same numbers for the commonest words.
    pub fn first(&self, batches: &[Batch]) -> Option<usize> {
        let bytes = |batch: &Batch| match batch {
            Batch::Files(files) => {
                self.files[files.clone()].iter().map(|(_, stat)| stat.size).sum()
            }
            Batch::Part(_, span) => span.end - span.start,
        };
        let all: u64 = batches.iter().map(bytes).sum();
        let most = MAX_FIRST_BYTES.min(all / MIN_TIMES_FIRST);
        // no other than the first of all: each thread reads its documents in order
        batches.first().filter(|batch| bytes(batch) <= most).map(|_| 0)
    }

    /// Returns the batches in which two threads read all files, transcripts of more than two parts
    /// of so many bytes in parts.
    pub fn in_parts(&self, part_bytes: u64) -> Vec<Batch> {
        let (mut batches, mut first) = (Vec::new(), 0);
        for (at, (path, stat)) in self.files.iter().enumerate() {
            if FileKind::of(path) != FileKind::Transcript || stat.size / 2 < part_bytes {
                continue;
            }
            if self.archived.get(path, stat).is_some() {
                continue;
            }
            // where memory may end before the file does, it is read in order
            if !self.limit.allows(self.corpus as usize, EXTRACTION_FACTOR * stat.size) {
                continue;
            }
            // whoever reads the whole says what is wrong
            let parts = parts_of(self.root, path, stat.size, part_bytes).unwrap_or_default();
            if parts.len() > 1 {
                add_files(&mut batches, first..at);
                batches.extend(parts.into_iter().map(|part| Batch::Part(at, part)));
                first = at + 1;
            }
        }
        add_files(&mut batches, first..self.files.len());
        batches
    }
}

fn add_files(batches: &mut Vec<Batch>, files: Range<usize>) {
    let runs = files.clone().step_by(FILES_PER_BATCH);
    batches.extend(runs.map(|from| Batch::Files(from..files.end.min(from + FILES_PER_BATCH))));
}

/// Cuts a transcript between lines into parts of about so many bytes, the first one and the last ones of
/// fewer.
fn parts_of(root: &Root, path: &str, size: u64, part_bytes: u64) -> Result<Vec<Range<u64>>> {
    let file = root.open_read(path)?;
    let mut parts = Vec::new();
    if is_in_utf16(&file, path)? {
        return Ok(parts);
    }
    let mut start = 0;
    loop {
        let share = ((size - start) / SHARE).clamp(part_bytes / SHORTEST, part_bytes).max(1);
        // the first is short, for one thread reads it before the other begins
        let wanted = match start {
            0 => described_bytes(&file, path, part_bytes)?.max(part_bytes / SHORTEST).max(1),
            _ => share,
        };
        if size - start < 2 * wanted {
            break;
        }
        let Some(end) = line_end(&file, path, start + wanted, size)? else { break };
        parts.push(start..end);
        start = end;
    }
    parts.push(start..size);
    Ok(parts)
}

/// Returns how many bytes the lines have that describe the session, at most `most`: a transcript that is
/// read in parts has them in the first.
fn described_bytes(file: &File, path: &str, most: u64) -> Result<u64> {
    let mut window = vec![0; WINDOW];
    let (mut at, mut lines) = (0, 0);
    while at < most {
        let read = file.read_at(&mut window, at).map_err(|error| Error::io("read", path, error))?;
        let ends = memchr::memchr_iter(b'\n', &window[..read]);
        let left = (DESCRIBED_LINES - lines) as usize;
        let (count, last) = ends.take(left).fold((0, 0), |(count, _), end| (count + 1, end));
        lines += count;
        if lines == DESCRIBED_LINES {
            return Ok(most.min(at + last as u64 + 1));
        }
        if read == 0 {
            break;
        }
        at += read as u64;
    }
    Ok(most)
}

/// Returns where the line ends that holds the byte at `from`; none where that is not before `size`,
/// or the line may be too long to be read.
fn line_end(file: &File, path: &str, from: u64, size: u64) -> Result<Option<u64>> {
    let mut window = vec![0; WINDOW];
    let mut at = from;
    while at < size.min(from + LONGEST_LINE as u64 / 2) {
        let read = file.read_at(&mut window, at).map_err(|error| Error::io("read", path, error))?;
        if let Some(end) = memchr::memchr(b'\n', &window[..read]) {
            return Ok(Some(at + end as u64 + 1).filter(|&end| end < size));
        }
        if read == 0 {
            break;
        }
        at += read as u64;
    }
    Ok(None)
}
