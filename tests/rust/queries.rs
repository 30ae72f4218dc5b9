//! Query language tests: from the text of a query to hits and snippets.

#![allow(missing_docs)]

mod fixture;
mod hostile;

use commonplace_core::error::Error;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::filter::SearchFilter;
use commonplace_core::index::dictionary::expansion::Expander;
use commonplace_core::search::query::{MAX_PATTERNS, MAX_QUERY_BYTES, Query, contains_phrase};
use commonplace_core::search::query_plan::most_frequent;
use commonplace_core::search::search;
use commonplace_core::search::turns::Unit;
use commonplace_core::store::hit::{Hit, Hits};
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Freshness, Store};
use fixture::{TestRoot, ask, files_with};
use proptest::prelude::*;

const NOTES: [(&str, &str); 12] = [
    ("quick.md", "# Animals\n\nThe quick brown fox jumps over the lazy dog.\n"),
    ("brown.md", "# Colours\n\nA fox that is quick, and brown as well.\n"),
    ("code.md", "# Build\n\nUse C++ with `-rf` and a/b paths; do NOT panic: getUserName().\n"),
    (
        "unicode.md",
        "# Städte\n\nİSTANBUL Straße ﬁnden, café au lait, vitamin é and naïve e\u{301}tudes.\n",
    ),
    ("zh.md", "# 日志\n\n管道导致标准输出泄漏，改用自定义传输。\n"),
    ("pitch.md", "# Emoji\n\nsmile 🙂 and ship 🚀 it\n"),
    ("reference.md", "# Searching\n\nsearch, searches and searched by seekers\n"),
    ("meta.md", "---\ntags: [gardening]\n---\n# Home\n\nroses\n"),
    ("tools.md", "# Searching tools\n\nthe fox again\n"),
    ("control.md", "# a\u{0}b\n\n%n%n{0.__class__} $(touch PWNED) --pre=touch\n"),
    ("emphatic.md", "# Text\n\n*very* **bold**, [linked](u) words\n"),
    ("deep/quick.md", "# Quick again\n\nquick\n"),
];

fn world() -> (TestRoot, Store) {
    let memory = TestRoot::new();
    for (path, text) in NOTES {
        memory.put(path, text);
    }
    memory.put(
        "s/messages.jsonl",
        concat!(
            "{\"role\":\"user\",\"name\":\"Melanie\",\"content\":\"quick question on foxes\",\"session\":\"a\",\"timestamp\":\"2026-01-01T00:00:00Z\"}\n",
            "{\"role\":\"assistant\",\"content\":\"which fox?\",\"session\":\"a\",\"timestamp\":\"2026-02-01T00:00:00Z\"}\n",
            "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"fox.txt\"}\n",
        ),
    );
    let store = memory.open(false);
    (memory, store)
}

fn found(store: &Store, query: &str) -> Vec<String> {
    files_with(store, query).into_iter().collect()
}

#[test]
fn words_and_their_forms() {
    let (_memory, store) = world();
    for (query, files) in [
        ("jumping", vec!["quick.md"]),
        ("ISTANBUL", vec!["unicode.md"]),
        ("istanbul", vec!["unicode.md"]),
        ("İSTANBUL straße ﬁ", vec!["unicode.md"]),
        ("strasse", vec!["unicode.md"]),
        ("finden", vec!["unicode.md"]),
        ("cafe", vec!["unicode.md"]),
        ("études", vec!["unicode.md"]),
        ("e\u{301}tudes", vec!["unicode.md"]),
        ("标准输出", vec!["zh.md"]),
        ("泄漏", vec!["zh.md"]),
        ("user name", vec!["code.md"]),
        ("getusername", vec!["code.md"]),
        ("C++", vec!["code.md"]),
        ("gardening", vec!["meta.md"]),
        ("said in February 2026", vec!["s/messages.jsonl"]),
        ("2026-01-01", vec!["s/messages.jsonl"]),
        ("🙂", vec![]),
        ("🙂 smile", vec!["pitch.md"]),
        ("zzzzz", vec![]),
    ] {
        assert_eq!(found(&store, query), files, "{query}");
    }
}

