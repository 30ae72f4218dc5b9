//! Snapshot tests: with any snapshot, answers are those of a new build.

#![allow(missing_docs)]

mod crafted;
mod fixture;
mod system;

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::catalog::Catalog;
use commonplace_core::catalog::extract::Corpus;
use commonplace_core::catalog::snapshot::{self, LoadError};
use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::files::root::Root;
use commonplace_core::index::bm25f::Weights;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Store, StoreOptions};
use crafted::{
    ARRAYS, ARRAYS_AT, DICTIONARIES, EXTENT, HEAD, PAGED, ROWS, TOTALS, place, put, root_of,
    sealed, word,
};
use fixture::{Answers, QUERIES, TestRoot, answers, files_with, sample};

#[cfg(unix)]
use {
    commonplace_core::grep, commonplace_core::store::Freshness,
    commonplace_core::store::grep::GrepFiles, fixture::ask, std::os::unix::fs::PermissionsExt,
    std::os::unix::fs::symlink, std::path::Path,
};

/// Stamps are believed at once, so that an opening reads only what has changed.
fn options() -> StoreOptions {
    StoreOptions { clock: FsClock { racy_ns: 0, ..FsClock::default() }, ..StoreOptions::default() }
}

/// A memory with a snapshot, the snapshot, and the answers.
fn saved() -> (TestRoot, Vec<u8>, Answers) {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open_with(options());
    assert_eq!(told(&store), "built");
    let expected = answers(&store, &QUERIES);
    assert!(expected.iter().all(|hits| !hits.is_empty()), "{expected:?}");
    drop(store);
    let bytes = fs::read(memory.at(".commonplace/index")).unwrap();
    (memory, bytes, expected)
}

/// What became of the snapshot.
fn told(store: &Store) -> String {
    store.refresh(&|| false).unwrap().snapshot.clone().unwrap()
}

/// Opens a snapshot that lies in a file of its own.
fn read(bytes: &[u8], root: u64, weights: &Weights) -> Result<Catalog, LoadError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    snapshot::read(file, root, weights)
}

/// As [`read`], and looks at everything: what is wrong with a page shows then.
fn read_all(bytes: &[u8], root: u64, weights: &Weights) -> Result<(), LoadError> {
    let mut catalog = read(bytes, root, weights)?;
    // writing needs the lists, packing the rows
    let _ = snapshot::write(&catalog, root);
    catalog.repack();
    if catalog.is_damaged() { Err("it is damaged") } else { Ok(()) }
}

#[test]
fn opening_reads_the_snapshot_and_nothing_else() {
    let (memory, bytes, expected) = saved();
    let store = memory.open_with(options());
    assert_eq!(told(&store), "read");
    assert_eq!(store.refresh(&|| false).unwrap().main.reread_bytes, 0);
    assert_eq!(answers(&store, &QUERIES), expected);
    drop(store);
    assert!(fs::read(memory.at(".commonplace/index")).unwrap() == bytes, "written for nothing");
    // what changed while nobody looked
    memory.put("facts/user.md", "# User\n\nLikes maté\n");
    fs::remove_file(memory.at("detail/auth.md")).unwrap();
    let store = memory.open_with(options());
    assert_eq!(told(&store), "read");
    assert_eq!(files_with(&store, "mate").len(), 1);
    assert!(files_with(&store, "rotation").is_empty() && files_with(&store, "oolong").is_empty());
    let fresh = TestRoot::new();
    sample(&fresh);
    fresh.put("facts/user.md", "# User\n\nLikes maté\n");
    fs::remove_file(fresh.at("detail/auth.md")).unwrap();
    assert_eq!(answers(&store, &QUERIES), answers(&fresh.open(false), &QUERIES));
}

/// The sample, its root and its catalog.
fn just_built() -> (TestRoot, Root, Catalog) {
    let memory = TestRoot::new();
    sample(&memory);
    let root = Root::open(memory.at(""), false).unwrap();
    let files = root.walk("", &|| false).unwrap().files;
    let (weights, clock) = (Weights::default(), FsClock::default());
    let built = Catalog::build(&root, &files, weights, Corpus::Main, clock, &|| false);
    (memory, root, built.unwrap().0)
}

