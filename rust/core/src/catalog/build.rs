//! Bulk build of a catalog: two threads read the files, large transcripts in parts, and the index is
//! packed once.
//!
//! (Longer than 350 lines: the reading threads and the merge of what they read are one job.)

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use rustc_hash::FxHashSet;

use crate::catalog::build_batches::{Batch, FileList};
use crate::catalog::extract::Corpus;
use crate::catalog::file_reader::{DocContent, DocSink, FileReader, ReadResult};
use crate::catalog::indexed_docs::IndexedDocs;
use crate::catalog::{Catalog, DocIds, DocMeta, FileMeta};
use crate::error::{Error, Interrupt, POLL_INTERVAL, Result};
use crate::files::racy_stat::{FsClock, now_ns};
use crate::files::root::{Root, Stat};
use crate::index::bm25f::Weights;
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::inverted_index::InvertedIndex;
use crate::index::memory_bounds::packing_bytes;
use crate::index::storage::partial_index::PartialIndex;
use crate::memory_limit::trim_heap;

/// Documents in a chunk: 1 MB.
const DOCS_PER_CHUNK: usize = 1 << 14;

/// The output of one of the two threads.
#[derive(Debug, Default)]
struct ThreadOutput {
    lexicon: Lexicon,
    labels: Interner,
    docs: ThreadDocs,
    readings: Vec<Reading>,
}

/// What else was read of a file, or of a part of one.
#[derive(Debug)]
struct Reading {
    /// The place of the file, and the first byte of the part.
    at: (usize, u64),
    result: Result<ReadResult>,
    /// How many documents were read.
    count: usize,
}

impl Reading {
    /// Returns whether it is a part of a file that must be read as a whole instead.
    fn is_broken(&self, parted: &FxHashSet<usize>) -> bool {
        let (file, start) = self.at;
        parted.contains(&file) && !self.result.as_ref().is_ok_and(|read| read.is_whole_part(start))
    }
}

/// What was read of a file, its parts joined.
struct FileReading {
    /// The place of the file.
    at: usize,
    reading: ReadResult,
    /// Of each part the thread that has read it, how many documents it has, and the lines before it.
    parts: Vec<(usize, usize, u32)>,
}

/// Joins the parts of each file, given in order: place, thread, what was read, documents.
fn by_file(order: Vec<((usize, u64), usize, ReadResult, usize)>) -> Vec<FileReading> {
    let mut files: Vec<FileReading> = Vec::new();
    for ((at, start), output, reading, count) in order {
        match files.last_mut().filter(|_| start > 0) {
            Some(file) => {
                file.parts.push((output, count, file.reading.progress.lines));
                file.reading.append(&reading);
            }
            None => files.push(FileReading { at, reading, parts: vec![(output, count, 0)] }),
        }
    }
    files
}

/// The documents that one of the two threads has read.
#[derive(Debug, Default)]
struct ThreadDocs {
    run: PartialIndex,
    /// The metadata of the documents of `run`, in chunks that are freed one by one.
    docs: Vec<Vec<DocMeta>>,
}

impl ThreadDocs {
    /// Drops all but the first so many documents.
    fn truncate(&mut self, documents: usize) {
        self.run.truncate(documents);
        self.docs.truncate(documents.div_ceil(DOCS_PER_CHUNK));
        let full = self.docs.len().saturating_sub(1) * DOCS_PER_CHUNK;
        if let Some(last) = self.docs.last_mut() {
            last.truncate(documents - full);
        }
    }
}

/// The document sink of one thread, with the job that both share.
struct BuildSink<'a> {
    docs: &'a mut ThreadDocs,
    own: usize,
    job: &'a BuildJob<'a>,
}

impl DocSink for BuildSink<'_> {
    fn take(&mut self, doc: DocMeta, content: DocContent) {
        let DocContent::New(document) = content else { return };
        self.docs.run.push(&document);
        let docs = &mut self.docs.docs;
        match docs.last_mut().filter(|piece| piece.len() < DOCS_PER_CHUNK) {
            Some(piece) => piece.push(doc),
            None => docs.push(vec![doc]),
        }
    }

    fn allows(&self, dictionaries: usize, more: u64) -> bool {
        let (run, BuildJob { held, list, .. }) = (&self.docs.run, self.job);
        let bytes = [run.len(), run.postings(), dictionaries].map(|count| count as u64);
        let own = packing_bytes(bytes[0], bytes[1], bytes[2]);
        held[self.own].store(own, Ordering::Relaxed);
        let other = held[1 - self.own].load(Ordering::Relaxed);
        list.limit.allows(list.corpus as usize, own.saturating_add(other).saturating_add(more))
    }
}

