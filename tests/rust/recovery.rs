//! Recovery tests: what a crash left behind, made by hand, is found and finished at an opening.

#![allow(missing_docs)]

mod files;
mod system;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use commonplace_core::error::Error;
use commonplace_core::files::Expected;
use commonplace_core::files::version::Version;
use commonplace_core::store::{Store, StoreOptions};
use files::{contents, leftovers, open};

/// Second names that a crash leaves where names cannot be exchanged, made by hand.
#[test]
fn second_names_of_our_own_are_removed() {
    let old = Version::of(b"old");
    let staged = format!(".user.md.00112233445566778899aabbccddeeff-{:.16}.swap", old.to_string());
    let staged = format!("facts/{staged}");
    let kept = format!(".commonplace/history/facts/user.md/20260105T120000.000000000Z-{old}.md");
    let conflict = format!("facts/user.conflict-{:.8}.md", old.to_string());
    let live = "facts/user.md";
    // One file under two names, and which of them stays.
    for (one, other, stays) in [
        (live, staged.as_str(), live),
        (live, kept.as_str(), live),
        (staged.as_str(), kept.as_str(), kept.as_str()),
        (conflict.as_str(), kept.as_str(), conflict.as_str()),
        (conflict.as_str(), staged.as_str(), conflict.as_str()),
    ] {
        for first in ["read", "write", "open"] {
            let dir = tempfile::tempdir().unwrap();
            let at = |path: &str| dir.path().join(path);
            for path in [one, other] {
                fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            }
            fs::create_dir_all(at(".commonplace")).unwrap();
            fs::write(at(one), "old").unwrap();
            fs::hard_link(at(one), at(other)).unwrap();
            let files = open(dir.path());
            match first {
                "read" if stays != kept => assert_eq!(files.read(stays).unwrap().0, b"old"),
                "write" => drop(files.write("facts/x.md", b"x", Expected::Any).unwrap()),
                _ => drop(
                    Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap(),
                ),
            }
            let left: Vec<_> = [one, other].into_iter().filter(|path| at(path).exists()).collect();
            assert_eq!(left, [stays], "{first}: {one} {other}");
        }
    }
}

/// A power cut in the middle of a move, on a file system that then has both names: the list says
/// which one was to go, even though it is of another boot.
#[test]
fn a_move_of_which_both_names_are_left_is_undone() {
    for first in ["read", "write", "open"] {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("moved")).unwrap();
        fs::create_dir_all(at(".commonplace")).unwrap();
        fs::write(at("note.md"), "old").unwrap();
        fs::hard_link(at("note.md"), at("moved/note.md")).unwrap();
        fs::write(at(".commonplace/lock"), "another boot\nnote.md\tmoved/note.md\n").unwrap();
        let files = open(dir.path());
        match first {
            "read" => assert_eq!(files.read("note.md").unwrap().0, b"old"),
            "write" => drop(files.write("note.md", b"new", Expected::Any).unwrap()),
            _ => drop(Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap()),
        }
        assert!(at("note.md").exists() && !at("moved/note.md").exists(), "{first}");
    }
}

/// A second name that a person gave is theirs, wherever it is; the refusal says where.
#[test]
fn second_names_of_a_person_stay() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| dir.path().join(path);
    fs::create_dir(at("facts")).unwrap();
    fs::write(at("facts/user.md"), "old").unwrap();
    fs::hard_link(at("facts/user.md"), at("twin.md")).unwrap();
    let files = open(dir.path());
    let read = |path: &str| match files.read(path) {
        Err(Error::Refused { code: "hardlink", why, .. }) => why,
        read => panic!("{read:?}"),
    };
    assert_eq!(
        read("twin.md"),
        "the same file is also \"facts/user.md\"; remove the name that is not wanted"
    );
    assert!(matches!(
        files.write("facts/user.md", b"x", Expected::Any),
        Err(Error::Refused { code: "hardlink", why, .. }) if why.contains("\"twin.md\"")
    ));
    assert!(at("twin.md").exists() && at("facts/user.md").exists());
    fs::hard_link(at("twin.md"), outside.path().join("third.md")).unwrap();
    assert_eq!(
        read("twin.md"),
        "the same file is also \"facts/user.md\", and something that is not shown; copy it"
    );
    fs::remove_file(at("twin.md")).unwrap();
    let why = "it has a second name, which may be outside the memory; copy it";
    assert_eq!(read("facts/user.md"), why);
    // one of a text in the history
    let name = format!("20260105T120000.000000000Z-{}.md", Version::of(b"older"));
    let kept = at(".commonplace/history/facts/user.md").join(name);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::write(&kept, "older").unwrap();
    fs::hard_link(&kept, at("mine.md")).unwrap();
    files.recover().unwrap();
    assert!(kept.exists() && at("mine.md").exists());
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
fn a_save_into_a_displaced_file_becomes_a_conflict_copy() {
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

/// An editor that saves through a handle of before a write, while each call is a process of its
/// own, or one process lives on: its words become visible, now and much later.
#[test]
fn a_late_save_into_a_displaced_file_becomes_a_conflict_copy_at_opening() {
    for lives_on in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("facts/note.md");
        fs::create_dir(dir.path().join("facts")).unwrap();
        fs::write(&path, "base").unwrap();
        let store = || Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap();
        let mut editor = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let first = store();
        first.files().write("facts/note.md", b"ours", Expected::Any).unwrap();
        let first = lives_on.then_some(first);
        // past the time in which every displaced file is looked at again
        std::thread::sleep(Duration::from_millis(1_100));
        first.iter().for_each(|store| drop(store.refresh(&|| false).unwrap()));
        drop(store());
        // first it is emptied, as editors do: no conflict copy is made of that
        editor.set_len(0).unwrap();
        drop(store());
        assert_eq!(fs::read_dir(dir.path().join("facts")).unwrap().count(), 1);
        editor.write_all(b"theirs").unwrap();
        let shown = format!("facts/note.conflict-{:.8}.md", Version::of(b"theirs").to_string());
        match &first {
            Some(store) => {
                std::thread::sleep(Duration::from_millis(1_100));
                assert_eq!(store.status(&|| false).unwrap().recovered, [shown.as_str()]);
            }
            None => drop(store()),
        }
        assert_eq!(fs::read_to_string(dir.path().join(shown)).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
    }
}

/// The same of a file that was deleted: its writer noted where it goes, and died.
#[test]
fn a_save_into_a_deleted_file_becomes_a_conflict_copy_at_opening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note.md");
    fs::write(&path, "base").unwrap();
    let mut editor = fs::OpenOptions::new().write(true).open(&path).unwrap();
    open(dir.path()).delete("note.md", Expected::Any).unwrap();
    editor.write_all(b"theirs").unwrap();
    drop(Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap());
    let shown = format!("note.conflict-{:.8}.md", Version::of(b"theirs").to_string());
    assert_eq!(fs::read_to_string(dir.path().join(shown)).unwrap(), "theirs");
}