#[test]
fn operators() {
    let (_memory, store) = world();
    for (query, files) in [
        ("\"quick brown\"", vec!["quick.md"]),
        ("\"brown as well\"", vec!["brown.md"]),
        ("\"标准输出\"", vec!["zh.md"]),
        ("\"VERY bold\"", vec!["emphatic.md"]),
        ("\"fox jumps\" -lazy", vec![]),
        ("brown -lazy", vec!["brown.md"]),
        ("brown -\"quick brown\"", vec!["brown.md"]),
        ("brown -zzzzz", vec!["brown.md", "quick.md"]),
        ("heading:searching", vec!["reference.md", "tools.md"]),
        ("body:searching", vec!["reference.md"]),
        ("keywords:gardening", vec!["meta.md"]),
        ("path:deep", vec!["deep/quick.md"]),
        ("speaker:melanie", vec!["s/messages.jsonl"]),
        ("jum*", vec!["quick.md"]),
        ("JUM*", vec!["quick.md"]),
        ("lazi~1", vec!["quick.md"]),
        ("laz~", vec!["quick.md"]),
        ("jmups~2", vec!["quick.md"]),
        ("jmups~1", vec![]),
        ("泄*", vec!["zh.md"]),
    ] {
        let answer = ask(&store, query);
        let strict = answer.notes.is_empty();
        let paths: Vec<String> = files_of(&answer);
        if query.contains("fox jumps") {
            // no document has the phrase without the word: a note says that the words were searched
            assert!(!strict && !paths.contains(&"quick.md".to_owned()), "{query}: {paths:?}");
        } else {
            assert_eq!(paths, files, "{query}");
            assert!(strict, "{query}: {:?}", answer.notes);
        }
    }
    let answer = ask(&store, "\"brown quick lazy\"");
    assert_eq!(files_of(&answer), ["brown.md", "deep/quick.md", "quick.md", "s/messages.jsonl"]);
    assert!(answer.notes[0].contains("phrase"), "{:?}", answer.notes);
}

/// Of two equal messages, the one in a session about the query comes first, and explain says so.
#[test]
fn a_message_is_rescored_by_its_session() {
    let memory = TestRoot::new();
    let line = |session: &str, content: &str| {
        format!("{{\"role\":\"user\",\"content\":\"{content}\",\"session\":\"{session}\"}}\n")
    };
    let talk = |session: &str, first: &str| -> String {
        [first, "go on", "the boat leaves at nine"].map(|content| line(session, content)).concat()
    };
    memory.put("messages.jsonl", &(talk("a", "about a kettle") + &talk("b", "a boat for two")));
    let store = memory.open(false);
    let answer = ask(&store, "when does the boat leave");
    let score = |line| answer.hits.iter().find(|hit| hit.first_line == line).unwrap().score;
    assert!(score(6) > score(3));
    let explained = store
        .explain("when does the boat leave", "messages.jsonl#L6", Unit::Message, &|| false)
        .unwrap();
    assert!(explained.text.contains("session rescoring"), "{}", explained.text);
    assert!(explained.session > 0.0);
}

/// Of two equal messages of a session, the one near a message with the other words of the query
/// scores higher; a query without any word that is known finds nothing.
#[test]
fn words_of_messages_near_one_count_for_it() {
    let memory = TestRoot::new();
    let line = |content: &str| format!("{{\"role\":\"user\",\"content\":\"{content}\"}}\n");
    let other = |count: usize| vec!["go on"; count];
    let talk = [
        vec!["my uncle has a boat"],
        other(7),
        vec!["the school by the sea"],
        other(8),
        vec!["the school by the sea"],
        other(1),
    ];
    memory.put("messages.jsonl", talk.concat().into_iter().map(line).collect::<String>());
    let store = memory.open(false);
    let answer = ask(&store, "school of my uncle");
    let score = |line| answer.hits.iter().find(|hit| hit.first_line == line).unwrap().score;
    assert!(score(9) > score(18), "{} {}", score(9), score(18));
    assert_eq!(answer.hits[0].first_line, 1);
    assert!(ask(&store, "zeppelin").hits.is_empty());
}

