//! What of an edited note has to be read again: the sections that changed, and no others.
//!
//! The rows of a note hold the hashes of its sections, so what stands before the first change and
//! behind the last is known by a look at the bytes, at a fiftieth of what it takes to parse them.
//! A heading of the document itself closes every block before it: parsing can begin at one, and
//! whatever follows one that is found again is cut as before. What sections say of others is
//! looked at one by one; where it may have changed, or cannot be told from the rows, the note is
//! read whole.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::Row;
use crate::catalog::draft::{Cut, hands_down, may_define, may_refer};
use crate::catalog::rows::{DEFINES, REFERS};
use crate::error::Interrupt;
use crate::index::terms::Terms;
use crate::text::marks::behind_meta;
use crate::text::outline::heading_end;
use crate::text::sections::{MAX_SECTIONS, Note, TRAIL, front, parse_part};

/// See the module.
#[derive(Debug)]
pub(super) struct Edited {
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

impl Edited {
    /// Returns the sections to draft.
    pub fn cut(&self) -> Cut<'_> {
        let &Self { ref note, count, ref title, ref above, from, .. } = self;
        Cut { note, count, title, above, from }
    }
}

/// A section that is open, and the place of its row if it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    level: u8,
    row: Option<usize>,
    hands_down: bool,
}

/// Enters a section: what is not above it is closed.
fn enter(open: &mut Vec<Open>, section: Open) {
    open.truncate(open.iter().position(|o| o.level >= section.level).unwrap_or(open.len()));
    open.extend((section.level > 0).then_some(section));
}

/// Where a note differs from what its rows say.
struct Bounds {
    kept: usize,
    rest: usize,
    /// By how many bytes the rest has moved.
    bytes: i64,
    /// What is to be parsed.
    part: Range<usize>,
    /// Where the first section of the rest is to be found again, if there is a rest.
    again: Option<usize>,
}

fn opens(row: &Row) -> bool {
    row.outline.opens > 0
}

/// Returns the bounds of what has changed, each at the beginning of a section.
fn bounds(text: &str, rows: &[Row]) -> Option<Bounds> {
    let ends = |row: &Row| row.start + u64::from(row.length);
    // a section without a document would be missed
    if rows.first()?.start > 0 || rows.windows(2).any(|pair| ends(&pair[0]) != pair[1].start) {
        return None;
    }
    let is_same = |row: &Row, start: usize| {
        let bytes = text.as_bytes().get(start..start.saturating_add(row.length as usize));
        bytes.is_some_and(|bytes| xxh3_64(bytes) == row.hash)
    };
    let same = rows.iter().take_while(|row| is_same(row, row.start as usize)).count();
    let mut kept = rows[..rows.len().min(same + 1)].iter().rposition(opens)?;
    // a heading that may have changed is looked at from the section before
    if !is_heading(text, rows[kept].start as usize) {
        kept = rows[..kept].iter().rposition(opens)?;
    }
    let start = rows[kept].start as usize;

    let bytes = text.len() as i64 - ends(rows.last()?) as i64;
    let moved = |row: &Row| usize::try_from(row.start as i64 + bytes).unwrap_or(0);
    let behind = rows[kept + 1..].iter().rev();
    let behind = behind.take_while(|row| moved(row) > start && is_same(row, moved(row))).count();
    let rest = rows.len() - behind;
    let rest = rest + rows[rest..].iter().position(opens).unwrap_or(behind);
    let again = rows.get(rest).map(moved);
    let end = match again {
        None => text.len(),
        Some(at) if is_heading(text, at) => heading_end(text, at),
        // the underline may be some lines below
        Some(at) => at + rows[rest].length as usize,
    };
    let part = text.get(start..end).map(|_| start..end)?;
    Some(Bounds { kept, rest, bytes, part, again })
}

