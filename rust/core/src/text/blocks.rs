//! Fast reader of plain Markdown blocks, by how their lines begin.
//!
//! Most of a note is paragraphs, tables, headings of plain words, fenced code and tags, one behind
//! the other, and of these only the boundaries matter: a parser that also looks at all inside them
//! takes six times as long. So what is surely such a block is read here. Of anything else, up to
//! the next boundary that is one whatever stands before it, the parser is asked.
//!
//! Nothing here is by guess: a line that might be two things makes its block one for the parser,
//! and a test holds that both read any text alike.

use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

/// A block of the document itself, in no other block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TopLevelBlock {
    /// A paragraph, a table, tags, a comment, or a rule.
    Text,
    /// A heading, its level and its words.
    Heading(u8, String),
    /// Code between fences: from the first to the end of the last.
    Code(Range<usize>),
}

/// A line without what ends it, and where the next one begins.
struct SourceLine<'t> {
    bytes: &'t [u8],
    next: usize,
}

impl<'t> SourceLine<'t> {
    /// Returns the line at `at`; none behind the last, and none where a `\r` alone ends it, which
    /// not every block takes for an end.
    fn at(bytes: &'t [u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let (end, ending) = match memchr2(b'\n', b'\r', rest) {
            None => (rest.len(), 0),
            Some(end) if rest[end] == b'\n' => (end, 1),
            Some(end) if rest.get(end + 1) == Some(&b'\n') => (end, 2),
            Some(_) => return None,
        };
        Some(Self { bytes: &rest[..end], next: at + end + ending })
    }

    /// Returns the line without the white space it begins with.
    fn bare(&self) -> &'t [u8] {
        let margin = self.bytes.iter().take_while(|&&byte| is_white(byte)).count();
        &self.bytes[margin..]
    }
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

/// What a line is by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// Text, whatever stands above it.
    Text,
    /// Text too, unless it is the second line of a table.
    Pipe,
    /// A line of a table that no cell is in, as the second one is.
    Delimiter,
    /// Text, or a tag that begins a block of its own.
    Inline,
    /// A tag that begins a block up to the next empty line.
    Tag,
    /// A heading.
    Heading,
    /// A fence of backticks.
    Fence,
    /// The beginning of a comment.
    Comment,
    /// Any of several things.
    Unsure,
}

/// Tags that begin a block wherever they stand; of all that do, those that people write.
const TAGS: [&[u8]; 16] = [
    b"dd", b"details", b"div", b"dl", b"dt", b"li", b"ol", b"p", b"summary", b"table", b"tbody",
    b"td", b"th", b"thead", b"tr", b"ul",
];
/// Tags that never interrupt a text.
const INLINE: [&[u8]; 12] =
    [b"a", b"b", b"br", b"code", b"em", b"i", b"img", b"kbd", b"span", b"strong", b"sub", b"sup"];

impl LineKind {
    /// Tells the kind of a line without its margin.
    fn of(bare: &[u8]) -> Self {
        let Some(&first) = bare.first() else { return Self::Unsure };
        let run = || bare.iter().take_while(|&&byte| byte == first).count();
        let text = |is_text: bool| if is_text { Self::Text } else { Self::Unsure };
        let word = |at: usize| bare.get(at).is_some_and(u8::is_ascii_alphanumeric);
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Self::Text,
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'"' | b'\'' | b'\\' | b'/' | b'!' | b'&'
            | b'$' | b'%' | b',' | b'.' | b';' | b'?' | b'@' | b'^' => Self::Text,
            b'|' | b':' => {
                let is_empty = |&byte: &u8| is_white(byte) || matches!(byte, b'|' | b':' | b'-');
                if bare.iter().all(is_empty) { Self::Delimiter } else { Self::Pipe }
            }
            b'#' => match (run(), bare.get(run())) {
                (1..=6, Some(b' ')) => Self::Heading,
                (_, next) => text(next.is_some_and(|&next| !is_white(next))),
            },
            b'`' if run() < 3 => Self::Text,
            b'`' => match memchr(b'`', &bare[run()..]) {
                None => Self::Fence,
                Some(_) => Self::Unsure,
            },
            // emphasis, which is no list and no rule
            b'*' | b'_' => text(run() < 3 && bare.get(run()).is_some_and(|&next| !is_white(next))),
            b'-' | b'+' => text(word(1)),
            b'0'..=b'9' => {
                let digits = bare.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let ends = |at: usize| bare.get(at).is_none_or(|&byte| is_white(byte));
                text(!matches!(bare.get(digits), Some(b'.' | b')')) || !ends(digits + 1))
            }
            b'<' => Self::of_tag(&bare[1..]),
            _ => Self::Unsure,
        }
    }

    fn of_tag(tag: &[u8]) -> Self {
        if tag.starts_with(b"!--") {
            return Self::Comment;
        }
        let tag = tag.strip_prefix(b"/").unwrap_or(tag);
        let length = tag.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (name, rest) = tag.split_at(length);
        let is_one_of = |names: &[&[u8]]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
        let ends = matches!(rest, [] | [b' ' | b'\t' | b'>', ..] | [b'/', b'>', ..]);
        if is_one_of(&INLINE) {
            Self::Inline
        } else if ends && is_one_of(&TAGS) {
            Self::Tag
        } else {
            Self::Unsure
        }
    }
}

