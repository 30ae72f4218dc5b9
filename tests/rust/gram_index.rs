//! grep with a sieve against grep without, and sieves that must not be believed.

mod scans;

use std::cell::Cell;
use std::fs::File;
use std::io::Seek;
use std::os::unix::fs::FileExt;

use commonplace_core::error::Error;
use commonplace_core::files::racy_stat::untrusted;
use commonplace_core::files::root::Stat;
use commonplace_core::grep::gram_index::{Shape, Sieve, Source, build};
use commonplace_core::grep::{Case, Match, Options, Report, Scan};
use proptest::prelude::*;
use scans::{all, at_rest, file, never, spell};

const PATH: &str = "sessions/a/messages.jsonl";
const TINY: Shape = shape(40, 9, [128, 384]);

const fn shape(block: u64, segment: u32, buckets: [u32; 2]) -> Shape {
    Shape { block, segment, buckets, padding: 0 }
}

fn stat(content: &[u8]) -> Stat {
    Stat { dev: 1, ino: 2, size: content.len() as u64, mtime_ns: 3, ctime_ns: 4 }
}

fn sieve_file(content: &[u8], shape: Shape, old: Option<&Sieve>) -> File {
    let mut side = tempfile::tempfile().unwrap();
    let source = Source { file: &file(content), path: PATH, stat: stat(content) };
    build(source, shape, old, &mut side, &never).unwrap();
    side
}

fn sieve(content: &[u8], shape: Shape) -> Sieve {
    Sieve::read(sieve_file(content, shape, None)).unwrap()
}

fn bytes(mut side: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    side.rewind().unwrap();
    std::io::Read::read_to_end(&mut side, &mut bytes).unwrap();
    bytes
}

