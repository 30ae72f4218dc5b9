//! Refresh tests: the next call sees each change, with notifications and by stat data alone.

#![allow(missing_docs)]

mod fixture;
mod hostile;
mod system;

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
#[cfg(unix)]
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::verify::Verified;
use commonplace_core::store::{Freshness, Store, StoreOptions};
use fixture::{TestRoot, ask, both_ways, files_with, overwrite, paths, set_modified};
use system::has_watch;

#[test]
fn a_store_is_watching_where_the_system_can() {
    for watch in [true, false] {
        assert_eq!(TestRoot::new().open(watch).is_watching(), watch && has_watch());
    }
}

#[test]
fn edits_in_place_and_by_rename() {
    both_ways(|memory, store| {
        memory.put("facts/user.md", "# User\nnewer words\n");
        assert_eq!(paths(store, "newer"), ["facts/user.md"]);
        assert!(paths(store, "older").is_empty());
        fs::write(memory.at(".user.md.tmp"), "# User\nrenamed words\n").unwrap();
        fs::rename(memory.at(".user.md.tmp"), memory.at("facts/user.md")).unwrap();
        assert_eq!(paths(store, "renamed"), ["facts/user.md"]);
        fs::remove_file(memory.at("facts/user.md")).unwrap();
        assert!(paths(store, "renamed").is_empty());
        memory.put("facts/user.md", "# User\nreborn\n");
        assert_eq!(paths(store, "reborn"), ["facts/user.md"]);
        File::create(memory.at("facts/user.md")).unwrap();
        assert!(paths(store, "reborn").is_empty());
        assert_eq!(ask(store, "reborn").freshness, Freshness::Fresh);
    });
}

#[test]
fn what_is_shown_is_what_is_there_now() {
    both_ways(|memory, store| {
        let shown = |word: &str| -> Vec<(String, String, String)> {
            let hits = ask(store, word).hits.into_iter();
            hits.map(|h| (h.path.clone(), h.passage().snippet.clone(), h.text)).collect()
        };
        let is = |path: &str, text: &str| {
            vec![(path.to_owned(), text.trim_end().replace("# User\n", "…"), text.to_owned())]
        };
        for turn in 0..20 {
            // of one length, so that only what was read tells them apart
            let text = format!("# User\nolder words {turn:02}\n");
            memory.put("facts/user.md", &text);
            assert_eq!(shown("older"), is("facts/user.md", &text));
            // kept from now on
            assert_eq!(shown("older"), is("facts/user.md", &text));
        }
        let text = "# User\nolder words 19\n";
        fs::rename(memory.at("facts/user.md"), memory.at("facts/moved.md")).unwrap();
        assert_eq!(shown("older"), is("facts/moved.md", text));
        memory.put("facts/moved.md", "A line above.\n# User\nolder words 19\n");
        assert_eq!(shown("older"), is("facts/moved.md", text));
        fs::remove_file(memory.at("facts/moved.md")).unwrap();
        assert_eq!(shown("older"), []);
    });
}

#[test]
fn stamps_that_lie() {
    both_ways(|memory, store| {
        let note = memory.at("facts/user.md");
        let year = |years: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(years * 31_557_600);
        // an older file is moved in
        let old = memory.outside().join("old");
        fs::write(&old, "# User\nancient words\n").unwrap();
        set_modified(&old, year(31));
        fs::rename(&old, &note).unwrap();
        assert_eq!(paths(store, "ancient"), ["facts/user.md"]);
        // the same size, and the same time of the text
        let modified = fs::metadata(&note).unwrap().modified().unwrap();
        overwrite(&note, 7, b"renewed");
        set_modified(&note, modified);
        assert_eq!(paths(store, "renewed"), ["facts/user.md"]);
        for time in [year(129), year(0)] {
            set_modified(&note, time);
            overwrite(&note, 7, b"rewoven");
            set_modified(&note, time);
            assert_eq!(paths(store, "rewoven"), ["facts/user.md"]);
            overwrite(&note, 7, b"renewed");
            set_modified(&note, time);
            assert!(paths(store, "rewoven").is_empty());
        }
    });
}

