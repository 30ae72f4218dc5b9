//! Crafted snapshots with valid checksums: no panic, no hang, no giant allocation, and the answers
//! of a fresh build.
//!
//! `COMMONPLACE_CRAFTED=20000 cargo test --test snapshot_crafted -- --nocapture` tries more of
//! them.

#![allow(missing_docs)]

mod crafted;
mod fixture;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use commonplace_core::files::file_kind::FileKind;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::filter::SearchFilter;
use commonplace_core::search::turns::Unit;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Store, StoreOptions};
use crafted::{ARRAYS, EXTENT, HEAD, PAGED, place, sealed};
use fixture::{QUERIES, TestRoot, sample};

/// Behind this a snapshot hangs; a busy machine takes seconds for one with all its queries.
const HANGS: Duration = Duration::from_secs(60);

/// Queries beside [`QUERIES`]: phrases, exclusions, prefixes over much, unspaced scripts.
const MORE: [&str; 9] = [
    "\"number7 about\"",
    "message -tea",
    "message",
    "m* n* p*",
    "about pipelines number12 assistant",
    "user tokens",
    "code:rotate_token",
    "speaker:user tea",
    "zebra",
];

/// Draws numbers, always the same (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }
}

fn options() -> StoreOptions {
    let clock = FsClock { racy_ns: 0, ..FsClock::default() };
    StoreOptions { clock, watch: false, ..StoreOptions::default() }
}

/// A memory with posting lists of every form: short, and superblocks without and with block maxima.
fn varied() -> TestRoot {
    let memory = TestRoot::new();
    sample(&memory);
    let line = |n: usize| {
        let word = ["pipelines", "tokens", "tea", "rotation", "zebra"][n % 97 % 5];
        let role = ["user", "assistant"][n % 2];
        format!(
            "{{\"role\":\"{role}\",\"content\":\"message number{} about {word}{}\",\"session\":\"s{}\"}}\n",
            n % 400,
            if n.is_multiple_of(3) { ", and stateless servers" } else { "" },
            n / 100
        )
    };
    memory.put("sessions/s2/messages.jsonl", (0..2600).map(line).collect::<String>());
    for n in 0..40 {
        let text =
            format!("# Tea {n}\n\nOf rotation and tokens{n}.\n\n## Pipelines\n\nmessage {n}\n");
        memory.put(&format!("many/{n:02}.md"), text);
    }
    memory
}

/// What a caller sees of an answer.
type Shown = Vec<String>;

fn request(store: &Store, query: &str, filter: SearchFilter, limit: usize) -> Shown {
    let request =
        SearchRequest { query: query.to_owned(), limit, filter, ..SearchRequest::default() };
    let answer = store.search(&request, &|| false).unwrap();
    let hit = |hit: commonplace_core::store::hit::Hit| {
        let passage = hit.passage().clone();
        format!(
            "{} {:.4} {:?} {:?} {:?}",
            passage.citation,
            hit.score,
            (hit.start, hit.end),
            hit.heading,
            hit.category
        )
    };
    answer.notes.into_iter().chain(answer.hits.into_iter().map(hit)).collect()
}

/// Runs every kind of query.
fn everything(store: &Store) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for query in QUERIES.into_iter().chain(MORE) {
        all.push(request(store, query, SearchFilter::default(), 10));
    }
    let filters = [
        SearchFilter { prefixes: vec!["many".into()], ..SearchFilter::default() },
        SearchFilter { kind: Some(FileKind::Note), ..SearchFilter::default() },
        SearchFilter { role: Some("user".into()), ..SearchFilter::default() },
        SearchFilter { session: Some("s3".into()), ..SearchFilter::default() },
        SearchFilter { since: Some(0), ..SearchFilter::default() },
    ];
    for filter in filters {
        all.push(request(store, "tea tokens", filter, 40));
    }
    let tools = SearchFilter { tools: true, ..SearchFilter::default() };
    all.push(request(store, "message rotation", tools, 1000));
    let documents = store.documents("detail/auth.md", &|| false).unwrap();
    all.push(
        documents
            .iter()
            .map(|hit| format!("{}-{} {}", hit.first_line, hit.end_line, hit.text))
            .collect(),
    );
    let explained = store.explain("tea tokens", "facts/user.md#L8", Unit::Turn, &|| false);
    all.push(vec![format!("{:?}", explained.map_err(|error| error.to_string()))]);
    all
}

