//! Import context: what all sources of an import share.

use crate::error::{Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::store::Store;
use crate::store::forget::Tombstones;
use crate::store::import::ImportOptions;
use crate::store::import::message_index::MessageIndex;
use crate::store::import::session_batch::SessionBatch;

/// What an import works with.
pub(super) struct Context<'a> {
    pub store: &'a Store,
    pub index: &'a mut MessageIndex,
    pub batch: &'a mut SessionBatch,
    /// What is not to come back.
    pub forgotten: &'a Tombstones,
    pub options: ImportOptions,
    pub interrupt: Interrupt<'a>,
}

impl Context<'_> {
    pub fn limit(&self) -> &MemoryLimit {
        &self.store.limit
    }

    /// Makes the transcripts that wait in the batch.
    pub fn publish_batch(&mut self) -> Result<()> {
        self.batch.publish(self.store, self.index, self.interrupt)
    }
}
