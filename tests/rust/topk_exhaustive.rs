//! Top-k retrieval under every filter against exhaustive scoring of many documents.
//!
//! Texts repeat, so that upper bounds are alike and the search switches to MaxScore.

#![allow(missing_docs)]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use commonplace_core::catalog::extract::Corpus;
use commonplace_core::catalog::{Catalog, DocMeta, NO_TIME};
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::files::paths::is_below;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::files::root::Root;
use commonplace_core::filter::{FieldPredicate, SearchFilter};
use commonplace_core::index::bm25f::{Field, Weights};
use commonplace_core::index::dictionary::expansion::Expander;
use commonplace_core::index::topk::collector::{Scored, Scoring};
use commonplace_core::search::query::{Atom, Query, contains_phrase};
use commonplace_core::search::scoring::QueryScorer;
use commonplace_core::search::turns::Unit;
use commonplace_core::search::{search, session_rescore};
use commonplace_core::text::query_terms::query_terms;

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

struct World {
    scratch: tempfile::TempDir,
    root: Root,
    files: BTreeMap<String, String>,
    catalog: Catalog,
}

/// So few texts that every block has most of them.
const TEXTS: [&str; 12] = [
    "tea",
    "kettle",
    "tea and a kettle on the stove",
    "kettle tea",
    "a long walk by the river before tea in the garden",
    "garden kettle garden",
    "what about the boat for two",
    "boat boat boat",
    "river boat tea",
    "melanie asked for tea",
    "pot of tea pot",
    "nothing of the kind",
];

fn message(random: &mut Random, rare: bool) -> String {
    let role = ["user", "assistant", "user", "system"][random.below(4)];
    let name = ["", "Melanie", "Tea", ""][random.below(4)];
    let (content, session, day) = (TEXTS[random.below(12)], random.below(30), 1 + random.below(28));
    let rare = if rare && random.below(900) == 0 { " zebra tea kettle boat" } else { "" };
    let stamp = if random.below(9) == 0 {
        String::new()
    } else {
        format!(",\"timestamp\":\"2026-01-{day:02}T00:00:00Z\"")
    };
    let name = if name.is_empty() { String::new() } else { format!(",\"name\":\"{name}\"") };
    format!(
        "{{\"role\":\"{role}\"{name},\"content\":\"{content}{rare}\",\"session\":\"s{session}\"{stamp}}}\n"
    )
}

fn transcript(random: &mut Random, count: usize, rare: bool) -> String {
    (0..count).map(|_| message(random, rare)).collect()
}

fn notes(random: &mut Random, count: usize) -> String {
    let section = |random: &mut Random| {
        let heading = TEXTS[random.below(12)];
        format!("## {heading}\n\n{} {}\n\n", TEXTS[random.below(12)], TEXTS[random.below(12)])
    };
    (0..count).map(|_| section(random)).collect()
}