/// Changes files without the store, in every way there is.
fn change(memory: &TestRoot) {
    memory.put("detail/auth.md", "# Auth\n\nWe use JWT with rotation.\n\n## Why\n\nZebra servers.\n\n```rust\nfn rotate_token() {}\n```\n");
    fs::remove_file(memory.at("many/07.md")).unwrap();
    memory.put("many/08.md", "# Other\n\nzebra\n");
    memory.put("new.md", "# New\n\ntea and tokens\n");
    let log = memory.at("sessions/s1/messages.jsonl");
    let old = fs::read(&log).unwrap();
    fs::write(
        log,
        [&old, &b"{\"role\":\"user\",\"content\":\"zebra tea\",\"session\":\"s3\"}\n"[..]].concat(),
    )
    .unwrap();
}

/// Where each array and page lies, by the number of the array.
fn arrays(bytes: &[u8]) -> Vec<(usize, Range<usize>)> {
    let mut all = Vec::new();
    for array in 0..ARRAYS {
        let held = place(bytes, HEAD + array * EXTENT);
        if PAGED.contains(&array) {
            held.clone()
                .step_by(EXTENT)
                .for_each(|page| all.push((100 + array, place(bytes, page))));
        }
        all.push((array, held));
    }
    all.retain(|(_, held)| !held.is_empty());
    all
}

/// Changes one number of a snapshot, of one, two, four or eight bytes.
fn lie(bytes: &mut [u8], held: &Range<usize>, dice: &mut Dice) -> String {
    let width = [1, 2, 4, 8][dice.below(4)].min(held.len());
    let spot = |dice: &mut Dice| held.start + dice.below((held.len() / width).max(1)) * width;
    let at = spot(dice);
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at..at + width]);
    let old = u64::from_le_bytes(word);
    let new = match dice.below(7) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => dice.roll(),
        5 => old ^ 1 << dice.below(8 * width),
        _ => {
            let other = spot(dice);
            for byte in 0..width {
                bytes.swap(at + byte, other + byte);
            }
            return format!("{width} bytes at {at} and {other} swapped");
        }
    };
    bytes[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
    format!("{width} bytes at {at} from {old} to {new}")
}

fn tell(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
}

/// Counts of outcomes, by array.
#[derive(Debug, Default)]
struct Outcomes {
    tries: usize,
    refused: usize,
    rebuilt: usize,
    panics: usize,
    wrong: usize,
}

fn told(store: &Store) -> String {
    store.refresh(&|| false).unwrap().snapshot.clone().unwrap()
}

/// Aborts the process if one try hangs.
fn watched(what: impl FnOnce(&mpsc::Sender<String>)) {
    let (sender, told) = mpsc::channel::<String>();
    let watch = std::thread::spawn(move || {
        let mut last = String::new();
        loop {
            match told.recv_timeout(HANGS) {
                Ok(next) => last = next,
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    tell(&format!("it hangs: {last}"));
                    std::process::abort();
                }
            }
        }
    });
    what(&sender);
    drop(sender);
    let _ = watch;
}

fn tries(few: usize) -> usize {
    std::env::var("COMMONPLACE_CRAFTED").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Windows has no such limit; a giant allocation fails there when the disk does not hold it.
#[cfg(windows)]
fn bound_memory() {}

/// Limits the memory of the process: a giant allocation then ends it.
#[cfg(unix)]
fn bound_memory() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(6 << 30), maximum: Some(6 << 30) };
    setrlimit(Resource::As, limit).unwrap();
}