/// All matches in order, what the report says, and what a count gives. Where all is scanned the
/// file is mapped.
fn grep(content: &[u8], options: &Options, sieve: Option<&Sieve>) -> (Vec<Match>, Report, u64) {
    let options = Options { worth_mapping: 0, ..options.clone() };
    let scan = || {
        let mut scan = Scan::transcript(at_rest(content), PATH, options.clone()).unwrap();
        if let Some(sieve) = sieve {
            scan.skip_by(sieve);
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
    (any_text(), any_text(), spelling, 0..30u8).prop_map(|(text, other, spelling, shape)| {
        let (a, b) = (spell(&text, &spelling), spell(&other, &spelling));
        match shape {
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

fn any_shape() -> impl Strategy<Value = Shape> {
    let blocks = prop::sample::select(vec![7, 40, 41, 200, 100_000]);
    (blocks, prop::sample::select(vec![1, 3, 8, 17]))
        .prop_map(|(block, segment)| shape(block, segment, [256, 256]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn grep_is_the_same_with_a_sieve(
        lines in prop::collection::vec(any_line(), 0..24),
        (pattern, fixed) in any_pattern(),
        ignore_case: bool,
        tools: bool,
        ends: bool,
        newest_first: bool,
        chunk in prop::sample::select(vec![7usize, 64, 300, 1 << 18]),
        limit in prop::option::of(1usize..4),
        shape in any_shape(),
    ) {
        let mut content = lines.join("\n");
        if ends { content.push('\n') }
        let content = content.as_bytes();
        let case = if ignore_case { Case::Ignore } else { Case::Sensitive };
        let options = Options { pattern, fixed, case, tools, chunk, newest_first, limit, before: 1, ..Options::default() };
        let sieve = sieve(content, shape);
        let (found, report, count) = grep(content, &options, None);
        let sieved = grep(content, &options, Some(&sieve));
        prop_assert_eq!(&sieved.0, &found);
        prop_assert_eq!(sieved.2, count);
        // How far a scan looks beyond its last match is a matter of its steps.
        if limit.is_none() { prop_assert_eq!(sieved.1, report) }
    }

    #[test]
    fn resuming_in_the_middle_is_the_same(
        lines in prop::collection::vec(any_line(), 2..24),
        cut in any::<prop::sample::Index>(),
        newest_first: bool,
        shape in any_shape(),
    ) {
        let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let cut = cut.index(lines.len());
        let first: String = lines[..cut].iter().map(|line| format!("{line}\n")).collect();
        let options = Options { pattern: "needle".into(), newest_first, ..Options::default() };
        let resume = grep(first.as_bytes(), &options, None).1.resume;
        let sieve = sieve(whole.as_bytes(), shape);
        let [plain, sieved] = [None, Some(&sieve)].map(|sieve| {
            let mut scan = Scan::transcript(file(whole.as_bytes()), PATH, options.clone()).unwrap();
            assert!(scan.resume(&resume).unwrap());
            sieve.into_iter().for_each(|sieve| scan.skip_by(sieve));
            (all(&mut scan), scan.report().clone())
        });
        prop_assert_eq!(sieved, plain);
    }

    #[test]
    fn what_was_known_of_the_beginning_changes_nothing(
        lines in prop::collection::vec(any_line(), 1..40),
        (before, after) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        edit in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        shape in any_shape(),
    ) {
        let whole = lines.join("\n").into_bytes();
        let cut = |at: &prop::sample::Index| whole[..at.index(whole.len() + 1)].to_vec();
        let (old, mut new) = (cut(&before), cut(&after));
        if let (Some((at, byte)), false) = (edit, new.is_empty()) {
            let at = at.index(new.len());
            new[at] = byte;
        }
        let old = sieve(&old, shape);
        let afresh = Sieve::read(sieve_file(&new, shape, None)).unwrap();
        let taken = Sieve::read(sieve_file(&new, shape, Some(&old))).unwrap();
        for pattern in ["needle", "keyhole", "task list"] {
            let options = Options { pattern: pattern.into(), ..Options::default() };
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
    let sieve = sieve(&content, shape(512, 16, [1024, 3072]));
    let options = Options { pattern: "needle".into(), newest_first: true, ..Options::default() };
    // Far from the needle the file is not read at all: other bytes there go unseen.
    let mut other = content.clone();
    other[..4000].fill(b'\n');
    let (found, report, _) = grep(&other, &options, Some(&sieve));
    assert_eq!((found.len(), found[0].line, report.lines), (1, 251, 400));
    assert_ne!(grep(&other, &options, None).1.lines, 400);
}

#[test]
fn segments_that_are_the_same_are_taken_over() {
    let content = haystack();
    let shape = shape(512, 4, [1024, 3072]);
    let cut = content.len() / 2;
    let old = sieve(&content[..cut], shape);
    let afresh = bytes(&sieve_file(&content, shape, None));
    assert_eq!(bytes(&sieve_file(&content, shape, Some(&old))), afresh);
}

#[test]
fn a_damaged_sieve_is_not_believed() {
    let content = [haystack()[..600].to_vec(), message("a needle").into_bytes()].concat();
    let options = Options { pattern: "needle".into(), ..Options::default() };
    let good = bytes(&sieve_file(&content, TINY, None));
    let expected = grep(&content, &options, None);
    let refused = Cell::new(0);
    let check = |bad: &[u8]| match Sieve::read(file(bad)) {
        Some(sieve) => assert_eq!(grep(&content, &options, Some(&sieve)), expected),
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
fn a_crafted_sieve_harms_nobody() {
    const FOOT: usize = 32;
    let content = [haystack()[..600].to_vec(), message("a needle").into_bytes()].concat();
    let options = Options { pattern: "needle".into(), ..Options::default() };
    let good = bytes(&sieve_file(&content, TINY, None));
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
                let Some(sieve) = Sieve::read(file(&bad)) else { continue };
                if sieve.fits(PATH, &stat(&content)) {
                    let (found, report, _) = grep(&content, &options, Some(&sieve));
                    let real =
                        |found: &Match| expected.iter().any(|one| one.snippet == found.snippet);
                    assert!(found.iter().all(real) && report.lines <= lines, "{width} at {at}");
                }
            }
        }
    }
}

#[test]
fn rows_changed_behind_the_back_of_an_open_sieve() {
    let content = haystack();
    let side = sieve_file(&content, TINY, None);
    let sieve = Sieve::read(side.try_clone().unwrap()).unwrap();
    // all rows, those of the block with the needle too
    side.write_all_at(&vec![0; side.metadata().unwrap().len() as usize], 0).unwrap();
    let options = Options { pattern: "needle".into(), ..Options::default() };
    assert_eq!(grep(&content, &options, Some(&sieve)), grep(&content, &options, None));
}

#[test]
fn only_the_same_stamps_fit() {
    let content = haystack();
    let sieve = sieve(&content, TINY);
    let same = stat(&content);
    assert!(sieve.fits(PATH, &same));
    assert!(!sieve.fits("sessions/b/messages.jsonl", &same));
    for other in [
        Stat { dev: 9, ..same },
        Stat { ino: 9, ..same },
        Stat { size: 9, ..same },
        Stat { mtime_ns: 9, ..same },
        Stat { ctime_ns: 9, ..same },
    ] {
        assert!(!sieve.fits(PATH, &other));
    }
    // stamps that are too young to prove anything prove nothing, though they are the same
    let young = untrusted(&same);
    let source = Source { file: &file(&content), path: PATH, stat: young };
    let mut side = tempfile::tempfile().unwrap();
    build(source, TINY, None, &mut side, &never).unwrap();
    assert!(!Sieve::read(side).unwrap().fits(PATH, &young));
}

#[test]
fn long_lines_are_always_scanned() {
    let long = message(&format!("{}{}", "x".repeat(9 << 19), "needle"));
    let content = [message("first"), long, message("needle")].concat().into_bytes();
    let sieve = sieve(&content, Shape::default());
    let options = Options { pattern: "needle".into(), ..Options::default() };
    let sieved = grep(&content, &options, Some(&sieve));
    assert_eq!(sieved.0.iter().map(|found| found.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(sieved, grep(&content, &options, None));
}

#[test]
fn building_can_be_stopped_and_can_fail() {
    let content = haystack();
    let source = Source { file: &file(&content), path: PATH, stat: stat(&content) };
    let stopped = build(source, TINY, None, &mut Vec::new(), &|| true);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let mut full = &mut [0; 1000][..];
    assert!(matches!(build(source, TINY, None, &mut full, &never), Err(Error::Io { .. })));
    let endless = Source { stat: Stat { size: 1 << 60, ..source.stat }, ..source };
    let refused = build(endless, TINY, None, &mut Vec::new(), &never);
    assert!(matches!(refused, Err(Error::Refused { code: "large", .. })));
}

#[test]
fn a_sieve_of_another_version_is_not_read() {
    let good = bytes(&sieve_file(&haystack(), TINY, None));
    // the format stands behind the magic number, 32 bytes before the end
    for at in good.len() - 24..good.len() - 16 {
        let mut other = good.clone();
        other[at] ^= 1;
        assert!(Sieve::read(file(&other)).is_none(), "byte {at}");
    }
    assert!(Sieve::read(file(&good)).is_some());
}
