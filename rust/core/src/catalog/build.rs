//! Bulk build of a catalog: two threads read the files, and the index is packed once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::catalog::archived::ArchivedFiles;
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
use crate::memory_limit::{MemoryLimit, trim_heap};

/// Files that a thread takes at a time: neighbours, which share words, stay on one thread.
const FILES_PER_BATCH: usize = 32;
/// Documents in a chunk: 1 MB.
const DOCS_PER_CHUNK: usize = 1 << 14;

/// The output of one of the two threads.
#[derive(Debug, Default)]
struct ThreadOutput {
    lexicon: Lexicon,
    labels: Interner,
    docs: ThreadDocs,
    /// What else was read of each file, and how many documents.
    readings: Vec<(usize, Result<(ReadResult, usize)>)>,
}

/// The documents that one of the two threads has read.
#[derive(Debug, Default)]
struct ThreadDocs {
    run: PartialIndex,
    /// The metadata of the documents of `run`, in chunks that are freed one by one.
    docs: Vec<Vec<DocMeta>>,
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
        let (run, BuildJob { held, limit, corpus, .. }) = (&self.docs.run, self.job);
        let bytes = [run.len(), run.postings(), dictionaries].map(|count| count as u64);
        let own = packing_bytes(bytes[0], bytes[1], bytes[2]);
        held[self.own].store(own, Ordering::Relaxed);
        let other = held[1 - self.own].load(Ordering::Relaxed);
        limit.allows(*corpus as usize, own.saturating_add(other).saturating_add(more))
    }
}

/// The work that both threads share.
struct BuildJob<'a> {
    root: &'a Root,
    files: &'a [(String, Stat)],
    corpus: Corpus,
    limit: &'a MemoryLimit,
    archived: &'a ArchivedFiles,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// What packing needs of what each thread has read.
    held: [AtomicU64; 2],
}

impl BuildJob<'_> {
    /// Reads files until there are no more, or the caller asks to stop.
    fn run(&self, own: usize, interrupt: Interrupt<'_>) -> ThreadOutput {
        let mut output = ThreadOutput::default();
        // what asks may say so only once, and both threads must hear it
        let stop = || {
            if interrupt() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            self.stopped.load(Ordering::Relaxed)
        };
        loop {
            let from = self.next.fetch_add(FILES_PER_BATCH, Ordering::Relaxed);
            if from >= self.files.len() || self.stopped.load(Ordering::Relaxed) {
                output.lexicon.drop_caches();
                return output;
            }
            for at in from..self.files.len().min(from + FILES_PER_BATCH) {
                if stop() {
                    break;
                }
                let (path, stat) = &self.files[at];
                let before = output.docs.run.len();
                let mut reader = FileReader {
                    root: self.root,
                    lexicon: &mut output.lexicon,
                    labels: &mut output.labels,
                    corpus: self.corpus,
                    interrupt: &stop,
                    indexed: IndexedDocs::default(),
                    limit: self.limit,
                    archived: self.archived,
                    sink: &mut BuildSink { docs: &mut output.docs, own, job: self },
                };
                let reading = reader.whole(path, stat);
                let count = output.docs.run.len() - before;
                output.readings.push((at, reading.map(|reading| (reading, count))));
            }
        }
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
        let (next, stopped, held) = Default::default();
        let limit = self.limit.clone();
        let (corpus, limit, archived) = (self.corpus, &limit, &*self.archived.clone());
        let job = BuildJob { root, files, corpus, limit, archived, next, stopped, held };
        let (now, done) = (now_ns(), AtomicBool::new(false));
        let outputs = std::thread::scope(|scope| {
            // only the caller's own thread may ask whether to stop
            let (caller, done, job) = (thread::current(), &done, &job);
            let other = scope.spawn(move || {
                let output = job.run(1, &|| false);
                done.store(true, Ordering::Relaxed);
                caller.unpark();
                output
            });
            let own = job.run(0, interrupt);
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
        if job.stopped.into_inner() {
            return Err(Error::Interrupted);
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
            for (at, reading) in readings {
                match reading {
                    Ok((reading, count)) => order.push((at, output, reading, count)),
                    // deleted since it was listed
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => failures.push((files[at].0.clone(), error)),
                }
            }
        }
        order.sort_unstable_by_key(|&(at, ..)| at);
        let turns: Vec<(usize, usize)> =
            order.iter().map(|&(_, output, _, count)| (output, count)).collect();
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
            let numbers = |(labels, _): &(Interner, _)| self.labels.intern_all(labels);
            let labels: Vec<Vec<u32>> = rest.iter().map(numbers).collect();
            let docs = rest.into_iter().map(|(_, docs)| docs.into_iter().flatten());
            let mut docs: Vec<_> = docs.collect();
            self.files.reserve_exact(order.len());
            self.docs.reserve(turns.iter().map(|&(_, count)| count).sum());
            for (at, output, reading, count) in order {
                let (path, stat) = &files[at];
                let stat = self.clock.trusted(stat, now);
                let file = FileMeta { stat, ..FileMeta::new(path.clone()) };
                self.add(file, reading, docs[output].by_ref().take(count), &labels[output]);
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

    /// Adds a file behind all others, and the metadata of its documents, whose labels are numbered
    /// otherwise.
    fn add(
        &mut self,
        file: FileMeta,
        reading: ReadResult,
        docs: impl Iterator<Item = DocMeta>,
        labels: &[u32],
    ) {
        let (at, first) = (self.files.len() as u32, self.docs.len() as u32);
        let label = |id: u32| labels[id as usize];
        for doc in docs {
            self.docs.push(DocMeta {
                file: at,
                trail: label(doc.trail),
                role: label(doc.role),
                session: label(doc.session),
                category: label(doc.category),
                ..doc
            });
        }
        self.files.push(FileMeta {
            progress: reading.progress,
            left_out: reading.left_out,
            cut: reading.cut.is_some(),
            needs: reading.needs,
            summary: self.labels.intern(&reading.summary),
            documents: DocIds::Range(first..self.docs.len() as u32),
            ..file
        });
    }
}
