//! Inverted index tests against a reference that scores every document.

#![allow(missing_docs)]

mod reference;

use std::collections::BTreeMap;
use std::fs;

use commonplace_core::catalog::Catalog;
use commonplace_core::catalog::extract::Corpus;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::files::root::Root;
use commonplace_core::filter::SearchFilter;
use commonplace_core::index::bm25f::Weights;
use commonplace_core::index::dictionary::expansion::Expander;
use commonplace_core::index::topk::collector::Scored;
use commonplace_core::search::query::Query;
use commonplace_core::search::search;
use commonplace_core::search::turns::{Turn, Unit};
use proptest::prelude::*;
use reference::{Document, MESSAGE_WINDOW, Position, Reference};

/// A memory on disk with its catalog.
struct World {
    scratch: tempfile::TempDir,
    root: Root,
    files: BTreeMap<String, String>,
    catalog: Catalog,
}

impl World {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = Root::open(scratch.path(), false).unwrap();
        let catalog = Catalog::new(Weights::default(), Corpus::Main);
        Self { scratch, root, files: BTreeMap::new(), catalog }
    }

    fn put(&mut self, path: &str, text: &str) {
        fs::write(self.scratch.path().join(path), text).unwrap();
        self.files.insert(path.to_owned(), text.to_owned());
        self.catalog.update(&self.root, path, &|| false).unwrap();
    }

    fn remove(&mut self, path: &str) {
        let _ = fs::remove_file(self.scratch.path().join(path));
        self.files.remove(path);
        self.catalog.update(&self.root, path, &|| false).unwrap();
    }

    /// A catalog of the same files, built at one go.
    fn fresh(&self) -> Catalog {
        let clock = commonplace_core::files::racy_stat::FsClock::default();
        let stat = |path: &String| (path.clone(), self.root.stat(path).unwrap());
        let files: Vec<_> = self.files.keys().map(stat).collect();
        let weights = Weights::default();
        let built = Catalog::build(&self.root, &files, weights, Corpus::Main, clock, &|| false);
        let (catalog, failed) = built.unwrap();
        assert!(failed.is_empty());
        catalog
    }
}

fn ranked(
    catalog: &Catalog,
    query: &str,
    filter: &SearchFilter,
    limit: usize,
) -> Vec<(Position, f32)> {
    let query = Query::parse(query).unwrap();
    let expander = Expander::default();
    let wanted = (limit, Unit::Message);
    let found =
        search(catalog, &expander, &query, filter, wanted, &mut |_| None, &|| false).unwrap();
    let place = |document: u32| {
        let row = &catalog.docs[document as usize];
        (catalog.files[row.file as usize].path.clone(), row.start)
    };
    found.ranked.into_iter().map(|scored| (place(scored.document), scored.score)).collect()
}

/// Returns the first documents of turns and sections, and their scores.
fn ranked_turns(
    catalog: &Catalog,
    query: &str,
    filter: &SearchFilter,
    limit: usize,
) -> Vec<(Position, f32)> {
    let query = Query::parse(query).unwrap();
    let expander = Expander::default();
    let wanted = (limit, Unit::Turn);
    let found =
        search(catalog, &expander, &query, filter, wanted, &mut |_| None, &|| false).unwrap();
    assert_eq!(found.ranked.len(), found.turns.len());
    let first = |(scored, turn): (Scored, Option<Turn>)| {
        let row = &catalog.docs[turn.map_or(scored.document, |turn| turn.first) as usize];
        ((catalog.files[row.file as usize].path.clone(), row.start), scored.score)
    };
    found.ranked.into_iter().zip(found.turns).map(first).collect()
}

type Passes = fn(&Position, &Document) -> bool;

