//! Property test: a transcript that is read in parts gives what it gives as a whole.

#![allow(missing_docs)]

use std::fs;

use commonplace_core::catalog::extract::Corpus;
use commonplace_core::catalog::{Catalog, DocMeta, FileMeta};
use commonplace_core::files::root::{Root, Stat};
use commonplace_core::index::bm25f::Weights;
use proptest::prelude::*;

/// Lines of each kind that a transcript may have; `n` makes them different.
fn line(kind: usize, n: usize) -> String {
    match kind {
        0 => String::new(),
        1 => format!("<<<<<<< {n}"),
        2 => format!(
            "{{\"type\":\"session\",\"host\":\"codex\",\"id\":\"s{}\",\"title\":\"T {n}\"}}",
            n % 3
        ),
        3 => format!("{{\"type\":\"copy\",\"of\":\"sessions/a/messages.jsonl#L{n}\",\"count\":2}}"),
        4 => format!(
            "{{\"role\":\"tool\",\"content\":\"built {n} things\",\"session\":\"s{}\"}}",
            n / 9
        ),
        5 => format!("{{\"role\":\"user\",\"content\":\"\",\"session\":\"s{n}\"}}"),
        6 => format!("{{\"role\":\"user\",\"content\":\"{}\"}}", format!("long{n} ").repeat(60)),
        _ => {
            let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
            let (session, day) = (n / 7, n % 28 + 1);
            format!(
                "{{\"role\":\"{role}\",\"content\":\"tea{n} and Running{} tools\",\"session\":\
                 \"s{session}\",\"timestamp\":\"2026-01-{day:02}T10:00:00Z\"}}",
                n % 5
            )
        }
    }
}

/// What a catalog says of each file and of each document, in words, for labels have numbers.
type Told = (Vec<(FileMeta, String)>, Vec<(DocMeta, [String; 4])>);

struct World {
    _scratch: tempfile::TempDir,
    root: Root,
}

impl World {
    fn of(files: &[(&str, String)]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write(scratch.path().join(path), text).unwrap();
        }
        let root = Root::open(scratch.path(), false).unwrap();
        Self { _scratch: scratch, root }
    }

    fn built(&self, corpus: Corpus, part_bytes: u64) -> Catalog {
        let files = self.root.walk("", &|| false).unwrap().files;
        let empty = Catalog::new(Weights::default(), corpus).with_part_bytes(part_bytes);
        let (catalog, failures) = empty.fill(&self.root, &files, &|| false).unwrap();
        assert!(failures.is_empty(), "{failures:?}");
        catalog
    }

    fn told(catalog: &Catalog) -> Told {
        let text = |label: u32| catalog.labels.text(label).to_owned();
        // whether its change time proves anything depends on how long ago it was written
        let file = |file: &FileMeta| {
            let stat = Stat { ctime_ns: 0, ..file.stat };
            (FileMeta { summary: 0, stat, ..file.clone() }, text(file.summary))
        };
        let doc = |number: usize| {
            let doc = catalog.docs[number];
            let labels = [doc.trail, doc.role, doc.session, doc.category].map(text);
            (DocMeta { trail: 0, role: 0, session: 0, category: 0, ..doc }, labels)
        };
        (catalog.files.iter().map(file).collect(), (0..catalog.docs.len()).map(doc).collect())
    }
}

#[test]
fn parts_give_what_the_whole_gives() {
    let transcript = prop::collection::vec(0..16usize, 100..320);
    let config = ProptestConfig { cases: 24, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&(transcript, 2_000..9_000u64, any::<bool>()), |(kinds, part_bytes, ends)| {
            let lines = kinds.iter().enumerate().map(|(n, &kind)| line(kind, n));
            let text = lines.collect::<Vec<_>>().join("\n") + if ends { "\n" } else { "" };
            let small = |n: usize| (0..n).map(|n| line(9, n) + "\n").collect::<String>();
            let world = World::of(&[
                ("a.jsonl", small(3)),
                ("b.jsonl", text),
                ("c.md", "# Tea\n\nGreen.\n".to_owned()),
                ("d.jsonl", small(90)),
            ]);
            for corpus in [Corpus::Main, Corpus::Tools] {
                let whole = world.built(corpus, u64::MAX);
                let mut parted = world.built(corpus, part_bytes);
                prop_assert_eq!(World::told(&parted), World::told(&whole));
                for path in ["a.jsonl", "b.jsonl", "d.jsonl"] {
                    let same = parted.matches_file(&world.root, path, &|| false).unwrap();
                    prop_assert_eq!(same, Some(true), "{}", path);
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_context_far_away_is_found() {
    // between the two messages there are more lines without text than a window holds
    let filler = (0..4_000).map(|n| line(5, n) + "\n").collect::<String>();
    let text = (0..60).map(|n| line(9, n) + "\n").collect::<String>() + &filler + &line(9, 61);
    let world = World::of(&[("b.jsonl", text)]);
    let mut parted = world.built(Corpus::Main, 40_000);
    assert_eq!(World::told(&parted), World::told(&world.built(Corpus::Main, u64::MAX)));
    assert_eq!(parted.matches_file(&world.root, "b.jsonl", &|| false).unwrap(), Some(true));
}
