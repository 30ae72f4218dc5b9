//! Searcher (a compiled pattern with its buffers), and its scan of one file, range by range.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use super::chunk_result::{ChunkResult, MAX_CHUNK_MATCHES};
use super::context;
use super::cursor::Cursor;
use super::gram_index::GramIndex;
use super::job::{ScanJob, Worker};
use super::line_matcher::LineMatcher;
use super::options::{GrepOptions, MAX_MAPPED};
use super::parallel_scan::count_lines;
use super::pattern::Pattern;
use super::report::{MAX_BAD_LINES, MAX_BATCH, Match, Report};
use super::scan_plan::ScanPlan;
use crate::error::{Error, Interrupt, Result};
use crate::files::platform::{Lease, ReadLease as _};

/// The most bytes that a thread reads at a time: what stays in a processor's own cache.
const MAX_READ: usize = 512 << 10;
/// Ranges handed to the threads at a time.
const MAX_RANGES: usize = 1024;

/// A compiled pattern with its workers, to be run over one file after the other.
#[derive(Debug)]
pub struct Searcher {
    options: GrepOptions,
    /// For transcripts and for notes.
    matchers: [Arc<LineMatcher>; 2],
    workers: Vec<Worker>,
}

impl Searcher {
    /// Compiles the pattern.
    ///
    /// # Errors
    /// [`Error::Query`] for a pattern that cannot be run.
    pub fn new(mut options: GrepOptions) -> Result<Self> {
        let pattern = Pattern::new(&options.pattern, options.fixed, options.case)?;
        options.chunk = options.chunk.clamp(1, MAX_MAPPED);
        // Asked once, not for every file: the answer is read from several files itself.
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        options.threads = match options.threads {
            0 => processors().min(2),
            threads => threads.min(16),
        };
        let matcher = |json| Arc::new(LineMatcher::new(pattern.clone(), &options, json));
        let matchers = [matcher(true), matcher(false)];
        Ok(Self { matchers, workers: Vec::new(), options })
    }

    /// Begins a search of the messages of a transcript (`json`) or the lines of a note.
    ///
    /// # Errors
    /// Those of looking at the file; `path` is named in them.
    pub fn scan(&mut self, file: File, path: impl Into<String>, json: bool) -> Result<Scan> {
        let path = path.into();
        let end = file.metadata().map_err(|e| Error::io("read", &*path, e))?.len();
        let mut workers = std::mem::take(&mut self.workers);
        workers.resize_with(self.options.threads, Worker::default);
        Ok(Scan {
            workers,
            matcher: self.matchers[usize::from(!json)].clone(),
            from: 0,
            to: end,
            line: 0,
            end,
            plan: ScanPlan::default(),
            line_ends: None,
            chunk: self.options.chunk.min(MAX_READ),
            chunks_per_job: 4,
            pending: VecDeque::new(),
            given: 0,
            report: Report::default(),
            file: Arc::new(file),
            path: path.into(),
            options: self.options.clone(),
        })
    }

    /// Others for the same pattern that scan alone, one for each thread that this one may use.
    pub(crate) fn helpers(&self) -> Vec<Self> {
        let options = GrepOptions { threads: 1, ..self.options.clone() };
        let helper = || Self {
            options: options.clone(),
            matchers: self.matchers.clone(),
            workers: Vec::new(),
        };
        std::iter::repeat_with(helper).take(self.options.threads).collect()
    }

    /// Says how many more matches are wanted of the files to come.
    pub fn set_limit(&mut self, limit: Option<usize>) {
        self.options.limit = limit;
    }

    /// Takes back what a scan that is over kept ready, for the next.
    pub fn reuse(&mut self, scan: Scan) {
        self.workers = scan.workers;
    }
}