/// Compares all turns with the reference; `scores` are those of the documents that pass.
fn check_turns(
    catalog: &Catalog,
    reference: &Reference,
    query: &str,
    filter: &SearchFilter,
    scores: &BTreeMap<Position, f64>,
) -> Result<(), TestCaseError> {
    let expected = reference.turn_scores(query, scores);
    let is_clear = reference.has_clear_turns(scores);
    let all = ranked_turns(catalog, query, filter, usize::MAX);
    prop_assert_eq!(all.len(), expected.len(), "{}", query);
    for (place, score) in &all {
        let exact = expected.get(place).copied();
        prop_assert!(exact.is_some(), "{query}: {place:?} begins no turn");
        let off = (f64::from(*score) - exact.unwrap()).abs();
        let limit = 1e-5 * exact.unwrap().max(1e-3);
        prop_assert!(off <= limit || !is_clear, "{query}: {place:?} {score} {exact:?}");
    }
    prop_assert!(all.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{query}: {all:?}");
    for k in [1, 3, 10, 30] {
        let best = ranked_turns(catalog, query, filter, k);
        prop_assert_eq!(&best[..], &all[..k.min(all.len())], "{} top {}", query, k);
    }
    Ok(())
}

/// Compares all answers with the reference.
fn check(
    catalog: &Catalog,
    reference: &Reference,
    queries: &[String],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(catalog.index.documents() as usize, reference.documents.len());
    let filters: [(SearchFilter, Passes); 4] = [
        (SearchFilter::default(), |_, _| true),
        (SearchFilter { kind: Some(FileKind::Note), ..SearchFilter::default() }, |(path, _), _| {
            path.ends_with("md")
        }),
        (SearchFilter { role: Some("user".into()), ..SearchFilter::default() }, |_, d| {
            d.role == "user"
        }),
        (SearchFilter { since: Some(2000), ..SearchFilter::default() }, |_, d| {
            d.time.is_some_and(|t| t >= 2000)
        }),
    ];
    for query in queries {
        let scores = reference.scores(query);
        for (filter, passes) in &filters {
            let all = ranked(catalog, query, filter, usize::MAX);
            let expected =
                scores.iter().filter(|(place, _)| passes(place, &reference.documents[place]));
            let mut expected: BTreeMap<Position, f64> =
                expected.map(|(p, s)| (p.clone(), *s)).collect();
            check_turns(catalog, reference, query, filter, &expected)?;
            let is_clear = Reference::has_clear_window(expected.values().copied(), MESSAGE_WINDOW);
            reference.rescore(query, &mut expected);
            prop_assert_eq!(all.len(), expected.len(), "{}", query);
            for (place, score) in &all {
                let exact = expected.get(place).copied();
                prop_assert!(exact.is_some(), "{query}: {place:?} does not belong");
                let off = (f64::from(*score) - exact.unwrap()).abs();
                prop_assert!(
                    off <= 1e-5 * exact.unwrap().max(1e-3) || !is_clear,
                    "{query}: {place:?} {score} {exact:?}"
                );
            }
            for pair in all.windows(2) {
                let ((a, x), (b, y)) = (&pair[0], &pair[1]);
                prop_assert!(x > y || x == y && a < b, "{query}: {a:?} {x} before {b:?} {y}");
            }
            for k in [1, 2, 3, 10, 100] {
                let best = ranked(catalog, query, filter, k);
                prop_assert_eq!(&best[..], &all[..k.min(all.len())], "{} top {}", query, k);
            }
        }
    }
    Ok(())
}

const WORDS: [&str; 43] = [
    "run",
    "das Haus ist nicht",
    "running",
    "Häuser",
    "runs",
    "ran",
    "the",
    "data",
    "config",
    "configuration",
    "getUserName",
    "src/a-b.rs",
    "数据",
    "数",
    "标准输出",
    "straße",
    "v1.2.3",
    "when did",
    "C++",
    "yesterday",
    "how long 1999",
    "tea",
    "tea_pot",
    "Tea",
    "don't",
    "user",
    "Melanie",
    "naïve",
    "--flag",
    "bán của không",
    "bạn",
    "стали",
    "стальной и",
    "está la casa",
    "die",
    "Verwaltung",
    "verwalten",
    "v2 die",
    "das",
    "la",
    "tes",
    "no sé",
    "café",
];

/// Words of which the first are frequent and the last rare.
fn words(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec((0..WORDS.len(), 0..WORDS.len()), 0..most).prop_map(|picks| {
        let picked: Vec<&str> = picks.iter().map(|&(a, b)| WORDS[a.min(b)]).collect();
        picked.join(" ")
    })
}

fn note_text() -> impl Strategy<Value = String> {
    let section = (any::<bool>(), words(4), words(40), any::<bool>()).prop_map(
        |(headed, heading, body, code)| {
            let heading = if headed { format!("# {heading}\n") } else { String::new() };
            let code = if code { format!("\n```\n{body}\n```\n") } else { String::new() };
            format!("{heading}\n{body}\n{code}\n")
        },
    );
    prop::collection::vec(section, 1..6).prop_map(|sections| sections.concat())
}

fn transcript_text() -> impl Strategy<Value = String> {
    // mostly one session, and texts of which few or many fit within the neighbours' term limit
    let session = prop_oneof![5 => Just(0u8), 1 => 1u8..3];
    let text = prop_oneof![words(12), words(50)];
    let message = (0usize..4, text, session, 0i64..4).prop_map(|(who, text, session, time)| {
        let text = if time == 3 { text.replace(" data", " data?") + "?" } else { text };
        let (role, name) =
            [("user", "Melanie"), ("assistant", "Tea User"), ("user", ""), ("tool", "")][who];
        let stamp = format!("1970-01-01T00:00:0{time}Z");
        let named = if name.is_empty() { String::new() } else { format!("\"name\":\"{name}\",") };
        format!(
            "{{\"role\":\"{role}\",{named}\"content\":\"{text}\",\"session\":\"s{session}\",\"timestamp\":\"{stamp}\"}}\n"
        )
    });
    prop::collection::vec(message, 0..12).prop_map(|lines| lines.concat())
}

#[derive(Debug, Clone)]
enum Step {
    Note(usize, String),
    Transcript(usize, String),
    Append(usize, String),
    Remove(usize),
    Pack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0usize..4, note_text()).prop_map(|(at, text)| Step::Note(at, text)),
        2 => (0usize..2, transcript_text()).prop_map(|(at, text)| Step::Transcript(at, text)),
        3 => (0usize..2, transcript_text()).prop_map(|(at, text)| Step::Append(at, text)),
        2 => (0usize..6).prop_map(Step::Remove),
        1 => Just(Step::Pack),
    ];
    prop::collection::vec(step, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(48)
    })]

    #[test]
    fn after_any_history_scores_are_those_of_the_reference(
        steps in steps(),
        queries in prop::collection::vec(words(6), 1..4),
    ) {
        let paths = ["a.md", "b.md", "run-data.md", "c.md", "x.jsonl", "y.jsonl"];
        let mut world = World::new();
        for step in steps {
            match step {
                Step::Note(at, text) => world.put(paths[at], &text),
                Step::Transcript(at, text) => world.put(paths[4 + at], &text),
                Step::Append(at, text) => {
                    let old = world.files.get(paths[4 + at]).cloned().unwrap_or_default();
                    world.put(paths[4 + at], &(old + &text));
                }
                Step::Remove(at) => world.remove(paths[at]),
                Step::Pack => world.catalog.repack(),
            }
        }
        let asked: Vec<String> = queries.into_iter().filter(|q| !q.trim().is_empty()).collect();
        let asked = asked.into_iter().map(|q| q.replace("--flag", "flag"));
        // some of it a question, some not
        let asked: Vec<String> = asked.map(|q| q.replace(" data ", " data? ")).collect();
        // some about the user, and some about a speaker
        let about = |(at, query): (usize, &String)| {
            [query.clone(), format!("my {query}"), format!("{query} Melanie")][at % 3].clone()
        };
        let asked: Vec<String> = asked.iter().enumerate().map(about).collect();
        let reference = Reference::of(&world.files);
        check(&world.catalog, &reference, &asked)?;
        check(&world.fresh(), &reference, &asked)?;
    }
}

