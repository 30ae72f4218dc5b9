//! A root with its files, its index and its lock: always fresh.

pub mod across;
mod documents;
mod follow;
pub mod hits;
mod import;
mod recent;
mod sieves;
pub mod transcript;
pub mod upkeep;

use std::collections::BTreeMap;

use parking_lot::{Mutex, RwLock};

use crate::catalog::cache;
use crate::catalog::draft::Part;
use crate::catalog::shortfall::Shortfall;
use crate::catalog::{Catalog, FileRow};
use crate::error::{Interrupt, Result};
use crate::files::Files;
use crate::files::root::Root;
use crate::files::rules::Rules;
use crate::files::stamps::Clock;
use crate::files::watch::Watch;
use crate::index::bm25f::Weights;
use crate::index::expand::Expander;
use crate::memory_limit::MemoryLimit;
use crate::messages::lines::LONGEST_LINE;
use crate::store::follow::walk;
use crate::store::recent::Recent;
use crate::store::sieves::Sieves;

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
    /// Whether the snapshot on disk is of this catalog, but for [`Catalog::redone`].
    pub(crate) saved: bool,
    /// What became of the snapshot when the index was opened; none as long as it is not.
    pub snapshot: Option<String>,
    /// Conflict copies that recovery made visible.
    pub recovered: Vec<String>,
}

/// See the module.
#[derive(Debug)]
pub struct Store {
    files: Files,
    pub(crate) state: RwLock<State>,
    pub(crate) watch: Mutex<Option<Watch>>,
    recent: Mutex<Recent>,
    /// The finite-state form of the dictionaries of [`State::said`] and [`State::tools`].
    pub(crate) expanders: [Expander; 2],
    pub(crate) weights: Weights,
    pub(crate) clock: Clock,
    pub(crate) limit: MemoryLimit,
    pub(crate) sieve_from: u64,
    pub(crate) sieves: Sieves,
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
    /// Bytes of memory that the store may take, if that is less than what the system allows.
    pub memory_limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let (weights, rules, clock) = Default::default();
        let (sieve_from, memory_limit) = (16 << 20, None);
        Self { create: true, watch: true, weights, rules, clock, sieve_from, memory_limit }
    }
}

impl Store {
    /// Opens a root.
    ///
    /// The index is opened by the first call that needs it: reading, writing and grep do not, and
    /// they are to work at once on a transcript of any size.
    ///
    /// # Errors
    /// Those of [`Root::open`].
    pub fn open(path: &str, options: Options) -> Result<Self> {
        let Options { create, watch, weights, rules, clock, sieve_from, memory_limit } = options;
        let limit = MemoryLimit::new(memory_limit);
        let root = Root::open(path, create)?.with_memory_limit(limit.clone());
        let files = Files::new(root, rules);
        let said = Catalog::new(weights.clone(), Part::Said).with_clock(clock);
        let state = State {
            said: said.with_limit(limit.clone()),
            tools: None,
            skipped: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            unchecked: None,
            saved: false,
            snapshot: None,
            recovered: Vec::new(),
        };
        Ok(Self {
            state: RwLock::new(state),
            files,
            watch: Mutex::new(if watch { Watch::new() } else { None }),
            recent: Mutex::default(),
            expanders: Default::default(),
            weights,
            clock,
            limit,
            sieve_from,
            sieves: Sieves::default(),
        })
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
            // a root that cannot be written still answers; what is made visible is found later
            state.recovered = self.files.recover().unwrap_or_default();
        }
        let snapshot = match snapshot {
            Ok(Some(kept)) => {
                state.said = kept.with_clock(self.clock).with_limit(self.limit.clone());
                state.saved = true;
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

    /// Says whether the index is open.
    pub(crate) fn is_indexed(&self) -> bool {
        self.state.read().snapshot.is_some()
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
        let wanted = |state: &State| {
            let text: u64 = state.said.files.iter().map(|file| file.stat.size).sum();
            // the next opening may have more memory
            let longest = self.limit.longest_line(LONGEST_LINE);
            let lacks = |file: &FileRow| {
                file.lacks_memory() || longest < LONGEST_LINE && file.seen.long_lines > 0
            };
            !state.said.files.is_empty()
                && !state.said.files.iter().any(lacks)
                && (!state.saved || state.said.redone > text / 16)
        };
        if !wanted(&self.state.read()) {
            return Ok(());
        }
        // one writer at a time, of all processes
        let _guard = self.files.begin()?;
        let mut state = self.state.write();
        if !wanted(&state) {
            return Ok(());
        }
        // to pack anew what was just built would take a third of the building
        if !state.said.is_packed() {
            state.said.repack();
            self.expanders[0].reset();
        }
        let Some(bytes) = cache::bytes(&state.said, self.root())? else {
            return cache::discard(self.root());
        };
        state.said.redone = 0;
        state.saved = true;
        drop(state);
        cache::publish(self.root(), &bytes).inspect_err(|_| self.state.write().saved = false)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // the snapshot only saves time; without it the next opening reads the files
        let _ = self.save();
    }
}
