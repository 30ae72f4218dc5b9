//! Finds, in raw JSON, the places where a pattern's required text may stand.
//!
//! The search must never miss a line, though JSON may spell any character as
//! `\uXXXX`. So a place is found where a run stands as it is (in either case, if
//! the pattern says so), or where an escape spells any of its characters.

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem;

use crate::messages::json::unit;

/// Longer runs find nothing more, but cost time on repetitive text.
pub(crate) const MAX_RUN: usize = 16;
/// Kept small so that every pass over a window after the first finds it in the L1 cache.
const WINDOW: usize = 16 * 1024;
/// Places per step of the tests that look at many at once.
const STEP: usize = 64;

/// Consecutive characters of a pattern; ASCII letters in lower case where case does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    text: String,
    caseless: bool,
}

impl Run {
    pub fn push(&mut self, c: char, caseless: bool) {
        self.text.push(c);
        self.caseless |= caseless;
    }

    /// How rare the run is: its length in bytes; zero for runs not worth a search.
    pub fn worth(&self) -> usize {
        if self.text.len() < 2 { 0 } else { self.text.len().min(MAX_RUN) }
    }

    /// The run cut at characters to at most [`MAX_RUN`] bytes.
    pub fn pieces(mut self) -> Vec<Self> {
        while self.text.len() > MAX_RUN {
            self.text.pop();
        }
        vec![self]
    }
}

/// How often a byte occurs in transcripts, roughly: 255 is the most frequent.
fn frequency(byte: u8) -> u8 {
    match byte {
        b' ' | b'"' | b'\\' | b'e' | b't' => 255,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 220,
        b'c' | b'd' | b'l' | b'm' | b'p' | b'u' | b',' | b':' | b'-' | b'_' | b'.' => 140,
        b'f' | b'g' | b'h' | b'b' | b'0'..=b'2' => 100,
        b'v' | b'w' | b'y' | b'k' | b'3'..=b'9' => 60,
        b'x' | b'j' | b'q' | b'z' => 20,
        // The first byte of a CJK character is worth little, the later ones more.
        0xE0..=0xFF => 90,
        _ => 40,
    }
}

#[derive(Debug)]
enum Engine {
    /// One run without regard to case: test three of its bytes in many places at once.
    Caseless(Caseless),
    /// One run as it is.
    Exact(Box<memmem::Finder<'static>>),
    /// Several runs, in a copy of the text in lower case.
    Folded(Several),
}

#[derive(Debug)]
enum Several {
    Packed(Box<packed::Searcher>),
    Automaton(Box<AhoCorasick>),
}

#[derive(Debug)]
struct Caseless {
    run: Vec<u8>,
    probes: [Probe; 3],
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    at: usize,
    byte: u8,
    /// 0x20 where both cases of a letter count.
    fold: u8,
}

/// Which escapes may spell a character of a run.
#[derive(Debug)]
struct Escapes {
    /// The UTF-16 units, sorted.
    units: Vec<u16>,
    slash_u: memmem::Finder<'static>,
}

/// The search for places where a match may be.
#[derive(Debug)]
pub(crate) struct Needles {
    runs: Vec<Run>,
    engine: Engine,
    escapes: Escapes,
}

/// Memory that a search reuses.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    folded: Vec<u8>,
}

impl Needles {
    pub fn new(mut runs: Vec<Run>) -> Option<Self> {
        let caseless = runs.iter().any(|run| run.caseless);
        if runs.iter().any(|run| run.worth() == 0) || runs.is_empty() {
            return None;
        }
        if caseless {
            runs.iter_mut().for_each(|run| run.text.make_ascii_lowercase());
        }
        runs.sort_by(|a, b| a.text.cmp(&b.text));
        runs.dedup();
        let escapes = Escapes::new(&runs, caseless);
        let engine = match (&runs[..], caseless) {
            ([run], true) => Engine::Caseless(Caseless::new(run.text.as_bytes())),
            ([run], false) => {
                Engine::Exact(Box::new(memmem::Finder::new(run.text.as_bytes()).into_owned()))
            }
            (several, _) => {
                let lower: Vec<String> =
                    several.iter().map(|run| run.text.to_ascii_lowercase()).collect();
                Engine::Folded(match packed::Searcher::new(&lower) {
                    Some(searcher) => Several::Packed(Box::new(searcher)),
                    None => Several::Automaton(Box::new(AhoCorasick::new(&lower).ok()?)),
                })
            }
        };
        Some(Self { runs, engine, escapes })
    }

