//! Sandbox tests: hostile paths and folders are refused, and nothing outside is touched.
//!
//! The cases are in `hostile.json`, beside the repository; a few of each kind are
//! here for when it is not there.
//!
//! Its cases are set up by `sh`, with links and FIFOs; for Windows see `windows_files.rs`.

#![cfg(unix)]
#![allow(missing_docs, clippy::print_stdout)]

mod hostile;
mod system;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::error::{Error, Result};
use commonplace_core::files::root::Root;
use commonplace_core::files::side_files::Access;
use commonplace_core::files::walk::OpenedFolder;
use commonplace_core::files::write_rules::WriteRules;
use commonplace_core::files::{Expected, Files};
use hostile::{Case, cases};

/// A tenth of a second on a quiet machine; the tests may share theirs.
const SOON: Duration = Duration::from_secs(10);

const KINDS: [&str; 4] = ["path", "path_windows", "path_unicode", "fs"];

const OWN_CASES: &str = r#"[
 {"kind":"path","value":"../secret.txt","setup":"","expect":"reject:escape"},
 {"kind":"path","value":"..\\secret.txt","setup":"","expect":"reject:backslash"},
 {"kind":"path","value":"/etc/passwd","setup":"","expect":"reject:absolute"},
 {"kind":"path","value":"facts/user.MD","setup":"","expect":"reject:case"},
 {"kind":"path","value":"facts/user.md/x.md","setup":"","expect":"reject:type"},
 {"kind":"path","value":"daily/2026-01-05.md","setup":"","expect":"reject:appendonly"},
 {"kind":"path_windows","value":"aux.tar.md","setup":"","expect":"reject:name"},
 {"kind":"path_unicode","value":"straße.md","setup":"printf x > \"$R/strasse.md\"","expect":"reject:collision"},
 {"kind":"fs","value":"link.md","setup":"ln -s \"$O/secret.txt\" \"$R/link.md\"","expect":"reject:symlink"},
 {"kind":"fs","value":"fifo.md","setup":"mkfifo \"$R/fifo.md\"","expect":"reject:type"},
 {"kind":"fs","value":"hard.md","setup":"ln \"$O/secret.txt\" \"$R/hard.md\"","expect":"reject:hardlink"},
 {"kind":"fs","value":"a/b/c/new.md","setup":"mkdir -p \"$R/a\" && ln -s \"$O\" \"$R/a/b\"","expect":"reject:symlink"},
 {"kind":"fs","value":"*","setup":"mkfifo \"$R/facts/pipe.md\"","expect":"skip"}
]"#;

/// A scratch folder with a memory in it and a secret beside it.
struct World {
    scratch: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { scratch: tempfile::tempdir().unwrap() };
        fs::create_dir(world.outside()).unwrap();
        fs::write(world.outside().join("secret.txt"), "CANARY").unwrap();
        world.fill();
        world
    }

    /// Makes the base files that are missing: a mount may have hidden them.
    fn fill(&self) {
        for (path, text) in [
            ("facts/user.md", "# User\nlikes tea\n"),
            ("daily/2026-01-05.md", "# 2026-01-05\n"),
            ("messages.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n"),
        ] {
            let path = self.root().join(path);
            if !path.exists() {
                // A full or read-only disk may refuse; such cases are about that.
                let _ = fs::create_dir_all(path.parent().unwrap());
                let _ = fs::write(path, text);
            }
        }
    }

    fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.scratch.path().join("out")
    }

    fn files(&self) -> Files {
        Files::new(Root::open(self.root(), false).unwrap(), WriteRules::default())
    }

    fn run(&self, script: &str) {
        let done = Command::new("sh")
            .args(["-c", script])
            .current_dir(self.scratch.path())
            .env("T", self.scratch.path())
            .env("R", self.root())
            .env("O", self.outside())
            .status()
            .unwrap();
        assert!(done.success(), "setup failed: {script}");
    }

    fn assert_outside_untouched(&self) {
        let names: Vec<_> =
            fs::read_dir(self.outside()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["secret.txt"]);
        assert_eq!(fs::read(self.outside().join("secret.txt")).unwrap(), b"CANARY");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let cleanup = self.scratch.path().join("cleanup");
        if cleanup.exists() {
            let _ = Command::new("sh").arg(cleanup).status();
        }
    }
}

