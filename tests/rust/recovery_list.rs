//! Tests of the recovery list: no entry is lost, no crafted entry is trusted.
//!
//! For Linux alone: only there does a boot have an id, and `strace` changes system calls.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod system;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::error::Error;
use commonplace_core::files::root::Root;
use commonplace_core::files::version::Version;
use commonplace_core::files::write_rules::WriteRules;
use commonplace_core::files::{Expected, Files};
use commonplace_core::store::{Store, StoreOptions};
use system::has_exchange;

const TAG: &str = "00112233445566778899aabbccddeeff";
/// The first flush behind the rename.
const SIXTH_SYNC: &str = "fsync:signal=SIGKILL:when=6";
const NEEDED: &str = "these tests need strace, and a system where it can trace";

fn open(dir: &Path) -> Files {
    Files::new(Root::open(dir, false).unwrap(), WriteRules::default())
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

fn conflict_of(name: &str, text: &str) -> String {
    format!("{name}.conflict-{:.8}.md", Version::of(text.as_bytes()).to_string())
}

fn list(dir: &Path, first: &str, lines: &str) {
    fs::create_dir_all(dir.join(".commonplace")).unwrap();
    fs::write(dir.join(".commonplace/lock"), format!("{first}\n{lines}")).unwrap();
}

/// A write of another process, which has the faults that `strace` is told to make.
#[test]
fn child_writes() {
    if let Ok(dir) = std::env::var("WRITE_IN") {
        let done = open(Path::new(&dir)).write("note.md", b"ours", Expected::Any);
        done.unwrap();
    }
}

/// Says whether the child got through.
fn write_under(dir: &Path, faults: &[&str]) -> bool {
    let ran = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(faults)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_writes"])
        .env("WRITE_IN", dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ran.expect(NEEDED).success()
}

/// An editor has a file open that a writer exchanges; the writer dies before it has moved it to the
/// history, and only later the editor saves.
#[test]
fn a_save_into_what_a_crashed_writer_displaced_becomes_a_conflict_copy() {
    let base = format!(".note.md.{TAG}-{:.16}.swap", Version::of(b"base").to_string());
    for (how, already_kept) in
        [("killed", false), ("listed", false), ("listed", true), ("searched", false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::write(at("note.md"), "base").unwrap();
        if already_kept {
            open(dir.path()).keep("note.md").unwrap();
        }
        let mut editor = fs::OpenOptions::new().write(true).open(at("note.md")).unwrap();
        if how == "killed" {
            // where nothing is exchanged it is in the history before it loses its name, so that
            // the writer dies before it has made that durable
            let call = if has_exchange() { "renameat2:signal=SIGKILL:when=2" } else { SIXTH_SYNC };
            let faults = ["-e", "trace=renameat2,fsync", "-e", &format!("inject={call}")];
            assert!(!write_under(dir.path(), &faults), "{NEEDED}");
        } else {
            fs::rename(at("note.md"), at(&base)).unwrap();
            fs::write(at("note.md"), "ours").unwrap();
            let (first, lines) = match how {
                "listed" => (boot(), format!("{base}\n")),
                _ => (String::new(), String::new()),
            };
            list(dir.path(), &first, &lines);
        }
        open(dir.path()).recheck_if_due().unwrap();
        assert_eq!(fs::read_to_string(at("note.md")).unwrap(), "ours", "{how}");
        editor.write_all(b"they save").unwrap();
        open(dir.path()).recheck_if_due().unwrap();
        let shown = fs::read_to_string(at(&conflict_of("note", "they save")));
        assert_eq!(shown.ok().as_deref(), Some("they save"), "{how}, already kept: {already_kept}");
    }
}

/// A copy of the folder made of links gives what was displaced a second name for a while.
#[test]
fn a_displaced_file_with_a_second_name_is_not_forgotten() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    store.files().write("note.md", b"base", Expected::Any).unwrap();
    let mut editor = fs::OpenOptions::new().write(true).open(dir.path().join("note.md")).unwrap();
    let written = store.files().write("note.md", b"ours", Expected::Any).unwrap();
    let (kept, link) = (written.history.unwrap(), outside.path().join("link.md"));
    fs::hard_link(dir.path().join(&kept), &link).unwrap();
    open(dir.path()).recheck_if_due().unwrap();
    editor.write_all(b"they save").unwrap();
    open(dir.path()).recheck_if_due().unwrap();
    let differences = store.verify(&|| false).unwrap().differences;
    assert!(differences.iter().any(|line| line.starts_with(&kept)), "{differences:?}");
    fs::remove_file(link).unwrap();
    open(dir.path()).recheck_if_due().unwrap();
    let shown = fs::read_to_string(dir.path().join(conflict_of("note", "they save")));
    assert_eq!(shown.ok().as_deref(), Some("they save"));
}

/// Every file below, with its text.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&path));
        } else if !path.ends_with(".commonplace/lock") {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The lock file may come with a folder that somebody else made.
#[test]
fn a_crafted_list_touches_nothing() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("root");
    let staged = format!(".a.md.{TAG}.swap");
    let history = format!("20260105T120000.000000000Z-{}.md", Version::of(b"x"));
    let hidden = [
        "visible.swap".to_owned(),
        ".git/index.swap".to_owned(),
        format!(".git/{staged}"),
        format!(".git/{history}"),
        format!("../{staged}"),
        ".a.md.0011.swap".to_owned(),
        format!(".git/.{}.swap", Version::of(b"x")),
        format!("sub/../{staged}x.swap"),
        format!("facts/...md.{TAG}.swap"),
    ];
    fs::create_dir_all(dir.join("sub")).unwrap();
    for folder in [".git", "facts", ".commonplace/history"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for (n, path) in hidden.iter().enumerate() {
        fs::write(dir.join(path), if n % 2 == 0 { "" } else { "text" }).unwrap();
        lines.push(path.clone().into_bytes());
        lines.push(dir.join(path).to_str().unwrap().into());
        lines.push(format!(".commonplace/history/../../{path}").into_bytes());
    }
    fs::write(dir.join(".git/one"), "linked").unwrap();
    fs::hard_link(dir.join(".git/one"), dir.join(".git/two")).unwrap();
    lines.push(b".git/one\t.git/two".to_vec());
    lines.push(format!(".{}.md.{TAG}.swap", "a".repeat(1 << 20)).into_bytes());
    lines.push(b".\xff\xfe.md.00112233445566778899aabbccddeeff.swap".to_vec());
    let before = tree(outer.path());
    let of_list = |lines: &[u8]| {
        let lock = [boot().as_bytes(), b"\n", lines].concat();
        fs::write(dir.join(".commonplace/lock"), lock).unwrap();
        let started = Instant::now();
        assert_eq!(open(&dir).recheck_if_due().unwrap(), Vec::<String>::new());
        assert_eq!(tree(outer.path()), before);
        started.elapsed()
    };
    of_list(&lines.join(&b'\n'));
    // what is too long is not read
    let took = of_list(format!(".a.md.{TAG}.swap\n").repeat(1_000_000).as_bytes());
    assert!(took < Duration::from_secs(3), "{took:?}");
    let took = of_list(format!("{history}\n").repeat(1_000_000).as_bytes());
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(fs::metadata(dir.join(".commonplace/lock")).unwrap().len() < 100_000);
}

/// Without an id of the boot nobody knows whether the list is older than a power cut.
#[test]
fn without_an_id_of_the_boot_each_process_searches_once() {
    let dir = tempfile::tempdir().unwrap();
    let id = "/proc/sys/kernel/random/boot_id";
    let faults = ["-P", id, "-e", "trace=openat", "-e", "inject=openat:error=ENOENT"];
    assert!(write_under(dir.path(), &faults), "{NEEDED}");
    let lock = fs::read_to_string(dir.path().join(".commonplace/lock")).unwrap();
    assert!(!lock.starts_with(&boot()), "{NEEDED}");
    let left = dir.path().join(format!(".note.md.{TAG}.swap"));
    fs::write(&left, "ours").unwrap();
    assert!(write_under(dir.path(), &faults));
    assert!(!left.exists());
}

/// Two hosts on one share write in turn: the entries of the other are kept, and the root is
/// searched at the first turn only.
#[test]
fn the_list_of_another_host_is_adopted_after_a_search() {
    let dir = tempfile::tempdir().unwrap();
    let other = "01234567-89ab-cdef-0123-456789abcdef";
    let files = open(dir.path());
    let left = |name: &str| {
        let left = dir.path().join(format!(".{name}.{TAG}.swap"));
        fs::write(&left, "ours").unwrap();
        left
    };
    let write = |text: &str| files.write("note.md", text.as_bytes(), Expected::Any).unwrap();
    write("ours");
    let (listed, unlisted) = (left("a.md"), left("note.md"));
    list(dir.path(), other, &format!(".a.md.{TAG}.swap\n"));
    write("ours");
    assert!(!listed.exists(), "the list names it");
    assert!(unlisted.exists(), "the root was searched again");
    assert_eq!(fs::read_to_string(dir.path().join(conflict_of("a", "ours"))).unwrap(), "ours");
    fs::write(dir.path().join(".commonplace/lock"), "junk\n").unwrap();
    write("ours");
    assert!(!unlisted.exists(), "what was junk told nothing");
    let unlisted = left("note.md");
    list(dir.path(), other, "");
    open(dir.path()).recheck_if_due().unwrap();
    assert!(!unlisted.exists(), "a process searches once");
}

static STOP: AtomicBool = AtomicBool::new(false);

/// What a change looks at again can be long; it is told when nobody wants it any more.
#[test]
fn a_second_look_at_a_large_file_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    fs::File::create(dir.path().join("log.md")).unwrap().set_len(128 << 20).unwrap();
    let files = open(dir.path()).interrupted_by(|| STOP.load(Ordering::Relaxed));
    let kept = files.delete("log.md", Expected::Any).unwrap().history.unwrap();
    let changed = fs::File::options().write(true).open(dir.path().join(&kept)).unwrap();
    changed.set_len(128 << 20 | 1).unwrap();
    for first in [boot(), String::new()] {
        list(dir.path(), &first, &format!("{kept}\n"));
        STOP.store(true, Ordering::Relaxed);
        let stopped = files.write("note.md", b"x", Expected::Any);
        assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
        assert!(dir.path().join(&kept).exists() && !dir.path().join("note.md").exists());
        STOP.store(false, Ordering::Relaxed);
    }
    files.write("note.md", b"x", Expected::Any).unwrap();
    assert!(!dir.path().join(&kept).exists(), "what was interrupted is done by the next change");
}
