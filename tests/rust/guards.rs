//! Tests against planted files, concurrent changes, exhausted resources and queue overflows.
//!
//! What is planted here (FIFOs, links, files without rights) and what makes it (`sh`) is of Unix.

#![cfg(unix)]
#![allow(missing_docs, clippy::print_stdout)]

mod fixture;
mod strace;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime};

use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use commonplace_core::files::lock::{LOCK_TIMEOUT, Lock};
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::files::root::{Root, Stat};
use commonplace_core::store::{Freshness, Store, StoreOptions};
use fixture::{QUERIES, TestRoot, answers, ask, files_with, overwrite, sample, set_modified};

fn never() -> bool {
    false
}

#[test]
fn a_fifo_does_not_block() {
    let memory = TestRoot::new();
    for path in ["pipe.md", "pipe.jsonl"] {
        assert!(Command::new("mkfifo").arg(memory.at(path)).status().unwrap().success());
    }
    let store = memory.open(false);
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for path in ["pipe.md", "pipe.jsonl"] {
            tell.send(matches!(store.root().read(path), Err(Error::Refused { .. }))).unwrap();
        }
    });
    for _ in 0..2 {
        let refused = told.recv_timeout(Duration::from_secs(5));
        assert_eq!(refused, Ok(true), "it waits for somebody to write into the FIFO");
    }
}

#[test]
fn what_is_planted_under_the_name_of_a_new_snapshot_is_not_written() {
    for hard in [true, false] {
        let memory = TestRoot::new();
        sample(&memory);
        let outside = memory.outside().join("outside");
        fs::write(&outside, "CANARY").unwrap();
        fs::create_dir(memory.at(".commonplace")).unwrap();
        let planted = memory.at(".commonplace/index.new");
        if hard {
            fs::hard_link(&outside, planted).unwrap();
        } else {
            std::os::unix::fs::symlink(&outside, planted).unwrap();
        }
        let store = memory.open(false);
        store.save().unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"CANARY");
        assert!(fs::metadata(memory.at(".commonplace/index")).unwrap().len() > 1000);
    }
}

#[test]
fn closing_does_not_wait_for_a_long_import() {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open(false);
    drop(store.refresh(&never).unwrap());
    let (other, root) = (Lock::default(), Root::open(memory.root(), false).unwrap());
    let importing = other.acquire(&root).unwrap();
    let begun = Instant::now();
    store.close(&never).unwrap();
    assert!(begun.elapsed() < LOCK_TIMEOUT / 2);
    drop(importing);
    assert!(!memory.at(".commonplace/index").exists());
}

#[test]
fn a_snapshot_of_holes_takes_no_memory() {
    let memory = TestRoot::new();
    sample(&memory);
    memory.put(".commonplace/index", "");
    let index = fs::OpenOptions::new().write(true).open(memory.at(".commonplace/index")).unwrap();
    index.set_len(3 << 30).unwrap();
    let store = memory.open(false);
    let told = store.refresh(&never).unwrap().snapshot.clone().unwrap();
    assert!(told.contains("larger than what is in it"), "{told}");
    drop(index);
    assert_eq!(files_with(&store, "oolong").len(), 1);
}

#[test]
fn what_is_too_large_to_be_read_whole_is_refused() {
    let memory = TestRoot::new();
    memory.put("large.md", "x");
    fs::OpenOptions::new()
        .write(true)
        .open(memory.at("large.md"))
        .unwrap()
        .set_len(300 << 20)
        .unwrap();
    let store = memory.open(false);
    assert!(matches!(store.root().read("large.md"), Err(Error::Refused { code: "large", .. })));
}

#[test]
fn what_is_no_plain_file_is_left_out_and_named() {
    let memory = TestRoot::new();
    memory.put("folder.md/a.md", "# A\n");
    memory.put("hard.md", "# Hard\n");
    fs::hard_link(memory.at("hard.md"), memory.outside().join("other")).unwrap();
    std::os::unix::fs::symlink(memory.outside().join("other"), memory.at("soft.md")).unwrap();
    let store = memory.open(false);
    let walk = store.root().walk("", &never).unwrap();
    let files: Vec<&str> = walk.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(files, ["folder.md/a.md"]);
    let skipped: Vec<(&str, &str)> =
        walk.skipped.iter().map(|(p, why)| (p.as_str(), *why)).collect();
    assert_eq!(skipped, [("hard.md", "hardlink"), ("soft.md", "symlink")]);
    for path in ["folder.md", "hard.md", "soft.md"] {
        assert!(matches!(store.root().read(path), Err(Error::Refused { .. })), "{path}");
    }
}

