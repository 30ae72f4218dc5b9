//! Tables of terms in a snapshot: queries read some of their pages, changes all; damage is found by
//! whichever comes first.

#![allow(missing_docs)]

mod crafted;
mod fixture;

use std::fs;

use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::store::{Store, StoreOptions};
use crafted::{EXTENT, HEAD, TABLES, place};
use fixture::{QUERIES, TestRoot, answers, files_with, sample};

/// Stamps are believed at once, so that an opening reads only what has changed.
fn options() -> StoreOptions {
    let clock = FsClock { racy_ns: 0, ..FsClock::default() };
    StoreOptions { clock, watch: false, ..StoreOptions::default() }
}

fn told(store: &Store) -> String {
    store.refresh(&|| false).unwrap().snapshot.clone().unwrap()
}

/// The places of the pages of a table.
fn pages(bytes: &[u8], table: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    place(bytes, HEAD + table * EXTENT).step_by(EXTENT).map(|page| place(bytes, page))
}

#[test]
fn damage_of_a_table_is_found_by_a_query_or_by_a_change() {
    let memory = TestRoot::new();
    sample(&memory);
    let expected = answers(&memory.open_with(options()), &QUERIES);
    let index = memory.at(".commonplace/index");
    let bytes = fs::read(&index).unwrap();
    for table in TABLES {
        let mut damaged = bytes.clone();
        pages(&bytes, table).for_each(|page| damaged[page.end - 1] ^= 1);
        assert!(damaged != bytes, "table {table} is empty");
        fs::write(&index, &damaged).unwrap();
        let store = memory.open_with(options());
        assert_eq!(answers(&store, &QUERIES), expected, "table {table}");
        // what no query has read, the change does
        memory.put("new.md", format!("# New\n\nquagga{table}\n"));
        assert_eq!(files_with(&store, &format!("quagga{table}")).len(), 1, "table {table}");
        assert_eq!(told(&store), "rebuilt: the snapshot is damaged", "table {table}");
        fs::remove_file(memory.at("new.md")).unwrap();
        assert_eq!(answers(&store, &QUERIES), expected, "table {table} after the change");
        drop(store);
        assert_eq!(told(&memory.open_with(options())), "read", "table {table} is not mended");
        fs::write(&index, &bytes).unwrap();
    }
}

#[test]
fn what_changes_after_queries_read_some_pages_is_as_in_a_fresh_build() {
    let memory = TestRoot::new();
    sample(&memory);
    drop(memory.open_with(options()).refresh(&|| false).unwrap());
    let store = memory.open_with(options());
    assert_eq!(told(&store), "read");
    drop(answers(&store, &QUERIES));
    memory.put("new.md", "# New\n\ntea and tokens, rotated by a quagga\n");
    fs::remove_file(memory.at("detail/auth.md")).unwrap();
    let changed = answers(&store, &QUERIES);
    assert_eq!(told(&store), "read", "it was whole");
    let fresh = TestRoot::new();
    sample(&fresh);
    fresh.put("new.md", "# New\n\ntea and tokens, rotated by a quagga\n");
    fs::remove_file(fresh.at("detail/auth.md")).unwrap();
    assert_eq!(changed, answers(&fresh.open_with(options()), &QUERIES));
    assert_eq!(files_with(&store, "quagga").len(), 1);
}