/// Of two messages that hold the query alike, the one with a time comes first where the query asks when.
#[test]
fn a_query_that_asks_when_finds_what_tells_a_time() {
    let memory = TestRoot::new();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    memory.put(
        "messages.jsonl",
        [line("we saw the concert outside"), line("we saw the concert yesterday")].concat(),
    );
    let store = memory.open(false);
    let first = |query| ask(&store, query).hits[0].first_line;
    assert_eq!(first("the concert"), 1);
    assert_eq!(first("when was the concert"), 2);
    assert_eq!(first("what happened when the concert began"), 1, "this asks for something else");
    for (unit, line) in [(Unit::Message, 1), (Unit::Turn, 1), (Unit::Message, 2), (Unit::Turn, 2)] {
        let citation = format!("messages.jsonl#L{line}");
        let explained = store.explain("when was the concert", &citation, unit, &|| false).unwrap();
        let is_said = explained.text.contains("no time is told");
        assert_eq!(is_said, line == 1, "{unit:?} {}", explained.text);
    }
}

/// A context adds to a score and not to document frequencies: what every second message says is
/// beside all of them, and still no stop word.
#[test]
fn words_of_a_context_count_in_no_document_frequency() {
    let memory = TestRoot::new();
    let text = |number: usize| match number {
        both if both % 20 == 0 => "look at the billing handler",
        one if one % 60 == 11 => "the handler?",
        other if other % 2 == 0 => "look at the billing page",
        _ => "it is done",
    };
    let line = |number| format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", text(number));
    let log: String = (0..600).map(line).collect();
    memory.put("messages.jsonl", &log);
    let store = memory.open(false);
    for (query, documents) in [("billing", 300), ("handler", 40), ("billi*", 300)] {
        let explained =
            store.explain(query, "messages.jsonl#L1", Unit::Message, &|| false).unwrap().text;
        assert!(explained.contains(&format!("; in {documents} documents")), "{explained}");
    }
    let answer = ask(&store, "billing handler");
    let both = |hit: &Hit| hit.text.contains("billing") && hit.text.contains("handler");
    assert!(answer.hits.first().is_some_and(both));
}

fn files_of(answer: &Hits) -> Vec<String> {
    let files: std::collections::BTreeSet<String> =
        answer.hits.iter().map(|hit| hit.path.clone()).collect();
    files.into_iter().collect()
}

#[test]
fn filters() {
    let (_memory, store) = world();
    let files = |filter: SearchFilter, tools: bool| {
        let filter = SearchFilter { tools, ..filter };
        let request = SearchRequest {
            query: "quick fox".into(),
            limit: 99,
            filter,
            ..SearchRequest::default()
        };
        files_of(&store.search(&request, &|| false).unwrap())
    };
    let all = SearchFilter::default();
    assert_eq!(
        files(SearchFilter { prefixes: vec!["deep".into()], ..all.clone() }, false),
        ["deep/quick.md"]
    );
    assert_eq!(files(SearchFilter { prefixes: vec!["dee".into()], ..all.clone() }, false), [""; 0]);
    assert_eq!(
        files(SearchFilter { prefixes: vec!["deep/".into()], ..all.clone() }, false),
        ["deep/quick.md"]
    );
    let transcript = ["s/messages.jsonl"];
    assert_eq!(
        files(SearchFilter { kind: Some(FileKind::Transcript), ..all.clone() }, false),
        transcript
    );
    assert_eq!(files(SearchFilter { role: Some("user".into()), ..all.clone() }, false), transcript);
    assert_eq!(files(SearchFilter { role: Some("nobody".into()), ..all.clone() }, true), [""; 0]);
    assert_eq!(files(SearchFilter { session: Some("a".into()), ..all.clone() }, false), transcript);
    assert_eq!(
        files(SearchFilter { since: Some(1_769_000_000_000), ..all.clone() }, false),
        transcript
    );
    assert_eq!(files(SearchFilter { until: Some(0), ..all.clone() }, false), [""; 0]);
    assert_eq!(files(SearchFilter { role: Some("tool".into()), ..all.clone() }, false), [""; 0]);
    assert_eq!(files(SearchFilter { role: Some("tool".into()), ..all }, true), transcript);
}