#[test]
fn a_tampered_history_is_detected() {
    let memory = TestRoot::new();
    memory.put("a.md", "one\n");
    let store = memory.open(false);
    let written = store.files().write("a.md", b"two\n", Expected::Any).unwrap();
    let (previous, kept) = (written.previous.unwrap(), written.history.unwrap());
    assert_eq!(store.files().read_version("a.md", previous).unwrap(), b"one\n");
    fs::write(memory.at(&kept), "forged\n").unwrap();
    assert!(matches!(store.files().read_version("a.md", previous), Err(Error::NoVersion { .. })));
}

#[test]
fn recovery_shows_no_text_that_is_kept_elsewhere() {
    let memory = TestRoot::new();
    memory.put("a.md", "now\n");
    memory.put("b.md", "old\n");
    let files = || {
        let root = commonplace_core::files::root::Root::open(memory.root(), false).unwrap();
        commonplace_core::files::Files::new(root, Default::default())
    };
    files().write("b.md", b"new\n", Expected::Any).unwrap();
    // what is in the file, and what is in its history
    memory.put(".a.md.0123.swap", "now\n");
    memory.put(".b.md.0123.swap", "old\n");
    assert_eq!(files().recover().unwrap(), Vec::<String>::new());
    assert!(!memory.at(".a.md.0123.swap").exists() && !memory.at(".b.md.0123.swap").exists());
}

#[test]
fn an_append_waits_for_whoever_looks_at_the_file_in_place() {
    let memory = TestRoot::new();
    memory.put("s.jsonl", "{}\n");
    let store = memory.open(false);
    // a lease as a grep takes it, for half a second
    let script = "import fcntl, os, signal, sys, time\n\
                  signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
                  held = os.open(sys.argv[1], os.O_RDONLY)\n\
                  fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n\
                  print('held', flush=True)\n\
                  time.sleep(0.5)";
    let mut holder = Command::new("python3")
        .args(["-c", script])
        .arg(memory.at("s.jsonl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut word = [0; 4];
    let held = holder.stdout.take().unwrap().read_exact(&mut word).is_ok();
    store.files().append("s.jsonl", b"{\"n\":1}", Expected::Any).unwrap();
    holder.wait().unwrap();
    if !held {
        println!("no Python that can hold a lease here: nothing tried");
    }
}

#[test]
fn a_line_that_is_half_written_is_waited_for() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    let whole = (0..20).filter(|round| {
        let path = format!("s{round}.jsonl");
        memory.put(&path, "{\"half\":");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(2));
                let mut log = fs::OpenOptions::new().append(true).open(memory.at(&path)).unwrap();
                log.write_all(b"1}\n").unwrap();
            });
            store.files().append(&path, b"{\"n\":1}", Expected::Any).unwrap();
        });
        fs::read(memory.at(&path)).unwrap() == b"{\"half\":1}\n{\"n\":1}\n"
    });
    // on a machine that is busy, the stranger may come too late
    assert!(whole.count() >= 3);
}

#[test]
fn a_change_says_which_version_it_saw() {
    let memory = TestRoot::new();
    memory.put("a.md", "now\n");
    let store = memory.open(false);
    let files = store.files();
    let (_, seen) = files.read("a.md").unwrap();
    memory.put("a.md", "later\n");
    for expected in [Expected::Version(seen), Expected::Absent] {
        let done = [
            files.append("a.md", b"x", expected).is_err(),
            files.write("a.md", b"x", expected).is_err(),
            files.rename("a.md", "b.md", expected).is_err(),
            files.delete("a.md", expected).is_err(),
        ];
        assert_eq!(done, [true; 4], "{expected:?}");
        assert_eq!(fs::read(memory.at("a.md")).unwrap(), b"later\n");
    }
}

#[test]
fn an_import_of_a_fifo_does_not_block() {
    let memory = TestRoot::new();
    let pipe = memory.outside().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let store = memory.open(false);
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let done =
            store.import_transcript(&pipe, "in.jsonl", Default::default(), &mut |_| {}, &never);
        tell.send(matches!(done, Err(Error::Refused { code: "type", .. }))).unwrap();
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(5)), Ok(true));
}

/// The child of the test below.
#[test]
fn child_is_short_of_descriptors() {
    let Ok(root) = std::env::var("FEW_DESCRIPTORS_IN") else { return };
    let store = Store::open(&root, StoreOptions::default()).unwrap();
    assert_eq!(files_with(&store, "early").len(), 1);
    let all: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    drop(all);
    fs::write(Path::new(&root).join("late.md"), "# Late\nlate\n").unwrap();
    let all: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    let partial = ask(&store, "late").freshness != Freshness::Fresh;
    drop(all);
    let found = format!("{partial} {}", files_with(&store, "late").len());
    fs::write(Path::new(&root).join("../outcome"), found).unwrap();
}

