//! Takes one chunk of a file apart into lines and judges those that may match.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use regex_automata::meta::Cache;
use regex_automata::{Input, Span};

use super::long::{self, LONG_LINE};
use super::needle::{Places, Scratch};
use super::pattern::Pattern;
use super::resume::read_full;
use super::round::{Round, next_data};
use super::snippet::snippet;
use super::{MAX_BAD_LINES, Match, Options};
use crate::error::Result;
use crate::files::lease::Window;
use crate::messages::message::{self, Line, Outline};

/// The most matches that are built of a chunk: lines may be as short as a byte.
pub(super) const MOST_MATCHES: usize = 4096;

/// The most that is read on at a time for the end of a line.
const MOST_READ_ON: usize = 1 << 20;

/// What a chunk of a file holds. A line belongs to the chunk in which it begins.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub from: u64,
    pub to: u64,
    /// Line ends in `from..to`.
    pub line_ends: u64,
    /// Lines that begin here.
    pub lines: u64,
    pub matched: u64,
    /// `line` is the number of line ends between `from` and the match.
    pub matches: Vec<Match>,
    pub bad_lines: u64,
    /// The first bad lines, by the line ends between `from` and them.
    pub first_bad_lines: Vec<u64>,
    /// Set by the chunk that holds the beginning of the file's last line.
    pub tail: Option<Tail>,
}

impl Chunk {
    /// Whether it holds more than is to be kept at once; what is found after that is not noted.
    pub fn is_overfull(&self) -> bool {
        self.matches.len() > MOST_MATCHES
    }
}

/// The end of the file, or the beginning of its torn last line.
#[derive(Debug)]
pub(super) struct Tail {
    pub offset: u64,
    pub line_ends: u64,
    pub torn: bool,
}

/// What one thread keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Worker {
    buffer: Vec<u8>,
    pub memory: Memory,
}

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

impl Worker {
    /// Room for `size` bytes to read into.
    pub fn buffer(&mut self, size: usize) -> &mut [u8] {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        &mut self.buffer[..size]
    }

    /// Judges the lines that begin in `from..to`.
    pub fn scan(&mut self, round: &Round<'_>, from: u64, to: u64) -> Result<Chunk> {
        let mut chunk = Chunk { from, to, ..Chunk::default() };
        // The byte before tells whether a line begins at `from`.
        let lead = usize::from(from > 0);
        let base = from - lead as u64;
        let size = lead + (to - from) as usize;
        let mut loaded = Loaded::new(round, base, size, std::mem::take(&mut self.buffer));
        let long = loaded.judge(lead, size, &mut self.memory, &mut chunk);
        let Loaded { buffer, window, .. } = loaded;
        // a long line may take seconds, and nobody is to wait for them
        drop(window);
        self.buffer = buffer;
        if self.buffer.len() > size.max(1 << 20) {
            self.buffer.truncate(size);
            self.buffer.shrink_to_fit();
        }
        if let Some(last) = long?.filter(|_| !chunk.is_overfull()) {
            long::judge(self, round, base + last as u64, &mut chunk)?;
        }
        Ok(chunk)
    }
}

/// The bytes of a file from `base` on, as far as they are looked at.
struct Loaded<'r> {
    round: &'r Round<'r>,
    base: u64,
    /// They are mapped where that can be done, and else read.
    window: Option<Window<'r>>,
    buffer: Vec<u8>,
    /// How many there are.
    count: usize,
}

impl<'r> Loaded<'r> {
    fn new(round: &'r Round<'r>, base: u64, size: usize, buffer: Vec<u8>) -> Self {
        // The last line may go on; what is not looked at costs nothing.
        let most = size + LONG_LINE + 2 * MOST_READ_ON;
        let window = round.lease.and_then(|lease| lease.window(base, most));
        Self { round, base, window, buffer, count: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.window.as_deref().unwrap_or(&self.buffer)[..self.count]
    }

    /// Loads up to `size` bytes; fewer only at the end of the file.
    fn load(&mut self, size: usize) -> Result<()> {
        if let Some(window) = &self.window {
            self.count = window.len().min(size);
            return Ok(());
        }
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let Round { file, path, .. } = *self.round;
        let place = self.base + self.count as u64;
        self.count += read_full(file, path, place, &mut self.buffer[self.count..size])?;
        Ok(())
    }

    /// Judges the whole lines, up to a long last one, whose beginning is given.
    fn judge(
        &mut self,
        lead: usize,
        size: usize,
        memory: &mut Memory,
        chunk: &mut Chunk,
    ) -> Result<Option<usize>> {
        let (round, base) = (self.round, self.base);
        let hole = round.finder.json && next_data(round.file, chunk.from) >= chunk.to;
        self.load(if hole { lead } else { size })?;
        let mut start = 0;
        if lead > 0 {
            match memchr(b'\n', self.bytes()) {
                Some(end) => start = end + 1,
                None => return Ok(None),
            }
        }
        if hole {
            self.load(size)?;
        }
        if start > lead {
            chunk.line_ends += 1;
        }
        let own = self.count;
        let mut at_end = base + own as u64 >= round.end || own < size;
        if !at_end && start < own {
            at_end = self.finish_line(start)?;
        }
        let mut long = None;
        if self.count - start > LONG_LINE {
            let last = memrchr(b'\n', &self.bytes()[start..]).map_or(start, |end| start + end + 1);
            if self.count - last > LONG_LINE {
                (long, self.count) = (Some(last), last);
            }
        }
        let text = self.bytes();
        let mut lines = Lines {
            round,
            text: &text[start..],
            offset: base + start as u64,
            skipped_ends: chunk.line_ends,
            memory,
            chunk,
        };
        lines.look(at_end && long.is_none());
        // The end of the last line may lie beyond this chunk.
        let beyond = text.len() > own && text.ends_with(b"\n");
        chunk.line_ends -= u64::from(beyond);
        let offset = base + text.len() as u64;
        let last = offset >= chunk.to && chunk.to >= round.end;
        if at_end && long.is_none() && chunk.tail.is_none() && last {
            chunk.tail = Some(Tail { offset, line_ends: chunk.line_ends, torn: false });
        }
        Ok(long)
    }

    /// Goes on to the end of the last line, unless it is long; `true` at the end of the file.
    fn finish_line(&mut self, start: usize) -> Result<bool> {
        if self.bytes().ends_with(b"\n") {
            return Ok(false);
        }
        let mut step = 8 * 1024;
        let line = memrchr(b'\n', &self.bytes()[start..]).map_or(start, |end| start + end + 1);
        while self.count - line <= LONG_LINE {
            let before = self.count;
            let left = self.round.end - (self.base + before as u64);
            let size = (step as u64).min(left) as usize;
            self.load(before + size)?;
            if let Some(end) = memchr(b'\n', &self.bytes()[before..]) {
                self.count = before + end + 1;
                return Ok(false);
            }
            if self.count < before + size || self.base + self.count as u64 >= self.round.end {
                return Ok(true);
            }
            step = (step * 2).min(MOST_READ_ON);
        }
        Ok(false)
    }
}

/// The whole lines of a chunk.
struct Lines<'l, 'r> {
    round: &'l Round<'r>,
    text: &'l [u8],
    offset: u64,
    /// Line ends in the chunk before `text`.
    skipped_ends: u64,
    memory: &'l mut Memory,
    chunk: &'l mut Chunk,
}

impl Lines<'_, '_> {
    fn look(&mut self, at_end: bool) {
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
