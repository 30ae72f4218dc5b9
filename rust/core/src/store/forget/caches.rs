//! Erasure from what is derived: logs, caches of vectors, gram indexes, and the index in memory.

use std::io::Read as _;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::error::{Error, Interrupt, Result, wait_for};
use crate::files::paths::OWN;
use crate::store::Store;
use crate::store::document_cache::DocumentCache;
use crate::store::forget::needles::Needles;
use crate::store::forget::tombstones::Tombstones;
use crate::store::gram_index_thread;

/// Below [`OWN`]: what other steps erase from, what holds no text, and this call's own files.
const PASSED_OVER: [&str; 10] = [
    "archive/index/",
    "history/",
    "quarantine/",
    "vectors/",
    "gram_index/",
    "imports/messages",
    "index",
    "lock",
    "forgotten.jsonl",
    "forgetting",
];
/// Files in which a path says only where something was imported to.
const LEDGERS: &str = "imports/";
/// Bytes of the key and of the sum of a vector's record.
const KEY: usize = 16;
const SUM: usize = 4;

impl Store {
    /// Erases from side files each line that holds one of the texts or one of the names; a file that
    /// is not made of lines goes as a whole.
    pub(super) fn erase_from_side_files(&self, texts: &Needles, names: &Needles) -> Result<()> {
        let walk = match self.root().walk_all(OWN, &|| false, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(()),
            walk => walk?,
        };
        for (address, _) in walk.files {
            let Some(name) = address.strip_prefix(&format!("{OWN}/")) else { continue };
            let is_passed_over = |one: &str| {
                name.strip_prefix(one).is_some_and(|rest| {
                    one.ends_with('/') || rest.is_empty() || rest.starts_with('.')
                })
            };
            if PASSED_OVER.iter().any(|one| is_passed_over(one)) {
                continue;
            }
            let is_ledger = name.starts_with(LEDGERS);
            let is_held = |bytes: &[u8]| texts.are_in(bytes) || !is_ledger && names.are_in(bytes);
            let bytes = self.read_own(&address)?;
            if !is_held(&bytes) {
                continue;
            }
            let lines = bytes.split_inclusive(|&byte| byte == b'\n');
            let left: Vec<u8> = lines.filter(|line| !is_held(line)).flatten().copied().collect();
            if bytes.contains(&0) || is_held(&left) {
                self.files.remove_unkept(&address)?;
            } else {
                self.replace_side_file(&address, &left)?;
            }
        }
        Ok(())
    }

    /// Removes the gram indexes of transcripts that have changed; greps make them again.
    pub(super) fn remove_gram_indexes<'p>(&self, paths: impl Iterator<Item = &'p String>) {
        self.wait_for_gram_indexes();
        for path in paths {
            // a cache: what cannot be removed does not fit the file any more
            let _ = self
                .files
                .remove_unkept(&format!("{OWN}/gram_index/{}", gram_index_thread::name(path)));
        }
    }

    /// Removes the index of the archive if it is or was of any of these files: it is made again from
    /// all that are listed, without the words that have left.
    pub(super) fn remove_archive_index_of<'p>(
        &self,
        mut paths: impl Iterator<Item = &'p String>,
    ) -> Result<()> {
        let archived = self.archive_list_if_allowed()?;
        if !archived.may_hold_others() && !paths.any(|path| archived.files().contains_key(path)) {
            return Ok(());
        }
        self.remove_archive_index()
    }

    /// Removes the index of the archive, which is made again from the files.
    ///
    /// # Errors
    /// Those of removing a file.
    pub fn remove_archive_index(&self) -> Result<()> {
        let walk = match self.root().walk_all(&format!("{OWN}/archive/index"), &|| false, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(()),
            walk => walk?,
        };
        walk.files.iter().try_for_each(|(address, _)| self.files.remove_unkept(address))?;
        // the one file of tantivy with a hidden name: damaged, it would keep an index from being made
        let mut hidden = walk.dirs.iter().map(|folder| format!("{folder}/.managed.json"));
        hidden.try_for_each(|address| self.files.remove_unkept(&address))
    }

    /// Keeps the vectors with these keys only, in the caches of all embedders; without keys, none.
    pub(super) fn keep_vectors(&self, live: Option<&[[u8; KEY]]>) -> Result<()> {
        let live: FxHashSet<&[u8]> = live.unwrap_or_default().iter().map(|key| &key[..]).collect();
        let walk = match self.root().walk_all(&format!("{OWN}/vectors"), &|| false, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(()),
            walk => walk?,
        };
        for (address, _) in walk.files {
            match address.rsplit_once('/').map(|(_, name)| name) {
                // whoever waits for it has it open
                Some("lock") => {}
                Some("records") if !live.is_empty() => {
                    let mut bytes = Vec::new();
                    let mut file = self.root().open_own(&address)?;
                    let read = file.read_to_end(&mut bytes);
                    read.map_err(|error| Error::io("read", &*address, error))?;
                    match live_records(&bytes, &live) {
                        Some(left) => self.replace_side_file(&address, &left)?,
                        None => self.files.remove_unkept(&address)?,
                    }
                }
                _ => self.files.remove_unkept(&address)?,
            }
        }
        Ok(())
    }

    /// Says whether an embedder has left vectors here.
    pub fn has_vectors(&self) -> bool {
        self.root().open_dir(&format!("{OWN}/vectors")).is_ok()
    }

    /// Reads all files anew: an index that is only updated still knows the words that have left.
    pub(super) fn index_anew(&self, interrupt: Interrupt<'_>) -> Result<()> {
        *self.document_cache.lock() = DocumentCache::default();
        if self.is_indexed() {
            self.rebuild_all(interrupt)?;
        }
        self.forgotten_size.store(Tombstones::size(self.root()), Ordering::Relaxed);
        Ok(())
    }

    /// Returns whether another process has forgotten something since the index was opened here.
    pub(crate) fn was_forgotten_elsewhere(&self) -> bool {
        Tombstones::size(self.root()) != self.forgotten_size.load(Ordering::Relaxed)
    }

    /// Waits until no other thread changes the watch, and lets it be changed.
    fn rebuild_all(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut watch = wait_for(interrupt, |slice| self.watch.try_lock_for(slice))?;
        // until it is done, every other call compares all files
        self.changes_unapplied.store(true, Ordering::Relaxed);
        let mut state = self.write_state(interrupt)?;
        self.read_all_anew(&mut state, &mut watch, interrupt)
    }
}

/// Returns the records of a cache of vectors that have one of the keys; none where it is no such
/// cache. `commonplace.recall.vector_cache` says what it is made of.
fn live_records(bytes: &[u8], live: &FxHashSet<&[u8]>) -> Option<Vec<u8>> {
    let header = memchr::memchr(b'\n', bytes)? + 1;
    let said: Value = serde_json::from_slice(&bytes[..header]).ok()?;
    let dims = usize::try_from(said["dims"].as_u64()?).ok()?;
    let size = dims.checked_mul(4)?.checked_add(KEY + SUM)?;
    let mut left = bytes[..header].to_vec();
    for record in bytes[header..].chunks_exact(size).filter(|record| live.contains(&record[..KEY]))
    {
        left.extend_from_slice(record);
    }
    Some(left)
}