/// Finds out what of a note changed since its documents were as `rows` say; none where all of it
/// must be read, or the caller asks to stop.
pub(super) fn edited(
    text: &str,
    rows: &[Row],
    labels: &Terms,
    interrupt: Interrupt<'_>,
) -> Option<Edited> {
    let Bounds { kept, rest, bytes, part, again } = bounds(text, rows)?;
    let start = part.start;
    let (front, begin) = front(text);
    let fenced = text.trim_start_matches('\u{feff}').starts_with("---");
    // front matter that ends elsewhere, or was none before
    if begin > start || fenced && !(4..=start).contains(&begin) || front.by_item {
        return None;
    }
    // what has sections below it may be no document
    let before = rows[..kept].iter().rposition(opens)?;
    if behind_meta(&text[rows[before].start as usize..start]).is_some_and(str::is_empty) {
        return None;
    }
    let note = parse_part(text, part.clone(), front, interrupt).ok()?;
    if note.sections.first()?.span.start != start {
        return None;
    }
    let count = note.sections.len() - usize::from(again.is_some());
    // which sections are joined depends on how many there are
    let sections = |rows: &[Row]| rows.iter().filter(|row| opens(row)).count();
    if rows.len() + count > MAX_SECTIONS
        && sections(rows).max(sections(&rows[..kept]) + count + sections(&rows[rest..]))
            > MAX_SECTIONS
    {
        return None;
    }
    let new = &note.sections[..count];
    if let (Some(at), Some(found)) = (again, note.sections.last())
        && (found.span.start, found.level) != (at, rows[rest].outline.level)
    {
        return None;
    }
    // a link that is defined in one place may be named in another
    let refers = |rows: &[Row]| rows.iter().any(|row| row.outline.links & REFERS > 0);
    let named = refers(&rows[..kept]) || refers(&rows[rest..]);
    let defines = rows.iter().any(|row| row.outline.links & DEFINES > 0);
    if (defines || may_define(&text[part]))
        && (named || new.iter().any(|section| may_refer(section, text)))
    {
        return None;
    }
    let title = title(&note, count, [&rows[..kept], rows, &rows[rest..]], labels)?;
    // the summary is sought in the first sections of level 1
    let in_kept = rows[..kept].iter().any(|row| row.outline.level > 1);
    let is_ended = in_kept || note.sections[0].level > 1 && rows[kept].outline.level > 1;
    if note.front.summary.is_none() && !is_ended {
        return None;
    }

    let mut open = Vec::new();
    let opening = |at: usize, row: Option<usize>| {
        let outline = rows[at].outline;
        Open { level: outline.level, row, hands_down: outline.hands_down > 0 }
    };
    for at in (0..kept).filter(|&at| opens(&rows[at])) {
        enter(&mut open, opening(at, Some(at)));
    }
    let mut were = open.clone();
    for at in (kept..rest).filter(|&at| opens(&rows[at])) {
        enter(&mut were, opening(at, None));
    }
    open.retain(|open| open.level < note.sections[0].level);
    if open.iter().any(|open| open.hands_down) {
        return None;
    }
    let heading = |open: &Open| Some((open.level, own(&rows[open.row?], labels).to_owned()));
    let above: Vec<(u8, String)> = open.iter().filter_map(heading).collect();
    for section in new {
        let hands_down = hands_down(section);
        enter(&mut open, Open { level: section.level, row: None, hands_down });
    }
    let from = (start, rows[kept].line);
    let mut edited = Edited { kept, rest, moved: (bytes, 0), note, count, title, above, from };
    if let Some(at) = again {
        // what stands above the rest is to be the same as well
        let row = &rows[rest];
        for open in [&mut open, &mut were] {
            enter(open, Open { level: row.outline.level, row: Some(rest), hands_down: false });
        }
        let trail = edited.cut().trail(count).join(&TRAIL.to_string());
        let handed = open.iter().any(|open| open.hands_down);
        if open != were || handed || trail != labels.text(row.trail) {
            return None;
        }
        let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[start..at]).count();
        edited.moved.1 = i64::from(from.1) + lines as i64 - i64::from(row.line);
    }
    Some(edited)
}

