//! Transcript imports: repeated, interrupted, concurrent, and of another source.

#![allow(missing_docs)]

mod fixture;

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use commonplace_core::error::Error;
use commonplace_core::store::import::ImportOptions;
use fixture::TestRoot;

fn line(n: usize) -> String {
    format!("{{\"role\":\"user\",\"content\":\"message {n}\"}}\n")
}

fn lines(numbers: std::ops::Range<usize>) -> String {
    numbers.map(line).collect()
}

/// Imports a source of so many messages; returns how many were added.
fn import(memory: &TestRoot, messages: usize) -> Result<u64, Error> {
    let source = memory.outside().join("source.jsonl");
    fs::write(&source, lines(0..messages)).unwrap();
    let store = memory.open(false);
    let done = store.import_transcript(
        &source,
        "in/messages.jsonl",
        Default::default(),
        &mut |_| {},
        &|| false,
    );
    done.map(|(_, imported)| imported.messages)
}

/// Where each message stands in the file, by its number.
fn standing(memory: &TestRoot, messages: usize) -> Vec<usize> {
    let text = fs::read_to_string(memory.at("in/messages.jsonl")).unwrap();
    let count = |n: usize| text.matches(&format!("message {n}\"")).count();
    (0..messages).map(count).collect()
}

#[test]
fn an_import_is_idempotent() {
    let memory = TestRoot::new();
    assert_eq!(import(&memory, 5).unwrap(), 5);
    assert_eq!(import(&memory, 5).unwrap(), 0);
    assert_eq!(import(&memory, 8).unwrap(), 3);
    assert_eq!(standing(&memory, 8), [1; 8]);
}

#[test]
fn an_import_that_was_cut_off_resumes() {
    let whole = TestRoot::new();
    import(&whole, 4).unwrap();
    let bytes = fs::read(whole.at("in/messages.jsonl")).unwrap();
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|b| *b.1 == b'\n').map(|b| b.0).collect();
    for cut in [0, 7, ends[0], ends[0] + 1, ends[1] + 9, ends[2], bytes.len() - 2] {
        let memory = TestRoot::new();
        memory.put("in/messages.jsonl", &bytes[..cut]);
        import(&memory, 4).unwrap();
        import(&memory, 4).unwrap();
        let text = fs::read(memory.at("in/messages.jsonl")).unwrap();
        let good = text.split(|&b| b == b'\n').filter(|line| {
            serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|line| line.is_object())
        });
        assert_eq!(good.count(), 4, "cut at {cut}: {}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn later_lines_are_not_added_again() {
    let whole = lines(0..8);
    let ends: Vec<usize> = whole.match_indices('\n').map(|found| found.0 + 1).collect();
    // none; whole lines; in the middle of one; all but a newline
    for before in [0, ends[1], ends[1] + 9, ends[2] - 1] {
        // one more line; its middle; up to the newline; as many as there are
        for after in [ends[3], ends[4] + 9, ends[5] - 1, ends[7]] {
            let memory = TestRoot::new();
            if before > 0 {
                memory.put("in/messages.jsonl", &whole[..before]);
            }
            let source = memory.outside().join("source.jsonl");
            fs::write(&source, &whole).unwrap();
            let store = memory.open(false);
            let calls = AtomicU32::new(0);
            // a killed writer that is still in its last write: of the questions whether to go on,
            // the tenth comes after the last line, before anything is added
            let late = || {
                if calls.fetch_add(1, Ordering::Relaxed) + 1 == 10 {
                    fs::create_dir_all(memory.at("in")).unwrap();
                    let path = memory.at("in/messages.jsonl");
                    let mut file =
                        fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                    file.write_all(&whole.as_bytes()[before..after]).unwrap();
                }
                false
            };
            let path = "in/messages.jsonl";
            let (_, taken) = store
                .import_transcript(&source, path, Default::default(), &mut |_| {}, &late)
                .unwrap();
            assert_eq!(calls.into_inner(), 10);
            assert_eq!(standing(&memory, 8), [1; 8], "from {before} to {after}");
            let known = ends.iter().filter(|end| **end - 1 <= after).count();
            assert_eq!(taken.messages as usize, 8 - known);
            assert_eq!(import(&memory, 8).unwrap(), 0);
        }
    }
}

