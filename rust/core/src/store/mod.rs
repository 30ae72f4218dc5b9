//! Store: a root with its files, its index and its lock, refreshed before each answer.

mod archived;
mod document_cache;
mod document_reader;
pub mod engine;
mod evidence;
mod excluded_copies;
pub mod forget;
mod gram_index_thread;
mod gram_indexes;
pub mod grep;
mod grep_small_files;
pub mod hit;
pub mod import;
pub mod lazy_version;
mod options;
pub mod per_process;
mod project;
mod redactions;
mod refresh;
pub mod retain;
mod save;
pub mod search;
pub mod sections;
mod session_list;
mod session_lookup;
mod session_name;
pub mod sessions;
pub mod status;
pub mod transcript;
pub mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::catalog::Catalog;
use crate::catalog::archive_list::ArchivedFiles;
use crate::catalog::extract::Corpus;
use crate::catalog::omission::Omission;
use crate::catalog::snapshot::file as snapshot_file;
use crate::error::{Interrupt, Result, wait_for};
use crate::files::Files;
use crate::files::platform::{FolderWatch as _, Watch};
use crate::files::racy_stat::FsClock;
use crate::files::root::Root;
use crate::index::bm25f::Weights;
use crate::index::dictionary::expansion::Expander;
use crate::memory_limit::MemoryLimit;
use crate::parallel::in_parallel;
use crate::store::document_cache::DocumentCache;
use crate::store::forget::Tombstones;
use crate::store::gram_index_thread::GramIndexThread;
pub use crate::store::options::StoreOptions;
use crate::store::refresh::walk;
use crate::store::session_list::SessionList;
use crate::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How far an answer reflects the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// Every file was seen as it is now.
    Fresh,
    /// Some files could not be read.
    Partial,
    /// The files could not be checked.
    Stale,
}

impl Freshness {
    /// The word that callers see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Partial => "partial",
            Self::Stale => "stale",
        }
    }
}

/// The index side of a store.
#[derive(Debug)]
pub struct IndexState {
    /// The main index: notes, and the messages of people and models.
    pub main: Catalog,
    /// The index of tool input and output; built when first asked for.
    pub tools: Option<Catalog>,
    /// Files that were left out of the listing, and why.
    pub skipped: BTreeMap<String, &'static str>,
    /// Files that could not be read, and why.
    pub unreadable: BTreeMap<String, String>,
    /// Files of which the index does not hold all, or not as it stands there.
    pub incomplete: BTreeMap<String, Omission>,
    /// Why the files could not be checked, when they could not: the next call checks them all.
    pub check_error: Option<String>,
    /// The outcome of loading the snapshot; none as long as the index is not open.
    pub snapshot: Option<String>,
    /// Conflict copies that recovery made visible.
    pub recovered: Vec<String>,
}

impl IndexState {
    /// Returns whether another thread repacks a catalog, and nobody has waited for the end.
    fn is_packing(&self) -> bool {
        self.main.is_packing() || self.tools.as_ref().is_some_and(Catalog::is_packing)
    }

    fn finish_packing(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        self.main.finish_packing(interrupt)?;
        self.tools.as_mut().map_or(Ok(()), |tools| tools.finish_packing(interrupt))
    }
}

/// An open root with its files and its index.
#[derive(Debug)]
pub struct Store {
    /// The process that opened it.
    process: u32,
    files: Files,
    pub(crate) state: RwLock<IndexState>,
    pub(crate) watch: Mutex<Option<Watch>>,
    /// Whether the system was to report changes.
    watched: bool,
    document_cache: Mutex<DocumentCache>,
    session_list: Mutex<Option<SessionList>>,
    /// The finite-state form of the dictionaries of [`IndexState::main`] and [`IndexState::tools`].
    pub(crate) expanders: [Expander; 2],
    pub(crate) weights: Weights,
    pub(crate) clock: FsClock,
    pub(crate) limit: MemoryLimit,
    /// The list of archived files as it was last read.
    archive_list: Mutex<Arc<ArchivedFiles>>,
    /// The list that the index follows.
    archived: Mutex<Arc<ArchivedFiles>>,
    /// A list of which all files were as they were archived, and the last change of a file then.
    all_archived: Mutex<Option<(Arc<ArchivedFiles>, u64)>>,
    pub(crate) gram_index_min_size: u64,
    pub(crate) gram_indexes: GramIndexThread,
    /// Whether changes were taken from the watch that may not be in the index: then the next call
    /// compares all files. Changed by whoever has the watch.
    changes_unapplied: AtomicBool,
    /// Whether the snapshot on disk is of [`IndexState::main`], but for [`Catalog::reread_bytes`].
    snapshot_current: AtomicBool,
    /// How large the file of tombstones was when all that is forgotten had left the index.
    forgotten_size: AtomicU64,
    closed: AtomicBool,
}

