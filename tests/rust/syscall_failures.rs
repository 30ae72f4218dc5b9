//! Answers of changes when a system call fails: done, not done or in doubt, and never wrong.
//!
//! `strace` lets the n-th call of a kind fail, counted in each thread. So one run tries many cases,
//! each in a thread of its own, which first makes as many calls in vain as leave the k-th of the
//! change to be the n-th.
//!
//! For Linux alone: `strace` tells and changes its system calls.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use commonplace_core::error::{Error, Result};
use commonplace_core::files::Expected;
use commonplace_core::store::{Store, StoreOptions};

const OLD: &str = "old\n";
const NEW: &str = "new\n";
const CHANGES: [&str; 11] = [
    "replace",
    "create",
    "patch",
    "append",
    "append new",
    "append torn",
    "message",
    "message new",
    "rename",
    "delete",
    "keep",
];
const CALLS: [(&str, i64); 16] = [
    ("openat2", libc::SYS_openat2),
    ("openat", libc::SYS_openat),
    ("newfstatat", libc::SYS_newfstatat),
    ("fstat", libc::SYS_fstat),
    ("statx", libc::SYS_statx),
    ("read", libc::SYS_read),
    ("pread64", libc::SYS_pread64),
    ("write", libc::SYS_write),
    ("pwrite64", libc::SYS_pwrite64),
    ("fsync", libc::SYS_fsync),
    ("fdatasync", libc::SYS_fdatasync),
    ("renameat2", libc::SYS_renameat2),
    ("linkat", libc::SYS_linkat),
    ("unlinkat", libc::SYS_unlinkat),
    ("lseek", libc::SYS_lseek),
    ("ftruncate", libc::SYS_ftruncate),
];
const ERRORS: [&str; 5] = ["EIO", "ENOSPC", "EMFILE", "EROFS", "EDQUOT"];
/// Which call of its kind fails in each thread: the last that any change makes, also where there is
/// no `openat2` (`tests/refuse.py`) and each folder on the way is opened by itself.
const NTH: usize = 24;

fn open(root: &Path) -> Store {
    let options = StoreOptions { watch: false, ..StoreOptions::default() };
    Store::open(root.to_str().unwrap(), options).unwrap()
}

/// One case of a run: a change, and which of its calls is to fail.
#[derive(Clone)]
struct Case {
    change: &'static str,
    k: usize,
}

impl Case {
    fn root(&self, scratch: &Path) -> PathBuf {
        scratch.join(format!("{}-{}", self.change.replace(' ', "-"), self.k))
    }

    /// Makes the files as they are before the change.
    fn prepare(&self, scratch: &Path) {
        let root = self.root(scratch);
        fs::create_dir_all(root.join("facts")).unwrap();
        let (path, text) = match self.change {
            "append torn" => ("s.jsonl", "{\"n\":1}\n{\"n\":"),
            "message" => ("s.jsonl", "{\"n\":1}\n"),
            _ => ("facts/note.md", OLD),
        };
        fs::write(root.join(path), text).unwrap();
        // so that the first change need not search the root
        open(&root).files().recover().unwrap();
    }

    fn make(&self, store: &Store) -> Result<()> {
        let (files, record) = (store.files(), b"{\"n\":3}");
        let edits = [("old".to_owned(), "new".to_owned())];
        match self.change {
            "replace" => files.write("facts/note.md", NEW.as_bytes(), Expected::Any).map(|_| ()),
            "create" => files.write("new.md", NEW.as_bytes(), Expected::Absent).map(|_| ()),
            "patch" => files.patch("facts/note.md", &edits, Expected::Any).map(|_| ()),
            "append" => files.append("facts/note.md", NEW.as_bytes(), Expected::Any).map(|_| ()),
            "append new" => files.append("new.md", NEW.as_bytes(), Expected::Any).map(|_| ()),
            "append torn" => files.append("s.jsonl", record, Expected::Any).map(|_| ()),
            "message" => store.append_message("s.jsonl", record, &|| false).map(|_| ()),
            "message new" => store.append_message("new.jsonl", record, &|| false).map(|_| ()),
            "rename" => files.rename("facts/note.md", "new.md", Expected::Any).map(|_| ()),
            "delete" => files.delete("facts/note.md", Expected::Any).map(|_| ()),
            _ => files.keep("facts/note.md").map(|_| ()),
        }
    }

