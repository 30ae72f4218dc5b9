//! A root with its files, its index and its lock: always fresh.

use std::collections::BTreeSet;
use std::fs::File;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustix::fs::{Mode, OFlags};

use crate::bm25f::Weights;
use crate::catalog::{Catalog, FileRow};
use crate::draft::{Kind, Part};
use crate::error::{Error, Interrupt, Result};
use crate::files::Files;
use crate::index::expand::Expander;
use crate::names::OWN;
use crate::root::{Root, Stat};
use crate::rules::Rules;
use crate::search::is_below;
use crate::snapshot;
use crate::walk::Walk;
use crate::watch::{Changes, Watch};

/// The file of the snapshot, below [`OWN`].
const SNAPSHOT: &str = "index";

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
    pub skipped: Vec<(String, &'static str)>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<(String, String)>,
    /// Why the files could not be checked, when they could not.
    pub unchecked: Option<String>,
}

/// See the module.
#[derive(Debug)]
pub struct Store {
    files: Files,
    state: RwLock<State>,
    watch: Mutex<Option<Watch>>,
    /// The finite-state form of the dictionaries of [`State::said`] and [`State::tools`].
    pub(crate) expanders: [Expander; 2],
    weights: Weights,
    /// What became of the snapshot at opening.
    pub snapshot: String,
    /// Conflict copies that recovery made visible.
    pub recovered: Vec<String>,
    saved: Mutex<bool>,
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
}

impl Default for Options {
    fn default() -> Self {
        let (weights, rules) = (Weights::default(), Rules::default());
        Self { create: true, watch: true, weights, rules }
    }
}

impl Store {
    /// Opens a root: takes the snapshot if it can be trusted, and reads what has changed since.
    ///
    /// # Errors
    /// Those of [`Root::open`] and of listing the root; [`Error::Interrupted`].
    pub fn open(path: &str, options: Options, interrupt: Interrupt<'_>) -> Result<Self> {
        let files = Files::new(Root::open(path, options.create)?, options.rules);
        let root = files.root();
        let mut watch = if options.watch { Watch::new() } else { None };
        let walk = walk(root, "", &mut watch, interrupt)?;
        // a root that cannot be written still answers
        let recovered = match walk.leftovers.is_empty() {
            true => Vec::new(),
            false => files.recover().unwrap_or_default(),
        };
        let kept = load(root, &options.weights);
        let (said, unreadable, snapshot, saved) = match kept {
            Ok(Some(catalog)) => (catalog, Vec::new(), "read".to_owned(), true),
            other => {
                let weights = options.weights.clone();
                let (catalog, failed) =
                    Catalog::build(root, &walk.files, weights, Part::Said, interrupt)?;
                let why = match other {
                    Err(why) => format!("rebuilt, for {why}"),
                    _ => "built".to_owned(),
                };
                (catalog, failed, why, false)
            }
        };
        let unreadable = unreadable.into_iter().map(|(path, e)| (path, e.to_string())).collect();
        let skipped = Vec::new();
        let mut state = State { said, tools: None, skipped, unreadable, unchecked: None };
        let mut store = Self {
            state: RwLock::new(State {
                said: Catalog::new(options.weights.clone(), Part::Said),
                tools: None,
                skipped: Vec::new(),
                unreadable: Vec::new(),
                unchecked: None,
            }),
            files,
            watch: Mutex::new(watch),
            expanders: Default::default(),
            weights: options.weights,
            snapshot,
            recovered,
            saved: Mutex::new(saved),
        };
        store.adopt(&mut state, walk, "", interrupt)?;
        store.state = RwLock::new(state);
        Ok(store)
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

    /// Brings the index in step with the files and lets it be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn fresh(&self, interrupt: Interrupt<'_>) -> Result<RwLockReadGuard<'_, State>> {
        // held until the changes are in, so that another thread cannot slip in between
        let mut watch = self.watch.lock();
        let changes = watch.as_mut().map_or(Changes::Unknown, Watch::drain);
        if !changes.is_empty() {
            let mut state = self.state.write();
            state.unchecked = None;
            match self.apply(&mut state, changes, &mut watch, interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => state.unchecked = Some(error.to_string()),
                Ok(()) => {}
            }
        }
        drop(watch);
        Ok(self.state.read())
    }

