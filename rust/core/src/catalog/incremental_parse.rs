//! Incremental parsing of an edited note: only the changed sections are parsed again.
//!
//! The document table holds the hashes of a note's sections, so what stands before the first change
//! and behind the last is found by hashing the bytes, at a fiftieth of the cost of parsing them. A
//! heading of the document itself closes every block before it: parsing can begin at one, and
//! whatever follows one that is found again is cut as before. What sections say of others is
//! checked one by one; where it may have changed, or cannot be determined from the table, the note
//! is read whole.
//!
//! (Longer than 350 lines: half of it are the tests of one property.)

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::DocMeta;
use crate::catalog::doc_table::{HAS_DEFINITION, HAS_REFERENCE};
use crate::catalog::extract::{SectionRange, inheritable, may_hold_definition, may_hold_reference};
use crate::catalog::label_table::LabelTable;
use crate::error::Interrupt;
use crate::text::metadata::{Metadata, after_meta_comment};
use crate::text::parser::heading_end;
use crate::text::parser::{front, parse_part};
use crate::text::section::{MAX_SECTIONS, Note, Section, TRAIL};

/// The changed part of a note, parsed, and the documents around it that stay.
#[derive(Debug)]
pub(super) struct IncrementalParse {
    /// So many documents, from the first, are as they were.
    pub kept: usize,
    /// So are those from this place on, but for where they lie.
    pub rest: usize,
    /// By how many bytes and lines the rest has moved.
    pub moved: (i64, i64),
    note: Note,
    /// Of the sections in `note`, so many are those between `kept` and `rest`.
    count: usize,
    title: String,
    above: Vec<(u8, String)>,
    from: (usize, u32),
}

impl IncrementalParse {
    /// Returns the sections to index.
    pub fn range(&self) -> SectionRange<'_> {
        let &Self { ref note, count, ref title, ref above, from, .. } = self;
        SectionRange { note, count, title, above, from }
    }

    /// Returns by how many lines the rest has moved, which begins with `doc`, now at byte `at`;
    /// none where the sections above it, open now and before, differ.
    fn moved_lines(
        &self,
        text: &str,
        at: usize,
        doc: &DocMeta,
        mut open: [Vec<OpenSection>; 2],
        labels: &LabelTable,
    ) -> Option<i64> {
        let (level, first) = (doc.section_meta.level, Some(self.rest));
        for open in &mut open {
            open_section(open, OpenSection { level, doc: first, inheritable: false });
        }
        let [now, before] = &open;
        let trail = self.range().trail(self.count).join(&TRAIL.to_string());
        let inherits = now.iter().any(|open| open.inheritable);
        if now != before || inherits || trail != labels.text(doc.trail) {
            return None;
        }
        let (start, line) = self.from;
        let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[start..at]).count();
        Some(i64::from(line) + lines as i64 - i64::from(doc.line))
    }
}

/// A section that is open, and the place of its document if it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenSection {
    level: u8,
    doc: Option<usize>,
    inheritable: bool,
}

/// Enters a section: what is not above it is closed.
fn open_section(open: &mut Vec<OpenSection>, section: OpenSection) {
    open.truncate(open.iter().position(|o| o.level >= section.level).unwrap_or(open.len()));
    open.extend((section.level > 0).then_some(section));
}

/// The range in which a note differs from its documents.
struct ChangedRange {
    kept: usize,
    rest: usize,
    /// By how many bytes the rest has moved.
    bytes: i64,
    /// What is to be parsed.
    part: Range<usize>,
    /// Where the first section of the rest is to be found again, if there is a rest.
    again: Option<usize>,
}

fn starts_section(doc: &DocMeta) -> bool {
    doc.section_meta.starts > 0
}

