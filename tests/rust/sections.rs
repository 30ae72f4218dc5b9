//! Section tests: CommonMark headings, and sections that cover the file exactly once.

#![allow(missing_docs)]

mod fixture;
mod hostile;
mod markdown;

use std::fs;
use std::path::Path;
use std::process::Command;

use commonplace_core::catalog::extract::{IndexInput, note};
use commonplace_core::index::bm25f::Field;
use commonplace_core::text::encoding::as_text;
use commonplace_core::text::metadata::{before_meta_comment, meta_comment};
use commonplace_core::text::parser::parse;
use markdown::{assert_covered, assert_exactly_once, reference_headings};
use proptest::prelude::*;

fn headings(text: &str) -> Vec<(u8, String)> {
    let named = parse(text).sections.into_iter().filter(|s| s.level > 0);
    named.map(|s| (s.level, s.heading)).collect()
}

/// A block by itself, and the headings of the document that are in it.
const BLOCKS: [(&str, &[(u8, &str)]); 40] = [
    ("# One", &[(1, "One")]),
    ("###### Six ######", &[(6, "Six")]),
    ("####### seven", &[]),
    ("#no space", &[]),
    ("#\ttab", &[(1, "tab")]),
    ("#", &[(1, "")]),
    ("##  ", &[(2, "")]),
    ("   # indented", &[(1, "indented")]),
    ("\\# escaped", &[]),
    ("# *Em* `code` [link](u) &amp; ![alt](i)", &[(1, "Em code link & alt")]),
    ("# same\n# same", &[(1, "same"), (1, "same")]),
    ("Setext\n===", &[(1, "Setext")]),
    ("Two\nlines\n---", &[(2, "Two lines")]),
    ("[a]: /url\nAfter\n---", &[(2, "After")]),
    ("[a]: /url\n===", &[]),
    ("> quote\n---", &[]),
    ("- item\n---", &[]),
    ("***", &[]),
    ("```\n# fenced\n```", &[]),
    ("~~~~\n```\n# nested\n```\n~~~~\n# yes", &[(1, "yes")]),
    ("``` a\n# fenced\n`` \n# still\n```", &[]),
    ("text\n    # lazy, no code", &[]),
    ("> # quoted\n> text", &[]),
    ("- # in a list\n\n  ## deeper", &[]),
    ("1. a\n   - b\n     # c", &[]),
    ("<!-- # no\n\n# no\n-->", &[]),
    ("<!--\nMETA:\n- keywords: [\"a\", \"b\"]\n-->", &[]),
    ("<div>\n# raw\n</div>", &[]),
    ("<script>\n\n# no\n\n</script>", &[]),
    ("<?php\n\n# no\n?>", &[]),
    ("text\n# interrupts", &[(1, "interrupts")]),
    ("| a | b |\n|---|---|\n| # c | d |", &[]),
    ("a | b\n---", &[(2, "a | b")]),
    ("# crlf\r\ntext\r\n\r\nSet\r\n===", &[(1, "crlf"), (1, "Set")]),
    ("# cr\rtext\r\rSet\r===", &[(1, "cr"), (1, "Set")]),
    ("# 日本 \u{202e}x\u{0301}", &[(1, "日本 \u{202e}x\u{0301}")]),
    ("# trail\u{1f}mark", &[(1, "trail mark")]),
    ("\u{0c}# form feed", &[]),
    ("\u{a0}# no break", &[]),
    ("# a # b \\#", &[(1, "a # b #")]),
];