    fn apply(
        &self,
        state: &mut State,
        changes: Changes,
        watch: &mut Option<Watch>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let (files, folders) = match changes {
            Changes::Some { files, folders } => (files, folders),
            Changes::Unknown => (BTreeSet::new(), BTreeSet::from([String::new()])),
        };
        for folder in folders {
            match walk(self.root(), &folder, watch, interrupt) {
                Ok(walk) => self.adopt(state, walk, &folder, interrupt)?,
                Err(Error::NotFound { .. } | Error::Refused { .. }) if !folder.is_empty() => {
                    self.adopt(state, Walk::default(), &folder, interrupt)?;
                }
                Err(error) => return Err(error),
            }
        }
        for file in files {
            self.update(state, &file);
        }
        Ok(())
    }

    /// Takes over what a walk of a folder saw: reads what is new or changed, drops what is gone.
    fn adopt(
        &self,
        state: &mut State,
        walk: Walk,
        folder: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let known = |(path, stat): &&(String, Stat)| !state.said.knows(path, stat);
        let changed: Vec<&(String, Stat)> = walk.files.iter().filter(known).collect();
        let present: BTreeSet<&str> = walk.files.iter().map(|(path, _)| path.as_str()).collect();
        let inside = |file: &&FileRow| {
            file.present && is_below(&file.path, folder) && !present.contains(file.path.as_str())
        };
        let gone: Vec<String> =
            state.said.files.iter().filter(inside).map(|file| file.path.clone()).collect();
        for path in gone {
            self.update(state, &path);
        }
        state.skipped.retain(|(path, _)| !is_below(path, folder));
        state.skipped.extend(walk.skipped);
        let bytes =
            |files: &[&(String, Stat)]| files.iter().map(|(_, stat)| stat.size).sum::<u64>();
        let all: Vec<&(String, Stat)> = walk.files.iter().collect();
        if folder.is_empty() && changed.len() > 256 && bytes(&changed) > bytes(&all) / 2 {
            // most of it is new: two threads and one packing beat file by file
            let weights = self.weights.clone();
            let (said, failed) =
                Catalog::build(self.root(), &walk.files, weights, Part::Said, interrupt)?;
            state.said = said;
            state.tools = None;
            state.unreadable = failed.into_iter().map(|(path, e)| (path, e.to_string())).collect();
            self.expanders.iter().for_each(Expander::reset);
            *self.saved.lock() = false;
            return Ok(());
        }
        for (path, _) in changed {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            self.update(state, path);
        }
        Ok(())
    }

    /// Reads one file anew; a failure is kept to be told with every answer.
    fn update(&self, state: &mut State, path: &str) {
        state.unreadable.retain(|(unreadable, _)| unreadable != path);
        let numbers = state.said.index.numbers();
        let done = state.said.update(self.root(), path);
        if state.said.index.numbers() < numbers {
            self.expanders[0].reset();
        }
        if let Some(tools) = &mut state.tools
            && Kind::of(path) == Kind::Transcript
        {
            // what fails here has failed above
            let _ = tools.update(self.root(), path);
        }
        match done {
            Ok(_) => {}
            Err(Error::Refused { code, .. }) => state.skipped.push((path.to_owned(), code)),
            Err(error) => state.unreadable.push((path.to_owned(), error.to_string())),
        }
    }

    /// Reads files anew that turned out to differ from what the index says.
    pub(crate) fn mend(&self, paths: &BTreeSet<String>) {
        let mut state = self.state.write();
        for path in paths {
            self.update(&mut state, path);
        }
    }

    /// Makes the index over tool input and output, if there is none yet.
    pub(crate) fn make_tools(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut state = self.state.write();
        if state.tools.is_none() {
            let transcript = |file: &&FileRow| file.present && file.kind == Kind::Transcript;
            let transcripts = state.said.files.iter().filter(transcript);
            let files: Vec<(String, Stat)> = transcripts
                .filter_map(|f| Some((f.path.clone(), self.root().stat(&f.path).ok()?)))
                .collect();
            let weights = self.weights.clone();
            let (tools, _) = Catalog::build(self.root(), &files, weights, Part::Tools, interrupt)?;
            state.tools = Some(tools);
            self.expanders[1].reset();
        }
        Ok(())
    }