impl Store {
    /// Opens a root, and repairs what a crashed writer has left.
    ///
    /// The index is opened by the first call that needs it: reading, writing and grep do not, and
    /// they are to work at once on a transcript of any size.
    ///
    /// # Errors
    /// Those of [`Root::open`]; [`Error::Memory`] for a limit below 16 MB.
    pub fn open(path: &str, options: StoreOptions) -> Result<Self> {
        let limit = MemoryLimit::new(options.memory_limit)?;
        let root = Root::open(path, options.create)?.with_memory_limit(limit);
        let files = Files::new(root, options.rules).interrupted_by(options.interrupt);
        let store = Self::of(files, options)?;
        store.finish_forgetting()?;
        Ok(store)
    }

    fn of(files: Files, options: StoreOptions) -> Result<Self> {
        let StoreOptions { watch, weights, clock, gram_index_min_size, .. } = options;
        let limit = files.root().memory_limit().clone();
        let recovered = files.recheck_if_due()?;
        let forgotten_size = AtomicU64::new(Tombstones::size(files.root()));
        let main = Catalog::new(weights.clone(), Corpus::Main).with_clock(clock);
        let state = IndexState {
            main: main.with_limit(limit.clone()),
            tools: None,
            skipped: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            check_error: None,
            snapshot: None,
            recovered,
        };
        Ok(Self {
            process: std::process::id(),
            state: RwLock::new(state),
            files,
            watch: Mutex::new(if watch { Watch::new() } else { None }),
            watched: watch,
            document_cache: Mutex::default(),
            session_list: Mutex::default(),
            expanders: Default::default(),
            weights,
            clock,
            limit,
            archive_list: Mutex::default(),
            archived: Mutex::default(),
            all_archived: Mutex::default(),
            gram_index_min_size,
            gram_indexes: GramIndexThread::default(),
            changes_unapplied: AtomicBool::new(false),
            snapshot_current: AtomicBool::new(false),
            forgotten_size,
            closed: AtomicBool::new(false),
        })
    }

    /// Returns whether this process opened it, and is not a child forked from the one that did.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Opens the same root for a child that was forked from the process of this store.
    ///
    /// A child shares the queue of changes with its parent, and has a copy of every lock and list
    /// as some thread had it at that moment, which may be half-way through a change. So of all that
    /// only what never changes is read. Nor can this store be dropped in a child; see
    /// [`per_process`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) when the process has no more handles to give.
    pub fn in_child(&self) -> Result<Self> {
        let options = StoreOptions {
            create: false,
            watch: self.watched,
            weights: self.weights.clone(),
            rules: self.files.rules,
            clock: self.clock,
            gram_index_min_size: self.gram_index_min_size,
            ..StoreOptions::default()
        };
        let own = Self::of(self.files.in_child()?, options)?;
        // closed, not read: what is in the queue is the parent's
        if let Some(watch) = self.watch.try_lock().and_then(|mut watch| watch.take()) {
            watch.abandon(self.root().is_open());
        }
        Ok(own)
    }

    /// Opens the index: takes the snapshot if it can be trusted, and reads what has changed since.
    pub(crate) fn open_index(
        &self,
        state: &mut IndexState,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        self.limit.measure_again();
        // the snapshot and the list of the archive are read while the files are listed
        let load = || snapshot_file::load(self.root(), &self.weights, &self.limit);
        let ((snapshot, archived), seen) = in_parallel(
            || (load(), self.archive_list_if_allowed()),
            || walk(self.root(), "", self.clock, watch, interrupt),
        );
        let seen = seen?;
        *self.archived.lock() = archived?;
        if !seen.leftovers.is_empty() {
            self.files.schedule_search();
        }
        let snapshot = match snapshot {
            Ok(Some(kept)) => {
                state.main = kept.with_clock(self.clock).with_limit(self.limit.clone());
                self.snapshot_current.store(true, Ordering::Relaxed);
                "read".to_owned()
            }
            Ok(None) => "built".to_owned(),
            Err(why) => format!("rebuilt, for {why}"),
        };
        state.main.archived = self.archived();
        self.update_omissions(state);
        self.apply_walk(state, seen, "", interrupt)?;
        state.snapshot = Some(snapshot);
        Ok(())
    }

    /// Returns whether the index is open, and at rest.
    pub(crate) fn is_indexed(&self) -> bool {
        self.state.try_read().is_some_and(|state| state.snapshot.is_some())
    }

    /// Lets the index be read, once nobody changes it.
    pub(crate) fn read_state(
        &self,
        interrupt: Interrupt<'_>,
    ) -> Result<RwLockReadGuard<'_, IndexState>> {
        loop {
            let state = wait_for(interrupt, |slice| self.state.try_read_for(slice))?;
            if !state.is_packing() {
                return Ok(state);
            }
            drop(state);
            drop(self.write_state(interrupt)?);
        }
    }

    /// Lets the index be changed, once nobody reads it.
    pub(crate) fn write_state(
        &self,
        interrupt: Interrupt<'_>,
    ) -> Result<RwLockWriteGuard<'_, IndexState>> {
        let _waiting = self.state.wait_to_write();
        let mut state = wait_for(interrupt, |slice| self.state.try_write_for(slice))?;
        state.finish_packing(interrupt)?;
        Ok(state)
    }

    /// Returns the files, for reading and writing.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the root.
    pub fn root(&self) -> &Root {
        self.files.root()
    }

    /// Returns whether the system reports changes.
    pub fn is_watching(&self) -> bool {
        self.watch.lock().is_some()
    }
}
