//! Sources of sessions: the places of hosts, links, the memory itself, and files that hold none.

#![allow(missing_docs)]

mod fixture;
mod session_fixture;

use std::fs;
use std::path::PathBuf;

use commonplace_core::store::import::{ImportFrom, ImportOptions, Outcome};
use session_fixture::{Sessions, claude, claude_lines, counts};

#[test]
fn what_is_no_session_is_named() {
    let sessions = Sessions::new();
    let report = sessions.import();
    assert!(matches!(&report.sources[0].outcome, Outcome::Skipped(why) if why.contains("no file")));
    sessions.put("package.json", "{\"name\": \"tea\",\n\"version\": 1}\n");
    sessions.put("broken.json", "[{\"role\":");
    sessions.put("notes.md", "# not a conversation\n");
    sessions.put("utf16.jsonl", b"\xFF\xFE{\0}\0\n\0");
    sessions.put("good.jsonl", format!("{}{}", claude("aaaaaaaa-1", 0, "one"), "not json\n"));
    let report = sessions.import();
    assert_eq!(counts(&report), [1, 0, 0, 3]);
    let good = report.sources.iter().find(|one| one.source.ends_with("good.jsonl")).unwrap();
    assert_eq!(good.imported.first_bad_lines, [2]);
    // a file of another program is not read again
    let again = sessions.import();
    assert_eq!((again.count("skipped"), again.sources.len()), (3, 2));
}

#[test]
fn the_memory_itself_is_no_source() {
    let sessions = Sessions::new();
    sessions.put("a.jsonl", claude_lines("aaaaaaaa-1", &["one"]));
    let places = [ImportFrom::Path(sessions.memory.outside().to_owned())];
    for wanted in [1, 0] {
        let store = &sessions.store;
        let report = store
            .import_sessions(&places, ImportOptions::default(), &|_| None, &mut |_, _| {}, &|| {
                false
            })
            .unwrap();
        assert_eq!((report.messages(), report.sources.len()), (wanted, wanted as usize));
    }
}

#[test]
fn a_path_that_leads_through_the_memory_and_out_of_it() {
    let sessions = Sessions::new();
    let root = fs::canonicalize(sessions.memory.root()).unwrap();
    let source = sessions.put("a.jsonl", "{\"role\":\"user\",\"content\":\"one\"}\n");
    let source = fs::canonicalize(source).unwrap();
    let up = "../".repeat(root.components().count() - 1);
    let through = root.join(up).join(source.strip_prefix("/").unwrap());
    // both are names of one file
    for (path, wanted) in [(through, [1, 0]), (source, [0, 1])] {
        let (places, options) = ([ImportFrom::Path(path)], ImportOptions::default());
        let report = sessions
            .store
            .import_sessions(&places, options, &|_| None, &mut |_, _| {}, &|| false)
            .unwrap();
        assert_eq!([report.messages(), report.unread], wanted);
    }
}

#[test]
fn hosts_are_found_in_their_places() {
    let sessions = Sessions::new();
    let home = sessions.source("home");
    sessions.put("home/.claude/projects/-tea/a.jsonl", claude_lines("aaaaaaaa-1", &["one"]));
    sessions.put("home/.claude/history.jsonl", claude_lines("cccccccc-1", &["no session"]));
    sessions.put("elsewhere/projects/-tea/a.jsonl", claude_lines("bbbbbbbb-1", &["two"]));
    let import = |places: &[ImportFrom], named: Option<PathBuf>| {
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone().into()),
            "CLAUDE_CONFIG_DIR" => named.clone().map(Into::into),
            _ => None,
        };
        sessions.store.import_sessions(
            places,
            ImportOptions::default(),
            &variable,
            &mut |_, _| {},
            &|| false,
        )
    };
    let claude = [ImportFrom::Host("claude-code".to_owned())];
    assert_eq!(counts(&import(&claude, None).unwrap()), [1, 0, 0, 0]);
    assert_eq!(counts(&import(&[ImportFrom::AllHosts], None).unwrap()), [0, 0, 1, 0]);
    let elsewhere = Some(sessions.source("elsewhere"));
    assert_eq!(counts(&import(&claude, elsewhere).unwrap()), [1, 0, 0, 0]);
    assert_eq!(sessions.texts(), ["one", "two"]);
    let codex = import(&[ImportFrom::Host("codex".to_owned())], None).unwrap();
    assert!(codex.sources[0].outcome.reason().unwrap().contains("CODEX_HOME"));
    // the database of now is named first, and what older versions had
    let opencode = import(&[ImportFrom::Host("opencode".to_owned())], None).unwrap();
    let share = home.join(".local/share/opencode");
    let named = share.join("opencode.db");
    assert_eq!(std::path::Path::new(&opencode.sources[0].source), named);
    let why = opencode.sources[0].outcome.reason().unwrap();
    assert!(why.contains(&*share.join("storage").to_string_lossy()), "{why}");
    assert!(why.ends_with("set XDG_DATA_HOME or name the database"), "{why}");
    assert!(import(&[ImportFrom::Host("nobody".to_owned())], None).is_err());
}

