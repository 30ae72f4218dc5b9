//! Takes what was loaded of a chunk apart into lines and judges those that may match.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use regex_automata::meta::Cache;
use regex_automata::{Input, Span};

use super::chunk::{Chunk, Tail};
use super::job::Round;
use super::pattern::Pattern;
use super::prefilter::{Places, Scratch};
use super::snippet::snippet;
use super::{MAX_BAD_LINES, Match, Options};
use crate::messages::message::{self, Line, Outline};

/// Scratch space for searches.
#[derive(Debug, Default)]
pub(super) struct Memory {
    scratch: Scratch,
    cache: Option<Cache>,
}

/// What decides whether a line matches.
#[derive(Debug)]
pub(super) struct Finder {
    pub pattern: Pattern,
    pub json: bool,
    pub tools: bool,
    max_snippet: usize,
    roles: Vec<String>,
    since: Option<i64>,
    until: Option<i64>,
}

/// What became of one line.
#[expect(clippy::large_enum_variant, reason = "one at a time, at once moved on")]
enum Verdict {
    No,
    Bad,
    Match(Option<Match>),
}

impl Finder {
    pub fn new(pattern: Pattern, options: &Options, json: bool) -> Self {
        Self {
            pattern,
            json,
            tools: options.tools,
            max_snippet: options.max_snippet.max(8),
            roles: options.roles.clone(),
            since: options.since,
            until: options.until,
        }
    }

    /// The first match in decoded text, looking only at `span`.
    pub fn search(&self, text: &str, span: Span, memory: &mut Memory) -> Option<Span> {
        let regex = self.pattern.regex();
        let cache = memory.cache.get_or_insert_with(|| regex.create_cache());
        regex.search_with(cache, &Input::new(text).span(span)).map(|found| found.span())
    }

    fn is_match(&self, text: &str, memory: &mut Memory) -> bool {
        let regex = self.pattern.regex();
        let cache = memory.cache.get_or_insert_with(|| regex.create_cache());
        regex.search_half_with(cache, &Input::new(text).earliest(true)).is_some()
    }

    /// Begins to look for places in raw text that a match may hold.
    fn candidates<'f, 't>(&'f self, text: &'t [u8]) -> Candidates<'f, 't> {
        let places = self.pattern.needles().map(|needles| needles.places(text, self.json));
        Candidates { text, places }
    }

    /// Whether a look around a candidate can spare taking its line apart.
    fn looks_nearby(&self) -> bool {
        self.json && !self.tools && self.pattern.needles().is_some()
    }

    /// Whether the message's own fields pass the filters.
    pub fn admits(&self, outline: &Outline<'_>) -> bool {
        if !self.roles.is_empty() && !self.roles.iter().any(|role| **role == *outline.role()) {
            return false;
        }
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        outline.timestamp_ms().is_some_and(|at| {
            self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
        })
    }

    /// Judges a line whose first place that may matter is `at`.
    fn judge(&self, line: &[u8], at: usize, build: bool, memory: &mut Memory) -> Verdict {
        if !self.json {
            let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            return self.judge_text(&text, build, memory);
        }
        let outline = match message::outline(line) {
            Line::Message(outline) => outline,
            Line::Other | Line::Blank => return Verdict::No,
            Line::Bad => return Verdict::Bad,
        };
        // A pattern without needles may match even where nothing was said.
        let mut likely = self.pattern.needles().is_none();
        let mut sure = false;
        let place = line[at..].as_ptr();
        outline.each_text(self.tools, |body| {
            let Range { start, end } = body.as_ptr_range();
            if (start..end).contains(&place) {
                likely = true;
                sure = self.pattern.matches_at(body, place as usize - start as usize);
            } else if start > place && !likely {
                likely = self.candidates(body).next(0, memory, |_| {}).is_some();
            }
        });
        if !likely || !self.admits(&outline) {
            return Verdict::No;
        }
        if sure && !build {
            return Verdict::Match(None);
        }
        match self.judge_text(&outline.text(self.tools), build, memory) {
            Verdict::Match(Some(found)) => Verdict::Match(Some(describe(found, &outline))),
            verdict => verdict,
        }
    }

    fn judge_text(&self, text: &str, build: bool, memory: &mut Memory) -> Verdict {
        if !build {
            return if self.is_match(text, memory) { Verdict::Match(None) } else { Verdict::No };
        }
        match self.search(text, Span::from(0..text.len()), memory) {
            Some(first) => Verdict::Match(Some(self.show(text, first, memory))),
            None => Verdict::No,
        }
    }

    /// The match with its snippet, still without its place.
    pub fn show(&self, text: &str, first: Span, memory: &mut Memory) -> Match {
        let next = |from, to| self.search(text, Span::from(from..to), memory);
        let (snippet, highlights) = snippet(text, first, self.max_snippet, next);
        Match { snippet, highlights, ..Match::default() }
    }
}

/// The places of a raw text that a match may hold.
struct Candidates<'f, 't> {
    text: &'t [u8],
    places: Option<Places<'f, 't>>,
}

