//! Gram index tests: grep with and without one, and indexes that must not be used.

mod grep_helpers;

use std::cell::Cell;
use std::fs::File;
use std::io::{Seek, Write};

use commonplace_core::error::Error;
use commonplace_core::files::racy_stat::untrusted;
use commonplace_core::files::root::Stat;
use commonplace_core::filter::SearchFilter;
use commonplace_core::grep::gram_index::{GramIndex, Layout, Transcript, build};
use commonplace_core::grep::{Case, GrepOptions, Match, Report, Scan};
use grep_helpers::{all, at_rest, file, never, spell};
use proptest::prelude::*;

const PATH: &str = "sessions/a/messages.jsonl";
const TINY: Layout = layout(40, 9, [128, 384]);

const fn layout(block: u64, segment: u32, buckets: [u32; 2]) -> Layout {
    Layout { block, segment, buckets, padding: 0 }
}

fn stat(content: &[u8]) -> Stat {
    Stat { dev: 1, ino: 2, size: content.len() as u64, mtime_ns: 3, ctime_ns: 4 }
}

fn index_file(content: &[u8], layout: Layout, old: Option<&GramIndex>) -> File {
    let mut side = tempfile::tempfile().unwrap();
    let source = Transcript { file: &file(content), path: PATH, stat: stat(content) };
    build(source, layout, old, &mut side, &never).unwrap();
    side
}

fn index(content: &[u8], layout: Layout) -> GramIndex {
    GramIndex::read(index_file(content, layout, None)).unwrap()
}

fn bytes(mut side: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    side.rewind().unwrap();
    std::io::Read::read_to_end(&mut side, &mut bytes).unwrap();
    bytes
}

/// All matches in order, what the report says, and what a count gives. Where all is scanned the
/// file is mapped.
fn grep(
    content: &[u8],
    options: &GrepOptions,
    index: Option<&GramIndex>,
) -> (Vec<Match>, Report, u64) {
    let options = GrepOptions { worth_mapping: 0, ..options.clone() };
    let scan = || {
        let mut scan = Scan::transcript(at_rest(content), PATH, options.clone()).unwrap();
        if let Some(index) = index {
            scan.skip_by(index);
        }
        scan
    };
    let mut first = scan();
    (all(&mut first), first.report().clone(), scan().count(&never).unwrap())
}

fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[abkKsSABzZu0]{1,6}",
        3 => "(needle|Needle|KEYHOLE|task list|u0061bc|中文字符|éléphant|\u{212a}elvin|😀😀|foo-12|a/b)",
        1 => "[\"\\\\/\n ]{1,2}",
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.concat())
}

