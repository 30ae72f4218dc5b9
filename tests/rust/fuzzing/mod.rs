//! Fuzz driver on stable Rust: a corpus of inputs that are mutated and extended.
//!
//! Each run first takes every file of `tests/corpus/<target>`, then makes new inputs, from pieces
//! or by changing what is kept. A check returns what is telling about an input (its features), or
//! why a law does not hold. What fails is made small and kept as `failed-…`, always; what shows a
//! feature that nothing kept has is kept too, in a long run (`FUZZ_SECONDS`). Coverage would tell
//! more, but cargo-fuzz and bolero need a nightly compiler for it.

#![allow(dead_code, missing_docs, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_64;

/// What is telling about an input.
pub type Features = Vec<(&'static str, u64)>;
/// Features, or why a law does not hold.
pub type Verdict = Result<Features, String>;

/// Bytes of an input, and inputs that are kept of one target.
const LONGEST: usize = 2048;
const MOST: usize = 80;
/// How often a failing input is tried smaller.
const SHRINKS: usize = 400;

/// Random numbers (SplitMix64), repeated by their seed.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

/// The power of two of a number: sizes of one class are alike.
pub fn class(number: usize) -> u64 {
    u64::from(usize::BITS - number.leading_zeros())
}

/// Whether this is a long run.
pub fn is_long() -> bool {
    std::env::var_os("FUZZ_SECONDS").is_some()
}

/// What is known of one target.
struct Corpus {
    folder: PathBuf,
    inputs: Vec<Vec<u8>>,
    seen: BTreeSet<(&'static str, u64)>,
}

/// Tries a check with all that is kept, and then with new inputs for a while.
pub fn fuzz(target: &str, pieces: &[&[u8]], check: impl Fn(&[u8]) -> Verdict) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(now);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(target);
    let mut corpus = Corpus { folder, inputs: Vec::new(), seen: BTreeSet::new() };
    corpus.read(&check);
    let kept = corpus.inputs.len();
    let mut random = Random(seed);
    let (begun, limit) = (Instant::now(), Duration::from_secs_f64(seconds.unwrap_or(0.3)));
    let mut tries = 0_u64;
    while begun.elapsed() < limit {
        let input = corpus.make(pieces, &mut random);
        corpus.take(input, &check, seconds.is_some());
        tries += 1;
    }
    let new = corpus.inputs.len() - kept;
    println!("{target}: seed {seed}, {kept} kept inputs, {tries} new ones, {new} of them kept");
}

impl Corpus {
    fn read(&mut self, check: &impl Fn(&[u8]) -> Verdict) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let input = fs::read(&path).unwrap();
            match attempt(check, &input) {
                Ok(features) => self.seen.extend(features),
                Err(why) => panic!("{}: {why}", path.display()),
            }
            self.inputs.push(input);
        }
    }

    /// An input of pieces, or one that is kept with something changed.
    fn make(&self, pieces: &[&[u8]], random: &mut Random) -> Vec<u8> {
        let mut input = Vec::new();
        if !self.inputs.is_empty() && random.below(2) == 0 {
            input.clone_from(&self.inputs[random.below(self.inputs.len())]);
        }
        for _ in 0..1 + random.below(if input.is_empty() { 40 } else { 4 }) {
            let at = random.below(input.len() + 1);
            let other = self.inputs.get(random.below(self.inputs.len()));
            match random.below(8) {
                0..4 => drop(input.splice(at..at, pieces[random.below(pieces.len())].to_vec())),
                4 => input.insert(at, random.next() as u8),
                5 if at < input.len() => input[at] ^= 1 << random.below(8),
                6 => drop(input.drain(at..(at + random.below(16)).min(input.len()))),
                7 if other.is_some() => input.extend(other.into_iter().flatten()),
                _ => input.extend_from_within(at..),
            }
            input.truncate(LONGEST);
        }
        input
    }

    /// Checks an input and keeps it if it fails, or shows what none has shown.
    fn take(&mut self, input: Vec<u8>, check: &impl Fn(&[u8]) -> Verdict, growing: bool) {
        match attempt(check, &input) {
            Err(first) => {
                let small = shrunk(input, |input| attempt(check, input).is_err());
                let why = attempt(check, &small).err().unwrap_or(first);
                let path = self.keep("failed-", &small);
                panic!("{why}\n{:?}\nkept as {path:?}", String::from_utf8_lossy(&small));
            }
            Ok(features) if growing && self.inputs.len() < MOST => {
                let new: Vec<_> = features.into_iter().filter(|f| !self.seen.contains(f)).collect();
                if let Some(&first) = new.first() {
                    let shows = |input: &[u8]| {
                        attempt(check, input).is_ok_and(|features| features.contains(&first))
                    };
                    let small = shrunk(input, shows);
                    self.seen.extend(attempt(check, &small).unwrap_or_default());
                    self.keep("", &small);
                    self.inputs.push(small);
                }
            }
            Ok(_) => {}
        }
    }

    fn keep(&self, kind: &str, input: &[u8]) -> PathBuf {
        let path = self.folder.join(format!("{kind}{:016x}", xxh3_64(input)));
        fs::create_dir_all(&self.folder).unwrap();
        fs::write(&path, input).unwrap();
        path
    }
}

/// Runs a check; a panic is a law that does not hold.
fn attempt(check: &impl Fn(&[u8]) -> Verdict, input: &[u8]) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| check(input))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// Leaves out what can be left out of an input, in halves and smaller parts.
fn shrunk(mut input: Vec<u8>, holds: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut size, mut tries) = (input.len().div_ceil(2).max(1), 0);
    while tries < SHRINKS {
        let mut at = 0;
        while at < input.len() && tries < SHRINKS {
            let without = [&input[..at], &input[(at + size).min(input.len())..]].concat();
            tries += 1;
            if holds(&without) {
                input = without;
            } else {
                at += size;
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    input
}
