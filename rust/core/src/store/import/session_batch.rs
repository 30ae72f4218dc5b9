//! Session batch: new transcripts that are written together and flushed together (group commit).
//!
//! To wait for each transcript by itself takes ten times as long as all else of an import of many
//! small sessions. Until the batch is made nothing of it is in the index or in the ledger: a kill
//! leaves each transcript whole or absent, and the next import makes what is absent.

use rustc_hash::FxHashSet;

use crate::error::{Error, Interrupt, Result};
use crate::store::Store;
use crate::store::import::message_index::MessageIndex;
use crate::store::import::pending_lines::Added;

/// How many transcripts are made at once: three files are open for each, and others wait for the lock
/// as long.
const MAX_SESSIONS: usize = 64;
/// Bytes of transcripts that are made at once.
const MAX_BYTES: usize = 8 << 20;

/// A transcript that is to be made.
#[derive(Debug)]
pub(super) struct NewSession {
    pub path: String,
    /// Its number in the index.
    pub number: u32,
    pub bytes: Vec<u8>,
    pub added: Added,
}

#[derive(Debug, Default)]
pub(super) struct SessionBatch {
    /// Transcripts with the number of the source of each.
    sessions: Vec<(usize, NewSession)>,
    bytes: usize,
    hashes: FxHashSet<u128>,
    /// Sources of which a transcript could not be made.
    failed: FxHashSet<usize>,
    /// The source that is read.
    pub source: usize,
    /// Whether each transcript is made by itself.
    pub is_direct: bool,
}

impl SessionBatch {
    pub fn add(&mut self, session: NewSession) {
        self.bytes += session.bytes.len();
        self.hashes.extend(session.added.entries.iter().map(|entry| entry.0));
        self.sessions.push((self.source, session));
    }

    pub fn is_full(&self) -> bool {
        self.sessions.len() >= MAX_SESSIONS || self.bytes >= MAX_BYTES
    }

    pub fn holds(&self, hash: u128) -> bool {
        self.hashes.contains(&hash)
    }

    pub fn holds_path(&self, path: &str) -> bool {
        self.sessions.iter().any(|(_, session)| session.path == path)
    }

    /// Makes all transcripts, and takes them into the index.
    ///
    /// # Errors
    /// Those that all of them have in common, and [`Error::InDoubt`] of one: another try would take
    /// that for stored. All sources have failed then.
    pub fn publish(
        &mut self,
        store: &Store,
        index: &mut MessageIndex,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        if self.sessions.is_empty() {
            return Ok(());
        }
        let sessions = std::mem::take(&mut self.sessions);
        self.hashes.clear();
        self.bytes = 0;
        self.make(&sessions, store, index, interrupt)
            .inspect_err(|_| self.failed.extend(sessions.iter().map(|(source, _)| source)))
    }

    fn make(
        &mut self,
        sessions: &[(usize, NewSession)],
        store: &Store,
        index: &mut MessageIndex,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        for (_, NewSession { path, added, .. }) in sessions {
            store.log_redactions(path, 0, &added.redacted)?;
        }
        let files: Vec<(&str, &[u8])> =
            sessions.iter().map(|(_, one)| (&*one.path, &*one.bytes)).collect();
        let made = store.files().create_all(&files)?;
        let mut in_doubt = None;
        for ((source, NewSession { path, number, bytes, added }), made) in sessions.iter().zip(made)
        {
            match made {
                Ok(()) => {
                    let span = 0..bytes.len() as u64;
                    if !index.add(*number, span, [0, added.lines], &added.entries) {
                        // somebody else has it changed already
                        index.read_on(store, path, interrupt)?;
                    }
                }
                Err(error) => {
                    // somebody else may have made it: what is in it is no longer to be stored
                    index.read_on(store, path, interrupt)?;
                    self.failed.insert(*source);
                    in_doubt = in_doubt
                        .or(Some(error).filter(|error| matches!(error, Error::InDoubt { .. })));
                }
            }
        }
        in_doubt.map_or(Ok(()), Err)
    }

    /// Returns the sources of which a transcript could not be made.
    pub fn take_failed(&mut self) -> FxHashSet<usize> {
        std::mem::take(&mut self.failed)
    }
}