#[test]
fn what_was_just_built_is_packed() {
    let (memory, root, mut built) = just_built();
    let weights = Weights::default();
    let files = root.walk("", &|| false).unwrap().files;
    assert!(built.is_packed());
    let mut kept = read(&snapshot::write(&built, 1).unwrap(), 1, &weights).unwrap();
    assert!(!kept.is_packed(), "some of it is in the file only");
    built.repack();
    kept.repack();
    assert!(built.is_packed() && kept.is_packed());
    assert!(snapshot::write(&built, 1) == snapshot::write(&kept, 1));
    let path = files.iter().find(|(path, _)| path.ends_with(".md")).map(|(path, _)| path).unwrap();
    fs::write(memory.at(path), "# Other\n\nwords\n").unwrap();
    built.update(&root, path, &|| false).unwrap();
    assert!(!built.is_packed());
}

/// A file whose reading was broken off may have left words behind that no list is for.
#[test]
fn words_of_what_was_not_taken_in_are_not_packed() {
    let (memory, root, mut built) = just_built();
    let line = |at: usize| format!("{{\"role\":\"user\",\"content\":\"new{at} word\"}}\n");
    memory.put("long.jsonl", (0..100_000).map(line).collect::<String>());
    let asked = AtomicUsize::new(0);
    let interrupt = || asked.fetch_add(1, Ordering::Relaxed) > 2;
    assert!(built.update(&root, "long.jsonl", &interrupt).is_err());
    assert!(built.index.lexicon().words.get("new1").is_some(), "it was broken off too early");
    if !built.is_packed() {
        built.repack();
    }
    read(&snapshot::write(&built, 1).unwrap(), 1, &Weights::default()).unwrap();
}

#[test]
fn a_build_asks_before_each_file_whether_to_stop() {
    let memory = TestRoot::new();
    for n in 0..64 {
        memory.put(&format!("{n}.md"), "text\n");
    }
    let root = Root::open(memory.at(""), false).unwrap();
    let files = root.walk("", &|| false).unwrap().files;
    let asks = || {
        let (weights, clock, asked) = (Weights::default(), FsClock::default(), AtomicUsize::new(0));
        let interrupt = || asked.fetch_add(1, Ordering::Relaxed) == usize::MAX;
        Catalog::build(&root, &files, weights, Corpus::Main, clock, &interrupt).unwrap();
        asked.into_inner()
    };
    // the thread that asks nobody may have read all
    assert!((0..100).any(|_| asks() >= 32));
}

#[test]
fn a_save_can_be_broken_off_and_made_later() {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open_with(options());
    drop(store.refresh(&|| false).unwrap());
    assert!(matches!(store.save_unless(&|| true), Err(Error::Interrupted)));
    // also while it is being written
    let new = memory.at(".commonplace/index.new");
    assert!(matches!(store.save_unless(&|| new.exists()), Err(Error::Interrupted)));
    assert!(!new.exists());
    assert!(!memory.at(".commonplace/index").exists());
    store.save().unwrap();
    assert!(memory.at(".commonplace/index").exists());
}

#[test]
fn a_file_that_is_left_out_leaves_the_others_in() {
    let memory = TestRoot::new();
    sample(&memory);
    memory.put("a-first.md", b"\xff\xfen\0o\0");
    let store = memory.open_with(options());
    let expected = answers(&store, &QUERIES);
    drop(store);
    let store = memory.open_with(options());
    assert_eq!(answers(&store, &QUERIES), expected);
    assert_eq!(told(&store), "read");
}

#[test]
fn young_stamps_in_a_snapshot_are_not_believed() {
    let memory = TestRoot::new();
    sample(&memory);
    let expected = answers(&memory.open(true), &QUERIES);
    let store = memory.open(true);
    assert_eq!(told(&store), "read");
    assert!(store.refresh(&|| false).unwrap().main.reread_bytes > 0);
    assert_eq!(answers(&store, &QUERIES), expected);
}