#[test]
fn each_block_by_itself() {
    for (text, expected) in BLOCKS {
        let found = headings(text);
        let found: Vec<(u8, &str)> = found.iter().map(|(level, h)| (*level, h.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }
    // by itself only: what follows belongs to it
    for open in ["```\n# no\n", "~~~\n# no", "<!-- # no\n\n# no", "    # code\n", "\t# code\n"] {
        assert!(headings(open).is_empty(), "{open:?}");
    }
    assert_eq!(headings("- a\n\n      # code\n\n# b"), [(1, "b".to_owned())]);
}

#[test]
fn front_matter_is_yaml_or_nothing() {
    for (text, title, found) in [
        ("---\ntitle: T\n---\n# H\n", Some("T"), 1),
        ("\u{feff}---\r\ntitle: \"T\"\r\n...\r\n# H\r\n", Some("T"), 1),
        ("---\rtitle: T\r---\r# H\r", Some("T"), 1),
        ("---\n# comment\ntitle: T\ntags:\n- a\n  - b\n---\n", Some("T"), 0),
        // never closed: a break, then text
        ("---\ntitle: T\n\n# H\n", None, 1),
        ("---\ntitle: T\n# H\n--- \ttail\n", None, 1),
        // no YAML: breaks around text
        ("---\n\n# H\n\n---\n", None, 1),
        ("---\nprose that goes on\n\n# H\n\n---\n", None, 1),
        ("--- \ntext\n---\n", None, 1),
        (" ---\ntitle: T\n---\n", None, 1),
        ("a\n---\ntitle: T\n---\n", None, 2),
    ] {
        let note = parse(text);
        assert_eq!(note.front.title.as_deref(), title, "{text:?}");
        let level = note.sections.iter().filter(|s| s.level > 0).count();
        assert_eq!(level, found, "{text:?}");
        assert_covered(text, &note);
    }
    let text = "---\nsummary: >-\n  who\n  it is\ntags: [a, 'b', \"c d\"]\ncategory: x\ndate: 2026-02-24\nkeywords:\n  - e\nbad: [\nx: !!python/object/apply:os.system ['touch PWNED']\n---\n";
    let front = parse(text).front;
    assert_eq!(front.summary.as_deref(), Some("who it is"));
    assert_eq!(front.keywords, ["a", "b", "c d", "e"]);
    assert_eq!((front.category.as_deref(), front.time), (Some("x"), Some(1_771_891_200_000)));
}

#[test]
fn metadata_of_a_section() {
    let marks = |text: &str| parse(text).sections.into_iter().next_back().unwrap().metadata;
    for text in [
        "# A\n\n<!--\nMETA:\n- created: 2024-01-15T10:30:00Z\n- keywords: [\"authentication\", \"jwt\"]\n-->\n\ntext",
        "# A\r\n\r\n<!--\r\nMETA:\r\ncreated: 2024-01-15T10:30:00Z\r\nkeywords: [\"authentication\", \"jwt\"]\r\n-->\r\n",
        "# A\n<!-- META: keywords: [authentication, jwt] -->\n<!-- created: 2024-01-15T10:30:00Z -->\n",
        "# A\r<!--\rMETA:\rcreated: 2024-01-15T10:30:00Z\rkeywords: authentication, jwt\r-->\r",
    ] {
        let marks = marks(text);
        assert_eq!(marks.keywords, ["authentication", "jwt"], "{text:?}");
        assert_eq!(marks.time, Some(1_705_314_600_000), "{text:?}");
    }
    let quoted = marks("# Facts\n\n> Summary: name, language → role\n\n- Name: Zhang San\n");
    assert_eq!(quoted.summary.as_deref(), Some("name, language → role"));
    let item = marks(
        "# E\n\n## Logger\n- Summary: stdout leak → transport\n- **Date:** 2026-02-24\n* Category: bugs\n- Problem: x\n",
    );
    assert_eq!(item.summary.as_deref(), Some("stdout leak → transport"));
    assert_eq!((item.category.as_deref(), item.time), (Some("bugs"), Some(1_771_891_200_000)));
    // text in between: no longer about the section
    assert_eq!(marks("# A\ntext\n- Summary: no\n").summary, None);
    assert_eq!(marks("# A\n<!-- x --> <script>alert(1)</script> <!--\n").summary, None);
}

#[test]
fn meta_comments() {
    for (text, heading, fields, after) in [
        ("<!--\nMETA:\n- a: 1\n-->\n\nx", "", &[("a", "1")][..], "\nx"),
        ("# A\r\n\r\n<!-- META: a: b: c -->\r\nx", "# A\r\n", &[("a", "b: c")], "x"),
        (
            "# A\n<!--META:* a-b: \n\n-  c: 1\n: 1\nd e: 1\n-->  x",
            "# A\n",
            &[("a-b", ""), ("c", "1")],
            "x",
        ),
        ("<!-- META: --> -->", "", &[], "-->"),
        ("<!-- META: a=1 b-c=x=y -->", "", &[("a", "1"), ("b-c", "x=y")], ""),
        (
            "<!-- META:\n- a: b=c\n- d=1 e=2\n- f=1 g\n- h= -->",
            "",
            &[("a", "b=c"), ("d", "1"), ("e", "2")],
            "",
        ),
    ] {
        let found = meta_comment(text).unwrap_or_else(|| panic!("{text:?}"));
        assert_eq!((found.heading, found.after), (heading, after), "{text:?}");
        assert_eq!(found.fields().collect::<Vec<_>>(), fields, "{text:?}");
    }
    for text in
        ["", "# A", "#\n<!-- a: 1 -->", "<!-- META: a", "x\n<!-- META: -->", "<!-->META:-->"]
    {
        assert_eq!(meta_comment(text), None, "{text:?}");
    }
}

#[test]
fn the_meta_comment_that_ends_an_item_is_not_indexed() {
    let marked = "- tea <!-- META: since=2026-10-04 by=agent -->\n";
    let day = "- milk <!-- 2026-10-04 -->\n";
    let text = format!("---\nunit: item\n---\n# Notes\n\n{marked}{day}");
    let mut bodies = Vec::new();
    let keep = &mut |input: IndexInput<'_>| {
        let body = input.fields.iter().filter(|field| field.field == Field::Body);
        bodies.push(body.map(|field| field.text.trim().to_owned()).collect::<String>());
        true
    };
    note("a.md", &text, &|| false, keep).unwrap();
    assert_eq!(bodies[bodies.len() - 2..], ["- tea", day.trim()]);
    for (text, before) in [
        ("a <!-- META: b=1 -->", "a "),
        ("a <!-- b=1 -->", "a <!-- b=1 -->"),
        ("a <!-- META: b=1 --> c", "a <!-- META: b=1 --> c"),
        ("-->", "-->"),
        ("<!-- META: -->\n", ""),
    ] {
        assert_eq!(before_meta_comment(text), before);
    }
}

#[test]
fn nesting_and_preambles() {
    let note = parse("pre\n# A\n### C\n## B\n#### D\n# E\n");
    let trails: Vec<String> = (0..note.sections.len()).map(|at| note.trail(at).join("/")).collect();
    assert_eq!(trails, ["", "A", "A/C", "A/B", "A/B/D", "E"]);
    assert_eq!(note.title(), Some("A"));
    assert!(parse("").sections.is_empty());
    for blank in ["\n", "\u{feff}", " ", "\r"] {
        assert_eq!(parse(blank).sections.len(), 1, "{blank:?}");
    }
    let bytes = b"# h\xe9llo\n\xff\xfe text\n# \xf0\x9f\n";
    let text = as_text(bytes);
    assert_eq!(text.len(), bytes.len());
    let starts: Vec<usize> = parse(&text).sections.iter().map(|s| s.span.start).collect();
    assert_eq!(starts, [0, 16]);
}

#[test]
fn long_headings_and_metadata_are_cut() {
    let text = format!(
        "# {}\n> Summary: {}\n<!-- keywords: {} -->\n{}",
        "h".repeat(300_000),
        "s".repeat(300_000),
        "k, ".repeat(100_000),
        "## x\ny\n".repeat(2000)
    );
    let (mut indexed, mut count) = (0, 0);
    let mut add = |draft: IndexInput<'_>| {
        indexed += draft.fields.iter().map(|field| field.text.len()).sum::<usize>();
        count += 1;
        true
    };
    note("a.md", &text, &|| false, &mut add).unwrap();
    assert!(count >= 2001);
    assert!(indexed < 3 * text.len() + count * 3000, "{indexed}");
}

