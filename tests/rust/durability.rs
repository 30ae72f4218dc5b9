//! Durability and race tests of each change, by traces of its system calls.
//!
//! A missing flush of a folder, a missing `O_EXCL` or a missing second look costs nothing until the
//! power fails or somebody else acts at the wrong moment. So the calls themselves are looked at,
//! and the wrong moment is made: `strace` holds a call up, or answers it without doing it.
//!
//! For Linux alone: `strace` tells and changes its system calls.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod strace;

mod system;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use commonplace_core::error::Error;
use commonplace_core::files::root::Root;
use commonplace_core::files::version::Version;
use commonplace_core::files::write_rules::WriteRules;
use commonplace_core::files::{Expected, Files};
use commonplace_core::store::import::{ImportFrom, ImportOptions};
use commonplace_core::store::{Store, StoreOptions};
use rustix::fs::FlockOperation;
use strace::require_strace_or_skip;
use system::has_exchange;

const OLD: &str = "old\n";
const NEW: &str = "new\n";
const LINE: &str = "{\"n\":3}\n";

fn open(root: &Path) -> Files {
    Files::new(Root::open(root, false).unwrap(), WriteRules::default())
}

/// The child of the tests below: one change, and a word about how it went.
#[test]
fn child_makes_a_change() {
    let Ok(scratch) = std::env::var("CHANGE_IN") else { return };
    let scratch = Path::new(&scratch);
    let files = open(&scratch.join("root"));
    let done = match std::env::var("CHANGE").unwrap().as_str() {
        "create" => files.write("facts/new.md", NEW.as_bytes(), Expected::Absent).map(|_| ()),
        "replace" => files.write("facts/note.md", NEW.as_bytes(), Expected::Any).map(|_| ()),
        "write the same" => files.write("facts/note.md", OLD.as_bytes(), Expected::Any).map(|_| ()),
        "move" => files.rename("facts/note.md", "world/moved.md", Expected::Any).map(|_| ()),
        "move this" => {
            let seen = Expected::Version(Version::of(OLD.as_bytes()));
            files.rename("facts/note.md", "world/moved.md", seen).map(|_| ())
        }
        "delete" => files.delete("facts/note.md", Expected::Any).map(|_| ()),
        "append" => files.append("s.jsonl", LINE.as_bytes(), Expected::Any).map(|_| ()),
        "append to a torn line" => {
            files.append("torn.jsonl", LINE.as_bytes(), Expected::Any).map(|_| ())
        }
        "begin a file" => files.append("facts/log.md", b"x\n", Expected::Absent).map(|_| ()),
        "keep" => files.keep("facts/note.md").map(|_| ()),
        "recover" => files.recover().map(|_| ()),
        "import" => import(scratch),
        other => panic!("{other}"),
    };
    let word = done.map_or_else(|error| error.to_string(), |()| "ok".to_owned());
    fs::write(scratch.join("outcome"), word).unwrap();
}

/// Imports three sessions.
fn import(scratch: &Path) -> Result<(), Error> {
    let sources = scratch.join("sources");
    fs::create_dir(&sources).unwrap();
    for name in ["a", "b", "c"] {
        // as Claude Code writes it, so that its folder is known
        let line = serde_json::json!({
            "type": "user", "sessionId": name, "cwd": "/plain",
            "uuid": format!("0198c1d2-7aaa-7bbb-8ccc-00000000000{name}"),
            "timestamp": format!("2026-01-22T05:00:00.00{name}Z").replace(['a', 'b', 'c'], "1"),
            "message": { "role": "user", "content": name },
        });
        let line = format!("{line}\n");
        fs::write(sources.join(format!("{name}.jsonl")), line).unwrap();
    }
    let options = StoreOptions { watch: false, ..StoreOptions::default() };
    let store = Store::open(scratch.join("root").to_str().unwrap(), options)?;
    let places = [ImportFrom::Path(sources)];
    let report = store.import_sessions(
        &places,
        ImportOptions::default(),
        &|_| None,
        &mut |_, _| {},
        &|| false,
    )?;
    assert_eq!(report.count("new"), 3);
    Ok(())
}

/// A memory in a scratch folder, for one change in a child under `strace`.
struct Change {
    scratch: tempfile::TempDir,
}