fn any_line() -> impl Strategy<Value = String> {
    let spelling = prop::collection::vec(any::<u8>(), 1..8);
    (any_text(), any_text(), spelling, 0..30u8).prop_map(|(text, other, spelling, layout)| {
        let (a, b) = (spell(&text, &spelling), spell(&other, &spelling));
        match layout {
            0..16 => format!(r#"{{"role":"user","content":{a}}}"#),
            16..20 => format!(r#"{{"type":"user","cwd":{b},"message":{{"role":"user","content":[{{"type":"text","text":{a}}},{{"type":"tool_use","name":"x","input":{{"a":{b}}}}}]}}}}"#),
            20..24 => format!(r#"{{"role":"user","con\u0074ent":{a},"content":{b}}}"#),
            24 => format!("\0{{\"role\":\"user\",\"content\":{a}}}\r"),
            25 => format!(r#"{{"role":"user","content":{a}"#),
            26 => format!("not JSON {a}"),
            27 => String::new(),
            _ => format!(r#"{{"a":[{b},{b},{b}],"x":{a}}}"#),
        }
    })
}

fn any_pattern() -> impl Strategy<Value = (String, bool)> {
    prop_oneof![
        3 => any_text().prop_filter("empty", |text| !text.is_empty()).prop_map(|text| (text, true)),
        1 => prop::sample::select(vec![
            "needle", "nee.*le", "task list|keyhole|中文字符", r"\bneed\w*", "^task", "list$",
            "(?:abka|baab)+z?", "中文字", "foo-1[0-9]", "é", "kelvin", "(needle){2}", "[abk]{3}", "x*",
            "u0061bc", "zzzzzzzz", "😀😀", "task|zzab|[0-9]{4}",
        ])
        .prop_map(|pattern| (pattern.to_owned(), false)),
    ]
}

fn any_shape() -> impl Strategy<Value = Layout> {
    let blocks = prop::sample::select(vec![7, 40, 41, 200, 100_000]);
    (blocks, prop::sample::select(vec![1, 3, 8, 17]))
        .prop_map(|(block, segment)| layout(block, segment, [256, 256]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn grep_is_the_same_with_a_gram_index(
        lines in prop::collection::vec(any_line(), 0..24),
        (pattern, fixed) in any_pattern(),
        ignore_case: bool,
        tools: bool,
        ends: bool,
        newest_first: bool,
        chunk in prop::sample::select(vec![7usize, 64, 300, 1 << 18]),
        limit in prop::option::of(1usize..4),
        layout in any_shape(),
    ) {
        let mut content = lines.join("\n");
        if ends { content.push('\n') }
        let content = content.as_bytes();
        let case = if ignore_case { Case::Ignore } else { Case::Sensitive };
        let filter = SearchFilter { tools, ..SearchFilter::default() };
        let options = GrepOptions { pattern, fixed, case, filter, chunk, newest_first, limit, before: 1, ..GrepOptions::default() };
        let index = index(content, layout);
        let (found, report, count) = grep(content, &options, None);
        let indexed = grep(content, &options, Some(&index));
        prop_assert_eq!(&indexed.0, &found);
        prop_assert_eq!(indexed.2, count);
        // How far a scan looks beyond its last match is a matter of its steps.
        if limit.is_none() { prop_assert_eq!(indexed.1, report) }
    }

    #[test]
    fn resuming_in_the_middle_is_the_same(
        lines in prop::collection::vec(any_line(), 2..24),
        cut in any::<prop::sample::Index>(),
        newest_first: bool,
        layout in any_shape(),
    ) {
        let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let cut = cut.index(lines.len());
        let first: String = lines[..cut].iter().map(|line| format!("{line}\n")).collect();
        let options = GrepOptions { pattern: "needle".into(), newest_first, ..GrepOptions::default() };
        let resume = grep(first.as_bytes(), &options, None).1.resume;
        let index = index(whole.as_bytes(), layout);
        let [plain, indexed] = [None, Some(&index)].map(|index| {
            let mut scan = Scan::transcript(file(whole.as_bytes()), PATH, options.clone()).unwrap();
            assert!(scan.resume(&resume).unwrap());
            index.into_iter().for_each(|index| scan.skip_by(index));
            (all(&mut scan), scan.report().clone())
        });
        prop_assert_eq!(indexed, plain);
    }

    #[test]
    fn an_update_equals_a_new_build(
        lines in prop::collection::vec(any_line(), 1..40),
        (before, after) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        edit in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        layout in any_shape(),
    ) {
        let whole = lines.join("\n").into_bytes();
        let cut = |at: &prop::sample::Index| whole[..at.index(whole.len() + 1)].to_vec();
        let (old, mut new) = (cut(&before), cut(&after));
        if let (Some((at, byte)), false) = (edit, new.is_empty()) {
            let at = at.index(new.len());
            new[at] = byte;
        }
        let old = index(&old, layout);
        let afresh = GramIndex::read(index_file(&new, layout, None)).unwrap();
        let taken = GramIndex::read(index_file(&new, layout, Some(&old))).unwrap();
        for pattern in ["needle", "keyhole", "task list"] {
            let options = GrepOptions { pattern: pattern.into(), ..GrepOptions::default() };
            prop_assert_eq!(grep(&new, &options, Some(&taken)), grep(&new, &options, Some(&afresh)));
            prop_assert_eq!(grep(&new, &options, Some(&taken)), grep(&new, &options, None));
        }
    }
}

fn message(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")
}

/// Many blocks of different words, and one needle.
fn haystack() -> Vec<u8> {
    let words = (0..400).map(|i| message(&format!("word{i:03} other{:03}", i * 7 % 400)));
    let mut lines: Vec<String> = words.collect();
    lines[250] = message("the Ne\\u0065dle");
    lines.concat().into_bytes()
}

#[test]
fn blocks_are_skipped() {
    let content = haystack();
    let index = index(&content, layout(512, 16, [1024, 3072]));
    let options =
        GrepOptions { pattern: "needle".into(), newest_first: true, ..GrepOptions::default() };
    // Far from the needle the file is not read at all: other bytes there go unseen.
    let mut other = content.clone();
    other[..4000].fill(b'\n');
    let (found, report, _) = grep(&other, &options, Some(&index));
    assert_eq!((found.len(), found[0].line, report.lines), (1, 251, 400));
    assert_ne!(grep(&other, &options, None).1.lines, 400);
}

#[test]
fn segments_that_are_the_same_are_taken_over() {
    let content = haystack();
    let layout = layout(512, 4, [1024, 3072]);
    let cut = content.len() / 2;
    let old = index(&content[..cut], layout);
    let afresh = bytes(&index_file(&content, layout, None));
    assert_eq!(bytes(&index_file(&content, layout, Some(&old))), afresh);
}

#[test]
fn a_damaged_gram_index_is_not_used() {
    let content = [haystack()[..600].to_vec(), message("a needle").into_bytes()].concat();
    let options = GrepOptions { pattern: "needle".into(), ..GrepOptions::default() };
    let good = bytes(&index_file(&content, TINY, None));
    let expected = grep(&content, &options, None);
    let refused = Cell::new(0);
    let check = |bad: &[u8]| match GramIndex::read(file(bad)) {
        Some(index) => assert_eq!(grep(&content, &options, Some(&index)), expected),
        None => refused.set(refused.get() + 1),
    };
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        check(&bad);
        check(&good[..at]);
    }
    check(&[&good[..], b"\0"].concat());
    assert!(refused.get() > good.len());
}

/// The hashes hold, but what they hold for does not fit together: what is found is what the rows
/// say, and nothing panics, hangs or takes much memory.
#[test]
fn a_crafted_gram_index_does_no_harm() {
    const FOOT: usize = 32;
    let content = [haystack()[..600].to_vec(), message("a needle").into_bytes()].concat();
    let options = GrepOptions { pattern: "needle".into(), ..GrepOptions::default() };
    let good = bytes(&index_file(&content, TINY, None));
    let foot = good.len() - FOOT;
    let length = u64::from_le_bytes(good[foot + 16..foot + 24].try_into().unwrap()) as usize;
    let (lines, expected) = (400, grep(&content, &options, None).0);
    for at in (foot - length..foot - 8).step_by(14) {
        for lie in [0, u64::MAX, 1 << 31] {
            for width in [2, 4, 8] {
                let mut bad = good.clone();
                bad[at..at + width].copy_from_slice(&lie.to_le_bytes()[..width]);
                let hash = xxhash_rust::xxh3::xxh3_64(&bad[foot - length..foot]);
                bad[foot + 24..].copy_from_slice(&hash.to_le_bytes());
                let Some(index) = GramIndex::read(file(&bad)) else { continue };
                if index.fits(PATH, &stat(&content)) {
                    let (found, report, _) = grep(&content, &options, Some(&index));
                    let real =
                        |found: &Match| expected.iter().any(|one| one.snippet == found.snippet);
                    assert!(found.iter().all(real) && report.lines <= lines, "{width} at {at}");
                }
            }
        }
    }
}

#[test]
fn rows_changed_under_an_open_gram_index() {
    let content = haystack();
    let side = index_file(&content, TINY, None);
    let index = GramIndex::read(side.try_clone().unwrap()).unwrap();
    // all rows, those of the block with the needle too
    (&side).rewind().unwrap();
    (&side).write_all(&vec![0; side.metadata().unwrap().len() as usize]).unwrap();
    let options = GrepOptions { pattern: "needle".into(), ..GrepOptions::default() };
    assert_eq!(grep(&content, &options, Some(&index)), grep(&content, &options, None));
}

#[test]
fn only_the_same_stamps_fit() {
    let content = haystack();
    let index = index(&content, TINY);
    let same = stat(&content);
    assert!(index.fits(PATH, &same));
    assert!(!index.fits("sessions/b/messages.jsonl", &same));
    for other in [
        Stat { dev: 9, ..same },
        Stat { ino: 9, ..same },
        Stat { size: 9, ..same },
        Stat { mtime_ns: 9, ..same },
        Stat { ctime_ns: 9, ..same },
    ] {
        assert!(!index.fits(PATH, &other));
    }
    // stamps that are too young to prove anything prove nothing, though they are the same
    let young = untrusted(&same);
    let source = Transcript { file: &file(&content), path: PATH, stat: young };
    let mut side = tempfile::tempfile().unwrap();
    build(source, TINY, None, &mut side, &never).unwrap();
    assert!(!GramIndex::read(side).unwrap().fits(PATH, &young));
}

#[test]
fn long_lines_are_always_scanned() {
    let long = message(&format!("{}{}", "x".repeat(9 << 19), "needle"));
    let content = [message("first"), long, message("needle")].concat().into_bytes();
    let index = index(&content, Layout::default());
    let options = GrepOptions { pattern: "needle".into(), ..GrepOptions::default() };
    let indexed = grep(&content, &options, Some(&index));
    assert_eq!(indexed.0.iter().map(|found| found.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(indexed, grep(&content, &options, None));
}

#[test]
fn building_can_be_stopped_and_can_fail() {
    let content = haystack();
    let source = Transcript { file: &file(&content), path: PATH, stat: stat(&content) };
    let stopped = build(source, TINY, None, &mut Vec::new(), &|| true);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let mut full = &mut [0; 1000][..];
    assert!(matches!(build(source, TINY, None, &mut full, &never), Err(Error::Io { .. })));
    let endless = Transcript { stat: Stat { size: 1 << 60, ..source.stat }, ..source };
    let refused = build(endless, TINY, None, &mut Vec::new(), &never);
    assert!(matches!(refused, Err(Error::Refused { code: "large", .. })));
}

#[test]
fn a_gram_index_of_another_version_is_not_read() {
    let good = bytes(&index_file(&haystack(), TINY, None));
    // the format stands behind the magic number, 32 bytes before the end
    for at in good.len() - 24..good.len() - 16 {
        let mut other = good.clone();
        other[at] ^= 1;
        assert!(GramIndex::read(file(&other)).is_none(), "byte {at}");
    }
    assert!(GramIndex::read(file(&good)).is_some());
}
