//! The blocks of a note, one after the other, and the sections that its headings open.
//!
//! Most blocks are told by how their lines begin (`blocks`); the parser reads the rest.

use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::error::{Interrupt, Result, wait_for};
use crate::memory;
use crate::text::blocks::{self, Block};
use crate::text::marks::{self, Marks};
use crate::text::sections::{LONGEST_HEADING, MAX_SECTIONS, Note, Section, TRAIL};

/// Bytes of a note from which on it takes long to cut it.
const LARGE: usize = 256 << 10;

/// Cuts a part of a note, unless the caller asks to stop meanwhile.
///
/// The parser cannot be stopped, and ten megabytes of list items take it a second. So a large part
/// is cut by another thread, which ends by itself when nobody waits for it any more.
pub(super) fn cut_unless(
    text: &str,
    part: Range<usize>,
    front: Marks,
    preamble: Option<Section>,
    interrupt: Interrupt<'_>,
) -> Result<Note> {
    if part.len() < LARGE {
        return Ok(cut(text, part, front, preamble));
    }
    let (done, result) = channel();
    let (own, of, marks, first) = (text.to_owned(), part.clone(), front.clone(), preamble.clone());
    let started = Builder::new().spawn(move || {
        let note = cut(&own, of, marks, first);
        drop(own);
        memory::give_back();
        // fails when nobody waits
        let _ = done.send(note);
    });
    let here = || cut(text, part.clone(), front.clone(), preamble.clone());
    if started.is_err() {
        // there are no more threads
        return Ok(here());
    }
    wait_for(interrupt, |slice| match result.recv_timeout(slice) {
        Err(RecvTimeoutError::Timeout) => None,
        // what it died of is to be known here
        done => Some(done.unwrap_or_else(|_| here())),
    })
}

/// Cuts a part of a note; the part begins the note if there is a preamble, else with a heading.
pub(super) fn cut(text: &str, part: Range<usize>, front: Marks, preamble: Option<Section>) -> Note {
    let mut outline = Outline::new(text, &part, preamble.clone());
    let upto = &text[..part.end];
    let mut at = part.start;
    loop {
        at = blocks::behind_empty(upto, at);
        if at == part.end {
            break;
        }
        at = match blocks::plain(upto, at) {
            Some((block, end)) => {
                outline.add(block, at, end);
                end
            }
            None => {
                let end = blocks::border(upto, at);
                outline.read(at..end);
                end
            }
        };
    }
    // the words of a heading depend on what the note says elsewhere, if they link to it
    if outline.links && memchr::memmem::find(&text.as_bytes()[part.clone()], b"]:").is_some() {
        outline = Outline::new(text, &part, preamble);
        outline.read(part);
    }
    outline.note(front)
}

/// A note as its blocks come.
struct Outline<'t> {
    text: &'t str,
    note: Note,
    /// Whether a heading may hold a link whose target stands elsewhere.
    links: bool,
    /// Whether there are so many sections that the last heading opened none.
    joins: bool,
}

impl<'t> Outline<'t> {
    /// Begins a part of a note, with its preamble if there may be one.
    fn new(text: &'t str, part: &Range<usize>, preamble: Option<Section>) -> Self {
        let mut note = Note::default();
        // room as most notes need it: growing by doubling was a twentieth of reading a long one
        note.sections.reserve(2 + part.len() / 512);
        note.breaks.reserve(8 + part.len() / 128);
        note.sections.extend(preamble);
        Self { text, note, links: false, joins: false }
    }

    /// Takes a block between two lines.
    fn add(&mut self, block: Block, at: usize, end: usize) {
        self.note.breaks.push(at);
        match block {
            Block::Text => {}
            Block::Heading(level, words) => {
                self.open(level, at, end);
                self.name(&words);
            }
            Block::Code(range) => self.note.code.push(range),
        }
    }

    /// Opens a section by its heading, whose last line ends at `body`.
    fn open(&mut self, level: u8, at: usize, body: usize) {
        let has_preamble = self.note.sections.first().is_some_and(|first| first.level == 0);
        self.joins = self.note.sections.len() - usize::from(has_preamble) > MAX_SECTIONS;
        if self.joins {
            return;
        }
        self.note.sections.push(Section {
            span: at..self.text.len(),
            body,
            level,
            heading: String::new(),
            parent: None,
            marks: Marks::default(),
        });
    }

