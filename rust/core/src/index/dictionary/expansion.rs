//! Which terms begin so, or differ by a typo: an automaton walked over the dictionary.
//!
//! The dictionary of words is a finite-state set (crate `fst`), made when first asked for. Words
//! that came after that are few and are tried one by one.

use fst::automaton::{Automaton, Levenshtein, Str};
use fst::{IntoStreamer, Set, SetBuilder, Streamer};

use crate::error::{Error, Interrupt, Result, wait_for};
use crate::index::Index;
use crate::index::dictionary::interner::Terms;
use crate::sync::Mutex;

/// Most words that one pattern stands for.
pub const MOST_WORDS: usize = 256;
/// Most postings of these words, over all patterns of a query.
pub const MOST_POSTINGS: u32 = 1 << 20;

/// Returns those of some words, by number, that stand in most documents and together hold no more
/// than so many postings, the commonest first, and how many these are; of equal ones the first in
/// alphabetical order. The commonest is always among them: it takes no longer than a query for it.
pub fn commonest(index: &Index, mut words: Vec<u32>, postings: u32) -> (Vec<u32>, u32) {
    let lexicon = index.words();
    let order = |&a: &u32, &b: &u32| {
        let holders = index.word_holders(b).cmp(&index.word_holders(a));
        holders.then_with(|| lexicon.words.text(a).cmp(lexicon.words.text(b)))
    };
    if words.len() > MOST_WORDS {
        words.select_nth_unstable_by(MOST_WORDS, order);
        words.truncate(MOST_WORDS);
    }
    words.sort_unstable_by(order);
    let (mut used, commonest) = (0u32, words.first().copied());
    // its list is that of its stem
    words.retain(|&word| {
        let sum = used.saturating_add(index.holders(index.place(word).concept).any);
        let fits = sum <= postings || Some(word) == commonest;
        used = if fits { sum } else { used };
        fits
    });
    (words, used)
}

/// Terms that are looked at before it is asked whether to stop.
const STEP: usize = 4096;

/// The set over the first so many terms, kept between calls.
#[derive(Debug, Default)]
pub struct Expander {
    set: Mutex<Option<(usize, Set<Vec<u8>>)>>,
}

impl Expander {
    /// Returns the terms that begin with `stem`.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn prefix(&self, terms: &Terms, stem: &str, interrupt: Interrupt<'_>) -> Result<Vec<u32>> {
        self.matching(terms, &Str::new(stem).starts_with(), interrupt)
    }

    /// Returns the terms that are at most `typos` insertions, deletions or changes away.
    ///
    /// A word too long for the automaton stands only for itself.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn fuzzy(
        &self,
        terms: &Terms,
        word: &str,
        typos: u8,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<u32>> {
        match Levenshtein::new(word, u32::from(typos)) {
            Ok(automaton) => self.matching(terms, &automaton, interrupt),
            Err(_) => Ok(terms.get(word).into_iter().collect()),
        }
    }

    fn matching(
        &self,
        terms: &Terms,
        automaton: &impl Automaton,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<u32>> {
        let mut kept = wait_for(interrupt, |slice| self.set.try_lock_for(slice))?;
        // a dictionary that shrank is another one
        let covered = kept.as_ref().map_or(0, |(covered, _)| *covered);
        if covered > terms.len() || terms.len() - covered > 4096 + covered / 8 {
            *kept = set(terms, interrupt)?.map(|set| (terms.len(), set));
        }
        let mut found = Vec::new();
        let covered = kept.as_ref().map_or(0, |(covered, _)| *covered);
        if let Some((_, set)) = kept.as_ref() {
            let mut stream = set.search(automaton).into_stream();
            while let Some(text) = stream.next() {
                found.extend(std::str::from_utf8(text).ok().and_then(|text| terms.get(text)));
                if found.len() % STEP == 1 && interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        let later = covered as u32..terms.len() as u32;
        found.extend(later.filter(|&id| accepts(automaton, terms.text(id))));
        Ok(found)
    }

    /// Forgets the set: the dictionary has been numbered anew.
    pub fn reset(&self) {
        *self.set.lock() = None;
    }
}

/// Makes the set; it is asked whether to stop between the first letters.
fn set(terms: &Terms, interrupt: Interrupt<'_>) -> Result<Option<Set<Vec<u8>>>> {
    let mut by_letter: Vec<Vec<&str>> = vec![Vec::new(); 256];
    for id in 0..terms.len() as u32 {
        let text = terms.text(id);
        by_letter[usize::from(text.bytes().next().unwrap_or(0))].push(text);
    }
    let mut builder = SetBuilder::memory();
    for mut texts in by_letter {
        texts.sort_unstable();
        for some in texts.chunks(STEP) {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            if builder.extend_iter(some).is_err() {
                return Ok(None);
            }
        }
    }
    Ok(Some(builder.into_set()))
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn who_asks_to_stop_is_heard_while_the_set_is_made_and_walked() {
        let mut terms = Terms::default();
        for n in 0..2 * STEP {
            terms.intern(&format!("a{n}"));
        }
        let run = |stop_at: usize| {
            let asked = AtomicUsize::new(0);
            let interrupt = || asked.fetch_add(1, Ordering::Relaxed) == stop_at;
            let found = Expander::default().prefix(&terms, "a", &interrupt);
            (found.map(|found| found.len()), asked.into_inner())
        };
        let (found, asked) = run(usize::MAX);
        assert_eq!(found.unwrap(), 2 * STEP);
        assert!(asked >= 4, "{asked}");
        assert!((0..asked).all(|at| matches!(run(at).0, Err(Error::Interrupted))));
    }

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
        assert_eq!(text(expander.prefix(&terms, "sea", &|| false).unwrap()), ["sea", "search"]);
        assert_eq!(text(expander.fuzzy(&terms, "serch", 1, &|| false).unwrap()), ["search"]);
        assert_eq!(text(expander.prefix(&terms, "数", &|| false).unwrap()), ["数据"]);
        terms.intern("seal");
        let found = expander.prefix(&terms, "seal", &|| false).unwrap();
        assert_eq!(found, [terms.get("seal").unwrap()]);
        assert!(expander.fuzzy(&terms, &"x".repeat(3000), 2, &|| false).unwrap().is_empty());
    }
}
