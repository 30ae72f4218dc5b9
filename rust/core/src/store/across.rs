//! One search over many files: notes line by line, transcripts message by message.

use std::collections::VecDeque;

use crate::catalog::draft::Kind;
use crate::error::{Error, Interrupt, Result};
use crate::grep::{MAX_BAD_LINES, Match, Options, Scan, Searcher};
use crate::store::Store;

/// A search under way over the files of a store, in order of their paths.
#[derive(Debug)]
pub struct Across {
    searcher: Searcher,
    /// Matches still wanted.
    left: Option<usize>,
    files: VecDeque<(String, Kind)>,
    current: Option<(String, Scan)>,
    /// Whether nothing is known of the current file that could spare reading it.
    unsieved: bool,
    /// Whether to have made, later and aside, what spares the next search reading a large transcript.
    pub keep: bool,
    /// What was seen so far.
    pub seen: Tally,
}

/// What a search over many files has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
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

impl Across {
    /// Begins a search over the files that are one of `prefixes` or lie below it, each once.
    ///
    /// With a role or a time only transcripts are searched, for notes have neither.
    ///
    /// # Errors
    /// [`Error::Query`] for a pattern that cannot be run; [`Error::NotFound`] when nothing is
    /// at a prefix; [`Error::Interrupted`].
    pub fn new(
        store: &Store,
        prefixes: &[&str],
        options: Options,
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let messages_only =
            !options.roles.is_empty() || options.since.is_some() || options.until.is_some();
        let left = options.limit;
        let searcher = Searcher::new(options)?;
        // the files as they lie, not the index: a search is to start at once on any transcript
        let mut files: Vec<(String, Kind)> = Vec::new();
        for prefix in prefixes {
            let prefix = prefix.trim_end_matches('/');
            let paths = match store.root().stat(prefix) {
                Ok(_) => vec![prefix.to_owned()],
                Err(_) => {
                    let walk = store.root().walk(prefix, interrupt)?;
                    walk.files.into_iter().map(|(path, _)| path).collect()
                }
            };
            for path in paths {
                let kind = Kind::of(&path);
                files.push((path, kind));
            }
        }
        files
            .retain(|(_, kind)| *kind == Kind::Transcript || *kind == Kind::Note && !messages_only);
        files.sort();
        files.dedup();
        let files = files.into();
        let (current, unsieved, keep, seen) = (None, false, true, Tally::default());
        Ok(Self { searcher, left, files, current, unsieved, keep, seen })
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
        while let Some((path, mut scan)) = self.open(store)? {
            match scan.next_batch(interrupt) {
                Ok(batch) if batch.is_empty() => self.close(store, &path, scan, None),
                Ok(batch) => {
                    self.took(batch.len() as u64);
                    self.current = Some((path.clone(), scan));
                    return Ok(Some((path, batch)));
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => self.close(store, &path, scan, Some(error)),
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
        while let Some((path, mut scan)) = self.open(store)? {
            let done = scan.count(interrupt);
            if matches!(done, Err(Error::Interrupted)) {
                return Err(Error::Interrupted);
            }
            let found = *done.as_ref().unwrap_or(&0);
            count += found;
            self.took(found);
            self.close(store, &path, scan, done.err());
        }
        Ok(count)
    }

    fn took(&mut self, matches: u64) {
        self.seen.matched += matches;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(matches as usize);
            self.searcher.set_limit(Some(*left));
        }
    }

    fn open(&mut self, store: &Store) -> Result<Option<(String, Scan)>> {
        if self.left == Some(0) {
            if let Some((path, scan)) = self.current.take() {
                self.close(store, &path, scan, None);
            }
            return Ok(None);
        }
        if let Some(current) = self.current.take() {
            return Ok(Some(current));
        }
        while let Some((path, kind)) = self.files.pop_front() {
            let file = match store.root().open_read(&path) {
                Ok(file) => file,
                // deleted since the search began
                Err(Error::NotFound { .. }) => continue,
                Err(error) => {
                    self.seen.notes.push(error.to_string());
                    continue;
                }
            };
            let transcript = kind == Kind::Transcript;
            let sieve = if transcript { store.sieve(&path, &file) } else { None };
            self.unsieved = transcript && sieve.is_none();
            let mut scan = self.searcher.scan(file, &*path, transcript)?;
            if let Some(sieve) = sieve {
                scan.skip_by(&sieve);
            }
            return Ok(Some((path, scan)));
        }
        Ok(None)
    }

    fn close(&mut self, store: &Store, path: &str, scan: Scan, error: Option<Error>) {
        let report = scan.report();
        self.seen.lines += report.lines;
        self.seen.bytes += report.bytes;
        self.seen.bad_lines += report.bad_lines;
        let room = MAX_BAD_LINES.saturating_sub(self.seen.first_bad_lines.len());
        let bad = report.first_bad_lines.iter().take(room).map(|line| format!("{path}#L{line}"));
        self.seen.first_bad_lines.extend(bad);
        if report.torn_tail {
            self.seen.notes.push(format!("{path}: the last line is torn"));
        }
        if self.keep && self.unsieved && error.is_none() && scan.is_over() {
            store.want_sieve(path);
        }
        self.seen.notes.extend(error.map(|error| error.to_string()));
        self.searcher.reuse(scan);
    }
}