/// Returns the heading of a section.
fn own<'a>(row: &Row, labels: &'a Terms) -> &'a str {
    labels.text(row.trail).rsplit(TRAIL).next().unwrap_or_default()
}

/// Returns the title of a note, given the rows that are kept, all that were, and the rest; none
/// where it is another than it was.
fn title(note: &Note, count: usize, rows: [&[Row]; 3], labels: &Terms) -> Option<String> {
    let [kept, were, rest] =
        rows.map(|rows| rows.iter().find(|row| row.outline.level == 1).map(|row| own(row, labels)));
    let new = note.sections[..count].iter().find(|section| section.level == 1);
    let new = kept.or(new.map(|section| section.heading.as_str())).or(rest);
    match &note.front.title {
        Some(title) => Some(title.clone()),
        None => (new == were).then(|| new.unwrap_or_default().to_owned()),
    }
}

/// Says whether a line is a heading whatever stands above it, as long as no block is open that
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
    use crate::catalog::draft::{Draft, each_of, note};

    /// A note as the catalog knows it.
    #[derive(Debug, Default)]
    struct Known {
        rows: Vec<Row>,
        labels: Terms,
        summary: Option<String>,
    }

    impl Known {
        fn add(&mut self, draft: &Draft<'_>) -> bool {
            self.rows.push(Row {
                start: draft.start,
                hash: draft.hash,
                key: draft.key,
                time: draft.time.unwrap_or(NO_TIME),
                file: 0,
                length: draft.length,
                line: draft.line,
                trail: self.labels.intern(&draft.trail),
                role: 0,
                session: 0,
                category: self.labels.intern(&draft.category),
                outline: draft.outline,
            });
            true
        }

        /// The slow twin: reads all of it.
        fn of(text: &str) -> Self {
            let mut known = Self::default();
            let read = note("a.md", text, &|| false, &mut |draft| known.add(&draft));
            known.summary = read.unwrap();
            known
        }

        /// Reads only what is needed; returns whether that is less than all.
        fn follow(&mut self, text: &str) -> bool {
            let Some(edited) = edited(text, &self.rows, &self.labels, &|| false) else {
                *self = Self::of(text);
                return false;
            };
            let old = std::mem::take(&mut self.rows);
            self.rows.extend(&old[..edited.kept]);
            each_of("a.md", text, &edited.cut(), &mut |draft| self.add(&draft));
            self.rows.extend(old[edited.rest..].iter().map(|row| Row {
                start: row.start.saturating_add_signed(edited.moved.0),
                line: row.line.saturating_add_signed(edited.moved.1 as i32),
                ..*row
            }));
            true
        }

        fn shown(&self) -> Vec<(Row, &str, &str)> {
            let plain = |row: &Row| Row { trail: 0, category: 0, ..*row };
            let label = |id: u32| self.labels.text(id);
            self.rows.iter().map(|r| (plain(r), label(r.trail), label(r.category))).collect()
        }
    }

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
        let mut known = Known::of(text);
        known.follow(text);
        assert_eq!(known.shown(), Known::of(text).shown());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// The plain twin reads the whole note after each edit.
        #[test]
        fn what_is_read_in_part_is_what_is_read_whole(
            blocks in vec(block(), 0..16),
            edits in vec(edit(), 1..5),
        ) {
            let mut blocks = blocks;
            let mut known = Known::of(&blocks.concat());
            for (at, less, more) in edits {
                let at = at.index(blocks.len() + 1);
                blocks.splice(at..blocks.len().min(at + less), more);
                let text = blocks.concat();
                let before = format!("{:?}", known.shown());
                let in_part = known.follow(&text);
                let twin = Known::of(&text);
                prop_assert_eq!(known.shown(), twin.shown(), "{} {:?}\n{}", in_part, &text, before);
                prop_assert_eq!(&known.summary, &twin.summary);
            }
        }
    }
}