/// The outcome in the words of `hostile.json`.
fn verdict<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(Error::Refused { code, .. }) => format!("reject:{code}"),
        Err(Error::NotFound { .. }) => "reject:missing".into(),
        Err(Error::Io { source, .. }) => match source.kind() {
            std::io::ErrorKind::PermissionDenied => "reject:perm".into(),
            std::io::ErrorKind::ReadOnlyFilesystem => "reject:rofs".into(),
            std::io::ErrorKind::StorageFull => "reject:nospace".into(),
            kind => format!("reject:io:{kind}"),
        },
        Err(other) => format!("reject:{other}"),
    }
}

/// Runs one case; `None` when the case does not apply here.
fn run_case(case: &Case, world: &World) -> Option<String> {
    let Some(value) = case.value.as_deref() else {
        // Not a Rust string: the Python bindings refuse it. On disk it is a walk's concern.
        if case.expect == "skip" {
            return Some(walk_skips(world));
        }
        return None;
    };
    if case.kind != "fs" {
        let files = world.files();
        if case.expect == "reject:missing" {
            return Some(verdict(&files.read(value)));
        }
        let written = files.write(value, b"x", Expected::Any);
        if let (Ok(written), Some(word)) = (&written, case.expect.strip_prefix("ok:")) {
            assert_eq!(files.read(&written.path).unwrap().0, b"x");
            let normalised = written.path != value;
            assert_eq!(normalised, word == "normalised", "{value:?}");
            return Some(case.expect.clone());
        }
        return Some(verdict(&written));
    }
    match (value, case.expect.as_str()) {
        ("index", "reject:symlink") => {
            Some(verdict(&world.files().write("facts/new.md", b"x", Expected::Any)))
        }
        ("index", _) => None,
        ("root-is-/", _) => Some(verdict(&Root::open("/", false))),
        ("*", "skip") => Some(walk_skips(world)),
        ("*", _) => {
            let started = Instant::now();
            let walk = world.files().root().walk("", &|| false).unwrap();
            assert!(walk.files.len() > 20_000 && started.elapsed() < SOON);
            Some(case.expect.clone())
        }
        (_, "reject:perm") => Some(as_nobody(world, || verdict(&world.files().read(value)))),
        (_, "reject:nospace") => Some(fill_the_disk(world, value)),
        (_, "reject:rofs") => {
            let files = world.files();
            let (bytes, _) = files.read(value).unwrap();
            assert!(!bytes.is_empty());
            Some(verdict(&files.write(value, b"x", Expected::Any)))
        }
        (_, "ok:conflict-copy") => {
            let files = world.files();
            let surfaced = files.recover().unwrap();
            assert_eq!(surfaced.len(), 1);
            assert_eq!(files.read(&surfaced[0]).unwrap().0, b"human words\n");
            Some(case.expect.clone())
        }
        (_, expect) if expect.starts_with("ok:") => {
            let files = world.files();
            let (_, version) = files.read("facts/user.md").unwrap();
            files.write("facts/user.md", b"new\n", Expected::Version(version)).unwrap();
            assert_eq!(files.read("facts/user.md").unwrap().0, b"new\n");
            Some(expect.to_owned())
        }
        _ => {
            let files = world.files();
            let write = verdict(&files.write(value, b"x", Expected::Any));
            let read = verdict(&files.read(value));
            let append = verdict(&files.append(value, b"x", Expected::Any));
            assert!(!append.starts_with("ok") && !read.starts_with("ok"), "{value:?}");
            Some(write)
        }
    }
}

fn walk_skips(world: &World) -> String {
    let walk = world.files().root().walk("", &|| false).unwrap();
    assert_eq!(walk.files.len(), 3, "{:?}", walk.files);
    let plain = |shown: &str| !shown.chars().any(char::is_control);
    assert!(walk.skipped.iter().all(|(shown, _)| plain(shown)));
    if walk.skipped.is_empty() { "nothing skipped".into() } else { "skip".into() }
}

