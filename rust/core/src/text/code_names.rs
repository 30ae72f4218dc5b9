//! Names in a query that it marks as code: between backticks, or with the parentheses of a call.
//!
//! Who writes "What does the `run_target` method do?" names what the answer has to be about. A span
//! of more than a few words is a command line or a sentence, and a block of code is pasted: neither
//! says which of its words is asked for.

use crate::text::segmentation::is_word;

/// Most words between two backticks.
const MAX_WORDS: usize = 4;
/// Backticks that begin and end a block of code.
const FENCE: &str = "```";

/// Returns those of the words of a query that it marks as code, in order; none where these are all.
pub fn code_names(words: &[&str]) -> Vec<String> {
    let text = words.join(" ");
    let names = marked(&text);
    // a phrase is one of the words
    if names.len() < text.split_whitespace().count() {
        names.into_iter().map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

fn marked(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((before, span)) = rest.split_once('`') {
        names.extend(calls(before));
        if let Some(block) = rest[before.len()..].strip_prefix(FENCE) {
            // one that nobody closes goes on to the end
            rest = block.split_once(FENCE).map_or("", |(_, behind)| behind);
            continue;
        }
        let closed = span.split_once('`').filter(|(inner, _)| {
            let words = inner.split_whitespace().count();
            (1..=MAX_WORDS).contains(&words)
        });
        rest = match closed {
            Some((inner, behind)) if !behind.starts_with('`') => {
                names.extend(inner.split_whitespace());
                behind
            }
            // a backtick that is text
            _ => span,
        };
    }
    names.extend(calls(rest));
    names
}

/// Returns the names before `()` in a text.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("()").filter_map(|(end, _)| {
        let before = &text[..end];
        let start = before.trim_end_matches(is_word).len();
        (start < end).then(|| &before[start..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_marks() {
        for (text, names) in [
            ("What does the `run_target` method do?", &["run_target"][..]),
            ("is `let x` the same as `x`?", &["let", "x", "x"]),
            ("how does io::main() work, and std::find()?", &["main", "find"]),
            ("调用main()函数", &["main"]),
            ("`a()` b", &["a()"]),
            ("", &[]),
            ("() f(x) it's", &[]),
            // no marks: one alone, too far apart, nothing between
            ("a ` b", &[]),
            ("`one two three four five` `six`", &["six"]),
            ("don`t one two three four `f` g", &["f"]),
            ("`` a `` b", &[]),
            ("`a`` b", &[]),
            // pasted
            ("why? ```rust\nlet a = `b`; f()\n``` in g()", &["g"]),
            ("why? ``` f()", &[]),
        ] {
            assert_eq!(marked(text), names, "{text}");
        }
        assert_eq!(code_names(&["`a`", "b()"]), Vec::<String>::new());
        assert_eq!(code_names(&["`a`", "of", "b()"]), ["a", "b"]);
    }
}