impl Change {
    fn new() -> Self {
        let change = Self { scratch: tempfile::tempdir().unwrap() };
        for (path, text) in [
            ("facts/note.md", OLD),
            ("world/other.md", OLD),
            ("s.jsonl", "{\"n\":1}\n"),
            ("torn.jsonl", "{\"n\":1}\n{\"n\":"),
        ] {
            change.put(path, text);
        }
        change
    }

    fn at(&self, path: &str) -> PathBuf {
        self.scratch.path().join("root").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_default()
    }

    /// Starts a change with faults that are separated by spaces.
    fn start(&self, change: &str, inject: &str) -> Child {
        self.start_at("", change, inject)
    }

    /// As [`Self::start`], with faults of the calls for one path alone, if it is not empty.
    fn start_at(&self, path: &str, change: &str, inject: &str) -> Child {
        let of_path: &[&str] = if path.is_empty() { &[] } else { &["-P", path] };
        let calls = "trace=openat,openat2,fsync,fdatasync,renameat2,linkat,flock,lseek,write";
        Command::new("strace")
            .args(["-f", "-y", "-qq", "-s", "64", "-e", calls])
            .args(of_path)
            .arg("-o")
            .arg(self.scratch.path().join("trace"))
            .args(inject.split(' ').flat_map(|one| ["-e".to_owned(), format!("inject={one}")]))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "child_makes_a_change"])
            .env("CHANGE_IN", self.scratch.path())
            .env("CHANGE", change)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits for the change and returns its word.
    fn end(&self, mut child: Child) -> String {
        child.wait().unwrap();
        fs::read_to_string(self.scratch.path().join("outcome")).unwrap_or_default()
    }

    fn run(&self, change: &str, inject: &str) -> String {
        self.end(self.start(change, inject))
    }

    /// The lines of the trace that are about the memory.
    fn trace(&self) -> Vec<String> {
        let trace = fs::read_to_string(self.scratch.path().join("trace")).unwrap_or_default();
        let root = format!("{}/root", self.scratch.path().display());
        trace.lines().filter(|line| line.contains(&root)).map(str::to_owned).collect()
    }

    /// Waits until the child has read the note and made it durable, which is its last step before
    /// it renames: on a busy machine the lock says nothing about when it reads.
    fn wait_for_the_flush(&self) {
        let is_flush = |line: &String| line.contains("sync(") && line.contains("facts/note.md>");
        wait_until(|| self.trace().iter().any(is_flush));
    }

    /// Waits until the child has given the note its second name in the history.
    fn wait_for_the_link(&self) {
        let kept = self.at(".commonplace/history/facts/note.md");
        wait_until(|| fs::read_dir(&kept).is_ok_and(|mut names| names.next().is_some()));
    }

    /// Waits until the child has the lock.
    fn wait_for_the_lock(&self) {
        wait_until(|| {
            let file = fs::File::open(self.at(".commonplace/lock"));
            let ask = FlockOperation::NonBlockingLockShared;
            file.is_ok_and(|file| rustix::fs::flock(&file, ask).is_err())
        });
        // from here the child needs no time but that for which it is held up
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits for ten seconds at most: what is held up for shorter fails the test by what it finds.
fn wait_until(is_reached: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_reached() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Holds the first call of each thread up, so that others may act meanwhile.
fn held_up(call: &str) -> String {
    format!("{call}:delay_enter=600000:when=1")
}

const NOTHING: &str = "getppid:error=EIO";

/// One line of a trace in a few words.
fn step(line: &str) -> Option<String> {
    if line.contains("renameat2(") {
        return Some("rename".to_owned());
    }
    let (path, _) = line.split_once("sync(")?.1.split_once('<')?.1.split_once('>')?;
    let (_, name) = path.rsplit_once('/')?;
    Some(match name {
        _ if name.ends_with(".swap") => "staged".to_owned(),
        _ if name.contains("-tail") => "tail".to_owned(),
        _ if path.contains(".commonplace/history") => format!("history of {name}"),
        name => name.to_owned(),
    })
}

/// Says whether `wanted` are among `found`, in this order.
fn in_order(found: &[String], wanted: &[&str]) -> bool {
    let mut found = found.iter();
    wanted.iter().all(|wanted| found.any(|step| step == wanted))
}

#[test]
fn each_change_is_flushed_before_it_is_acknowledged() {
    if !require_strace_or_skip() {
        return;
    }
    for (op, wanted) in [
        ("create", &[&["staged", "rename", "facts"][..]][..]),
        ("replace", &[&["staged", "rename", "facts"], &["rename", "history of note.md"]]),
        ("write the same", &[&["note.md"], &["facts"]]),
        ("move", &[&["rename", "world"], &["rename", "facts"]]),
        ("delete", &[&["rename", "facts"], &["rename", "history of note.md"]]),
        ("append", &[&["s.jsonl"]]),
        ("append to a torn line", &[&["tail", "torn.jsonl", "torn.jsonl"]]),
        // made under its name, or beside it and moved there
        ("begin a file", &[&["facts"]]),
        ("keep", &[&["staged", "rename", "history of note.md"]]),
    ] {
        let change = Change::new();
        assert_eq!(change.run(op, NOTHING), "ok", "{op}");
        let trace = change.trace();
        let found: Vec<String> = trace.iter().filter_map(|line| step(line)).collect();
        for wanted in wanted {
            assert!(in_order(&found, wanted), "{op}: no {wanted:?} in {found:?}");
        }
        check_flags(op, &trace);
    }
}

#[test]
fn a_batch_is_flushed_before_it_gets_names_and_is_acknowledged() {
    if !require_strace_or_skip() {
        return;
    }
    let change = Change::new();
    // what a batch left that was killed is removed
    change.put(".commonplace/imports/new/0", "left");
    change.put(".commonplace/imports/new/7", "left");
    assert_eq!(change.run("import", NOTHING), "ok");
    let steps: Vec<String> = change.trace().iter().filter_map(|line| step(line)).collect();
    let place = |wanted: &dyn Fn(&str) -> bool| steps.iter().position(|step| wanted(step));
    let renamed = place(&|step| step == "rename").unwrap();
    for staged in ["0", "1", "2"] {
        assert!(place(&|step| step == staged).unwrap() < renamed, "{steps:?}");
    }
    let named = steps.iter().rposition(|step| step == "rename").unwrap();
    let folders = &steps[named..];
    // the three of the sessions, that of their project, `sessions` and the root
    let sessions = folders.iter().filter(|step| step.starts_with("20")).count();
    assert_eq!(sessions, 3, "{steps:?}");
    for folder in ["plain", "sessions", "root"] {
        assert!(folders.iter().any(|step| step == folder), "{folder}: {steps:?}");
    }
    assert_eq!(fs::read_dir(change.at(".commonplace/imports/new")).unwrap().count(), 0);
    let walk = fs::read_dir(change.at("sessions/plain")).unwrap();
    for folder in walk {
        assert!(folder.unwrap().path().join("messages.jsonl").is_file());
    }
}

#[test]
fn a_batch_that_fails_in_part_is_told_and_loses_no_source() {
    if !require_strace_or_skip() {
        return;
    }
    let session = |name: &str| format!("sessions/plain/2026-01-22-{name}/messages.jsonl");
    // whether a transcript stays after a crash is not known: its source is not held for imported
    let change = Change::new();
    let folder = change.at("sessions/plain/2026-01-22-b").display().to_string();
    let word = change.end(change.start_at(&folder, "import", "fsync:error=EIO"));
    assert!(word.contains(&session("b")) && word.contains("may or may not"), "{word}");
    assert!(!change.read(".commonplace/imports/sources").contains(&session("b")));
    // an error of the memory itself ends the import: what was read before it stays
    let change = Change::new();
    let word = change.end(change.start_at(&session("b"), "import", "openat2:error=EIO"));
    assert!(word.contains(&session("b")), "{word}");
    assert!(change.at(&session("a")).is_file() && !change.at(&session("b")).exists());
    assert!(change.read(".commonplace/imports/sources").contains(&session("a")));
}

/// Every open below the root refuses links and waits for nothing; what is made is new.
fn check_flags(op: &str, trace: &[String]) {
    for line in trace.iter().filter(|line| line.contains("openat")) {
        let has = |flag: &str| line.contains(flag);
        let folder = has("O_DIRECTORY");
        let resolves = has("RESOLVE_BENEATH") && has("RESOLVE_NO_SYMLINKS");
        assert!(!has("openat2(") || resolves, "{op}: it may lead elsewhere: {line}");
        assert!(folder || has("O_NOFOLLOW"), "{op}: it may follow a link: {line}");
        assert!(folder || has("O_PATH") || has("O_NONBLOCK"), "{op}: it may wait: {line}");
        let may_be_there = has("\"lock\"");
        let is_new = !has("O_CREAT") || has("O_EXCL") || may_be_there;
        assert!(is_new, "{op}: it may take what somebody planted: {line}");
    }
    let unlocked = trace.iter().any(|line| line.contains("LOCK_UN"));
    assert!(unlocked, "{op}: a child that was forked meanwhile would hold the lock");
}

#[test]
fn what_recovery_moves_is_flushed_too() {
    if !require_strace_or_skip() {
        return;
    }
    let base = Version::of(OLD.as_bytes()).to_string();
    for (left, text, wanted) in [
        // a person's text that nobody knows, and the base of a replace
        (".note.md.0123.swap".to_owned(), "theirs\n", &["staged", "rename", "facts"][..]),
        (format!(".note.md.0123-{}.swap", &base[..16]), OLD, &["rename", "history of note.md"]),
    ] {
        let change = Change::new();
        change.put("facts/note.md", NEW);
        change.put(&format!("facts/{left}"), text);
        assert_eq!(change.run("recover", NOTHING), "ok");
        let found: Vec<String> = change.trace().iter().filter_map(|line| step(line)).collect();
        assert!(in_order(&found, wanted), "{left}: no {wanted:?} in {found:?}");
        assert!(in_order(&found, &["rename", "facts"]), "{left}: {found:?}");
        assert!(!change.at(&format!("facts/{left}")).exists());
    }
    // a move that is undone, before the list forgets it
    let change = Change::new();
    fs::hard_link(change.at("facts/note.md"), change.at("world/moved.md")).unwrap();
    change.put(".commonplace/lock", "another boot\nfacts/note.md\tworld/moved.md\n");
    assert_eq!(change.run("recover", NOTHING), "ok");
    let found: Vec<String> = change.trace().iter().filter_map(|line| step(line)).collect();
    assert!(in_order(&found, &["world"]), "{found:?}");
    assert!(!change.at("world/moved.md").exists());
}

/// Answers the write that matters with `written` bytes, and writes none.
fn lie(op: &str, file: &str, written: usize) -> (Change, String) {
    let first = Change::new();
    assert_eq!(first.run(op, NOTHING), "ok");
    let trace = fs::read_to_string(first.scratch.path().join("trace")).unwrap();
    let writes: Vec<&str> = trace.lines().filter(|line| line.contains("write(")).collect();
    let thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let at = writes.iter().position(|line| line.contains(file) && line.contains("/root")).unwrap();
    let number = writes[..=at].iter().filter(|line| thread(line) == thread(writes[at])).count();
    let change = Change::new();
    let word = change.run(op, &format!("write:retval={written}:when={number}"));
    (change, word)
}

#[test]
fn a_disk_that_takes_less_than_it_says_is_noticed() {
    if !require_strace_or_skip() {
        return;
    }
    let (change, word) = lie("replace", ".swap", NEW.len());
    assert_ne!(word, "ok", "nothing was written");
    assert_eq!(change.read("facts/note.md"), OLD);
    let (change, word) = lie("append", "s.jsonl", 3);
    // of what came of those that it says to have taken nothing is known
    assert!(word.contains("may or may not have been changed"), "3 bytes are no line: {word}");
    assert_eq!(change.read("s.jsonl"), "{\"n\":1}\n");
}

#[test]
fn the_same_text_is_in_doubt_when_it_cannot_be_flushed() {
    if !require_strace_or_skip() {
        return;
    }
    let change = Change::new();
    assert_eq!(change.run("write the same", NOTHING), "ok");
    let word = change.run("write the same", "fsync:error=EIO");
    assert!(word.contains("may or may not have been changed"), "{word}");
}

#[test]
fn a_line_goes_into_the_file_that_has_the_name_now() {
    if !require_strace_or_skip() {
        return;
    }
    let change = Change::new();
    // a new one gets a `.gitignore`, whose write would be held up
    fs::create_dir_all(change.at(".commonplace")).unwrap();
    let child = change.start("append", &held_up("write"));
    change.wait_for_the_lock();
    // the file is open, and the line is about to be written into it
    change.put("new", "{\"n\":2}\n");
    fs::rename(change.at("new"), change.at("s.jsonl")).unwrap();
    assert_eq!(change.end(child), "ok");
    assert_eq!(change.read("s.jsonl"), format!("{{\"n\":2}}\n{LINE}"));
}

#[test]
fn no_line_goes_into_a_file_that_has_left_the_root() {
    if !require_strace_or_skip() {
        return;
    }
    let change = Change::new();
    let child = change.start("append", &held_up("lseek"));
    change.wait_for_the_lock();
    // the file is open, and its end is about to be looked for
    let outside = change.scratch.path().join("outside.jsonl");
    fs::rename(change.at("s.jsonl"), &outside).unwrap();
    change.put("s.jsonl", "{\"n\":2}\n");
    assert_eq!(change.end(child), "ok");
    assert_eq!(fs::read_to_string(outside).unwrap(), "{\"n\":1}\n");
    assert_eq!(change.read("s.jsonl"), format!("{{\"n\":2}}\n{LINE}"));
}

#[test]
fn a_save_at_the_last_moment_keeps_its_name() {
    if !require_strace_or_skip() {
        return;
    }
    for op in ["delete", "move this", "replace"] {
        let change = Change::new();
        let child = change.start(op, &held_up("renameat2"));
        change.wait_for_the_flush();
        change.put(".editor", "theirs\n");
        fs::rename(change.at(".editor"), change.at("facts/note.md")).unwrap();
        let word = change.end(child);
        assert_ne!(word, "ok", "{op}: what was seen is not what was there");
        assert_eq!(change.read("facts/note.md"), "theirs\n", "{op}: {word}");
        assert!(!change.at("world/moved.md").exists(), "{op}");
    }
}

#[test]
fn a_refused_text_that_cannot_go_to_the_history_stays() {
    if !require_strace_or_skip() {
        return;
    }
    let by_link = "renameat2:error=EINVAL linkat:delay_exit=600000:when=1";
    let ways = [held_up("renameat2"), by_link.to_owned()];
    for way in &ways[usize::from(!has_exchange())..] {
        let change = Change::new();
        let child = change.start("replace", way);
        change.wait_for_the_flush();
        if way == by_link {
            change.wait_for_the_link();
        }
        change.put(".editor", "theirs\n");
        fs::rename(change.at(".editor"), change.at("facts/note.md")).unwrap();
        fs::remove_dir_all(change.at(".commonplace/history")).unwrap();
        let word = change.end(child);
        assert!(word.contains("has changed"), "{way}: {word}");
        assert_eq!(change.read("facts/note.md"), "theirs\n", "{way}");
        let names = fs::read_dir(change.at("facts")).unwrap().map(|entry| entry.unwrap().path());
        let texts: Vec<_> = names.map(|path| fs::read_to_string(path).unwrap()).collect();
        assert!(texts.iter().any(|text| text == NEW), "{way}: {texts:?}");
    }
}

#[test]
fn a_lock_on_a_file_that_lost_its_name_is_none() {
    if !require_strace_or_skip() {
        return;
    }
    let change = Change::new();
    change.put(".commonplace/lock", "");
    let child = change.start("append", &held_up("flock"));
    wait_until(|| change.trace().iter().any(|line| line.contains("\"lock\"")));
    fs::remove_dir_all(change.at(".commonplace")).unwrap();
    assert_eq!(change.end(child), "ok");
    assert!(change.at(".commonplace/lock").exists(), "the next writer would not have waited");
}

#[test]
fn a_planted_lock_is_not_followed() {
    let change = Change::new();
    let outside = change.scratch.path().join("outside");
    change.put(".commonplace/x", "");
    std::os::unix::fs::symlink(&outside, change.at(".commonplace/lock")).unwrap();
    let append = || open(&change.at("")).append("s.jsonl", LINE.as_bytes(), Expected::Any);
    assert!(matches!(append(), Err(Error::Refused { .. })));
    assert!(!outside.exists());
    fs::remove_file(change.at(".commonplace/lock")).unwrap();
    fs::write(&outside, "").unwrap();
    fs::hard_link(&outside, change.at(".commonplace/lock")).unwrap();
    assert!(matches!(append(), Err(Error::Refused { .. })));
}
