//! Snapshot tests: an index that is consistent but disagrees with the files is detected and rebuilt.

#![allow(missing_docs)]

mod crafted;
mod fixture;

use std::fs;

use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::store::hit::Hit;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Store, StoreOptions};
use crafted::{EXTENT, HEAD, LISTS, PAGED, ROWS, place, put, root_of, sealed, word};
use fixture::TestRoot;

/// Arrays of the snapshot.
const STATS: usize = 30;
const SEEN: usize = 31;

fn options() -> StoreOptions {
    let clock = FsClock { racy_ns: 0, ..FsClock::default() };
    StoreOptions { clock, watch: false, ..StoreOptions::default() }
}

/// Two notes and two messages, of which each pair says `first` and `second`, or the other way
/// round; a note before them brings all words into the dictionary.
fn filled(first: &str, second: &str) -> TestRoot {
    let memory = TestRoot::new();
    memory.put("0.md", "# Words\n\nalpha bravo common\n");
    memory.put("a.md", format!("# Upper\n\n{first} common\n"));
    memory.put("b.md", format!("# Lower\n\n{second} common\n"));
    let line = |word: &str| format!("{{\"role\":\"user\",\"content\":\"{word} said\"}}\n");
    let between: String = (0..4).map(|_| line("nothing")).collect();
    memory.put("c/messages.jsonl", [line(first), between, line(second)].concat());
    memory
}

fn snapshot_of(memory: &TestRoot) -> Vec<u8> {
    drop(memory.open_with(options()));
    fs::read(memory.at(".commonplace/index")).unwrap()
}

fn snapshot_status(store: &Store) -> String {
    store.refresh(&|| false).unwrap().snapshot.clone().unwrap()
}

/// Where the pages of an array lie, or the array itself.
fn parts(bytes: &[u8], array: usize) -> Vec<std::ops::Range<usize>> {
    let held = place(bytes, HEAD + array * EXTENT);
    match PAGED.contains(&array) {
        true => held.step_by(EXTENT).map(|page| place(bytes, page)).collect(),
        false => vec![held],
    }
}

/// Takes some arrays of another snapshot, of the same lengths.
fn take(bytes: &mut [u8], other: &[u8], arrays: &[usize]) {
    for &array in arrays {
        for (own, others) in parts(bytes, array).into_iter().zip(parts(other, array)) {
            bytes[own].copy_from_slice(&other[others]);
        }
    }
}

/// Returns false snapshots with their names, and the files on which each is false.
fn false_snapshots(memory: &TestRoot) -> Vec<(&'static str, Vec<u8>, Vec<&'static str>)> {
    let bytes = snapshot_of(memory);
    let other = snapshot_of(&filled("bravo", "alpha"));
    // rows and stamps are those of the files, all else is of others
    let mut moved = other.clone();
    take(&mut moved, &bytes, &[ROWS, STATS, SEEN]);
    put(&mut moved, 16, root_of(&bytes));
    // only the lists are
    let mut listed = bytes.clone();
    take(&mut listed, &other, &[LISTS]);
    assert!(listed != bytes);
    let mut counted = bytes.clone();
    let lines = parts(&bytes, SEEN)[0].start + 3 * 48 + 16;
    assert_eq!(word(&bytes, lines), 6);
    put(&mut counted, lines, 5);
    let mut headed = bytes.clone();
    let trail = |document: usize| parts(&bytes, ROWS)[0].start + document * 64 + 44;
    let (upper, lower) = (trail(1), trail(2));
    headed[upper..upper + 4].copy_from_slice(&bytes[lower..lower + 4]);
    assert!(headed != bytes);
    let all = vec!["a.md", "b.md", "c/messages.jsonl"];
    vec![
        ("postings and documents", sealed(moved), all.clone()),
        ("postings", sealed(listed), all),
        ("lines of a transcript", sealed(counted), vec!["c/messages.jsonl"]),
        ("a heading", sealed(headed), vec!["a.md"]),
    ]
}

#[test]
fn verify_finds_a_false_index() {
    let memory = filled("alpha", "bravo");
    for (what, bytes, files) in false_snapshots(&memory) {
        fs::write(memory.at(".commonplace/index"), &bytes).unwrap();
        let store = memory.open_with(options());
        assert_eq!(snapshot_status(&store), "read", "{what}");
        let differences = store.verify(&|| false).unwrap().differences;
        let named = files.iter().map(|file| format!("{file}: the index did not hold its text"));
        let of_files: Vec<_> =
            differences.iter().filter(|line| !line.contains("/index:")).collect();
        assert_eq!(of_files, named.collect::<Vec<_>>().iter().collect::<Vec<_>>(), "{what}");
        assert!(snapshot_status(&store).contains("rebuilt"), "{what}: {}", snapshot_status(&store));
        assert!(!memory.at(".commonplace/index").exists(), "{what}");
        assert!(store.verify(&|| false).unwrap().differences.is_empty(), "{what}");
        drop(store);
        let store = memory.open_with(options());
        assert_eq!(snapshot_status(&store), "read", "{what}");
        assert!(store.verify(&|| false).unwrap().differences.is_empty(), "{what}");
    }
}

/// What a caller sees of a hit.
fn shown(store: &Store, query: &str) -> Vec<String> {
    let request = SearchRequest { query: query.to_owned(), limit: 10, ..SearchRequest::default() };
    let answer = store.search(&request, &|| false).unwrap();
    let hit = |hit: Hit| format!("{} {:?} {:.4}", hit.passage().citation, hit.heading, hit.score);
    answer.hits.into_iter().map(hit).collect()
}

#[test]
fn hits_of_a_false_index_are_not_shown() {
    const QUERIES: [&str; 5] = ["alpha", "bravo", "upper", "lower common", "said alph*"];
    let memory = filled("alpha", "bravo");
    let expected = QUERIES.map(|query| shown(&memory.open_with(options()), query));
    for (what, bytes, _) in false_snapshots(&memory) {
        for (query, expected) in QUERIES.iter().zip(&expected) {
            fs::write(memory.at(".commonplace/index"), &bytes).unwrap();
            let store = memory.open_with(options());
            assert_eq!(snapshot_status(&store), "read", "{what}");
            assert_eq!(shown(&store, query), *expected, "{what}: {query}");
        }
    }
}

/// A document that is found by words that are not in its own text is compared with its file once.
#[test]
fn a_true_index_is_kept() {
    let memory = filled("alpha", "bravo");
    memory.put("d.md", "---\ntags: [zebra]\ncategory: animals\n---\n# `Code` *and* more\n\ntext\n");
    memory.put("e.md", "---\ntitle: Quagga\n---\ntext\n\n# Sub\n\nmore\n");
    drop(memory.open_with(options()));
    let store = memory.open_with(options());
    for query in ["zebra", "animals", "quagga", "code and", "alpha nothing", "user", "zebr* quag~1"]
    {
        assert!(!shown(&store, query).is_empty(), "{query}");
        assert_eq!(snapshot_status(&store), "read", "{query}");
    }
}
