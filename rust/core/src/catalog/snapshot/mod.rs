//! Snapshot format: the index as checksummed little-endian arrays in one file.
//!
//! One file of plain little-endian arrays, each as it lies in memory, so that opening is reading.
//! Layout: magic, format number, root id, length of the file, XXH3 of the directory; the directory
//! ([`Extent`]s); the arrays, at multiples of eight. What any query needs is read at opening; what
//! a query needs little of, tables of terms, lists and document metadata, stays behind in pages,
//! each with a checksum of its own. It is a cache: a
//! snapshot that is damaged, cut short, of another root or of another version is ignored and
//! rebuilt.

pub(crate) mod file;
mod reader;
mod writer;

pub use crate::catalog::snapshot::reader::read;
pub use crate::catalog::snapshot::writer::write;

use crate::index::bm25f::{FIELDS, Weights};
use crate::index::storage::paged_array::Extent;
use crate::text::language;

const MAGIC: &[u8; 8] = b"CMNPLACE";
/// Raised whenever the layout changes, or how text becomes terms and documents.
const FORMAT: u64 = 23;

/// Returns the format number for this process: languages that were added change the terms.
fn format() -> u64 {
    FORMAT ^ language::extension_id()
}

/// Bytes before the directory, and arrays in it.
const HEADER_BYTES: usize = 40;
const ARRAYS: usize = 33;
/// Arrays behind the weights that are of the terms: two threads read a snapshot.
const TERM_ARRAYS: usize = 15;
const ARRAYS_AT: usize = HEADER_BYTES + ARRAYS * size_of::<Extent>();

/// The reason why a snapshot cannot be used.
pub type LoadError = &'static str;

fn weight_array(weights: &Weights) -> [f32; 1 + 3 * FIELDS] {
    let mut all = [weights.k1; 1 + 3 * FIELDS];
    all[1..=FIELDS].copy_from_slice(&weights.weight);
    all[1 + FIELDS..=2 * FIELDS].copy_from_slice(&weights.b);
    all[1 + 2 * FIELDS..].copy_from_slice(&weights.m);
    all
}
