//! Options of a store: watching, weights, write rules, memory limit.

use crate::files::racy_stat::FsClock;
use crate::files::write_rules::WriteRules;
use crate::index::bm25f::Weights;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Make the folder when it is not there.
    pub create: bool,
    /// Let the system report changes.
    pub watch: bool,
    /// The weights of the ranking.
    pub weights: Weights,
    /// What tools may write.
    pub rules: WriteRules,
    /// How finely stamps are kept; tests look through a coarser clock.
    pub clock: FsClock,
    /// Bytes of a transcript from which on a gram index is made of it.
    pub gram_index_min_size: u64,
    /// Returns whether a call that waits for the lock is to stop.
    pub interrupt: fn() -> bool,
    /// Bytes of memory that the store may take, if that is less than what the system allows.
    pub memory_limit: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let (weights, rules, clock) = Default::default();
        Self {
            create: true,
            watch: true,
            weights,
            rules,
            clock,
            gram_index_min_size: 16 << 20,
            interrupt: never,
            memory_limit: None,
        }
    }
}

fn never() -> bool {
    false
}
