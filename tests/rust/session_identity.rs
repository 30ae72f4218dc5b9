//! Identity of imported messages: which are one message, and which are two that say the same.

#![allow(missing_docs)]

mod fixture;

use std::fs;

use commonplace_core::store::Store;
use commonplace_core::store::import::{ImportFrom, ImportOptions, ImportReport};
use fixture::TestRoot;
use serde_json::{Value, json};

const SESSION: &str = "0198c1d2-7aaa-7bbb-8ccc-0123456789ab";

struct Sessions {
    memory: TestRoot,
    store: Store,
}

impl Sessions {
    fn new() -> Self {
        let memory = TestRoot::new();
        let store = memory.open(false);
        fs::create_dir(memory.outside().join("source")).unwrap();
        Self { memory, store }
    }

    fn put(&self, name: &str, lines: &[String]) {
        fs::write(self.memory.outside().join("source").join(name), lines.concat()).unwrap();
    }

    fn import(&self) -> ImportReport {
        let places = [ImportFrom::Path(self.memory.outside().join("source"))];
        let options = ImportOptions::default();
        self.store.import_sessions(&places, options, &|_| None, &mut |_, _| {}, &|| false).unwrap()
    }

    fn forget(&self, file: &str) {
        let _ = fs::remove_file(self.memory.root().join(".commonplace/imports").join(file));
    }

    /// The contents of all messages, sorted.
    fn texts(&self) -> Vec<String> {
        let walk = self.store.root().walk("sessions", &|| false).unwrap();
        let mut texts = Vec::new();
        for (path, _) in walk.files {
            let text = fs::read_to_string(self.memory.at(&path)).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            texts.extend(
                lines
                    .filter(|line| line["role"].is_string())
                    .map(|line| line["content"].to_string()),
            );
        }
        texts.sort();
        texts
    }
}

/// A record of Codex, which has no id; several have one time.
fn codex(text: &str) -> String {
    let line = json!({ "timestamp": "2026-01-22T05:00:01.001Z", "type": "response_item",
        "payload": { "type": "message", "role": "user", "content": text } });
    format!("{line}\n")
}

fn meta() -> String {
    let meta = json!({ "timestamp": "2026-01-22T05:00:00Z", "type": "session_meta",
        "payload": { "id": SESSION, "cwd": "/tea" } });
    format!("{meta}\n")
}

fn plain(fields: Value) -> String {
    let mut line = json!({ "role": "user", "content": "yes" });
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    format!("{line}\n")
}

#[test]
fn equal_messages_without_an_id_both_stand() {
    let sessions = Sessions::new();
    let file = |count: usize| [vec![meta()], vec![codex("go on"); count]].concat();
    sessions.put("a.jsonl", &file(2));
    sessions.import();
    assert_eq!(sessions.texts().len(), 2);
    // another file of the session: its first and second are those, its third is new
    sessions.put("b.jsonl", &file(3));
    assert_eq!(sessions.import().messages(), 1);
    assert_eq!(sessions.texts().len(), 3);
    // the first file grows by the third, which is there, and then by a fourth
    for (count, wanted) in [(3, 3), (4, 4)] {
        sessions.put("a.jsonl", &file(count));
        sessions.import();
        assert_eq!(sessions.texts().len(), wanted);
    }
    for files in [&["sources"][..], &["messages"], &["sources", "messages"]] {
        files.iter().for_each(|file| sessions.forget(file));
        assert_eq!(sessions.import().messages(), 0, "{files:?}");
        assert_eq!(sessions.texts().len(), 4);
    }
}

#[test]
fn a_session_that_grows_by_an_equal_message() {
    for fields in [json!({}), json!({ "timestamp": "2026-01-22T05:00:01Z", "session": SESSION })] {
        let sessions = Sessions::new();
        for count in 1..5 {
            sessions.put("a.jsonl", &vec![plain(fields.clone()); count]);
            assert_eq!(sessions.import().messages(), 1, "{fields}");
            assert_eq!(sessions.texts().len(), count);
        }
        assert_eq!(sessions.import().unread, 1);
    }
}

