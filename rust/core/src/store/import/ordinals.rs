//! Ordinals: which of several equal messages without an id one is.

use rustc_hash::FxHashMap;

use crate::messages::message_key::MessageKey;

/// How many messages with each key there were, of those that may be several.
#[derive(Debug, Default)]
pub(in crate::store) struct Ordinals(FxHashMap<MessageKey, u32>);

impl Ordinals {
    /// Returns the ordinal of the next message with a key.
    pub fn next(&mut self, key: MessageKey) -> u32 {
        if !key.is_repeatable {
            return 0;
        }
        let next = self.0.entry(key).or_default();
        *next += 1;
        *next - 1
    }

    /// Returns the hash of the next message with a key in a transcript, that no other has.
    pub fn next_free(
        &mut self,
        key: MessageKey,
        path: &str,
        is_taken: impl Fn(&u128) -> bool,
    ) -> u128 {
        loop {
            let hash = key.stored_hash(path, self.next(key));
            if !key.is_repeatable || !is_taken(&hash) {
                return hash;
            }
        }
    }
}
