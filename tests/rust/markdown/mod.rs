//! Test helper: invariants of sections, and a reference implementation for headings.

#![allow(dead_code, missing_docs)]

use std::ops::Range;

use commonplace_core::catalog::extract::{IndexInput, MAX_PART_BYTES, note};
use commonplace_core::text::section::Note;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The spans follow one another from the first byte to the last.
pub fn assert_exactly_once(spans: &[Range<usize>], whole: Range<usize>) {
    let mut at = whole.start;
    for span in spans {
        assert_eq!(span.start, at);
        assert!(span.end > at || whole.is_empty());
        at = span.end;
    }
    assert_eq!(at, whole.end);
}

pub fn assert_covered(text: &str, note: &Note) {
    let spans: Vec<_> = note.sections.iter().map(|section| section.span.clone()).collect();
    assert_exactly_once(&spans, 0..text.len());
    for (at, section) in note.sections.iter().enumerate() {
        assert!(section.span.start <= section.body && section.body <= section.span.end);
        assert!(section.parent.is_none_or(|up| up < at && note.sections[up].level < section.level));
        for limit in [1, 7, 40, MAX_PART_BYTES] {
            let parts = note.split(at, text, limit);
            assert_exactly_once(&parts, section.span.clone());
            for part in &parts[1..] {
                let before = &text[..part.start];
                assert!(before.ends_with(['\n', '\r']), "{before:?} is cut");
                assert!(!(before.ends_with('\r') && text[part.start..].starts_with('\n')));
            }
        }
    }
    assert!(note.breaks.is_sorted());
    let mut drafted = Vec::new();
    note_drafts(text, &mut |input| {
        let start = input.start as usize;
        drafted.push(start..start + input.length as usize);
        let lines = text.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        assert_eq!(input.line as usize, lines + 1);
    });
    assert_exactly_once(&drafted, 0..text.len());
}

fn note_drafts(text: &str, each: &mut dyn FnMut(IndexInput<'_>)) {
    let mut all = |input: IndexInput<'_>| {
        each(input);
        true
    };
    note("a.md", text, &|| false, &mut all).unwrap();
}

/// The headings at the top of the whole document, from the parser's events alone.
pub fn reference_headings(text: &str) -> Vec<(u8, String)> {
    let mut found: Vec<(u8, String)> = Vec::new();
    let mut open = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        let top = |open: &Vec<Tag<'_>>| matches!(open.first(), Some(Tag::Heading { .. }));
        match event {
            Event::Start(tag) => {
                if open.is_empty()
                    && let Tag::Heading { level, .. } = tag
                {
                    let level = [
                        HeadingLevel::H1,
                        HeadingLevel::H2,
                        HeadingLevel::H3,
                        HeadingLevel::H4,
                        HeadingLevel::H5,
                        HeadingLevel::H6,
                    ]
                    .iter()
                    .position(|&l| l == level);
                    found.push((level.unwrap() as u8 + 1, String::new()));
                }
                open.push(tag);
            }
            Event::End(_) if open.len() == 1 && top(&open) => {
                let heading = found.last_mut().unwrap();
                heading.1 = heading.1.trim().replace('\u{1f}', " ");
                open.clear();
            }
            Event::End(TagEnd::Heading(_)) | Event::End(_) => drop(open.pop()),
            Event::Text(text) | Event::Code(text) if top(&open) => {
                found.last_mut().unwrap().1.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak if top(&open) => {
                found.last_mut().unwrap().1.push(' ');
            }
            _ => {}
        }
    }
    found
}