/// Returns where the first line behind `at` begins that is not empty.
pub(super) fn behind_empty(text: &str, mut at: usize) -> usize {
    while let Some(line) = SourceLine::at(text.as_bytes(), at).filter(|line| line.bare().is_empty())
    {
        at = line.next;
    }
    at
}

/// Reads the block that begins with the line at `at`, where no other is open, and says where the
/// next one begins; none if it may be something else than is told here.
pub(super) fn plain(text: &str, at: usize) -> Option<(TopLevelBlock, usize)> {
    let bytes = text.as_bytes();
    let line = SourceLine::at(bytes, at)?;
    let end = match LineKind::of(line.bytes) {
        LineKind::Text | LineKind::Pipe | LineKind::Inline => paragraph(bytes, at)?,
        LineKind::Tag => tags(bytes, line.next)?,
        // it goes on over empty lines, and has the rest of its last line
        LineKind::Comment => SourceLine::at(bytes, at + memmem::find(&bytes[at..], b"-->")?)?.next,
        LineKind::Heading => {
            let level = line.bytes.iter().take_while(|&&byte| byte == b'#').count();
            let words = words(&text[at + level..at + line.bytes.len()])?;
            return Some((TopLevelBlock::Heading(level as u8, words), line.next));
        }
        LineKind::Fence => {
            let (end, next) = fence(bytes, at, &line)?;
            return Some((TopLevelBlock::Code(at..end), next));
        }
        LineKind::Unsure if is_rule(line.bytes) => line.next,
        LineKind::Unsure | LineKind::Delimiter => return None,
    };
    Some((TopLevelBlock::Text, end))
}

fn is_rule(line: &[u8]) -> bool {
    let behind = line.iter().rev().take_while(|byte| b" \t".contains(byte)).count();
    let line = &line[..line.len() - behind];
    line.len() >= 3 && matches!(line[0], b'-' | b'*' | b'_') && line.iter().all(|&b| b == line[0])
}

/// Returns where a paragraph or table ends that begins at `at`.
fn paragraph(bytes: &[u8], at: usize) -> Option<usize> {
    let first = SourceLine::at(bytes, at)?;
    // a whole paragraph may be the target of a link, and then is none
    let is_target = |line: &[u8]| first.bytes[0] == b'[' && memmem::find(line, b"]:").is_some();
    if is_target(first.bytes) {
        return None;
    }
    let is_inline = LineKind::of(first.bytes) == LineKind::Inline;
    let mut next = first.next;
    for row in 1.. {
        if next == bytes.len() {
            break;
        }
        let line = SourceLine::at(bytes, next)?;
        let bare = line.bare();
        if bare.is_empty() {
            // other white space goes on with it
            return line.bytes.iter().all(|byte| matches!(byte, b' ' | b'\t')).then_some(line.next);
        }
        let at_margin = bare.len() == line.bytes.len();
        match LineKind::of(bare) {
            LineKind::Text | LineKind::Pipe => {}
            LineKind::Delimiter if row == 1 && bare[0] == b'|' && first.bytes[0] == b'|' => {}
            // below a tag it may belong to what the tag begins
            _ if is_inline => return None,
            LineKind::Inline => {}
            LineKind::Heading | LineKind::Fence | LineKind::Tag | LineKind::Comment
                if at_margin =>
            {
                return Some(next);
            }
            _ => return None,
        }
        // cells that are missing are counted, and there is an end to that
        if is_target(line.bytes) || first.bytes[0] == b'|' && row * first.bytes.len() > 1 << 17 {
            return None;
        }
        next = line.next;
    }
    Some(next)
}