/// Runs without root's power to read everything.
fn as_nobody(world: &World, run: impl Fn() -> String + Sync) -> String {
    if !rustix::process::geteuid().is_root() {
        return run();
    }
    world.run("chmod 755 . && chown -R 65534:65534 root");
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            system::become_nobody();
            run()
        });
        thread.join().unwrap()
    })
}

/// Writes until the disk is full; at each step the old text or the new, and no litter.
fn fill_the_disk(world: &World, path: &str) -> String {
    let files = world.files();
    let mut last = fs::read(world.root().join(path)).unwrap_or_default();
    let mut failed = String::from("never full");
    for size in (0..40).map(|n| n * 7919) {
        let text = vec![b'a' + u8::try_from(size % 26).unwrap(); size];
        let written = files.write(path, &text, Expected::Any);
        match &written {
            Ok(_) => last = text,
            Err(_) => failed = verdict(&written),
        }
        assert_eq!(fs::read(world.root().join(path)).unwrap_or_default(), last);
        let log = || fs::read(world.root().join("messages.jsonl")).unwrap_or_default();
        let (before, line) = (log(), vec![b'x'; size / 3]);
        match files.append("messages.jsonl", &line, Expected::Any) {
            Ok(_) => assert!(log().starts_with(&before) && log().len() >= before.len() + size / 3),
            Err(_) => assert_eq!(log(), before, "a part of a line was left"),
        }
        let folder = fs::read_dir(world.root().join("facts"));
        let names = folder.into_iter().flatten().map(|e| e.unwrap().file_name());
        assert!(names.into_iter().all(|n| !n.to_string_lossy().ends_with(".swap")));
    }
    failed
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn hostile_paths_and_folders() {
    let (mut checked, mut left, mut wrong) = (0, Vec::new(), Vec::new());
    for case in cases(&KINDS, OWN_CASES) {
        let shown: String =
            format!("{} {:?} {:?}", case.kind, case.value, case.setup).chars().take(160).collect();
        if case.setup.starts_with("#root") && !is_root() {
            left.push(format!("needs root: {shown}"));
            continue;
        }
        let world = World::new();
        let stat = || Root::open(world.root(), false).and_then(|root| root.stat("facts/user.md"));
        let before = stat();
        let setup = case.setup.trim_start_matches("#root").trim();
        if !setup.is_empty() && !setup.starts_with('#') {
            world.run(setup);
            world.fill();
        }
        if case.expect == "ok:reindex" {
            assert_ne!(before.unwrap(), stat().unwrap(), "unseen: {shown}");
        }
        let started = Instant::now();
        match run_case(&case, &world) {
            None => left.push(shown.clone()),
            Some(got) if got == case.expect => checked += 1,
            Some(got) => wrong.push(format!("{shown}: {} expected, {got} found", case.expect)),
        }
        assert!(started.elapsed() < SOON, "slow: {shown}");
        world.assert_outside_untouched();
    }
    println!("{checked} checked, {} left:\n{}", left.len(), left.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 10);
}

#[test]
fn a_moved_root_is_followed_and_never_made_again() {
    let world = World::new();
    let files = world.files();
    fs::rename(world.root(), world.scratch.path().join("root2")).unwrap();
    files.write("facts/new.md", b"x", Expected::Absent).unwrap();
    assert!(!world.root().exists());
    assert!(world.scratch.path().join("root2/facts/new.md").exists());
}

#[test]
fn hard_links_and_sockets_are_refused() {
    let world = World::new();
    fs::hard_link(world.outside().join("secret.txt"), world.root().join("hard.md")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.root().join("socket.md")).unwrap();
    let files = world.files();
    for (path, code) in [("hard.md", "reject:hardlink"), ("socket.md", "reject:type")] {
        assert_eq!(verdict(&files.read(path)), code);
        assert_eq!(verdict(&files.write(path, b"x", Expected::Any)), code);
        assert_eq!(verdict(&files.append(path, b"x", Expected::Any)), code);
        assert_eq!(verdict(&files.delete(path, Expected::Any)), code);
        assert_eq!(verdict(&files.rename(path, "new.md", Expected::Any)), code);
    }
    world.assert_outside_untouched();
}

#[test]
fn a_file_that_turns_into_a_link_is_not_followed() {
    let world = World::new();
    let files = world.files();
    let stop = AtomicBool::new(false);
    let (file, link) = (world.root().join("facts/x.md"), world.root().join("facts/.link"));
    let swap = |target: &Path| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        fs::rename(&link, &file).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap(&world.outside().join("secret.txt"));
                let _ = fs::remove_file(&file);
                let _ = fs::write(&file, "a");
            }
        });
        let until = Instant::now() + Duration::from_millis(1500);
        while Instant::now() < until {
            for _ in 0..50 {
                if let Ok((bytes, _)) = files.read("facts/x.md") {
                    assert_ne!(bytes, b"CANARY");
                }
            }
            let _ = files.write("facts/x.md", b"ours", Expected::Any);
            let _ = files.append("facts/x.md", b"ours", Expected::Any);
        }
        stop.store(true, Ordering::Relaxed);
    });
    world.assert_outside_untouched();
}

