//! Grep over many files: notes line by line, transcripts message by message.
//!
//! A large file is searched by all threads at once. Small ones are handed out,
//! a file a thread, some way ahead of what is asked for; what was found in them
//! is given in the order of their paths all the same.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::walk::unlistable_note;
use crate::filter::FilterFields;
use crate::grep::{GrepOptions, MAX_BAD_LINES, MAX_BATCH, Match, Report, Scan, Searcher};
use crate::parallel::ordered_map;
use crate::store::Store;
use crate::store::grep_small_files::{FileMatches, FileOutcome, begin, search_small};
use crate::text::citation::cite_line;

/// So many files are handed out before their results are given.
const MAX_READY_FILES: usize = 256;

/// A grep under way over the files of a store, in order of their paths.
#[derive(Debug)]
pub struct GrepFiles {
    searcher: Searcher,
    /// Matches still wanted.
    left: Option<usize>,
    files: VecDeque<(String, FileKind)>,
    /// For small files, one a thread.
    helpers: Vec<Searcher>,
    /// What became of the files handed out ahead.
    ready: VecDeque<(String, FileKind, FileOutcome)>,
    current: Option<(String, Scan)>,
    /// Whether the current file is a transcript without a gram index.
    lacks_gram_index: bool,
    /// Whether to have a gram index written, by a background thread, for a large
    /// transcript that had
    /// to be read as a whole.
    pub write_gram_index: bool,
    /// What was seen so far.
    pub summary: GrepSummary,
    /// Said at the end if nothing has matched: that there is no such session.
    unknown: Vec<String>,
}

/// The next file to give the matches of.
#[expect(clippy::large_enum_variant, reason = "one at a time, at once moved on")]
enum NextFile {
    Small(FileMatches),
    Large(Scan),
}

/// Totals of a grep over many files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepSummary {
    /// Messages and lines that matched.
    pub matched: u64,
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines that hold no readable record.
    pub bad_lines: u64,
    /// Citations of the first of them.
    pub first_bad_lines: Vec<String>,
    /// Files that could not be read, and torn last lines.
    pub notes: Vec<String>,
}

impl GrepFiles {
    /// Begins a search over the files that the filter admits, each once.
    ///
    /// Lines of notes have neither a role nor a session nor a time: where one is asked for, only
    /// transcripts are searched.
    ///
    /// # Errors
    /// [`Error::Query`] for a pattern that cannot be run, or a filter that lines have no field
    /// for, or that several sessions pass; [`Error::NotFound`] when nothing is at a prefix;
    /// [`Error::Refused`] for one outside the root; [`Error::Interrupted`].
    pub fn new(store: &Store, mut options: GrepOptions, interrupt: Interrupt<'_>) -> Result<Self> {
        options.filter.check_for_lines()?;
        let (filter, unknown) = store.resolve_sessions_unindexed(options.filter, interrupt)?;
        options.filter = filter;
        let left = options.limit;
        let filter = options.filter.clone();
        let searcher = Searcher::new(options)?;
        // the files as they lie, not the index: a search is to start at once on any transcript
        let mut files: Vec<(String, FileKind)> = Vec::new();
        let mut summary = GrepSummary::default();
        let everything = [String::new()];
        let prefixes = if filter.prefixes.is_empty() { &everything[..] } else { &filter.prefixes };
        for prefix in prefixes {
            let paths = match store.root().stat(prefix) {
                Ok(_) => vec![prefix.clone()],
                Err(_) => {
                    let walk = store.root().walk(prefix, interrupt)?;
                    let closed = walk.skipped.iter();
                    summary
                        .notes
                        .extend(closed.filter_map(|(path, why)| unlistable_note(path, why)));
                    walk.files.into_iter().map(|(path, _)| path).collect()
                }
            };
            for path in paths {
                let kind = FileKind::of(&path);
                files.push((path, kind));
            }
        }
        files.retain(|(path, kind)| match kind {
            FileKind::Transcript => filter.admits_file(path),
            FileKind::Note => filter.admits(&NoteLine { path }),
            FileKind::Other => false,
        });
        files.sort();
        files.dedup();
        summary.notes.sort();
        summary.notes.dedup();
        Ok(Self {
            helpers: searcher.helpers(),
            searcher,
            left,
            files: files.into(),
            ready: VecDeque::new(),
            current: None,
            lacks_gram_index: false,
            write_gram_index: true,
            summary,
            unknown,
        })
    }