/// Returns where a block of tags ends, with the empty line behind it.
fn tags(bytes: &[u8], mut next: usize) -> Option<usize> {
    while next < bytes.len() {
        let line = SourceLine::at(bytes, next)?;
        next = line.next;
        if line.bare().is_empty() {
            break;
        }
    }
    Some(next)
}

/// Returns where the code that a fence at `at` opens ends, and where the line behind it begins.
fn fence(bytes: &[u8], at: usize, opening: &SourceLine<'_>) -> Option<(usize, usize)> {
    let ticks = opening.bytes.iter().take_while(|&&byte| byte == b'`').count();
    let mut next = opening.next.max(at + 1);
    loop {
        let line = SourceLine::at(bytes, next)?;
        let margin = line.bytes.iter().take_while(|&&byte| byte == b' ').count();
        let found = line.bytes[margin..].iter().take_while(|&&byte| byte == b'`').count();
        let rest = &line.bytes[margin + found..];
        if margin < 4 && found >= ticks && rest.iter().all(|&byte| byte == b' ') {
            return Some((next + line.bytes.len(), line.next));
        }
        next = line.next;
    }
}

/// Returns the words of a heading in which nothing but letters, digits and such stands.
fn words(text: &str) -> Option<String> {
    let text = text.trim_ascii();
    let bytes = text.as_bytes();
    // what ends a heading may be `#` as well
    if text.is_empty() || text.ends_with(['#', '\\']) {
        return None;
    }
    let mut words = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'*' | b'`' | b'[' | b']' | b'<' | 0..0x20 | 0x7f => return None,
            b'&' if bytes.get(at + 1) != Some(&b' ') => return None,
            b'\\' if bytes[at + 1].is_ascii_punctuation() => {
                words.push_str(&text[from..at]);
                from = at + 1;
                at += 1;
            }
            b'_' => {
                let run = bytes[at..].iter().take_while(|&&byte| byte == b'_').count();
                let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
                if at == 0 || !is_word(at - 1) || !is_word(at + run) {
                    return None;
                }
                at += run - 1;
            }
            _ => {}
        }
        at += 1;
    }
    words.push_str(&text[from..]);
    Some(words)
}

/// Returns the first boundary behind the line at `at` that is one whatever stands before it: a line
/// at the margin below an empty one, which no list or quote goes on with.
///
/// Code between fences and some tags go on, so where any may have begun, it is the end of the text.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut next, mut below_empty) = (at, false);
    while next < bytes.len() {
        let end = memchr(b'\n', &bytes[next..]).map_or(bytes.len(), |end| next + end + 1);
        let line = bytes[next..end].trim_ascii_end();
        if memchr(b'\r', line).is_some() {
            // one alone may end a line as well, and any of these marks may stand behind it
            break;
        }
        let sure = !matches!(LineKind::of(line), LineKind::Unsure | LineKind::Delimiter);
        if below_empty && sure {
            return next;
        }
        below_empty = bytes[next..end].iter().all(|byte| b" \t\r\n".contains(byte));
        let is_margin = |byte: &&u8| is_white(**byte) || b">-+*0123456789.)".contains(*byte);
        let bare = &line[line.iter().take_while(is_margin).count()..];
        let raw = ["!", "?", "pre", "script", "style", "textarea"];
        // behind a `\r` alone any may begin
        let opens = memchr(b'\r', bare).is_some()
            || match bare {
                [b'<', tag @ ..] => raw.iter().any(|name| {
                    tag.get(..name.len())
                        .is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
                }),
                _ => bare.starts_with(b"```") || bare.starts_with(b"~~~"),
            };
        if opens {
            break;
        }
        next = end;
    }
    bytes.len()
}