#[test]
fn what_is_in_the_place_of_a_side_file_is_renamed() {
    let world = World::new();
    let files = world.files();
    let side = |path, access| files.root().open_side(path, access);
    for put in [
        "ln -s \"$O/secret.txt\" log",
        "ln -s \"$O/new.txt\" log",
        "ln \"$O/secret.txt\" log",
        "ln \"$O/secret.txt\" log && ln log log.aside",
        "mkfifo log",
        "mkdir -p log/inner",
    ] {
        for access in [Access::Append, Access::Update, Access::New] {
            world.run(&format!(
                "mkdir -p \"$R/.commonplace/a\" && cd \"$R/.commonplace/a\" && {put}"
            ));
            if access != Access::New {
                let refused = verdict(&side("a/log", Access::Read));
                assert!(refused.starts_with("reject:"), "{put}: {refused}");
            }
            side("a/log", access).unwrap().write_all(b"ours").unwrap();
            let mut ours = String::new();
            side("a/log", Access::Read).unwrap().read_to_string(&mut ours).unwrap();
            assert_eq!(ours, "ours", "{put}");
            world.assert_outside_untouched();
            // in the place of what stands under the new name too
            world.run(&format!(
                "cd \"$R/.commonplace/a\" && mv log ours && rm -rf log.aside && {put}"
            ));
            files.root().rename_side("a/ours", "a/log").unwrap();
            assert_eq!(fs::read(world.root().join(".commonplace/a/log")).unwrap(), b"ours");
            world.assert_outside_untouched();
            fs::remove_dir_all(world.root().join(".commonplace")).unwrap();
        }
    }
    for (path, expected) in [
        ("../facts/user.md", "reject:escape"),
        ("/etc/passwd", "reject:absolute"),
        ("a/../log", "reject:dotdot"),
        ("", "reject:empty"),
    ] {
        for access in [Access::Read, Access::Append, Access::Update, Access::New] {
            assert_eq!(verdict(&side(path, access)), expected);
        }
        assert_eq!(verdict(&files.root().rename_side(path, "log")), expected);
        assert_eq!(verdict(&files.root().rename_side("log", path)), expected);
    }
    assert_eq!(verdict(&side("none", Access::Read)), "reject:missing");
}

#[test]
fn names_that_a_caseless_system_takes_for_one_collide() {
    let world = World::new();
    let files = world.files();
    let all = ["stra\u{DF}e", "stra\u{1E9E}e", "STRA\u{1E9E}E", "strasse", "stra\u{17F}\u{17F}e"];
    for first in all {
        let kept = files.write(&format!("{first}.md"), b"x", Expected::Absent).unwrap();
        for twin in all.into_iter().filter(|twin| *twin != first) {
            let done = files.write(&format!("{twin}.md"), b"y", Expected::Absent);
            assert!(["reject:case", "reject:collision"].contains(&&*verdict(&done)), "{twin}");
        }
        files.delete(&kept.path, Expected::Any).unwrap();
    }
    // a person's own name, with what casefolding ext4 does not see
    fs::write(world.root().join("tea\u{200D}.md"), "x").unwrap();
    assert_eq!(verdict(&files.write("TEA.md", b"x", Expected::Any)), "reject:collision");
}

