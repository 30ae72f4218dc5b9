//! Document cache: texts that were read from their files a short time ago.
//!
//! To open a file costs more than all else that is done for a hit: its name, its inode and its
//! page are each a cache miss. One query mostly follows another about the same notes, so what was
//! read and checked is kept for a while. It is
//! used only while the system reports changes: whatever has changed since then is in the index by
//! now, with another hash, and is read again.

use rustc_hash::FxHashMap;

use crate::catalog::DocMeta;

/// Most bytes of each generation, and of one document.
const GENERATION_BYTES: usize = 8 << 20;
const MAX_DOCUMENT_BYTES: usize = 16 << 10;
/// What an entry takes beside its text.
const ENTRY_OVERHEAD: usize = 64;

/// Documents by hash and position, in two generations: when the younger one is full it
/// takes the place of the older, so that what is used stays.
#[derive(Debug, Default)]
pub(super) struct DocumentCache {
    young: FxHashMap<CacheKey, Box<[u8]>>,
    old: FxHashMap<CacheKey, Box<[u8]>>,
    /// Of the young.
    bytes: usize,
}

/// Hash, first byte, length and file.
type CacheKey = (u64, u64, u32, u32);

fn key(doc: &DocMeta) -> CacheKey {
    (doc.hash, doc.start, doc.length, doc.file)
}

impl DocumentCache {
    /// Returns the bytes of a document if they are still there.
    pub(super) fn get(&mut self, doc: &DocMeta) -> Option<Vec<u8>> {
        let key = key(doc);
        if let Some(bytes) = self.young.get(&key) {
            return Some(bytes.to_vec());
        }
        let bytes = self.old.remove(&key)?;
        let copy = bytes.to_vec();
        self.insert(key, bytes);
        Some(copy)
    }

    /// Keeps the bytes of a document.
    pub(super) fn put(&mut self, doc: &DocMeta, bytes: &[u8]) {
        if bytes.len() <= MAX_DOCUMENT_BYTES {
            self.insert(key(doc), bytes.into());
        }
    }

    fn insert(&mut self, key: CacheKey, bytes: Box<[u8]>) {
        if self.bytes > GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes.len() + ENTRY_OVERHEAD;
        self.young.insert(key, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_all_is_bounded() {
        let mut cache = DocumentCache::default();
        let doc = |start: u64| DocMeta { start, ..bytemuck::Zeroable::zeroed() };
        for start in 0..4_000 {
            cache.put(&doc(start), &[start as u8; 10_000]);
            assert_eq!(cache.get(&doc(7)).is_some(), start >= 7);
            assert!(cache.young.len() + cache.old.len() < 2 * (GENERATION_BYTES / 10_000 + 2));
        }
        assert_eq!(cache.get(&doc(3_999)), Some(vec![159; 10_000]));
        assert_eq!(cache.get(&doc(8)), None);
        cache.put(&doc(5_000), &[0; MAX_DOCUMENT_BYTES + 1]);
        assert_eq!(cache.get(&doc(5_000)), None);
    }
}