#[test]
fn answers_are_the_same_each_time_and_limits_only_cut() {
    let (_memory, store) = world();
    for query in ["quick fox", "fox", "search*", "the", "\"quick brown\" fox", "a b c d e"] {
        let whole = ask(&store, query);
        assert_eq!(ask(&store, query), whole, "{query}");
        for limit in 0..4 {
            let request = SearchRequest { query: query.into(), limit, ..SearchRequest::default() };
            let answer = store.search(&request, &|| false).unwrap();
            assert_eq!(answer.hits, whole.hits[..limit.min(whole.hits.len())], "{query} {limit}");
        }
        for hit in &whole.hits {
            let explained =
                store.explain(query, &hit.passage().citation, Unit::Message, &|| false).unwrap();
            let (lines, score) = (&explained.text, format!("scores {:.4}", hit.score));
            assert!(lines.contains(&score), "{query}: {score} is not in\n{lines}");
            let parts = explained.words.iter().map(|word| word.score).sum::<f32>();
            let sum = parts + explained.session;
            assert!((sum - hit.score).abs() < 1e-4 * hit.score.max(1.0), "{query}: {sum} {lines}");
        }
    }
}

/// Checks what must hold of any hit.
fn assert_sound(hit: &Hit) {
    let characters: Vec<char> = hit.passage().snippet.chars().collect();
    assert!(characters.len() <= 302, "{}", characters.len());
    let mut last = 0;
    for &(start, end) in &hit.passage().highlights {
        assert!(last <= start && start < end && end <= characters.len(), "{hit:?}");
        assert!(!characters[start].is_whitespace() && !characters[end - 1].is_whitespace());
        last = end;
    }
    assert!(hit.passage().line <= hit.end_line && hit.score.is_finite() && hit.score > 0.0);
    assert_eq!(hit.passage().citation.clone(), format!("{}#L{}", hit.path, hit.passage().line));
}

#[test]
fn snippets_highlight_the_matches() {
    let (_memory, store) = world();
    for (query, path, shown) in [
        ("jumping", "quick.md", vec!["jumps"]),
        ("strasse", "unicode.md", vec!["Straße"]),
        ("istanbul finden", "unicode.md", vec!["İSTANBUL", "ﬁnden"]),
        ("etudes", "unicode.md", vec!["e\u{301}tudes"]),
        ("标准输出", "zh.md", vec!["标准输出"]),
        ("\"lazy dog\"", "quick.md", vec!["lazy", "dog"]),
        ("jum*", "quick.md", vec!["jumps"]),
    ] {
        let answer = ask(&store, query);
        let hit = answer.hits.iter().find(|hit| hit.path == path).unwrap();
        let characters: Vec<char> = hit.passage().snippet.chars().collect();
        let marked: Vec<String> = hit
            .passage()
            .highlights
            .iter()
            .map(|&(a, b)| characters[a..b].iter().collect())
            .collect();
        // single characters of an unspaced script are shown too
        let words: Vec<&String> = marked.iter().filter(|m| m.chars().count() > 1).collect();
        assert_eq!(words, shown.iter().collect::<Vec<_>>(), "{query}: {}", hit.passage().snippet);
    }
}

#[test]
fn too_long_queries_are_cut_with_a_note() {
    let (_memory, store) = world();
    let many = (0..20_000).map(|n| format!("t{n}x ")).collect::<String>();
    for (query, note) in [
        ("fox ".to_owned() + &"a ".repeat(500_000), "cut at"),
        ("fox ".to_owned() + &many, "terms"),
        ("fox ".to_owned() + &"é".repeat(MAX_QUERY_BYTES), "cut at"),
    ] {
        let answer = ask(&store, &query);
        assert!(files_of(&answer).contains(&"quick.md".to_owned()));
        assert!(answer.notes.iter().any(|n| n.contains(note)), "{:?}", answer.notes);
    }
    // patterns count as terms: each can expand to a thousand words
    let patterns: String = (0..4000).map(|n| format!("f{}* ", n % 10)).collect();
    assert!(Query::parse(&patterns).unwrap().atoms.len() <= MAX_PATTERNS);
    let fuzzy: String = (0..4000).map(|n| format!("fox{n}~2 ")).collect();
    let query = Query::parse(&fuzzy).unwrap();
    assert!(query.atoms.len() <= MAX_PATTERNS && !query.notes.is_empty());
    let phrases = "\"fox fox\" ".repeat(4000);
    assert!(Query::parse(&phrases).unwrap().phrases.len() <= MAX_PATTERNS);
}

