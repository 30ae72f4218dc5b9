//! List items and other blocks of a note, each as an entry with its position and its text.
//!
//! They are the documents that the index makes of a note whose front matter says `unit: item`.

use crate::error::{Interrupt, Result};
use crate::text::encoding::line_of;
use crate::text::metadata::lines;
use crate::text::parser::parse_unless;

/// A list item, or another block of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockEntry {
    /// The section it stands in, counted from 0.
    pub section: usize,
    /// First byte.
    pub start: usize,
    /// The byte behind it and its line end; empty lines behind it do not belong to it.
    pub end: usize,
    /// The first line, from 1.
    pub line: u64,
    /// The last line.
    pub end_line: u64,
    /// Whether it is an item of a list.
    pub is_item: bool,
    /// Its lines, of an item without marker and indentation; `\n` is between them.
    pub text: String,
}

/// Cuts Markdown into list items and other blocks, in order of position; headings are none.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn list_blocks(text: &str, interrupt: Interrupt<'_>) -> Result<Vec<BlockEntry>> {
    let note = parse_unless(text, interrupt)?;
    let mut blocks = Vec::with_capacity(note.breaks.len() + note.items.len());
    let (mut line, mut counted) = (1, 0);
    let mut line_at = |at: usize| {
        line += line_of(&text.as_bytes()[counted..at], at - counted) - 1;
        counted = at;
        line
    };
    for section in 0..note.sections.len() {
        for unit in note.units(section, text) {
            let bare = text[unit.clone()].trim_end();
            if bare.is_empty() {
                continue;
            }
            let is_item = note.items.binary_search(&unit.start).is_ok();
            let last = unit.start + bare.len();
            let end = last + lines(&text[last..unit.end]).next().map_or(0, str::len);
            blocks.push(BlockEntry {
                section,
                start: unit.start,
                end,
                line: line_at(unit.start),
                end_line: line_at(last),
                is_item,
                text: if is_item { item_text(&text[unit.start..end]) } else { text_of(bare) },
            });
        }
    }
    Ok(blocks)
}

/// Returns the lines of a block.
fn text_of(block: &str) -> String {
    joined(lines(block.trim_start()))
}

/// Returns the lines of an item without its marker, and without the indentation that makes them
/// part of it.
fn item_text(item: &str) -> String {
    let marker = marker_end(item);
    let rest = &item[marker..];
    let bare = rest.trim_start_matches([' ', '\t']);
    let space = rest.len() - bare.len();
    // behind five spaces code begins
    let (skip, width) = match bare.starts_with(['\n', '\r']) || bare.is_empty() {
        true => (marker + space, marker + 1),
        false if space > 4 => (marker + 1, marker + 1),
        false => (marker + space, marker + space),
    };
    let mut lines = lines(&item[skip..]);
    joined(lines.next().into_iter().chain(lines.map(|line| dedented(line, width))))
}

/// Returns where the marker of an item ends: `-`, `*`, `+`, `1.` or `1)`.
fn marker_end(item: &str) -> usize {
    let margin = item.len() - item.trim_start_matches([' ', '\t']).len();
    let digits = item[margin..].bytes().take_while(u8::is_ascii_digit).count();
    // the mark itself is one byte
    (margin + digits + 1).min(item.len())
}

/// Returns a line without so many columns of indentation; one tab stands for all of them.
fn dedented(line: &str, width: usize) -> &str {
    let bare = line.trim_start_matches(' ');
    let margin = line.len() - bare.len();
    match bare.strip_prefix('\t') {
        Some(behind_tab) if margin < width => behind_tab,
        _ => &line[margin.min(width)..],
    }
}

/// Joins lines, whatever ends each.
fn joined<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let bare = lines.map(|line| line.trim_end_matches(['\n', '\r']));
    bare.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(u64, u64, bool, String)> {
        let blocks = list_blocks(text, &|| false).unwrap();
        let facts = |b: BlockEntry| (b.line, b.end_line, b.is_item, b.text);
        blocks.into_iter().map(facts).collect()
    }

    #[test]
    fn blocks_are_items_and_the_rest() {
        let text = "---\nunit: item\n---\n# Head\n\nOne\ntwo.\n\n- a\n  - b\n\n  c\n-   d\n    e\n\n\
            ## Next\n12) f\r\n\r\n    g\r\n***\n";
        let owned = |line, end, is_item, text: &str| (line, end, is_item, text.to_owned());
        let expected = [
            owned(6, 7, false, "One\ntwo."),
            owned(9, 12, true, "a\n- b\n\nc"),
            owned(13, 14, true, "d\ne"),
            owned(17, 19, true, "f\n\ng"),
            owned(20, 20, false, "***"),
        ];
        assert_eq!(blocks(text), expected);
        assert_eq!(blocks(""), []);
    }

    #[test]
    fn an_item_loses_its_indentation() {
        let text_of = |item: &str| blocks(item).remove(0).3;
        assert_eq!(text_of("-   wide\n    more\n"), "wide\nmore");
        assert_eq!(text_of("-\n  later\n"), "\nlater");
        assert_eq!(text_of("-      code\n"), "     code");
        assert_eq!(text_of("- a\n\n\tb\n"), "a\n\nb");
        assert_eq!(text_of(" 3. a\n    b\nlazy\n"), "a\nb\nlazy");
    }
}