/// The work that both threads share.
struct BuildJob<'a> {
    list: FileList<'a>,
    batches: &'a [Batch],
    /// The batch that is read before all others.
    first: Option<usize>,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// What packing needs of what each thread has read.
    held: [AtomicU64; 2],
}

impl BuildJob<'_> {
    /// Reads files until there are no more, or the caller asks to stop.
    fn run(&self, own: usize, mut output: ThreadOutput, interrupt: Interrupt<'_>) -> ThreadOutput {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = self.batches.get(at) else { break };
            if self.first != Some(at) && !self.read_batch(own, batch, &mut output, interrupt) {
                return output;
            }
        }
        output.lexicon.drop_caches();
        output
    }

    /// Returns whether the caller asks to stop. What asks may say so only once, and both threads must
    /// hear it.
    fn stops(&self, interrupt: Interrupt<'_>) -> bool {
        if interrupt() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Reads a batch; returns false if the caller asks to stop.
    fn read_batch(
        &self,
        own: usize,
        batch: &Batch,
        output: &mut ThreadOutput,
        interrupt: Interrupt<'_>,
    ) -> bool {
        let stop = || self.stops(interrupt);
        let spans = match batch {
            Batch::Files(files) => files.clone().map(|at| (at, None)).collect(),
            Batch::Part(at, span) => vec![(*at, Some(span.clone()))],
        };
        for (at, span) in spans {
            if stop() {
                return false;
            }
            self.read(own, at, span, output, &stop);
        }
        true
    }

    /// Reads a file, or some bytes of it.
    fn read(
        &self,
        own: usize,
        at: usize,
        span: Option<Range<u64>>,
        output: &mut ThreadOutput,
        stop: Interrupt<'_>,
    ) {
        let (path, stat) = &self.list.files[at];
        let before = output.docs.run.len();
        let start = span.as_ref().map_or(0, |span| span.start);
        let mut reader = FileReader {
            root: self.list.root,
            lexicon: &mut output.lexicon,
            labels: &mut output.labels,
            corpus: self.list.corpus,
            interrupt: stop,
            indexed: IndexedDocs::default(),
            limit: self.list.limit,
            archived: self.list.archived,
            sink: &mut BuildSink { docs: &mut output.docs, own, job: self },
        };
        let result = match span {
            None => reader.whole(path, stat),
            Some(span) => reader.part(path, stat, span),
        };
        if result.is_err() {
            // what was read before the error belongs to no file
            output.docs.truncate(before);
        }
        let count = output.docs.run.len() - before;
        output.readings.push(Reading { at: (at, start), result, count });
    }
}

impl Catalog {
    /// Reads all files, given in order of their paths, on two threads, and builds the index at one
    /// go.
    ///
    /// Returns the catalog and what could not be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the caller asks to stop.
    pub fn build(
        root: &Root,
        files: &[(String, Stat)],
        weights: Weights,
        corpus: Corpus,
        clock: FsClock,
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        Self::new(weights, corpus).with_clock(clock).fill(root, files, interrupt)
    }

    /// Does the same for an empty catalog.
    ///
    /// # Errors
    /// Those of [`Self::build`].
    pub fn fill(
        self,
        root: &Root,
        files: &[(String, Stat)],
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        let (corpus, now) = (self.corpus, now_ns());
        let limit = self.limit.clone();
        let archived = &*self.archived.clone();
        let list = FileList { root, files, corpus, limit: &limit, archived };
        let batches = list.in_parts(self.part_bytes);
        let mut outputs = read_all(list, &batches, interrupt)?;
        let parted = batches.iter().filter_map(Batch::parted).collect();
        let readings = || outputs.iter().flat_map(|output| &output.readings);
        if readings().any(|reading| reading.is_broken(&parted)) {
            // both at once would take twice the memory
            drop(outputs);
            outputs = read_all(list, &list.whole(), interrupt)?;
        }
        let built = self.assemble(files, now, outputs, interrupt)?;
        built.0.report_memory_use();
        trim_heap();
        Ok(built)
    }

