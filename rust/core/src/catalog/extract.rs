//! Index inputs, and their extraction from the sections of a note.
//!
//! An input is one future document with its position in the file, its fields as text, and two
//! hashes: one of its own bytes, by which a hit is checked before it leaves, and one of all that
//! was indexed of it, by which a changed file is compared with what the index holds.

use std::cell::RefCell;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::catalog::doc_table::{HAS_DEFINITION, HAS_REFERENCE, SectionMeta};
use crate::error::{Interrupt, Result};
use crate::index::bm25f::Field;
use crate::index::dictionary::word_counts::CountedText;
use crate::messages::message::Message;
use crate::text::metadata::{Metadata, after_meta_comment, before_meta_comment};
use crate::text::parser;
use crate::text::section::{Note, Section, TRAIL};

/// Sections longer than about this many bytes are split for retrieval.
pub const MAX_PART_BYTES: usize = 1000;

/// A corpus: the text that one index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Corpus {
    /// Notes, and the messages of people and models.
    #[default]
    Main,
    /// Input and output of tools.
    Tools,
}

impl Corpus {
    /// Returns what of a message is in this corpus.
    pub(super) fn text(self, message: &Message) -> &str {
        match self {
            Self::Main => &message.text,
            Self::Tools => &message.tools,
        }
    }
}

/// The input of the index for one document.
#[derive(Debug, Default)]
pub struct IndexInput<'a> {
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
    /// Metadata of its section; of a message, whether a turn begins with it.
    pub section_meta: SectionMeta,
    /// What is indexed.
    pub fields: Vec<FieldText<'a>>,
}

/// A text of a field.
#[derive(Debug, Clone, Copy)]
pub struct FieldText<'a> {
    /// The field.
    pub field: Field,
    /// The text.
    pub text: &'a str,
    /// Of a text that several documents have, where its counts are kept.
    pub counted: Option<&'a RefCell<CountedText>>,
}

impl<'a> FieldText<'a> {
    fn new(field: Field, text: &'a str, counted: Option<&'a RefCell<CountedText>>) -> Option<Self> {
        (!text.is_empty()).then_some(Self { field, text, counted })
    }
}

impl<'a> IndexInput<'a> {
    pub(super) fn add(&mut self, field: Field, text: &'a str) {
        self.fields.extend(FieldText::new(field, text, None));
    }

    /// Adds a text that other documents have too.
    pub(super) fn add_shared(
        &mut self,
        field: Field,
        text: &'a str,
        counted: &'a RefCell<CountedText>,
    ) {
        self.fields.extend(FieldText::new(field, text, Some(counted)));
    }

