//! Ranking through the documents, names and statistics that are given to an engine, against the
//! ranking of the store.

#![allow(missing_docs)]

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use commonplace_core::catalog::doc_table::SectionMeta;
use commonplace_core::catalog::extract::Corpus;
use commonplace_core::filter::SearchFilter;
use commonplace_core::index::bm25f::Weights;
use commonplace_core::search::Wanted;
use commonplace_core::search::collection_stats::CollectionStats;
use commonplace_core::search::query::Query;
use commonplace_core::search::turns::Unit;
use commonplace_core::store::Store;
use commonplace_core::store::engine::candidates::rank;
use commonplace_core::store::engine::document::EngineDocument;
use commonplace_core::store::engine::extraction::documents;
use commonplace_core::store::engine::query_names::QueryNames;
use commonplace_core::store::hit::{Hit, Hits};
use commonplace_core::store::search::SearchRequest;
use fixture::TestRoot;
use proptest::prelude::*;
use serde_json::json;

const WORDS: [&str; 19] = [
    "das Haus ist nicht alt und",
    "die Häuser der Stadt sind",
    "городские дома",
    "tea",
    "teas",
    "kettle",
    "kettles",
    "river",
    "walk",
    "walking",
    "garden",
    "the",
    "v2",
    "茶水",
    "boat",
    "Melanie",
    "user",
    "Tuesday",
    "rivers",
];

const QUERIES: [&str; 22] = [
    "Haus tea",
    "Häusern",
    "\"Haus ist\"",
    "дом",
    "tea",
    "teas kettle",
    "the river walk",
    "walking by rivers? The garden.",
    "茶水 boat",
    "Melanie user",
    "\"tea kettle\"",
    "river -tea",
    "kett* boat",
    "rivr~1",
    "heading:garden tea",
    "speaker:Melanie tea",
    "zebra tea",
    "zebra",
    "role:user tea",
    "session:s1 river",
    "v2 v2 Tuesday",
    "body:walk time:Tuesday",
];

type Files = BTreeMap<String, String>;

/// Messages of a few sessions, of which some are prompts and some are of tools.
fn transcript() -> impl Strategy<Value = String> {
    let text = prop::collection::vec(0..WORDS.len(), 0..12);
    let line = (text, 0..4usize, 0..3usize, 0..4usize, 0..8usize);
    prop::collection::vec(line, 1..40).prop_map(|lines| {
        let mut all = String::new();
        for (words, role, name, session, day) in lines {
            let said = words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
            let role = ["user", "assistant", "assistant", "tool"][role];
            let mut message = json!({"role": role, "content": said});
            if name == 1 {
                message["name"] = json!("Melanie");
            }
            // runs of a session, with others between
            message["session"] = json!(format!("s{}", session / 2));
            if day > 0 {
                message["timestamp"] = json!(format!("2026-01-{day:02}T08:00:00Z"));
            }
            all += &format!("{message}\n");
        }
        all
    })
}

fn note() -> impl Strategy<Value = String> {
    let section = (0..WORDS.len(), prop::collection::vec(0..WORDS.len(), 0..20));
    prop::collection::vec(section, 1..6).prop_map(|sections| {
        let one = |(heading, words): (usize, Vec<usize>)| {
            let words = words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>();
            format!("# {}\n\n{}\n\n", WORDS[heading], words.join(" "))
        };
        sections.into_iter().map(one).collect()
    })
}

fn files() -> impl Strategy<Value = Files> {
    let transcripts = prop::collection::vec(transcript(), 1..4);
    let notes = prop::collection::vec(note(), 0..4);
    (transcripts, notes).prop_map(|(transcripts, notes)| {
        let named =
            |kind: &'static str| move |(at, text)| (kind.replace('#', &format!("{at}")), text);
        let transcripts = (0..).zip(transcripts).map(named("sessions/#/messages.jsonl"));
        transcripts.chain((0..).zip(notes).map(named("notes/#.md"))).collect()
    })
}

fn opened(files: &Files) -> (TestRoot, Store) {
    let memory = TestRoot::new();
    files.iter().for_each(|(path, text)| memory.put(path, text));
    let store = memory.open(false);
    (memory, store)
}

