//! Crash tests: kills and disk errors at each system call of a change leave the old or new text.
//!
//! For Linux alone: `strace` tells and changes its system calls.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod files;
mod system;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use files::{all_files, contents, leftovers, open};
use system::{has_exchange, has_openat2, has_rename_new};

const NEEDED: &str = "these tests need strace, and a system where it can trace";
const OLD: &[u8] = b"old\n";
const NEW: &[u8] = b"new\n";
/// What the test runner opens before a change, at most.
const OF_THE_RUNNER: usize = 16;

/// The number of a change's k-th call, as `strace` counts the calls of each thread.
fn number(call: &str, k: usize) -> usize {
    if call == "openat" { OF_THE_RUNNER + k } else { k }
}

/// The child of the test below: one change, and a word about how it went.
#[test]
fn child_changes() {
    let Ok(scratch) = std::env::var("CHANGE_IN") else {
        return;
    };
    let scratch = Path::new(&scratch);
    // what is opened behind the change, or by the runner, is not to fail in the place of the change
    let mut outcome = fs::File::create(scratch.join("outcome")).unwrap();
    (1..OF_THE_RUNNER).for_each(|_| drop(fs::File::open("/")));
    let files = open(&scratch.join("root"));
    let done = match std::env::var("CHANGE").unwrap().as_str() {
        "replace" => files.write("facts/note.md", NEW, Expected::Any).map(|_| ()),
        "create" => files.write("made/note.md", NEW, Expected::Absent).map(|_| ()),
        "delete" => files.delete("facts/note.md", Expected::Any).map(|_| ()),
        "rename" => files.rename("facts/note.md", "moved/note.md", Expected::Any).map(|_| ()),
        "append" => files.append("s.jsonl", b"{\"n\":3}", Expected::Any).map(|_| ()),
        "keep" => files.keep("facts/note.md").map(|_| ()),
        other => panic!("{other}"),
    };
    let word = match done {
        Ok(()) => "ok".into(),
        Err(Error::InDoubt { .. }) => "in doubt".into(),
        Err(e) => e.to_string(),
    };
    outcome.write_all(word.as_bytes()).unwrap();
}

/// Makes one change in a child under `strace`, with faults that are separated by spaces; returns
/// its word, empty if it died.
fn change(scratch: &Path, change: &str, inject: &str) -> String {
    let root = scratch.join("root");
    fs::create_dir_all(root.join("facts")).unwrap();
    fs::write(root.join("facts/note.md"), OLD).unwrap();
    fs::write(root.join("s.jsonl"), "{\"n\":1}\n{\"n\":2").unwrap();
    let calls: Vec<&str> = inject.split(' ').filter_map(|one| one.split(':').next()).collect();
    let _ = Command::new("strace")
        .args(["-f", "-y", "-qq", "-e", &format!("trace={}", calls.join(",")), "-o"])
        .arg(scratch.join("trace"))
        .args(inject.split(' ').flat_map(|one| ["-e".to_owned(), format!("inject={one}")]))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_changes"])
        // with it, the loader alone opens hundreds of files
        .env_remove("LD_LIBRARY_PATH")
        .env("CHANGE_IN", scratch)
        .env("CHANGE", change)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    fs::read_to_string(scratch.join("outcome")).unwrap_or_default()
}

/// What must hold however the change ended.
fn check(scratch: &Path, change: &str, word: &str, what: &str) {
    let root = scratch.join("root");
    let read = |path: &str| fs::read(root.join(path)).ok();
    let (note, made) = (read("facts/note.md"), read("made/note.md"));
    let log = read("s.jsonl").unwrap();
    let refused = !matches!(word, "" | "ok" | "in doubt");
    assert!(log.starts_with(b"{\"n\":1}\n{\"n\":2"), "{what}: the log lost something");
    let moved = read("moved/note.md");
    let is_new = match change {
        "rename" => moved.is_some() && note.is_none(),
        "replace" => note.as_deref() == Some(NEW),
        "create" => made.is_some(),
        "delete" => note.is_none(),
        "keep" => contents(&root.join(".commonplace/history")).contains(OLD),
        _ => log.ends_with(b"\n{\"n\":3}\n"),
    };
    assert!(note.is_none_or(|text| text == OLD || text == NEW), "{what}: torn");
    assert!(made.is_none_or(|text| text == NEW), "{what}: torn");
    assert!(word != "ok" || is_new, "{what}: a false yes");
    assert!(!refused || !is_new, "{what}: a false no: {word}");
    if refused {
        assert_eq!(leftovers(&root), 0, "{what}: litter after {word}");
    }
    assert!(contents(&root).contains(OLD), "{what}: the old text is lost");
    open(&root).recover().unwrap();
    assert!(contents(&root).contains(OLD), "{what}: recovery lost the old text");
    assert_eq!(leftovers(&root), 0, "{what}: recovery left litter");
}