#[test]
fn one_name_in_two_normal_forms_is_one_file() {
    let world = World::new();
    let files = world.files();
    let (given, stored) = ("cafe\u{301}/de\u{301}tail.md", "caf\u{e9}/d\u{e9}tail.md");
    let done = files.write(given, b"one\n", Expected::Absent).unwrap();
    assert_eq!(done.path, stored);
    for path in [given, stored] {
        assert_eq!(files.read(path).unwrap(), (b"one\n".to_vec(), done.version), "{path}");
        assert_eq!(files.read_to_change(path).unwrap(), ("one\n".into(), Some(done.version)));
        assert_eq!(files.keep(path).unwrap().version, done.version);
        assert_eq!(files.history(path).unwrap().len(), 1);
        assert_eq!(files.root().normalized(path), stored);
    }
    let edits = [("one".to_owned(), "two".to_owned())];
    assert_eq!(files.patch(given, &edits, Expected::Any).unwrap().written.path, stored);
    assert_eq!(files.append(given, b"three\n", Expected::Any).unwrap().path, stored);
    assert_eq!(files.write(given, b"four\n", Expected::Any).unwrap().path, stored);
    assert_eq!(files.read_version(given, done.version).unwrap(), b"one\n");
    assert_eq!(
        files.rename(given, "cafe\u{301}/n\u{303}.md", Expected::Any).unwrap().path,
        "caf\u{e9}/\u{f1}.md"
    );
    assert_eq!(
        files.delete("cafe\u{301}/n\u{303}.md", Expected::Any).unwrap().path,
        "caf\u{e9}/\u{f1}.md"
    );
    assert_eq!(files.history("cafe\u{301}/n\u{303}.md").unwrap().len(), 1);
    assert_eq!(verdict(&files.read(given)), "reject:missing");
    // a person's own spelling stays, also of a folder in which tools write
    fs::create_dir(world.root().join("re\u{301}el")).unwrap();
    fs::write(world.root().join("re\u{301}el/a.md"), "mine").unwrap();
    assert_eq!(files.read("re\u{301}el/a.md").unwrap().0, b"mine");
    let done = files.write("re\u{301}el/e\u{301}.md", b"x", Expected::Absent).unwrap();
    assert_eq!(done.path, "re\u{301}el/\u{e9}.md");
    assert_eq!(verdict(&files.write("r\u{e9}el/b.md", b"x", Expected::Any)), "reject:collision");
    // and where both are there, each is itself
    fs::write(world.root().join("n\u{e9}e.md"), "composed").unwrap();
    fs::write(world.root().join("ne\u{301}e.md"), "decomposed").unwrap();
    assert_eq!(files.read("n\u{e9}e.md").unwrap().0, b"composed");
    assert_eq!(files.read("ne\u{301}e.md").unwrap().0, b"decomposed");
    assert_eq!(verdict(&files.read("../cafe\u{301}.md")), "reject:escape");
}

#[test]
fn colliding_folders_are_seen_too() {
    let world = World::new();
    let files = world.files();
    assert_eq!(verdict(&files.write("Facts/new.md", b"x", Expected::Any)), "reject:case");
    assert_eq!(verdict(&files.append("FACTS/user.md", b"x", Expected::Any)), "reject:case");
    // A file may change the case of its own name.
    files.write("facts/a.md", b"x", Expected::Any).unwrap();
    assert_eq!(files.rename("facts/a.md", "facts/A.md", Expected::Any).unwrap().path, "facts/A.md");
}

#[test]
fn a_walk_whose_thread_panics_ends() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..64 {
        fs::create_dir(place.path().join(format!("{number}"))).unwrap();
    }
    let root = Root::open(place.path(), false).unwrap();
    for number in 0..64 {
        let enter = |folder: &OpenedFolder<'_>| assert_ne!(folder.path, format!("{number}"));
        let walk = || root.walk_visiting("", &|| false, &enter);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(walk)).is_err());
    }
}