impl World {
    fn new(files: BTreeMap<String, String>) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = Root::open(scratch.path(), false).unwrap();
        for (path, text) in &files {
            let at = scratch.path().join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        }
        let stats: Vec<_> = files.keys().map(|p| (p.clone(), root.stat(p).unwrap())).collect();
        let built = Catalog::build(
            &root,
            &stats,
            Weights::default(),
            Corpus::Main,
            FsClock::default(),
            &|| false,
        );
        let catalog = built.unwrap().0;
        Self { scratch, root, files, catalog }
    }

    fn put(&mut self, path: &str, text: String) {
        let at = self.scratch.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, &text).unwrap();
        self.files.insert(path.to_owned(), text);
        self.catalog.update(&self.root, path, &|| false).unwrap();
    }

    fn remove(&mut self, path: &str) {
        fs::remove_file(self.scratch.path().join(path)).unwrap();
        self.files.remove(path);
        self.catalog.update(&self.root, path, &|| false).unwrap();
    }

    fn text(&self, document: u32) -> Option<String> {
        let row = &self.catalog.docs[document as usize];
        let text = &self.files[&self.catalog.files[row.file as usize].path];
        Some(text[row.start as usize..][..row.length as usize].to_owned())
    }

    fn passes(&self, filter: &SearchFilter, row: &DocMeta) -> bool {
        let file = &self.catalog.files[row.file as usize];
        let label = |wanted: &Option<String>, label: u32| {
            wanted.as_ref().is_none_or(|wanted| self.catalog.labels.text(label) == wanted)
        };
        let path = &file.path;
        (filter.prefixes.is_empty() || filter.prefixes.iter().any(|p| is_below(path, p)))
            && filter.kind.is_none_or(|kind| FileKind::of(path) == kind)
            && filter.since.is_none_or(|since| row.time != NO_TIME && row.time >= since)
            && filter.until.is_none_or(|until| row.time != NO_TIME && row.time < until)
            && label(&filter.role, row.role)
            && label(&filter.session, row.session)
            && label(&filter.category, row.category)
            && (filter.predicates.is_empty()
                || even_day(path, Some(row.time).filter(|&time| time != NO_TIME)))
    }

    /// Scores every document, and sorts all; with the scorer.
    fn exhaustive(&self, query: &Query) -> (Vec<(i64, u32)>, QueryScorer<'_>) {
        let catalog = &self.catalog;
        let mut scorer = QueryScorer::new(catalog, None, &|| false);
        let mut words = Vec::new();
        for atom in &query.atoms {
            let Atom::Words(text) = atom else { panic!("only words here") };
            words.push((text.as_str(), 1.0));
        }
        let languages = catalog.index.languages();
        for term in query_terms(&words, languages, |word| catalog.index.lexicon().stem(word)) {
            scorer.add_term(&term);
        }
        let (terms, _) = scorer.term_scorers();
        let mut all = Vec::new();
        for document in 0..catalog.index.max_doc() {
            if !catalog.index.is_live(document) {
                continue;
            }
            let parts = terms.iter().enumerate().filter_map(|(at, term)| {
                let profile = term.list.find(document)?;
                let part = scorer.term_score(at, document, profile);
                Some((f64::from(part) * 4_294_967_296.0) as i64)
            });
            let sum: i64 = parts.sum();
            let holds_phrase =
                |phrase: &String| contains_phrase(&self.text(document).unwrap(), phrase);
            if sum > 0
                && query.phrases.iter().all(holds_phrase)
                && !query.excluded.iter().any(holds_phrase)
            {
                all.push((sum, document));
            }
        }
        all.sort_by(|a, b| Reverse(a.0).cmp(&Reverse(b.0)).then(catalog.order(a.1, b.1)));
        drop(terms);
        (all, scorer)
    }

    fn check(&self, queries: &[&str], filters: &[SearchFilter]) {
        let expander = Expander::default();
        for query in queries {
            let parsed = Query::parse(query).unwrap();
            let (all, scorer) = self.exhaustive(&parsed);
            for filter in filters {
                let mut passing = all.clone();
                passing.retain(|&(_, document)| {
                    self.passes(filter, &self.catalog.docs[document as usize])
                });
                for limit in [1, 10, 47, 1000, 1 << 40] {
                    let depth = limit.max(Unit::Message.window()).min(passing.len());
                    let mut expected: Vec<Scored> = passing[..depth]
                        .iter()
                        .map(|&(sum, document)| {
                            let score = (sum as f64 / 4_294_967_296.0) as f32;
                            Scored { document, score }
                        })
                        .collect();
                    if self.catalog.index.docs_with_field(Field::Speaker) > 0 {
                        let window = Unit::Message.window();
                        let rescored = expected.len().min(window);
                        scorer.rescore_messages(&mut expected[..rescored]);
                        session_rescore::rescore(
                            &self.catalog,
                            &mut expected,
                            window,
                            |document| scorer.share(document),
                        );
                    }
                    expected.truncate(limit);
                    let mut text = |document| self.text(document);
                    let never = || false;
                    let (catalog, wanted) = (&self.catalog, (limit, Unit::Message));
                    let found =
                        search(catalog, &expander, &parsed, filter, wanted, &mut text, &never);
                    let found = found.unwrap().ranked;
                    let off = found.iter().zip(&expected).position(|(a, b)| a != b);
                    assert!(
                        found.len() == expected.len() && off.is_none(),
                        "{query} {filter:?} {limit}: {} {} {:?} {:?}",
                        found.len(),
                        expected.len(),
                        off.map(|at| (at, found[at])),
                        off.map(|at| expected[at]),
                    );
                }
            }
        }
    }
}

