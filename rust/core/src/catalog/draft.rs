//! What of a file goes to the index: notes give sections, transcripts give messages.
//!
//! A draft is one future document with its place in the file, its fields as text, and two hashes:
//! one of its own bytes, by which a hit is checked before it leaves, and one of all that was
//! indexed of it, by which a changed file is compared with what the index holds.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::catalog::rows::{DEFINES, Outline, REFERS};
use crate::error::{Interrupt, Result};
use crate::index::bm25f::Field;
use crate::messages::message::{self, Line, Message};
use crate::text::marks::{Marks, behind_meta};
use crate::text::sections::{self, Note, Section, TRAIL};
use crate::text::time;

/// Sections longer than about this many bytes are split for retrieval.
pub const PART: usize = 1000;

/// What kind of file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Markdown.
    Note,
    /// One JSON message a line.
    Transcript,
    /// Anything else: listed, never indexed.
    Other,
}

impl Kind {
    /// Tells the kind by the ending of the name.
    pub fn of(path: &str) -> Self {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Self::Note,
            "jsonl" => Self::Transcript,
            _ => Self::Other,
        }
    }
}

/// What of a transcript is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// What people and models said, and notes.
    #[default]
    Said,
    /// What went into and came out of tools.
    Tools,
}

/// A future document.
#[derive(Debug, Default)]
pub struct Draft<'a> {
    /// First byte in the file.
    pub start: u64,
    /// Bytes.
    pub length: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Hash of the bytes.
    pub hash: u64,
    /// Hash of everything that is indexed.
    pub key: u64,
    /// Headings from the outermost down, joined by [`TRAIL`].
    pub trail: String,
    /// Milliseconds since 1970.
    pub time: Option<i64>,
    /// `user`, `assistant`, …; empty for notes.
    pub role: String,
    /// The session of a message.
    pub session: String,
    /// The category of a section.
    pub category: String,
    /// What of its section concerns others.
    pub outline: Outline,
    /// What is indexed.
    pub fields: Vec<(Field, &'a str)>,
}

impl<'a> Draft<'a> {
    fn add(&mut self, field: Field, text: &'a str) {
        if !text.is_empty() {
            self.fields.push((field, text));
        }
    }

    fn seal(&mut self) {
        let mut hasher = Xxh3::new();
        for (field, text) in &self.fields {
            hasher.update(&[*field as u8]);
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(self.session.as_bytes());
        hasher.update(self.role.as_bytes());
        hasher.update(self.category.as_bytes());
        hasher.update(&self.time.unwrap_or(i64::MIN).to_le_bytes());
        self.key = hasher.digest();
    }
}

/// Drafts the sections of a note, in file order; long ones in several parts, and where the front
/// matter says `unit: item` each list item by itself.
///
/// Ends when `each` says that there is no use in going on. Returns the summary of the whole note,
/// if it gives one.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn note(
    path: &str,
    text: &str,
    interrupt: Interrupt<'_>,
    each: &mut dyn FnMut(Draft<'_>) -> bool,
) -> Result<Option<String>> {
    let note = sections::parse_unless(text, interrupt)?;
    let title = note.title().unwrap_or_default();
    let count = note.sections.len();
    each_of(path, text, &Cut { note: &note, count, title, above: &[], from: (0, 1) }, each);
    let first = note.sections.iter().take_while(|section| section.level <= 1);
    let front = note.front.summary.clone();
    Ok(front.or_else(|| first.filter_map(|s| s.marks.summary.clone()).next()))
}

/// Sections of a note, all of them or some, and what holds for them from outside.
#[derive(Debug)]
pub struct Cut<'a> {
    /// The sections are the first of these; what follows them may say how they are to be read.
    pub note: &'a Note,
    /// So many.
    pub count: usize,
    /// The title of the whole note.
    pub title: &'a str,
    /// Level and heading of the sections that are open where these begin, from the outermost down.
    pub above: &'a [(u8, String)],
    /// Where these begin: byte and line.
    pub from: (usize, u32),
}

