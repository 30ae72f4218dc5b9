//! Which terms begin so, or differ by a typo: an automaton walked over the dictionary.
//!
//! The dictionary of words is a finite-state set (crate `fst`), made when first asked for. Words
//! that came after that are few and are tried one by one.

use fst::automaton::{Automaton, Levenshtein, Str};
use fst::{IntoStreamer, Set, Streamer};

use super::terms::Terms;

use crate::sync::Mutex;

/// Most terms that one pattern stands for; the first in alphabetical order are taken.
pub const MOST: usize = 1024;

/// The set over the first so many terms, kept between calls.
#[derive(Debug, Default)]
pub struct Expander {
    set: Mutex<Option<(usize, Set<Vec<u8>>)>>,
}

impl Expander {
    /// Returns the terms that begin with `stem`.
    pub fn prefix(&self, terms: &Terms, stem: &str) -> Vec<u32> {
        self.matching(terms, &Str::new(stem).starts_with())
    }

    /// Returns the terms that are at most `typos` insertions, deletions or changes away.
    ///
    /// A word too long for the automaton stands only for itself.
    pub fn fuzzy(&self, terms: &Terms, word: &str, typos: u8) -> Vec<u32> {
        match Levenshtein::new(word, u32::from(typos)) {
            Ok(automaton) => self.matching(terms, &automaton),
            Err(_) => terms.get(word).into_iter().collect(),
        }
    }

    fn matching(&self, terms: &Terms, automaton: &impl Automaton) -> Vec<u32> {
        let mut kept = self.set.lock();
        // a dictionary that shrank is another one
        let covered = kept.as_ref().map_or(0, |(covered, _)| *covered);
        if covered > terms.len() || terms.len() - covered > 4096 + covered / 8 {
            *kept = set(terms).map(|set| (terms.len(), set));
        }
        let mut found = Vec::new();
        let covered = kept.as_ref().map_or(0, |(covered, _)| *covered);
        if let Some((_, set)) = kept.as_ref() {
            let mut stream = set.search(automaton).into_stream();
            while let Some(text) = stream.next() {
                found.extend(std::str::from_utf8(text).ok().and_then(|text| terms.get(text)));
                if found.len() == MOST {
                    break;
                }
            }
        }
        for id in covered as u32..terms.len() as u32 {
            if found.len() < MOST && accepts(automaton, terms.text(id)) {
                found.push(id);
            }
        }
        found
    }

    /// Forgets the set: the dictionary has been numbered anew.
    pub fn reset(&self) {
        *self.set.lock() = None;
    }
}

fn set(terms: &Terms) -> Option<Set<Vec<u8>>> {
    let mut sorted: Vec<&str> = (0..terms.len() as u32).map(|id| terms.text(id)).collect();
    sorted.sort_unstable();
    Set::from_iter(sorted).ok()
}

fn accepts<A: Automaton>(automaton: &A, text: &str) -> bool {
    let mut state = automaton.start();
    for &byte in text.as_bytes() {
        if !automaton.can_match(&state) {
            return false;
        }
        state = automaton.accept(&state, byte);
    }
    automaton.is_match(&state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_typos_are_found_in_old_and_new_terms() {
        let mut terms = Terms::default();
        for term in ["search", "seek", "sea", "数据"] {
            terms.intern(term);
        }
        let expander = Expander::default();
        let text = |ids: Vec<u32>| {
            let mut texts: Vec<String> = ids.iter().map(|&id| terms.text(id).to_owned()).collect();
            texts.sort();
            texts
        };
        assert_eq!(text(expander.prefix(&terms, "sea")), ["sea", "search"]);
        assert_eq!(text(expander.fuzzy(&terms, "serch", 1)), ["search"]);
        assert_eq!(text(expander.prefix(&terms, "数")), ["数据"]);
        terms.intern("seal");
        let found = expander.prefix(&terms, "seal");
        assert_eq!(found, [terms.get("seal").unwrap()]);
        assert!(expander.fuzzy(&terms, &"x".repeat(3000), 2).is_empty());
    }
}
