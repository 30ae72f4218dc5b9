//! Prefilter: search of raw JSON for the literals that every match of a pattern must hold.
//!
//! The search must never miss a line, though JSON may spell any character as
//! `\uXXXX`. So a candidate is a place where a literal stands (in either case, if the
//! pattern says so), its quotes and backslashes behind the backslash that JSON puts there,
//! or where an escape spells any of its characters.

use aho_corasick::{AhoCorasick, packed};
use memchr::{memchr_iter, memmem};

use super::simd_scan::{self, SimdCandidates, SimdScan};
use crate::messages::json_string::unit;

/// Longer literals find nothing more, but cost time on repetitive text.
pub(crate) const MAX_LITERAL: usize = simd_scan::MAX_LITERAL;
/// Kept small so that every pass over a window after the first finds it in the L1 cache.
const WINDOW: usize = 16 * 1024;

/// A literal of a pattern: consecutive characters; ASCII letters in lower case where case does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Literal {
    text: String,
    caseless: bool,
}

impl Literal {
    pub fn push(&mut self, c: char, caseless: bool) {
        self.text.push(c);
        self.caseless |= caseless;
    }

    /// How rare the literal is: its length in bytes; zero for literals not worth a search.
    pub fn selectivity(&self) -> usize {
        if self.text.len() < 2 { 0 } else { self.text.len().min(MAX_LITERAL) }
    }