/// The order of what makes a change durable; leaving out any one step shows here.
#[test]
fn a_change_is_durable_before_it_is_acknowledged() {
    let scratch = tempfile::tempdir().unwrap();
    let traced = change(scratch.path(), "replace", "getppid:error=EIO");
    assert_eq!(traced, "ok", "{NEEDED}");
    let folders = ["sync root", "sync .commonplace", "sync history", "sync facts"];
    // The text of a person that is displaced is synced before it loses its name.
    let exchange =
        ["sync staged", "sync note.md", "exchange", "rename", "sync facts", "sync note.md"];
    let create = ["sync root", "sync root", "sync staged", "rename", "sync made"];
    let delete = ["rename", "sync facts", "sync note.md"];
    let rename = ["sync root", "sync note.md", "sync lock", "rename", "sync moved", "sync facts"];
    let quarantine = ["sync root", "sync .commonplace", "sync quarantine"];
    let append = ["sync tail", "sync s.jsonl", "sync s.jsonl"];
    for (op, steps) in [
        ("replace", [&folders[..], &exchange].concat()),
        ("create", create.to_vec()),
        ("delete", [&["sync root", "sync note.md"], &folders[1..], &delete].concat()),
        ("rename", [&folders[..0], &["sync root"], &rename].concat()),
        ("append", [&quarantine[..], &append].concat()),
        ("keep", [&folders[..], &["sync staged", "rename", "sync note.md"]].concat()),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        // Harmless: it only makes `change` trace these calls as well.
        let calls = "fsync,fdatasync,renameat2,linkat,renameat:delay_exit=0";
        assert_eq!(change(scratch.path(), op, calls), "ok");
        let trace = fs::read_to_string(scratch.path().join("trace")).unwrap();
        let found: Vec<String> = trace.lines().filter_map(step).collect();
        assert_eq!(found, as_done_here(op, &steps), "{op}:\n{trace}");
    }
}

/// The same steps where the system refuses to rename so (`tests/refuse.py`): by a second name, but
/// into the history, where only the holder of the lock makes names, by a plain rename.
fn as_done_here(op: &str, steps: &[&str]) -> Vec<String> {
    let (exchanges, renames) = (has_exchange(), has_rename_new());
    let here = |step: &&str| match *step {
        "exchange" if !exchanges => "link".to_owned(),
        "rename" if !renames && matches!(op, "create" | "rename") => "link".to_owned(),
        step => step.to_owned(),
    };
    steps.iter().map(here).collect()
}

/// One line of a trace in a few words.
fn step(line: &str) -> Option<String> {
    // refused, and done in another way
    if line.contains(" = -1 ") {
        return None;
    }
    if line.contains("renameat2(") {
        return Some(if line.contains("EXCHANGE") { "exchange" } else { "rename" }.into());
    }
    if line.contains("linkat(") {
        return (!line.contains("unlinkat(")).then(|| "link".into());
    }
    if line.contains("renameat(") {
        return Some("rename".into());
    }
    let (path, _) = line.split_once("sync(")?.1.split_once('<')?.1.split_once('>')?;
    let (_, name) = path.rsplit_once('/')?;
    Some(match name {
        _ if name.ends_with(".swap") => "sync staged".into(),
        _ if name.contains("-tail") => "sync tail".into(),
        name => format!("sync {name}"),
    })
}

/// A folder where `fsync` is quick: what is tried here does not depend on the disk.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Kills, or fails with an error, each system call of each change in turn.
#[test]
fn death_and_disk_errors_at_every_call() {
    let scratch = in_memory();
    let traced = change(scratch.path(), "replace", "getppid:error=EIO");
    assert_eq!(traced, "ok", "{NEEDED}");
    // Kernels and file systems that lack a call: the same by other means.
    for lacking in ["renameat2:error=EINVAL", "openat2:error=ENOSYS", "openat2:error=EPERM"] {
        for op in ["replace", "create", "delete", "append", "keep"] {
            let scratch = in_memory();
            let word = change(scratch.path(), op, lacking);
            assert_eq!(word, "ok", "{op} {lacking}");
            check(scratch.path(), op, &word, &format!("{op} {lacking}"));
        }
    }
    // A full disk under `write` itself is in the cases of the sandbox: the test
    // runner writes too, and would be hit first.
    let calls = [
        ("openat2", 16),
        ("openat", if has_openat2() { 4 } else { 20 }),
        ("renameat2", 3),
        ("fsync", 7),
        ("fdatasync", 1),
        ("mkdirat", 5),
        ("flock", 2),
    ];
    let mut seen = HashSet::new();
    for op in ["replace", "create", "delete", "append", "keep"] {
        for (call, times) in calls {
            // Some calls are also made by the test runner; those only make it fail early.
            for k in 1..=times {
                let k = number(call, k);
                let kill = format!("{call}:signal=SIGKILL:when={k}");
                let full = format!("{call}:error=ENOSPC:when={k}");
                let broken = format!("{call}:error=EIO:when={k}+");
                let is_change = matches!(call, "renameat2" | "fsync" | "fdatasync");
                for inject in [kill, full].into_iter().chain(is_change.then_some(broken)) {
                    let scratch = in_memory();
                    let word = change(scratch.path(), op, &inject);
                    check(scratch.path(), op, &word, &format!("{op} {inject}"));
                    seen.insert((op, word));
                }
            }
        }
    }
    for word in ["", "ok", "in doubt"] {
        assert!(seen.contains(&("replace", word.into())), "no replace ended with {word:?}");
    }
}