#[test]
fn damage_is_seen() {
    let (memory, bytes, expected) = saved();
    let (root, weights) = (root_of(&bytes), Weights::default());
    assert!(read_all(&bytes, root, &weights).is_ok());
    for length in (0..bytes.len()).step_by(bytes.len() / 500 + 1).chain(0..HEAD + 9) {
        assert!(read(&bytes[..length], root, &weights).is_err(), "cut at {length}");
    }
    let mut flipped = bytes.clone();
    // what fills the arrays up to eight bytes tells nothing
    let mut used = (0..ARRAYS_AT).collect::<Vec<usize>>();
    for array in 0..ARRAYS {
        let held = place(&bytes, HEAD + array * EXTENT);
        if PAGED.contains(&array) {
            held.clone().step_by(EXTENT).for_each(|page| used.extend(place(&bytes, page)));
        }
        used.extend(held);
    }
    for flip in 0..3000 {
        let (at, bit) = (used[flip * 7919 % used.len()], flip % 8);
        flipped[at] ^= 1 << bit;
        assert!(read_all(&flipped, root, &weights).is_err(), "byte {at} bit {bit}");
        flipped[at] ^= 1 << bit;
    }
    let newer = |mut bytes: Vec<u8>| {
        bytes[8] += 1;
        bytes
    };
    let longer = |bytes: &[u8]| [bytes, b"more"].concat();
    let index = memory.at(".commonplace/index");
    for (damaged, why) in [
        (bytes[..bytes.len() / 2].to_vec(), "cut short"),
        (Vec::new(), "cut short"),
        (longer(&bytes), "cut short"),
        (newer(bytes.clone()), "another version"),
        (vec![0; 4096], "not an index of commonplace"),
        ([&bytes[..500], &[!bytes[500]], &bytes[501..]].concat(), "damaged"),
        (lost_pages(&bytes), "damaged"),
    ] {
        fs::write(&index, damaged).unwrap();
        let store = memory.open_with(options());
        assert_eq!(answers(&store, &QUERIES), expected);
        assert!(told(&store).contains(why), "{}", told(&store));
        drop(store);
        assert!(read_all(&fs::read(&index).unwrap(), root, &weights).is_ok(), "not mended: {why}");
    }
    // a file of zeros takes no room on disk, and must take none in memory
    fs::File::create(&index).unwrap().set_len(1 << 40).unwrap();
    assert!(told(&memory.open_with(options())).contains("larger"));
    let other = StoreOptions { weights: Weights { k1: 0.9, ..Weights::default() }, ..options() };
    assert!(told(&memory.open_with(other)).contains("weights"));
}

/// The checksum holds, but what it holds for does not fit together.
#[test]
fn crafted_snapshots_are_refused() {
    let (_memory, bytes, _) = saved();
    let (root, weights) = (root_of(&bytes), Weights::default());
    for array in 0..ARRAYS {
        let extent = HEAD + array * EXTENT;
        let (start, length) = (word(&bytes, extent), word(&bytes, extent + 8));
        let lies = [0, 1, 7, length + 8, length.saturating_sub(8), 1 << 40, u64::MAX - 3, u64::MAX];
        for lie in lies.into_iter().filter(|&lie| lie != length) {
            let mut crafted = bytes.clone();
            put(&mut crafted, extent + 8, lie);
            let verdict = read(&sealed(crafted), root, &weights);
            assert!(verdict.is_err(), "array {array} of {length} said to be {lie}");
        }
        let mut crafted = bytes.clone();
        put(&mut crafted, extent, start ^ (1 << 50));
        assert!(read(&sealed(crafted), root, &weights).is_err(), "array {array} elsewhere");
    }
    for array in PAGED {
        for lie in [1 << 62, u64::MAX] {
            let mut crafted = bytes.clone();
            put(&mut crafted, place(&bytes, HEAD + array * EXTENT).start + 8, lie);
            assert!(read(&sealed(crafted), root, &weights).is_err(), "a page of {array}: {lie}");
        }
    }
    // totals that are not those of the documents; a page that lies where the one before it does
    for array in TOTALS {
        let mut crafted = bytes.clone();
        let at = place(&bytes, HEAD + array * EXTENT).start;
        put(&mut crafted, at, word(&bytes, at) + 1);
        assert!(read(&sealed(crafted), root, &weights).is_err(), "totals of array {array}");
    }
    let pages = PAGED.map(|array| place(&bytes, HEAD + array * EXTENT));
    let several = pages.iter().find(|pages| pages.len() > EXTENT).expect("more than one page");
    let mut crafted = bytes.clone();
    crafted.copy_within(several.start..several.start + EXTENT, several.start + EXTENT);
    assert!(read(&sealed(crafted), root, &weights).is_err(), "two pages in one place");
    // some lies do no harm: a line number, a time
    let lie_at = |at: usize| {
        for lie in [u32::MAX, 1 << 30] {
            let mut crafted = bytes.clone();
            crafted[at..at + 4].copy_from_slice(&lie.to_le_bytes());
            if let Ok(catalog) = read(&sealed(crafted), root, &weights) {
                let rows = (0..catalog.docs.len()).map(|at| catalog.docs[at]);
                let held = |row: commonplace_core::catalog::DocMeta| {
                    catalog.labels.text(row.trail);
                    &catalog.files[row.file as usize]
                };
                rows.for_each(|row| assert!(held(row).present));
            }
        }
    };
    // dictionaries; rows, paths, stamps, counts
    for array in DICTIONARIES.chain(ROWS..ARRAYS) {
        let held = place(&bytes, HEAD + array * EXTENT);
        (held.start..held.end.saturating_sub(3)).step_by(4).for_each(lie_at);
    }
    let row_pages = place(&bytes, HEAD + ROWS * EXTENT);
    row_pages.step_by(EXTENT).flat_map(|page| place(&bytes, page).step_by(4)).for_each(lie_at);
}

