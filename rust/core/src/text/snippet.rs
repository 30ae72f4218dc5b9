//! The passage of a text that best shows why it was found.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::sync::Mutex;
use crate::text::prefix_filter::Starts;
use crate::text::segmentation;
use crate::text::stems::with_stem;
use crate::text::tokens;

/// A passage with the places that matched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// At most the asked number of characters, white space folded, `…` where text was left out.
    pub text: String,
    /// Character ranges in `text`, ascending, not overlapping.
    pub highlights: Vec<(usize, usize)>,
    /// Byte in the source text at which the passage begins.
    pub start: usize,
}

/// Longest text that is looked at: a snippet of a 30 MB line need not read all of it.
const LONGEST: usize = 1 << 18;

/// The terms to look for, with what it takes to find them; made once a query.
#[derive(Debug, Default)]
pub struct Shown {
    /// Number and weight of each.
    terms: FxHashMap<String, (usize, f32)>,
    starts: OnceLock<Starts>,
    /// What stands in a stretch between borders: the texts that one query finds hold the same
    /// ones again and again, and to cut, fold and stem them is most of the work.
    seen: Mutex<FxHashMap<Box<str>, Vec<Place>>>,
}

/// Stretches that are remembered for a query, and the longest of them.
const MOST_SEEN: usize = 1000;
const LONGEST_SEEN: usize = 64;

impl Shown {
    /// Adds a term; of several weights the greatest counts.
    pub fn add(&mut self, term: &str, weight: f32) {
        match self.terms.get_mut(term) {
            Some((_, known)) => *known = known.max(weight),
            None => {
                self.terms.insert(term.to_owned(), (self.terms.len(), weight));
            }
        }
    }

    fn starts(&self) -> &Starts {
        self.starts.get_or_init(|| Starts::of(self.terms.keys().map(String::as_str)))
    }

    /// Says whether a text holds any of the terms.
    pub fn stand_in(&self, text: &str) -> bool {
        let mut done = 0;
        while let Some(at) = self.starts().next(text, done) {
            let around = segmentation::apart(text, done, at);
            if !self.look_at(&text[around.clone()]).is_empty() {
                return true;
            }
            done = around.end;
        }
        false
    }

    /// Returns where a text holds a term, or a word that has one for its stem.
    fn look_at(&self, text: &str) -> Vec<Place> {
        let mut places = Vec::new();
        segmentation::each(text, &mut |chunk| {
            let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
            tokens::terms_like(chunk, Some(self.starts()), &mut |term| {
                let known = |text: &str| self.terms.get(text).copied();
                let found = known(term.text).or_else(|| with_stem(term.text, known)?);
                places.extend(found.map(|(number, weight)| {
                    let bytes = start + term.range.start..start + term.range.end;
                    Place { bytes, term: number, weight }
                }));
            });
        });
        places
    }
}

/// Where a term stands.
#[derive(Debug, Clone)]
struct Place {
    bytes: Range<usize>,
    term: usize,
    weight: f32,
}

/// Cuts the passage of at most `width` characters that holds the weightiest different terms.
///
/// Without a match it is the beginning.
pub fn snippet(text: &str, sought: &Shown, width: usize) -> Snippet {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let places = places(text, sought);
    let window = best_window(text, &places, sought.terms.len(), width);
    // with dots on both sides, and room behind the last byte that may be written in vain
    let room = vec![0; window.len() + 2 * BLOCK];
    let mut line = Line { text: room, length: 0, count: 0, blank: true };
    if !text[..window.start].trim().is_empty() {
        line.push("…", 0.."…".len());
        // white space behind it is left out
        line.blank = true;
    }
    let mut highlights = Vec::new();
    let mut next = places.iter().filter(|p| p.bytes.start >= window.start).peekable();
    let mut open: Option<(usize, usize)> = None;
    let mut at = window.start;
    while at < window.end {
        while let Some(place) = next.next_if(|place| place.bytes.start <= at) {
            let end = open.map_or(0, |(_, end)| end).max(place.bytes.end);
            open = Some((open.map_or(line.count, |(start, _)| start), end));
        }
        if let Some((start, _)) = open.take_if(|(_, end)| at >= *end) {
            highlight(&mut highlights, start, line.count);
        }
        let change = next.peek().map_or(window.end, |place| place.bytes.start);
        let change = open.map_or(change, |(_, end)| change.min(end)).min(window.end);
        line.push(text, at..change);
        at = change;
    }
    if let Some((start, _)) = open {
        highlight(&mut highlights, start, line.count);
    }
    line.trim_end();
    for highlight in &mut highlights {
        highlight.1 = highlight.1.min(line.count);
    }
    if !text[window.end..].trim().is_empty() {
        line.push("…", 0.."…".len());
    }
    Snippet { text: line.into_text(), highlights, start: window.start }
}

