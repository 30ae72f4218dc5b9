//! Tests of status and verify: bad lines, conflict markers and hidden folders are counted, named.

#![allow(missing_docs)]

mod fixture;

use std::fs;

use fixture::{TestRoot, ask, files_with};

const SAID: &str = "{\"role\":\"user\",\"content\":\"kiwi\"}\n";
const CONFLICT: &str = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";

#[test]
fn bad_lines_and_conflict_markers_are_counted_and_named() {
    for watch in [true, false] {
        let memory = TestRoot::new();
        memory.put("s/merged.jsonl", format!("{SAID}<<<<<<< HEAD\n{SAID}=======\n>>>>>>> b\n"));
        memory.put("s/garbage.jsonl", format!("{SAID}{SAID}not JSON\n{SAID}{{\"role\":\n[1, 2]\n"));
        memory.put("merged.md", format!("# A\n\nA heading\n=======\n\n{CONFLICT}"));
        memory.put("git.md", format!("# Git\n\n```\n{CONFLICT}```\n\nA heading\n=======\n"));
        let store = memory.open(watch);
        let expected = [
            "merged.md#L6: the first of 3 conflict markers of git; keep the text that is right and \
             delete them",
            "s/garbage.jsonl#L3: the first of 2 lines that are not valid JSON and not searched; \
             fix or delete them",
            "s/merged.jsonl#L2: the first of 3 lines that are not valid JSON, 3 of them conflict \
             markers of git; delete those and keep the messages between them",
        ];
        let check = |store: &commonplace_core::store::Store| {
            let status = store.status(&|| false).unwrap();
            assert_eq!(
                (status.bad_line_count, &*status.bad_lines),
                (8, &expected.map(String::from)[..])
            );
            let verified = store.verify(&|| false).unwrap();
            assert_eq!(
                (&*verified.notes, verified.differences.len()),
                (&expected.map(String::from)[..], 0)
            );
        };
        check(&store);
        assert_eq!(files_with(&store, "kiwi").len(), 2);
        // the snapshot keeps it
        store.save().unwrap();
        drop(store);
        let store = memory.open(watch);
        assert_eq!(store.status(&|| false).unwrap().snapshot, "read");
        check(&store);
        // what is appended is read from there on
        let grown = fs::read_to_string(memory.at("s/garbage.jsonl")).unwrap() + "more garbage\n";
        fs::write(memory.at("s/garbage.jsonl"), grown).unwrap();
        fs::write(memory.at("merged.md"), "# A\n\nmended\n").unwrap();
        let status = store.status(&|| false).unwrap();
        assert_eq!((status.bad_line_count, status.bad_lines.len()), (6, 2));
        assert!(status.bad_lines[0].starts_with("s/garbage.jsonl#L3: the first of 3 lines"));
        memory.put("s/garbage.jsonl", SAID);
        memory.put("s/merged.jsonl", SAID);
        assert_eq!(store.status(&|| false).unwrap().bad_line_count, 0);
        assert!(store.verify(&|| false).unwrap().notes.is_empty());
        assert_eq!(ask(&store, "mended").hits.len(), 1);
    }
}

#[test]
fn hidden_folders_are_named() {
    let memory = TestRoot::new();
    for path in [".git/x.md", "a/.obsidian/y.md", "a/b/.trash/z/.deep/w.md", "a/b/c.md"] {
        memory.put(path, "kiwi");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("a", memory.at(".link")).unwrap();
    fs::write(memory.at(".file.md"), "kiwi").unwrap();
    let store = memory.open(true);
    store.save().unwrap();
    let hidden = || store.status(&|| false).unwrap().hidden;
    assert_eq!(hidden(), [".git", "a/.obsidian", "a/b/.trash"]);
    assert_eq!(files_with(&store, "kiwi").len(), 1);
    fs::rename(memory.at(".git"), memory.at("a/.venv")).unwrap();
    assert_eq!(hidden(), ["a/.obsidian", "a/.venv", "a/b/.trash"]);
}

#[test]
fn git_is_told_what_is_derived_and_how_transcripts_merge() {
    let memory = TestRoot::new();
    memory.put("s/messages.jsonl", SAID);
    let (ignore, attributes) = (memory.at(".commonplace/.gitignore"), memory.at(".gitattributes"));
    let store = memory.open(true);
    assert!(!attributes.exists(), "reading alone makes nothing");
    store.save().unwrap();
    assert!(fs::read_to_string(&attributes).unwrap().ends_with("*.jsonl merge=union\n"));
    let ignored = fs::read_to_string(&ignore).unwrap();
    assert!(ignored.contains("/index\n") && !ignored.contains("\n/history"), "{ignored}");
    assert_eq!(store.list("", &|| false).unwrap().len(), 1);
    assert!(store.status(&|| false).unwrap().hidden.is_empty());
    // what the user has or removes stays so
    drop(store);
    fs::remove_dir_all(memory.at(".commonplace")).unwrap();
    fs::write(&attributes, "mine").unwrap();
    memory.open(true).save().unwrap();
    assert_eq!(fs::read_to_string(&attributes).unwrap(), "mine");
    fs::remove_file(&attributes).unwrap();
    fs::remove_file(&ignore).unwrap();
    memory.put("a.md", "one");
    memory.open(true).save().unwrap();
    assert!(!attributes.exists() && !ignore.exists());
    // nor is a link followed, which takes a right on Windows that few users have
    #[cfg(unix)]
    {
        fs::remove_dir_all(memory.at(".commonplace")).unwrap();
        let outside = memory.outside().join("outside");
        std::os::unix::fs::symlink(&outside, &attributes).unwrap();
        memory.open(true).save().unwrap();
        assert!(ignore.exists() && !outside.exists());
    }
}
