//! Parser of Markdown notes: CommonMark blocks to sections.
//!
//! The block structure is CommonMark's (crate `pulldown-cmark`): a `#` in a code block, a comment or
//! a list is no heading. Most blocks are told by how their lines begin (`blocks`), which is faster;
//! the crate's parser reads the rest.

use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::error::{Interrupt, Result, wait_for};
use crate::memory_limit::trim_heap;
use crate::text::blocks::{self, TopLevelBlock};
use crate::text::metadata::{self, Metadata};
use crate::text::section::{LONGEST_HEADING, MAX_SECTIONS, Note, Section, TRAIL};

/// Bytes of a note from which on parsing takes long.
const LARGE: usize = 256 << 10;

/// Splits a note into its sections.
///
/// Never fails: whatever the text, every byte belongs to exactly one section.
///
/// ```
/// let text = "Intro\n\n# One\ntext\n\n```\n# no heading\n```\nTwo\n---\nmore\n";
/// let note = commonplace_core::text::parser::parse(text);
/// let headings: Vec<_> = note.sections.iter().map(|s| s.heading.as_str()).collect();
/// assert_eq!(headings, ["", "One", "Two"]);
/// ```
pub fn parse(text: &str) -> Note {
    if text.is_empty() {
        return Note::default();
    }
    let (front, start) = front(text);
    parse_blocks(text, start..text.len(), front, Some(preamble(text, start)))
}

/// Does the same, unless the caller asks to stop meanwhile.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn parse_unless(text: &str, interrupt: Interrupt<'_>) -> Result<Note> {
    if text.is_empty() {
        return Ok(Note::default());
    }
    let (front, start) = front(text);
    parse_blocks_unless(text, start..text.len(), front, Some(preamble(text, start)), interrupt)
}

fn preamble(text: &str, start: usize) -> Section {
    Section {
        span: 0..text.len(),
        body: start,
        level: 0,
        heading: String::new(),
        parent: None,
        metadata: Metadata::default(),
    }
}

/// Returns what the front matter of a note says, and where the text behind it begins.
pub fn front(text: &str) -> (Metadata, usize) {
    metadata::front_metadata(text).unwrap_or_else(|| {
        let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        (Metadata::default(), bom)
    })
}

/// Splits a part of a note that begins with a heading of the document itself: what stands before
/// such a heading says nothing of the blocks behind it.
///
/// The spans are those in the note, and parents are looked for in the part alone.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn parse_part(
    text: &str,
    part: Range<usize>,
    front: Metadata,
    interrupt: Interrupt<'_>,
) -> Result<Note> {
    parse_blocks_unless(text, part, front, None, interrupt)
}

/// Parses a part of a note, unless the caller asks to stop meanwhile.
///
/// The parser cannot be stopped, and ten megabytes of list items take it a second. So a large part
/// is parsed by another thread, which ends by itself when nobody waits for it any more.
fn parse_blocks_unless(
    text: &str,
    part: Range<usize>,
    front: Metadata,
    preamble: Option<Section>,
    interrupt: Interrupt<'_>,
) -> Result<Note> {
    if part.len() < LARGE {
        return Ok(parse_blocks(text, part, front, preamble));
    }
    let (done, result) = channel();
    let (own, of, metadata) = (text.to_owned(), part.clone(), front.clone());
    let first = preamble.clone();
    let started = Builder::new().spawn(move || {
        let note = parse_blocks(&own, of, metadata, first);
        drop(own);
        trim_heap();
        // fails when nobody waits
        let _ = done.send(note);
    });
    let here = || parse_blocks(text, part.clone(), front.clone(), preamble.clone());
    if started.is_err() {
        // no thread can be started
        return Ok(here());
    }
    wait_for(interrupt, |slice| match result.recv_timeout(slice) {
        Err(RecvTimeoutError::Timeout) => None,
        // a panic of the thread is to show here
        done => Some(done.unwrap_or_else(|_| here())),
    })
}

/// Parses a part of a note; the part begins the note if there is a preamble, else with a heading.
fn parse_blocks(
    text: &str,
    part: Range<usize>,
    front: Metadata,
    preamble: Option<Section>,
) -> Note {
    let mut builder = NoteBuilder::new(text, &part, preamble.clone());
    let upto = &text[..part.end];
    let mut at = part.start;
    loop {
        at = blocks::behind_empty(upto, at);
        if at == part.end {
            break;
        }
        at = match blocks::plain(upto, at) {
            Some((block, end)) => {
                builder.add(block, at, end);
                end
            }
            None => {
                let end = blocks::boundary(upto, at);
                builder.read(at..end);
                end
            }
        };
    }
    // the words of a heading depend on what the note says elsewhere, if they link to it
    if builder.links && memchr::memmem::find(&text.as_bytes()[part.clone()], b"]:").is_some() {
        builder = NoteBuilder::new(text, &part, preamble);
        builder.read(part);
    }
    builder.note(front)
}

/// Builder of a note from its blocks, in file order.
struct NoteBuilder<'t> {
    text: &'t str,
    note: Note,
    /// Whether a heading may hold a link whose target stands elsewhere.
    links: bool,
    /// Whether there are so many sections that the last heading opened none.
    skips_headings: bool,
}

