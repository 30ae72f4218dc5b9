//! Tests of the memory limit: omissions are reported, sections and words are bounded.

#![allow(missing_docs)]

mod fixture;

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::files::version::Version;
use commonplace_core::store::hit::Hits;
use commonplace_core::store::{Freshness, Store, StoreOptions};
use commonplace_core::text::section::MAX_SECTIONS;
use fixture::{TestRoot, answers, ask, files_with};

/// As little as there is: 16 MB.
///
/// Without a watch (`tests/refuse.py`) a file is read again while its stamps are young, and each
/// time another part of it may fit. Here each change changes a size, and so stamps are believed.
fn little() -> StoreOptions {
    let clock = FsClock { racy_ns: 0, ..FsClock::default() };
    StoreOptions { memory_limit: Some(16 << 20), clock, ..StoreOptions::default() }
}

fn lines(from: usize, count: usize) -> String {
    (from..from + count).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, r#"{{"role":"user","content":"line number{n}"}}"#);
        text
    })
}

fn is_partial(hits: &Hits, says: &str) {
    assert_eq!(hits.freshness, Freshness::Partial, "{:?}", hits.notes);
    assert!(hits.notes.iter().any(|note| note.contains(says)), "{:?}", hits.notes);
}

fn messages(store: &Store) -> usize {
    store.status(&|| false).unwrap().messages
}

#[test]
fn of_too_many_lines_the_first_are_indexed() {
    let memory = TestRoot::new();
    memory.put("a.md", "# Note\n\nlilac\n");
    memory.put("log.jsonl", lines(0, 45_000));
    let store = memory.open_with(little());
    let held = messages(&store);
    assert!((20_000..40_000).contains(&held), "{held}");
    is_partial(&ask(&store, "lilac"), &format!("log.jsonl is indexed up to line {held} "));
    assert_eq!(files_with(&store, "number19999").len(), 1);
    assert_eq!(files_with(&store, "number44999").len(), 0);
    let status = store.status(&|| false).unwrap();
    assert!(status.skipped[0].1.contains("raise memory_limit"), "{:?}", status.skipped);

    // what comes later does not fit either, and is said to be missing
    let mut log = OpenOptions::new().append(true).open(memory.at("log.jsonl")).unwrap();
    log.write_all(lines(45_000, 10).as_bytes()).unwrap();
    memory.put("b.md", "# Other\n\nlilac lilac lilac\n".repeat(10_000));
    is_partial(&ask(&store, "lilac"), "b.md is ");
    // what only the build needed is there again, and no more
    assert!((held..40_000).contains(&messages(&store)));

    // the next opening may have more memory
    store.save().unwrap();
    assert!(!memory.at(".commonplace/index").exists());
    drop(store);
    let store = memory.open(true);
    assert_eq!((messages(&store), ask(&store, "lilac").freshness), (45_010, Freshness::Fresh));
    drop(store);

    // and what was left out is read when there is room
    let _ = fs::remove_dir_all(memory.at(".commonplace"));
    let store = memory.open_with(little());
    is_partial(&ask(&store, "lilac"), "log.jsonl is indexed up to line");
    memory.put("log.jsonl", lines(0, 10));
    let hits = ask(&store, "lilac");
    assert_eq!((hits.freshness, hits.notes.len()), (Freshness::Fresh, 0), "{:?}", hits.notes);
    assert!(hits.hits.iter().any(|hit| hit.path == "b.md"));
}

