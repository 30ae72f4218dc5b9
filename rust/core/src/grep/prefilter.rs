//! Finds, in raw JSON, the places where a pattern's required text may stand.
//!
//! The search must never miss a line, though JSON may spell any character as
//! `\uXXXX`. So a place is found where a run stands (in either case, if the pattern
//! says so), its quotes and backslashes behind the backslash that JSON puts there,
//! or where an escape spells any of its characters.

use aho_corasick::{AhoCorasick, packed};
use memchr::{memchr_iter, memmem};

use super::simd_scan::{REACH, Stops, Sweep};
use crate::messages::json::unit;

/// Longer runs find nothing more, but cost time on repetitive text.
pub(crate) const MAX_RUN: usize = REACH;
/// Kept small so that every pass over a window after the first finds it in the L1 cache.
const WINDOW: usize = 16 * 1024;

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

    /// The run cut at characters to at most [`MAX_RUN`] bytes of JSON.
    pub fn pieces(mut self) -> Vec<Self> {
        while self.spelled().len() > MAX_RUN {
            self.text.pop();
        }
        vec![self]
    }

    /// As JSON spells it.
    fn spelled(&self) -> String {
        self.text.replace('\\', r"\\").replace('"', "\\\"")
    }
}

#[derive(Debug)]
enum Engine {
    /// One run: a single pass sees it, the escapes and the line ends.
    One(Sweep),
    /// Several runs, in a copy of the text in lower case.
    Folded(Several),
}

#[derive(Debug)]
enum Several {
    Packed(Box<packed::Searcher>),
    Automaton(Box<AhoCorasick>),
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
    json: Engine,
    /// For plain text, where the runs are spelled otherwise there.
    plain: Option<Engine>,
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
        let texts: Vec<String> = runs.iter().map(|run| run.text.clone()).collect();
        let spelled: Vec<String> = runs.iter().map(Run::spelled).collect();
        let json = Engine::new(&spelled, caseless)?;
        let plain = if texts == spelled { None } else { Some(Engine::new(&texts, caseless)?) };
        Some(Self { runs, json, plain, escapes })
    }

    /// The texts of which every match holds one, whatever their case.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| &*run.text)
    }

    /// Whether the only run stands at a place in the body of a JSON string, decoded too.
    pub fn stands(&self, body: &[u8], at: usize) -> bool {
        // No escape reaches so far.
        let lead = &body[at.saturating_sub(5)..at];
        match &self.json {
            Engine::One(sweep) => sweep.begins(&body[at..]) && !lead.contains(&b'\\'),
            Engine::Folded(_) => false,
        }
    }

    /// Begins to look for places in a text.
    pub fn places<'n, 't>(&'n self, text: &'t [u8], json: bool) -> Places<'n, 't> {
        let engine = self.plain.as_ref().filter(|_| !json).unwrap_or(&self.json);
        let way = match engine {
            Engine::One(sweep) => Way::Stops(sweep.stops(text, json)),
            Engine::Folded(several) => Way::Windows(several),
        };
        Places { text, json, escapes: &self.escapes, way }
    }
}

/// The places of a text where a match may be.
#[derive(Debug)]
pub(crate) struct Places<'n, 't> {
    text: &'t [u8],
    json: bool,
    escapes: &'n Escapes,
    way: Way<'n, 't>,
}

#[derive(Debug)]
enum Way<'n, 't> {
    Stops(Stops<'n, 't>),
    Windows(&'n Several),
}

impl Places<'_, '_> {
    /// The first place at or after `from`, which is behind the one given before; everything
    /// between is clear.
    ///
    /// `line_end` is told every line end from `from` to that place.
    pub fn next(
        &mut self,
        from: usize,
        scratch: &mut Scratch,
        mut line_end: impl FnMut(usize),
    ) -> Option<usize> {
        let Self { text, json, escapes, ref mut way } = *self;
        let mut start = from;
        let several = match way {
            Way::Stops(stops) if !json => {
                let found = stops.next(from);
                memchr_iter(b'\n', &text[from..found.unwrap_or(text.len())])
                    .for_each(|at| line_end(from + at));
                return found;
            }
            Way::Stops(stops) => {
                while let Some(at) = stops.next(start) {
                    match text[at..] {
                        [b'\n', ..] => line_end(at),
                        [b'\\', b'u', ..] if !escapes.spells(&text[at..]) => {}
                        _ => return Some(at),
                    }
                    start = at + 1;
                }
                return None;
            }
            Way::Windows(several) => several,
        };
        while start < text.len() {
            let end = (start + WINDOW).min(text.len());
            // A run may begin in this window and end in the next.
            let reach = (end + MAX_RUN).min(text.len());
            let mut found = several.find(&text[start..reach], scratch).map(|at| start + at);
            if json {
                let limit = found.unwrap_or(end);
                found = escapes.find(text, start, limit).or(found);
            }
            memchr_iter(b'\n', &text[start..found.unwrap_or(end)])
                .for_each(|at| line_end(start + at));
            if found.is_some() {
                return found;
            }
            start = end;
        }
        None
    }
}

impl Engine {
    fn new(runs: &[String], caseless: bool) -> Option<Self> {
        if let [run] = runs {
            return Some(Self::One(Sweep::new(run.as_bytes(), caseless)));
        }
        let lower: Vec<String> = runs.iter().map(|run| run.to_ascii_lowercase()).collect();
        Some(Self::Folded(match packed::Searcher::new(&lower) {
            Some(searcher) => Several::Packed(Box::new(searcher)),
            None => Several::Automaton(Box::new(AhoCorasick::new(&lower).ok()?)),
        }))
    }
}

impl Several {
    fn find(&self, text: &[u8], scratch: &mut Scratch) -> Option<usize> {
        scratch.folded.clear();
        scratch.folded.extend_from_slice(text);
        scratch.folded.make_ascii_lowercase();
        let found = match self {
            Self::Packed(searcher) => searcher.find(&scratch.folded),
            Self::Automaton(automaton) => automaton.find(&scratch.folded),
        };
        found.map(|found| found.start())
    }
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
            if self.spells(&text[at..]) {
                return Some(at);
            }
            from = at + 2;
        }
        None
    }

    /// Whether the escape at the start of `text` spells one of the characters.
    fn spells(&self, text: &[u8]) -> bool {
        unit(text).is_some_and(|unit| self.units.binary_search(&unit).is_ok())
    }
}