/// Bytes that are folded at once.
const BLOCK: usize = 16;

/// Text with its white space folded.
struct Line {
    /// Room for all of it.
    text: Vec<u8>,
    /// Its bytes.
    length: usize,
    /// Its characters.
    count: usize,
    /// Whether it is empty or ends with a blank.
    blank: bool,
}

impl Line {
    /// Adds a part of a text.
    fn push(&mut self, text: &str, part: Range<usize>) {
        let mut at = part.start;
        while at < part.end {
            let most = BLOCK.min(part.end - at);
            let block = text.as_bytes()[at..].first_chunk();
            if block.is_some_and(|block| self.push_block(block, most)) {
                at += most;
                continue;
            }
            let end = at + most;
            for c in text[at..part.end].chars() {
                self.push_character(c);
                at += c.len_utf8();
                if at >= end {
                    break;
                }
            }
        }
    }

    fn push_character(&mut self, c: char) {
        let blank = is_blank(c);
        if !(blank && self.blank) {
            let c = if blank { ' ' } else { c };
            self.length += c.encode_utf8(&mut self.text[self.length..]).len();
            self.count += 1;
        }
        self.blank = blank;
    }

    /// Adds the first bytes of a block, all at once; only if they are ASCII and no two are blank.
    ///
    /// Most of a text is so, and without a branch a byte it takes a tenth of the time.
    fn push_block(&mut self, block: &[u8; BLOCK], length: usize) -> bool {
        let mut folded = *block;
        for byte in &mut folded {
            *byte = if *byte <= b' ' || *byte == 0x7f { b' ' } else { *byte };
        }
        let mut before = [if self.blank { b' ' } else { 0 }; BLOCK];
        before[1..].copy_from_slice(&folded[..BLOCK - 1]);
        let mut odd = [0; BLOCK];
        for at in 0..BLOCK {
            odd[at] = folded[at] & 0x80 | u8::from(folded[at] == b' ' && before[at] == b' ');
        }
        // what is behind the part does not count
        if u128::from_le_bytes(odd) << (8 * (BLOCK - length)) != 0 {
            return false;
        }
        self.text[self.length..][..BLOCK].copy_from_slice(&folded);
        self.length += length;
        self.count += length;
        self.blank = folded[length - 1] == b' ';
        true
    }

    fn trim_end(&mut self) {
        if self.blank && self.text[..self.length].ends_with(b" ") {
            self.length -= 1;
            self.count -= 1;
        }
    }

    fn into_text(mut self) -> String {
        self.text.truncate(self.length);
        // it is pieces of a text, cut between characters
        String::from_utf8(self.text).unwrap_or_default()
    }
}

#[inline]
fn is_blank(c: char) -> bool {
    match c.is_ascii() {
        true => c <= ' ' || c == '\u{7f}',
        false => c.is_whitespace() || c.is_control(),
    }
}

/// Joins touching ranges, as the overlapping bigrams of one Chinese word are.
fn highlight(all: &mut Vec<(usize, usize)>, start: usize, end: usize) {
    match all.last_mut() {
        Some(last) if last.1 >= start => last.1 = end.max(last.1),
        _ if start < end => all.push((start, end)),
        _ => {}
    }
}