/// Returns the bounds of what has changed, each at the beginning of a section.
fn changed_range(text: &str, docs: &[DocMeta]) -> Option<ChangedRange> {
    let ends = |doc: &DocMeta| doc.start + u64::from(doc.length);
    // a section without a document would be missed
    if docs.first()?.start > 0 || docs.windows(2).any(|pair| ends(&pair[0]) != pair[1].start) {
        return None;
    }
    let is_same = |doc: &DocMeta, start: usize| {
        let bytes = text.as_bytes().get(start..start.saturating_add(doc.length as usize));
        bytes.is_some_and(|bytes| xxh3_64(bytes) == doc.hash)
    };
    let same = docs.iter().take_while(|doc| is_same(doc, doc.start as usize)).count();
    let mut kept = docs[..docs.len().min(same + 1)].iter().rposition(starts_section)?;
    // a heading that may have changed is parsed from the section before
    if !is_heading(text, docs[kept].start as usize) {
        kept = docs[..kept].iter().rposition(starts_section)?;
    }
    let start = docs[kept].start as usize;

    let bytes = text.len() as i64 - ends(docs.last()?) as i64;
    let moved = |doc: &DocMeta| usize::try_from(doc.start as i64 + bytes).unwrap_or(0);
    let behind = docs[kept + 1..].iter().rev();
    let behind = behind.take_while(|doc| moved(doc) > start && is_same(doc, moved(doc))).count();
    let rest = docs.len() - behind;
    let rest = rest + docs[rest..].iter().position(starts_section).unwrap_or(behind);
    let again = docs.get(rest).map(moved);
    let end = match again {
        None => text.len(),
        Some(at) if is_heading(text, at) => heading_end(text, at),
        // the underline may be some lines below
        Some(at) => at + docs[rest].length as usize,
    };
    let part = text.get(start..end).map(|_| start..end)?;
    Some(ChangedRange { kept, rest, bytes, part, again })
}

/// Parses what changed in a note since it was indexed as `docs`; none where all of it must be
/// parsed, or the caller asks to stop.
pub(super) fn parse_incrementally(
    text: &str,
    docs: &[DocMeta],
    labels: &LabelTable,
    interrupt: Interrupt<'_>,
) -> Option<IncrementalParse> {
    let ChangedRange { kept, rest, bytes, part, again } = changed_range(text, docs)?;
    let start = part.start;
    let front = front_before(text, start)?;
    // what has sections below it may be no document
    let before = docs[..kept].iter().rposition(starts_section)?;
    if after_meta_comment(&text[docs[before].start as usize..start]).is_some_and(str::is_empty) {
        return None;
    }
    let note = parse_part(text, part.clone(), front, interrupt).ok()?;
    if note.sections.first()?.span.start != start {
        return None;
    }
    let count = note.sections.len() - usize::from(again.is_some());
    if may_join_sections(docs, kept..rest, count) {
        return None;
    }
    let new = &note.sections[..count];
    if let (Some(at), Some(found)) = (again, note.sections.last())
        && (found.span.start, found.level) != (at, docs[rest].section_meta.level)
    {
        return None;
    }
    if may_resolve_links(text, docs, kept..rest, part, new) {
        return None;
    }
    let title = title(&note, count, [&docs[..kept], docs, &docs[rest..]], labels)?;
    // the summary is taken from the first sections of level 1
    let in_kept = docs[..kept].iter().any(|doc| doc.section_meta.level > 1);
    let is_ended = in_kept || note.sections[0].level > 1 && docs[kept].section_meta.level > 1;
    if note.front.summary.is_none() && !is_ended {
        return None;
    }

    let [mut open, were] = open_sections(docs, kept..rest);
    open.retain(|open| open.level < note.sections[0].level);
    if open.iter().any(|open| open.inheritable) {
        return None;
    }
    let heading = |open: &OpenSection| Some((open.level, own(&docs[open.doc?], labels).to_owned()));
    let above: Vec<(u8, String)> = open.iter().filter_map(heading).collect();
    for section in new {
        let inheritable = inheritable(section);
        open_section(&mut open, OpenSection { level: section.level, doc: None, inheritable });
    }
    let from = (start, docs[kept].line);
    let mut edited =
        IncrementalParse { kept, rest, moved: (bytes, 0), note, count, title, above, from };
    if let Some(at) = again {
        edited.moved.1 = edited.moved_lines(text, at, &docs[rest], [open, were], labels)?;
    }
    Some(edited)
}

/// Returns the front matter; none where it ends elsewhere than before, was none, or splits by item.
fn front_before(text: &str, start: usize) -> Option<Metadata> {
    let (front, begin) = front(text);
    let fenced = text.trim_start_matches('\u{feff}').starts_with("---");
    let moved = begin > start || fenced && !(4..=start).contains(&begin);
    (!moved && !front.by_item).then_some(front)
}

/// Returns whether sections may have to be joined, which depends on how many there are.
fn may_join_sections(docs: &[DocMeta], changed: Range<usize>, count: usize) -> bool {
    let sections = |docs: &[DocMeta]| docs.iter().filter(|doc| starts_section(doc)).count();
    let now = || sections(&docs[..changed.start]) + count + sections(&docs[changed.end..]);
    docs.len() + count > MAX_SECTIONS && sections(docs).max(now()) > MAX_SECTIONS
}

