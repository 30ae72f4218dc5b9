//! Metadata of a note: front matter, `META:` comments, `Summary:` and `- Key: value` lines.
//!
//! Formats: YAML front matter between `---` lines; the comment of the overview/detail design
//! (`<!-- META: - keywords: [...] -->`); `> Summary:` for a file and `- Summary:`, `- Date:`,
//! `- Category:` for an entry, as the facts-and-episodes design writes them. Only plain scalars
//! and lists of them are read; anything else stays text. Nothing is ever constructed or run.

use std::ops::Range;

use crate::text::time::parse_time;

/// Metadata of a section or a note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// A title from the front matter.
    pub title: Option<String>,
    /// The one-line summary.
    pub summary: Option<String>,
    /// The category.
    pub category: Option<String>,
    /// Keywords and tags.
    pub keywords: Vec<String>,
    /// Milliseconds since 1970 of the date that is given.
    pub time: Option<i64>,
    /// `unit: item`: what is found of this note is one list item, not a whole section.
    pub by_item: bool,
}

/// Longest value, and most bytes of keywords, that are taken: every section below repeats them.
const MAX_VALUE: usize = 1000;
/// Longest run of leading lines that is looked at for metadata.
const LEADING_LINES: usize = 40;

impl Metadata {
    fn set(&mut self, key: &str, value: &str) {
        let value = unquote(value.trim());
        let value = &value[..value.floor_char_boundary(MAX_VALUE)];
        if value.is_empty() {
            return;
        }
        match key.trim().to_ascii_lowercase().as_str() {
            "title" => self.title = Some(value.to_owned()),
            "summary" | "description" => self.summary = Some(value.to_owned()),
            "category" => self.category = Some(value.to_owned()),
            "keywords" | "tags" => list(value).for_each(|keyword| self.add_keyword(keyword)),
            "unit" => self.by_item = value == "item",
            "date" | "created" | "time" => self.time = parse_time(value).or(self.time),
            _ => {}
        }
    }

    fn add_keyword(&mut self, keyword: &str) {
        let held: usize = self.keywords.iter().map(|keyword| keyword.len() + 1).sum();
        if held + keyword.len() <= MAX_VALUE {
            self.keywords.push(keyword.to_owned());
        }
    }
}

/// Hands out the lines of a text with their ends, whichever they are.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// Front matter of a note: where it lies, and its scalars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The first byte behind the `---` that it begins with.
    pub start: usize,
    /// The first byte behind it.
    pub end: usize,
    /// Keys, in small letters, and values, in order; an item of a list has the key of the list.
    pub fields: Vec<(String, String)>,
}

/// Returns the front matter of a note, if it has one.
pub fn front_matter(text: &str) -> Option<FrontMatter> {
    let mut fields = Vec::new();
    let mut add = |key: &str, value: &str| {
        fields.push((key.trim().to_ascii_lowercase(), unquote(value.trim()).to_owned()));
    };
    let Range { start, end } = read_front_matter(text, &mut add)?;
    Some(FrontMatter { start, end, fields })
}

/// Returns what the front matter of a note says, and where it ends; `None` when there is none.
pub(super) fn front_metadata(text: &str) -> Option<(Metadata, usize)> {
    let mut metadata = Metadata::default();
    let range = read_front_matter(text, &mut |key, value| metadata.set(key, value))?;
    Some((metadata, range.end))
}

/// Reads YAML front matter, which may stand behind a byte order mark, and hands out its keys and
/// values; returns where it lies behind its first line.
///
/// A `---` may as well be a thematic break; what follows it must look like YAML up to the end.
fn read_front_matter(text: &str, each: &mut impl FnMut(&str, &str)) -> Option<Range<usize>> {
    let mut lines = lines(text.strip_prefix('\u{feff}').unwrap_or(text));
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let start = first.as_ptr() as usize - text.as_ptr() as usize + first.len();
    let mut end = start;
    let (mut key, mut folded) = (String::new(), String::new());
    for (number, line) in lines.enumerate() {
        end += line.len();
        let bare = line.trim_end();
        let begins = |marks: &[char]| bare.starts_with(marks);
        let ends = bare == "---" || bare == "...";
        if let Some(item) = bare.trim_start().strip_prefix("- ") {
            each(&key, item);
        } else if !ends && begins(&[' ', '\t', '#', '-', ']', '}']) || bare.is_empty() && number > 0
        {
            if !folded.is_empty() && folded.len() < MAX_VALUE {
                folded.push(' ');
                folded.push_str(bare.trim_start());
            }
        } else if ends || bare.contains(':') {
            if !folded.is_empty() {
                each(&key, &folded);
                folded.clear();
            }
            let Some((name, value)) = bare.split_once(':') else { return Some(start..end) };
            name.clone_into(&mut key);
            match value.trim() {
                // the text comes in the lines below
                ">" | ">-" | ">+" | "|" | "|-" | "|+" => folded.push(' '),
                value => each(name, value),
            }
        } else {
            return None;
        }
    }
    None
}