    /// Merges the output of the two threads, in the order of the files.
    // longer than 60 lines: both threads of the scope need what is prepared here
    fn assemble(
        mut self,
        files: &[(String, Stat)],
        now: i64,
        outputs: [ThreadOutput; 2],
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        let mut failures = Vec::new();
        let mut order = Vec::new();
        let (mut runs, mut rest) = (Vec::new(), Vec::new());
        for (output, read) in outputs.into_iter().enumerate() {
            let ThreadOutput { lexicon, labels, docs: ThreadDocs { run, docs }, readings } = read;
            runs.push(run.with_lexicon(lexicon));
            rest.push((labels, docs));
            for Reading { at, result, count } in readings {
                match result {
                    Ok(reading) => order.push((at, output, reading, count)),
                    // deleted since it was listed
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => failures.push((files[at.0].0.clone(), error)),
                }
            }
        }
        order.sort_unstable_by_key(|&(at, ..)| at);
        let turns: Vec<(usize, usize)> =
            order.iter().map(|&(_, output, _, count)| (output, count)).collect();
        let read = by_file(order);
        let (weights, turns) = (self.index.weights().clone(), &turns[..]);
        let stop = AtomicBool::new(false);
        self.index = std::thread::scope(|scope| {
            // it begins with what only one thread can do, so another makes the document table
            // meanwhile
            let (caller, stop) = (thread::current(), &stop);
            let index = scope.spawn(move || {
                let index = InvertedIndex::build(weights, runs, turns, stop);
                caller.unpark();
                index
            });
            let numbers = |(labels, _): &(Interner, _)| self.labels.interner().intern_all(labels);
            let labels: Vec<Vec<u32>> = rest.iter().map(numbers).collect();
            let docs = rest.into_iter().map(|(_, docs)| docs.into_iter().flatten());
            let mut docs: Vec<_> = docs.collect();
            self.files.reserve_exact(read.len());
            self.docs.reserve(turns.iter().map(|&(_, count)| count).sum());
            for FileReading { at, reading, parts } in read {
                let (path, stat) = &files[at];
                let stat = self.clock.trusted(stat, now);
                let file = FileMeta { stat, ..FileMeta::new(path.clone()) };
                let first = self.docs.len() as u32;
                for (output, count, lines) in parts {
                    self.add_docs(docs[output].by_ref().take(count), lines, &labels[output]);
                }
                self.add_file(file, reading, first);
            }
            while !index.is_finished() {
                thread::park_timeout(POLL_INTERVAL);
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

    /// Adds the metadata of documents of the next file, which come behind so many lines and whose
    /// labels are numbered otherwise.
    fn add_docs(&mut self, docs: impl Iterator<Item = DocMeta>, lines: u32, labels: &[u32]) {
        let file = self.files.len() as u32;
        let label = |id: u32| labels[id as usize];
        for doc in docs {
            self.docs.push(DocMeta {
                file,
                line: doc.line + lines,
                trail: label(doc.trail),
                role: label(doc.role),
                session: label(doc.session),
                category: label(doc.category),
                ..doc
            });
        }
    }

    /// Adds a file behind all others, whose documents were added from `first` on.
    fn add_file(&mut self, file: FileMeta, reading: ReadResult, first: u32) {
        self.files.push(FileMeta {
            progress: reading.progress,
            left_out: reading.left_out,
            cut: reading.cut.is_some(),
            needs: reading.needs,
            summary: self.labels.interner().intern(&reading.summary),
            documents: DocIds::Range(first..self.docs.len() as u32),
            ..file
        });
    }
}

/// Reads all files on two threads.
///
/// # Errors
/// [`Error::Interrupted`] when the caller asks to stop.
fn read_all(
    list: FileList<'_>,
    batches: &[Batch],
    interrupt: Interrupt<'_>,
) -> Result<[ThreadOutput; 2]> {
    let (next, stopped, held) = Default::default();
    let job = BuildJob { list, batches, first: list.first(batches), next, stopped, held };
    let [mut own, mut other]: [ThreadOutput; 2] = Default::default();
    if let Some(first) = job.first {
        job.read_batch(0, &batches[first], &mut own, interrupt);
        other.lexicon = own.lexicon.clone();
    }
    let done = AtomicBool::new(false);
    let outputs = std::thread::scope(|scope| {
        // only the caller's own thread may ask whether to stop
        let (caller, done, job) = (thread::current(), &done, &job);
        let other = scope.spawn(move || {
            let output = job.run(1, other, &|| false);
            done.store(true, Ordering::Relaxed);
            caller.unpark();
            output
        });
        let own = job.run(0, own, interrupt);
        // and does so as long as the other has work
        while !done.load(Ordering::Relaxed) && !other.is_finished() {
            thread::park_timeout(POLL_INTERVAL);
            if interrupt() {
                job.stopped.store(true, Ordering::Relaxed);
            }
        }
        let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [own, other]
    });
    if job.stopped.into_inner() { Err(Error::Interrupted) } else { Ok(outputs) }
}
