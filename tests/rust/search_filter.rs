//! Search filter tests: results with a filter equal the unfiltered results that pass the predicate.

#![allow(missing_docs)]

mod fixture;

use std::collections::BTreeSet;

use commonplace_core::error::Error;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::filter::{ExcludedLines, FieldPredicate, SearchFilter};
use commonplace_core::grep::GrepOptions;
use commonplace_core::store::Store;
use commonplace_core::store::grep::GrepFiles;
use commonplace_core::store::search::SearchRequest;
use fixture::TestRoot;
use proptest::prelude::*;
use proptest::sample::select;

const DAY: i64 = 86_400_000;
const JANUARY: i64 = 1_767_225_600_000;
const ROLES: [&str; 3] = ["user", "assistant", "tool"];

/// What the test knows of a document that it has written.
#[derive(Debug, Clone, Default)]
struct Known {
    path: String,
    line: u64,
    day: Option<i64>,
    role: &'static str,
    session: String,
    category: &'static str,
}

/// A root of one-line documents, each of which holds the word "tea".
fn world() -> (TestRoot, Store, Vec<Known>) {
    let memory = TestRoot::new();
    let mut known = Vec::new();
    for (number, path) in
        ["a/s.jsonl", "a/deep/s.jsonl", "ab/s.jsonl", "s.jsonl"].iter().enumerate()
    {
        let mut text = String::new();
        for line in 0..12 {
            let (role, day) = (ROLES[line % 3], (line % 4 > 0).then_some((line + number) as i64));
            let stamp = day
                .map(|day| format!(",\"timestamp\":\"2026-01-{:02}T00:00:00Z\"", day + 1))
                .unwrap_or_default();
            let session = if line % 5 == 0 { String::new() } else { format!("s{}", line % 2) };
            text += &format!(
                "{{\"role\":\"{role}\",\"content\":\"tea {line}\",\"session\":\"{session}\"{stamp}}}\n"
            );
            let (path, line) = ((*path).to_owned(), line as u64 + 1);
            known.push(Known { path, line, day, role, session, ..Known::default() });
        }
        memory.put(path, text);
    }
    for (path, category, day) in
        [("a/x.md", "style", Some(2)), ("a/y.md", "", Some(4)), ("n.md", "style", None)]
    {
        let category_line = Some(category).filter(|category| !category.is_empty());
        let head: String = category_line
            .map(|category| format!("category: {category}\n"))
            .into_iter()
            .chain(day.map(|day| format!("date: 2026-01-{:02}\n", day + 1)))
            .collect();
        memory.put(path, format!("---\n{head}---\n\ntea\n"));
        let line = 2 + head.lines().count() as u64 + 2;
        known.push(Known { path: path.to_owned(), line, day, category, ..Known::default() });
    }
    let store = memory.open(true);
    (memory, store, known)
}

fn search(store: &Store, filter: SearchFilter) -> Result<BTreeSet<(String, u64)>, Error> {
    let request =
        SearchRequest { query: "tea".into(), limit: 1000, filter, ..SearchRequest::default() };
    let hits = store.search(&request, &|| false)?.hits;
    Ok(hits.into_iter().map(|hit| (hit.path.clone(), hit.passage().line)).collect())
}

fn grep(store: &Store, filter: SearchFilter) -> Result<BTreeSet<(String, u64)>, Error> {
    let options = GrepOptions { pattern: "tea".into(), filter, ..GrepOptions::default() };
    let mut files = GrepFiles::new(store, options, &|| false)?;
    let mut found = BTreeSet::new();
    while let Some((path, batch)) = files.next_batch(store, &|| false)? {
        found.extend(batch.into_iter().map(|matched| (path.clone(), matched.line)));
    }
    Ok(found)
}

/// The plain predicate, written without the core.
fn passes(filter: &SearchFilter, doc: &Known) -> bool {
    let below = |prefix: &String| {
        prefix.is_empty()
            || doc.path == *prefix
            || doc.path.starts_with(&format!("{}/", prefix.trim_end_matches('/')))
    };
    let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|one| one == own);
    let time = doc.day.map(|day| JANUARY + day * DAY);
    (filter.prefixes.is_empty() || filter.prefixes.iter().any(below))
        && filter.kind.is_none_or(|kind| (kind == FileKind::Note) == doc.path.ends_with(".md"))
        && filter.since.is_none_or(|since| time.is_some_and(|time| time >= since))
        && filter.until.is_none_or(|until| time.is_some_and(|time| time < until))
        && is(&filter.role, doc.role)
        && is(&filter.session, &doc.session)
        && is(&filter.category, doc.category)
        && !filter.exclude.iter().any(|lines| {
            (lines.first..=lines.last).contains(&doc.line)
                && (below(&lines.of) || doc.session == lines.of)
        })
        && (filter.predicates.is_empty() || doc.session == "s1" || doc.path.len() == 4)
}

fn places(known: &[Known], keep: impl Fn(&Known) -> bool) -> BTreeSet<(String, u64)> {
    known.iter().filter(|doc| keep(doc)).map(|doc| (doc.path.clone(), doc.line)).collect()
}

