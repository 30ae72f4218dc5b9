//! Forgetting: nothing is left of it, it does not come back, and a killed call is finished.

#![allow(missing_docs)]

mod fixture;
mod session_fixture;

use std::fs;
use std::path::Path;

use commonplace_core::files::Expected;
use commonplace_core::files::version::Version;
use commonplace_core::store::forget::ForgetRequest;
use commonplace_core::store::retain::RetainRules;
use fixture::TestRoot;
use session_fixture::{Sessions, claude_lines};

const GO_ON: &(dyn Fn() -> bool + Sync) = &|| false;

fn request(text: &str) -> ForgetRequest {
    ForgetRequest { texts: vec![text.to_owned()], ..ForgetRequest::default() }
}

/// The files below a folder that hold a text.
fn holders(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holders(&path, text));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).to_lowercase().contains(text) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn nothing_is_left_and_the_rest_stays() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    for text in ["- keep\n- zaphod one\n", "- keep\n- zaphod two\n"] {
        store.files().write("a.md", text.as_bytes(), Expected::Any).unwrap();
    }
    fs::create_dir_all(memory.at(".commonplace/hooks")).unwrap();
    fs::write(memory.at(".commonplace/hooks/log.jsonl"), "{\"a\":\"Zaphod\"}\n{\"a\":1}\n")
        .unwrap();
    fs::create_dir_all(memory.at(".commonplace/vectors/e")).unwrap();
    let record = |key: u8| [vec![key; 16], vec![0; 8 + 4]].concat();
    let header = b"{\"embedder\":\"e\",\"dims\":2}\n".to_vec();
    let cache = memory.at(".commonplace/vectors/e/records");
    fs::write(&cache, [header.clone(), record(1), record(2)].concat()).unwrap();
    drop(store.refresh(GO_ON).unwrap());
    store.save().unwrap();
    assert_eq!(holders(&memory.root(), "zaphod").len(), 4);
    let plan = store.plan_forget(&request("zaphod"), GO_ON).unwrap();
    assert_eq!((plan.passages.len(), plan.revisions), (1, 1));
    assert_eq!(holders(&memory.root(), "zaphod").len(), 4);
    assert!(store.forget(&request("zaphod"), Some("other"), None, GO_ON).is_err());
    let live = [[2; 16]];
    store.forget(&request("zaphod"), Some(&plan.token), Some(&live), GO_ON).unwrap();
    assert_eq!(fs::read(&cache).unwrap(), [header, record(2)].concat());
    assert_eq!(fs::read_to_string(memory.at("a.md")).unwrap(), "- keep\n");
    let [old] = &store.files().history("a.md").unwrap()[..] else { panic!("one is kept") };
    assert_eq!(store.files().read_version("a.md", old.version).unwrap(), b"- keep\n");
    assert!(store.files().verify_history(GO_ON).unwrap().is_empty());
    let log = fs::read_to_string(memory.at(".commonplace/hooks/log.jsonl")).unwrap();
    assert_eq!(log, "{\"a\":1}\n");
    drop(store);
    assert_eq!(holders(&memory.root(), "zaphod"), [""; 0]);
}

#[test]
fn a_store_that_was_open_elsewhere_saves_nothing_of_it() {
    let memory = TestRoot::new();
    memory.put("a.md", "- keep\n- zaphod\n");
    let (one, other) = (memory.open(false), memory.open(false));
    one.forget(&request("zaphod"), None, None, GO_ON).unwrap();
    drop(other);
    assert_eq!(holders(&memory.root(), "zaphod"), [""; 0]);
}