    /// Where the change shows, what stands there before it and after.
    fn shows(&self) -> (&'static str, Option<&'static str>, Option<&'static str>) {
        match self.change {
            "create" | "append new" => ("new.md", None, Some(NEW)),
            "append" => ("facts/note.md", Some(OLD), Some("old\nnew\n")),
            "append torn" => {
                ("s.jsonl", Some("{\"n\":1}\n{\"n\":"), Some("{\"n\":1}\n{\"n\":\n{\"n\":3}\n"))
            }
            "message" => ("s.jsonl", Some("{\"n\":1}\n"), Some("{\"n\":1}\n{\"n\":3}\n")),
            "message new" => ("new.jsonl", None, Some("{\"n\":3}\n")),
            "rename" | "delete" => ("facts/note.md", Some(OLD), None),
            "keep" => ("facts/note.md", Some(OLD), Some(OLD)),
            _ => ("facts/note.md", Some(OLD), Some(NEW)),
        }
    }

    /// Checks that what was answered is what stands, now and after recovery.
    fn check(&self, scratch: &Path, answer: &str, what: &str) {
        let root = self.root(scratch);
        let what = format!("{} {}: {what}: {answer}", self.change, self.k);
        let (path, before, after) = self.shows();
        for recovered in [false, true] {
            let read = |path: &str| fs::read_to_string(root.join(path)).ok();
            let found = read(path);
            match answer {
                "ok" => assert_eq!(found.as_deref(), after, "{what} ({recovered})"),
                "in doubt" => {
                    let either = found.as_deref() == before || found.as_deref() == after;
                    assert!(either, "{what} ({recovered}): {found:?}");
                }
                _ => assert_eq!(found.as_deref(), before, "{what} ({recovered})"),
            }
            if self.change == "rename" {
                let (here, there) = (found.as_deref() == Some(OLD), read("new.md").is_some());
                let one = here != there || answer == "in doubt" && !recovered;
                assert!(one, "{what} ({recovered})");
            }
            let all = all_files(&root);
            let old = all.iter().any(|path| fs::read(path).unwrap().starts_with(OLD.as_bytes()));
            assert!(old || before != Some(OLD), "{what}: the old text is lost");
            if recovered {
                let is_left = |path: &&PathBuf| path.extension().is_some_and(|e| e == "swap");
                assert_eq!(all.iter().find(is_left), None, "{what}: litter");
                assert!(found.is_none() || open(&root).files().read(path).is_ok(), "{what}");
            }
            open(&root).files().recover().unwrap();
        }
    }
}

fn all_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_files(&path) } else { vec![path] }).collect()
}

/// The child of the test below: makes the changes that it is given, one after the other.
#[test]
fn child_changes() {
    let Ok(scratch) = std::env::var("CHANGES_IN") else {
        return;
    };
    let scratch = Path::new(&scratch);
    let number: i64 = std::env::var("CALL").unwrap().parse().unwrap();
    let cases = std::env::var("CASES").unwrap();
    let answers: Vec<&str> = cases
        .split(',')
        .map(|case| {
            let (change, k) = case.split_once('-').unwrap();
            let change = CHANGES.into_iter().find(|known| *known == change).unwrap();
            let case = Case { change, k: k.parse().unwrap() };
            // each thread counts its own calls
            let root = case.root(scratch);
            let store = std::thread::spawn(move || open(&root)).join().unwrap();
            let changes = std::thread::spawn(move || {
                in_vain(number, NTH - case.k);
                let answer = match case.make(&store) {
                    Ok(()) => "ok",
                    Err(Error::InDoubt { .. }) => "in doubt",
                    Err(Error::Conflict { .. }) => "conflict",
                    Err(_) => "not done",
                };
                // what it writes when it is closed is not what is tried here
                std::mem::forget(store);
                answer
            });
            changes.join().unwrap()
        })
        .collect();
    fs::write(scratch.join("answers"), answers.join(",")).unwrap();
}

/// Makes a system call on no file, so often.
fn in_vain(number: i64, times: usize) {
    for _ in 0..times {
        // SAFETY: no file has the number -1, and no address is 0: the call fails and does nothing.
        #[expect(unsafe_code, reason = "a call that is to be counted")]
        unsafe {
            libc::syscall(number, -1, 0, 0, 0, 0);
        }
    }
}