fn any_filter() -> impl Strategy<Value = SearchFilter> {
    let prefixes = prop::collection::vec(
        select(vec!["", "a", "a/", "a/deep", "ab", "s.jsonl", "n.md", "a/x.md"]),
        0..3,
    );
    let kind = prop::option::of(select(vec![FileKind::Note, FileKind::Transcript]));
    let days = prop::option::of((0i64..16, 1i64..16));
    let text = |of: &[&'static str]| prop::option::weighted(0.3, select(of.to_vec()));
    let session = text(&["s0", "s1", "none"]);
    let role = text(&["user", "tool", "nobody"]);
    let category = text(&["style", "other"]);
    let lines = (select(vec!["a/s.jsonl", "a/deep", "s1"]), 1u64..9, 0u64..6);
    let lines = lines.prop_map(|(of, first, more)| ExcludedLines {
        of: of.to_owned(),
        first,
        last: first + more,
    });
    let exclude = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(lines, 1..3)];
    let own = prop::bool::weighted(0.2);
    (prefixes, kind, days, role, session, category, exclude, own, any::<bool>()).prop_map(
        |(prefixes, kind, days, role, session, category, exclude, own, tools)| SearchFilter {
            prefixes: prefixes.into_iter().map(str::to_owned).collect(),
            kind,
            since: days.map(|(since, _)| JANUARY + since * DAY),
            until: days
                .filter(|(_, for_days)| for_days % 2 == 0)
                .map(|(since, for_days)| JANUARY + (since + for_days) * DAY),
            role: role.map(str::to_owned),
            session: session.map(str::to_owned),
            category: category.map(str::to_owned),
            exclude,
            tools,
            predicates: Vec::from_iter(own.then(|| {
                FieldPredicate::new(|doc| doc.session() == "s1" || doc.path().len() == 4)
            })),
            ..SearchFilter::default()
        },
    )
}

#[test]
fn what_is_found_is_what_the_predicate_keeps() {
    let (_memory, store, known) = world();
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&any_filter(), |filter| {
            // what a tool answers is found where tools are looked at
            let seen = |doc: &Known| filter.tools || doc.role != "tool";
            let expected = places(&known, |doc| seen(doc) && passes(&filter, doc));
            prop_assert_eq!(search(&store, filter.clone()).unwrap(), expected);
            if filter.category.is_some() || !filter.exclude.is_empty() {
                let refused = grep(&store, filter);
                let refused = matches!(refused, Err(Error::Query { code: "filter", .. }));
                prop_assert!(refused, "grep takes no category");
                return Ok(());
            }
            // a line of a note has neither date nor category
            let line = |doc: &Known| match doc.path.ends_with(".md") {
                true => Known { path: doc.path.clone(), ..Known::default() },
                false => doc.clone(),
            };
            let expected = places(&known, |doc| seen(doc) && passes(&filter, &line(doc)));
            prop_assert_eq!(grep(&store, filter).unwrap(), expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_session_is_found_wherever_its_messages_lie() {
    const SESSIONS: u64 = 40;
    let memory = TestRoot::new();
    let line = |n: u64, session: u64| {
        format!("{{\"role\":\"user\",\"content\":\"tea {n}\",\"session\":\"s{session}\"}}\n")
    };
    // long runs, short ones and sessions that alternate, over many blocks of documents
    let of = |n: u64| if n.is_multiple_of(3) { n / 90 } else { n % 7 * n / 500 } % SESSIONS;
    let mut sessions: Vec<u64> = (0..2_000).map(of).collect();
    let text = |sessions: &[u64]| (0..).zip(sessions).map(|(n, &s)| line(n, s)).collect::<String>();
    memory.put("s.jsonl", text(&sessions));
    let store = memory.open(true);
    let check = |sessions: &[u64]| {
        for session in 0..=SESSIONS {
            let filter =
                SearchFilter { session: Some(format!("s{session}")), ..SearchFilter::default() };
            let lines = (1..).zip(sessions).filter(|(_, own)| **own == session);
            let expected = lines.map(|(line, _)| ("s.jsonl".to_owned(), line)).collect();
            assert_eq!(search(&store, filter).unwrap(), expected, "s{session}");
        }
    };
    check(&sessions);
    // what comes after the first search in a session, at the end and in the place of others
    sessions.extend((0..300).map(|n| n % SESSIONS));
    memory.put("s.jsonl", text(&sessions));
    check(&sessions);
    sessions.iter_mut().step_by(11).for_each(|session| *session = SESSIONS - 1 - *session);
    memory.put("s.jsonl", text(&sessions));
    check(&sessions);
}

#[test]
fn a_filter_that_nothing_can_pass_is_refused() {
    let (_memory, store, _) = world();
    let all = SearchFilter::default;
    for (filter, named) in [
        (SearchFilter { role: Some(String::new()), ..all() }, "\"role\""),
        (SearchFilter { session: Some(String::new()), ..all() }, "\"session\""),
        (SearchFilter { category: Some(String::new()), ..all() }, "\"category\""),
        (SearchFilter { since: Some(7), until: Some(7), ..all() }, "\"since, until\""),
    ] {
        for told in [search(&store, filter.clone()), grep(&store, filter.clone())] {
            let told = told.unwrap_err().to_string();
            assert!(told.starts_with(named) && told.contains("(filter)"), "{told}");
        }
    }
}

/// The recipe of CONTRIBUTING.md: a filter of a caller of the core, over the fields of a document.
#[test]
fn a_filter_of_a_caller() {
    /// Only what was said on a day of the week, from 0 for Thursday, as 1970 began.
    fn weekday(day: i64) -> FieldPredicate {
        FieldPredicate::new(move |doc| doc.timestamp_ms().is_some_and(|at| at / DAY % 7 == day))
    }
    let (_memory, store, known) = world();
    let filter = SearchFilter { predicates: vec![weekday(3)], ..SearchFilter::default() };
    // Sundays: the 4th, 11th and 18th of January 2026
    let sundays = |doc: &Known| doc.day.is_some_and(|day| day % 7 == 3) && doc.role != "tool";
    let expected = places(&known, sundays);
    assert!(expected.len() > 3);
    assert_eq!(search(&store, filter.clone()).unwrap(), expected);
    assert_eq!(grep(&store, filter).unwrap(), expected);
}