/// The list is not synced: of another boot it may lack what a power cut has left.
#[test]
fn a_recovery_list_of_another_boot_is_ignored() {
    for list in [None, Some("01234567-89ab-cdef-0123-456789abcdef\n")] {
        for opens in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let note = dir.path().join("note.md");
            fs::write(&note, "base").unwrap();
            let mut editor = fs::OpenOptions::new().write(true).open(&note).unwrap();
            open(dir.path()).write("note.md", b"ours", Expected::Any).unwrap();
            editor.write_all(b"theirs").unwrap();
            let lock = dir.path().join(".commonplace/lock");
            match list {
                Some(list) => fs::write(lock, list).unwrap(),
                None => fs::remove_file(lock).unwrap(),
            }
            let staged = dir.path().join(".note.md.00112233445566778899aabbccddeeff.swap");
            fs::write(&staged, "ours").unwrap();
            if opens {
                drop(Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap());
            } else {
                open(dir.path()).write("other.md", b"x", Expected::Any).unwrap();
            }
            assert!(!staged.exists(), "{list:?}, opened: {opens}");
            let shown = format!("note.conflict-{:.8}.md", Version::of(b"theirs").to_string());
            assert!(dir.path().join(shown).exists(), "{list:?}, opened: {opens}");
        }
    }
}

/// `verify` reads the whole history, whatever the list and the stamps say.
#[test]
fn a_changed_history_is_found_by_verify() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    let keep = |path: &str| {
        store.files().write(path, b"base", Expected::Any).unwrap();
        let written = store.files().write(path, b"ours", Expected::Any).unwrap();
        dir.path().join(written.history.unwrap())
    };
    let (saved, emptied) = (keep("saved.md"), keep("emptied.md"));
    fs::remove_file(dir.path().join(".commonplace/lock")).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    for (path, text) in [(&saved, "theirs"), (&emptied, "")] {
        fs::write(path, text).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let differences = store.verify(&|| false).unwrap().differences;
    let shown = format!("saved.conflict-{:.8}.md", Version::of(b"theirs").to_string());
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert!(differences.iter().any(|line| line.contains(&shown)), "{differences:?}");
    assert_eq!(fs::read_to_string(dir.path().join(shown)).unwrap(), "theirs");
    assert!(emptied.exists(), "what is empty is not shown");
}

/// Opening looks at the list alone: its cost does not grow with the history.
#[test]
fn opening_with_nothing_to_do_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let files = open(dir.path());
    files.write("note.md", b"base", Expected::Any).unwrap();
    let shelf = dir.path().join(".commonplace/history/note.md");
    fs::create_dir_all(&shelf).unwrap();
    for n in 0..20_000 {
        let name = format!("20260105T120000.{n:09}Z-{}.md", Version::of(b"base"));
        fs::write(shelf.join(name), "base").unwrap();
    }
    // the list names what the write staged; the first look takes it off
    files.recheck_if_due().unwrap();
    let times = (0..20).map(|_| {
        let files = open(dir.path());
        let started = Instant::now();
        assert!(files.recheck_if_due().unwrap().is_empty());
        started.elapsed()
    });
    let best = times.min().unwrap();
    assert!(best < Duration::from_millis(1), "{best:?}");
}

// a list of this boot is written here, and only Linux gives a boot an id
#[cfg(target_os = "linux")]
#[test]
fn a_copy_that_a_crash_left_unnamed_is_named_if_it_is_whole() {
    for (left, shown, listed) in
        [("base", 1, false), ("ba", 0, false), ("base", 1, true), ("ba", 0, true)]
    {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("note.md"), "base").unwrap();
        let version = Version::of(b"base");
        let copy = format!(".commonplace/history/note.md/.{version}.swap");
        fs::create_dir_all(dir.path().join(".commonplace/history/note.md")).unwrap();
        fs::write(dir.path().join(&copy), left).unwrap();
        let files = open(dir.path());
        if listed {
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
            fs::write(dir.path().join(".commonplace/lock"), format!("{boot}{copy}\n")).unwrap();
            assert!(files.recheck_if_due().unwrap().is_empty());
        } else {
            assert!(files.recover().unwrap().is_empty());
        }
        assert_eq!(leftovers(dir.path()), 0);
        let history = files.history("note.md").unwrap();
        assert_eq!(history.len(), shown, "{left}, listed: {listed}");
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
