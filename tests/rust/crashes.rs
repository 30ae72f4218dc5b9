//! Death and disk errors at every step of a change: old or new, never torn, never a false yes.

#![allow(missing_docs, clippy::print_stdout)]

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use commonplace_core::error::Error;
use commonplace_core::files::root::Root;
use commonplace_core::files::rules::Rules;
use commonplace_core::files::version::Version;
use commonplace_core::files::{Expected, Files};

fn open(dir: &Path) -> Files {
    Files::new(Root::open(dir, false).unwrap(), Rules::default())
}

/// Every file below, hidden ones included.
fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn contents(dir: &Path) -> HashSet<Vec<u8>> {
    all_files(dir).into_iter().map(|path| fs::read(path).unwrap()).collect()
}

fn leftovers(dir: &Path) -> usize {
    all_files(dir).iter().filter(|path| path.extension().is_some_and(|e| e == "swap")).count()
}

const OLD: &[u8] = b"old\n";
const NEW: &[u8] = b"new\n";

/// The child of the test below: one change, and a word about how it went.
#[test]
fn child_changes() {
    let Ok(scratch) = std::env::var("CHANGE_IN") else {
        return;
    };
    let scratch = Path::new(&scratch);
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
    fs::write(scratch.join("outcome"), word).unwrap();
}

