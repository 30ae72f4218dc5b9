//! Session listing tests: what is listed of each, in which order, and how one is named.

use std::fmt::Write as _;

use commonplace_core::error::Error;
use commonplace_core::store::Store;
use commonplace_core::store::sessions::{Session, SessionFilter};
use fixture::TestRoot;
use proptest::prelude::*;

mod fixture;

fn sessions(store: &Store) -> Vec<Session> {
    store.sessions(&SessionFilter::default(), &|| false).unwrap()
}

fn said(role: &str, text: &str, time: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":\"{text}\",\"timestamp\":\"{time}\"}}\n")
}

fn record(fields: &str) -> String {
    format!("{{\"type\":\"session\",\"host\":\"codex\",{fields}}}\n")
}

/// A root with two projects, a subagent, and transcripts that nobody imported.
fn root() -> TestRoot {
    let root = TestRoot::new();
    let head =
        record(r#""id":"0198c1d2-aaaa","cwd":"/home/me/tea","git_branch":"main","title":"Tea""#);
    let tool = r#"{"role":"tool","content":"42"}"#;
    root.put(
        "sessions/tea/2026-02-01-0198c1d2/messages.jsonl",
        [
            &*head,
            &said("user", "Green or black?", "2026-02-01T10:00:00Z"),
            &format!("{tool}\n"),
            &said("assistant", "Green.", "2026-02-01T10:01:00Z"),
            "{\"type\":\"copy\",\"of\":\"sessions/x/messages.jsonl#L2-L4\",\"count\":3}\n",
            &record(r#""title":"Tea, twice""#),
            "not JSON\n",
        ]
        .concat(),
    );
    root.put(
        "sessions/tea/2026-02-01-0198c1d2/subagents/agent-7/messages.jsonl",
        record(r#""id":"agent-7","parent":"0198c1d2-aaaa""#)
            + &said("user", "Look it up", "2026-02-03T10:00:00Z"),
    );
    root.put(
        "sessions/web/2026-02-02-0198c1d2/messages.jsonl",
        record(r#""id":"0198c1d2-bbbb","title":"Site""#)
            + &said("user", "Make a page", "2026-02-02T10:00:00Z"),
    );
    root.put("sessions/old/messages.jsonl", said("user", "\\n  Where is it?\\nTell", "2025-01-01"));
    root.put("mine/log.jsonl", said("user", "By hand", "2024-01-01"));
    root.put("mine/empty.jsonl", "{\"level\":\"info\"}\n");
    root
}

#[test]
fn each_session_with_what_is_known_of_it() {
    let root = root();
    let store = root.open(false);
    let listed = sessions(&store);
    let names: Vec<_> = listed
        .iter()
        .map(|s| (&*s.short_id, &*s.project, s.title.as_deref().unwrap_or(""), s.messages))
        .collect();
    assert_eq!(
        names,
        [
            ("0198c1d2-b", "web", "Site", 1),
            ("0198c1d2-a", "tea", "Tea, twice", 2),
            ("agent-7", "tea", "Look it up", 1),
            ("old", "", "Where is it?", 1),
            ("log", "mine", "By hand", 1),
        ]
    );
    let tea = &listed[1];
    assert_eq!((tea.tool_messages, tea.copies), (1, 3));
    assert_eq!(
        (tea.cwd.as_deref(), tea.git_branch.as_deref()),
        (Some("/home/me/tea"), Some("main"))
    );
    assert_eq!((tea.started, tea.ended), (Some(1_769_940_000_000), Some(1_769_940_060_000)));
    assert_eq!(listed[2].parent.as_deref(), Some("0198c1d2-aaaa"));
    let status = store.status(&|| false).unwrap();
    assert_eq!(
        (status.messages, status.tool_messages, status.copies, status.other_records),
        (6, 1, 3, 6)
    );
}

#[test]
fn a_title_that_comes_later_is_taken_over() {
    let root = root();
    let store = root.open(true);
    let path = "sessions/web/2026-02-02-0198c1d2/messages.jsonl";
    let text = std::fs::read_to_string(root.at(path)).unwrap();
    root.put(path, text + &record(r#""title":"Home page""#));
    let now = &sessions(&store)[0];
    // what the record at the top says stays
    assert_eq!((now.title.as_deref(), &*now.short_id), (Some("Home page"), "0198c1d2-b"));
    assert_eq!(store.verify(&|| false).unwrap().differences, [""; 0]);
    store.close(&|| false).unwrap();
    let again = root.open(false);
    assert_eq!(again.status(&|| false).unwrap().snapshot, "read");
    assert_eq!(sessions(&again), sessions(&store));
}

#[test]
fn a_filter_takes_those_that_were_at_work_then() {
    let root = root();
    let store = root.open(false);
    let ids = |filter: SessionFilter| -> Vec<String> {
        store.sessions(&filter, &|| false).unwrap().into_iter().map(|s| s.short_id).collect()
    };
    let project = Some("tea".to_owned());
    assert_eq!(ids(SessionFilter { project, ..Default::default() }), ["0198c1d2-a", "agent-7"]);
    let noon = 1_769_947_200_000;
    // the subagent ended later than what started it
    assert_eq!(
        ids(SessionFilter { since: Some(noon), ..Default::default() }),
        ["agent-7", "0198c1d2-b"]
    );
    assert_eq!(
        ids(SessionFilter { until: Some(noon), ..Default::default() }),
        ["0198c1d2-a", "old", "log"]
    );
}

#[test]
fn a_session_is_called_by_path_folder_and_id() {
    let root = root();
    let store = root.open(false);
    let find = |name: &str| store.find_session(name, &|| false);
    let path = "sessions/tea/2026-02-01-0198c1d2/messages.jsonl";
    for name in [
        path,
        "sessions/tea/2026-02-01-0198c1d2",
        "sessions/tea/2026-02-01-0198c1d2/",
        "2026-02-01-0198c1d2",
        "0198c1d2-aaaa",
        "0198c1d2-a",
    ] {
        assert_eq!(find(name).unwrap().unwrap().path, path, "{name}");
    }
    assert_eq!(find("mine/log").unwrap().unwrap().path, "mine/log.jsonl");
    assert_eq!(find("agen").unwrap().unwrap().short_id, "agent-7");
    for name in ["age", "", "nobody", "mine", "0198c1d2-c"] {
        assert_eq!(find(name).unwrap(), None, "{name}");
    }
    let Err(Error::Query { code, why, .. }) = find("0198") else { panic!("two begin so") };
    assert_eq!(code, "ambiguous");
    assert!(why.contains("0198c1d2-a sessions/tea/2026-02-01-0198c1d2/messages.jsonl Tea, twice"));
    assert!(why.contains("0198c1d2-b "), "{why}");
}

#[test]
fn odd_records_do_no_harm() {
    let root = TestRoot::new();
    let long = "x".repeat(100_000);
    for (at, fields) in [
        format!("\"title\":\"a\\u001b[31mb\\u202e\",\"cwd\":\"{long}\""),
        "\"title\":5,\"id\":\"\",\"cwd\":\"/tea/..\",\"started\":\"99999-01-01\"".to_owned(),
        "\"id\":\"a\",\"parent\":\"b\"".to_owned(),
        "\"id\":\"b\",\"parent\":\"a\",\"title\":\"  \"".to_owned(),
        "\"id\":\"é\",\"parent\":\"é\"".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        root.put(
            &format!("s{at}/messages.jsonl"),
            record(fields) + &said("user", "hi", "2222-01-01"),
        );
    }
    let store = root.open(false);
    let listed = sessions(&store);
    assert_eq!(listed.len(), 5);
    let of = |path: &str| listed.iter().find(|session| session.path.starts_with(path)).unwrap();
    assert!(!of("s0").title.as_deref().unwrap().contains('\u{1b}'));
    assert!(of("s0").cwd.as_deref().unwrap().len() < 500);
    assert_eq!(of("s1").id, "s1");
    assert_eq!(of("s4").parent, None);
}

/// What a transcript holds, line by line, as counts: the plain reference of the status.
fn counted(lines: &[&str]) -> [usize; 5] {
    let mut counts = [0; 5];
    for line in lines {
        let place = match *line {
            TEXT => 0,
            TOOL => 1,
            COPY => {
                counts[4] += 2;
                2
            }
            OTHER | RECORD => 2,
            BAD => 3,
            _ => continue,
        };
        counts[place] += 1;
    }
    counts
}

const TEXT: &str = r#"{"role":"user","content":"green tea"}"#;
const TOOL: &str = r#"{"role":"tool","content":"42"}"#;
const COPY: &str = r#"{"type":"copy","of":"a.jsonl#L1-L2","count":2}"#;
const OTHER: &str = r#"{"level":"info"}"#;
const RECORD: &str = r#"{"type":"session","host":"codex","title":"Tea"}"#;
const BAD: &str = "<<<<<<< HEAD";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn counts_of_a_growing_transcript(
        kinds in prop::collection::vec(0..7usize, 1..30), cut in 0..30usize,
    ) {
        let kept = [TEXT, TOOL, COPY, OTHER, RECORD, BAD, ""];
        let lines: Vec<&str> = kinds.into_iter().map(|kind| kept[kind]).collect();
        let text = |lines: &[&str]| lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        });
        let root = TestRoot::new();
        root.put("a.jsonl", text(&lines[..cut.min(lines.len())]));
        let store = root.open(false);
        root.put("a.jsonl", text(&lines));
        let status = store.status(&|| false).unwrap();
        let found =
            [status.messages, status.tool_messages, status.other_records];
        let [said, tools, records, _, copies] = counted(&lines);
        prop_assert_eq!(found, [said, tools, records]);
        prop_assert_eq!(status.copies, copies);
        let listed = sessions(&store);
        let is_session = said + tools > 0 || lines.contains(&RECORD);
        prop_assert_eq!(listed.len(), usize::from(is_session));
        prop_assert!(listed.iter().all(|s| (s.messages, s.tool_messages) == (said, tools)));
        prop_assert!(store.verify(&|| false).unwrap().differences.is_empty());
    }
}