fn blocks() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..BLOCKS.len(), 0..12)
}

fn nasty() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "# ",
        "#",
        "## a",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "===\n",
        "---\n",
        "---",
        "```\n",
        "~~~",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "META:",
        "Summary: x",
        ": ",
        "[a]: /u\n",
        "[a]",
        "| a |\n|--|\n",
        "*",
        "_",
        "`",
        "\\",
        "\u{feff}",
        "é",
        "日本",
        "🙂",
        "e\u{301}",
        "\u{1a}",
        "\u{1f}",
        "\0",
        " ",
        "text ",
        "&amp;",
        "title: t\n",
        "<script>",
        "</script>",
    ]);
    prop::collection::vec(fragment, 0..60).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn separate_blocks_keep_their_headings(picked in blocks(), crlf in any::<bool>()) {
        // a comment at the margin ends a list, whose items may have blank lines between them
        let end = if crlf { "\r\n\r\n<!-- -->\r\n\r\n" } else { "\n\n<!-- -->\n\n" };
        let text = picked.iter().map(|&b| BLOCKS[b].0).collect::<Vec<_>>().join(end);
        prop_assume!(!text.starts_with("---"));
        let expected: Vec<(u8, String)> = picked
            .iter()
            .flat_map(|&b| BLOCKS[b].1.iter().map(|(level, h)| (*level, (*h).to_owned())))
            .collect();
        prop_assert_eq!(headings(&text), expected, "{:?}", text);
        assert_covered(&text, &parse(&text));
    }

    #[test]
    fn spans_cover_any_text_exactly_once(text in nasty()) {
        let note = parse(&text);
        assert_covered(&text, &note);
        // a second byte order mark is text
        let marked = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if !marked.starts_with("---") {
            prop_assert_eq!(headings(&text), reference_headings(marked));
        }
    }

    #[test]
    fn any_bytes_are_a_text_of_the_same_length(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = as_text(&bytes);
        prop_assert_eq!(text.len(), bytes.len());
        assert_covered(&text, &parse(&text));
    }
}