    /// Gives the next matches with the path they are in; none at the end.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; a file that cannot be read is noted and passed over.
    pub fn next_batch(
        &mut self,
        store: &Store,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<(String, Vec<Match>)>> {
        while let Some((path, next)) = self.next(store, true, interrupt)? {
            let mut scan = match next {
                NextFile::Small(found) if found.count == 0 => {
                    self.close(&path, &found.report, None);
                    continue;
                }
                NextFile::Small(mut found) => {
                    found.matches.truncate(self.left.unwrap_or(usize::MAX));
                    self.took(found.matches.len() as u64);
                    self.close(&path, &found.report, None);
                    return Ok(Some((path, found.matches)));
                }
                NextFile::Large(scan) => scan,
            };
            match scan.next_batch(interrupt) {
                Ok(batch) if batch.is_empty() => self.end(store, &path, scan, None),
                Ok(batch) => {
                    self.took(batch.len() as u64);
                    self.current = Some((path.clone(), scan));
                    return Ok(Some((path, batch)));
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => self.end(store, &path, scan, Some(error)),
            }
        }
        Ok(None)
    }

    /// Counts all matches that are left, building nothing.
    ///
    /// # Errors
    /// As [`Self::next_batch`].
    pub fn count(&mut self, store: &Store, interrupt: Interrupt<'_>) -> Result<u64> {
        let mut count = 0;
        while let Some((path, next)) = self.next(store, false, interrupt)? {
            let mut scan = match next {
                NextFile::Small(found) => {
                    let new = found.count.min(self.left.map_or(u64::MAX, |left| left as u64));
                    count += new;
                    self.took(new);
                    self.close(&path, &found.report, None);
                    continue;
                }
                NextFile::Large(scan) => scan,
            };
            let done = scan.count(interrupt);
            if matches!(done, Err(Error::Interrupted)) {
                return Err(Error::Interrupted);
            }
            let new = *done.as_ref().unwrap_or(&0);
            count += new;
            self.took(new);
            self.end(store, &path, scan, done.err());
        }
        Ok(count)
    }

    fn took(&mut self, matches: u64) {
        self.summary.matched += matches;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(matches as usize);
            self.searcher.set_limit(Some(*left));
        }
    }

    fn next(
        &mut self,
        store: &Store,
        build: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<(String, NextFile)>> {
        if self.left == Some(0) {
            if let Some((path, scan)) = self.current.take() {
                self.end(store, &path, scan, None);
            }
            return Ok(None);
        }
        if let Some((path, scan)) = self.current.take() {
            return Ok(Some((path, NextFile::Large(scan))));
        }
        loop {
            if self.ready.is_empty() {
                self.look_ahead(store, build, interrupt)?;
            }
            let Some((path, kind, outcome)) = self.ready.pop_front() else {
                // a message may be of a session that no transcript is called by
                if self.summary.matched == 0 {
                    self.summary.notes.append(&mut self.unknown);
                }
                return Ok(None);
            };
            let next = match outcome {
                FileOutcome::Whole(found) => Ok(NextFile::Small(found)),
                FileOutcome::Large => self.begin_large(store, &path, kind).map(NextFile::Large),
                FileOutcome::Failed(error) => Err(error),
            };
            match next {
                Ok(next) => return Ok(Some((path, next))),
                // deleted since the search began
                Err(Error::NotFound { .. }) => {}
                Err(error) => self.summary.notes.push(error.to_string()),
            }
        }
    }

    /// Hands out the next files, fewer once a batch of matches is found.
    fn look_ahead(&mut self, store: &Store, build: bool, interrupt: Interrupt<'_>) -> Result<()> {
        self.helpers.iter_mut().for_each(|helper| helper.set_limit(self.left));
        let batch = if build { MAX_BATCH } else { usize::MAX };
        let enough = self.left.map_or(batch, |left| left.min(batch)) as u64;
        let count = self.files.len().min(MAX_READY_FILES);
        let files = &*self.files.make_contiguous();
        let found = AtomicU64::new(0);
        let work = |helper: &mut Searcher, index: usize| {
            let (path, kind) = &files[index];
            let outcome =
                search_small(helper, store, path, *kind, build).unwrap_or_else(FileOutcome::Failed);
            let new = if let FileOutcome::Whole(found) = &outcome { found.count } else { 0 };
            let before = found.fetch_add(new, Ordering::Relaxed);
            Ok((outcome, before + new < enough))
        };
        let mut done = Vec::new();
        ordered_map(&mut self.helpers, count, interrupt, work, |outcome| {
            done.push(outcome);
            Ok(())
        })?;
        let files = self.files.drain(..done.len());
        let ready = files.zip(done).map(|((path, kind), outcome)| (path, kind, outcome));
        self.ready.extend(ready);
        Ok(())
    }

    fn begin_large(&mut self, store: &Store, path: &str, kind: FileKind) -> Result<Scan> {
        let mut scan = begin(&mut self.searcher, store, path, kind)?;
        let gram_index = store.gram_index(path, scan.file());
        self.lacks_gram_index = kind == FileKind::Transcript && gram_index.is_none();
        gram_index.into_iter().for_each(|gram_index| scan.skip_by(&gram_index));
        Ok(scan)
    }

    fn end(&mut self, store: &Store, path: &str, scan: Scan, error: Option<Error>) {
        if self.write_gram_index && self.lacks_gram_index && error.is_none() && scan.is_over() {
            store.request_gram_index(path);
        }
        self.close(path, scan.report(), error);
        self.searcher.reuse(scan);
    }

    fn close(&mut self, path: &str, report: &Report, error: Option<Error>) {
        self.summary.lines += report.lines;
        self.summary.bytes += report.bytes;
        self.summary.bad_lines += report.bad_lines;
        let room = MAX_BAD_LINES.saturating_sub(self.summary.first_bad_lines.len());
        let bad = report.first_bad_lines.iter().take(room).map(|line| cite_line(path, *line));
        self.summary.first_bad_lines.extend(bad);
        if report.torn_tail {
            self.summary.notes.push(format!("{path}: the last line is torn"));
        }
        self.summary.notes.extend(error.map(|error| error.to_string()));
    }
}

/// A line of a note as the filter sees it: of its fields it has only the file.
pub(super) struct NoteLine<'a> {
    pub path: &'a str,
}

impl FilterFields for NoteLine<'_> {
    fn path(&self) -> &str {
        self.path
    }
}
