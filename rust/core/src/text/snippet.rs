//! Snippet of a text: the passage that best shows why it was found, with highlights.

use std::ops::Range;

use crate::text::folded_text::{FOLD_BYTES, FoldedText};
use crate::text::language::readings::LanguageId;
use crate::text::snippet_terms::{SnippetTerms, TermMatch};

/// A passage with its matches.
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
const MAX_TEXT: usize = 1 << 18;

/// Cuts the passage of at most `width` characters that holds the weightiest different terms.
///
/// Without a match it is the beginning.
///
/// # Arguments
/// * `language`: that the words of the text are read in.
pub fn snippet(text: &str, language: LanguageId, terms: &SnippetTerms, width: usize) -> Snippet {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let matches = terms.matches_in(text, language);
    let window = best_window(text, &matches, terms.terms.len(), width);
    // with dots on both sides
    let mut out = FoldedText::with_room(window.len() + FOLD_BYTES);
    if !text[..window.start].trim().is_empty() {
        out.push("…", 0.."…".len());
        // white space behind it is left out
        out.blank = true;
    }
    let mut highlights = Vec::new();
    let mut next = matches.iter().filter(|p| p.bytes.start >= window.start).peekable();
    let mut open: Option<(usize, usize)> = None;
    let mut at = window.start;
    while at < window.end {
        while let Some(one) = next.next_if(|one| one.bytes.start <= at) {
            let end = open.map_or(0, |(_, end)| end).max(one.bytes.end);
            open = Some((open.map_or(out.count, |(start, _)| start), end));
        }
        if let Some((start, _)) = open.take_if(|(_, end)| at >= *end) {
            highlight(&mut highlights, start, out.count);
        }
        let change = next.peek().map_or(window.end, |one| one.bytes.start);
        let change = open.map_or(change, |(_, end)| change.min(end)).min(window.end);
        out.push(text, at..change);
        at = change;
    }
    if let Some((start, _)) = open {
        highlight(&mut highlights, start, out.count);
    }
    out.trim_end();
    for highlight in &mut highlights {
        highlight.1 = highlight.1.min(out.count);
    }
    if !text[window.end..].trim().is_empty() {
        out.push("…", 0.."…".len());
    }
    Snippet { text: out.into_text(), highlights, start: window.start }
}

/// Joins touching ranges, as the overlapping bigrams of one Chinese word are.
fn highlight(all: &mut Vec<(usize, usize)>, start: usize, end: usize) {
    match all.last_mut() {
        Some(last) if last.1 >= start => last.1 = end.max(last.1),
        _ if start < end => all.push((start, end)),
        _ => {}
    }
}

