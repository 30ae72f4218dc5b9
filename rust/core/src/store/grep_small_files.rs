//! Grep of small files: each is searched to its end by one thread.

use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::grep::{Match, Report, Scan, Searcher};
use crate::store::Store;

/// A larger file is searched by itself.
const MAX_SMALL_FILE: u64 = 64 << 10;
/// A file with more matches is searched by itself too, and gives them as they are asked for.
const MAX_SMALL_MATCHES: usize = 4096;

/// Result of a file that was handed out.
#[derive(Debug)]
pub(super) enum FileOutcome {
    Whole(FileMatches),
    /// Not looked at yet: it is worth all threads.
    Large,
    Failed(Error),
}

/// Matches of a small file.
#[derive(Debug)]
pub(super) struct FileMatches {
    pub count: u64,
    /// All of them, if they were to be built.
    pub matches: Vec<Match>,
    pub report: Report,
}

/// Begins the scan of a file.
pub(super) fn begin(
    searcher: &mut Searcher,
    store: &Store,
    path: &str,
    kind: FileKind,
) -> Result<Scan> {
    let file = store.root().open_read(path)?;
    searcher.scan(file, path, kind == FileKind::Transcript)
}

/// Searches a small file to its end.
pub(super) fn search_small(
    helper: &mut Searcher,
    store: &Store,
    path: &str,
    kind: FileKind,
    build: bool,
) -> Result<FileOutcome> {
    // The calling thread alone asks whether to stop, before each file.
    let never = || false;
    let mut scan = begin(helper, store, path, kind)?;
    if scan.bytes_left() > MAX_SMALL_FILE {
        helper.reuse(scan);
        return Ok(FileOutcome::Large);
    }
    let mut matches = Vec::new();
    let count = if build {
        loop {
            let batch = scan.next_batch(&never)?;
            if batch.is_empty() {
                break matches.len() as u64;
            }
            matches.extend(batch);
            if matches.len() > MAX_SMALL_MATCHES {
                helper.reuse(scan);
                return Ok(FileOutcome::Large);
            }
        }
    } else {
        scan.count(&never)?
    };
    let report = scan.report().clone();
    helper.reuse(scan);
    Ok(FileOutcome::Whole(FileMatches { count, matches, report }))
}