/// A note of many sections: lists of many blocks, whose counts are skewed.
fn long_note(sections: usize, seed: usize) -> String {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut text = String::new();
    for number in 0..sections {
        text += &format!("## Part{number}\n\ncommon ");
        for (word, odds) in [("often", 2), ("sometimes", 9), ("seldom", 130), ("never", 700)] {
            if next(odds) == 0 {
                let times = [1, 1, 1, 2, 5, 40][next(6)];
                text += &format!("{word} ").repeat(times);
            }
        }
        text += &"filler ".repeat([0, 1, 10, 60][next(4)]);
        text += "\n\n";
    }
    text
}

#[test]
fn lists_of_many_blocks() {
    let queries = [
        "common",
        "common often",
        "often sometimes",
        "seldom common",
        "never seldom sometimes",
        "never common often sometimes seldom",
        "part7 common",
        "common often part1200 never",
    ];
    let queries: Vec<String> = queries.iter().map(|query| (*query).to_owned()).collect();
    let mut world = World::new();
    world.put("a.md", &long_note(1300, 1));
    world.put("b.md", &long_note(129, 2));
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
    world.catalog.repack();
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
    // packed blocks with deleted documents in them, and a delta
    world.put("a.md", &long_note(1100, 1).replace("Part5", "Part5 often"));
    world.put("c.md", &long_note(300, 3));
    world.remove("b.md");
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
    check(&world.fresh(), &Reference::of(&world.files), &queries).unwrap();
}

/// Bounds that were stored when texts were short, or long, must hold when that has changed.
#[test]
fn averages_that_drift_far() {
    let queries: Vec<String> =
        ["a1 b2 c3 d4 e5 f6 g7 h8 i9", "common often", "a1", "common i9 seldom"]
            .map(str::to_owned)
            .to_vec();
    let rare = "a1 b2 c3 d4 e5 f6 g7 h8 i9";
    for longer_first in [false, true] {
        let mut world = World::new();
        let short: String = rare.split(' ').map(|word| format!("# {word}\n{word}\n")).collect();
        let long = format!("{}\n", "common often seldom filler words on one line ".repeat(7000));
        let (first, second) = if longer_first { (&long, &short) } else { (&short, &long) };
        world.put("a.md", first);
        world.catalog.repack();
        world.put("b.md", second);
        for number in 0..30 {
            world.put(&format!("n{number}.md"), &format!("{}{rare}\n", long_note(3, number)));
        }
        check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
        world.remove(if longer_first { "a.md" } else { "b.md" });
        check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
        world.catalog.repack();
        check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
    }
}

