//! The passage of a text that best shows why it was found.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::text::starts::Starts;
use crate::text::stems::stem;
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
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Number and weight of each.
    terms: FxHashMap<String, (usize, f32)>,
    starts: OnceLock<Starts>,
}

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
}

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
    let window = best_window(text, &places, width);
    let mut snippet = Snippet {
        text: String::with_capacity(window.len() + 8),
        start: window.start,
        ..Snippet::default()
    };
    let ellipsis_before = !text[..window.start].trim().is_empty();
    let ellipsis_after = !text[window.end..].trim().is_empty();
    let mut count = 0;
    let mut push = |snippet: &mut Snippet, c: char| {
        snippet.text.push(c);
        count += 1;
        count
    };
    if ellipsis_before {
        push(&mut snippet, '…');
    }
    let mut written = snippet.text.chars().count();
    let mut next = places.iter().filter(|p| p.bytes.start >= window.start).peekable();
    let mut open: Option<(usize, usize)> = None;
    let mut blank = true;
    for (offset, c) in text[window.clone()].char_indices() {
        let at = window.start + offset;
        while let Some(place) = next.next_if(|place| place.bytes.start <= at) {
            let end = open.map_or(0, |(_, end)| end).max(place.bytes.end);
            open = Some((open.map_or(written, |(start, _)| start), end));
        }
        if let Some((start, end)) = open
            && at >= end
        {
            highlight(&mut snippet.highlights, start, written);
            open = None;
        }
        if is_blank(c) {
            if !blank {
                written = push(&mut snippet, ' ');
            }
            blank = true;
        } else {
            written = push(&mut snippet, c);
            blank = false;
        }
    }
    if let Some((start, _)) = open {
        highlight(&mut snippet.highlights, start, written);
    }
    if blank && !snippet.text.is_empty() && !snippet.text.ends_with('…') {
        snippet.text.pop();
        written -= 1;
    }
    for highlight in &mut snippet.highlights {
        highlight.1 = highlight.1.min(written);
    }
    if ellipsis_after {
        snippet.text.push('…');
    }
    snippet
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
    let mut places = Vec::new();
    tokens::chunks(text, &mut |chunk| {
        let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
        tokens::terms_like(chunk, Some(starts), &mut |term| {
            let known = |text: &str| sought.terms.get(text).copied();
            if let Some((number, weight)) = known(term.text).or_else(|| known(&stem(term.text)?)) {
                let bytes = start + term.range.start..start + term.range.end;
                places.push(Place { bytes, term: number, weight });
            }
        });
    });
    places.sort_by_key(|place| (place.bytes.start, place.bytes.end));
    places
}

/// Finds the stretch of places with the greatest sum over different terms, then widens it.
fn best_window(text: &str, places: &[Place], width: usize) -> Range<usize> {
    // two characters are kept for the dots
    let width = width.saturating_sub(2).max(1);
    let mut best = 0.0;
    let mut found = 0..0;
    let mut held: FxHashMap<usize, usize> = FxHashMap::default();
    let (mut sum, mut from) = (0.0, 0);
    for (to, place) in places.iter().enumerate() {
        let count = held.entry(place.term).or_default();
        *count += 1;
        if *count == 1 {
            sum += place.weight;
        }
        // bytes bound characters from above, so the passage is never too long
        while place.bytes.end - places[from].bytes.start > width && from < to {
            let left = &places[from];
            if let Some(count) = held.get_mut(&left.term) {
                *count -= 1;
                if *count == 0 {
                    sum -= left.weight;
                }
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
    let end = text[start..].char_indices().nth(width).map_or(text.len(), |(at, _)| start + at);
    let whole = match text[start..end].rfind([' ', '\n']) {
        Some(space) if end < text.len() && start + space >= found.end => start + space,
        _ => end,
    };
    start..whole.max(found.end.min(end))
}

#[cfg(test)]
mod tests {
    use super::*;

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