#[test]
fn records_behind_the_last_message_that_fits_are_not_counted() {
    let with_records = |from: usize, count: usize| {
        let record = "{\"level\":\"info\"}\n";
        lines(from, count)
            .split_inclusive('\n')
            .fold(String::new(), |text, line| text + line + record + record)
    };
    let memory = TestRoot::new();
    memory.put("log.jsonl", with_records(0, 45_000));
    let store = memory.open_with(little());
    let counts = |store: &Store| {
        let status = store.status(&|| false).unwrap();
        (status.messages, status.other_records)
    };
    let (held, records) = counts(&store);
    assert!((10_000..45_000).contains(&held), "{held}");
    assert_eq!(records, 2 * held);
    let mut log = OpenOptions::new().append(true).open(memory.at("log.jsonl")).unwrap();
    log.write_all(with_records(45_000, 10).as_bytes()).unwrap();
    let (held, records) = counts(&store);
    assert_eq!(records, 2 * held);
}

#[test]
fn a_transcript_that_grows_too_large_is_indexed_in_part() {
    let memory = TestRoot::new();
    memory.put("log.jsonl", lines(0, 10));
    for n in 0..9 {
        memory.put(&format!("{n}.md"), "# Note\n\nlilac\n");
    }
    let store = memory.open_with(little());
    let mut log = OpenOptions::new().append(true).open(memory.at("log.jsonl")).unwrap();
    for step in 0..4 {
        log.write_all(lines(10 + 10_000 * step, 10_000).as_bytes()).unwrap();
        let hits = ask(&store, &format!("number{}", 9 + 10_000 * (step + 1)));
        assert!(!hits.hits.is_empty() || hits.freshness == Freshness::Partial);
    }
    let held = messages(&store);
    assert!((10_000..40_000).contains(&held), "{held}");
    is_partial(&ask(&store, "lilac"), &format!("log.jsonl is indexed up to line {held} "));
}

#[test]
fn a_line_that_is_too_long_is_told() {
    let memory = TestRoot::new();
    let long = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "lilac ".repeat(200_000));
    memory.put("log.jsonl", format!("{}{long}{}", lines(0, 2), lines(2, 2)));
    for _ in 0..2 {
        let store = memory.open_with(little());
        assert_eq!(messages(&store), 4);
        is_partial(&ask(&store, "number3"), "1 lines longer than 1 MB");
        store.save().unwrap();
    }
    let store = Store::open(memory.root().to_str().unwrap(), little()).unwrap();
    let source = memory.outside().join("source.jsonl");
    fs::write(&source, format!("{}{long}{}", lines(0, 2), lines(2, 2))).unwrap();
    let import = |source: &Path, path: &str| {
        store
            .import_transcript(source, path, Default::default(), &mut |_| {}, &|| false)
            .map(|(_, taken)| taken)
    };
    let taken = import(&source, "in.jsonl").unwrap();
    assert_eq!((taken.messages, taken.first_bad_lines), (4, vec![3]));
    fs::write(&source, format!("[{}{{}}]", "{},".repeat(2 << 20))).unwrap();
    let refused = import(&source, "array.jsonl").unwrap_err();
    assert!(matches!(refused, Error::Memory { limit: Some(_), .. }), "{refused}");
}

/// Left out before it has taken what others need, and read when it is no longer too large.
#[test]
fn a_line_of_too_many_different_words_leaves_room_for_others() {
    let memory = TestRoot::new();
    let line = |words: usize| (0..words).map(|n| format!("w{n:x} ")).collect::<String>();
    memory.put("a.md", line(100_000));
    memory.put("b.md", "lilac\n");
    for _ in 0..2 {
        let store = memory.open_with(little());
        for _ in 0..2 {
            let hits = ask(&store, "lilac");
            is_partial(&hits, "a.md is indexed in part");
            assert_eq!(hits.hits.len(), 1);
            memory.put("a.md", line(100_001));
        }
        assert!(dictionary(&store) < 200);
        // a line as long of few words needs little
        memory.put("a.md", format!("{} lilac", line(100).repeat(1000)));
        let hits = ask(&store, "lilac");
        assert_eq!((hits.freshness, hits.hits.len()), (Freshness::Fresh, 2), "{:?}", hits.notes);
        memory.put("a.md", line(100_000));
    }
}

