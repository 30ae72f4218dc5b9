//! Line matcher: the pattern and the filter that decide whether a line is a match.

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::Cache;
use regex_automata::{Input, Span};

use super::options::GrepOptions;
use super::pattern::Pattern;
use super::prefilter::{Candidates, FoldBuffer};
use super::report::Match;
use super::snippet::snippet;
use crate::filter::{FilterFields, SearchFilter};
use crate::messages::lazy_message::LazyMessage;
use crate::messages::message::{self, ParsedLine};

/// Scratch space that searches reuse.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    fold_buffer: FoldBuffer,
    cache: Option<Cache>,
}

/// A compiled pattern with the filter.
#[derive(Debug)]
pub(super) struct LineMatcher {
    pub pattern: Pattern,
    pub json: bool,
    max_snippet: usize,
    filter: SearchFilter,
}

/// Result for one line.
#[expect(clippy::large_enum_variant, reason = "one at a time, at once moved on")]
pub(super) enum Verdict {
    No,
    Bad,
    Match(Option<Match>),
}

impl LineMatcher {
    pub fn new(pattern: Pattern, options: &GrepOptions, json: bool) -> Self {
        Self {
            pattern,
            json,
            max_snippet: options.max_snippet.max(8),
            filter: options.filter.clone(),
        }
    }

    /// The first match in decoded text, looking only at `span`.
    pub fn search(&self, text: &str, span: Span, scratch: &mut Scratch) -> Option<Span> {
        let regex = self.pattern.regex();
        let cache = scratch.cache.get_or_insert_with(|| regex.create_cache());
        regex.search_with(cache, &Input::new(text).span(span)).map(|found| found.span())
    }

    fn is_match(&self, text: &str, scratch: &mut Scratch) -> bool {
        let regex = self.pattern.regex();
        let cache = scratch.cache.get_or_insert_with(|| regex.create_cache());
        regex.search_half_with(cache, &Input::new(text).earliest(true)).is_some()
    }

    /// Begins a search of raw text for candidates.
    pub fn candidates<'f, 't>(&'f self, text: &'t [u8]) -> LineCandidates<'f, 't> {
        let places = self.pattern.literals().map(|literals| literals.candidates(text, self.json));
        LineCandidates { text, places }
    }

    /// Whether the bytes before a candidate may show that its line need not be parsed.
    pub fn can_skip_tool_strings(&self) -> bool {
        self.json && !self.tools() && self.pattern.literals().is_some()
    }

    /// Whether what is of tools is searched too.
    pub fn tools(&self) -> bool {
        self.filter.tools
    }

    /// Whether a message of the file passes the filter.
    pub fn admits(&self, path: &str, message: &LazyMessage<'_>) -> bool {
        self.filter.admits_fields(&TranscriptLine { path, message })
    }

    /// Matches a line whose first candidate is at `at`.
    pub fn match_line(
        &self,
        path: &str,
        line: &[u8],
        at: usize,
        build: bool,
        scratch: &mut Scratch,
    ) -> Verdict {
        if !self.json {
            let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            return self.match_text(&text, build, scratch);
        }
        let message = match message::parse_lazy(line) {
            ParsedLine::Message(message) => message,
            ParsedLine::Other | ParsedLine::Blank => return Verdict::No,
            ParsedLine::Bad => return Verdict::Bad,
        };
        // A pattern without literals may match even where there is no text.
        let mut likely = self.pattern.literals().is_none();
        let mut sure = false;
        let place = line[at..].as_ptr();
        message.each_string(self.tools(), |body| {
            let Range { start, end } = body.as_ptr_range();
            if (start..end).contains(&place) {
                likely = true;
                sure = self.pattern.matches_at(body, place as usize - start as usize);
            } else if start > place && !likely {
                likely = self.candidates(body).next(0, scratch, |_| {}).is_some();
            }
        });
        if !likely || !self.admits(path, &message) {
            return Verdict::No;
        }
        if sure && !build {
            return Verdict::Match(None);
        }
        match self.match_text(&message.text(self.tools()), build, scratch) {
            Verdict::Match(Some(found)) => Verdict::Match(Some(describe(found, &message))),
            verdict => verdict,
        }
    }

    fn match_text(&self, text: &str, build: bool, scratch: &mut Scratch) -> Verdict {
        if !build {
            return if self.is_match(text, scratch) { Verdict::Match(None) } else { Verdict::No };
        }
        match self.search(text, Span::from(0..text.len()), scratch) {
            Some(first) => Verdict::Match(Some(self.show(text, first, scratch))),
            None => Verdict::No,
        }
    }

    /// The match with its snippet, still without its position.
    pub fn show(&self, text: &str, first: Span, scratch: &mut Scratch) -> Match {
        let next = |from, to| self.search(text, Span::from(from..to), scratch);
        let (snippet, highlights) = snippet(text, first, self.max_snippet, next);
        Match { snippet, highlights, ..Match::default() }
    }
}

/// A message as the filter sees it.
pub(crate) struct TranscriptLine<'a> {
    pub path: &'a str,
    pub message: &'a LazyMessage<'a>,
}

impl FilterFields for TranscriptLine<'_> {
    fn path(&self) -> &str {
        self.path
    }

    fn timestamp_ms(&self) -> Option<i64> {
        self.message.timestamp_ms()
    }

    fn role(&self) -> Cow<'_, str> {
        self.message.role()
    }

    fn session(&self) -> Cow<'_, str> {
        self.message.session().unwrap_or_default().into()
    }
}

/// Candidates of a raw text: positions that a match may hold.
pub(super) struct LineCandidates<'f, 't> {
    text: &'t [u8],
    places: Option<Candidates<'f, 't>>,
}

impl LineCandidates<'_, '_> {
    /// The first candidate at or after `from`; `line_end` is told the line ends before.
    pub fn next(
        &mut self,
        from: usize,
        scratch: &mut Scratch,
        mut line_end: impl FnMut(usize),
    ) -> Option<usize> {
        if let Some(places) = &mut self.places {
            return places.next(from, &mut scratch.fold_buffer, line_end);
        }
        let ended = self.text.get(from) == Some(&b'\n');
        if ended {
            line_end(from);
        }
        let next = from + usize::from(ended);
        (next < self.text.len()).then_some(next)
    }
}

/// Adds the fields of the message.
pub(super) fn describe(found: Match, message: &LazyMessage<'_>) -> Match {
    Match {
        role: message.role().into_owned(),
        name: message.name(),
        time: message.time(),
        session: message.session(),
        ..found
    }
}
