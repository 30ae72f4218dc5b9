//! Scan of the whole lines of a loaded chunk: candidates, line counts, bad lines.

use memchr::{memchr, memchr_iter, memrchr};

use super::chunk_result::{ChunkResult, FileTail};
use super::job::ScanJob;
use super::line_matcher::{Scratch, Verdict};
use super::report::{MAX_BAD_LINES, Match};
use crate::messages::message::{self, ParsedLine};

/// Scan of the whole lines of a chunk.
pub(super) struct LineScan<'l, 'r> {
    pub job: &'l ScanJob<'r>,
    pub text: &'l [u8],
    pub offset: u64,
    /// Line ends in the chunk before `text`.
    pub skipped_ends: u64,
    pub scratch: &'l mut Scratch,
    pub chunk: &'l mut ChunkResult,
}

impl LineScan<'_, '_> {
    /// Matches them, and notes in the chunk what is found.
    pub fn look(&mut self, at_end: bool) {
        let terminated = memrchr(b'\n', self.text).map_or(0, |end| end + 1);
        let matcher = self.job.matcher;
        if at_end && matcher.json {
            self.set_apart_torn_tail(terminated);
        }
        let mut seen =
            LineCounter { text: self.text, json: matcher.json, ..LineCounter::default() };
        self.match_candidates(&mut seen);
        let unended = seen.start < self.text.len();
        if unended {
            seen.line(self.text.len());
        }
        let LineCounter { ends, mut bad, .. } = seen;
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
            && matches!(message::parse_lazy(&self.text[terminated..]), ParsedLine::Bad);
        if torn || terminated < self.text.len() {
            let before = memchr_iter(b'\n', &self.text[..terminated]).count() as u64;
            let length = if torn { terminated } else { self.text.len() };
            self.chunk.tail = Some(FileTail {
                offset: self.offset + length as u64,
                line_ends: self.skipped_ends + before,
                torn,
            });
            self.text = &self.text[..length];
        }
    }

    fn match_candidates(&mut self, seen: &mut LineCounter<'_>) {
        let ScanJob { matcher, build, path, .. } = *self.job;
        let text = self.text;
        // What is known to be unsaid ends here.
        let mut clear = 0;
        let mut from = 0;
        let mut candidates = matcher.candidates(text);
        while let Some(at) = candidates.next(from, self.scratch, |end| seen.line_end(end)) {
            let start = seen.start;
            let known = clear.max(start) - start;
            if matcher.can_skip_tool_strings()
                && let Some(beyond) = message::skip_tool_string(&text[start..], known, at - start)
            {
                clear = start + beyond;
                from = clear;
                continue;
            }
            let stop = memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            let line = &text[start..stop];
            from = stop;
            match matcher.match_line(path, line, at - start, build, self.scratch) {
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
                    if self.chunk.has_too_many_matches() {
                        return;
                    }
                }
            }
        }
    }
}

/// Counter of the lines, and of bad ones, up to the position of a scan.
#[derive(Default)]
struct LineCounter<'t> {
    text: &'t [u8],
    json: bool,
    /// Where the current line starts, and the line ends before it.
    start: usize,
    ends: u64,
    /// Bad lines, by the line ends before them.
    bad: Vec<u64>,
}

impl LineCounter<'_> {
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
        if self.json && !looks_whole && matches!(message::parse_lazy(line), ParsedLine::Bad) {
            self.bad.push(self.ends);
        }
    }
}
