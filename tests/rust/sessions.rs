//! Session listing tests: what is listed of each, in which order, and how one is named.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use commonplace_core::error::Error;
use commonplace_core::filter::{ExcludedLines, SearchFilter};
use commonplace_core::grep::GrepOptions;
use commonplace_core::store::grep::GrepFiles;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::sessions::{Session, SessionFilter};
use commonplace_core::store::{Store, StoreOptions};
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
fn a_list_that_is_kept_is_as_a_new_one() {
    let root = root();
    let kept = root.open(false);
    let tea = "sessions/tea/2026-02-01-0198c1d2/messages.jsonl";
    let add = |path: &str, line: &str| {
        let before = std::fs::read_to_string(root.at(path)).unwrap_or_default();
        root.put(path, before + line);
    };
    let late = |text: &str| said("user", text, "2026-03-01T10:00:00Z");
    let steps: [&dyn Fn(); 8] = [
        &|| {},
        &|| add(tea, &late("And without sugar?")),
        &|| add("facts/tea.md", "- Green.\n"),
        &|| add("sessions/new/messages.jsonl", &late("Begin")),
        // now its beginning is that of another
        &|| {
            add("sessions/tea/x/messages.jsonl", &(record(r#""id":"0198c1d2-aaab""#) + &late("Hi")))
        },
        &|| root.put(tea, record(r#""id":"other","title":"Coffee""#) + &late("Now coffee")),
        &|| {
            let path = "sessions/web/2026-02-02-0198c1d2/messages.jsonl";
            add(path, &record(r#""id":"0198c1d2-bbbb","parent":"other""#));
        },
        &|| std::fs::remove_file(root.at("sessions/old/messages.jsonl")).unwrap(),
    ];
    for (at, step) in steps.iter().enumerate() {
        step();
        let (found, again) = (sessions(&kept), sessions(&kept));
        assert_eq!(found, sessions(&root.open(false)), "step {at}");
        assert_eq!(found, again);
        for one in &found {
            let named = kept.find_session(&one.path, &|| false).unwrap();
            assert_eq!(named.as_ref(), Some(one), "step {at}");
        }
    }
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
        // the end of its path, and other capitals
        "tea/2026-02-01-0198c1d2",
        "tea/2026-02-01-0198c1d2/messages.jsonl",
        "Tea/2026-02-01-0198C1D2/",
        "Sessions/tea/2026-02-01-0198c1d2",
        "0198C1D2-AAAA",
        "0198C1D2-A",
    ] {
        assert_eq!(find(name).unwrap().unwrap().path, path, "{name}");
    }
    assert_eq!(find("mine/log").unwrap().unwrap().path, "mine/log.jsonl");
    // in lowercase, too, a whole name comes before a beginning, and that before an end
    for (path, id) in [("sessions/x/a", "feed"), ("sessions/x/b", "feed1234"), ("Übung/tee", "zzz")]
    {
        root.put(&format!("{path}/messages.jsonl"), record(&format!("\"id\":\"{id}\"")));
    }
    for (name, id) in [("FEED", "feed"), ("FEED1", "feed1234"), ("übung/tee", "zzz")] {
        assert_eq!(find(name).unwrap().unwrap().id, id, "{name}");
    }
    assert_eq!(find("agen").unwrap().unwrap().short_id, "agent-7");
    for name in ["age", "", "nobody", "mine", "0198c1d2-c", "ea/2026-02-01-0198c1d2", "/log"] {
        assert_eq!(find(name).unwrap(), None, "{name}");
    }
    let Err(Error::Query { code, why, .. }) = find("0198") else { panic!("two begin so") };
    assert_eq!(code, "ambiguous");
    assert!(why.contains("0198c1d2-a sessions/tea/2026-02-01-0198c1d2/messages.jsonl Tea, twice"));
    assert!(why.contains("0198c1d2-b "), "{why}");
    // no more of the id tells those apart to which two hosts gave the same
    root.put("sessions/tea/twin/messages.jsonl", record(r#""id":"0198c1d2-aaaa""#));
    let Err(Error::Query { why, .. }) = find("0198c1d2-aaaa") else { panic!("two have it") };
    assert!(why.contains("the same id, so give the path of one: sessions/"), "{why}");
    for one in [format!("{path} Tea, twice"), "sessions/tea/twin/messages.jsonl".to_owned()] {
        assert!(why.contains(&one), "{why}");
    }
    assert_eq!(find("tea/twin").unwrap().unwrap().path, "sessions/tea/twin/messages.jsonl");
}

type Found = (BTreeSet<String>, Vec<String>);

fn searched(store: &Store, query: &str, filter: SearchFilter) -> Result<Found, Error> {
    let request =
        SearchRequest { query: query.into(), limit: 99, filter, ..SearchRequest::default() };
    let found = store.search(&request, &|| false)?;
    Ok((found.hits.iter().map(|hit| hit.passage().citation.clone()).collect(), found.notes))
}

fn grepped(store: &Store, filter: SearchFilter) -> Result<Found, Error> {
    let options = GrepOptions { pattern: "tea".into(), filter, ..GrepOptions::default() };
    let mut files = GrepFiles::new(store, options, &|| false)?;
    let mut found = BTreeSet::new();
    while let Some((path, batch)) = files.next_batch(store, &|| false)? {
        found.extend(batch.into_iter().map(|one| format!("{path}#L{}", one.line)));
    }
    Ok((found, files.summary.notes))
}

fn unindexed(root: &TestRoot) -> Store {
    let options = StoreOptions { watch: false, ..StoreOptions::default() };
    Store::open(root.root().to_str().unwrap(), options).unwrap()
}

fn of_session(name: &str) -> SearchFilter {
    SearchFilter { session: Some(name.to_owned()), ..SearchFilter::default() }
}

const TEA_A: &str = "sessions/tea/2026-02-01-0198c1d2/messages.jsonl";
const TEA_AGENT: &str = "sessions/tea/2026-02-01-0198c1d2/subagents/agent-7/messages.jsonl";
const TEA_B: &str = "sessions/web/2026-02-02-0198c1d2/messages.jsonl";

/// A root whose messages all speak of tea, with and without the names of their sessions.
fn tea_root() -> TestRoot {
    let root = TestRoot::new();
    let tea = |session: &str| {
        format!("{{\"role\":\"user\",\"content\":\"tea\",\"session\":\"{session}\"}}\n")
    };
    root.put(TEA_A, record(r#""id":"0198c1d2-aaaa","title":"Green""#) + &tea("0198c1d2-aaaa"));
    // the messages of a subagent are of the session that started it, and of its own
    root.put(TEA_AGENT, record(r#""id":"agent-7""#) + &tea("0198c1d2-aaaa"));
    // these name none
    root.put(TEA_B, record(r#""id":"0198c1d2-bbbb","title":"Black""#) + &tea(""));
    root.put("opencode/messages.jsonl", record(r#""id":"ses_4f2e9a""#) + &tea("ses_4f2e9a"));
    // several sessions in one transcript
    let many = ["session_1", "session_2", "session_12"].map(tea).concat();
    root.put("locomo/messages.jsonl", many);
    root.put("byhand/messages.jsonl", tea(""));
    root
}

#[test]
fn a_filter_takes_a_session_by_what_it_is_called() {
    let root = tea_root();
    let at = |path: &str, line: usize| format!("{path}#L{line}");
    let green = vec![at(TEA_A, 2), at(TEA_AGENT, 2)];
    let black = vec![at(TEA_B, 2)];
    let open = vec![at("opencode/messages.jsonl", 2)];
    let of_many = |line| vec![at("locomo/messages.jsonl", line)];
    let (plain, store) = (unindexed(&root), root.open(false));
    for (name, expected) in [
        ("0198c1d2-aaaa", &green),
        ("0198c1d2-a", &green),
        (TEA_A, &vec![at(TEA_A, 2)]),
        ("2026-02-01-0198c1d2", &vec![at(TEA_A, 2)]),
        ("Tea/2026-02-01-0198c1d2", &vec![at(TEA_A, 2)]),
        ("0198C1D2-A", &green),
        ("./sessions/web/2026-02-02-0198c1d2/", &black),
        ("agent-7", &vec![at(TEA_AGENT, 2)]),
        ("agen", &vec![at(TEA_AGENT, 2)]),
        ("0198c1d2-b", &black),
        ("0198c1d2-bbbb", &black),
        ("ses_4f2e", &open),
        ("4f2e", &open),
        ("session_1", &of_many(1)),
        ("session_2", &of_many(2)),
        ("session_12", &of_many(3)),
        ("byhand", &vec![at("byhand/messages.jsonl", 1)]),
    ] {
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        // a grep finds them without an index, and with one
        assert_eq!(grepped(&plain, of_session(name)).unwrap().0, expected, "{name}");
        assert_eq!(searched(&store, "tea", of_session(name)).unwrap().0, expected, "{name}");
        assert_eq!(grepped(&store, of_session(name)).unwrap().0, expected, "{name}");
        let query = format!("tea session:\"{name}\"");
        let asked = searched(&store, &query, SearchFilter::default()).unwrap();
        assert_eq!(asked.0, expected, "{query} {:?}", asked.1);
        let both = searched(&store, &query, of_session(name)).unwrap();
        assert_eq!(both.0, expected, "{query} {:?}", both.1);
    }
    drop(plain);
    assert!(!root.at(".commonplace/index").exists());
}

#[test]
fn a_session_that_is_none_is_told_with_those_that_are_near() {
    let root = tea_root();
    let (unindexed, store) = (unindexed(&root), root.open(false));
    for (name, near) in [
        ("0189c1d2", "did you mean 0198c1d2-a (Green) or 0198c1d2-b (Black)"),
        ("black", "did you mean 0198c1d2-b (Black)?"),
        ("nobody knows", "`commonplace sessions` lists their ids"),
        ("4", "an id needs 4 or more characters; did you mean 4f2e9a (tea)?"),
        ("x", "an id needs 4 or more characters; `commonplace sessions` lists their ids"),
    ] {
        let told = [
            searched(&store, "tea", of_session(name)).unwrap(),
            searched(&store, &format!("tea session:\"{name}\""), SearchFilter::default()).unwrap(),
            grepped(&store, of_session(name)).unwrap(),
            grepped(&unindexed, of_session(name)).unwrap(),
        ];
        for (found, notes) in told {
            assert!(found.is_empty());
            let [note] = &*notes else { panic!("{notes:?}") };
            assert!(note.starts_with(&format!("no session {name:?}; ")), "{note}");
            let mut parts: Vec<&str> = near.split(" or ").collect();
            parts.retain(|part| !note.contains(part.trim_start_matches("did you mean ")));
            assert!(parts.is_empty(), "{note}");
        }
        let none = store.session(name, &|| false).unwrap_err().to_string();
        assert!(none.contains("no session"), "{none}");
    }
    // several: an error for the argument, a note for the query
    for told in [
        searched(&store, "tea", of_session("0198")),
        grepped(&store, of_session("0198")),
        grepped(&unindexed, of_session("0198")),
    ] {
        assert!(matches!(told, Err(Error::Query { code: "ambiguous", .. })), "{told:?}");
    }
    let (found, notes) = searched(&store, "tea session:0198", SearchFilter::default()).unwrap();
    assert!(found.is_empty() && notes[0].contains("2 sessions are called \"0198\""), "{notes:?}");
}

#[test]
fn some_lines_of_a_session_are_those_of_its_own_transcript() {
    let root = TestRoot::new();
    let in_session = |id: &str, text: &str| {
        format!("{{\"role\":\"user\",\"content\":\"{text}\",\"session\":\"{id}\"}}\n")
    };
    let own = "sessions/tea/2026-02-01-aaaa1111/messages.jsonl";
    let inner = "sessions/tea/2026-02-01-aaaa1111/subagents/agent-7/messages.jsonl";
    let [codex, claude] = ["codex", "claude"].map(|host| format!("sessions/{host}/messages.jsonl"));
    root.put(own, record(r#""id":"aaaa1111""#) + &in_session("aaaa1111", "tea one"));
    let parent = record(r#""id":"agent-7","parent":"aaaa1111""#);
    root.put(inner, parent + &in_session("aaaa1111", "tea two"));
    for path in [&codex, &claude] {
        root.put(path, record(r#""id":"bbbb2222""#) + &in_session("bbbb2222", "tea three"));
    }
    // a file of several sessions, with no record
    let mixed = in_session("cccc3333", "tea four") + &in_session("dddd4444", "tea five");
    root.put("mixed/messages.jsonl", mixed);
    let store = root.open(false);
    let excluded = |of: &str, last| {
        let lines = ExcludedLines { of: of.to_owned(), first: 1, last };
        let filter = SearchFilter { exclude: vec![lines], ..SearchFilter::default() };
        let all = searched(&store, "tea", SearchFilter::default()).unwrap().0;
        let left = searched(&store, "tea", filter)?.0;
        Ok(all.into_iter().filter(|one| !left.contains(one)).collect::<Vec<_>>())
    };
    let mixed = "mixed/messages.jsonl#L1";
    for (of, lines, session) in [
        ("aaaa1111", vec![format!("{own}#L2")], vec![format!("{own}#L2"), format!("{inner}#L2")]),
        ("aaaa", vec![format!("{own}#L2")], vec![format!("{own}#L2"), format!("{inner}#L2")]),
        (&*codex, vec![format!("{codex}#L2")], vec![format!("{codex}#L2")]),
        ("cccc3333", vec![mixed.to_owned()], vec![mixed.to_owned()]),
    ] {
        assert_eq!(excluded(of, 9).unwrap(), lines, "{of}");
        assert_eq!(excluded(of, u64::MAX).unwrap(), session, "{of}");
    }
    // of two with one id it must be said whose lines are meant
    let told: Result<_, Error> = excluded("bbbb2222", 9);
    assert!(matches!(told, Err(Error::Query { code: "ambiguous", .. })), "{told:?}");
    assert_eq!(excluded("bbbb2222", u64::MAX).unwrap().len(), 2);
}

#[test]
fn lines_of_a_session_are_excluded_by_its_short_id() {
    let root = tea_root();
    let store = root.open(false);
    let left = |of: &str| {
        let lines = ExcludedLines { of: of.to_owned(), first: 1, last: u64::MAX };
        let filter = SearchFilter { exclude: vec![lines], ..SearchFilter::default() };
        searched(&store, "tea", filter).unwrap()
    };
    let all = searched(&store, "tea", SearchFilter::default()).unwrap().0;
    for (of, fewer) in [
        ("0198c1d2-a", 2),
        ("0198c1d2-aaaa", 2),
        ("0198c1d2-b", 1),
        ("4f2e", 1),
        ("2026-02-02-0198c1d2", 1),
        ("sessions", 3),
        ("./sessions/", 3),
    ] {
        let (found, notes) = left(of);
        assert_eq!((all.len() - found.len(), notes), (fewer, vec![]), "{of}");
    }
    assert!(left("0189c1d2").1[0].starts_with("no session"));
    // what an agent is told to leave out may not be there yet
    assert_eq!(left("0198c1d2-7aaa-7aaa-8aaa-0123456789ab").1, [""; 0]);
    assert_eq!(left("sessions/new/messages.jsonl").1, [""; 0]);
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