#[test]
fn a_note_that_is_too_large_is_told() {
    let memory = TestRoot::new();
    memory.put("a.md", "# Note\n\nlilac\n");
    fs::File::create(memory.at("huge.md")).unwrap().set_len(300 << 20).unwrap();
    for watch in [true, false] {
        let store = memory.open(watch);
        is_partial(&ask(&store, "lilac"), "huge.md is not indexed: 300 MB");
        memory.put("huge.md", "lilac");
        let hits = ask(&store, "lilac");
        assert_eq!((hits.freshness, hits.hits.len(), hits.notes.len()), (Freshness::Fresh, 2, 0));
        fs::File::create(memory.at("huge.md")).unwrap().set_len(300 << 20).unwrap();
        is_partial(&ask(&store, "lilac"), "huge.md is not indexed: 300 MB");
    }
}

#[test]
fn a_file_that_is_too_large_to_be_read_whole_is_refused() {
    let memory = TestRoot::new();
    fs::File::create(memory.at("big.md")).unwrap().set_len(6 << 20).unwrap();
    let store = memory.open_with(little());
    let edits = [("a".to_owned(), "b".to_owned())];
    let patched = store.files().patch("big.md", &edits, Expected::Any).map(drop);
    for done in [store.files().read("big.md").map(drop), patched] {
        assert!(matches!(done, Err(Error::Memory { limit: Some(_), .. })), "{done:?}");
    }
}

#[test]
fn headings_behind_the_most_are_one_section() {
    let headings = |count: usize| -> String {
        (0..count).fold(String::new(), |text, n| text + &format!("# h{}\n\n", n % 50))
    };
    let tail = "# Lilac\n\ngrows here\n";
    let memory = TestRoot::new();
    let full = headings(MAX_SECTIONS - 1) + tail;
    memory.put("a.md", &full);
    let store = memory.open(true);
    let heading = |store: &Store| -> Vec<String> {
        ask(store, "lilac").hits.into_iter().flat_map(|hit| hit.heading).collect()
    };
    assert_eq!((heading(&store), ask(&store, "lilac").notes.len()), (vec!["Lilac".to_owned()], 0));
    // some more, and some less: as if it were read for the first time
    for (text, count) in
        [(headings(MAX_SECTIONS + 9) + tail, MAX_SECTIONS + 1), (full, MAX_SECTIONS)]
    {
        memory.put("a.md", &text);
        let hits = ask(&store, "lilac");
        let says = |note: &String| note.contains("more than 100000 headings");
        assert_eq!(hits.notes.iter().any(says), count > MAX_SECTIONS, "{:?}", hits.notes);
        assert_eq!((hits.freshness, hits.hits.len()), (Freshness::Fresh, 1));
        assert_eq!(store.sections("a.md", &|| false).unwrap().len(), count);
        let fresh = TestRoot::new();
        fresh.put("a.md", &text);
        let fresh = fresh.open(false);
        assert_eq!(heading(&store), heading(&fresh));
        assert_eq!(answers(&store, &["lilac"]), answers(&fresh, &["lilac"]));
    }
}

/// Words in the dictionary, whether some document holds them or not.
fn dictionary(store: &Store) -> usize {
    store.refresh(&|| false).unwrap().main.index.lexicon().words.len()
}