fn places(text: &str, sought: &Shown) -> Vec<Place> {
    let starts = sought.starts();
    let mut seen = sought.seen.lock();
    if seen.is_empty() {
        seen.reserve(64);
    }
    let mut places = Vec::with_capacity(32);
    let mut done = 0;
    while let Some(at) = starts.next(text, done) {
        let around = segmentation::apart(text, done, at);
        let (start, stretch) = (around.start, &text[around.clone()]);
        done = around.end;
        let mut add = |found: &[Place]| {
            places.extend(found.iter().map(|place| {
                let bytes = start + place.bytes.start..start + place.bytes.end;
                Place { bytes, ..*place }
            }));
        };
        if let Some(found) = seen.get(stretch) {
            add(found);
            continue;
        }
        let found = sought.look_at(stretch);
        add(&found);
        if stretch.len() <= LONGEST_SEEN && seen.len() < MOST_SEEN {
            seen.insert(stretch.into(), found);
        }
    }
    places.sort_by_key(|place| (place.bytes.start, place.bytes.end));
    places
}

/// Finds the stretch of places with the greatest sum over different terms, then widens it.
fn best_window(text: &str, places: &[Place], terms: usize, width: usize) -> Range<usize> {
    // two characters are kept for the dots
    let width = width.saturating_sub(2).max(1);
    let mut best = 0.0;
    let mut found = 0..0;
    let mut held = vec![0u32; terms];
    let (mut sum, mut from) = (0.0, 0);
    for (to, place) in places.iter().enumerate() {
        held[place.term] += 1;
        if held[place.term] == 1 {
            sum += place.weight;
        }
        // bytes bound characters from above, so the passage is never too long
        while place.bytes.end - places[from].bytes.start > width && from < to {
            let left = &places[from];
            held[left.term] -= 1;
            if held[left.term] == 0 {
                sum -= left.weight;
            }
            from += 1;
        }
        if sum > best * 1.000_1 {
            best = sum;
            found = places[from].bytes.start..place.bytes.end;
        }
    }
    widen(text, found, width)
}