impl<'t> NoteBuilder<'t> {
    /// Begins a part of a note, with its preamble if there may be one.
    fn new(text: &'t str, part: &Range<usize>, preamble: Option<Section>) -> Self {
        let mut note = Note::default();
        // room as most notes need it: growing by doubling was a twentieth of reading a long one
        note.sections.reserve(2 + part.len() / 512);
        note.breaks.reserve(8 + part.len() / 128);
        note.sections.extend(preamble);
        Self { text, note, links: false, skips_headings: false }
    }

    /// Takes a block between two lines.
    fn add(&mut self, block: TopLevelBlock, at: usize, end: usize) {
        self.note.breaks.push(at);
        match block {
            TopLevelBlock::Text => {}
            TopLevelBlock::Heading(level, words) => {
                self.open(level, at, end);
                self.name(&words);
            }
            TopLevelBlock::Code(range) => self.note.code.push(range),
        }
    }

    /// Opens a section by its heading, whose last line ends at `body`.
    fn open(&mut self, level: u8, at: usize, body: usize) {
        let has_preamble = self.note.sections.first().is_some_and(|first| first.level == 0);
        self.skips_headings = self.note.sections.len() - usize::from(has_preamble) > MAX_SECTIONS;
        if self.skips_headings {
            return;
        }
        self.note.sections.push(Section {
            span: at..self.text.len(),
            body,
            level,
            heading: String::new(),
            parent: None,
            metadata: Metadata::default(),
        });
    }

    /// Names the section that was opened last.
    fn name(&mut self, words: &str) {
        let Some(section) = self.note.sections.last_mut().filter(|_| !self.skips_headings) else {
            return;
        };
        let words = words.trim();
        if words.len() > LONGEST_HEADING {
            section.body = section.span.start;
        }
        let cut = words.floor_char_boundary(LONGEST_HEADING);
        section.heading = words[..cut].replace(is_trail, " ");
    }

    /// Reads a range of whole blocks with the CommonMark parser.
    fn read(&mut self, part: Range<usize>) {
        let (text, start) = (self.text, part.start);
        let line = |at: usize| line_start(text, at).max(start);
        let mut depth = 0usize;
        let mut heading: Option<String> = None;
        let mut events = Parser::new_ext(&text[part], Options::ENABLE_TABLES).into_offset_iter();
        loop {
            // looked at where it lies: to move an event costs as much as to make it
            let next = events.next();
            let Some((event, range)) = &next else { break };
            let range = start + range.start..start + range.end;
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        self.note.breaks.push(line(range.start));
                        if let Tag::Heading { level, .. } = tag {
                            heading = Some(String::new());
                            self.links |= text[range.clone()].contains('[');
                            let body = heading_end(text, range.end);
                            self.open(*level as u8, line(range.start), body);
                        }
                    }
                    if depth == 1 && matches!(tag, Tag::Item) {
                        self.note.items.push(line(range.start));
                    }
                    if matches!(tag, Tag::CodeBlock(_)) {
                        self.note.code.push(range);
                    }
                    depth += 1;
                }
                Event::End(tag) => {
                    depth -= 1;
                    if depth == 0
                        && matches!(tag, TagEnd::Heading(_))
                        && let Some(words) = heading.take()
                    {
                        self.name(&words);
                    }
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(words);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(heading) = &mut heading {
                        heading.push(' ');
                    }
                }
                Event::Rule if depth == 0 => self.note.breaks.push(line(range.start)),
                _ => {}
            }
        }
    }

    /// Returns the whole note.
    fn note(self, front: Metadata) -> Note {
        Note { sections: close(self.note.sections, self.text), front, ..self.note }
    }
}

/// Ends each section where the next begins, finds its parent and reads its metadata.
fn close(mut sections: Vec<Section>, text: &str) -> Vec<Section> {
    for next in 1..sections.len() {
        sections[next - 1].span.end = sections[next].span.start;
    }
    // a byte order mark is no preamble
    if sections.len() > 1
        && sections[0].level == 0
        && text[sections[0].span.clone()].trim_start_matches('\u{feff}').is_empty()
    {
        sections.remove(0);
        sections[0].span.start = 0;
    }
    let mut trail: Vec<usize> = Vec::new();
    for at in 0..sections.len() {
        let level = sections[at].level;
        while trail.last().is_some_and(|&up| sections[up].level >= level) {
            trail.pop();
        }
        let section = &mut sections[at];
        section.parent = trail.last().copied().filter(|_| level > 0);
        section.body = section.body.min(section.span.end);
        section.metadata = metadata::leading_lines(&text[section.body..section.span.end]);
        if level > 0 {
            trail.push(at);
        }
    }
    sections
}

fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..at]).map_or(0, |end| end + 1)
}

/// Returns where the line that ends a heading is over; the parser's range may stop before it.
pub fn heading_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let from = if at > 0 && matches!(bytes[at - 1], b'\n' | b'\r') { at - 1 } else { at };
    match memchr::memchr2(b'\n', b'\r', &bytes[from..]) {
        Some(end) if bytes[from + end..].starts_with(b"\r\n") => from + end + 2,
        Some(end) => from + end + 1,
        None => bytes.len(),
    }
}

/// What stands between the headings of a trail must be in none of them.
fn is_trail(c: char) -> bool {
    c == TRAIL
}

#[cfg(test)]
mod tests;
