//! Benchmark of index steps: parsing sections, building, querying, refresh after one saved file.
//!
//! Corpus: 400 seeded notes of 20 sections, 0.9 MB. Why it exists: each step has its own cost, and
//! the benchmark shows which one grew; `compare.py` measures the whole against others. A bare pass
//! of `pulldown-cmark` is the least that a correct parser can take.

#![allow(missing_docs)]

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Store, StoreOptions};
use commonplace_core::text::parser::parse;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const NOTES: usize = 400;
const SECTIONS: usize = 20;

/// A seeded random generator, so that every run has the same notes.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }

    /// A word; the square makes few words frequent and many rare, as in any language.
    fn word(&mut self) -> String {
        let mut rank = self.below(100) * self.below(100);
        let mut word = String::new();
        while word.len() < 4 || rank > 0 {
            word.push(char::from(b"bcdfgklmnprstvz"[rank as usize % 15]));
            word.push(char::from(b"aeiou"[rank as usize / 15 % 5]));
            rank /= 75;
        }
        word
    }

    fn note(&mut self) -> String {
        let mut text = String::from("---\ntags: [bench]\n---\n");
        for number in 0..SECTIONS {
            let heading = format!("{} {}", self.word(), self.word());
            let _ = writeln!(text, "\n{} {heading}\n", "#".repeat(1 + number % 3));
            let _ = (0..12).try_for_each(|_| write!(text, "{} ", self.word()));
            let _ =
                writeln!(text, "\n\n- {}: `{}`\n- **{}**", self.word(), self.word(), self.word());
        }
        text
    }
}

fn notes() -> Vec<String> {
    let mut draw = Draw(20_260_201);
    (0..NOTES).map(|_| draw.note()).collect()
}

fn store(root: &Path) -> Store {
    Store::open(&root.to_string_lossy(), StoreOptions::default())
        .expect("the root is a fresh folder")
}

fn ask(store: &Store, query: &str) -> usize {
    let request = SearchRequest { query: query.to_owned(), limit: 10, ..SearchRequest::default() };
    store.search(&request, &|| false).expect("the query has words").hits.len()
}

fn parsing(criterion: &mut Criterion) {
    let notes = notes();
    let mut group = criterion.benchmark_group("parse sections");
    group.throughput(Throughput::Bytes(notes.iter().map(String::len).sum::<usize>() as u64));
    group.bench_function("commonplace", |bench| {
        bench.iter(|| notes.iter().map(|text| parse(text).sections.len()).sum::<usize>());
    });
    group.bench_function("pulldown-cmark alone", |bench| {
        bench.iter(|| {
            notes.iter().map(|text| pulldown_cmark::Parser::new(text).count()).sum::<usize>()
        });
    });
    group.finish();
}

fn index(criterion: &mut Criterion) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let mut draw = Draw(7);
    for (number, text) in notes().iter().enumerate() {
        fs::write(root.path().join(format!("{number}.md")), text).expect("a note");
    }
    let forget = || drop(fs::remove_dir_all(root.path().join(".commonplace")));
    criterion.bench_function("build", |bench| {
        // the first question builds the index; saving it at the end is not timed
        let built = |()| {
            let store = store(root.path());
            ask(&store, "ready");
            store
        };
        bench.iter_batched(forget, built, BatchSize::PerIteration);
    });
    let store = store(root.path());
    let queries: Vec<String> =
        (0..64).map(|_| format!("{} {} {}", draw.word(), draw.word(), draw.word())).collect();
    let mut turn = queries.iter().cycle();
    criterion.bench_function("query, three words", |bench| {
        bench.iter(|| ask(&store, black_box(turn.next().expect("a cycle has no end"))));
    });
    let changed = root.path().join("7.md");
    let mut texts = (0..).map(|number| format!("# Changed\n\nzq{number}x\n"));
    criterion.bench_function("save one file, then find it", |bench| {
        bench.iter(|| {
            let text = texts.next().expect("numbers have no end");
            fs::write(&changed, &text).expect("a note");
            assert_eq!(ask(&store, text[11..].trim()), 1);
        });
    });
}

criterion_group!(benches, parsing, index);
criterion_main!(benches);