impl<'a> Cut<'a> {
    /// Returns the headings from the outermost down to the section's own.
    pub fn trail(&self, at: usize) -> Vec<&'a str> {
        if self.above.is_empty() {
            return self.note.trail(at);
        }
        let up = |&at: &usize| self.note.sections[at].parent;
        let outermost = std::iter::successors(Some(at), up).last().unwrap_or(at);
        let level = self.note.sections[outermost].level;
        let above = self.above.iter().filter(|above| above.0 < level).map(|above| above.1.as_str());
        above.chain(self.note.trail(at)).collect()
    }
}

/// Drafts sections of a note, until `each` says that there is no use in going on.
pub fn each_of(path: &str, text: &str, cut: &Cut<'_>, each: &mut dyn FnMut(Draft<'_>) -> bool) {
    let &Cut { note, title, from: (mut counted, mut line), .. } = cut;
    let place = path.strip_suffix(".md").unwrap_or(path);
    let mut code = note.code.iter().peekable();
    for at in 0..cut.count {
        let section = &note.sections[at];
        let headings = cut.trail(at);
        // the title is most often a heading too, and would count twice
        let title = if headings.contains(&title) { "" } else { title };
        let trail = headings.join(TRAIL.encode_utf8(&mut [0; 4]));
        let (keywords, category) = told(note, at);
        // what it says holds for the sections below, and is found with them
        let below = note.sections.get(at + 1).is_some_and(|next| next.parent == Some(at));
        if below && behind_meta(&text[section.span.clone()]) == Some("") {
            continue;
        }
        let by_item = note.front.by_item;
        let spans = if by_item { note.units(at, text) } else { note.split(at, text, PART) };
        let mut outline = outline(section, text);
        for span in spans {
            let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[counted..span.start]).count();
            line += lines as u32;
            counted = span.start;
            let mut draft = Draft {
                start: span.start as u64,
                length: span.len() as u32,
                line,
                hash: xxh3_64(&text.as_bytes()[span.clone()]),
                trail: trail.clone(),
                time: section.marks.time.or(note.front.time),
                category: category.to_owned(),
                outline: std::mem::take(&mut outline),
                ..Draft::default()
            };
            draft.add(Field::Path, place);
            draft.add(Field::Title, title);
            draft.add(Field::Heading, &trail);
            draft.add(Field::Keywords, &keywords);
            let mut from = span.start.max(section.body);
            while let Some(block) = code.next_if(|block| block.start < span.end) {
                let end = block.end.min(span.end);
                draft.add(Field::Body, text.get(from..block.start).unwrap_or_default());
                draft.add(Field::Code, text.get(block.start.max(from)..end).unwrap_or_default());
                from = end;
            }
            draft.add(Field::Body, text.get(from..span.end).unwrap_or_default());
            draft.seal();
            if !each(draft) {
                return;
            }
        }
    }
}

/// Returns what of a section concerns others.
fn outline(section: &Section, text: &str) -> Outline {
    let defines = may_define(&text[section.span.clone()]);
    Outline {
        opens: 1,
        level: section.level,
        hands_down: u8::from(hands_down(section)),
        links: if may_refer(section, text) { REFERS } else { 0 }
            | if defines { DEFINES } else { 0 },
    }
}

/// Says whether a text may define a link that other places name.
pub fn may_define(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"]:").is_some()
}

/// Says whether a heading may hold a link that is defined somewhere else.
pub fn may_refer(section: &Section, text: &str) -> bool {
    let heading = &text[section.span.start..section.body];
    // one that is too long has its text in the body
    section.level > 0 && (heading.is_empty() || heading.contains('['))
}

/// Says whether something that a section says holds for the sections below as well.
pub fn hands_down(section: &Section) -> bool {
    !section.marks.keywords.is_empty() || section.marks.category.is_some()
}

