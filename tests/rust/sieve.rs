//! grep with a sieve against grep without, and sieves that must not be believed.

use std::cell::Cell;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::FileExt;

use commonplace_core::error::Error;
use commonplace_core::files::root::Stat;
use commonplace_core::files::stamps::Clock;
use commonplace_core::grep::sieve::{Shape, Sieve, Source, build};
use commonplace_core::grep::{Case, Match, Options, Report, Scan};
use commonplace_core::store::across::Across;
use commonplace_core::store::{self, Store};
use proptest::prelude::*;

const PATH: &str = "sessions/a/messages.jsonl";
const TINY: Shape = shape(40, 9, [128, 384]);

const fn shape(block: u64, segment: u32, buckets: [u32; 2]) -> Shape {
    Shape { block, segment, buckets, padding: 0 }
}

fn never() -> bool {
    false
}

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
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

/// All matches in order, what the report says, and what a count gives.
fn grep(content: &[u8], options: &Options, sieve: Option<&Sieve>) -> (Vec<Match>, Report, u64) {
    let scan = || {
        let mut scan = Scan::transcript(file(content), PATH, options.clone()).unwrap();
        if let Some(sieve) = sieve {
            scan.skip_by(sieve);
        }
        scan
    };
    let mut first = scan();
    (all(&mut first), first.report().clone(), scan().count(&never).unwrap())
}

fn all(scan: &mut Scan) -> Vec<Match> {
    let mut found = Vec::new();
    loop {
        let batch = scan.next_batch(&never).unwrap();
        if batch.is_empty() {
            return found;
        }
        found.extend(batch);
    }
}

/// Writes a JSON string, choosing a spelling for each character by `spelling`.
fn spell(text: &str, spelling: &[u8]) -> String {
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        match (c, spelling[i % spelling.len()] % 8) {
            ('\n', 0..6) => out.push_str("\\n"),
            ('"' | '\\', 0..6) => out.extend(['\\', c]),
            ('/', 1) => out.push_str("\\/"),
            (c, 0..6) => out.push(c),
            (c, _) => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    out.push('"');
    out
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
    #![proptest_config(ProptestConfig::with_cases(250))]
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
        for flip in [0x01, 0xFF] {
            bad[at] = good[at] ^ flip;
            check(&bad);
        }
        check(&good[..at]);
    }
    check(&[&good[..], b"\0"].concat());
    assert!(refused.get() > good.len());
}

#[test]
fn rows_changed_behind_the_back_of_an_open_sieve() {
    let content = haystack();
    let side = sieve_file(&content, TINY, None);
    let sieve = Sieve::read(side.try_clone().unwrap()).unwrap();
    side.write_all_at(&[0; 9000], 0).unwrap();
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

/// A root with one transcript of some blocks, old enough to be trusted at once.
fn root() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sessions/a")).unwrap();
    let lines = (0..4000).map(|i| message(&format!("word{i:04} {}", "filler ".repeat(8))));
    std::fs::write(dir.path().join(PATH), lines.collect::<String>()).unwrap();
    let store = open(&dir);
    (dir, store)
}

fn open(dir: &tempfile::TempDir) -> Store {
    let clock = Clock { doubt_ns: 1_000_000, ..Clock::default() };
    let options = store::Options { sieve_from: 1, clock, watch: false, ..Default::default() };
    Store::open(dir.path().to_str().unwrap(), options).unwrap()
}

fn count(store: &Store, pattern: &str) -> u64 {
    let options = Options { pattern: pattern.into(), ..Options::default() };
    let mut across = Across::new(store, &["sessions"], options, &never).unwrap();
    let count = across.count(store, &never).unwrap();
    store.settle();
    count
}

fn sieves(dir: &tempfile::TempDir) -> Vec<std::path::PathBuf> {
    let Ok(all) = std::fs::read_dir(dir.path().join(".commonplace/sieve")) else { return vec![] };
    all.map(|entry| entry.unwrap().path()).collect()
}

fn read(dir: &tempfile::TempDir) -> Sieve {
    Sieve::read(File::open(&sieves(dir)[0]).unwrap()).unwrap()
}

fn is_known(dir: &tempfile::TempDir) -> bool {
    let raw = rustix::fs::stat(&dir.path().join(PATH)).unwrap();
    let ns = |seconds: i64, ns: i64| seconds * 1_000_000_000 + ns;
    let stat = Stat {
        dev: raw.st_dev,
        ino: raw.st_ino,
        size: raw.st_size as u64,
        mtime_ns: ns(raw.st_mtime, raw.st_mtime_nsec as i64),
        ctime_ns: ns(raw.st_ctime, raw.st_ctime_nsec as i64),
    };
    read(dir).fits(PATH, &stat)
}