#[test]
fn imports_at_the_same_time_share_the_work() {
    // more than is added at once
    const MESSAGES: usize = 12;
    let memory = TestRoot::new();
    let source = memory.outside().join("source.jsonl");
    let long = "long ".repeat(160_000);
    let text = |n: usize| format!("{{\"role\":\"user\",\"content\":\"{long}{n}\"}}\n");
    fs::write(&source, (0..MESSAGES).map(text).collect::<String>()).unwrap();
    let taken: u64 = std::thread::scope(|scope| {
        let import = || {
            let store = memory.open(false);
            let done = store.import_transcript(
                &source,
                "in.jsonl",
                Default::default(),
                &mut |_| {},
                &|| false,
            );
            done.unwrap().1.messages
        };
        let all: Vec<_> = (0..2).map(|_| scope.spawn(import)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(taken, MESSAGES as u64);
    assert!(fs::read(memory.at("in.jsonl")).unwrap() == fs::read(&source).unwrap());
}

#[test]
fn concurrent_appends_are_not_mixed_in() {
    let memory = TestRoot::new();
    let source = memory.outside().join("source.jsonl");
    fs::write(&source, lines(0..4)).unwrap();
    let store = memory.open(false);
    let calls = AtomicU32::new(0);
    let other = || {
        if calls.fetch_add(1, Ordering::Relaxed) + 1 == 6 {
            memory.put("in.jsonl", line(99));
        }
        false
    };
    let done =
        store.import_transcript(&source, "in.jsonl", Default::default(), &mut |_| {}, &other);
    assert!(matches!(done, Err(Error::Diverged { line: 1, .. })), "{done:?}");
    assert_eq!(fs::read_to_string(memory.at("in.jsonl")).unwrap(), line(99));
}

#[test]
fn another_source_is_refused() {
    let memory = TestRoot::new();
    memory.put("in/messages.jsonl", line(7));
    assert!(matches!(import(&memory, 3), Err(Error::Diverged { line: 1, .. })));
    assert_eq!(standing(&memory, 8), [0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn the_storage_of_opencode_is_read_through_its_session() {
    let memory = TestRoot::new();
    let storage = memory.outside().join("storage");
    for (path, text) in [
        ("session/p/ses_1.json", r#"{"id":"ses_1","directory":"/app","title":"Login"}"#),
        ("message/ses_1/msg_2.json", r#"{"id":"msg_2","role":"assistant","sessionID":"ses_1"}"#),
        ("message/ses_1/msg_1.json", r#"{"id":"msg_1","role":"user","sessionID":"ses_1"}"#),
        ("message/ses_1/msg_3.json", r#"{"id":"msg_3","ro"#),
        ("message/ses_2/msg_4.json", r#"{"id":"msg_4","role":"user","sessionID":"ses_2"}"#),
        ("part/msg_1/prt_2.json", r#"{"type":"text","text":"please"}"#),
        ("part/msg_1/prt_1.json", r#"{"type":"text","text":"Fix it"}"#),
        ("part/msg_2/prt_3.json", r#"{"type":"text","text":"Done."}"#),
    ] {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (store, source) = (memory.open(false), storage.join("session/p/ses_1.json"));
    let import = || {
        store.import_transcript(
            &source,
            "in/messages.jsonl",
            ImportOptions::default(),
            &mut |_| {},
            &|| false,
        )
    };
    let (_, imported) = import().unwrap();
    assert_eq!(
        (imported.format, imported.messages, imported.skipped["no text"]),
        ("opencode", 2, 1)
    );
    assert_eq!(imported.session().unwrap().title.as_deref(), Some("Login"));
    let stored = store.messages("in/messages.jsonl", 1, 9, &|| false).unwrap();
    let texts: Vec<_> = stored.iter().map(|located| &*located.message.text).collect();
    assert_eq!(texts, ["Fix it\nplease", "Done."]);
    assert_eq!(import().unwrap().1.messages, 0);
}