/// Finds the run of matches with the greatest sum over different terms, then widens it.
fn best_window(text: &str, matches: &[TermMatch], terms: usize, width: usize) -> Range<usize> {
    // two characters are kept for the dots
    let width = width.saturating_sub(2).max(1);
    let mut best = 0.0;
    let mut found = 0..0;
    let mut held = vec![0u32; terms];
    let (mut sum, mut from) = (0.0, 0);
    for (to, one) in matches.iter().enumerate() {
        held[one.term] += 1;
        if held[one.term] == 1 {
            sum += one.weight;
        }
        // bytes bound characters from above, so the passage is never too long
        while one.bytes.end - matches[from].bytes.start > width && from < to {
            let left = &matches[from];
            held[left.term] -= 1;
            if held[left.term] == 0 {
                sum -= left.weight;
            }
            from += 1;
        }
        if sum > best * 1.000_1 {
            best = sum;
            found = matches[from].bytes.start..one.bytes.end;
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
        // not at a boundary: begin with a whole word
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
    use crate::text::folded_text::is_blank;
    use crate::text::language::stems::stem;
    use crate::text::query_terms::query_terms;
    use crate::text::{segmentation, tokens};

    /// Two languages, of which one leaves out what stands before an apostrophe.
    fn languages() -> Vec<LanguageId> {
        LanguageId::all().filter(|language| ["de", "fr"].contains(&language.code())).collect()
    }

    /// Plain reference of [`SnippetTerms::matches_in`]: it looks at every word.
    fn all_matches(
        text: &str,
        language: LanguageId,
        terms: &SnippetTerms,
    ) -> Vec<(Range<usize>, usize)> {
        let mut matches = Vec::new();
        segmentation::each(text, &mut |chunk| {
            let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
            tokens::terms(chunk, &mut |term| {
                let known = |text: &str| terms.terms.get(text);
                let found = known(term.text)
                    .or_else(|| known(&stem(term.text)?))
                    .or_else(|| known(language.read(term.spelled)?.stem()));
                if let Some((number, _)) = found {
                    matches.push((start + term.range.start..start + term.range.end, *number));
                }
            });
        });
        matches.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        matches
    }

    /// Returns a text with its white space folded, and in it what the matches cover.
    fn folded(text: &str, start: usize, matches: &[(Range<usize>, usize)]) -> Snippet {
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
            if matches.iter().any(|(bytes, _)| bytes.start >= start && bytes.contains(&at)) {
                highlight(&mut shown.highlights, count, count + 1);
            }
        }
        shown.text.truncate(shown.text.trim_end_matches(' ').len());
        shown
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_match_is_found_and_highlighted(
            text in "([a-zA-Z]{1,5}|[a-z]{2,4}|[aäß'’0-9_.:#+/@-]|e\u{301}|went|Gone|dying|[uU]sing\
                |skies|GO|aed|Aing|goes|HTTP|ﬁ|Häuser|l'eau|数据|库|数 库|ﾃﾞ|ไท|하다|“|。|…|—|\u{3000}|[ ,(*]|  |\n|\n\n){0,24}",
            terms in prop::collection::vec(
                "[a-zA-Z]{1,4}|Haus|eaux|go|die|use|sky|[ait]|数|数据|库|据库|テ|ไท|하다|fi|[a-z]{2}_[a-z]|[a-c]'[a-c]\
                |c\\+\\+|c#|_a|[0-9]|[a-b][0-9]|[ab]/[ab]|ss|ä|a\\.b-c|e[a-z]|http", 1..5),
        ) {
            let mut snippet_terms = SnippetTerms::default();
            let terms: Vec<(&str, f32)> = terms.iter().map(|term| (term.as_str(), 1.0)).collect();
            for term in query_terms(&terms, &languages(), |word| stem(word).map(Cow::into_owned)) {
                snippet_terms.add(&term.text, 1.0);
                term.stem.iter().for_each(|stem| snippet_terms.add(stem, 1.0));
                term.readings.iter().for_each(|one| snippet_terms.add(one.stem(), 1.0));
            }
            snippet_terms.read_in(languages());
            for language in languages().into_iter().chain([LanguageId::BY_WORD]) {
                let all = all_matches(&text, language, &snippet_terms);
                for _ in 0..2 {
                    // the second time it remembers
                    let matches = snippet_terms.matches_in(&text, language);
                    let matches = matches.into_iter().map(|one| (one.bytes, one.term));
                    prop_assert_eq!(&matches.collect::<Vec<_>>(), &all);
                }
                let shown = snippet(&text, language, &snippet_terms, 10_000);
                prop_assert_eq!(&shown, &folded(&text, shown.start, &all));
            }
        }
    }

    fn of(terms: &[&str]) -> SnippetTerms {
        let mut snippet_terms = SnippetTerms::default();
        terms.iter().for_each(|term| snippet_terms.add(term, 1.0));
        snippet_terms
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        let cut = |&(start, end): &(usize, usize)| {
            snippet.text.chars().skip(start).take(end - start).collect()
        };
        snippet.highlights.iter().map(cut).collect()
    }

    #[test]
    fn the_densest_passage_is_shown_and_highlighted() {
        let text =
            format!("{} red fox\nand the   blue hen. {}", "x ".repeat(400), "y ".repeat(400));
        let snippet = snippet(&text, LanguageId::BY_WORD, &of(&["red", "hen"]), 60);
        assert!(snippet.text.chars().count() <= 60, "{snippet:?}");
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(snippet.text.contains("red fox and the blue hen."));
        assert_eq!(marked(&snippet), ["red", "hen"]);
    }

    #[test]
    fn boundaries_are_characters() {
        for width in 1..40 {
            let shown =
                snippet(&"日本語の文章が続く。".repeat(30), LanguageId::BY_WORD, &of(&[]), width);
            assert!(shown.text.chars().count() <= width.max(3), "{width} {shown:?}");
        }
        assert_eq!(snippet("", LanguageId::BY_WORD, &of(&["a"]), 10), Snippet::default());
    }
}