    /// Names the section that was opened last.
    fn name(&mut self, words: &str) {
        let Some(section) = self.note.sections.last_mut().filter(|_| !self.joins) else { return };
        let words = words.trim();
        if words.len() > LONGEST_HEADING {
            section.body = section.span.start;
        }
        let cut = words.floor_char_boundary(LONGEST_HEADING);
        section.heading = words[..cut].replace(is_trail, " ");
    }

    /// Reads a stretch of whole blocks with the parser.
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
    fn note(self, front: Marks) -> Note {
        Note { sections: close(self.note.sections, self.text), front, ..self.note }
    }
}

/// Ends each section where the next begins, finds its parent and reads its marks.
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
        section.marks = marks::leading(&text[section.body..section.span.end]);
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::sections::{front, parse, preamble};

    /// The plain twin: the parser reads all of it.
    fn twin(text: &str) -> Note {
        if text.is_empty() {
            return Note::default();
        }
        let (front, start) = front(text);
        let part = start..text.len();
        let mut outline = Outline::new(text, &part, Some(preamble(text, start)));
        outline.read(part);
        outline.note(front)
    }

    /// Lines that are one thing alone and another where others stand around them.
    const LINES: [&str; 106] = [
        "",
        "",
        "",
        "",
        "",
        "",
        " ",
        "\t",
        "text",
        "more text",
        "Text *with* `code`",
        "é 数据",
        "# One",
        "## Two_words",
        "### a\\_b \\# c",
        "# *em*",
        "# [link]",
        "# [a](u)",
        "#",
        "####### 7",
        "# trailing #",
        "# C#",
        "#hash",
        "# &amp; &",
        "# A & B",
        "   # three",
        "    # four",
        "# _a_",
        "===",
        "---",
        "--",
        "***",
        "* * *",
        "___",
        "- - -",
        "-",
        "+",
        "*",
        "- item",
        "* item",
        "+ item",
        "1. one",
        "2. two",
        "1)",
        "1.5 text",
        "2024 text",
        "-x",
        "  - nested",
        "  text",
        "    text",
        "      text",
        "\ttext",
        "> quote",
        ">",
        "> - item",
        "> ```",
        "```",
        "```rust",
        "``` a`b",
        "````",
        "~~~",
        "  ```",
        "    ```",
        "``code``",
        "`code` text",
        "- ```",
        "  ~~~",
        "| a | b |",
        "|---|---|",
        "|---|",
        "| - | - |",
        "|",
        "||",
        "a | b",
        "--|--",
        ":-|-:",
        "|:-",
        "::: row",
        "| a \\| b |",
        "<div>",
        "</div>",
        "<dl> <dt>",
        "</dt> <dd>",
        "<span>",
        "<span>a</span>",
        "<a href=\"x\">",
        "<script>",
        "<script> x </script>",
        "<!-- c -->",
        "<!--",
        "-->",
        "<article>",
        "<pre>",
        "[a]: /url",
        "[a]:",
        "[a]",
        "\u{b}",
        "\u{c}",
        "\u{a0}",
        "\0",
        "___\u{c}",
        "# \u{a0}One",
        "> <!--",
        "<?",
        "?>",
        "<!-->",
    ];

    #[test]
    fn odd_ends_of_lines_are_what_they_are_to_the_parser() {
        for text in [
            // what a `\r` alone ends, with a mark behind it that goes on over empty lines
            "text\r<!-- c\n\n# no heading\n-->\n",
            "- a\r```\n\n# no heading\n",
            "#hash\r<textarea>\n\n# One\n",
            "a\n\n*\r<br>\n",
            "1) \n\n1)\r2024 text",
            // white space that makes no line empty
            "text\n\u{c}\nmore\n",
            "text\r\n\u{b}\n# One\n",
            "=\n\u{c}\n&",
            "___\u{c}\n</b>\n",
        ] {
            assert_eq!(parse(text), twin(text), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4000)
        })]

        #[test]
        fn blocks_are_what_the_parser_says(
            lines in prop::collection::vec((0..LINES.len(), 0..12u8), 0..24),
        ) {
            let ending =
                |kind| match kind { 0 => "\r\n", 1 => "\n\n", 2 => "", 3 => "\r", _ => "\n" };
            let text: String = lines.iter().flat_map(|&(at, end)| [LINES[at], ending(end)]).collect();
            prop_assert_eq!(parse(&text), twin(&text), "{:?}", text);
        }
    }
}