/// Makes one change in a child under `strace`; returns its word, empty if it died.
fn change(scratch: &Path, change: &str, inject: &str) -> String {
    let root = scratch.join("root");
    fs::create_dir_all(root.join("facts")).unwrap();
    fs::write(root.join("facts/note.md"), OLD).unwrap();
    fs::write(root.join("s.jsonl"), "{\"n\":1}\n{\"n\":2").unwrap();
    let call = inject.split(':').next().unwrap();
    let _ = Command::new("strace")
        .args(["-f", "-y", "-qq", "-e", &format!("trace={call}"), "-o"])
        .arg(scratch.join("trace"))
        .args(["-e", &format!("inject={inject}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_changes"])
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
    let is_new = match change {
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
    if change(scratch.path(), "replace", "getppid:error=EIO") != "ok" {
        return println!("no strace that can trace here: nothing tried");
    }
    let folders = ["sync root", "sync .commonplace", "sync history", "sync facts"];
    // The text of a person that is displaced is synced before it loses its name.
    let exchange =
        ["sync staged", "sync note.md", "exchange", "rename", "sync facts", "sync note.md"];
    let create = ["sync root", "sync root", "sync staged", "rename", "sync made"];
    let delete = ["rename", "sync facts", "sync note.md"];
    let rename = ["sync root", "sync note.md", "rename", "sync moved", "sync facts"];
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
        assert_eq!(change(scratch.path(), op, "fsync,fdatasync,renameat2:delay_exit=0"), "ok");
        let trace = fs::read_to_string(scratch.path().join("trace")).unwrap();
        let found: Vec<String> = trace.lines().filter_map(step).collect();
        assert_eq!(found, steps, "{op}:\n{trace}");
    }
}

/// One line of a trace in a few words.
fn step(line: &str) -> Option<String> {
    if line.contains("renameat2(") {
        return Some(if line.contains("EXCHANGE") { "exchange" } else { "rename" }.into());
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
    if change(scratch.path(), "replace", "getppid:error=EIO") != "ok" {
        return println!("no strace that can trace here: nothing tried");
    }
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
        ("openat", 4),
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

/// The state after a death at each step of a replace, made by hand.
#[test]
fn a_crash_at_each_step_of_a_replace_is_recovered() {
    let (old, new) = (Version::of(b"old"), Version::of(b"new"));
    let base = &old.to_string()[..16];
    let staged = format!("facts/.user.md.00112233445566778899aabbccddeeff-{base}.swap");
    let kept = format!(".commonplace/history/facts/user.md/20260105T120000.000000000Z-{old}.md");
    let conflict = format!("facts/user.conflict-{}.md", &new.to_string()[..8]);
    // (live, staged, kept) before; the conflict copy after.
    for (step, live, left, history, shown) in [
        ("staged, empty", "old", Some(""), None, None),
        ("staged, whole", "old", Some("new"), None, Some(conflict.as_str())),
        ("exchanged", "new", Some("old"), None, None),
        ("exchanged, a person's save displaced", "new", Some("theirs"), None, Some("theirs")),
        ("kept", "new", None, Some("old"), None),
        ("linked to the history, then renamed", "new", Some("old"), Some("old"), None),
        ("given back", "theirs", Some("new"), None, Some(conflict.as_str())),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("facts/user.md", live);
        left.iter().for_each(|text| put(&staged, text));
        history.iter().for_each(|text| put(&kept, text));
        let before: HashSet<_> = contents(dir.path());
        let files = open(dir.path());
        let surfaced = files.recover().unwrap();
        let lost: Vec<_> = before.difference(&contents(dir.path())).cloned().collect();
        assert!(lost.iter().all(Vec::is_empty), "{step}: lost {lost:?}");
        assert_eq!(fs::read_to_string(dir.path().join("facts/user.md")).unwrap(), live, "{step}");
        assert_eq!(leftovers(dir.path()), 0, "{step}");
        match shown {
            None => assert!(surfaced.is_empty(), "{step}: {surfaced:?}"),
            Some("theirs") => assert_eq!(files.read(&surfaced[0]).unwrap().0, b"theirs"),
            Some(path) => assert_eq!(surfaced, [path], "{step}"),
        }
        assert!(files.recover().unwrap().is_empty(), "{step}: recovery is done once");
    }
}

#[test]
fn a_save_into_a_displaced_file_is_brought_up() {
    for restart in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note.md");
        fs::write(&path, "base").unwrap();
        let files = open(dir.path());
        // An editor opened the file before the write and saves in place after it.
        let mut editor = fs::OpenOptions::new().write(true).open(&path).unwrap();
        files.write("note.md", b"ours", Expected::Any).unwrap();
        editor.write_all(b"theirs").unwrap();
        let files = if restart {
            let files = open(dir.path());
            assert_eq!(files.recover().unwrap().len(), 1);
            files
        } else {
            files.write("other.md", b"x", Expected::Any).unwrap();
            files
        };
        let name = format!("note.conflict-{}.md", &Version::of(b"theirs").to_string()[..8]);
        assert_eq!(files.read(&name).unwrap().0, b"theirs");
        assert_eq!(files.read("note.md").unwrap().0, b"ours");
        assert!(files.recover().unwrap().is_empty());
    }
}

#[test]
fn a_copy_that_a_crash_left_without_its_name_gets_it_if_it_is_whole() {
    for (left, shown) in [("base", 1), ("ba", 0)] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("note.md"), "base").unwrap();
        let version = Version::of(b"base");
        let shelf = dir.path().join(".commonplace/history/note.md");
        fs::create_dir_all(&shelf).unwrap();
        fs::write(shelf.join(format!(".{version}.swap")), left).unwrap();
        let files = open(dir.path());
        assert!(files.recover().unwrap().is_empty());
        assert_eq!(leftovers(dir.path()), 0);
        let history = files.history("note.md").unwrap();
        assert_eq!(history.len(), shown, "{left}");
        assert!(history.iter().all(|past| past.version == version && past.size == 4));
    }
}

#[test]
fn a_torn_tail_costs_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (files, path) = (open(dir.path()), dir.path().join("s.jsonl"));
    let whole = b"{\"content\":\"first\"}\n";
    let torn = b"{\"content\":\"second \xc3\xa9\"}";
    for cut in 0..=torn.len() {
        for filler in [&b""[..], &[0; 9]] {
            let start = [whole, &torn[..cut], filler].concat();
            fs::write(&path, &start).unwrap();
            let line = b"{\"content\":\"third\"}";
            let appended = files.append("s.jsonl", line, Expected::Any).unwrap();
            let after = fs::read(&path).unwrap();
            assert!(after.starts_with(&start), "nothing is ever cut off");
            let at = usize::try_from(appended.span.as_ref().unwrap().start).unwrap();
            assert_eq!(&after[at..], [&line[..], b"\n"].concat());
            assert_eq!(after[at - 1], b'\n');
            assert_eq!(appended.span.unwrap().end, after.len() as u64);
            let is_torn = start.len() > whole.len() && (cut < torn.len() || !filler.is_empty());
            let copy = appended.quarantined.map(|kept| fs::read(dir.path().join(kept)).unwrap());
            assert_eq!(copy, is_torn.then(|| start[whole.len()..].to_vec()));
        }
    }
}