    /// The literal cut at characters to at most [`MAX_LITERAL`] bytes of JSON.
    pub fn pieces(mut self) -> Vec<Self> {
        while self.spelled().len() > MAX_LITERAL {
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
enum LiteralSearcher {
    /// One literal: a single pass sees it, the escapes and the line ends.
    Single(SimdScan),
    /// Several literals, in a copy of the text in lower case.
    Multi(MultiLiteral),
}

#[derive(Debug)]
enum MultiLiteral {
    Packed(Box<packed::Searcher>),
    Automaton(Box<AhoCorasick>),
}

/// Escapes that may spell a character of a literal.
#[derive(Debug)]
struct EscapeSet {
    /// The UTF-16 units, sorted.
    units: Vec<u16>,
    slash_u: memmem::Finder<'static>,
}

/// The literals of which every match holds one, ready to be searched for.
#[derive(Debug)]
pub(crate) struct RequiredLiterals {
    literals: Vec<Literal>,
    json: LiteralSearcher,
    /// For plain text, where the literals are spelled otherwise there.
    plain: Option<LiteralSearcher>,
    escapes: EscapeSet,
}

/// Buffer for text in lower case, which searches reuse.
#[derive(Debug, Default)]
pub(crate) struct FoldBuffer {
    folded: Vec<u8>,
}

impl RequiredLiterals {
    pub fn new(mut literals: Vec<Literal>) -> Option<Self> {
        let caseless = literals.iter().any(|literal| literal.caseless);
        if literals.iter().any(|literal| literal.selectivity() == 0) || literals.is_empty() {
            return None;
        }
        if caseless {
            literals.iter_mut().for_each(|literal| literal.text.make_ascii_lowercase());
        }
        literals.sort_by(|a, b| a.text.cmp(&b.text));
        literals.dedup();
        let escapes = EscapeSet::new(&literals, caseless);
        let texts: Vec<String> = literals.iter().map(|literal| literal.text.clone()).collect();
        let spelled: Vec<String> = literals.iter().map(Literal::spelled).collect();
        let json = LiteralSearcher::new(&spelled, caseless)?;
        let plain =
            if texts == spelled { None } else { Some(LiteralSearcher::new(&texts, caseless)?) };
        Some(Self { literals, json, plain, escapes })
    }

    /// The texts of which every match holds one, whatever their case.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().map(|literal| &*literal.text)
    }

    /// Whether the only literal stands at a place in the body of a JSON string, decoded too.
    pub fn matches_at(&self, body: &[u8], at: usize) -> bool {
        // No escape reaches so far.
        let lead = &body[at.saturating_sub(5)..at];
        match &self.json {
            LiteralSearcher::Single(scan) => scan.begins(&body[at..]) && !lead.contains(&b'\\'),
            LiteralSearcher::Multi(_) => false,
        }
    }

    /// Begins a search of a text.
    pub fn candidates<'n, 't>(&'n self, text: &'t [u8], json: bool) -> Candidates<'n, 't> {
        let searcher = self.plain.as_ref().filter(|_| !json).unwrap_or(&self.json);
        let source = match searcher {
            LiteralSearcher::Single(scan) => CandidateSource::Simd(scan.candidates(text, json)),
            LiteralSearcher::Multi(multi) => CandidateSource::Windows(multi),
        };
        Candidates { text, json, escapes: &self.escapes, source }
    }
}

/// Candidates of a text: places where a match may be.
#[derive(Debug)]
pub(crate) struct Candidates<'n, 't> {
    text: &'t [u8],
    json: bool,
    escapes: &'n EscapeSet,
    source: CandidateSource<'n, 't>,
}

#[derive(Debug)]
enum CandidateSource<'n, 't> {
    Simd(SimdCandidates<'n, 't>),
    Windows(&'n MultiLiteral),
}

impl Candidates<'_, '_> {
    /// The first candidate at or after `from`, which is behind the one given before; no match is
    /// between them.
    ///
    /// `line_end` is told every line end from `from` to that place.
    pub fn next(
        &mut self,
        from: usize,
        fold_buffer: &mut FoldBuffer,
        mut line_end: impl FnMut(usize),
    ) -> Option<usize> {
        let Self { text, json, escapes, ref mut source } = *self;
        let mut start = from;
        let multi = match source {
            CandidateSource::Simd(candidates) if !json => {
                let found = candidates.next(from);
                memchr_iter(b'\n', &text[from..found.unwrap_or(text.len())])
                    .for_each(|at| line_end(from + at));
                return found;
            }
            CandidateSource::Simd(candidates) => {
                while let Some(at) = candidates.next(start) {
                    match text[at..] {
                        [b'\n', ..] => line_end(at),
                        [b'\\', b'u', ..] if !escapes.spells(&text[at..]) => {}
                        _ => return Some(at),
                    }
                    start = at + 1;
                }
                return None;
            }
            CandidateSource::Windows(multi) => multi,
        };
        while start < text.len() {
            let end = (start + WINDOW).min(text.len());
            // A literal may begin in this window and end in the next.
            let reach = (end + MAX_LITERAL).min(text.len());
            let mut found = multi.find(&text[start..reach], fold_buffer).map(|at| start + at);
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

impl LiteralSearcher {
    fn new(literals: &[String], caseless: bool) -> Option<Self> {
        if let [literal] = literals {
            return Some(Self::Single(SimdScan::new(literal.as_bytes(), caseless)));
        }
        let lower: Vec<String> =
            literals.iter().map(|literal| literal.to_ascii_lowercase()).collect();
        Some(Self::Multi(match packed::Searcher::new(&lower) {
            Some(searcher) => MultiLiteral::Packed(Box::new(searcher)),
            None => MultiLiteral::Automaton(Box::new(AhoCorasick::new(&lower).ok()?)),
        }))
    }
}

impl MultiLiteral {
    fn find(&self, text: &[u8], fold_buffer: &mut FoldBuffer) -> Option<usize> {
        fold_buffer.folded.clear();
        fold_buffer.folded.extend_from_slice(text);
        fold_buffer.folded.make_ascii_lowercase();
        let found = match self {
            Self::Packed(searcher) => searcher.find(&fold_buffer.folded),
            Self::Automaton(automaton) => automaton.find(&fold_buffer.folded),
        };
        found.map(|found| found.start())
    }
}

impl EscapeSet {
    fn new(literals: &[Literal], caseless: bool) -> Self {
        let mut units = Vec::new();
        for c in literals.iter().flat_map(|literal| literal.text.chars()) {
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