/// Damages every page, so that the first query meets one.
fn lost_pages(bytes: &[u8]) -> Vec<u8> {
    let mut lost = bytes.to_vec();
    for array in PAGED {
        for page in place(bytes, HEAD + array * EXTENT).step_by(EXTENT) {
            lost[place(bytes, page).start] ^= 1;
        }
    }
    lost
}

/// What a snapshot is cut down to while it is in use, and what is written over it, is not believed.
#[test]
fn a_snapshot_that_changes_under_us_is_noticed() {
    let (memory, bytes, expected) = saved();
    let index = memory.at(".commonplace/index");
    let cut: &dyn Fn() = &|| fs::write(&index, &bytes[..ARRAYS_AT]).unwrap();
    let overwritten: &dyn Fn() = &|| fs::write(&index, vec![7; bytes.len()]).unwrap();
    for change in [cut, overwritten] {
        fs::write(&index, &bytes).unwrap();
        let store = memory.open_with(options());
        assert_eq!(told(&store), "read");
        change();
        assert_eq!(answers(&store, &QUERIES), expected);
        assert!(told(&store).contains("damaged"), "{}", told(&store));
        drop(store);
        assert!(read_all(&fs::read(&index).unwrap(), root_of(&bytes), &Weights::default()).is_ok());
    }
    // saving needs all of it, and finds the damage too
    fs::write(&index, &bytes).unwrap();
    let store = memory.open_with(options());
    overwritten();
    memory.put("facts/long.md", "# Long\n\n".to_owned() + &"tea and more tea\n".repeat(3000));
    drop(store.refresh(&|| false).unwrap());
    store.save().unwrap();
    assert_eq!(files_with(&store, "oolong").len(), 1);
}

// it is copied by `cp`
#[cfg(unix)]
#[test]
fn a_copied_root_is_another_root() {
    let (memory, _, expected) = saved();
    let copy = memory.outside().join("copy");
    let done = std::process::Command::new("cp").arg("-a").arg(memory.root()).arg(&copy).status();
    assert!(done.unwrap().success());
    let store = Store::open(copy.to_str().unwrap(), options()).unwrap();
    assert!(told(&store).contains("another root"), "{}", told(&store));
    assert_eq!(answers(&store, &QUERIES), expected);
    drop(store);
    // a root that only changed its name is the same root
    fs::rename(memory.root(), memory.outside().join("moved")).unwrap();
    let moved = memory.outside().join("moved");
    let store = Store::open(moved.to_str().unwrap(), options()).unwrap();
    assert_eq!(told(&store), "read");
}