    /// Reads every file, mends the index where it differs, and returns what differed.
    ///
    /// # Errors
    /// Those of listing the root; [`Error::Interrupted`].
    pub fn verify(&self, interrupt: Interrupt<'_>) -> Result<(usize, Vec<String>)> {
        drop(self.fresh(interrupt)?);
        let mut watch = self.watch.lock();
        let mut state = self.state.write();
        let walk = walk(self.root(), "", &mut watch, interrupt)?;
        let mut differences = Vec::new();
        for (path, _) in &walk.files {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            match state.said.update(self.root(), path) {
                Ok(false) => {}
                Ok(true) => differences.push(format!("{path}: the index did not hold its text")),
                Err(error) => differences.push(format!("{path}: {error}")),
            }
        }
        let count = walk.files.len();
        self.adopt(&mut state, walk, "", interrupt)?;
        Ok((count, differences))
    }

    /// Writes the snapshot, if opening again would otherwise cost much.
    ///
    /// # Errors
    /// Those of writing; the store goes on without a snapshot.
    pub fn save(&self) -> Result<()> {
        let mut saved = self.saved.lock();
        let mut state = self.state.write();
        let text: u64 = state.said.files.iter().map(|file| file.stat.size).sum();
        if *saved && state.said.redone <= text / 16 {
            return Ok(());
        }
        if state.said.files.is_empty() {
            return Ok(());
        }
        state.said.repack();
        self.expanders[0].reset();
        let bytes = snapshot::write(&state.said, identity(self.root())?);
        state.said.redone = 0;
        drop(state);
        publish(self.root(), &bytes)?;
        *saved = true;
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // the snapshot only saves time; without it the next opening reads the files
        let _ = self.save();
    }
}

/// Walks a folder; each is watched before it is listed, so that nothing falls in between.
fn walk(
    root: &Root,
    folder: &str,
    watch: &mut Option<Watch>,
    interrupt: Interrupt<'_>,
) -> Result<Walk> {
    let mut enough = true;
    let walk = root.walk_entering(folder, interrupt, &mut |folder| {
        if let Some(watch) = watch {
            enough &= watch.add(root.fd(), folder);
        }
    });
    if !enough {
        // the system has no more watches to give: from now on stamps are compared
        *watch = None;
    }
    walk
}

/// Tells one root from another, and from a copy of it.
fn identity(root: &Root) -> Result<u64> {
    let stat = rustix::fs::fstat(root.fd())
        .map_err(|error| Error::io("look at", root.path().to_string_lossy(), error))?;
    Ok(xxhash_rust::xxh3::xxh3_64(bytemuck::bytes_of(&[stat.st_dev, stat.st_ino])))
}

fn load(root: &Root, weights: &Weights) -> std::result::Result<Option<Catalog>, String> {
    let bytes = match root.open_own(&format!("{OWN}/{SNAPSHOT}")) {
        Ok(file) => read_all(&file).map_err(|error| error.to_string())?,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let root = identity(root).map_err(|error| error.to_string())?;
    snapshot::read(&bytes, root, weights).map(Some).map_err(|why| format!("the snapshot: {why}"))
}

fn read_all(mut file: &File) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize + 1);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a snapshot in its place with one rename; it needs no fsync, for its checksum decides.
fn publish(root: &Root, bytes: &[u8]) -> Result<()> {
    let folder = root.own_dir("")?;
    let name = format!("{SNAPSHOT}.{}.new", std::process::id());
    let fail = |error: rustix::io::Errno| Error::io("write", format!("{OWN}/{SNAPSHOT}"), error);
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR).map_err(fail)?;
    let written = snapshot::save(&mut File::from(file), bytes);
    let done = written
        .map_err(|error| Error::io("write", format!("{OWN}/{SNAPSHOT}"), error))
        .and_then(|()| rustix::fs::renameat(&folder, &name, &folder, SNAPSHOT).map_err(fail));
    if done.is_err() {
        // a half-written file of ours that nobody else knows of
        let _ = rustix::fs::unlinkat(&folder, &name, rustix::fs::AtFlags::empty());
    }
    done
}
