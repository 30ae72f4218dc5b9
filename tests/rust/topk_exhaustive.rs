//! The best of many thousand documents, under every filter, against scoring each of them.
//!
//! Texts repeat, so that bounds are alike and most of it has to be opened at once.

#![allow(missing_docs)]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use commonplace_core::catalog::extract::Corpus;
use commonplace_core::catalog::{Catalog, DocMeta, NO_TIME};
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::files::root::Root;
use commonplace_core::index::bm25f::{Field, Weights};
use commonplace_core::index::dictionary::expansion::Expander;
use commonplace_core::index::topk::{Scored, Scoring};
use commonplace_core::search::query::{Atom, Query, holds};
use commonplace_core::search::scoring::Ranking;
use commonplace_core::search::{Filter, is_below, search, session_rescore};
use commonplace_core::text::query_terms::terms_of;

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

/// So few that every row has most of them.
const SAID: [&str; 12] = [
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
    let (said, session, day) = (SAID[random.below(12)], random.below(30), 1 + random.below(28));
    let rare = if rare && random.below(900) == 0 { " zebra tea kettle boat" } else { "" };
    let stamp = if random.below(9) == 0 {
        String::new()
    } else {
        format!(",\"timestamp\":\"2026-01-{day:02}T00:00:00Z\"")
    };
    let name = if name.is_empty() { String::new() } else { format!(",\"name\":\"{name}\"") };
    format!(
        "{{\"role\":\"{role}\"{name},\"content\":\"{said}{rare}\",\"session\":\"s{session}\"{stamp}}}\n"
    )
}

fn transcript(random: &mut Random, count: usize, rare: bool) -> String {
    (0..count).map(|_| message(random, rare)).collect()
}

fn notes(random: &mut Random, count: usize) -> String {
    let section = |random: &mut Random| {
        let heading = SAID[random.below(12)];
        format!("## {heading}\n\n{} {}\n\n", SAID[random.below(12)], SAID[random.below(12)])
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

    fn passes(&self, filter: &Filter, row: &DocMeta) -> bool {
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
    }

    /// Scores every document, and sorts all.
    fn plain(&self, query: &Query) -> Vec<(i64, u32)> {
        let catalog = &self.catalog;
        let mut ranking = Ranking::new(catalog, None, &|| false);
        let mut words = Vec::new();
        for atom in &query.sought {
            let Atom::Words(text) = atom else { panic!("only words here") };
            words.push((text.as_str(), 1.0));
        }
        for term in terms_of(&words, |word| catalog.index.words().stem(word)) {
            ranking.seek(&term);
        }
        let (clauses, _) = ranking.clauses();
        let mut all = Vec::new();
        for document in 0..catalog.index.numbers() {
            if !catalog.index.is_live(document) {
                continue;
            }
            let parts = clauses.iter().enumerate().filter_map(|(at, clause)| {
                let pattern = clause.list.find(document)?;
                let part = ranking.part(at, document, pattern);
                Some((f64::from(part) * 4_294_967_296.0) as i64)
            });
            let sum: i64 = parts.sum();
            let said = |phrase: &String| holds(&self.text(document).unwrap(), phrase);
            if sum > 0 && query.phrases.iter().all(said) && !query.excluded.iter().any(said) {
                all.push((sum, document));
            }
        }
        all.sort_by(|a, b| Reverse(a.0).cmp(&Reverse(b.0)).then(catalog.order(a.1, b.1)));
        all
    }

    fn check(&self, queries: &[&str], filters: &[Filter]) {
        let expander = Expander::default();
        for query in queries {
            let parsed = Query::parse(query).unwrap();
            let all = self.plain(&parsed);
            for filter in filters {
                let mut plain = all.clone();
                plain.retain(|&(_, document)| {
                    self.passes(filter, &self.catalog.docs[document as usize])
                });
                for limit in [1, 10, 47, 1000, 1 << 40] {
                    let deep = limit.max(session_rescore::BEST).min(plain.len());
                    let mut expected: Vec<Scored> = plain[..deep]
                        .iter()
                        .map(|&(sum, document)| {
                            let score = (sum as f64 / 4_294_967_296.0) as f32;
                            Scored { document, score }
                        })
                        .collect();
                    if self.catalog.index.having(Field::Speaker) > 0 {
                        session_rescore::lift(
                            &self.catalog,
                            &mut expected[..deep.min(session_rescore::BEST)],
                        );
                    }
                    expected.truncate(limit);
                    let mut text = |document| self.text(document);
                    let never = || false;
                    let (catalog, never) = (&self.catalog, &never);
                    let found =
                        search(catalog, &expander, &parsed, filter, limit, &mut text, never);
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

fn filters() -> Vec<Filter> {
    let all = Filter::default;
    let below = |paths: &[&str]| Filter {
        prefixes: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..Filter::default()
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
        Filter { kind: Some(FileKind::Note), ..all() },
        Filter { kind: Some(FileKind::Transcript), ..below(&["b", "notes"]) },
        Filter { role: Some("assistant".into()), ..all() },
        Filter { role: Some("nobody".into()), ..all() },
        Filter { session: Some("s3".into()), ..all() },
        Filter { session: Some("s4".into()), role: Some("user".into()), ..below(&["b"]) },
        Filter { since: Some(january + 20 * day), ..all() },
        Filter { until: Some(january + 3 * day), ..below(&["a"]) },
        Filter { since: Some(january + 5 * day), until: Some(january + 6 * day), ..all() },
    ]
}

#[test]
fn the_best_under_every_filter_are_those_of_scoring_everything() {
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
    // with fewer nothing is opened at once
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
    // what was packed is dead here and there, and its place is another file's
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
