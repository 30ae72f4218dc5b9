//! A root with its files, its index and its lock: always fresh.

pub mod across;
mod documents;
mod evidence;
mod follow;
pub mod hits;
mod import;
pub mod per_process;
mod recent;
mod sieves;
pub mod transcript;
pub mod upkeep;
pub mod verify;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::catalog::cache;
use crate::catalog::draft::Part;
use crate::catalog::shortfall::Shortfall;
use crate::catalog::{Catalog, FileRow};
use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::Files;
use crate::files::platform::{FolderWatch as _, Watch};
use crate::files::root::Root;
use crate::files::rules::Rules;
use crate::files::stamps::Clock;
use crate::index::bm25f::Weights;
use crate::index::expand::Expander;
use crate::memory_limit::MemoryLimit;
use crate::messages::lines::LONGEST_LINE;
use crate::store::follow::walk;
use crate::store::recent::Recent;
use crate::store::sieves::Sieves;
use crate::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How far an answer can be trusted.
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
pub struct State {
    /// What people and models said, and the notes.
    pub said: Catalog,
    /// What went into and came out of tools; made when first asked for.
    pub tools: Option<Catalog>,
    /// Files that were left out of the listing, and why.
    pub skipped: BTreeMap<String, &'static str>,
    /// Files that could not be read, and why.
    pub unreadable: BTreeMap<String, String>,
    /// Files of which the index does not hold all, or not as it stands there.
    pub incomplete: BTreeMap<String, Shortfall>,
    /// Why the files could not be checked, when they could not: the next call checks them all.
    pub unchecked: Option<String>,
    /// What became of the snapshot when the index was opened; none as long as it is not.
    pub snapshot: Option<String>,
    /// Conflict copies that recovery made visible.
    pub recovered: Vec<String>,
}

impl State {
    /// Says whether something is packed for which nobody has waited to the end.
    fn is_packing(&self) -> bool {
        self.said.is_packing() || self.tools.as_ref().is_some_and(Catalog::is_packing)
    }

    fn finish_packing(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        self.said.finish_packing(interrupt)?;
        self.tools.as_mut().map_or(Ok(()), |tools| tools.finish_packing(interrupt))
    }
}

/// See the module.
#[derive(Debug)]
pub struct Store {
    /// The process that opened it.
    process: u32,
    files: Files,
    pub(crate) state: RwLock<State>,
    pub(crate) watch: Mutex<Option<Watch>>,
    /// Whether the system was to report changes.
    watched: bool,
    recent: Mutex<Recent>,
    /// The finite-state form of the dictionaries of [`State::said`] and [`State::tools`].
    pub(crate) expanders: [Expander; 2],
    pub(crate) weights: Weights,
    pub(crate) clock: Clock,
    pub(crate) limit: MemoryLimit,
    pub(crate) sieve_from: u64,
    pub(crate) sieves: Sieves,
    /// Whether changes were taken from the watch that may not be in the index: then the next call
    /// looks at all files. Changed by whoever has the watch.
    drained: AtomicBool,
    /// Whether the snapshot on disk is of [`State::said`], but for [`Catalog::redone`].
    saved: AtomicBool,
    closed: AtomicBool,
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Make the folder when it is not there.
    pub create: bool,
    /// Let the system report changes.
    pub watch: bool,
    /// The weights of the ranking.
    pub weights: Weights,
    /// What tools may write.
    pub rules: Rules,
    /// How finely stamps are kept; tests look through a coarser clock.
    pub clock: Clock,
    /// Bytes of a transcript from which on a sieve is made of it.
    pub sieve_from: u64,
    /// Says whether a call that waits for the lock is to stop.
    pub interrupt: fn() -> bool,
    /// Bytes of memory that the store may take, if that is less than what the system allows.
    pub memory_limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let (weights, rules, clock) = Default::default();
        Self {
            create: true,
            watch: true,
            weights,
            rules,
            clock,
            sieve_from: 16 << 20,
            interrupt: never,
            memory_limit: None,
        }
    }
}

fn never() -> bool {
    false
}

impl Store {
    /// Opens a root, and puts right what a writer that died has left.
    ///
    /// The index is opened by the first call that needs it: reading, writing and grep do not, and
    /// they are to work at once on a transcript of any size.
    ///
    /// # Errors
    /// Those of [`Root::open`]; [`Error::Memory`] for a limit below 16 MB.
    pub fn open(path: &str, options: Options) -> Result<Self> {
        let limit = MemoryLimit::new(options.memory_limit)?;
        let root = Root::open(path, options.create)?.with_memory_limit(limit);
        let files = Files::new(root, options.rules).interrupted_by(options.interrupt);
        Self::of(files, options)
    }