// to make a link takes a right on Windows that few users have
#[cfg(unix)]
#[test]
fn without_a_place_for_it_the_index_is_in_memory() {
    let memory = TestRoot::new();
    sample(&memory);
    let outside = memory.outside().join("out");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("index"), "CANARY").unwrap();
    symlink(&outside, memory.at(".commonplace")).unwrap();
    let expected = {
        let store = memory.open(true);
        assert!(told(&store).contains("symlink"), "{}", told(&store));
        assert!(store.save().is_err());
        answers(&store, &QUERIES)
    };
    assert!(expected.iter().all(|hits| !hits.is_empty()));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("index")).unwrap(), b"CANARY");
    fs::remove_file(memory.at(".commonplace")).unwrap();
    fs::write(memory.at(".commonplace"), "a file").unwrap();
    assert_eq!(answers(&memory.open(false), &QUERIES), expected);
    // a link in the place of the file that is being written
    fs::remove_file(memory.at(".commonplace")).unwrap();
    fs::create_dir(memory.at(".commonplace")).unwrap();
    symlink(outside.join("index"), memory.at(".commonplace/index.new")).unwrap();
    symlink(outside.join("index"), memory.at(".commonplace/index")).unwrap();
    let store = memory.open(false);
    assert!(told(&store).contains("symlink"), "{}", told(&store));
    store.save().unwrap();
    assert_eq!(fs::read(outside.join("index")).unwrap(), b"CANARY");
    drop(store);
    assert_eq!(told(&memory.open(false)), "read");
}

// Windows knows no mode
#[cfg(unix)]
fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs without root's power to read and write everything.
#[cfg(unix)]
fn as_nobody(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = || {
            if rustix::process::geteuid().is_root() {
                system::become_nobody();
            }
            run();
        };
        scope.spawn(run).join().unwrap();
    });
}