#[test]
fn a_sieve_is_made_after_a_search_and_used_by_the_next() {
    let (dir, store) = root();
    assert_eq!((count(&store, "word1234"), sieves(&dir).len()), (1, 1));
    assert!(is_known(&dir));
    assert_eq!((count(&store, "WORD1234|word0001"), count(&store, "word99")), (1, 0));
    assert_eq!(count(&store, "word\\d+"), 4000);
}

#[test]
fn no_change_goes_unseen() {
    let (dir, store) = root();
    let path = dir.path().join(PATH);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(count(&store, "gibberish"), 0);
    // The same size, in place, with its old time set again.
    let time = std::fs::metadata(&path).unwrap().modified().unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    let at = text.find("word2000 filler filler").unwrap() as u64;
    file.write_all_at(b"gibberish filler filler", at).unwrap();
    file.set_modified(time).unwrap();
    assert!(!is_known(&dir));
    assert_eq!(count(&store, "gibberish"), 1);
    assert!(is_known(&dir));
    assert_eq!(count(&store, "gibberish"), 1);
    // Grown, cut short, replaced.
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(message("gibberish").as_bytes()).unwrap();
    assert_eq!([count(&store, "gibberish"), count(&store, "gibberish")], [2, 2]);
    file.set_len(1000).unwrap();
    assert_eq!([count(&store, "gibberish"), count(&store, "gibberish")], [0, 0]);
    let other = dir.path().join("other");
    std::fs::write(&other, message("gibberish").repeat(9)).unwrap();
    std::fs::rename(other, &path).unwrap();
    assert_eq!([count(&store, "gibberish"), count(&store, "gibberish")], [9, 9]);
    assert!(is_known(&dir));
}

#[test]
fn sieves_of_files_that_are_gone_are_swept() {
    let (dir, store) = root();
    count(&store, "word");
    std::fs::write(dir.path().join(".commonplace/sieve/torn.new"), "half").unwrap();
    store.verify(&never).unwrap();
    assert_eq!(sieves(&dir).len(), 1);
    std::fs::remove_file(dir.path().join(PATH)).unwrap();
    store.verify(&never).unwrap();
    assert_eq!(sieves(&dir), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_cannot_be_written_is_done_without() {
    let (dir, store) = root();
    std::fs::create_dir(dir.path().join(".commonplace")).unwrap();
    // A file, a link out of the root: nothing is followed, nothing is overwritten.
    std::fs::write(dir.path().join(".commonplace/sieve"), "mine").unwrap();
    assert_eq!([count(&store, "word1234"), count(&store, "word1234")], [1, 1]);
    std::fs::remove_file(dir.path().join(".commonplace/sieve")).unwrap();
    assert_eq!(count(&store, "word1234"), 1);
    let side = sieves(&dir).remove(0);
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&outside, "mine").unwrap();
    std::fs::remove_file(&side).unwrap();
    std::os::unix::fs::symlink(outside.path(), side.with_extension("new")).unwrap();
    assert_eq!([count(&store, "word1234"), count(&store, "word1234")], [1, 1]);
    assert_eq!(std::fs::read(&outside).unwrap(), b"mine");
}

#[test]
fn a_crash_while_writing_leaves_nothing_that_is_believed() {
    let (dir, store) = root();
    count(&store, "word");
    let side = sieves(&dir).remove(0);
    let whole = std::fs::read(&side).unwrap();
    std::fs::remove_file(&side).unwrap();
    for size in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(side.with_extension("new"), &whole[..size]).unwrap();
        assert_eq!([count(&store, "word1234"), count(&store, "word1234")], [1, 1]);
        assert_eq!(std::fs::read(&side).unwrap(), whole);
        std::fs::write(&side, &whole[..size]).unwrap();
        assert_eq!([count(&store, "word1234"), count(&store, "word1234")], [1, 1]);
    }
}

#[test]
fn closing_does_not_wait_for_a_sieve() {
    let (dir, store) = root();
    drop(store);
    let options = store::Options { sieve_from: 1, watch: false, ..Default::default() };
    let store = Store::open(dir.path().to_str().unwrap(), options).unwrap();
    std::fs::write(dir.path().join(PATH), message("young").repeat(3)).unwrap();
    let options = Options { pattern: "young".into(), ..Options::default() };
    let mut across = Across::new(&store, &[""], options, &never).unwrap();
    assert_eq!(across.count(&store, &never).unwrap(), 3);
    let begun = std::time::Instant::now();
    drop(store);
    assert!(begun.elapsed().as_millis() < 1000);
    assert_eq!(sieves(&dir), Vec::<std::path::PathBuf>::new());
}
