//! Upper bounds of the memory that packing an index and adding to it take.

use crate::index::bm25f::Lengths;
use crate::index::inverted_index::DeltaList;
use crate::index::storage::packing::BATCH;

/// Returns the bytes that an index and its document table take at most while so many documents and
/// postings are packed; `dictionaries` is the bytes of the dictionaries.
pub fn packing_bytes(documents: u64, postings: u64, dictionaries: u64) -> u64 {
    // postings as analyzed and the end of each document, and how many of them each of two threads
    // has gathered; table rows and lengths before and after
    const DOCUMENT: u64 = 8 + 16 + 2 * 4 + 2 * (size_of::<Lengths>() + 64) as u64;
    // as analyzed; packed twice, by document and by concept; in the batches
    const POSTING: u64 = 8 + 8 + 2;
    let batches = (8 * postings).min(2 * 8 * BATCH as u64);
    documents * DOCUMENT + postings * POSTING + 2 * dictionaries + batches
}

/// Returns the bytes that unpacked documents with so many postings take beside that;
/// `dictionaries` is the bytes of the dictionaries.
pub fn delta_bytes(postings: u64, dictionaries: u64) -> u64 {
    // in the delta list of its concept, which grows by doubling, and in that of its document
    const POSTING: u64 = 16 + 8;
    // for a concept with few postings: its slot in a half-full table, and the least capacity
    const LIST: u64 = 2 * (size_of::<(u32, DeltaList)>() + 1) as u64 + 32;
    // the least that a concept takes in the dictionaries
    const CONCEPT: u64 = 48;
    postings * POSTING + postings.min(dictionaries / CONCEPT) * LIST
}