/// A scan of one file under way.
#[derive(Debug)]
pub struct Scan {
    file: Arc<File>,
    path: Arc<str>,
    options: GrepOptions,
    matcher: Arc<LineMatcher>,
    workers: Vec<Worker>,
    /// The part of the file that is still to be looked at.
    from: u64,
    to: u64,
    /// Lines before `from`; with `newest_first`, before `to`.
    line: u64,
    /// The end of the file when the scan began.
    end: u64,
    /// Which ranges need not be scanned.
    plan: ScanPlan,
    /// The line ends in it, where they are known.
    line_ends: Option<u64>,
    /// As in the options, less where matches are too many.
    chunk: usize,
    chunks_per_job: usize,
    pending: VecDeque<Match>,
    given: usize,
    report: Report,
}

impl Scan {
    /// Searches the messages of a transcript; `path` is named in errors.
    pub fn transcript(file: File, path: impl Into<String>, options: GrepOptions) -> Result<Self> {
        Searcher::new(options)?.scan(file, path, true)
    }

    /// Searches the lines of a note; `path` is named in errors.
    pub fn note(file: File, path: impl Into<String>, options: GrepOptions) -> Result<Self> {
        Searcher::new(options)?.scan(file, path, false)
    }

    /// Goes on where an earlier scan of the same file ended.
    ///
    /// When the bytes before that place have changed, the scan begins at the start
    /// of the file and this returns `false`.
    pub fn resume(&mut self, resume: &Cursor) -> Result<bool> {
        if !resume.fits(&self.file, &self.path, self.end)? {
            return Ok(false);
        }
        self.from = resume.offset;
        if !self.options.newest_first {
            self.line = resume.line;
        }
        Ok(true)
    }

    /// Skips what a gram index of this very file, as it is now, knows to hold no match.
    ///
    /// Everything found and reported is the same without it.
    pub fn skip_by(&mut self, gram_index: &GramIndex) {
        if !self.matcher.json || gram_index.size() != self.end {
            return;
        }
        self.line_ends = Some(gram_index.line_ends());
        let (tools, from) = (self.options.filter.tools, self.from);
        let literals = self.matcher.pattern.literals();
        let ranges = literals.and_then(|literals| gram_index.ranges(literals.texts(), tools, from));
        // What is left between skipped blocks comes in small ranges.
        self.chunks_per_job *= if ranges.is_some() { 4 } else { 1 };
        self.plan = ScanPlan::new(ranges.unwrap_or_default());
    }