/// Takes in text on both sides, beginning where a line or a sentence begins if one is near.
fn widen(text: &str, found: Range<usize>, width: usize) -> Range<usize> {
    let taken = text[found.clone()].chars().count();
    let lead = width.saturating_sub(taken) / 3;
    let mut start = found.start;
    for (at, c) in text[..found.start].char_indices().rev().take(lead) {
        if c == '\n' || matches!(c, '。' | '！' | '？') {
            break;
        }
        if matches!(c, '.' | '!' | '?') && text[at + c.len_utf8()..start].starts_with(' ') {
            break;
        }
        start = at;
    }
    if start > 0 && !text[..start].ends_with(['\n', ' ', '。', '！', '？']) {
        // not at a border: begin with a whole word
        if let Some(space) = text[start..found.start].find(' ') {
            start += space + 1;
        }
    }
    let mut behind = text[start..].chars();
    let end =
        behind.nth(width).map_or(text.len(), |c| text.len() - behind.as_str().len() - c.len_utf8());
    let whole = match text[start..end].rfind([' ', '\n']) {
        Some(space) if end < text.len() && start + space >= found.end => start + space,
        _ => end,
    };
    start..whole.max(found.end.min(end))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::text::query_terms::terms_of;
    use crate::text::stems::stem;

    /// Does what [`places`] does, and looks at every word.
    fn all_places(text: &str, sought: &Shown) -> Vec<(Range<usize>, usize)> {
        let mut places = Vec::new();
        segmentation::each(text, &mut |chunk| {
            let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
            tokens::terms(chunk, &mut |term| {
                let known = |text: &str| sought.terms.get(text);
                if let Some((number, _)) = known(term.text).or_else(|| known(&stem(term.text)?)) {
                    places.push((start + term.range.start..start + term.range.end, *number));
                }
            });
        });
        places.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        places
    }

    /// Returns a text with its white space folded, and in it the stretches that places cover.
    fn folded(text: &str, start: usize, places: &[(Range<usize>, usize)]) -> Snippet {
        let dots = if text[..start].trim().is_empty() { "" } else { "…" };
        let mut shown = Snippet { text: dots.to_owned(), start, ..Snippet::default() };
        let mut blank = true;
        for (at, c) in text.char_indices().filter(|(at, _)| *at >= start) {
            if is_blank(c) && blank {
                continue;
            }
            blank = is_blank(c);
            let count = shown.text.chars().count();
            shown.text.push(if blank { ' ' } else { c });
            if places.iter().any(|(bytes, _)| bytes.start >= start && bytes.contains(&at)) {
                highlight(&mut shown.highlights, count, count + 1);
            }
        }
        shown.text.truncate(shown.text.trim_end_matches(' ').len());
        shown
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_place_is_missed_and_all_are_marked(
            text in "([a-zA-Z]{1,5}|[a-z]{2,4}|[aäß'’0-9_.:#+/@-]|e\u{301}|went|Gone|dying|[uU]sing\
                |skies|GO|aed|Aing|goes|HTTP|ﬁ|数据|库|数 库|ﾃﾞ|ไท|하다|“|。|…|—|\u{3000}|[ ,(*]|  |\n|\n\n){0,24}",
            terms in prop::collection::vec(
                "[a-zA-Z]{1,4}|go|die|use|sky|[ait]|数|数据|库|据库|テ|ไท|하다|fi|[a-z]{2}_[a-z]|[a-c]'[a-c]\
                |c\\+\\+|c#|_a|[0-9]|[a-b][0-9]|[ab]/[ab]|ss|ä|a\\.b-c|e[a-z]|http", 1..5),
        ) {
            let mut sought = Shown::default();
            let terms: Vec<(&str, f32)> = terms.iter().map(|term| (term.as_str(), 1.0)).collect();
            for term in terms_of(&terms, |word| stem(word).map(Cow::into_owned)) {
                sought.add(&term.text, 1.0);
                term.stem.iter().for_each(|stem| sought.add(stem, 1.0));
            }
            let all = all_places(&text, &sought);
            for _ in 0..2 {
                // the second time it remembers
                let places = places(&text, &sought).into_iter().map(|place| (place.bytes, place.term));
                prop_assert_eq!(&places.collect::<Vec<_>>(), &all);
            }
            let shown = snippet(&text, &sought, 10_000);
            prop_assert_eq!(&shown, &folded(&text, shown.start, &all));
        }
    }

    fn sought(terms: &[&str]) -> Shown {
        let mut sought = Shown::default();
        terms.iter().for_each(|term| sought.add(term, 1.0));
        sought
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        let cut = |&(start, end): &(usize, usize)| {
            snippet.text.chars().skip(start).take(end - start).collect()
        };
        snippet.highlights.iter().map(cut).collect()
    }

    #[test]
    fn the_densest_passage_is_shown_and_marked() {
        let text =
            format!("{} red fox\nand the   blue hen. {}", "x ".repeat(400), "y ".repeat(400));
        let snippet = snippet(&text, &sought(&["red", "hen"]), 60);
        assert!(snippet.text.chars().count() <= 60, "{snippet:?}");
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(snippet.text.contains("red fox and the blue hen."));
        assert_eq!(marked(&snippet), ["red", "hen"]);
    }

    #[test]
    fn borders_are_characters() {
        for width in 1..40 {
            let shown = snippet(&"日本語の文章が続く。".repeat(30), &sought(&[]), width);
            assert!(shown.text.chars().count() <= width.max(3), "{width} {shown:?}");
        }
        assert_eq!(snippet("", &sought(&["a"]), 10), Snippet::default());
    }
}