/// Runs a test of this file, which finds the root in a variable, in a process with limits; returns
/// what it wrote about its outcome.
fn outcome_of((test, variable): (&str, &str), limits: &str, memory: &TestRoot) -> String {
    let status = Command::new("sh")
        .args(["-c", &format!("{limits}; exec \"$0\" --exact {test}")])
        .arg(std::env::current_exe().unwrap())
        .env(variable, memory.root())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    fs::read_to_string(memory.outside().join("outcome")).unwrap()
}

#[test]
fn what_could_not_be_read_is_tried_again() {
    let memory = TestRoot::new();
    memory.put("a.md", "# A\nearly\n");
    let child = ("child_is_short_of_descriptors", "FEW_DESCRIPTORS_IN");
    assert_eq!(outcome_of(child, "ulimit -n 64", &memory), "true 1");
}

/// The child of the test below.
#[test]
fn child_fills_the_disk() {
    let Ok(root) = std::env::var("FULL_DISK_IN") else { return };
    let store = Store::open(&root, StoreOptions::default()).unwrap();
    let long = format!("{{\"content\":\"{}\"}}", "x".repeat(9000));
    let failed = store.files().append("s.jsonl", long.as_bytes(), Expected::Any).is_err();
    fs::write(Path::new(&root).join("../outcome"), failed.to_string()).unwrap();
}

#[test]
fn what_went_in_of_a_line_that_did_not_fit_is_taken_back() {
    let memory = TestRoot::new();
    memory.put("s.jsonl", "{}\n");
    // no file grows beyond some KB
    let child = ("child_fills_the_disk", "FULL_DISK_IN");
    assert_eq!(outcome_of(child, "trap '' XFSZ; ulimit -f 8", &memory), "true");
    assert_eq!(fs::read(memory.at("s.jsonl")).unwrap(), b"{}\n");
}

/// The child of the test below.
#[test]
fn child_has_no_watches() {
    let Ok(root) = std::env::var("NO_WATCHES_IN") else { return };
    let store = Store::open(&root, StoreOptions::default()).unwrap();
    assert_eq!(files_with(&store, "early").len(), 1);
    fs::write(Path::new(&root).join("sub/late.md"), "# Late\nlate\n").unwrap();
    let found = files_with(&store, "late").len();
    fs::write(Path::new(&root).join("../outcome"), found.to_string()).unwrap();
}

#[test]
fn without_enough_watches_stamps_are_compared() {
    if !strace::require_strace_or_skip() {
        return;
    }
    let memory = TestRoot::new();
    memory.put("sub/a.md", "# A\nearly\n");
    let ran = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=inotify_add_watch:error=ENOSPC"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_has_no_watches"])
        .env("NO_WATCHES_IN", memory.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(ran.is_ok_and(|status| status.success()));
    assert_eq!(fs::read_to_string(memory.outside().join("outcome")).unwrap(), "1");
}

#[test]
fn a_queue_that_ran_over_reports_all_as_changed() {
    let memory = TestRoot::new();
    memory.put("a.md", "# A\n");
    memory.put("b.md", "# B\n");
    let store = memory.open(true);
    if !store.is_watching() {
        return;
    }
    let size = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    // the same twice in a row would be one event
    let [a, b] = ["a.md", "b.md"].map(|name| memory.at(name));
    for n in 0..size.trim().parse::<u32>().unwrap() + 10 {
        let path = if n % 2 == 0 { &a } else { &b };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600 | (n & 0o4))).unwrap();
    }
    memory.put("late.md", "# Late\nunheard\n");
    assert_eq!(files_with(&store, "unheard").len(), 1);
}

#[test]
fn a_folder_is_watched_before_it_is_listed() {
    let memory = TestRoot::new();
    memory.put("deep/a.md", "# A\n");
    let store = memory.open(false);
    let entered = Mutex::new(Vec::new());
    let walk = store.root().walk_visiting("", &never, &|folder| {
        // whatever is saved from here on is told by the watch, or must be in the list
        fs::write(memory.at(folder.path).join("late.md"), "# Late\n").unwrap();
        entered.lock().unwrap().push(folder.path.to_owned());
    });
    let seen: Vec<String> = walk.unwrap().files.into_iter().map(|(path, _)| path).collect();
    assert_eq!(seen, ["deep/a.md", "deep/late.md", "late.md"]);
    assert_eq!(entered.into_inner().unwrap().len(), 2);
}