#[test]
fn folders_come_and_go() {
    both_ways(|memory, store| {
        let (deep, away) = (memory.at("deep"), memory.outside().join("away"));
        fs::rename(&deep, &away).unwrap();
        assert!(paths(store, "submarine").is_empty());
        fs::write(away.join("a/b/c.md"), "# Deep\nbathyscaphe\n").unwrap();
        assert!(paths(store, "bathyscaphe").is_empty());
        fs::rename(&away, &deep).unwrap();
        assert_eq!(paths(store, "bathyscaphe"), ["deep/a/b/c.md"]);
        // there and back between two calls, and then an edit in it
        fs::rename(&deep, memory.at("other")).unwrap();
        fs::rename(memory.at("other"), &deep).unwrap();
        assert_eq!(paths(store, "bathyscaphe"), ["deep/a/b/c.md"]);
        memory.put("deep/a/b/c.md", "# Deep\nanglerfish\n");
        assert_eq!(paths(store, "anglerfish"), ["deep/a/b/c.md"]);
        // a name that another folder had
        fs::rename(memory.at("deep/a"), memory.at("deep/z")).unwrap();
        fs::create_dir(memory.at("deep/a")).unwrap();
        memory.put("deep/a/new.md", "anglerfish too\n");
        memory.put("deep/z/b/c.md", "anglerfish three\n");
        assert_eq!(paths(store, "anglerfish"), ["deep/a/new.md", "deep/z/b/c.md"]);
        memory.put("n/e/s/t/e/d.md", "matryoshka\n");
        assert_eq!(paths(store, "matryoshka"), ["n/e/s/t/e/d.md"]);
        memory.put("n/e/s/t/two.md", "matryoshka\n");
        assert_eq!(paths(store, "matryoshka").len(), 2);
        fs::remove_dir_all(memory.at("n")).unwrap();
        assert!(paths(store, "matryoshka").is_empty());
        // a file where a folder was, and hidden folders
        memory.put("n", "no markdown");
        memory.put(".hidden/x.md", "matryoshka\n");
        assert!(paths(store, "matryoshka").is_empty());
        fs::rename(memory.at(".hidden"), memory.at("shown")).unwrap();
        assert_eq!(paths(store, "matryoshka"), ["shown/x.md"]);
        fs::rename(memory.at("shown"), memory.at(".hidden")).unwrap();
        assert!(paths(store, "matryoshka").is_empty());
        fs::rename(memory.root(), memory.outside().join("moved")).unwrap();
        fs::write(memory.outside().join("moved/deep/z/b/c.md"), "viperfish\n").unwrap();
        assert_eq!(paths(store, "viperfish"), ["deep/z/b/c.md"]);
    });
}

#[test]
fn a_checkout_of_many_files() {
    both_ways(|memory, store| {
        let branch = |word: &str, count: usize| {
            for n in 0..count {
                memory.put(&format!("src/d{}/f{n}.md", n % 80), format!("# F{n}\n{word} f{n}x\n"));
            }
        };
        branch("trunkword", 400);
        assert_eq!(paths(store, "trunkword").len(), 400);
        branch("branchword", 390);
        assert_eq!(paths(store, "branchword").len(), 390);
        assert_eq!(paths(store, "trunkword").len(), 10);
        fs::remove_dir_all(memory.at("src")).unwrap();
        assert!(paths(store, "trunkword").is_empty());
        assert_eq!(paths(store, "older").len(), 1);
    });
}

// the other process is `sh`
#[cfg(unix)]
#[test]
fn other_stores_and_other_processes() {
    both_ways(|memory, store| {
        for watch in [true, false] {
            let other = memory.open(watch);
            other.files().write("facts/new.md", b"platypus\n", Expected::Any).unwrap();
            assert_eq!(paths(store, "platypus"), ["facts/new.md"]);
            assert_eq!(paths(&other, "platypus"), ["facts/new.md"]);
            store.files().delete("facts/new.md", Expected::Any).unwrap();
            assert!(paths(&other, "platypus").is_empty());
        }
        let script = "printf 'echidna\\n' > facts/sh.md && printf '{\"content\":\"echidna\"}\\n' >> log.jsonl";
        let done = Command::new("sh").args(["-c", script]).current_dir(memory.root()).status();
        assert!(done.unwrap().success());
        assert_eq!(paths(store, "echidna"), ["facts/sh.md", "log.jsonl"]);
    });
}

/// Packing numbers the words anew; what was kept between queries must not outlive that.
#[test]
fn patterns_after_a_packing() {
    let memory = TestRoot::new();
    memory.put("a.md", (0..9000).map(|n| format!("early{n}x ")).collect::<String>());
    memory.put("b.md", "prefixold\n");
    let store = memory.open(true);
    assert_eq!(paths(&store, "prefix*"), ["b.md"]);
    fs::remove_file(memory.at("a.md")).unwrap();
    let packings = || store.refresh(&|| false).unwrap().main.packings;
    let before = packings();
    let line = |n| format!("{{\"content\":\"new{n}x newer{n}x\"}}\n");
    let lines =
        "{\"content\":\"prefixnew\"}\n".to_owned() + &(0..6000).map(line).collect::<String>();
    memory.put("log.jsonl", lines);
    assert_eq!(paths(&store, "prefix*"), ["b.md", "log.jsonl"]);
    assert!(packings() > before);
}