    /// The file that is searched.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Whether the whole file has been looked at.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.from >= self.to && self.pending.is_empty()
    }

    /// Gives the next matches, at most [`MAX_BATCH`]; none at the end.
    pub fn next_batch(&mut self, interrupt: Interrupt<'_>) -> Result<Vec<Match>> {
        let left = self.options.limit.map_or(usize::MAX, |limit| limit.saturating_sub(self.given));
        while self.pending.is_empty() && left > 0 && self.advance(left.min(MAX_BATCH), interrupt)? {
        }
        let count = self.pending.len().min(MAX_BATCH).min(left);
        let mut batch: Vec<Match> = self.pending.drain(..count).collect();
        self.given += count;
        if let (Some(last), true) = (batch.last(), count == left) {
            self.report.messages_matched = self.given as u64;
            if !self.options.newest_first {
                self.report.resume = Cursor::at(&self.file, &self.path, last.end, last.line)?;
            }
        }
        if self.options.before + self.options.after > 0 {
            for found in &mut batch {
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                context::add_context(
                    found,
                    &self.file,
                    &self.path,
                    &self.options,
                    self.matcher.json,
                    self.end,
                )?;
            }
        }
        Ok(batch)
    }

    /// Counts all matches that are left, building nothing.
    pub fn count(&mut self, interrupt: Interrupt<'_>) -> Result<u64> {
        while self.advance(0, interrupt)? {}
        let count = self.report.messages_matched - self.given as u64;
        let wanted = |limit: usize| limit.saturating_sub(self.given) as u64;
        Ok(self.options.limit.map_or(count, |limit| count.min(wanted(limit))))
    }

    /// How much of the file is still to be looked at.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.to - self.from
    }

    /// What was seen so far; complete when `next_batch` has given none or `count` has returned.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Scans on until `wanted` matches are built, or counts to the end if none are; `false` there.
    fn advance(&mut self, wanted: usize, interrupt: Interrupt<'_>) -> Result<bool> {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        if self.from >= self.to {
            return Ok(false);
        }
        let backwards = self.options.newest_first;
        if backwards && self.to == self.end {
            self.line = match self.line_ends {
                Some(known) => known,
                None => {
                    let (file, path) = (&self.file, &*self.path);
                    count_lines(file, path, self.end, &mut self.workers, interrupt)?
                }
            };
        }
        let (file, path, matcher) = (self.file.clone(), self.path.clone(), self.matcher.clone());
        // Small ranges cost more to map than to read; and without letters to look for, each line is
        // matched, which may take long.
        let quick = self.plan.is_whole() && self.matcher.pattern.literals().is_some();
        let worth = quick && self.to - self.from >= self.options.worth_mapping;
        let lease = worth.then(|| Lease::take(&file)).flatten();
        let most =
            if lease.is_some() { self.options.chunk } else { self.options.chunk.min(MAX_READ) };
        let job = ScanJob {
            file: &file,
            lease: lease.as_ref(),
            path: &path,
            matcher: &matcher,
            end: self.end,
            build: wanted > 0,
        };
        // The first matches are wanted soon; a count is not there before its end.
        self.chunk = if wanted == 0 { most } else { self.chunk.min(most) };
        let ranges = self.plan.next(self.from, self.to, self.chunk as u64, backwards, MAX_RANGES);
        let enough = (self.chunks_per_job, if wanted > 0 { wanted } else { usize::MAX });
        let mut workers = std::mem::take(&mut self.workers);
        let mut overflowed = false;
        let done = job.run(&ranges, &mut workers, enough, interrupt, |chunk| {
            // What comes behind one that is not taken is scanned again.
            overflowed |= chunk.has_too_many_matches();
            if overflowed { Ok(()) } else { self.take(chunk) }
        });
        self.workers = workers;
        done?;
        self.chunks_per_job = (self.chunks_per_job * 2).min(((64 << 20) / self.chunk).max(4));
        // So many bytes have no more lines than that, so it cannot happen again.
        self.chunk = match overflowed {
            true => MAX_CHUNK_MATCHES.min(most),
            // Where there are matches, more at a time would only wait to be given.
            false if self.chunk >= MAX_READ && !self.pending.is_empty() => self.chunk,
            false => (self.chunk * 2).min(most),
        };
        Ok(true)
    }

    /// Adds the results of one chunk, which come in the order of the scan.
    fn take(&mut self, mut chunk: ChunkResult) -> Result<()> {
        let first = match self.options.newest_first {
            true => {
                self.to = chunk.from;
                // Another process may have shrunk the file since its lines were counted.
                self.line = self.line.saturating_sub(chunk.line_ends);
                self.line
            }
            false => {
                self.from = chunk.to;
                let first = self.line;
                self.line += chunk.line_ends;
                first
            }
        };
        self.report.lines += chunk.lines;
        self.report.bytes += chunk.to - chunk.from;
        self.report.messages_matched += chunk.matched;
        self.report.bad_lines += chunk.bad_lines;
        // A line's number is one more than the line ends before it.
        let number = |ends: u64| first + ends + 1;
        self.report.first_bad_lines.extend(chunk.first_bad_lines.iter().map(|&ends| number(ends)));
        self.report.first_bad_lines.sort_unstable();
        self.report.first_bad_lines.truncate(MAX_BAD_LINES);
        for found in &mut chunk.matches {
            found.line = number(found.line);
        }
        if self.options.newest_first {
            chunk.matches.reverse();
        }
        self.pending.extend(chunk.matches);
        if let Some(tail) = chunk.tail {
            self.report.torn_tail = tail.torn;
            let line = first + tail.line_ends;
            self.report.resume = Cursor::at(&self.file, &self.path, tail.offset, line)?;
        }
        Ok(())
    }
}
