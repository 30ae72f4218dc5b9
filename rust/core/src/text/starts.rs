//! How the words that are sought begin: it spares most words of a text a closer look.

use std::sync::LazyLock;

use crate::text::stems::irregular;

/// Irregular forms that do not begin as their stem does.
static OTHER_STARTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let begins_otherwise = |(form, stem): &(&str, String)| {
        let mut starts = Starts { triples: [[0; 26]; 26] };
        starts.note(stem);
        !starts.may_begin(form.as_bytes())
    };
    let mut other: Vec<(&str, String)> = irregular().filter(begins_otherwise).collect();
    other.sort_unstable();
    other
});

/// How the words that are sought begin, and their other forms: most words of a text can be told
/// from them by three letters, without folding and stemming.
#[derive(Debug, Clone)]
pub struct Starts {
    /// For each pair of letters, one bit for each third one.
    triples: [[u32; 26]; 26],
}

impl Starts {
    /// Notes how these words and stems begin.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut starts = Self { triples: [[0; 26]; 26] };
        for text in texts {
            starts.note(text);
            // bought begins as buy does, but went not as go
            for (form, _) in OTHER_STARTS.iter().filter(|(_, stem)| stem == text) {
                starts.note(form);
            }
        }
        starts
    }

    fn note(&mut self, text: &str) {
        // the stem of using is use: of short ones, the last letter is not sure
        let third = |third: Option<usize>| match third.filter(|_| text.len() > 3) {
            Some(third) => 1 << third,
            None => u32::MAX,
        };
        match front(text.as_bytes()) {
            (Some(first), Some(second), last) => self.triples[first][second] |= third(last),
            (Some(first), None, _) if text.len() == 1 => self.triples[first] = [u32::MAX; 26],
            // what begins otherwise passes anyway
            _ => {}
        }
    }

    /// Says whether one of the words of an ASCII chunk may be sought: a word begins at its front,
    /// with a capital, or behind what is no letter.
    pub fn may_stand_in(&self, chunk: &str) -> bool {
        let bytes = chunk.as_bytes();
        let is = |at: usize, what: fn(&u8) -> bool| bytes.get(at).is_some_and(what);
        let mut joined = false;
        (0..bytes.len()).any(|at| {
            let begins = !joined || is(at, u8::is_ascii_uppercase);
            joined = is(at, u8::is_ascii_alphanumeric);
            // the x of xMax and the A of ABit are words of one letter
            let alone = is(at + 1, u8::is_ascii_uppercase)
                && (!is(at, u8::is_ascii_uppercase) || is(at + 2, u8::is_ascii_lowercase));
            begins && joined && (alone || self.may_begin(&bytes[at..]))
        })
    }

    /// Says whether a word may be one of those sought.
    #[inline]
    pub fn may_begin(&self, word: &[u8]) -> bool {
        match front(word) {
            (Some(first), Some(second), Some(third)) => {
                self.triples[first][second] >> third & 1 == 1
            }
            (Some(first), Some(second), None) => self.triples[first][second] != 0,
            _ => true,
        }
    }
}

/// Returns the first three letters, as numbers from 0, as far as they are English letters.
#[inline]
fn front(word: &[u8]) -> (Option<usize>, Option<usize>, Option<usize>) {
    let letter = |at: usize| {
        let letter = word.get(at)?.to_ascii_lowercase().wrapping_sub(b'a');
        (letter < 26).then_some(usize::from(letter))
    };
    // the stemmer turns a y into an i, as in dying
    let inner = |at: usize| letter(at).map(|l| if l == 24 { 8 } else { l });
    (letter(0), inner(1), inner(2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::stems::stem;
    use crate::text::tokens::{chunks, terms_like};

    proptest! {
        #[test]
        fn words_that_begin_otherwise_are_all_that_is_left_out(
            text in "([a-zA-Z]{1,5}|[aäß'’0-9_.:#+/-]|went|Gone|dying|[uU]sing|skies|数据|  |\n){0,24}",
            sought in prop::collection::vec("[a-z]{1,4}|go|die|use|sky|数|[a-z]{2}_[a-z]", 1..4),
        ) {
            let starts = Starts::of(sought.iter().map(String::as_str));
            let found = |starts: Option<&Starts>| {
                let mut found = Vec::new();
                chunks(&text, &mut |chunk| {
                    terms_like(chunk, starts, &mut |term| {
                        let is_sought = |text: &str| sought.iter().any(|word| word == text);
                        if is_sought(term.text) || stem(term.text).is_some_and(|s| is_sought(&s)) {
                            found.push((chunk.to_owned(), term.range));
                        }
                    });
                });
                found
            };
            prop_assert_eq!(found(Some(&starts)), found(None));
        }
    }

    #[test]
    fn a_word_begins_as_its_stem_does() {
        // every form that a stop list, an irregular verb or an English ending can give
        let endings =
            ["", "s", "es", "ed", "ing", "ies", "ied", "y", "ly", "ation", "ability", "er"];
        let fronts = include_str!("words/irregular_en.txt").split_whitespace();
        let tried = fronts.flat_map(|front| {
            (1..=front.len()).flat_map(move |end| endings.map(|e| format!("{}{e}", &front[..end])))
        });
        for word in tried {
            if let Some(stem) = stem(&word) {
                let starts = Starts::of(std::iter::once(&*stem));
                assert!(starts.may_begin(word.as_bytes()), "{word} {stem}");
            }
        }
    }
}