#[test]
fn crafted_snapshots_do_no_harm() {
    bound_memory();
    let seed = std::env::var("COMMONPLACE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let count = tries(60);
    let mut dice = Dice(seed);
    let mut tallies: BTreeMap<usize, Outcomes> = BTreeMap::new();
    let mut told_of = Vec::new();
    watched(|watch| {
        let memory = varied();
        drop(memory.open_with(options()));
        let index = memory.at(".commonplace/index");
        let bytes = fs::read(&index).unwrap();
        let expected = everything(&memory.open_with(options()));
        let fresh = varied();
        change(&fresh);
        let changed = everything(&fresh.open_with(options()));
        let arrays = arrays(&bytes);
        let numbers: Vec<usize> = arrays.iter().map(|(number, _)| *number).collect();
        let kinds: Vec<usize> = numbers
            .iter()
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        for round in 0..count {
            // each array as often as any other, and each of its pages
            let kind = kinds[round % kinds.len()];
            let of_kind: Vec<_> = arrays.iter().filter(|(number, _)| *number == kind).collect();
            let (_, held) = of_kind[dice.below(of_kind.len())];
            // an edit changes what is there, so each begins with a memory of its own
            let edits = round % 8 == 7;
            let (own, bytes) = match edits {
                false => (None, bytes.clone()),
                true => {
                    let own = varied();
                    drop(own.open_with(options()));
                    let bytes = fs::read(own.at(".commonplace/index")).unwrap();
                    (Some(own), bytes)
                }
            };
            let mut bytes = bytes;
            let what = format!("{round}: array {kind}: {}", lie(&mut bytes, held, &mut dice));
            watch.send(what.clone()).unwrap();
            let memory = own.as_ref().unwrap_or(&memory);
            fs::write(memory.at(".commonplace/index"), sealed(bytes)).unwrap();
            let tally = tallies.entry(kind).or_default();
            tally.tries += 1;
            let done = catch_unwind(AssertUnwindSafe(|| {
                let store = memory.open_with(options());
                let verdict = told(&store);
                let same = if edits {
                    change(memory);
                    let answers = everything(&store);
                    (answers != changed).then(|| differing(&answers, &changed))
                } else {
                    let answers = everything(&store);
                    (answers != expected).then(|| differing(&answers, &expected))
                };
                let after = told(&store);
                drop(store);
                (verdict, after, same)
            }));
            match done {
                Err(_) => {
                    tally.panics += 1;
                    told_of.push(format!("panic: {what}"));
                }
                Ok((verdict, after, wrong)) => {
                    tally.refused += usize::from(verdict != "read");
                    tally.rebuilt += usize::from(verdict == "read" && after != "read");
                    if let Some(how) = wrong {
                        tally.wrong += 1;
                        told_of.push(format!("wrong: {what} ({verdict}/{after}) {edits}: {how}"));
                    }
                }
            }
        }
    });
    let sum = |of: fn(&Outcomes) -> usize| tallies.values().map(of).sum::<usize>();
    let (panics, wrong) = (sum(|t| t.panics), sum(|t| t.wrong));
    for (kind, tally) in &tallies {
        tell(&format!("{kind:>4} {tally:?}"));
    }
    let [all, refused, rebuilt] = [sum(|t| t.tries), sum(|t| t.refused), sum(|t| t.rebuilt)];
    tell(&format!(
        "seed {seed}: {all} tries, {refused} refused, {rebuilt} rebuilt, {wrong} wrong, {panics} panics"
    ));
    told_of.iter().for_each(|line| tell(line));
    assert_eq!((panics, wrong), (0, 0), "{}", told_of.join("\n"));
}

/// The first answer that differs.
fn differing(answers: &[Shown], expected: &[Shown]) -> String {
    let at = answers.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0);
    let line = answers[at].iter().zip(&expected[at]).find(|(a, b)| a != b);
    format!("query {at}: {} of {}: {line:?}", answers[at].len(), expected[at].len())
}