    /// The texts of which every match holds one, whatever their case.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| &*run.text)
    }

    /// The first place at or after `from` where a match may be; everything before it is clear.
    pub fn find(
        &self,
        text: &[u8],
        from: usize,
        json: bool,
        scratch: &mut Scratch,
    ) -> Option<usize> {
        let mut start = from;
        while start < text.len() {
            let end = (start + WINDOW).min(text.len());
            // A run may begin in this window and end in the next.
            let reach = (end + MAX_RUN).min(text.len());
            let mut found = self.engine.find(text, start, end, reach, scratch);
            if json {
                let limit = found.unwrap_or(end);
                found = self.escapes.find(text, start, limit).or(found);
            }
            if found.is_some() {
                return found;
            }
            start = end;
        }
        None
    }
}

impl Engine {
    fn find(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        reach: usize,
        scratch: &mut Scratch,
    ) -> Option<usize> {
        match self {
            Self::Caseless(run) => run.find(text, start, end),
            Self::Exact(finder) => finder.find(&text[start..reach]).map(|at| start + at),
            Self::Folded(several) => {
                scratch.folded.clear();
                scratch.folded.extend_from_slice(&text[start..reach]);
                scratch.folded.make_ascii_lowercase();
                let found = match several {
                    Several::Packed(searcher) => searcher.find(&scratch.folded).map(|m| m.start()),
                    Several::Automaton(automaton) => {
                        automaton.find(&scratch.folded).map(|m| m.start())
                    }
                };
                found.map(|at| start + at)
            }
        }
    }
}

impl Caseless {
    fn new(run: &[u8]) -> Self {
        let mut order: Vec<usize> = (0..run.len()).collect();
        order.sort_by_key(|&at| frequency(run[at]));
        let probe = |at: usize| Probe {
            at,
            byte: run[at],
            fold: if run[at].is_ascii_lowercase() { 0x20 } else { 0 },
        };
        // A run of two bytes has its second one tested twice.
        let third = order.get(2).unwrap_or(&order[1]);
        Self { run: run.to_vec(), probes: [probe(order[0]), probe(order[1]), probe(*third)] }
    }

    /// The first occurrence that begins in `start..end`.
    fn find(&self, text: &[u8], start: usize, end: usize) -> Option<usize> {
        let last = (text.len() + 1).checked_sub(self.run.len())?;
        let end = end.min(last);
        let mut at = start;
        while at < end {
            let places = |probe: Probe| text.get(at + probe.at..at + probe.at + STEP);
            let [a, b, c] = self.probes;
            if let (Some(x), Some(y), Some(z)) = (places(a), places(b), places(c))
                && !any_place([x, y, z], self.probes)
            {
                at += STEP;
                continue;
            }
            let stop = (at + STEP).min(end);
            let fits = |&at: &usize| {
                text[at + a.at] | a.fold == a.byte
                    && text[at + b.at] | b.fold == b.byte
                    && text[at..at + self.run.len()].eq_ignore_ascii_case(&self.run)
            };
            if let Some(found) = (at..stop).find(fits) {
                return Some(found);
            }
            at = stop;
        }
        None
    }
}

/// Whether all probes fit in any place; written so that the compiler uses wide registers.
#[inline]
fn any_place([x, y, z]: [&[u8]; 3], [a, b, c]: [Probe; 3]) -> bool {
    let mut any = 0u8;
    for ((&x, &y), &z) in x.iter().zip(y).zip(z) {
        let fits = ((x | a.fold) == a.byte) & ((y | b.fold) == b.byte) & ((z | c.fold) == c.byte);
        any |= fits as u8;
    }
    any != 0
}

impl Escapes {
    fn new(runs: &[Run], caseless: bool) -> Self {
        let mut units = Vec::new();
        for c in runs.iter().flat_map(|run| run.text.chars()) {
            let mut buffer = [0; 2];
            units.push(c.encode_utf16(&mut buffer)[0]);
            if caseless && c.is_ascii_alphabetic() {
                units.push(c.to_ascii_uppercase() as u16);
                units.push(c.to_ascii_lowercase() as u16);
            }
        }
        units.sort_unstable();
        units.dedup();
        Self { units, slash_u: memmem::Finder::new(b"\\u") }
    }

    /// The first escape in `start..end` that spells one of the characters.
    fn find(&self, text: &[u8], start: usize, end: usize) -> Option<usize> {
        let mut from = start;
        // An escape that begins here may end behind `end`.
        let reach = (end + 1).min(text.len());
        while let Some(slash) = self.slash_u.find(&text[from..reach]) {
            let at = from + slash;
            if unit(&text[at..]).is_some_and(|unit| self.units.binary_search(&unit).is_ok()) {
                return Some(at);
            }
            from = at + 2;
        }
        None
    }
}
