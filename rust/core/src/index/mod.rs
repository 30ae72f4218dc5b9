//! The inverted index: BM25F over the sections and messages of a memory.
//!
//! ```text
//! inverted_index, build, consistency
//!   ├─ topk          the best k documents by upper bounds (block-max MaxScore)
//!   ├─ storage       packed index, paged arrays, partial indexes, packing
//!   ├─ dictionary    words, concepts and variants; expansion of prefixes and typos
//!   └─ postings      encoding, impacts, term-frequency profiles, validation
//!        └─ bm25f    the scoring formula
//! ```

pub mod bm25f;
mod build;
pub mod consistency;
pub mod dictionary;
pub mod doc_freqs;
pub mod inverted_index;
pub mod memory_bounds;
pub mod postings;
mod prefetch;
pub mod storage;
pub mod topk;