fn documents_of(files: &Files) -> Vec<Arc<EngineDocument>> {
    let of = |(path, text): (&String, &String)| {
        documents(path, text.as_bytes(), Corpus::Main, &|| false).unwrap()
    };
    files.iter().flat_map(of).map(Arc::new).collect()
}

fn request(query: &str, limit: usize, unit: Unit) -> SearchRequest {
    SearchRequest { query: query.to_owned(), limit, unit, ..SearchRequest::default() }
}

fn by(stats: &CollectionStats, request: &SearchRequest) -> SearchRequest {
    SearchRequest { stats: Some(Arc::new(stats.clone())), ..request.clone() }
}

fn ranked(documents: &[Arc<EngineDocument>], request: &SearchRequest) -> Hits {
    let query = Query::parse(&request.query).unwrap();
    let stats = request.stats.as_deref();
    let wanted = Wanted { limit: request.limit, unit: request.unit, stats, ..Wanted::default() };
    rank(documents, &query, &request.filter, wanted, &Weights::default(), &|| false).unwrap()
}

/// What a hit shows, with its score to the last digit.
fn shown(hits: &[Hit]) -> Vec<(String, f32, String, Option<String>)> {
    let one = |hit: &Hit| {
        let passage = hit.passage();
        let prompt = hit.turn.as_ref().and_then(|turn| turn.prompt.clone());
        (passage.citation.clone(), hit.score, passage.snippet.clone(), prompt)
    };
    hits.iter().map(one).collect()
}