#[test]
fn forgotten_messages_stay_out_of_every_import() {
    let sessions = Sessions::new();
    sessions.put("a.jsonl", claude_lines("aaaaaaaa-1", &["zaphod", "two"]));
    let plain =
        "{\"role\":\"user\",\"content\":\"zaphod\"}\n{\"role\":\"user\",\"content\":\"yes\"}\n";
    sessions.put("c.jsonl", plain.repeat(2));
    sessions.import();
    sessions.store.forget(&request("zaphod"), None, None, GO_ON).unwrap();
    assert_eq!(sessions.texts(), ["two", "yes", "yes"]);
    for files in [&["sources"][..], &["messages"], &["sources", "messages"]] {
        files.iter().for_each(|file| sessions.forget(file));
        sessions.import();
        assert_eq!(sessions.texts(), ["two", "yes", "yes"], "{files:?}");
        assert_eq!(holders(&sessions.memory.root(), "zaphod"), [""; 0], "{files:?}");
    }
}

#[test]
fn a_title_goes_with_the_line_that_it_is_made_of() {
    let long = format!("{}zaphod", "to the end of the ".repeat(5));
    for (said, word) in [
        ("Implement the following plan:\n\n# Zaphod\n\n## Why", "zaphod"),
        (&format!("Implement the following plan:\n\n# Go {long} and {long}"), "to the end"),
        (&format!("brainstorm:\n- {long}\n- tea"), "to the end"),
        (&format!("{long} {long}"), "to the end"),
    ] {
        let sessions = Sessions::new();
        sessions.put("a.jsonl", claude_lines("aaaaaaaa-1", &[said, "two"]));
        sessions.import();
        let title = &sessions.lines(&sessions.paths()[0])[0]["title"];
        assert!(title.as_str().unwrap().to_lowercase().contains(word), "{title}");
        sessions.store.forget(&request("zaphod"), None, None, GO_ON).unwrap();
        for files in [&[][..], &["sources"], &["sources", "messages"]] {
            files.iter().for_each(|file| sessions.forget(file));
            sessions.import();
            assert_eq!(sessions.texts(), ["two"], "{said:?} {files:?}");
            assert_eq!(holders(&sessions.memory.root(), word), [""; 0], "{said:?} {files:?}");
        }
        fs::remove_dir_all(sessions.memory.at("sessions")).unwrap();
        sessions.forget("sources");
        sessions.import();
        assert_eq!(holders(&sessions.memory.root(), word), [""; 0], "{said:?}");
    }
}

#[test]
fn a_killed_call_is_finished_by_the_next_opening() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    for text in ["- zaphod\n", "- keep\n- zaphod\n"] {
        store.files().write("a.md", text.as_bytes(), Expected::Any).unwrap();
    }
    let address = store.files().history("a.md").unwrap()[0].address.clone();
    let version = store.files().read("a.md").unwrap().1;
    store.save().unwrap();
    drop(store);
    // as a call leaves it that is killed before it has erased anything
    let journal = format!(
        "{{\"files\":[[\"a.md\",\"{version}\",[[0,16,\"- keep\\n\"]],false]],\"revisions\":[\"{address}\"],\
         \"dropped\":[],\"anywhere\":[[\"zaphod\",true]],\"own\":[],\"messages\":[],\"texts\":[]}}"
    );
    let place = memory.at(".commonplace/forgetting");
    // and one that was killed while it wrote that: nothing is erased
    fs::write(&place, &journal[..journal.len() / 2]).unwrap();
    drop(memory.open(false));
    assert_eq!(fs::read_to_string(memory.at("a.md")).unwrap(), "- keep\n- zaphod\n");
    assert!(!place.exists());
    fs::write(&place, journal).unwrap();
    drop(memory.open(false));
    assert_eq!(fs::read_to_string(memory.at("a.md")).unwrap(), "- keep\n");
    assert_eq!(holders(&memory.root(), "zaphod"), [""; 0]);
}

#[test]
fn a_short_line_takes_no_other_from_the_history() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    for text in ["- note\n- footnote on Rome\n- a note\n- keep\n", "- note\n- keep\n"] {
        store.files().write("a.md", text.as_bytes(), Expected::Any).unwrap();
    }
    let lines = vec![("a.md".to_owned(), 1, 1)];
    let request = ForgetRequest { lines, ..ForgetRequest::default() };
    store.forget(&request, None, None, GO_ON).unwrap();
    let address = store.files().history("a.md").unwrap()[0].address.clone();
    let old = fs::read_to_string(memory.at(&address)).unwrap();
    assert_eq!(old, "- footnote on Rome\n- a note\n- keep\n");
}