impl Candidates<'_, '_> {
    /// The first place at or after `from`; `line_end` is told the line ends before.
    fn next(
        &mut self,
        from: usize,
        memory: &mut Memory,
        mut line_end: impl FnMut(usize),
    ) -> Option<usize> {
        if let Some(places) = &mut self.places {
            return places.next(from, &mut memory.scratch, line_end);
        }
        let ended = self.text.get(from) == Some(&b'\n');
        if ended {
            line_end(from);
        }
        let next = from + usize::from(ended);
        (next < self.text.len()).then_some(next)
    }
}

/// Adds what the message says of itself.
pub(super) fn describe(found: Match, outline: &Outline<'_>) -> Match {
    Match {
        role: outline.role().into_owned(),
        name: outline.name(),
        time: outline.time(),
        session: outline.session(),
        ..found
    }
}

/// The whole lines of a chunk.
pub(super) struct Lines<'l, 'r> {
    pub round: &'l Round<'r>,
    pub text: &'l [u8],
    pub offset: u64,
    /// Line ends in the chunk before `text`.
    pub skipped_ends: u64,
    pub memory: &'l mut Memory,
    pub chunk: &'l mut Chunk,
}

impl Lines<'_, '_> {
    /// Judges them, and notes in the chunk what is found.
    pub fn look(&mut self, at_end: bool) {
        let terminated = memrchr(b'\n', self.text).map_or(0, |end| end + 1);
        let finder = self.round.finder;
        if at_end && finder.json {
            self.set_apart_torn_tail(terminated);
        }
        let mut seen = Seen { text: self.text, json: finder.json, ..Seen::default() };
        self.judge_candidates(&mut seen);
        let unended = seen.start < self.text.len();
        if unended {
            seen.line(self.text.len());
        }
        let Seen { ends, mut bad, .. } = seen;
        self.chunk.line_ends += ends;
        self.chunk.lines += ends + u64::from(unended);
        bad.sort_unstable();
        bad.dedup();
        self.chunk.bad_lines += bad.len() as u64;
        bad.truncate(MAX_BAD_LINES);
        self.chunk.first_bad_lines = bad.into_iter().map(|ends| self.skipped_ends + ends).collect();
    }

    /// A last line without an end counts if it is whole.
    fn set_apart_torn_tail(&mut self, terminated: usize) {
        let torn = terminated < self.text.len()
            && matches!(message::outline(&self.text[terminated..]), Line::Bad);
        if torn || terminated < self.text.len() {
            let before = memchr_iter(b'\n', &self.text[..terminated]).count() as u64;
            let length = if torn { terminated } else { self.text.len() };
            self.chunk.tail = Some(Tail {
                offset: self.offset + length as u64,
                line_ends: self.skipped_ends + before,
                torn,
            });
            self.text = &self.text[..length];
        }
    }

    fn judge_candidates(&mut self, seen: &mut Seen<'_>) {
        let Round { finder, build, .. } = *self.round;
        let text = self.text;
        // What is known to be unsaid ends here.
        let mut clear = 0;
        let mut from = 0;
        let mut candidates = finder.candidates(text);
        while let Some(at) = candidates.next(from, self.memory, |end| seen.line_end(end)) {
            let start = seen.start;
            let known = clear.max(start) - start;
            if finder.looks_nearby()
                && let Some(beyond) = message::beyond_unsaid(&text[start..], known, at - start)
            {
                clear = start + beyond;
                from = clear;
                continue;
            }
            let stop = memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            let line = &text[start..stop];
            from = stop;
            match finder.judge(line, at - start, build, self.memory) {
                Verdict::No => {}
                Verdict::Bad => seen.bad.push(seen.ends),
                Verdict::Match(found) => {
                    self.chunk.matched += 1;
                    let place = |found| Match {
                        line: self.skipped_ends + seen.ends,
                        offset: self.offset + start as u64,
                        end: self.offset + (stop + 1).min(text.len()) as u64,
                        ..found
                    };
                    self.chunk.matches.extend(found.map(place));
                    if self.chunk.is_overfull() {
                        return;
                    }
                }
            }
        }
    }
}

/// What is known of the lines up to the place that a search has come to.
#[derive(Default)]
struct Seen<'t> {
    text: &'t [u8],
    json: bool,
    /// Where the current line starts, and the line ends before it.
    start: usize,
    ends: u64,
    /// Bad lines, by the line ends before them.
    bad: Vec<u64>,
}

impl Seen<'_> {
    fn line_end(&mut self, at: usize) {
        self.line(at);
        self.start = at + 1;
        self.ends += 1;
    }

    /// Notes the current line, which ends at `end`, if it is no JSON. One that begins and ends
    /// like an object is taken for one.
    fn line(&mut self, end: usize) {
        let line = &self.text[self.start..end];
        let looks_whole = matches!(line, [b'{', .., b'}']);
        if self.json && !looks_whole && matches!(message::outline(line), Line::Bad) {
            self.bad.push(self.ends);
        }
    }
}
