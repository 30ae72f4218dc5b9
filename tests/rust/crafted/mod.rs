//! Test helper: crafted snapshots, with changed arrays and checksums made valid again.

#![allow(dead_code, missing_docs)]

use xxhash_rust::xxh3::xxh3_64;

/// Bytes before the directory, and arrays in it, each with its place, length and hash.
pub const HEAD: usize = 40;
pub const ARRAYS: usize = 33;
pub const EXTENT: usize = 24;
pub const ARRAYS_AT: usize = HEAD + ARRAYS * EXTENT;
/// Those of the dictionaries, and the totals of the documents.
pub const DICTIONARIES: std::ops::Range<usize> = 1..16;
pub const TOTALS: [usize; 2] = [16, 17];
/// The arrays that are directories of pages: tables of words, of concepts, and of lists, lists,
/// concepts of documents, documents, labels.
pub const PAGED: [usize; 13] = [7, 8, 9, 10, 11, 14, 15, 20, 21, LISTS, 23, ROWS, 25];
pub const LISTS: usize = 22;
pub const ROWS: usize = 24;
/// Those of them that are tables of words, of concepts, and of where lists begin.
pub const TABLES: [usize; 9] = [7, 8, 9, 10, 11, 14, 15, 20, 21];

pub fn root_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[16..24].try_into().unwrap())
}

pub fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

/// Where an array lies.
pub fn place(bytes: &[u8], extent: usize) -> std::ops::Range<usize> {
    let start = word(bytes, extent) as usize;
    start..start.saturating_add(word(bytes, extent + 8) as usize)
}

/// Makes every checksum hold again, as far as what it is of lies in the file.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len() as u64;
    put(&mut bytes, 24, length);
    let seal = |bytes: &mut Vec<u8>, extent: usize| {
        let end = word(bytes, extent).checked_add(word(bytes, extent + 8));
        if end.is_some_and(|end| end <= length) {
            let hash = xxh3_64(&bytes[place(bytes, extent)]);
            put(bytes, extent + 16, hash);
        }
    };
    for array in 0..ARRAYS {
        let extent = HEAD + array * EXTENT;
        let pages = place(&bytes, extent);
        if PAGED.contains(&array) && pages.end <= bytes.len() && pages.len().is_multiple_of(EXTENT)
        {
            pages.step_by(EXTENT).for_each(|page| seal(&mut bytes, page));
        }
        seal(&mut bytes, extent);
    }
    let hash = xxh3_64(&bytes[HEAD..ARRAYS_AT]);
    put(&mut bytes, 32, hash);
    bytes
}