/// It goes on when the caller leaves; the next call waits for it, and nothing is lost.
#[test]
fn a_packing_that_was_left_is_finished_by_the_next_call() {
    let memory = TestRoot::new();
    let words = |n: usize| (0..9).map(move |k| format!("w{}x{k} ", n * (k + 7) % 9973));
    let line = |n| format!("{{\"content\":\"{}\"}}\n", words(n).collect::<String>());
    memory.put("log.jsonl", (0..30_000).map(line).collect::<String>());
    let store = memory.open(true);
    let whole = ask(&store, "w7x0").hits.len();
    memory.put("a.md", "quokka w7x0\n");
    assert_eq!(paths(&store, "quokka"), ["a.md"]);
    // asked before it packs, and while it does: not only when the snapshot is written
    let (asked, written) = (AtomicUsize::new(0), AtomicBool::new(false));
    let left = store.save_unless(&|| {
        written.fetch_or(memory.at(".commonplace/index.new").exists(), Ordering::Relaxed);
        asked.fetch_add(1, Ordering::Relaxed) > 0
    });
    assert!(matches!(left, Err(Error::Interrupted)), "{left:?}");
    assert!(!written.into_inner());
    assert!(!memory.at(".commonplace/index").exists());
    // a change that comes meanwhile is not lost either
    memory.put("b.md", "quokka\n");
    assert_eq!(paths(&store, "quokka"), ["a.md", "b.md"]);
    assert_eq!(ask(&store, "w7x0").hits.len(), whole + 1);
    assert_eq!(store.refresh(&|| false).unwrap().main.packings, 1);
    store.save().unwrap();
    assert!(memory.at(".commonplace/index").exists());
}

#[test]
fn an_interrupted_refresh_is_completed_by_the_next() {
    both_ways(|memory, store| {
        memory.put("facts/user.md", "# User\nnewer words\n");
        memory.put("facts/two.md", "platypus\n");
        let request =
            SearchRequest { query: "platypus".into(), limit: 9, ..SearchRequest::default() };
        assert!(matches!(store.search(&request, &|| true), Err(Error::Interrupted)));
        assert_eq!(paths(store, "platypus"), ["facts/two.md"]);
        assert_eq!(paths(store, "newer"), ["facts/user.md"]);
        assert_eq!(ask(store, "newer").freshness, Freshness::Fresh);
    });
}

#[test]
fn an_interrupt_is_asked_only_once() {
    let memory = TestRoot::new();
    for n in 0..300 {
        memory.put(&format!("f{n}.md"), "text\n");
    }
    let root = memory.root();
    let mut stopped = 0;
    for at in 0..12 {
        let asked = AtomicU32::new(0);
        let once = || asked.fetch_add(1, Ordering::Relaxed) == at;
        let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).unwrap();
        if let Err(error) = store.refresh(&once) {
            assert!(matches!(error, Error::Interrupted), "{error}");
            stopped += 1;
        }
        assert_eq!(files_with(&store, "text").len(), 300, "asked at {at}");
        drop(store);
        let _ = fs::remove_dir_all(memory.at(".commonplace"));
    }
    assert!(stopped > 0);
}

#[test]
fn what_cannot_be_indexed_is_listed_and_named() {
    both_ways(|memory, store| {
        let utf16: Vec<u8> = "\u{feff}# hello".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for _ in 0..3 {
            memory.put("wide.md", &utf16);
            File::create(memory.at("huge.md")).unwrap().set_len(300 << 20).unwrap();
            memory.put("linked.md", "platypus\n");
            let _ = fs::hard_link(memory.at("linked.md"), memory.at("again.md"));
            let status = store.status(&|| false).unwrap();
            let named = |path: &str| {
                let named = status.skipped.iter().filter(|(skipped, _)| skipped == path);
                named.map(|(_, why)| why.clone()).collect::<Vec<_>>()
            };
            assert_eq!(named("wide.md"), ["encoding"]);
            let notes = ask(store, "platypus").notes;
            assert!(notes.iter().any(|note| note.contains("wide.md") && note.contains("UTF-16")));
            let added = store.files().append("wide.md", b"more", Expected::Any);
            assert!(matches!(added, Err(Error::Format { .. })));
            assert_eq!(named("huge.md"), ["large"]);
            assert_eq!(named("again.md"), ["hardlink"]);
        }
        let listed = store.list("", &|| false).unwrap();
        let size = |path: &str| listed.iter().find(|e| e.path == path).map(|e| e.size);
        assert_eq!(size("wide.md"), Some(utf16.len() as u64));
        assert_eq!(size("huge.md"), Some(300 << 20));
        memory.put("wide.md", "narrow again\n");
        assert_eq!(paths(store, "narrow"), ["wide.md"]);
        assert!(paths(store, "hello").len() == 1);
    });
}