    pub(super) fn set_key(&mut self) {
        let mut hasher = Xxh3::new();
        for FieldText { field, text, .. } in &self.fields {
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

/// Extracts the sections of a note, in file order; long ones in several parts, and where the front
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
    each: &mut dyn FnMut(IndexInput<'_>) -> bool,
) -> Result<Option<String>> {
    let note = parser::parse_unless(text, interrupt)?;
    let title = note.title().unwrap_or_default();
    let count = note.sections.len();
    section_inputs(
        path,
        text,
        &SectionRange { note: &note, count, title, above: &[], from: (0, 1) },
        each,
    );
    Ok(summary_of(&note))
}

/// Returns the summary that a note gives of itself.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn summary(text: &str, interrupt: Interrupt<'_>) -> Result<Option<String>> {
    Ok(summary_of(&parser::parse_unless(text, interrupt)?))
}

fn summary_of(note: &Note) -> Option<String> {
    let first = note.sections.iter().take_while(|section| section.level <= 1);
    let front = note.front.summary.clone();
    front.or_else(|| first.filter_map(|s| s.metadata.summary.clone()).next())
}

/// A range of the sections of a note, with the context that it inherits.
#[derive(Debug)]
pub struct SectionRange<'a> {
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

impl<'a> SectionRange<'a> {
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

/// Extracts a range of the sections of a note, until `each` says that there is no use in going on.
pub fn section_inputs(
    path: &str,
    text: &str,
    range: &SectionRange<'_>,
    each: &mut dyn FnMut(IndexInput<'_>) -> bool,
) {
    let &SectionRange { note, title, from: (mut counted, mut line), .. } = range;
    let place = path.strip_suffix(".md").unwrap_or(path);
    let mut code = note.code.iter().peekable();
    for at in 0..range.count {
        let section = &note.sections[at];
        let headings = range.trail(at);
        // the title is most often a heading too, and would count twice
        let title = if headings.contains(&title) { "" } else { title };
        let trail = headings.join(TRAIL.encode_utf8(&mut [0; 4]));
        let (keywords, category) = inherited_keywords(note, at);
        // what it says holds for the sections below, and is found with them
        let below = note.sections.get(at + 1).is_some_and(|next| next.parent == Some(at));
        if below && after_meta_comment(&text[section.span.clone()]) == Some("") {
            continue;
        }
        let by_item = note.front.by_item;
        let spans =
            if by_item { note.units(at, text) } else { note.split(at, text, MAX_PART_BYTES) };
        let mut section_meta = section_meta(section, text);
        for span in spans {
            let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[counted..span.start]).count();
            line += lines as u32;
            counted = span.start;
            let mut input = IndexInput {
                start: span.start as u64,
                length: span.len() as u32,
                line,
                hash: xxh3_64(&text.as_bytes()[span.clone()]),
                trail: trail.clone(),
                time: section.metadata.time.or(note.front.time),
                category: category.to_owned(),
                section_meta: std::mem::take(&mut section_meta),
                ..IndexInput::default()
            };
            input.add(Field::Path, place);
            input.add(Field::Title, title);
            input.add(Field::Heading, &trail);
            input.add(Field::Keywords, &keywords);
            let mut from = span.start.max(section.body);
            while let Some(block) = code.next_if(|block| block.start < span.end) {
                let end = block.end.min(span.end);
                input.add(Field::Body, text.get(from..block.start).unwrap_or_default());
                input.add(Field::Code, text.get(block.start.max(from)..end).unwrap_or_default());
                from = end;
            }
            let rest = text.get(from..span.end).unwrap_or_default();
            input.add(Field::Body, if by_item { before_meta_comment(rest) } else { rest });
            input.set_key();
            if !each(input) {
                return;
            }
        }
    }
}

/// Returns the metadata of a section for incremental parsing.
fn section_meta(section: &Section, text: &str) -> SectionMeta {
    let defines = may_hold_definition(&text[section.span.clone()]);
    SectionMeta {
        starts: 1,
        level: section.level,
        inheritable: u8::from(inheritable(section)),
        flags: if may_hold_reference(section, text) { HAS_REFERENCE } else { 0 }
            | if defines { HAS_DEFINITION } else { 0 },
    }
}

/// Returns whether a text may define a link that other places name.
pub fn may_hold_definition(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"]:").is_some()
}

/// Returns whether a heading may hold a link that is defined somewhere else.
pub fn may_hold_reference(section: &Section, text: &str) -> bool {
    let heading = &text[section.span.start..section.body];
    // one that is too long has its text in the body
    section.level > 0 && (heading.is_empty() || heading.contains('['))
}

/// Returns whether a section has keywords or a category, which its subsections inherit.
pub fn inheritable(section: &Section) -> bool {
    !section.metadata.keywords.is_empty() || section.metadata.category.is_some()
}

/// Returns the keywords and the category that hold for a section.
///
/// Keywords of an enclosing section describe the sections in it; its summary does not.
fn inherited_keywords(note: &Note, at: usize) -> (String, &str) {
    let mut words: Vec<&str> = Vec::new();
    let own = &note.sections[at].metadata;
    words.extend(own.summary.as_deref());
    let mut category = None;
    let mut up = Some(at);
    while let Some(section) = up.map(|up| &note.sections[up]) {
        collect_metadata(&section.metadata, &mut words, &mut category);
        up = section.parent;
    }
    collect_metadata(&note.front, &mut words, &mut category);
    (words.join(" "), category.unwrap_or_default())
}

fn collect_metadata<'a>(
    metadata: &'a Metadata,
    words: &mut Vec<&'a str>,
    category: &mut Option<&'a str>,
) {
    words.extend(metadata.keywords.iter().map(String::as_str));
    words.extend(metadata.category.as_deref());
    if category.is_none() {
        *category = metadata.category.as_deref();
    }
}
