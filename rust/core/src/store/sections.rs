//! Sections of a note as a listing shows them: headings, lines and bytes.

use crate::catalog::memory_estimate::parsing_bytes;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::store::Store;
use crate::text::encoding::{as_text, line_of};
use crate::text::parser::{heading_end, parse_unless};

/// A heading with the text up to the next one, or what stands before the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEntry {
    /// Headings from the outermost down to its own.
    pub heading: Vec<String>,
    /// 1 to 6; 0 before the first heading.
    pub level: u8,
    /// The first line, from 1.
    pub line: u64,
    /// The last line.
    pub end_line: u64,
    /// First byte of the section.
    pub start: usize,
    /// Where the text below its heading begins, or behind the front matter.
    pub body: usize,
    /// The byte behind it.
    pub end: usize,
    /// What it says of itself in one line.
    pub summary: Option<String>,
    /// What it is filed under.
    pub category: Option<String>,
    /// Words under which it is to be found as well.
    pub keywords: Vec<String>,
}

/// Cuts Markdown into sections, in order of position.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn list_sections(text: &str, interrupt: Interrupt<'_>) -> Result<Vec<SectionEntry>> {
    let note = parse_unless(text, interrupt)?;
    let mut line = 1;
    let sections = note.sections.iter().enumerate().map(|(at, section)| {
        let span = section.span.clone();
        let bytes = &text.as_bytes()[span.clone()];
        let first = line;
        line += line_of(bytes, bytes.len()) - 1;
        SectionEntry {
            heading: note.trail(at).into_iter().map(str::to_owned).collect(),
            level: section.level,
            line: first,
            end_line: if bytes.ends_with(b"\n") { line - 1 } else { line },
            start: span.start,
            // a heading that is too long counts as text
            body: match section.level > 0 && section.body == span.start {
                true => heading_end(text, span.start + 1),
                false => section.body,
            },
            end: span.end,
            summary: section.metadata.summary.clone(),
            category: section.metadata.category.clone(),
            keywords: section.metadata.keywords.clone(),
        }
    });
    Ok(sections.collect())
}

impl Store {
    /// Returns the sections of a note, in order of position.
    ///
    /// # Errors
    /// Those of [`Root::read`](crate::files::root::Root::read); [`Error::Format`] for what is no
    /// note; [`Error::Memory`]; [`Error::Interrupted`].
    pub fn sections(&self, path: &str, interrupt: Interrupt<'_>) -> Result<Vec<SectionEntry>> {
        if FileKind::of(path) != FileKind::Note {
            let why = "only Markdown has sections; read a transcript by its lines".to_owned();
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        let bytes = self.root().read(&self.root().normalized(path))?;
        let needed = parsing_bytes(&bytes);
        self.limit.check(&format!("reading the sections of {path:?}"), needed)?;
        list_sections(&as_text(&bytes), interrupt)
    }
}