#[test]
fn a_pattern_expands_to_the_most_frequent_words() {
    let memory = TestRoot::new();
    let words = |count: usize, end: &str| (0..count).map(|n| format!("plum{n:03}{end} ")).collect();
    let (frequent, rare): (String, String) = (words(200, "a"), words(300, "b"));
    memory.put("a.md", &frequent);
    memory.put("b.md", frequent + &rare);
    memory.put("c.md", "plum999b\n");
    let store = memory.open(false);
    let answer = ask(&store, "plum*");
    assert_eq!(files_of(&answer), ["a.md", "b.md"]);
    let note = "plum* expands to 501 words; 256 of the most frequent were searched";
    assert_eq!(answer.notes, [note]);
    // 200 words in two notes, 301 in one; the most frequent stays, however small the budget is
    let state = store.refresh(&|| false).unwrap();
    let index = &state.main.index;
    let all = || (0..index.lexicon().words.len() as u32).collect();
    for (most, words, postings) in [(0, 1, 2), (5, 3, 5), (400, 200, 400), (9999, 256, 456)] {
        let (kept, held) = most_frequent(index, all(), most);
        assert_eq!((kept.len(), held), (words, postings), "of {most}");
    }
}

#[test]
fn an_interrupted_search_returns_an_error() {
    let (_memory, store) = world();
    let state = store.refresh(&|| false).unwrap();
    let query = Query::parse("fox").unwrap();
    let (expander, filter) = (Expander::default(), SearchFilter::default());
    let wanted = (9, Unit::Message);
    let found = search(&state.main, &expander, &query, &filter, wanted, &mut |_| None, &|| true);
    assert!(matches!(found, Err(Error::Interrupted)));
}

#[test]
fn phrases_are_compared_word_by_word() {
    for (text, phrase, stands) in [
        ("the quick brown fox", "quick brown", true),
        ("the quick brown fox", "quick  BROWN.", true),
        ("the quick brown fox", "brown quick", false),
        ("unquick brown", "quick brown", false),
        ("quick brownish", "quick brown", false),
        ("quick\n> brown", "quick brown", true),
        ("标准输出", "准输", true),
        ("标准 输出", "标准输出", true),
        ("a", "!!!", false),
        ("", "a", false),
    ] {
        assert_eq!(contains_phrase(text, phrase), stands, "{phrase:?} in {text:?}");
    }
    let text = "a ".repeat(100_000) + "b";
    assert!(!contains_phrase(&text, &("a ".repeat(30_000) + "c")));
}

const OWN_CASES: &str = r#"[
 {"kind":"query","value":"!!! ??? ---","setup":"","expect":"ok:none"},
 {"kind":"query","value":"-rf","setup":"","expect":"ok:literal"},
 {"kind":"query","value":"  \t\n","setup":"","expect":"reject:empty"},
 {"kind":"query","value":"py:\"a\\x00b\"","setup":"","expect":"ok:literal"},
 {"kind":"query","value":"py:\"a \"*500_000","setup":"","expect":"bounded"}
]"#;

#[test]
fn hostile_queries() {
    let (memory, store) = world();
    for case in hostile::cases(&["query"], OWN_CASES) {
        // no string, or no text: the Python bindings refuse it
        let Some(query) = case.value else { continue };
        if case.kind == "query" && query.starts_with("py:") {
            continue;
        }
        for tools in [false, true] {
            let request = SearchRequest {
                query: query.clone(),
                limit: 10,
                filter: SearchFilter { tools, ..SearchFilter::default() },
                ..SearchRequest::default()
            };
            let answer = store.search(&request, &|| false);
            let shown: String = query.chars().take(40).collect();
            match (case.expect.as_str(), answer) {
                ("reject:empty", Err(Error::Query { code: "empty", .. })) => {}
                ("ok:none", Ok(answer)) => assert!(answer.hits.is_empty(), "{shown}"),
                ("ok:match", Ok(answer)) => assert!(!answer.hits.is_empty(), "{shown}"),
                (expect, Ok(answer)) if !expect.starts_with("reject:e") => {
                    answer.hits.iter().for_each(assert_sound);
                }
                (expect, answer) => panic!("{shown}: {expect}, but {answer:?}"),
            }
        }
        assert!(!memory.at("PWNED").exists() && !std::path::Path::new("PWNED").exists());
    }
}

