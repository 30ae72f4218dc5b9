//! Archived documents, read back from their files by the numbers that the archive keeps of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use crate::catalog::extract::Corpus;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::memory_limit::is_process_limited;
use crate::messages::formats::SessionRecord;
use crate::parallel::ordered_map;
use crate::store::Store;
use crate::store::engine::archived_place::{ArchivedPlace, Reach};
use crate::store::engine::asked_words::{AskedWords, KeptWords};
use crate::store::engine::document::EngineDocument;
use crate::store::engine::extraction::documents;
use crate::store::engine::transcript_lines::TranscriptLines;

/// Most threads that read files at once, and files for each: a thread is begun in the time in which
/// one file is read.
const MAX_THREADS: usize = 2;
const FILES_PER_THREAD: usize = 4;

/// Documents, and the files that have changed since they were archived.
type Found = (Vec<EngineDocument>, BTreeSet<String>);

/// What a thread has that reads files.
struct Worker<'a> {
    interrupt: Interrupt<'a>,
    /// The buffer that it reads into.
    piece: Vec<u8>,
}

impl Store {
    /// Returns the archived documents at these places, and the files that have changed since: of
    /// these no document is returned. What is of no archived file is passed over.
    ///
    /// # Arguments
    /// * `places`: each with the number of its file; of the first `with_neighbours` of them the
    ///   messages beside them are returned too.
    /// * `asked`: the words that documents are returned with; all if there are none.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn archived_documents(
        &self,
        places: &[(u64, ArchivedPlace)],
        with_neighbours: usize,
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let state = self.refresh(interrupt)?;
        let archived = state.main.archived.clone();
        let mut by_path: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (at, (file, place)) in places.iter().enumerate() {
            if let Some(path) = archived.path(*file).filter(|path| state.main.is_archived(path)) {
                let reach = if at < with_neighbours { Reach::Neighbours } else { Reach::Itself };
                by_path.entry(path).or_default().push((place.clone(), reach));
            }
        }
        drop(state);
        self.read_archived(by_path, asked, interrupt)
    }

    /// Returns all documents of the turns of some archived documents, and the files that have changed
    /// since they were read.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn archived_turns(
        &self,
        documents: &[Arc<EngineDocument>],
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let mut turns = BTreeSet::new();
        let mut by_path: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for document in documents {
            if turns.insert((&document.path, document.position.turn)) {
                let place = ArchivedPlace::from(&**document);
                by_path.entry(&document.path).or_default().push((place, Reach::Turn));
            }
        }
        self.read_archived(by_path, asked, interrupt)
    }

    fn read_archived(
        &self,
        by_path: BTreeMap<&str, Vec<(ArchivedPlace, Reach)>>,
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let archived = self.archived();
        let files: Vec<_> =
            by_path.into_iter().map(|(path, places)| (path, sorted(places))).collect();
        let read = |worker: &mut Worker<'_>, at: usize| {
            let (path, places) = &files[at];
            // what is shown of a turn; to parse it takes longer than to read a message
            let is_turn = places.iter().any(|(_, reach)| *reach == Reach::Turn);
            let file = archived.files().get(*path).filter(|_| is_turn);
            let title = file.and_then(|file| SessionRecord::parse(&file.summary).header.title);
            let documents = match self.documents_at(path, places, asked, worker) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // what cannot be read now is read by the index of the store, which says why
                found => found.ok().flatten(),
            };
            let documents = documents.map(|mut documents| {
                documents.iter_mut().for_each(|one| one.title.clone_from(&title));
                documents
            });
            Ok(((*path, documents), true))
        };
        let (mut found, mut changed) = (Vec::new(), BTreeSet::new());
        // only this thread asks; it tells the others
        let stopped = AtomicBool::new(false);
        let asks = || {
            stopped.fetch_or(interrupt(), Ordering::Relaxed);
            stopped.load(Ordering::Relaxed)
        };
        let is_told = || stopped.load(Ordering::Relaxed);
        let worker =
            |at| Worker { interrupt: if at == 0 { &asks } else { &is_told }, piece: Vec::new() };
        let mut workers: Vec<Worker<'_>> = (0..threads_for(files.len())).map(worker).collect();
        ordered_map(&mut workers, files.len(), &asks, read, |(path, documents)| {
            match documents {
                Some(documents) => found.extend(documents),
                None => drop(changed.insert(path.to_owned())),
            }
            Ok(())
        })?;
        Ok((found, changed))
    }

    /// Returns the documents of one file; none if it has changed.
    fn documents_at(
        &self,
        path: &str,
        places: &[(ArchivedPlace, Reach)],
        asked: Option<&AskedWords>,
        worker: &mut Worker<'_>,
    ) -> Result<Option<Vec<EngineDocument>>> {
        let interrupt = worker.interrupt;
        if FileKind::of(path) == FileKind::Note {
            let all = documents(path, &self.root().read(path)?, Corpus::Main, interrupt)?;
            let is_same = |document: &EngineDocument, place: &ArchivedPlace| {
                (document.start, document.hash as u32) == (place.start, place.hash)
            };
            let find = |(place, _): &(ArchivedPlace, Reach)| {
                all.iter().find(|document| is_same(document, place)).cloned()
            };
            return Ok(places.iter().map(find).collect());
        }
        let file = self.root().open_own(path)?;
        TranscriptLines::new(path, file, &mut worker.piece, interrupt)?
            .documents(places, asked.map_or(KeptWords::All, KeptWords::Asked))
    }
}

/// Returns places in the order of their file, each once.
fn sorted(mut places: Vec<(ArchivedPlace, Reach)>) -> Vec<(ArchivedPlace, Reach)> {
    places.sort_unstable_by_key(|(place, reach)| (place.start, *reach != Reach::Neighbours));
    places.dedup_by_key(|(place, _)| place.start);
    places
}

/// Returns how many threads read so many files, at least one.
fn threads_for(files: usize) -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    // asked once: the answer is read from files
    let processors = *PROCESSORS.get_or_init(|| available_parallelism().map_or(1, usize::from));
    // the stack of a thread counts as taken where the system limits this process
    let most = if is_process_limited() { 1 } else { processors.min(MAX_THREADS) };
    most.min(files / FILES_PER_THREAD).max(1)
}