/// Kills each call of a copy into the history, and opens the root in the same boot: the list alone
/// says what was staged, for nothing is searched.
#[test]
fn a_copy_that_was_cut_short_is_recovered_at_the_next_opening() {
    let mut whole = 0;
    for (call, times) in [("openat", 4), ("fsync", 7), ("renameat2", 2)] {
        for k in 1..=times {
            let scratch = in_memory();
            let root = scratch.path().join("root");
            // the list is of this boot
            fs::create_dir(&root).unwrap();
            open(&root).write("other.md", NEW, Expected::Any).unwrap();
            let kill = format!("{call}:signal=SIGKILL:when={}", number(call, k));
            change(scratch.path(), "keep", &kill);
            let staged: Vec<_> = all_files(&root.join(".commonplace/history"))
                .into_iter()
                .filter(|path| path.extension().is_some_and(|e| e == "swap"))
                .map(|path| fs::read(path).unwrap())
                .collect();
            open(&root).recheck_if_due().unwrap();
            assert_eq!(leftovers(&root), 0, "{call} {k}");
            if staged.iter().any(|text| text == OLD) {
                whole += 1;
                let kept = open(&root).history("facts/note.md").unwrap();
                assert_eq!(kept.len(), 1, "{call} {k}");
                assert_eq!(fs::read(root.join(&kept[0].address)).unwrap(), OLD, "{call} {k}");
            }
        }
    }
    assert!(whole > 0, "{NEEDED}: no copy was left");
}

/// Kills each call of a change where names can be neither exchanged nor given only if free: no
/// second name of ours may keep a note from being read or changed, even at the first call after.
#[test]
fn a_death_without_an_exchange_locks_no_note() {
    for (op, path) in [
        ("replace", "facts/note.md"),
        ("create", "made/note.md"),
        ("delete", "facts/note.md"),
        ("rename", "facts/note.md"),
    ] {
        let ends = [("renameat", 2), ("linkat", 2), ("unlinkat", 2), ("fsync", 7), ("openat", 3)];
        for (call, k) in
            ends.into_iter().flat_map(|(call, times)| (1..=times).map(move |k| (call, k)))
        {
            let scratch = in_memory();
            let kill = format!("{call}:signal=SIGKILL:when={}", number(call, k));
            let inject = format!("renameat2:error=EINVAL {kill}");
            let word = change(scratch.path(), op, &inject);
            let (what, root) = (format!("{op} {inject}"), scratch.path().join("root"));
            let is_refused = |read: Result<(), Error>| matches!(read, Err(Error::Refused { .. }));
            let first_read = open(&root).read(path).map(|_| ());
            assert!(!is_refused(first_read), "{what}: the first read is refused");
            let files = open(&root);
            assert!(contents(&root).contains(OLD), "{what}: the old text is lost");
            let first_write = files.write(path, b"next\n", Expected::Any).map(|_| ());
            assert!(first_write.is_ok(), "{what} {word}: {first_write:?}");
            assert_eq!(leftovers(&root), 0, "{what}");
        }
    }
}

/// A move that is done can be neither looked at nor undone.
#[test]
fn a_move_that_cannot_be_undone_is_in_doubt() {
    let mut words = HashSet::new();
    let call = if has_openat2() { "openat2" } else { "openat" };
    for k in 1..=32 {
        let scratch = in_memory();
        let opens = format!("{call}:error=EIO:when={}+", number(call, k));
        let inject = format!("{opens} renameat2:error=EIO:when=2+");
        let word = change(scratch.path(), "rename", &inject);
        check(scratch.path(), "rename", &word, &inject);
        words.insert(word);
    }
    assert!(words.contains("in doubt"), "{words:?}");
}