fn odd() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "fox",
        "quick",
        "\"",
        "-",
        "*",
        "~",
        "~1",
        "~2",
        "~9",
        ":",
        "heading:",
        "time:",
        "a*",
        "(",
        ")",
        " ",
        "  ",
        "\t",
        "NOT",
        "AND",
        "C++",
        "标准",
        "🙂",
        "\u{301}",
        "İ",
        "ﬁ",
        "\0",
        "\u{1}",
        "\u{1f}",
        "\\",
        "/",
        "a/b",
        "--",
        "'",
        "’s",
        "the",
        "brown",
        "é",
        "\u{200d}",
        "\u{feff}",
        "x".repeat(70).leak(),
    ]);
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(16)
    })]

    #[test]
    fn an_odd_query_is_never_an_error(queries in prop::collection::vec(odd(), 24)) {
        let (_memory, store) = world();
        for query in queries {
            let request = SearchRequest { query: query.clone(), limit: 5, ..SearchRequest::default() };
            match store.search(&request, &|| false) {
                Ok(answer) => answer.hits.iter().for_each(assert_sound),
                Err(Error::Query { code: "empty", .. }) => prop_assert!(query.trim().is_empty()),
                Err(other) => panic!("{query:?}: {other}"),
            }
        }
    }
}

#[test]
fn sections_with_bytes_that_are_not_utf8_are_found() {
    let memory = TestRoot::new();
    memory.put("a.md", b"# A\n\nplain\n\n# B\n\ncaf\xe9 word\n");
    let store = memory.open(true);
    let hits = ask(&store, "word");
    assert_eq!((hits.freshness, hits.hits.len()), (Freshness::Fresh, 1));
    assert_eq!(hits.hits[0].heading, ["B"]);
}

#[test]
fn a_byte_order_mark_is_no_section() {
    let memory = TestRoot::new();
    memory.put("bom.md", "\u{feff}# Bom\n\nx\n");
    let store = memory.open(true);
    let hits = ask(&store, "bom").hits;
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].start, hits[0].heading.as_slice()), (0, &["Bom".to_owned()][..]));
}

#[test]
fn explain_answers_only_for_a_message_that_is_there() {
    let memory = TestRoot::new();
    memory.put("m.jsonl", "{\"role\":\"user\",\"content\":\"tea\"}\n");
    let store = memory.open(true);
    assert!(store.explain("tea", "m.jsonl#L1", Unit::Message, &|| false).is_ok());
    assert!(store.explain("tea", "m.jsonl#L9", Unit::Message, &|| false).is_err());
}

/// Returns the confidence of an answer and the note of what its best match lacks.
fn confidence(store: &Store, query: &str) -> (f32, Option<String>) {
    let hits = ask(store, query);
    let note = hits.notes.into_iter().find(|note| note.contains("lacks"));
    (hits.confidence, note)
}

#[test]
fn confidence_is_of_what_the_query_asks_for() {
    let (_memory, store) = world();
    let (own, note) = confidence(&store, "lazy brown fox");
    assert!((0.4..=1.0).contains(&own) && note.is_none(), "{own} {note:?}");
    let (foreign, note) = confidence(&store, "zeppelin rides over Timbuktu, fox");
    assert!((0.0..0.3).contains(&foreign), "{foreign}");
    assert_eq!(note.as_deref(), Some("the best match lacks: zeppelin, rides, timbuktu"));
    // nothing found is nothing known; a filter does not change what a word is worth
    assert_eq!(confidence(&store, "zeppelin"), (0.0, None));
    assert_eq!(confidence(&store, "fox role:nobody").0, 0.0);
    // stop words alone name nothing
    let hits = ask(&store, "the over");
    assert!(!hits.hits.is_empty() && hits.confidence <= 0.1, "{hits:?}");
    assert!(hits.notes.iter().any(|note| note.contains("only stop words")), "{hits:?}");
    // a word that is said twice is asked for once
    let (once, twice) =
        (confidence(&store, "fox zeppelin"), confidence(&store, "fox fox zeppelin"));
    assert!(twice.0 >= once.0, "{once:?} {twice:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn confidence_is_a_share(query in "[ a-zA-Z\"*~:?。福狐-]{1,40}") {
        let (_memory, store) = world();
        let request = SearchRequest { query, limit: 9, ..SearchRequest::default() };
        if let Ok(hits) = store.search(&request, &|| false) {
            prop_assert!((0.0..=1.0).contains(&hits.confidence));
            prop_assert_eq!(hits.confidence > 0.0, !hits.hits.is_empty());
        }
    }
}