#[cfg(unix)]
#[test]
fn a_root_that_can_only_be_read_answers() {
    for watch in [true, false] {
        let memory = TestRoot::new();
        sample(&memory);
        memory.put("closed/in.md", "behind the door\n");
        memory.put("facts/.user.md.0123.swap", "left behind\n");
        chmod(memory.outside(), 0o755);
        chmod(&memory.at("facts/user.md"), 0o000);
        chmod(&memory.at("closed"), 0o000);
        chmod(&memory.root(), 0o555);
        as_nobody(|| {
            let store = memory.open(watch);
            let answer = ask(&store, "rotation");
            assert_eq!((answer.hits.is_empty(), answer.freshness), (false, Freshness::Partial));
            assert!(answer.notes.iter().any(|note| note.contains("user.md")), "{:?}", answer.notes);
            assert!(store.save().is_err() && !memory.at(".commonplace").exists());
            assert!(answer.notes.iter().any(|note| note.contains("closed")), "{:?}", answer.notes);
            let grep = grep::GrepOptions { pattern: "rotation".to_owned(), ..Default::default() };
            let mut across = GrepFiles::new(&store, grep, &|| false).unwrap();
            while across.next_batch(&store, &|| false).unwrap().is_some() {}
            let notes = &across.summary.notes;
            assert!(notes.iter().any(|note| note.contains("closed")), "{notes:?}");
            let skipped = store.status(&|| false).unwrap().skipped;
            assert!(skipped.contains(&("closed".into(), "perm".into())), "{skipped:?}");
            let verified = store.verify(&|| false).unwrap();
            assert_eq!(verified.differences, Vec::<String>::new());
            let unread = ["user.md", "closed"]
                .map(|name| verified.unread.iter().filter(move |why| why.contains(name)).count());
            assert_eq!(unread, [1, 1], "{:?}", verified.unread);
        });
        // whoever may read sees it all again, in the same store
        let store = memory.open(watch);
        chmod(&memory.at("closed"), 0o755);
        chmod(&memory.at("facts/user.md"), 0o644);
        assert_eq!(files_with(&store, "oolong").len(), 1);
        assert_eq!(files_with(&store, "door").len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn permissions_that_come_and_go_are_followed() {
    for watch in [true, false] {
        let memory = TestRoot::new();
        sample(&memory);
        memory.put("closed/in.md", "behind the door\n");
        chmod(memory.outside(), 0o755);
        chmod(&memory.root(), 0o777);
        let (ready, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait = |flag: &AtomicBool| {
            while !flag.swap(false, Ordering::SeqCst) {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                as_nobody(|| {
                    let store = memory.open(watch);
                    let found = |word: &str| files_with(&store, word).len();
                    assert_eq!((found("door"), found("oolong")), (1, 1));
                    for _ in 0..2 {
                        ready.store(true, Ordering::SeqCst);
                        wait(&done);
                        assert_eq!((found("door"), found("oolong")), (0, 0));
                        assert_eq!(ask(&store, "tea").freshness, Freshness::Partial);
                        ready.store(true, Ordering::SeqCst);
                        wait(&done);
                        assert_eq!((found("door"), found("oolong")), (1, 1));
                        assert_eq!(ask(&store, "tea").freshness, Freshness::Fresh);
                    }
                })
            });
            for mode in [0o000, 0o755, 0o000, 0o755] {
                wait(&ready);
                chmod(&memory.at("closed"), mode);
                chmod(&memory.at("facts/user.md"), mode);
                done.store(true, Ordering::SeqCst);
            }
        });
    }
}

#[test]
fn what_a_dead_writer_left_is_found_at_opening() {
    let memory = TestRoot::new();
    memory.put("facts/user.md", "# User\n");
    memory.put("facts/.user.md.0123.swap", "# User\nhuman words\n");
    let store = memory.open(false);
    let recovered = store.refresh(&|| false).unwrap().recovered.clone();
    assert_eq!(recovered.len(), 1);
    let found: Vec<String> = files_with(&store, "human").into_iter().collect();
    assert_eq!(found, recovered);
}

#[test]
fn saving_and_searching_at_the_same_time() {
    let memory = TestRoot::new();
    sample(&memory);
    let stores = [memory.open(true), memory.open(true)];
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for round in 0..15 {
                    memory.put(
                        "facts/user.md",
                        format!("# User\nround{round} {}\n", "tea ".repeat(4000)),
                    );
                    store.save().unwrap();
                }
            });
            scope.spawn(|| {
                for round in 0..15 {
                    for n in 0..20 {
                        memory.put(&format!("many/{n}.md"), format!("filler {round}\n"));
                    }
                    let request =
                        SearchRequest { query: "tea".into(), limit: 5, ..SearchRequest::default() };
                    store.search(&request, &|| false).unwrap();
                }
            });
        }
    });
    drop(stores);
    assert_eq!(told(&memory.open(true)), "read");
    let names = fs::read_dir(memory.at(".commonplace")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    let ours = ["index", "lock", ".gitignore"];
    assert!(names.iter().all(|name| ours.iter().any(|own| name == own)), "{names:?}");
}

#[test]
fn who_saves_waits_for_readers_without_the_lock_of_the_root() {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open(true);
    let reader = store.refresh(&|| false).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| store.save_unless(&|| stop.load(Ordering::SeqCst)));
        std::thread::sleep(Duration::from_millis(100));
        let started = Instant::now();
        let other = memory.open(true);
        let written = other.files().write("other.md", b"# Other\n", Expected::Any);
        let waited = started.elapsed();
        stop.store(true, Ordering::SeqCst);
        assert!(saving.join().unwrap().is_err());
        written.unwrap();
        assert!(waited < Duration::from_secs(4), "{waited:?}");
    });
    drop(reader);
    store.save().unwrap();
    assert!(memory.at(".commonplace/index").exists());
}

#[test]
fn an_opening_waits_for_no_other_writer_and_what_was_left_is_found_after_it() {
    let memory = TestRoot::new();
    memory.put("facts/user.md", "# User\n");
    memory.open(false).files().write("facts/other.md", b"# Other\n", Expected::Any).unwrap();
    memory.put("facts/.user.md.0123.swap", "# User\nhuman words\n");
    let lock = File::open(memory.at(".commonplace/lock")).unwrap();
    lock.lock().unwrap();
    let (store, started) = (memory.open(false), Instant::now());
    drop(store.refresh(&|| false).unwrap());
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    drop(lock);
    // a reader looks once a second
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(files_with(&store, "human").len(), 1);
}
