//! Tests of the path rules: each class of names that may not be created.

#![allow(missing_docs)]

use commonplace_core::error::Error;
use commonplace_core::files::paths::{check_create, check_read};
use commonplace_core::files::root::Root;
use commonplace_core::files::write_rules::WriteRules;
use commonplace_core::files::{Expected, Files};

fn why<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Refused { why, .. }) => why,
        _ => "not refused".to_owned(),
    }
}

fn code<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(Error::Refused { code, .. }) => code.to_owned(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn each_class_is_refused_with_its_code() {
    let long = |n: usize| "x".repeat(n);
    for (expected, paths) in [
        ("long", vec![format!("{}.md", long(201)), format!("{}a.md", "ab/".repeat(340))]),
        ("long", vec![format!("{}a.md", "x/".repeat(70)), format!("{}/a.md", long(201))]),
        ("absolute", vec!["/a.md".to_owned()]),
        ("control", ["a\0.md", "a\n.md", "a\u{7f}.md", "a\u{85}.md"].map(str::to_owned).to_vec()),
        ("control", ["a\u{2028}.md", "a\u{2029}.md"].map(str::to_owned).to_vec()),
        ("backslash", vec!["a\\b.md".to_owned()]),
        ("escape", ["../a.md", "a/../../b.md"].map(str::to_owned).to_vec()),
        ("empty", ["", "a//b.md", "a/"].map(str::to_owned).to_vec()),
        ("dot", vec!["a/./b.md".to_owned()]),
        ("dotdot", vec!["a/../b.md".to_owned()]),
        ("reserved", [".hidden.md", ".git/a.md", ".commonplace/a.md"].map(str::to_owned).to_vec()),
        ("ext", ["a", "a.txt", "a.md.sh", "a.html"].map(str::to_owned).to_vec()),
        ("case", ["a.MD", "a.Jsonl"].map(str::to_owned).to_vec()),
    ] {
        for path in paths {
            assert_eq!(code(check_create(&path)), expected, "{path:?}");
        }
    }
}

#[test]
fn each_odd_character_is_refused() {
    for (class, characters) in [
        ("Windows", "<>:\"|?*"),
        ("shells", ";&$`'{}"),
        ("dot", "\u{2024}\u{FE52}\u{FF0E}"),
        ("slash", "\u{2044}\u{2215}\u{29F8}\u{FF0F}\u{2571}"),
        ("backslash", "\u{2216}\u{29F5}\u{29F9}\u{FE68}\u{FF3C}"),
        ("invisible", "\u{AD}\u{200B}\u{200F}\u{202E}\u{2066}\u{FEFF}\u{FE0F}\u{E0001}"),
        ("filler", "\u{115F}\u{3164}\u{FFA0}\u{34F}\u{61C}\u{17B4}\u{180E}\u{1D173}\u{1BCA0}"),
        ("no character", "\u{FDD0}\u{FFFE}\u{1FFFF}\u{10FFFE}"),
        ("private", "\u{E000}\u{F8FF}\u{F0000}\u{100000}"),
        ("space", "\u{A0}\u{2003}\u{3000}\u{1680}"),
    ] {
        for c in characters.chars() {
            for path in [format!("a{c}b.md"), format!("f{c}/a.md")] {
                assert_eq!(code(check_create(&path)), "name", "{class}: {path:?}");
                let alike = ["dot", "slash", "backslash", "space"].contains(&class);
                assert_eq!(why(check_create(&path)).contains("look-alike"), alike, "{path:?}");
            }
        }
    }
}

#[test]
fn each_trap_of_a_system_is_refused() {
    let marks = format!("e{}.md", "\u{301}\u{302}".repeat(5));
    for path in [
        "a./b.md",
        "a /b.md",
        " a.md",
        "-rf.md",
        "~a.md",
        "PROGRA~1.md",
        "con.md",
        "NUL.md",
        "aux.tar.md",
        "prn/a.md",
        "com1.md",
        "LPT9.md",
        "lpt\u{b3}.md",
        &marks,
    ] {
        assert_eq!(code(check_create(path)), "name", "{path:?}");
    }
    for path in ["a.md", "a b.md", "daily/2026-01-05.md", "日本語.md", "con-text.md", "e\u{301}.md"]
    {
        assert_eq!(code(check_create(path)), "ok", "{path:?}");
    }
    for path in ["con.md", "NUL.md", "prn/a.md"] {
        assert!(why(check_create(path)).contains("takes this name for a device"), "{path:?}");
    }
    // a daily log that no calendar has, and what other agents load as orders
    let rules = WriteRules::default();
    for (path, expected) in [
        ("daily/2026-02-30.md", "name"),
        ("CLAUDE.md", "reserved"),
        ("sub/agents.md", "reserved"),
        ("skill.md", "reserved"),
        ("daily/notes.md", "ok"),
    ] {
        assert_eq!(code(rules.check_write(path)), expected, "{path:?}");
    }
    assert_eq!(code(check_read(".commonplace/lock")), "reserved");
    assert_eq!(code(check_read("a/../../b")), "escape");
}

#[test]
fn what_another_system_takes_for_the_same_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new(Root::open(dir.path(), false).unwrap(), WriteRules::default());
    files.write("Notes/Plan.md", b"x", Expected::Absent).unwrap();
    files.write("caf\u{e9}.md", b"x", Expected::Absent).unwrap();
    files.write("b.md", b"x", Expected::Absent).unwrap();
    for twin in ["notes/other.md", "Notes/plan.md"] {
        assert_eq!(code(files.write(twin, b"y", Expected::Absent)), "case", "{twin}");
        assert_eq!(code(files.append(twin, b"y", Expected::Any)), "case", "{twin}");
        assert_eq!(code(files.rename("b.md", twin, Expected::Any)), "case", "{twin}");
    }
    files.rename("Notes/Plan.md", "Notes/plan.md", Expected::Any).unwrap();
    let log = "daily/2026-01-05.md";
    files.append(log, b"x", Expected::Any).unwrap();
    files.append("s.jsonl", b"{}", Expected::Any).unwrap();
    for path in [log, "s.jsonl"] {
        assert_eq!(code(files.write(path, b"y", Expected::Any)), "appendonly");
        assert_eq!(code(files.delete(path, Expected::Any)), "appendonly");
        assert_eq!(code(files.rename(path, "c.md", Expected::Any)), "appendonly");
    }
    assert_eq!(code(files.rename("b.md", "b.jsonl", Expected::Any)), "type");
}