#[test]
fn the_first_search_waits_for_no_writer() {
    let memory = TestRoot::new();
    memory.put("note.md", "# Note\nplatypus\n");
    drop(memory.open(true));
    memory.put(".note.md.0123.swap", "what a writer is about to show\n");
    fs::create_dir_all(memory.at(".commonplace")).unwrap();
    let lock = File::create(memory.at(".commonplace/lock")).unwrap();
    lock.lock().unwrap();
    let begun = Instant::now();
    let store = memory.open(true);
    assert_eq!(paths(&store, "platypus"), ["note.md"]);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(memory.at(".note.md.0123.swap").exists());
}

#[cfg(unix)]
const OWN_CASES: &str = r#"[
 {"kind":"fs","value":"facts/user.md","setup":"touch -d 2099-01-01 \"$R/facts/user.md\"","expect":"ok:reindex"},
 {"kind":"fs","value":"facts/user.md","setup":"rm \"$R/facts/user.md\"; printf \"other\\n\" > \"$R/facts/user.md\"","expect":"ok:reindex"}
]"#;

/// Every way in which `hostile.json` changes a file behind the index's back.
// they are made by `sh`
#[cfg(unix)]
#[test]
fn hostile_changes() {
    let mut checked = 0;
    for case in hostile::cases(&["fs"], OWN_CASES).iter().filter(|c| c.expect == "ok:reindex") {
        for watch in [true, false] {
            let memory = TestRoot::new();
            memory.put("facts/user.md", "# User\nlikes tea\n");
            let store = memory.open(watch);
            assert_eq!(paths(&store, "tea"), ["facts/user.md"]);
            let done = Command::new("sh")
                .args(["-c", &case.setup])
                .current_dir(memory.outside())
                .env("T", memory.outside())
                .env("R", memory.root())
                .env("O", memory.outside())
                .status();
            assert!(done.unwrap().success(), "{}", case.setup);
            let text = fs::read_to_string(memory.at("facts/user.md")).unwrap();
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2) {
                assert_eq!(paths(&store, word), ["facts/user.md"], "{word}: {}", case.setup);
            }
            assert_eq!(paths(&store, "tea").len(), usize::from(text.contains("tea")));
            checked += 1;
        }
    }
    assert!(checked >= 4);
}

/// All that is indexed of a note: heading, first and last line, bytes.
type Shown = Vec<(Vec<String>, u64, u64, u64, u64)>;

fn shown(store: &Store, path: &str) -> Shown {
    let hits = store.documents(path, &|| false).unwrap().into_iter();
    hits.map(|h| (h.heading, h.first_line, h.end_line, h.start, h.end)).collect()
}

#[test]
fn a_note_that_is_edited_again_and_again_is_as_if_read_for_the_first_time() {
    let memory = TestRoot::new();
    let mut blocks: Vec<String> = (0..15)
        .map(|n| format!("{} Head {n}\n\nword{n} and more\n\n", "#".repeat(1 + n % 3)))
        .collect();
    memory.put("a.md", blocks.concat());
    let store = memory.open(true);
    let edits = [
        "a new line\n",
        "```\n",
        "```\n",
        "> quote\n",
        "# Other\n",
        "- Category: x\n",
        "<!--\n",
        "-->\n",
        "[a]: b\n",
        "## see [a]\n",
        "",
    ];
    for (turn, edit) in edits.iter().cycle().take(60).enumerate() {
        let at = turn * 17 % blocks.len();
        match turn % 4 {
            0 => blocks.insert(at, (*edit).to_owned()),
            1 => blocks[at] += edit,
            2 => blocks[at] = format!("{edit}new{turn} words\n\n"),
            _ => drop(blocks.remove(at)),
        }
        memory.put("a.md", blocks.concat());
        let other = memory.open(false);
        assert_eq!(shown(&store, "a.md"), shown(&other, "a.md"), "{turn}");
        for word in ["more", "words", "head", "new2", "x"] {
            assert_eq!(ask(&store, word), ask(&other, word), "{turn} {word}");
        }
    }
    // what is read whole does not differ either
    assert_eq!(store.verify(&|| false).unwrap(), Verified { files: 1, ..Verified::default() });
}