#[test]
fn a_counter_is_no_name_of_a_message() {
    let sessions = Sessions::new();
    let time = "2026-01-22T05:00:01Z";
    for (name, session) in [("a", "s"), ("b", "t"), ("c", SESSION)] {
        let line = json!({ "id": 1, "timestamp": time, "session": session });
        sessions.put(&format!("{name}.jsonl"), &[plain(line)]);
    }
    // the same counter again in a session, at another time
    let later = json!({ "id": 1, "timestamp": "2026-01-22T05:00:02Z", "session": SESSION });
    let first = json!({ "id": 1, "timestamp": time, "session": SESSION });
    sessions.put("c.jsonl", &[plain(first), plain(later)]);
    sessions.import();
    assert_eq!(sessions.texts().len(), 4);
    // an id that no host gives twice is one message wherever it stands
    let id = json!({ "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "timestamp": time, "session": "u" });
    for name in ["d", "e"] {
        sessions.put(&format!("{name}.jsonl"), &[plain(id.clone())]);
    }
    let report = sessions.import();
    assert_eq!((report.messages(), sessions.texts().len()), (1, 5));
}

#[test]
fn files_without_sessions_and_times_are_sessions_of_their_own() {
    let sessions = Sessions::new();
    let lines = [plain(json!({})), plain(json!({ "id": 1 }))];
    sessions.put("a.jsonl", &lines);
    sessions.put("b.jsonl", &lines);
    assert_eq!((sessions.import().messages(), sessions.texts().len()), (4, 4));
    for files in [&["sources"][..], &["messages"], &["sources", "messages"]] {
        files.iter().for_each(|file| sessions.forget(file));
        assert_eq!(sessions.import().messages(), 0, "{files:?}");
    }
}

/// The first line of a session of Gemini CLI.
fn gemini_head() -> String {
    let head = json!({ "sessionId": SESSION, "projectHash": "x",
        "startTime": "2026-01-22T05:00:00Z" });
    format!("{head}\n")
}

/// A message of Gemini CLI, which writes one again under its id when it has grown.
fn gemini(id: &str, text: &str) -> String {
    let line = json!({ "id": id, "timestamp": "2026-01-22T05:00:01Z", "type": "gemini",
        "content": text });
    format!("{line}\n")
}

#[test]
fn a_secret_in_a_message_that_grows_counts_once() {
    let sessions = Sessions::new();
    // what reads as a secret that was replaced is text
    let mut lines = vec![gemini_head(), gemini("a", "It says [redacted: password].")];
    lines.extend(
        ["", " and", " and more"]
            .map(|end| gemini("b", &format!("password=q7Rt2Lm9Xz4Vb6Nc8{end}"))),
    );
    sessions.put("a.jsonl", &lines);
    let report = sessions.import();
    let redacted = report.sources[0].imported.redacted.values();
    assert_eq!((report.messages(), redacted.sum::<u64>()), (2, 1));
    let texts = sessions.texts();
    assert!(texts[1].ends_with("] and more\"") && !texts[1].contains("q7Rt2"), "{texts:?}");
}

#[test]
fn of_a_message_that_grows_in_one_import_the_last_version_stays() {
    let sessions = Sessions::new();
    let said = gemini;
    let lines = [gemini_head(), said("a", "At"), said("b", "Yes"), said("a", "At the pier.")];
    sessions.put("a.jsonl", &lines);
    assert_eq!(sessions.import().messages(), 2);
    assert_eq!(sessions.texts(), ["\"At the pier.\"", "\"Yes\""]);
    // the source has the first version still
    sessions.forget("sources");
    assert_eq!(sessions.import().messages(), 0);
    assert_eq!(sessions.texts(), ["\"At the pier.\"", "\"Yes\""]);
}
