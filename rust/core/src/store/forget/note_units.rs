//! Units of a note that are erased: entries, list items, statements of a paragraph, rows.
//!
//! What is erased is as little as stands for itself: of a nested list the inner item, of a table
//! the row, of a paragraph the sentence with its lines. A section with an id or a date of its own
//! is one entry of a memory system, and goes as a whole.

use std::ops::Range;

use crate::error::{Interrupt, Result};
use crate::store::forget::needles::Needles;
use crate::text::metadata::{lines, meta_comment};
use crate::text::parser::parse_unless;
use crate::text::section::Section;

/// Returns the byte ranges of the units that hold one of the texts: whole lines, in order, apart.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub(super) fn units_with(
    text: &str,
    needles: &Needles,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Range<usize>>> {
    if !needles.are_in(text.as_bytes()) {
        return Ok(Vec::new());
    }
    let note = parse_unless(text, interrupt)?;
    let mut found = Vec::new();
    for (number, section) in note.sections.iter().enumerate() {
        let span = section.span.clone();
        if !needles.are_in(text[span.clone()].as_bytes()) {
            continue;
        }
        if is_entry(section, &text[span.clone()]) {
            found.push(span);
            continue;
        }
        for unit in note.units(number, text) {
            if needles.are_in(text[unit.clone()].as_bytes()) {
                narrow(text, unit, needles, &mut found);
            }
        }
        // a heading, which may be underlined
        let heading = span.start..section.body;
        if section.level > 0 && needles.are_in(text[heading.clone()].as_bytes()) {
            found.push(heading);
        }
        // what is around the blocks
        let rest = line_ranges(text, span).into_iter();
        let rest = rest.filter(|line| needles.are_in(text[line.clone()].as_bytes()));
        found.extend(rest);
    }
    // over the boundary of two blocks
    found.extend(needles.spans(text).into_iter().map(|span| whole_lines(text, span)));
    for range in &mut found {
        *range = with_both_fences(text, range.clone(), &note.code);
    }
    Ok(merged(found))
}

/// Extends a range that holds one fence of a code block to all of the block: what follows would be
/// code by the other.
fn with_both_fences(text: &str, range: Range<usize>, code: &[Range<usize>]) -> Range<usize> {
    let fenced = code.iter().filter(|block| {
        let block = text[(*block).clone()].trim_start();
        block.starts_with("```") || block.starts_with("~~~")
    });
    // a block may end behind the end of its last line, or before it
    let blocks = fenced.map(|block| {
        let end = block.start + text[block.clone()].trim_end().len();
        whole_lines(text, block.start..end)
    });
    let is_cut = |block: &Range<usize>| {
        let overlaps = range.start < block.end && block.start < range.end;
        overlaps && (range.start <= block.start || range.end >= block.end)
    };
    blocks
        .filter(is_cut)
        .fold(range.clone(), |range, block| range.start.min(block.start)..range.end.max(block.end))
}

/// Returns the byte range of lines, from 1; none where there are no such lines.
pub(super) fn range_of_lines(text: &str, first: u64, last: u64) -> Option<Range<usize>> {
    let lines = line_ranges(text, 0..text.len());
    let at = |line: u64| usize::try_from(line.checked_sub(1)?).ok();
    let start = lines.get(at(first)?)?.start;
    let end = at(last).and_then(|at| lines.get(at)).or(lines.last())?.end;
    Some(start..end)
}

/// Returns what is left of a note without these ranges; no run of empty lines grows by it.
pub(super) fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        left.push_str(&text[done..range.start]);
        done = range.end;
        let is_behind_empty = left.is_empty() || left.ends_with("\n\n") || left.ends_with("\n\r\n");
        if is_behind_empty {
            let rest = &text[done..];
            done += rest.len() - rest.trim_start_matches(['\n', '\r']).len();
        }
    }
    left.push_str(&text[done..]);
    left
}

/// Merges ranges that touch or overlap.
pub(super) fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Says whether a section is one entry of a memory system.
fn is_entry(section: &Section, text: &str) -> bool {
    let has_id =
        || meta_comment(text).is_some_and(|meta| meta.fields().any(|(key, _)| key == "id"));
    section.level >= 2 && (section.metadata.time.is_some() || has_id())
}

fn line_ranges(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let mut at = span.start;
    lines(&text[span])
        .map(|line| {
            let range = at..at + line.len();
            at = range.end;
            range
        })
        .collect()
}

fn whole_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    start..end
}

/// Adds the smallest parts of a block that hold a text and stand for themselves.
fn narrow(text: &str, unit: Range<usize>, needles: &Needles, found: &mut Vec<Range<usize>>) {
    let lines = line_ranges(text, unit.clone());
    let lines: Vec<_> =
        lines.into_iter().skip_while(|line| text[line.clone()].trim().is_empty()).collect();
    let Some(first) = lines.first() else { return };
    if is_marked(&text[first.clone()]) {
        return narrow_item(text, &lines, needles, found);
    }
    let before = found.len();
    let mut statement: Option<Range<usize>> = None;
    for line in lines {
        let is_new = statement
            .as_ref()
            .is_none_or(|above| !goes_on(&text[above.clone()], &text[line.clone()]));
        if is_new {
            take_if_held(text, statement.take(), needles, found);
            statement = Some(line);
        } else if let Some(statement) = &mut statement {
            statement.end = line.end;
        }
    }
    take_if_held(text, statement, needles, found);
    if found.len() == before {
        found.push(unit);
    }
}