/// Returns whether a link reference of one section may resolve to a definition in another.
fn may_resolve_links(
    text: &str,
    docs: &[DocMeta],
    changed: Range<usize>,
    part: Range<usize>,
    new: &[Section],
) -> bool {
    let refers =
        |docs: &[DocMeta]| docs.iter().any(|doc| doc.section_meta.flags & HAS_REFERENCE > 0);
    let refers_outside = refers(&docs[..changed.start]) || refers(&docs[changed.end..]);
    let defines = docs.iter().any(|doc| doc.section_meta.flags & HAS_DEFINITION > 0);
    (defines || may_hold_definition(&text[part]))
        && (refers_outside || new.iter().any(|section| may_hold_reference(section, text)))
}

/// Returns the sections that are open where the changed documents begin, and where they end.
fn open_sections(docs: &[DocMeta], changed: Range<usize>) -> [Vec<OpenSection>; 2] {
    let mut open = Vec::new();
    let opening = |at: usize, doc: Option<usize>| {
        let section_meta = docs[at].section_meta;
        OpenSection { level: section_meta.level, doc, inheritable: section_meta.inheritable > 0 }
    };
    for at in (0..changed.start).filter(|&at| starts_section(&docs[at])) {
        open_section(&mut open, opening(at, Some(at)));
    }
    let mut were = open.clone();
    for at in changed.filter(|&at| starts_section(&docs[at])) {
        open_section(&mut were, opening(at, None));
    }
    [open, were]
}

/// Returns the heading of a section.
fn own<'a>(doc: &DocMeta, labels: &'a LabelTable) -> &'a str {
    labels.text(doc.trail).rsplit(TRAIL).next().unwrap_or_default()
}

/// Returns the title of a note, given the documents that are kept, all that were, and the rest;
/// none where it is another than it was.
fn title(note: &Note, count: usize, docs: [&[DocMeta]; 3], labels: &LabelTable) -> Option<String> {
    let [kept, were, rest] = docs.map(|docs| {
        docs.iter().find(|doc| doc.section_meta.level == 1).map(|doc| own(doc, labels))
    });
    let new = note.sections[..count].iter().find(|section| section.level == 1);
    let new = kept.or(new.map(|section| section.heading.as_str())).or(rest);
    match &note.front.title {
        Some(title) => Some(title.clone()),
        None => (new == were).then(|| new.unwrap_or_default().to_owned()),
    }
}