#[test]
fn verify_reports_no_concurrent_write_but_what_the_index_missed() {
    for watch in [true, false] {
        let memory = TestRoot::new();
        for number in 0..60 {
            memory.put(&format!("n/{number}.md"), format!("# N\nword{number}\n"));
        }
        memory.put("log.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
        let store = memory.open(watch);
        assert_eq!(files_with(&store, "word7").len(), 1);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let number = turn % 60;
                    memory.put(&format!("n/{number}.md"), format!("# N\nword{number} {turn}\n"));
                    // a log that grows for as long as it is compared takes ever longer to compare
                    if turn < 3_000 {
                        let log = OpenOptions::new().append(true).open(memory.at("log.jsonl"));
                        let line = format!("{{\"role\":\"user\",\"content\":\"turn{turn}\"}}\n");
                        log.unwrap().write_all(line.as_bytes()).unwrap();
                    }
                    let _ = fs::remove_file(memory.at("gone.md"));
                    memory.put("gone.md", "# Gone\nsoon\n");
                }
            });
            let found: Vec<_> =
                (0..15).flat_map(|_| store.verify(&|| false).unwrap().differences).collect();
            over.store(true, Ordering::Relaxed);
            assert_eq!(found, Vec::<String>::new(), "watch: {watch}");
        });
        assert_eq!(store.verify(&|| false).unwrap().differences, Vec::<String>::new());
        memory.put("n/last.md", "# Last\nplatypus\n");
        assert_eq!(paths(&store, "platypus"), ["n/last.md"]);
    }
}

/// A folder tells nothing of what is written through a name in another one.
#[test]
fn verify_tells_a_write_that_is_reported_late_from_one_that_was_missed() {
    let memory = TestRoot::new();
    memory.put("note.md", "# Note\nolder\n");
    let store = memory.open(true);
    assert_eq!(paths(&store, "older"), ["note.md"]);
    let other = memory.outside().join("other");
    fs::hard_link(memory.at("note.md"), &other).unwrap();
    let unseen = OpenOptions::new().write(true).open(&other).unwrap();
    fs::remove_file(other).unwrap();
    let write = |text: &str| {
        (&unseen).seek(SeekFrom::Start(7)).unwrap();
        (&unseen).write_all(text.as_bytes()).unwrap();
    };
    let asked = AtomicU32::new(0);
    let late = || {
        // longer than the coarsest clock of a kernel ticks
        std::thread::sleep(Duration::from_millis(20));
        write(&format!("new{:03}", asked.fetch_add(1, Ordering::Relaxed)));
        false
    };
    assert_eq!(store.verify(&late).unwrap().differences, Vec::<String>::new());
    assert!(asked.into_inner() > 2);
    write("again!");
    let missed = store.verify(&|| false).unwrap().differences;
    let known = ["note.md: the index did not hold its text"];
    // stamps show it in time
    assert_eq!(missed, if has_watch() { &known[..] } else { &[] });
    assert_eq!(paths(&store, "again"), ["note.md"]);
}

#[test]
fn verify_takes_no_file_that_is_written_twice_for_one_that_was_misread() {
    both_ways(|memory, store| {
        let texts = ["# User\nolder words\n", "# User\n"];
        // nothing is called between the two looks in which a test could write: so another thread does
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in (0..2).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    memory.put("facts/user.md", texts[turn]);
                }
            });
            let differences = (0..300).flat_map(|_| store.verify(&|| false).unwrap().differences);
            let differences: Vec<String> = differences.collect();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(differences, Vec::<String>::new());
        });
        memory.put("facts/user.md", texts[0]);
        assert_eq!(files_with(store, "older").len(), 1);
    });
}

#[test]
fn a_change_is_found_after_the_call_that_was_told_of_it_has_stopped() {
    both_ways(|memory, store| {
        let reader = store.refresh(&|| false).unwrap();
        memory.put("facts/user.md", "# User\nnewer words\n");
        // the index is being read, so that the call waits until it is stopped
        assert!(matches!(store.refresh(&|| true), Err(Error::Interrupted)));
        drop(reader);
        assert_eq!(paths(store, "newer"), ["facts/user.md"]);
        assert_eq!(ask(store, "newer").freshness, Freshness::Fresh);
    });
}