#[test]
fn words_that_no_document_holds_leave_the_dictionary() {
    let memory = TestRoot::new();
    let note = |n: usize, turn: usize| {
        let word = |k: usize| format!("running{turn}x{n}x{k} walk{} walks{} ", turn + k, n % 7);
        let texts: String = (0..60).map(word).collect();
        format!("# Note {n}\n\n{texts} walking walked common\n")
    };
    let store = memory.open(true);
    for turn in 0..20 {
        for n in 0..30 {
            memory.put(&format!("{n}.md"), note(n, turn));
        }
        assert_eq!(ask(&store, &format!("running{turn}x3x3")).hits.len(), 1);
        let (all, used) = (dictionary(&store), store.status(&|| false).unwrap().terms);
        assert!(all <= 8192 + 2 * used + 2000, "turn {turn}: {used} of {all}");
    }
    let queries =
        ["walk", "walks3", "walking", "running19x7x7", "run*", "common -walk25", "walkd~1"];
    store.save().unwrap();
    let fresh = TestRoot::new();
    for n in 0..30 {
        fresh.put(&format!("{n}.md"), note(n, 19));
    }
    let fresh = fresh.open(false);
    assert_eq!(dictionary(&store), dictionary(&fresh));
    assert_eq!(store.status(&|| false).unwrap().terms, dictionary(&fresh));
    assert_eq!(answers(&store, &queries), answers(&fresh, &queries));
    drop(store);
    let opened = memory.open(true);
    assert_eq!(dictionary(&opened), dictionary(&fresh));
    assert_eq!(answers(&opened, &queries), answers(&fresh, &queries));
}

/// Every way to ask for a whole text holds to the limit; a write over it needs none of it.
#[test]
fn no_text_is_read_beyond_the_limit() {
    let memory = TestRoot::new();
    fs::File::create(memory.at("huge.md")).unwrap().set_len(40 << 20).unwrap();
    let store = memory.open_with(little());
    let files = store.files();
    let is_refused = |read: Option<Error>| matches!(read, Some(Error::Memory { .. }));
    assert!(is_refused(files.read("huge.md").err()));
    let edits = [("a".to_owned(), "b".to_owned())];
    assert!(is_refused(files.patch("huge.md", &edits, Expected::Any).err()));
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.map_or(0, |line| line.trim_end_matches("kB").trim().parse::<u64>().unwrap() >> 10)
    };
    // what other tests take counts as well, so that it is told in many writes
    let before = peak();
    let written = files.write("huge.md", b"small", Expected::Any).unwrap();
    assert!(peak() < before + 30, "{before} MB, then {} MB", peak());
    assert!(is_refused(files.read_version("huge.md", written.previous.unwrap()).err()));
    assert_eq!(files.read_version("huge.md", Version::of(b"small")).unwrap(), b"small");
}

/// What has to be read again is compared with the index one document after the other, where there
/// is no memory for all of them beside it.
#[test]
fn a_large_transcript_is_read_again_without_a_copy_of_its_documents() {
    let half = "{\"content\":\"x\"}\n".repeat(60_000);
    let text = |middle: &str| format!("{half}{{\"content\":\"{middle}\"}}\n{half}");
    // there is room for some of them; for all, but not for what it takes to compare them
    for (limit, all) in [(28 << 20, false), (52 << 20, true)] {
        let memory = TestRoot::new();
        memory.put("log.jsonl", text("lilac"));
        let options = StoreOptions { memory_limit: Some(limit), ..little() };
        let store = memory.open_with(options);
        let before = ask(&store, "lilac");
        let held = messages(&store);
        assert!(!before.hits.is_empty() && held > 100_000 && (held == 120_001) == all, "{held}");
        if all {
            // what has changed is found, or said to be missing
            memory.put("log.jsonl", text("mauve"));
            assert!(files_with(&store, "lilac").is_empty());
            let hits = ask(&store, "mauve");
            assert!(hits.freshness == Freshness::Partial || !hits.hits.is_empty());
            assert!(messages(&store) > 100_000);
            continue;
        }
        let revision = store.revision(&|| false).unwrap();
        memory.put("log.jsonl", text("lilac"));
        let again = ask(&store, "lilac");
        assert_eq!((again.freshness, &again.notes), (before.freshness, &before.notes));
        assert_eq!(store.revision(&|| false).unwrap(), revision);
        assert_eq!(store.verify(&|| false).unwrap().differences, Vec::<String>::new());
        assert_eq!(messages(&store), held);
    }
}