#[test]
fn a_write_through_an_open_handle_is_seen() {
    let memory = TestRoot::new();
    memory.put("a.md", "# A\n");
    let store = memory.open(true);
    let mut handle = fs::OpenOptions::new().append(true).open(memory.at("a.md")).unwrap();
    for word in ["first", "second"] {
        handle.write_all(word.as_bytes()).unwrap();
        handle.write_all(b"\n").unwrap();
        assert_eq!(files_with(&store, word).len(), 1, "{word}");
    }
}

#[test]
fn stamps_that_somebody_set_back_prove_nothing() {
    let stat = Stat { mtime_ns: 1, ctime_ns: 10_000_000_000, ..Stat::default() };
    assert_ne!(FsClock::default().trusted(&stat, 11_000_000_000), stat);
    assert_eq!(FsClock::default().trusted(&stat, 13_000_000_000), stat);
}

/// A store to which all stamps look alike, so that only the hash of a hit tells.
fn blind(memory: &TestRoot) -> Store {
    let clock = FsClock { tick_ns: i64::MAX, no_ctime: true, racy_ns: i64::MIN / 2 };
    memory.open_with(StoreOptions { watch: false, clock, ..StoreOptions::default() })
}

#[test]
fn a_hit_is_compared_with_its_file() {
    let memory = TestRoot::new();
    memory.put("a.md", "# A\nolder words\n");
    let store = blind(&memory);
    assert_eq!(files_with(&store, "older").len(), 1);
    memory.put("a.md", "# A\nnewer words\n");
    assert_eq!(files_with(&store, "older").len(), 0);
    assert_eq!(files_with(&store, "newer").len(), 1);
}

#[test]
fn a_file_that_never_rests_gives_a_stale_answer() {
    let memory = TestRoot::new();
    let text = |n: usize| format!("# A\nword{n} words\n");
    memory.put("a.md", text(0));
    let store = blind(&memory);
    let stop = AtomicBool::new(false);
    let mut told = Freshness::Stale;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                overwrite(&memory.at("a.md"), 0, text(n % 10).as_bytes());
                // nobody says stop when a search panics
                if stop.load(Ordering::Relaxed) || begun.elapsed() > Duration::from_secs(20) {
                    break;
                }
            }
        });
        while begun.elapsed() < Duration::from_secs(2) {
            let answer = ask(&store, "words");
            if answer.notes.iter().any(|note| note.contains("kept changing")) {
                told = answer.freshness;
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(told, Freshness::Stale);
}

#[test]
fn a_save_while_the_file_is_read_is_seen_by_the_next_call() {
    let memory = TestRoot::new();
    let text = |word: &str| format!("# A\n{word}\n{}", "## B\nfiller words here\n".repeat(6_000));
    let moment = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    memory.put("a.md", text("before"));
    // stamps of which the change time tells nothing, and which prove the text at once
    let clock = FsClock { no_ctime: true, racy_ns: 0, ..FsClock::default() };
    let options = StoreOptions { watch: false, clock, ..StoreOptions::default() };
    let store = Store::open(memory.root().to_str().unwrap(), options).unwrap();
    assert_eq!(files_with(&store, "before").len(), 1);
    for round in 1..=4 {
        memory.put("a.md", text(&format!("early{round}")));
        set_modified(&memory.at("a.md"), moment(1_000_000 + round * 100));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| ask(&store, "filler").hits.len());
            // it is read by now, and takes its time to be taken apart
            std::thread::sleep(Duration::from_millis(15 * round));
            fs::write(memory.at(".new"), text(&format!("later{round}"))).unwrap();
            set_modified(&memory.at(".new"), moment(1_000_050 + round * 100));
            fs::rename(memory.at(".new"), memory.at("a.md")).unwrap();
            assert!(reader.join().unwrap() > 0);
        });
        assert_eq!(files_with(&store, &format!("later{round}")).len(), 1, "round {round}");
    }
}

#[test]
fn a_snapshot_is_used_only_as_it_was_written() {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open(false);
    let expected = answers(&store, &QUERIES);
    store.save().unwrap();
    drop(store);
    let path = memory.at(".commonplace/index");
    let bytes = fs::read(&path).unwrap();
    // one bit of every 8 bytes in turn: whatever it was, the answers are the same
    for at in (0..bytes.len()).step_by(bytes.len() / 31) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        let store = memory.open(false);
        assert_eq!(answers(&store, &QUERIES), expected, "byte {at}");
        std::mem::forget(store);
    }
}