/// Returns whether a line is a heading whatever stands above it, as long as no block is open that
/// ends by its own mark.
fn is_heading(text: &str, at: usize) -> bool {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let level = rest.iter().take_while(|&&byte| byte == b'#').count();
    (1..=6).contains(&level) && matches!(rest.get(level), Some(b' ' | b'\t' | b'\n' | b'\r') | None)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::NO_TIME;
    use crate::catalog::extract::{IndexInput, note, section_inputs};

    /// A note as the catalog knows it.
    #[derive(Debug, Default)]
    struct ParsedNote {
        docs: Vec<DocMeta>,
        labels: LabelTable,
        summary: Option<String>,
    }

    impl ParsedNote {
        fn add(&mut self, input: &IndexInput<'_>) -> bool {
            self.docs.push(DocMeta {
                start: input.start,
                hash: input.hash,
                key: input.key,
                time: input.time.unwrap_or(NO_TIME),
                file: 0,
                length: input.length,
                line: input.line,
                trail: self.labels.interner().intern(&input.trail),
                role: 0,
                session: 0,
                category: self.labels.interner().intern(&input.category),
                section_meta: input.section_meta,
            });
            true
        }

        /// Parses all of it: the reference.
        fn of(text: &str) -> Self {
            let mut parsed = Self::default();
            let read = note("a.md", text, &|| false, &mut |input| parsed.add(&input));
            parsed.summary = read.unwrap();
            parsed
        }

        /// Reads only what is needed; returns whether that is less than all.
        fn follow(&mut self, text: &str) -> bool {
            let Some(edited) = parse_incrementally(text, &self.docs, &self.labels, &|| false)
            else {
                *self = Self::of(text);
                return false;
            };
            let old = std::mem::take(&mut self.docs);
            self.docs.extend(&old[..edited.kept]);
            section_inputs("a.md", text, &edited.range(), &mut |input| self.add(&input));
            self.docs.extend(old[edited.rest..].iter().map(|doc| DocMeta {
                start: doc.start.saturating_add_signed(edited.moved.0),
                line: doc.line.saturating_add_signed(edited.moved.1 as i32),
                ..*doc
            }));
            true
        }

        fn shown(&self) -> Vec<(DocMeta, &str, &str)> {
            let plain = |doc: &DocMeta| DocMeta { trail: 0, category: 0, ..*doc };
            let label = |id: u32| self.labels.text(id);
            self.docs.iter().map(|r| (plain(r), label(r.trail), label(r.category))).collect()
        }
    }

    // longer than 60 lines: a list
    fn block() -> impl Strategy<Value = String> {
        let odd = [
            "# Top\n",
            "# [ref]\n",
            "## [a][ref]\n",
            "Set\n===\n",
            "two\nlines\n---\n",
            "---\n",
            "```\n",
            "~~~\n# no\n~~~\n",
            "- item\n\n  # in\n",
            "> quote\nlazy\n",
            "1. one\n   - two\n",
            "<!-- META:\n- keywords: [k1, k2]\n-->\n",
            "<!-- META: - category: c -->\n",
            "<!--\n",
            "-->\n",
            "<div>\n",
            "</div>\n\n",
            "<script>\n",
            "</script>\n",
            "<pre># x\n",
            "[ref]: /url\n",
            "[ref]: /u \"ti\n",
            "tle\"\n",
            "[ref\n",
            "]: /x\n",
            "- Category: d\n",
            "> Summary: s1\n",
            "- Summary: s2\n",
            "- Date: 2026-01-02\n",
            "title: T\n",
            "tags: [x]\n",
            "unit: item\n",
            "...\n",
            "\n",
            "    code\n",
            "\t# tab\n",
            "   # three\n",
            "\u{feff}",
            "a\r\nb\r\n",
            "# CR\r",
            "## CRLF\r\n\r\n",
            "| a | b |\n|---|---|\n",
            "| c |\n",
            "text ",
            "word\n",
            "#",
            "##\n",
            "###### six\n",
            "####### seven\n",
            "中文。",
            "# 标题\n",
            "\\",
            "`",
            "*",
            "===\n",
            "***\n",
            "   ",
        ];
        let long = "words that fill a line of some length, again and again\n";
        prop_oneof![
            6 => (1usize..4, 0..6).prop_map(|(level, n)| {
                format!("{} head {n}\n\nbody {n} of it\n\n", "#".repeat(level))
            }),
            6 => proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
            1 => (1usize..60).prop_map(move |n| long.repeat(n)),
            1 => (1usize..40).prop_map(move |n| format!("{long}\n").repeat(n)),
        ]
    }

    /// Where to cut, how many blocks to take away, and what to put there.
    type Edit = (prop::sample::Index, usize, Vec<String>);

    fn edit() -> impl Strategy<Value = Edit> {
        (any::<prop::sample::Index>(), 0usize..3, vec(block(), 0..3))
    }

    /// Found by the property below: a fence may begin behind a `\r` alone.
    #[test]
    fn code_behind_an_old_line_end_is_read_alike() {
        let text = "## a\n\n~~~\n# no\n~~~\n# CR\r```\n# in\n\ncode\n\n";
        let mut parsed = ParsedNote::of(text);
        parsed.follow(text);
        assert_eq!(parsed.shown(), ParsedNote::of(text).shown());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Parsing the whole note after each edit must give the same.
        #[test]
        fn what_is_read_in_part_is_what_is_read_whole(
            blocks in vec(block(), 0..16),
            edits in vec(edit(), 1..5),
        ) {
            let mut blocks = blocks;
            let mut parsed = ParsedNote::of(&blocks.concat());
            for (at, less, more) in edits {
                let at = at.index(blocks.len() + 1);
                blocks.splice(at..blocks.len().min(at + less), more);
                let text = blocks.concat();
                let before = format!("{:?}", parsed.shown());
                let in_part = parsed.follow(&text);
                let whole = ParsedNote::of(&text);
                prop_assert_eq!(parsed.shown(), whole.shown(), "{} {:?}\n{}", in_part, &text, before);
                prop_assert_eq!(&parsed.summary, &whole.summary);
            }
        }
    }
}