/// Runs the cases under `strace`; returns the answers.
fn run(scratch: &Path, call: (&str, i64), cases: &[Case], strace: &[String]) -> Vec<String> {
    cases.iter().for_each(|case| case.prepare(scratch));
    let given: Vec<_> = cases.iter().map(|case| format!("{}-{}", case.change, case.k)).collect();
    let ran = Command::new("strace")
        .args(["-f", "-qq", "--seccomp-bpf", "-o"])
        .arg(scratch.join("trace"))
        .args(strace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_changes"])
        // with it, the loader alone opens hundreds of files
        .env_remove("LD_LIBRARY_PATH")
        .env("CHANGES_IN", scratch)
        .env("CALL", call.1.to_string())
        .env("CASES", given.join(","))
        .output()
        .expect("strace is needed: install it, for instance with `make test`");
    let answers = fs::read_to_string(scratch.join("answers"))
        .unwrap_or_else(|e| panic!("strace {strace:?} did not do its work: {e}: {ran:?}"));
    answers.split(',').map(str::to_owned).collect()
}

/// How often each change makes each call.
fn count_calls(lacking: &[String]) -> HashMap<(&'static str, &'static str), usize> {
    let scratch = in_memory();
    let cases: Vec<Case> = CHANGES.iter().map(|change| Case { change, k: NTH - 1 }).collect();
    let mut strace = vec!["-e".to_owned(), format!("trace={}", CALLS.map(|c| c.0).join(","))];
    strace.extend_from_slice(lacking);
    // the one call in vain tells where a change begins: no other is made with these arguments
    let answers = run(scratch.path(), ("fsync", libc::SYS_fsync), &cases, &strace);
    assert!(answers.iter().all(|answer| answer == "ok"), "{answers:?}");
    let trace = fs::read_to_string(scratch.path().join("trace")).unwrap();
    let (mut threads, mut counts) = (HashMap::new(), HashMap::new());
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if call == "fsync" && arguments.starts_with("-1") {
            threads.insert(thread.to_owned(), CHANGES[threads.len()]);
        } else if let Some(change) = threads.get(thread)
            && let Some((call, _)) = CALLS.into_iter().find(|known| known.0 == call)
        {
            *counts.entry((*change, call)).or_insert(0) += 1;
        }
    }
    assert_eq!(threads.len(), CHANGES.len());
    counts
}

fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Lets each call of each change fail, once and from then on.
#[test]
fn an_answer_matches_the_disk() {
    let counts = count_calls(&[]);
    std::thread::scope(|scope| {
        for sticky in ["", "+"] {
            let counts = &counts;
            scope.spawn(move || {
                for (n, call) in CALLS.into_iter().enumerate() {
                    let error = ERRORS[(n + sticky.len()) % ERRORS.len()];
                    try_call(call, error, sticky, &[], counts);
                }
            });
        }
    });
}

/// The same where two names cannot be exchanged, nor one be given only if it is free.
#[test]
fn an_answer_matches_the_disk_without_an_exchange() {
    let lacking = ["-e".to_owned(), "inject=renameat2:error=EINVAL".to_owned()];
    let mut counts = count_calls(&lacking);
    // the others differ in nothing
    let differs = ["replace", "create", "rename", "delete"];
    counts.retain(|(change, call), _| differs.contains(change) && *call != "renameat2");
    for (n, call) in CALLS.into_iter().enumerate() {
        try_call(call, ERRORS[n % ERRORS.len()], "", &lacking, &counts);
    }
    for call in ["linkat", "unlinkat", "newfstatat"] {
        let call = CALLS.into_iter().find(|known| known.0 == call).unwrap();
        try_call(call, "EIO", "+", &lacking, &counts);
    }
}

fn try_call(
    call: (&str, i64),
    error: &str,
    sticky: &str,
    lacking: &[String],
    counts: &HashMap<(&'static str, &'static str), usize>,
) {
    let scratch = in_memory();
    let cases = CHANGES.into_iter().flat_map(|change| {
        let made = counts.get(&(change, call.0)).copied().unwrap_or(0);
        assert!(made <= NTH, "{change} makes {made} calls of {}", call.0);
        (1..=made).map(move |k| Case { change, k })
    });
    let cases: Vec<Case> = cases.collect();
    if cases.is_empty() {
        return;
    }
    let inject = format!("inject={}:error={error}:when={NTH}{sticky}", call.0);
    let mut strace = vec!["-e".to_owned(), format!("trace={},renameat2", call.0)];
    strace.extend(["-e".to_owned(), inject.clone()]);
    strace.extend_from_slice(lacking);
    let answers = run(scratch.path(), call, &cases, &strace);
    for (case, answer) in cases.iter().zip(&answers) {
        assert_ne!(answer, "conflict", "{} {} {inject}", case.change, case.k);
        case.check(scratch.path(), answer, &format!("{inject} {lacking:?}"));
    }
}