/// Every so many notes of the book that lies beside the repository; none when it does not.
#[test]
fn notes_of_the_corpus() {
    let book =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/speed/rust-book.tar.xz");
    let scratch = tempfile::tempdir().unwrap();
    if book.exists() {
        let tar = Command::new("tar").arg("-xJf").arg(book).arg("-C").arg(scratch.path()).status();
        assert!(tar.unwrap().success());
    }
    fs::write(scratch.path().join("own.md"), "# Own\n\ntext\n\n## Two\n").unwrap();
    let mut folders = vec![scratch.path().to_owned()];
    let mut notes = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|e| e == "md") => notes.push(path),
                _ => {}
            }
        }
    }
    notes.sort();
    for path in notes.iter().step_by(4) {
        let text = fs::read_to_string(path).unwrap();
        assert_covered(&text, &parse(&text));
        if !text.starts_with("---") {
            assert_eq!(headings(&text), reference_headings(&text), "{path:?}");
        }
    }
}

const OWN_CASES: &str = r##"[
 {"kind":"markdown","value":"py:\"[\"*50_000","setup":"","expect":"bounded"},
 {"kind":"markdown","value":"py:\">\"*100_000+\" x\"","setup":"","expect":"bounded"},
 {"kind":"markdown","value":"py:\"- \"*20_000+\"x\"","setup":"","expect":"bounded"},
 {"kind":"markdown","value":"py:\"~~~~\\n```\\n# no\\n```\\n~~~~\\n# yes\\n\"","setup":"","expect":"ok:fence"},
 {"kind":"markdown","value":"py:\"# h\".encode(\"utf-16\")","setup":"","expect":"skip"}
]"##;

/// Indexes each hostile text as a note: nothing panics, hangs or is changed on disk.
#[test]
fn hostile_markdown() {
    for case in hostile::cases(&["markdown"], OWN_CASES) {
        let Some(bytes) = case.bytes else { continue };
        if case.expect.contains("patch") {
            continue; // the value is an edit, not a text: see `writes.rs`
        }
        let text = as_text(&bytes);
        let note = parse(&text);
        let spans: Vec<_> = note.sections.iter().map(|section| section.span.clone()).collect();
        assert_exactly_once(&spans, 0..text.len());
        let memory = fixture::TestRoot::new();
        memory.put("hostile.md", &bytes);
        memory.put("good.md", "# Good\nneedle\n");
        let store = memory.open(false);
        assert_eq!(fixture::files_with(&store, "needle").len(), 1);
        let headings: Vec<&str> = note.sections.iter().map(|s| s.heading.as_str()).collect();
        match case.expect.as_str() {
            "ok:fence" => assert!(headings.iter().all(|h| ["", "yes"].contains(h)), "{headings:?}"),
            "ok:sections" => {
                let hits = fixture::ask(&store, "same").hits;
                let citations: std::collections::BTreeSet<_> =
                    hits.iter().map(|h| &h.passage().citation).collect();
                assert_eq!((hits.len(), citations.len()), (1000, 1000));
            }
            "skip" => {
                let skipped = store.status(&|| false).unwrap().skipped;
                assert_eq!(skipped, [("hostile.md".to_owned(), "encoding".to_owned())]);
            }
            "bounded" | "escaped" | "ok:roundtrip" | "ok:literal" => {}
            other => panic!("a new kind of case: {other}"),
        }
        drop(store);
        assert!(fs::read(memory.at("hostile.md")).unwrap() == bytes, "changed on disk");
    }
}