#[cfg(unix)] // it makes symbolic links
#[test]
fn a_relative_place_of_a_host_and_a_file_that_cannot_be_read() {
    let sessions = Sessions::new();
    // from the folder that the tests run in, as far up as is needed
    let place = sessions.source("claude");
    let up = std::env::current_dir().unwrap().components().count() - 1;
    let relative = std::path::Path::new(&"../".repeat(up)).join(place.strip_prefix("/").unwrap());
    sessions.put("claude/projects/-tea/a.jsonl", claude_lines("aaaaaaaa-1", &["one"]));
    // nobody can read a folder as a file, not even root
    std::os::unix::fs::symlink("nowhere", place.join("projects/-tea/b.jsonl")).unwrap();
    sessions.put("claude/projects/-tea/c.jsonl", claude_lines("cccccccc-1", &["three"]));
    let locked = sessions.put("claude/projects/-tea/d.jsonl", "\u{FFFD}");
    fs::write(&locked, b"\xFF\xFE{\0}\0\n\0").unwrap();
    let variable =
        |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| relative.clone().into_os_string());
    let places = [ImportFrom::Host("claude-code".to_owned())];
    let options = ImportOptions::default();
    let report = sessions
        .store
        .import_sessions(&places, options, &variable, &mut |_, _| {}, &|| false)
        .unwrap();
    assert_eq!(counts(&report), [2, 0, 0, 2]);
    assert_eq!(sessions.texts(), ["one", "three"]);
    for source in report.sources.iter().filter(|source| source.outcome.reason().is_some()) {
        assert!(source.source.starts_with('/'), "{}", source.source);
    }
}

#[cfg(unix)] // it makes symbolic links
#[test]
fn links_in_a_folder_of_sessions_are_followed() {
    use std::os::unix::fs::symlink;
    let sessions = Sessions::new();
    let elsewhere = sessions.memory.outside().join("elsewhere");
    fs::create_dir_all(elsewhere.join("deep")).unwrap();
    fs::write(elsewhere.join("deep/a.jsonl"), claude_lines("aaaaaaaa-1", &["one"])).unwrap();
    fs::write(elsewhere.join("b.txt"), claude_lines("bbbbbbbb-1", &["two"])).unwrap();
    sessions.put("real/c.jsonl", claude_lines("cccccccc-1", &["three"]));
    // a circle, the same file by another name, the memory itself, and nothing
    symlink(&elsewhere, sessions.source("project")).unwrap();
    symlink(sessions.source(""), elsewhere.join("deep/up")).unwrap();
    symlink(elsewhere.join("b.txt"), sessions.source("b.jsonl")).unwrap();
    symlink("real/c.jsonl", sessions.source("again.jsonl")).unwrap();
    symlink(sessions.memory.root(), sessions.source("memory")).unwrap();
    symlink("nowhere", sessions.source("broken")).unwrap();
    let report = sessions.import();
    assert_eq!(counts(&report), [3, 0, 0, 1]);
    assert_eq!(sessions.texts(), ["one", "three", "two"]);
    let skipped = report.sources.iter().find_map(|source| source.outcome.reason()).unwrap();
    assert!(skipped.contains("a link that cannot be followed"), "{skipped}");
    assert_eq!(counts(&sessions.import()), [0, 0, 3, 1]);
}

#[test]
fn a_database_that_is_none_is_named() {
    let sessions = Sessions::new();
    let database = sessions.put("data/opencode/opencode.db", "SQLite format 3\0");
    let data = sessions.source("data");
    let variable = |name: &str| (name == "XDG_DATA_HOME").then(|| data.clone().into_os_string());
    let places = [ImportFrom::AllHosts];
    let options = ImportOptions::default();
    let report = sessions
        .store
        .import_sessions(&places, options, &variable, &mut |_, _| {}, &|| false)
        .unwrap();
    assert_eq!((counts(&report), report.sources.len()), ([0, 0, 0, 1], 1));
    assert_eq!(report.sources[0].source, database.to_string_lossy());
    let why = report.sources[0].outcome.reason().unwrap();
    assert!(why.contains("opencode export"), "{why}");
}

#[test]
fn why_a_file_holds_no_message_is_told_by_what_it_begins_with() {
    let sessions = Sessions::new();
    let snapshot = "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n";
    let files: [(&str, &[u8], &str); 5] = [
        ("a.jsonl", b"", "it is empty"),
        ("b.jsonl", b"PK\x03\x04\x14\0", "it is a zip archive; unpack it and import the folder"),
        ("c.jsonl", b"\x1f\x8b\x08\0", "it is compressed; unpack it first"),
        ("d.jsonl", b"{\"name\":\"tea\"}\n", "it holds no message of a known format"),
        ("e.jsonl", snapshot.as_bytes(), "its session has no message yet"),
    ];
    for (name, bytes, _) in files {
        sessions.put(name, bytes);
    }
    let report = sessions.import();
    for (name, _, why) in files {
        let one = report.sources.iter().find(|one| one.source.ends_with(name)).unwrap();
        assert_eq!(one.outcome.reason(), Some(why));
    }
}

#[test]
fn sessions_that_were_removed_are_counted_when_their_sources_are_not_read_again() {
    let sessions = Sessions::new();
    sessions.put("a.jsonl", claude_lines("aaaaaaaa-1", &["one"]));
    sessions.put("b.jsonl", claude_lines("bbbbbbbb-1", &["two"]));
    assert_eq!((sessions.import().removed, sessions.import().removed), (0, 0));
    let path = sessions.paths().remove(0);
    fs::remove_file(sessions.memory.root().join(&path)).unwrap();
    let again = sessions.import();
    assert_eq!((counts(&again), again.removed), ([0, 0, 2, 0], 1));
    assert!(!sessions.paths().contains(&path));
}