fn take_if_held(
    text: &str,
    range: Option<Range<usize>>,
    needles: &Needles,
    found: &mut Vec<Range<usize>>,
) {
    found.extend(range.filter(|range| needles.are_in(text[range.clone()].as_bytes())));
}

/// Narrows a list item to the items within it, where its own words hold none of the texts.
fn narrow_item(
    text: &str,
    lines: &[Range<usize>],
    needles: &Needles,
    found: &mut Vec<Range<usize>>,
) {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return };
    let line = |at: usize| &text[lines[at].clone()];
    let starts: Vec<usize> = (1..lines.len()).filter(|&at| is_marked(line(at))).collect();
    let margin = starts.iter().map(|&at| indentation(line(at))).min().unwrap_or(0);
    let mut starts: Vec<usize> =
        starts.into_iter().filter(|&at| indentation(line(at)) == margin).collect();
    starts.push(lines.len());
    let own = first.start..lines[starts[0] - 1].end;
    let before = found.len();
    if !needles.are_in(text[own].as_bytes()) {
        for inner in starts.windows(2).map(|pair| &lines[pair[0]..pair[1]]) {
            let span = inner[0].start..inner[inner.len() - 1].end;
            if needles.are_in(text[span].as_bytes()) {
                narrow_item(text, inner, needles, found);
            }
        }
    }
    if found.len() == before {
        let end = lines.iter().rfind(|line| !text[(*line).clone()].trim().is_empty());
        found.push(first.start..end.unwrap_or(last).end);
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Says whether a line begins a list item.
fn is_marked(line: &str) -> bool {
    let bare = line.trim_start();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => bare.strip_prefix(['-', '*', '+']),
        _ => bare[digits..].strip_prefix(['.', ')']),
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Says whether a line goes on with the sentence of the lines above it.
fn goes_on(above: &str, line: &str) -> bool {
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    let is_ended = above.ends_with("\n\n") || above.ends_with("\n\r\n");
    if is_ended || is_fence(above.trim_start()) || is_fence(line.trim_start()) {
        return false;
    }
    let hard_break = above.trim_end_matches(['\n', '\r']).ends_with("  ");
    let above = above.trim_end();
    let ends = above.ends_with([
        '.', '!', '?', ';', ':', '|', '\\', '>', '`', '。', '！', '？', '；', '：', '…',
    ]);
    let bare = line.trim_start();
    let begins = bare.starts_with(['|', '<', '`', '>']) || is_field(bare);
    !hard_break && !ends && !begins
}

/// Says whether a line is `Key: value`.
fn is_field(line: &str) -> bool {
    let Some((key, _)) = line.split_once([':', '：']) else { return false };
    let words = key.split_whitespace().count();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '*' | '_' | '-');
    (1..=3).contains(&words) && key.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::forget::needles::Needle;

    fn left(text: &str, needle: &str) -> String {
        let needles = Needles::new(&[Needle::typed(needle)]).unwrap();
        without(text, &units_with(text, &needles, &|| false).unwrap())
    }

    #[test]
    fn as_little_goes_as_stands_for_itself() {
        for (text, after) in [
            ("# A\n\n- one\n- my Rex\n- two\n", "# A\n\n- one\n- two\n"),
            ("- a\n  - b\n  - Rex\n    - c\n- d\n", "- a\n  - b\n- d\n"),
            ("- a\n  - b\n    - Rex\n", "- a\n  - b\n"),
            ("- dog\n  named Rex\n- d\n", "- d\n"),
            ("- Rex\n  - b\n- d\n", "- d\n"),
            ("Name: Rex\nCity: Lisbon\n", "City: Lisbon\n"),
            ("One.\nMy dog is\ncalled Rex.\nTwo.\n", "One.\nTwo.\n"),
            ("| a | b |\n|---|---|\n| Rex | 1 |\n| c | 2 |\n", "| a | b |\n|---|---|\n| c | 2 |\n"),
            ("# Rex\n\ntext\n", "text\n"),
            ("Rex\n===\n\ntext\n", "text\n"),
            ("a\n\n```Rex\ncode\n```\n\nb\n", "a\n\nb\n"),
            ("a\n\n~~~\ncode\n\nRex\n~~~\n\nb\n", "a\n\n~~~\ncode\n\n~~~\n\nb\n"),
            ("```rust\nRex\n```\n\nb\n", "```rust\n```\n\nb\n"),
            ("- a\n\n  ```Rex\n  code\n  ```\n- b\n", "- b\n"),
            (
                "# T\n\n## Mon\n- Date: 2026-02-24\n\nRex.\n\nMore.\n\n## Tue\n\nb\n",
                "# T\n\n## Tue\n\nb\n",
            ),
            ("a\n\nRex\n\nb\n", "a\n\nb\n"),
            ("- a\r\n- Rex\r\n- b\r\n", "- a\r\n- b\r\n"),
            ("x\n", "x\n"),
            ("Rex", ""),
        ] {
            assert_eq!(left(text, "Rex"), after, "{text:?}");
        }
        assert_eq!(left("- a b\n- c d\n- e\n", "b\n- c"), "- e\n");
        let needles = Needles::new(&[Needle::line("note")]).unwrap();
        let text = "- a\n- note\n- footnote\n- b\n";
        let ranges = units_with(text, &needles, &|| false).unwrap();
        assert_eq!(without(text, &ranges), "- a\n- footnote\n- b\n");
        assert_eq!(
            left("## x\n<!--\nMETA:\n- id: \"1\"\n- m: {\"a\":\"caf\\u00e9\"}\n-->\n\ny\n", "café"),
            ""
        );
    }
}
