//! Snippet of a grep match: a few hundred characters around it.

use regex_automata::Span;

/// A snippet and, as ranges of its characters, the matches in it.
pub(super) type Excerpt = (String, Vec<(usize, usize)>);

/// Cuts at most `most` characters around `first`; `…` stands where text was left out.
///
/// `next` finds the first match in a range of bytes.
pub(super) fn snippet(
    text: &str,
    first: Span,
    most: usize,
    mut next: impl FnMut(usize, usize) -> Option<Span>,
) -> Excerpt {
    let room = most.saturating_sub(2).max(1);
    // A quarter of the room before the match, more where little follows it.
    let after = text[first.start..].chars().take(room).count();
    let lead = (room / 4).max(room - after);
    let start = text[..first.start]
        .char_indices()
        .rev()
        .take(lead)
        .last()
        .map_or(first.start, |(at, _)| at);
    let end = text[start..].char_indices().nth(room).map_or(text.len(), |(at, _)| start + at);

    let cut_before = start > 0;
    let mut out = String::with_capacity(end - start + 6);
    if cut_before {
        out.push('…');
    }
    out.push_str(&text[start..end]);
    if end < text.len() {
        out.push('…');
    }

    let mut highlights = Vec::new();
    let (mut bytes, mut chars) = (start, usize::from(cut_before));
    let mut found = Some(first);
    while let Some(span) = found.filter(|span| span.start < end) {
        let stop = span.end.min(end);
        if stop > span.start {
            let from = chars + text[bytes..span.start].chars().count();
            let to = from + text[span.start..stop].chars().count();
            highlights.push((from, to));
            (bytes, chars) = (stop, to);
        }
        let from = if stop > span.start { stop } else { after_char(text, span.start) };
        found = if from < end { next(from, end) } else { None };
    }
    (out, highlights)
}

fn after_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// The beginning of a text, at most `most` characters of it.
pub(super) fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}