/// Found by the property above: a speaker's name can add many points, and its bound must be as
/// high.
#[test]
fn the_best_is_never_pruned() {
    let mut world = World::new();
    world.put("many.md", &"# filler\nfiller\n".repeat(200));
    world.put("heading.md", "# zebra yak\nzebra yak\n");
    world.put("x.jsonl", "{\"role\":\"user\",\"name\":\"Tea\",\"content\":\"run\"}\n");
    let often = format!("zebra yak {}", "tea ".repeat(700));
    let queries = ["zebra yak tea tea tea tea".to_owned(), "zebra yak tea".to_owned(), often];
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
}

#[test]
fn a_heading_of_stop_words_is_not_lost() {
    let mut world = World::new();
    world.put("a.md", "# About\n\nzzz\n");
    world.catalog.repack();
    let long = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda";
    for at in 0..12 {
        world.put(&format!("n{at}.md"), &format!("# {long} w{at}\n\ntea\n"));
    }
    world.put("t.md", "# About tea\n\nzzz\n");
    let all = ranked(&world.catalog, "about", &SearchFilter::default(), 100);
    assert_eq!(ranked(&world.catalog, "about", &SearchFilter::default(), 1), all[..1]);
}

#[test]
fn ties_go_by_position_where_sections_have_changed_places() {
    let mut world = World::new();
    let sections = |order: [&str; 3]| {
        let all = order.map(|name| format!("## {name}\n\nequal words\n\n"));
        format!("# Top\n\n{}", all.concat())
    };
    world.put("a.md", &sections(["One", "Two", "Six"]));
    world.catalog.repack();
    for order in [["Six", "One", "Two"], ["Two", "One", "Six"], ["One", "Two", "Six"]] {
        world.put("a.md", &sections(order));
        for limit in [1, 2, 10] {
            let best = ranked(&world.catalog, "words", &SearchFilter::default(), limit);
            assert_eq!(best, ranked(&world.fresh(), "words", &SearchFilter::default(), limit));
        }
        world.put("b.md", order[0]);
    }
}

/// In a superblock without a speaker of that name, no bound may count the speaker: else a document
/// would have a higher bound than its superblock.
#[test]
fn a_speaker_is_found_where_others_mention_the_name() {
    let mut notes = String::new();
    for at in 0..5000usize {
        let often = "melanie ".repeat(1 + at * at % 7);
        let seldom = if at % 75 == 3 { "tea ".repeat(1 + at % 5) } else { String::new() };
        notes += &format!("## Part\n\n{often}{seldom}{}\n\n", "filler ".repeat(at % 11));
    }
    let mut world = World::new();
    world.put("a.md", &notes);
    let line =
        |name: &str| format!("{{\"role\":\"user\",\"name\":\"{name}\",\"content\":\"filler\"}}\n");
    world.put("x.jsonl", &(line("Melanie") + &line("Tea")));
    world.catalog.repack();
    let queries = ["melanie", "tea", "melanie tea", "tea filler"].map(str::to_owned);
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
}

/// In one superblock, both the packed postings and the delta can have the highest bound.
#[test]
fn bounds_of_packed_postings_and_of_the_delta_are_added() {
    let mut world = World::new();
    world.put("a.md", &"# More\n\nzzz\n\n# About\n\nzzz\n\n# Other\n\nzzz\n\n".repeat(100));
    world.catalog.repack();
    world.put("b.md", "# About\n\nzzz\n");
    let queries = ["about".to_owned()];
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
}

/// Found by the property above: the words of a question, which weigh more, told its language twice.
#[test]
fn a_question_has_one_vote_a_word() {
    let mut world = World::new();
    let text = r#"{"role":"user","content":"das Haus ist nicht straße the","session":"s0"}"#;
    world.put("x.jsonl", &format!("{text}\n"));
    let queries = ["the data? straße straße".to_owned(), "the straße?".to_owned()];
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
}

#[test]
fn names_in_code_count_half_more() {
    let mut world = World::new();
    let text = "# run\n\nthe run_target method\n\n# method\n\nmethod of main target\n";
    world.put("a.md", text);
    let queries = [
        "the `run_target` method",
        "method of main()?",
        "`run_target`",
        "main() `method of` It is started. Is run() `target`? `main",
        "don`t run main and method and target `run` `target`",
    ];
    let queries = queries.map(str::to_owned);
    check(&world.catalog, &Reference::of(&world.files), &queries).unwrap();
}