    fn of(files: Files, options: Options) -> Result<Self> {
        let Options { watch, weights, clock, sieve_from, .. } = options;
        let limit = files.root().memory_limit().clone();
        let recovered = files.catch_up()?;
        let said = Catalog::new(weights.clone(), Part::Said).with_clock(clock);
        let state = State {
            said: said.with_limit(limit.clone()),
            tools: None,
            skipped: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            unchecked: None,
            snapshot: None,
            recovered,
        };
        Ok(Self {
            process: std::process::id(),
            state: RwLock::new(state),
            files,
            watch: Mutex::new(if watch { Watch::new() } else { None }),
            watched: watch,
            recent: Mutex::default(),
            expanders: Default::default(),
            weights,
            clock,
            limit,
            sieve_from,
            sieves: Sieves::default(),
            drained: AtomicBool::new(false),
            saved: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    /// Says whether this process opened it, and is not a child forked from the one that did.
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
        let options = Options {
            create: false,
            watch: self.watched,
            weights: self.weights.clone(),
            rules: self.files.rules,
            clock: self.clock,
            sieve_from: self.sieve_from,
            ..Options::default()
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
        state: &mut State,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        // the snapshot is read while the files are looked at
        let (seen, snapshot) = std::thread::scope(|scope| {
            let loading = scope.spawn(|| cache::load(self.root(), &self.weights, &self.limit));
            let seen = walk(self.root(), "", self.clock, watch, interrupt);
            let loaded = loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (seen, loaded)
        });
        let seen = seen?;
        if !seen.leftovers.is_empty() {
            self.files.search_soon();
        }
        let snapshot = match snapshot {
            Ok(Some(kept)) => {
                state.said = kept.with_clock(self.clock).with_limit(self.limit.clone());
                self.saved.store(true, Ordering::Relaxed);
                "read".to_owned()
            }
            Ok(None) => "built".to_owned(),
            Err(why) => format!("rebuilt, for {why}"),
        };
        self.note_shortfalls(state);
        self.adopt(state, seen, "", interrupt)?;
        state.snapshot = Some(snapshot);
        Ok(())
    }

    /// Says whether the index is open, and at rest.
    pub(crate) fn is_indexed(&self) -> bool {
        self.state.try_read().is_some_and(|state| state.snapshot.is_some())
    }

    /// Lets the index be read, once nobody changes it.
    pub(crate) fn read_state(
        &self,
        interrupt: Interrupt<'_>,
    ) -> Result<RwLockReadGuard<'_, State>> {
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
    ) -> Result<RwLockWriteGuard<'_, State>> {
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

    /// Says whether the system reports changes.
    pub fn is_watching(&self) -> bool {
        self.watch.lock().is_some()
    }

    /// Writes the snapshot, if opening again would otherwise cost much.
    ///
    /// # Errors
    /// Those of writing; the store goes on without a snapshot.
    pub fn save(&self) -> Result<()> {
        self.save_unless(&|| false)
    }

    /// As [`Self::save`], unless the caller asks to stop.
    ///
    /// # Errors
    /// Those of [`Self::save`]; [`Error::Interrupted`].
    pub fn save_unless(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let wanted = |state: &State| {
            let text: u64 = state.said.files.iter().map(|file| file.stat.size).sum();
            // the next opening may have more memory
            let longest = self.limit.longest_line(LONGEST_LINE);
            let lacks = |file: &FileRow| {
                file.lacks_memory() || longest < LONGEST_LINE && file.seen.long_lines > 0
            };
            !state.said.files.is_empty()
                && !state.said.files.iter().any(lacks)
                && (!self.saved.load(Ordering::Relaxed) || state.said.redone > text / 16)
        };
        if !wanted(&*self.read_state(interrupt)?) {
            return Ok(());
        }
        let mut state = self.write_state(interrupt)?;
        if !wanted(&state) {
            return Ok(());
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        // to pack anew what was just built would take a third of the building
        if !state.said.is_packed() {
            self.expanders[0].reset();
            state.said.repack_unless(interrupt)?;
        }
        let Some(bytes) = cache::bytes(&state.said, self.root())? else {
            return cache::discard(self.root());
        };
        state.said.redone = 0;
        self.saved.store(true, Ordering::Relaxed);
        drop(state);
        // One writer at a time, of all processes. Nobody waits for the index with the root locked,
        // nor for the root with the index locked: others would wait for both.
        let guard = self.files.begin();
        guard
            .and_then(|_guard| cache::publish(self.root(), &bytes, interrupt))
            .inspect_err(|_| self.saved.store(false, Ordering::Relaxed))
    }

    /// Writes the snapshot for the last time: nothing is written any more when this is dropped.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; without a snapshot the next opening reads the files.
    pub fn close(&self, interrupt: Interrupt<'_>) -> Result<()> {
        self.closed.store(true, Ordering::Relaxed);
        match self.save_unless(interrupt) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // the snapshot only saves time; without it the next opening reads the files
        if self.is_of_this_process() && !self.closed.load(Ordering::Relaxed) {
            let _ = self.save();
        }
    }
}
