//! Many files at once: two threads read, and the index is packed at one go.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::catalog::draft::Part;
use crate::catalog::reading::{Content, Known, Reader, Reading, Sink};
use crate::catalog::{Catalog, Documents, FileRow, Row};
use crate::error::{Error, Interrupt, Result, SLICE};
use crate::files::root::{Root, Stat};
use crate::files::stamps::{Clock, now_ns};
use crate::index::Index;
use crate::index::bm25f::Weights;
use crate::index::lexicon::Lexicon;
use crate::index::packing::packing_bytes;
use crate::index::run::Run;
use crate::index::terms::Terms;
use crate::memory;
use crate::memory_limit::MemoryLimit;

/// Files that a thread takes at a time: neighbours, which share words, stay on one thread.
const STEP: usize = 32;
/// Rows in a piece: 1 MB.
const PIECE: usize = 1 << 14;

/// What one of the two threads has read.
#[derive(Debug, Default)]
struct Half {
    lexicon: Lexicon,
    labels: Terms,
    taken: Taken,
    /// What else was read of each file, and how many documents.
    readings: Vec<(usize, Result<(Reading, usize)>)>,
}

/// The documents that one of the two threads has read.
#[derive(Debug, Default)]
struct Taken {
    run: Run,
    /// The rows of the documents of `run`, in pieces that are given back one by one.
    rows: Vec<Vec<Row>>,
}

/// A thread that takes documents, and what both threads hold.
struct Taking<'a> {
    taken: &'a mut Taken,
    own: usize,
    work: &'a Work<'a>,
}

impl Sink for Taking<'_> {
    fn take(&mut self, row: Row, content: Content) {
        let Content::New(document) = content else { return };
        self.taken.run.push(&document);
        let rows = &mut self.taken.rows;
        match rows.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push(row),
            None => rows.push(vec![row]),
        }
    }

    fn allows(&self, dictionaries: usize, more: u64) -> bool {
        let (run, Work { held, limit, part, .. }) = (&self.taken.run, self.work);
        let bytes = [run.len(), run.postings(), dictionaries].map(|count| count as u64);
        let own = packing_bytes(bytes[0], bytes[1], bytes[2]);
        held[self.own].store(own, Ordering::Relaxed);
        let other = held[1 - self.own].load(Ordering::Relaxed);
        limit.allows(*part as usize, own.saturating_add(other).saturating_add(more))
    }
}

/// What both threads see.
struct Work<'a> {
    root: &'a Root,
    files: &'a [(String, Stat)],
    part: Part,
    limit: &'a MemoryLimit,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// What packing needs of what each thread has read.
    held: [AtomicU64; 2],
}

impl Work<'_> {
    /// Reads files until there are no more, or the caller asks to stop.
    fn run(&self, own: usize, interrupt: Interrupt<'_>) -> Half {
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
                half.lexicon.rest();
                return half;
            }
            for at in from..self.files.len().min(from + STEP) {
                if stop() {
                    break;
                }
                let (path, stat) = &self.files[at];
                let before = half.taken.run.len();
                let mut reader = Reader {
                    root: self.root,
                    lexicon: &mut half.lexicon,
                    labels: &mut half.labels,
                    part: self.part,
                    interrupt: &stop,
                    known: Known::default(),
                    limit: self.limit,
                    sink: &mut Taking { taken: &mut half.taken, own, work: self },
                };
                let reading = reader.whole(path, stat);
                let count = half.taken.run.len() - before;
                half.readings.push((at, reading.map(|reading| (reading, count))));
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
        Self::new(weights, part).with_clock(clock).filled(root, files, interrupt)
    }

    /// Does the same for an empty catalog.
    ///
    /// # Errors
    /// Those of [`Self::build`].
    pub fn filled(
        self,
        root: &Root,
        files: &[(String, Stat)],
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        let (next, stopped, held) = Default::default();
        let limit = self.limit.clone();
        let work = Work { root, files, part: self.part, limit: &limit, next, stopped, held };
        let now = now_ns();
        let halves = std::thread::scope(|scope| {
            // only the caller's own thread may ask whether to stop
            let other = scope.spawn(|| work.run(1, &|| false));
            let own = work.run(0, interrupt);
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [own, other]
        });
        if work.stopped.into_inner() {
            return Err(Error::Interrupted);
        }
        let built = self.assembled(files, now, halves, interrupt)?;
        built.0.note_held();
        memory::give_back();
        Ok(built)
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
        for (half, read) in halves.into_iter().enumerate() {
            let Half { lexicon, labels, taken: Taken { run, rows }, readings } = read;
            runs.push(run.with(lexicon));
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
            let rows = rest.into_iter().map(|(_, rows)| rows.into_iter().flatten());
            let mut rows: Vec<_> = rows.collect();
            self.files.reserve_exact(order.len());
            self.rows.reserve(turns.iter().map(|&(_, count)| count).sum());
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
            cut: reading.cut.is_some(),
            needs: reading.needs,
            summary: self.labels.intern(&reading.summary),
            documents: Documents::Run(first..self.rows.len() as u32),
            ..file
        });
    }
}