/// Returns the keywords and the category that hold for a section.
///
/// Keywords of an enclosing section describe the sections in it; its summary does not.
fn told(note: &Note, at: usize) -> (String, &str) {
    let mut words: Vec<&str> = Vec::new();
    let own = &note.sections[at].marks;
    words.extend(own.summary.as_deref());
    let mut category = None;
    let mut up = Some(at);
    while let Some(section) = up.map(|up| &note.sections[up]) {
        gather(&section.marks, &mut words, &mut category);
        up = section.parent;
    }
    gather(&note.front, &mut words, &mut category);
    (words.join(" "), category.unwrap_or_default())
}

fn gather<'a>(marks: &'a Marks, words: &mut Vec<&'a str>, category: &mut Option<&'a str>) {
    words.extend(marks.keywords.iter().map(String::as_str));
    words.extend(marks.category.as_deref());
    if category.is_none() {
        *category = marks.category.as_deref();
    }
}

/// Drafts messages as lines are fed to it; each is complete when the next one is known.
#[derive(Debug)]
pub struct Messages {
    part: Part,
    before: Option<Message>,
    last: Option<(Spot, Message)>,
}

#[derive(Debug, Clone, Copy)]
struct Spot {
    start: u64,
    length: u32,
    line: u32,
    hash: u64,
}

impl Messages {
    /// Starts at the beginning of a transcript, or behind the message `before`.
    pub fn new(part: Part, before: Option<Message>) -> Self {
        Self { part, before, last: None }
    }

    /// Takes the next line; returns false when it is damaged.
    pub fn line(
        &mut self,
        start: u64,
        line: u32,
        bytes: &[u8],
        each: &mut dyn FnMut(Draft<'_>) -> bool,
    ) -> bool {
        let message = match message::parse(bytes) {
            Line::Message(message) => message,
            Line::Other | Line::Blank => return true,
            Line::Bad => return false,
        };
        if self.text(&message).is_empty() {
            return true;
        }
        let spot = Spot { start, length: bytes.len() as u32, line, hash: xxh3_64(bytes) };
        self.flush(Some(&message), each);
        self.last = Some((spot, message));
        true
    }

    /// Hands out the last message, which has no successor.
    pub fn finish(&mut self, each: &mut dyn FnMut(Draft<'_>) -> bool) {
        self.flush(None, each);
    }

    fn text<'m>(&self, message: &'m Message) -> &'m str {
        match self.part {
            Part::Said => &message.said,
            Part::Tools => &message.tools,
        }
    }

    fn flush(&mut self, after: Option<&Message>, each: &mut dyn FnMut(Draft<'_>) -> bool) {
        let Some((spot, message)) = self.last.take() else { return };
        let mut draft = Draft {
            start: spot.start,
            length: spot.length,
            line: spot.line,
            hash: spot.hash,
            time: message.timestamp_ms,
            role: message.role.clone(),
            session: message.session.clone().unwrap_or_default(),
            ..Draft::default()
        };
        let speaker = message.name.as_deref().unwrap_or(&message.role);
        let stamp = message.time.as_deref().unwrap_or_default();
        let day = message.timestamp_ms.filter(|_| is_stamp(stamp)).map(time::day_in_words);
        draft.add(Field::Body, self.text(&message));
        draft.add(Field::Speaker, speaker);
        draft.add(Field::Time, day.as_deref().unwrap_or(stamp));
        for neighbour in [self.before.as_ref(), after].into_iter().flatten() {
            if neighbour.session == message.session {
                draft.add(Field::Context, self.text(neighbour));
            }
        }
        draft.seal();
        each(draft);
        self.before = Some(message);
    }
}

/// Says whether a time is written for machines: nobody asks for it in its letters, and with its
/// seconds each would be a word of its own in the dictionary.
fn is_stamp(time: &str) -> bool {
    time.chars().all(|c| c.is_ascii() && (!c.is_ascii_alphabetic() || matches!(c, 'T' | 'Z')))
}
