//! Many files at once: two threads read, and the index is packed at one go.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::catalog::draft::Part;
use crate::catalog::reading::{Content, Known, Reader, Reading};
use crate::catalog::{Catalog, Documents, FileRow, Row};
use crate::error::{Error, Interrupt, Result, SLICE};
use crate::files::root::{Root, Stat};
use crate::files::stamps::{Clock, now_ns};
use crate::index::Index;
use crate::index::bm25f::Weights;
use crate::index::run::Run;
use crate::index::terms::Terms;

/// Files that a thread takes at a time: neighbours, which share words, stay on one thread.
const STEP: usize = 32;

/// What one of the two threads has read.
#[derive(Debug, Default)]
struct Half {
    run: Run,
    labels: Terms,
    /// The rows of the documents of `run`.
    rows: Vec<Row>,
    /// What else was read of each file, and how many documents.
    readings: Vec<(usize, Result<(Reading, usize)>)>,
}

impl Half {
    /// Takes over what was read of a file.
    fn take(&mut self, mut reading: Reading) -> (Reading, usize) {
        let before = self.rows.len();
        for (row, content) in std::mem::take(&mut reading.rows) {
            let Content::New(document) = content else { continue };
            self.run.push(&document);
            self.rows.push(row);
        }
        (reading, self.rows.len() - before)
    }
}

/// What both threads see.
struct Work<'a> {
    root: &'a Root,
    files: &'a [(String, Stat)],
    part: Part,
    next: AtomicUsize,
    stopped: AtomicBool,
}

impl Work<'_> {
    /// Reads files until there are no more, or the caller asks to stop.
    fn run(&self, interrupt: Interrupt<'_>) -> Half {
        let mut half = Half::default();
        // what asks may say so only once, and both threads must hear it
        let stop = || {
            if interrupt() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            self.stopped.load(Ordering::Relaxed)
        };
        loop {
            let from = self.next.fetch_add(STEP, Ordering::Relaxed);
            if from >= self.files.len() || self.stopped.load(Ordering::Relaxed) {
                half.run.lexicon.rest();
                return half;
            }
            for at in from..self.files.len().min(from + STEP) {
                if stop() {
                    break;
                }
                let (path, stat) = &self.files[at];
                let mut reader = Reader {
                    root: self.root,
                    lexicon: &mut half.run.lexicon,
                    labels: &mut half.labels,
                    part: self.part,
                    interrupt: &stop,
                    known: Known::default(),
                };
                let reading = reader.whole(path, stat).map(|reading| half.take(reading));
                half.readings.push((at, reading));
            }
        }
    }
}

impl Catalog {
    /// Reads all files, given in order of their paths, on two threads, and builds the index at one go.
    ///
    /// Returns the catalog and what could not be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the caller asks to stop.
    pub fn build(
        root: &Root,
        files: &[(String, Stat)],
        weights: Weights,
        part: Part,
        clock: Clock,
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = Work { root, files, part, next, stopped };
        let now = now_ns();
        let halves = std::thread::scope(|scope| {
            // only the caller's own thread may ask whether to stop
            let other = scope.spawn(|| work.run(&|| false));
            let own = work.run(interrupt);
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [own, other]
        });
        if work.stopped.into_inner() {
            return Err(Error::Interrupted);
        }
        let empty = Self::new(weights, part).with_clock(clock);
        let built = empty.assembled(files, now, halves, interrupt);
        give_back();
        built
    }

    /// Puts together what the two threads have read, in the order of the files.
    fn assembled(
        mut self,
        files: &[(String, Stat)],
        now: i64,
        halves: [Half; 2],
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        let mut failures = Vec::new();
        let mut order = Vec::new();
        let (mut runs, mut rest) = (Vec::new(), Vec::new());
        for (half, Half { run, labels, rows, readings }) in halves.into_iter().enumerate() {
            runs.push(run);
            rest.push((labels, rows));
            for (at, reading) in readings {
                match reading {
                    Ok((reading, count)) => order.push((at, half, reading, count)),
                    // deleted since it was listed
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => failures.push((files[at].0.clone(), error)),
                }
            }
        }
        order.sort_unstable_by_key(|&(at, ..)| at);
        let turns: Vec<(usize, usize)> =
            order.iter().map(|&(_, half, _, count)| (half, count)).collect();
        let (weights, turns) = (self.index.weights().clone(), &turns[..]);
        let stop = AtomicBool::new(false);
        self.index = std::thread::scope(|scope| {
            // it begins with what only one thread can do, so another makes the rows meanwhile
            let (caller, stop) = (thread::current(), &stop);
            let index = scope.spawn(move || {
                let index = Index::build(weights, runs, turns, stop);
                caller.unpark();
                index
            });
            let numbers = |(labels, _): &(Terms, _)| self.labels.take_in(labels);
            let labels: Vec<Vec<u32>> = rest.iter().map(numbers).collect();
            let mut rows: Vec<_> = rest.into_iter().map(|(_, rows)| rows.into_iter()).collect();
            self.files.reserve_exact(order.len());
            self.rows.reserve(rows.iter().map(|rows| rows.len()).sum());
            for (at, half, reading, count) in order {
                let (path, stat) = &files[at];
                let stat = self.clock.trusted(stat, now);
                let file = FileRow { stat, ..FileRow::new(path.clone()) };
                self.add(file, reading, rows[half].by_ref().take(count), &labels[half]);
            }
            while !index.is_finished() {
                thread::park_timeout(SLICE);
                if interrupt() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            index.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        if stop.into_inner() {
            return Err(Error::Interrupted);
        }
        self.sorted = self.files.len();
        Ok((self, failures))
    }

    /// Adds a file behind all others, and the rows of its documents, whose labels are numbered
    /// otherwise.
    fn add(
        &mut self,
        file: FileRow,
        reading: Reading,
        rows: impl Iterator<Item = Row>,
        labels: &[u32],
    ) {
        let (at, first) = (self.files.len() as u32, self.rows.len() as u32);
        let label = |id: u32| labels[id as usize];
        for row in rows {
            self.rows.push(Row {
                file: at,
                trail: label(row.trail),
                role: label(row.role),
                session: label(row.session),
                category: label(row.category),
                ..row
            });
        }
        self.files.push(FileRow {
            seen: reading.seen,
            left_out: reading.left_out,
            summary: self.labels.intern(&reading.summary),
            documents: Documents::Run(first..self.rows.len() as u32),
            ..file
        });
    }
}

/// Gives the system the memory that only the build needed. Between what is kept of it, the
/// allocator of glibc would hold a quarter of a byte for each byte of Markdown.
fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at free memory only, under the allocator's own locks.
    #[expect(unsafe_code, reason = "nothing else does it")]
    unsafe {
        libc::malloc_trim(0);
    }
}