fn stats_of(store: &Store, query: &str) -> CollectionStats {
    store.collection_stats(query, &|| false).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn all_documents_rank_as_the_store_ranks_them(files in files()) {
        let (_memory, store) = opened(&files);
        let documents = documents_of(&files);
        let through_json: Vec<_> = documents
            .iter()
            .map(|document| Arc::new(EngineDocument::from_json(&document.to_json()).unwrap()))
            .collect();
        prop_assert_eq!(through_json.len(), documents.len());
        for (one, same) in documents.iter().zip(&through_json) {
            let SectionMeta { starts, flags, .. } = one.section_meta;
            let meta = SectionMeta { starts, flags, ..SectionMeta::default() };
            let words = one.words.iter().cloned().collect::<BTreeMap<_, _>>();
            let expected = EngineDocument { section_meta: meta, words: words.into_iter().collect(), ..(**one).clone() };
            let words = same.words.iter().cloned().collect::<BTreeMap<_, _>>();
            let same = EngineDocument { words: words.into_iter().collect(), ..(**same).clone() };
            prop_assert_eq!(same, expected);
        }
        for query in QUERIES {
            let stats = stats_of(&store, query);
            for unit in [Unit::Message, Unit::Turn] {
                let request = request(query, 30, unit);
                let home = store.search(&request, &|| false).unwrap();
                if home.notes.iter().any(|note| note.contains("holds the phrase")) {
                    continue;
                }
                let own = ranked(&documents, &by(&stats, &request));
                prop_assert_eq!(shown(&own.hits), shown(&home.hits), "{} {:?}", query, unit);
                if !home.hits.is_empty() {
                    prop_assert_eq!(own.confidence, home.confidence, "{}", query);
                    prop_assert_eq!(&own.notes, &home.notes, "{}", query);
                }
            }
        }
    }

    #[test]
    fn some_of_the_documents_rank_as_they_do_among_all(files in files()) {
        let (_memory, store) = opened(&files);
        let documents = documents_of(&files);
        for query in QUERIES {
            let stats = stats_of(&store, query);
            // those with a word of the query, as an engine finds them; of turns all messages
            let all = ranked(&documents, &by(&stats, &request(query, 1000, Unit::Message)));
            let is_found = |document: &&Arc<EngineDocument>| {
                all.hits.iter().any(|hit| (&hit.path, hit.start) == (&document.path, document.start))
            };
            let found: Vec<_> = documents.iter().filter(is_found).cloned().collect();
            let in_turn = |document: &&Arc<EngineDocument>| {
                found.iter().any(|other| {
                    (&other.path, other.position.turn) == (&document.path, document.position.turn)
                })
            };
            let turns: Vec<_> = documents.iter().filter(in_turn).cloned().collect();
            for (some, unit) in [(&found, Unit::Message), (&turns, Unit::Turn)] {
                let request = by(&stats, &request(query, 10, unit));
                let expected = ranked(&documents, &request);
                prop_assert_eq!(
                    shown(&ranked(some, &request).hits), shown(&expected.hits), "{} {:?}", query, unit
                );
            }
        }
    }

    #[test]
    fn parts_of_a_collection_are_scored_as_one(left in files(), right in files()) {
        let right: Files =
            right.into_iter().map(|(path, text)| (format!("zz/{path}"), text)).collect();
        let (_a, a) = opened(&left);
        let both: Files = left.iter().chain(&right).map(|(p, t)| (p.clone(), t.clone())).collect();
        let (_b, b) = opened(&both);
        let others = documents_of(&right);
        for query in QUERIES {
            let stats = stats_of(&b, query);
            // without rescoring by sessions, whose window is of all
            let alone = SearchFilter { prefixes: vec!["notes".into(), "zz/notes".into()], ..SearchFilter::default() };
            let request = SearchRequest { filter: alone, ..request(query, 100, Unit::Message) };
            let expected = b.search(&request, &|| false).unwrap();
            if expected.notes.iter().any(|note| note.contains("holds the phrase")) {
                continue;
            }
            let mut parts = a.search(&by(&stats, &request), &|| false).unwrap().hits;
            if parts.is_empty() || !query.contains('"') {
                let others = ranked(&others, &by(&stats, &request)).hits;
                parts.extend(others);
                parts.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.path.cmp(&b.path)).then(a.start.cmp(&b.start)));
                prop_assert_eq!(shown(&parts), shown(&expected.hits), "{}", query);
            }
        }
    }

    #[test]
    fn names_count_documents_and_impacts_are_the_score(files in files()) {
        let (_memory, store) = opened(&files);
        let documents = documents_of(&files);
        let (weights, k1) = (Weights::default(), Weights::default().k1);
        let named: Vec<Vec<String>> = documents.iter().map(|one| one.names(true)).collect();
        for query in QUERIES {
            let stats = stats_of(&store, query);
            let names = QueryNames::parse(query, &weights, None, &|| false).unwrap();
            for name in &names.names {
                let count = named.iter().filter(|own| own.contains(name)).count();
                // what the documents are not read in is not listed
                let noted = stats.doc_freqs.get(name).copied().unwrap_or_default();
                prop_assert_eq!(count as u32, noted, "{}: {}", query, name);
            }
            if !names.patterns.is_empty() || !names.phrases().is_empty() || names.excludes() {
                continue;
            }
            let asked = names.weights(&stats, &|| false).unwrap();
            let notes = SearchFilter { prefixes: vec!["notes".into()], ..SearchFilter::default() };
            let request = SearchRequest { filter: notes, ..request(query, 100, Unit::Message) };
            for hit in store.search(&request, &|| false).unwrap().hits {
                let is_hit = |document: &&Arc<EngineDocument>| {
                    (&document.path, document.start) == (&hit.path, hit.start)
                };
                let document = documents.iter().find(is_hit).unwrap();
                let impacts = document.impacts(&weights, &stats.totals);
                let score = |(name, weight): &(String, f32)| {
                    let impact = impacts.iter().find(|(own, _)| own == name);
                    impact.map_or(0.0, |(_, tf)| weight * tf / (k1 + tf))
                };
                let sum: f32 = asked.iter().map(score).sum();
                prop_assert!((sum - hit.score).abs() < 1e-3, "{}: {} {}", query, sum, hit.score);
            }
        }
    }
}

#[test]
fn what_is_no_record_is_refused() {
    for odd in ["", "{}", "[1]", "{\"path\":1}", "\u{0}"] {
        let error = EngineDocument::from_json(odd).unwrap_err().to_string();
        assert!(error.contains("index its file again"), "{error}");
    }
}
