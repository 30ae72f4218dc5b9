//! Markdown → sections: a heading with the text up to the next heading, or a file's preamble.
//!
//! Block structure is CommonMark's (crate `pulldown-cmark`): a `#` in a code block, a comment or
//! a list is no heading. Only headings of the document itself open a section; one inside a quote
//! or a list item belongs to the text around it. Spans are byte offsets into the file and cover
//! it exactly once; lines are computed on demand.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::text::blocks::{self, Block};
use crate::text::marks::{self, Marks};

/// Stands between the headings of a trail; no heading contains it.
pub const TRAIL: char = '\u{1f}';

/// One section of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Bytes of the file, the heading's own line included.
    pub span: Range<usize>,
    /// Where the text below the heading begins.
    pub body: usize,
    /// 1 to 6, or 0 for a preamble.
    pub level: u8,
    /// The heading as plain text, empty for a preamble.
    pub heading: String,
    /// The enclosing section, as an index into [`Note::sections`]; always an earlier one.
    pub parent: Option<usize>,
    /// What the section's leading lines say about it.
    pub marks: Marks,
}

/// A parsed note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// In file order; their spans cover the file exactly once. Empty for an empty file.
    pub sections: Vec<Section>,
    /// What the front matter says about the whole note.
    pub front: Marks,
    /// Code blocks, in file order.
    pub code: Vec<Range<usize>>,
    /// Where the blocks of the document itself begin: the borders at which text may be split.
    pub breaks: Vec<usize>,
    /// Where the items of its lists begin; those of a list within a list do not count.
    pub items: Vec<usize>,
}

/// Longest heading, in bytes: every section below repeats it. What is longer is text as well.
pub const LONGEST_HEADING: usize = 1000;

impl Note {
    /// Returns the headings from the outermost down to the section's own.
    pub fn trail(&self, section: usize) -> Vec<&str> {
        let mut trail = Vec::new();
        let mut next = Some(section);
        while let Some(at) = next {
            let section = &self.sections[at];
            if section.level > 0 {
                trail.push(section.heading.as_str());
            }
            next = section.parent;
        }
        trail.reverse();
        trail
    }

    /// Returns the title: the front matter's, else the first top-level heading, else none.
    pub fn title(&self) -> Option<&str> {
        self.front
            .title
            .as_deref()
            .or_else(|| self.sections.iter().find(|s| s.level == 1).map(|s| s.heading.as_str()))
    }

    /// Cuts a section into its list items and other blocks; a heading alone is none of them.
    pub fn units(&self, section: usize, text: &str) -> Vec<Range<usize>> {
        let Section { span, body, .. } = &self.sections[section];
        let inside = |borders: &[usize]| -> Vec<usize> {
            let first = borders.partition_point(|&at| at < *body);
            borders[first..].iter().copied().take_while(|&at| at < span.end).collect()
        };
        let mut borders = inside(&self.breaks);
        borders.extend(inside(&self.items));
        borders.sort_unstable();
        borders.dedup();
        let lead = borders.first().map_or(span.end, |&first| first);
        let mut units = Vec::with_capacity(borders.len() + 1);
        if !text[*body..lead].trim().is_empty() {
            units.push(*body..lead);
        }
        let ends = borders.iter().skip(1).copied().chain([span.end]);
        units.extend(borders.iter().zip(ends).map(|(&start, end)| start..end));
        units
    }

    /// Cuts a section into spans of about `limit` characters, at block borders, else at line ends.
    ///
    /// The spans cover the section exactly once. A line is never cut.
    pub fn split(&self, section: usize, text: &str, limit: usize) -> Vec<Range<usize>> {
        let span = self.sections[section].span.clone();
        if span.len() <= limit {
            return vec![span];
        }
        // a Chinese character takes three bytes
        let limit = limit * span.len() / text[span.clone()].chars().count().max(1);
        if span.len() <= limit + limit / 2 {
            return vec![span];
        }
        let first = self.breaks.partition_point(|&at| at <= self.sections[section].body);
        let mut parts = Vec::new();
        let mut start = span.start;
        let mut last_break = start;
        let borders = self.breaks[first..].iter().copied().take_while(|&at| at < span.end);
        for border in borders.chain([span.end]) {
            while border - start > limit {
                // the block that ends at `border` is itself too long when nothing precedes it
                let cut = if last_break > start {
                    last_break
                } else {
                    line_end_after(text, start + limit, border)
                };
                if cut >= border {
                    break;
                }
                parts.push(start..cut);
                start = cut;
            }
            last_break = border;
        }
        // a short rest reads better with what precedes it
        match parts.last_mut() {
            Some(previous) if span.end - start < limit / 4 => previous.end = span.end,
            _ => parts.push(start..span.end),
        }
        parts
    }
}

/// What stands between the headings of a trail must be in none of them.
fn is_trail(c: char) -> bool {
    c == TRAIL
}

fn line_end_after(text: &str, from: usize, end: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[from..end]).map_or(end, |at| from + at + 1)
}

/// Returns the bytes of a file as text of the same length, so that spans stay true.
///
/// Each byte that is not UTF-8 becomes one SUB character, which no word contains.
pub fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(std::iter::repeat_n('\u{1a}', chunk.invalid().len()));
            }
            Cow::Owned(text)
        }
    }
}

/// Splits a note into its sections.
///
/// Never fails: whatever the text, every byte belongs to exactly one section.
///
/// ```
/// let text = "Intro\n\n# One\ntext\n\n```\n# no heading\n```\nTwo\n---\nmore\n";
/// let note = commonplace_core::text::sections::parse(text);
/// let headings: Vec<_> = note.sections.iter().map(|s| s.heading.as_str()).collect();
/// assert_eq!(headings, ["", "One", "Two"]);
/// ```
pub fn parse(text: &str) -> Note {
    if text.is_empty() {
        return Note::default();
    }
    let (front, start) = front(text);
    cut(text, start..text.len(), front, Some(preamble(text, start)))
}

fn preamble(text: &str, start: usize) -> Section {
    Section {
        span: 0..text.len(),
        body: start,
        level: 0,
        heading: String::new(),
        parent: None,
        marks: Marks::default(),
    }
}

/// Returns what the front matter of a note says, and where the text behind it begins.
pub fn front(text: &str) -> (Marks, usize) {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut front = Marks::default();
    let start = bom + marks::front_matter(&text[bom..], &mut front);
    (front, start)
}

/// Splits a part of a note that begins with a heading of the document itself: what stands before
/// such a heading says nothing of the blocks behind it.
///
/// The spans are those in the note, and parents are sought in the part alone.
pub fn parse_part(text: &str, part: Range<usize>, front: Marks) -> Note {
    cut(text, part, front, None)
}

fn cut(text: &str, part: Range<usize>, front: Marks, preamble: Option<Section>) -> Note {
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
}

impl<'t> Outline<'t> {
    /// Begins a part of a note, with its preamble if there may be one.
    fn new(text: &'t str, part: &Range<usize>, preamble: Option<Section>) -> Self {
        let mut note = Note::default();
        // room as most notes need it: growing by doubling was a twentieth of reading a long one
        note.sections.reserve(2 + part.len() / 512);
        note.breaks.reserve(8 + part.len() / 128);
        note.sections.extend(preamble);
        Self { text, note, links: false }
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
        let Some(section) = self.note.sections.last_mut() else { return };
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

/// Returns the line, counted from 1, that holds the byte at `offset`.
pub fn line_of(bytes: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &bytes[..offset.min(bytes.len())]).count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