/// The predicate of the last filter.
fn even_day(path: &str, time: Option<i64>) -> bool {
    path.contains('3') && time.is_some_and(|time| time / 86_400_000 % 2 == 0)
}

fn filters() -> Vec<SearchFilter> {
    let all = SearchFilter::default;
    let below = |paths: &[&str]| SearchFilter {
        prefixes: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..SearchFilter::default()
    };
    let day = 86_400_000;
    let january = 1_767_225_600_000;
    vec![
        all(),
        below(&[""]),
        below(&["a/s3.jsonl"]),
        below(&["a/s3.jsonl", "b/s7.jsonl", "new"]),
        below(&["a"]),
        below(&["a", "b/", "notes"]),
        below(&["nowhere"]),
        SearchFilter { kind: Some(FileKind::Note), ..all() },
        SearchFilter { kind: Some(FileKind::Transcript), ..below(&["b", "notes"]) },
        SearchFilter { role: Some("assistant".into()), ..all() },
        SearchFilter { role: Some("nobody".into()), ..all() },
        SearchFilter { session: Some("s3".into()), ..all() },
        SearchFilter { session: Some("s4".into()), role: Some("user".into()), ..below(&["b"]) },
        SearchFilter { since: Some(january + 20 * day), ..all() },
        SearchFilter { until: Some(january + 3 * day), ..below(&["a"]) },
        SearchFilter { since: Some(january + 5 * day), until: Some(january + 6 * day), ..all() },
        SearchFilter {
            predicates: vec![FieldPredicate::new(|doc| even_day(doc.path(), doc.timestamp_ms()))],
            ..all()
        },
    ]
}

#[test]
fn top_k_under_every_filter_equals_exhaustive_scoring() {
    let queries = [
        "tea kettle",
        "tea",
        "zebra boat river",
        "melanie kettle garden tea boat river pot",
        "\"tea pot\"",
        "\"pot of tea\" garden",
        "\"boat kettle\"",
        "tea kettle -boat",
        "\"tea unheard\"",
    ];
    // with fewer the search does not switch to MaxScore
    let each = 2400;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut files = BTreeMap::new();
    for at in 0..10 {
        for folder in ["a", "b"] {
            let text = transcript(&mut random, each, true);
            files.insert(format!("{folder}/s{at}.jsonl"), text);
        }
    }
    for at in 0..5 {
        files.insert(format!("notes/n{at}.md"), notes(&mut random, each / 10));
    }
    let mut world = World::new(files);
    // some packed documents are deleted, and their paths are those of other files
    world.remove("a/s2.jsonl");
    world.remove("b/s7.jsonl");
    world.put("new/s0.jsonl", transcript(&mut random, each, true));
    world.put("a/s2.jsonl", transcript(&mut random, each / 3, true));
    let edited = format!("## tea\n\nfirst\n\n{}", world.files["notes/n1.md"]);
    world.put("notes/n1.md", edited);
    let grown = world.files["a/s3.jsonl"].clone() + &transcript(&mut random, 300, true);
    world.put("a/s3.jsonl", grown);
    let turned: String =
        world.files["b/s1.jsonl"].lines().rev().fold(String::new(), |mut text, line| {
            text += line;
            text.push('\n');
            text
        });
    world.put("b/s1.jsonl", turned);
    world.check(&queries, &filters());
    world.catalog.repack();
    world.check(&queries[..3], &filters());
}