/// Reads the metadata in the leading lines of a section: quotes, list items, comments, blanks.
pub fn leading_lines(text: &str) -> Metadata {
    let mut metadata = Metadata::default();
    let mut in_comment = false;
    for line in lines(text).take(LEADING_LINES) {
        let bare = line.trim();
        if in_comment || bare.starts_with("<!--") {
            in_comment = !bare.contains("-->");
            let inner = bare.trim_start_matches("<!--").trim_end_matches("-->").trim();
            let inner = inner.strip_prefix("META:").unwrap_or(inner).trim_start();
            if let Some((key, value)) = inner.trim_start_matches("- ").split_once(':') {
                metadata.set(key, value);
            }
        } else if let Some(item) = ["> ", "- ", "* "].iter().find_map(|m| bare.strip_prefix(m)) {
            if let Some((key, value)) = item.split_once(':') {
                metadata.set(key.trim_matches('*'), value.trim_start_matches("**"));
            }
        } else if !bare.is_empty() {
            break;
        }
    }
    metadata
}

/// `META:` comment of a section: what programs say about it, behind its heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaComment<'t> {
    /// The line of the heading with its end; empty where the text begins with the comment.
    pub heading: &'t str,
    /// What stands between `META:` and the end of the comment.
    pub inner: &'t str,
    /// The text behind the line that ends the comment.
    pub after: &'t str,
}

impl<'t> MetaComment<'t> {
    /// Returns keys and values, in order; values as they are written. Other lines are passed over.
    ///
    /// A line holds one `key: value`, or any number of `key=value` without spaces in them.
    pub fn fields(&self) -> impl Iterator<Item = (&'t str, &'t str)> + use<'t> {
        lines(self.inner).flat_map(|line| {
            let bare = line.trim();
            let item = ["- ", "* "].iter().find_map(|mark| bare.strip_prefix(mark));
            let bare = item.unwrap_or(bare).trim_start();
            let pair = bare.split_once(':').filter(|(key, _)| is_key(key));
            let words = bare.split_whitespace();
            let all_pairs = pair.is_none() && words.clone().all(|word| equation(word).is_some());
            let words = all_pairs.then(|| words.filter_map(equation)).into_iter().flatten();
            pair.map(|(key, value)| (key, value.trim())).into_iter().chain(words)
        })
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Returns key and value of a word `key=value`.
fn equation(word: &str) -> Option<(&str, &str)> {
    word.split_once('=').filter(|(key, value)| is_key(key) && !value.is_empty())
}

/// Returns a text without the `META:` comment that it ends with, if it has one: it is for programs
/// to read.
pub fn before_meta_comment(text: &str) -> &str {
    let bare = text.trim_end();
    let start = bare.strip_suffix("-->").and_then(|inner| inner.rfind("<!--"));
    let found = start.filter(|&at| meta_comment(&bare[at..]).is_some());
    found.map_or(text, |at| &text[..at])
}

/// Returns the `META:` comment that a section begins with, if it has one.
///
/// White space may stand before and within it, as formatters of Markdown put it there.
pub fn meta_comment(text: &str) -> Option<MetaComment<'_>> {
    let behind_heading = match text.strip_prefix('#') {
        Some(_) => memchr::memchr(b'\n', text.as_bytes())? + 1,
        None => 0,
    };
    let (heading, rest) = text.split_at(behind_heading);
    let comment = rest.trim_start().strip_prefix("<!--")?.trim_start().strip_prefix("META:")?;
    let (inner, after) = comment.split_once("-->")?;
    let blank = after.trim_start_matches([' ', '\t']);
    let after = blank.strip_prefix("\r\n").or_else(|| blank.strip_prefix('\n')).unwrap_or(blank);
    Some(MetaComment { heading, inner, after })
}

/// Returns the text of a section behind its heading and its `META:` comment, which is for programs
/// to read; None where there is no such comment.
pub fn after_meta_comment(text: &str) -> Option<&str> {
    meta_comment(text).map(|comment| comment.after.trim_start())
}

fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote)) {
            return inner;
        }
    }
    value
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    let inner = value.strip_prefix('[').unwrap_or(value).trim_end_matches(']');
    inner.split(',').map(|item| unquote(item.trim())).filter(|item| !item.is_empty())
}