#[test]
fn metadata_of_a_message_is_not_looked_at() {
    let memory = TestRoot::new();
    let line = |id: &str, role: &str, text: &str| {
        format!("{{\"role\":\"{role}\",\"id\":\"{id}\",\"content\":\"{text}\"}}\n")
    };
    let (one, two) = (line("4bbb", "user", "hello there"), line("4ccc", "assistant", "hi"));
    // in the history too
    let both = one + &two;
    let version = Version::of(both.as_bytes());
    let old = format!("s/messages.jsonl/20260201T000000.000000000Z-{version}.jsonl");
    for path in ["s/messages.jsonl", &format!(".commonplace/history/{old}")] {
        memory.put(path, &both);
    }
    let store = memory.open(false);
    for text in ["assistant", "4bbb", "role", "content"] {
        assert!(store.forget(&request(text), None, None, GO_ON).unwrap().is_empty(), "{text}");
    }
    let done = store.forget(&request("hello"), None, None, GO_ON).unwrap();
    assert_eq!((done.passages.len(), done.revisions), (1, 1));
    let old = store.files().history("s/messages.jsonl").unwrap().remove(0).address;
    for path in ["s/messages.jsonl", &old] {
        assert!(fs::read_to_string(memory.at(path)).unwrap().ends_with(&two), "{path}");
    }
    assert_eq!(holders(&memory.root(), "hello"), [""; 0]);
}

#[test]
fn what_a_killed_import_has_staged_goes_too() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    store.files().write("a.md", b"- zaphod\n- keep\n", Expected::Any).unwrap();
    fs::create_dir_all(memory.at(".commonplace/imports/new")).unwrap();
    fs::write(memory.at(".commonplace/imports/new/0"), "{\"content\":\"zaphod\"}\n").unwrap();
    store.forget(&request("zaphod"), None, None, GO_ON).unwrap();
    assert_eq!(holders(&memory.root(), "zaphod"), [""; 0]);
}

#[test]
fn a_file_that_was_changed_after_the_kill_does_not_go_as_a_whole() {
    let memory = TestRoot::new();
    drop(memory.open(false));
    // in Latin-1: no unit of it can be taken out
    let changed = b"- zaphod\n- caf\xe9\n";
    fs::write(memory.at("a.md"), changed).unwrap();
    let journal = "{\"files\":[[\"a.md\",\"0\",[[0,16,\"- keep\\n\"]],false]],\"revisions\":[],\
         \"dropped\":[],\"anywhere\":[[\"zaphod\",true]],\"own\":[],\"messages\":[],\"texts\":[]}";
    let place = memory.at(".commonplace/forgetting");
    fs::create_dir_all(memory.at(".commonplace")).unwrap();
    fs::write(&place, journal).unwrap();
    drop(memory.open(false));
    assert_eq!(fs::read(memory.at("a.md")).unwrap(), changed);
    assert!(!place.exists());
}

#[test]
fn without_a_rule_nothing_goes() {
    let memory = TestRoot::new();
    let store = memory.open(false);
    for text in ["one", "two", "three"] {
        store.files().write("a.md", text.as_bytes(), Expected::Any).unwrap();
    }
    let retain = |rules: RetainRules, dry_run: bool| {
        store.retain(&rules, dry_run, None, GO_ON).unwrap().revisions.len()
    };
    let one = RetainRules { history_count: Some(1), ..RetainRules::default() };
    assert_eq!((retain(RetainRules::default(), false), retain(one, true)), (0, 1));
    assert_eq!(store.files().history("a.md").unwrap().len(), 2);
    assert_eq!(retain(one, false), 1);
    let [old] = &store.files().history("a.md").unwrap()[..] else { panic!("one is kept") };
    assert_eq!(store.files().read_version("a.md", old.version).unwrap(), b"two");
}
