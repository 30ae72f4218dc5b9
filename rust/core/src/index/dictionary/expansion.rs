//! Expansion of prefix and fuzzy queries: an automaton intersected with the term dictionary.
//!
//! The words of the dictionary are a finite-state set (crate `fst`), made when first needed. Words
//! that were added after that are few and are tried one by one.

use fst::automaton::{Automaton, Levenshtein, Str};
use fst::{IntoStreamer, Set, SetBuilder, Streamer};

use crate::error::{Error, Interrupt, Result, wait_for};
use crate::index::dictionary::interner::Interner;
use crate::sync::Mutex;
use crate::text::language::SEPARATOR;

/// Terms between two checks for an interrupt.
const INTERRUPT_STEP: usize = 4096;

/// The finite-state set over the first terms of a dictionary, kept between queries.
#[derive(Debug, Default)]
pub struct Expander {
    /// How many terms it covers, and the set.
    set: Mutex<Option<(usize, Set<Vec<u8>>)>>,
}

impl Expander {
    /// Returns the terms that begin with `prefix`.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn prefix(
        &self,
        terms: &Interner,
        prefix: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<u32>> {
        self.matching(terms, &Str::new(prefix).starts_with(), interrupt)
    }

    /// Returns the terms that are at most `typos` insertions, deletions or changes away.
    ///
    /// A word that is too long for the automaton is expanded to itself only.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn fuzzy(
        &self,
        terms: &Interner,
        word: &str,
        typos: u8,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<u32>> {
        if !word.is_ascii() {
            return self.matching(terms, &WordOf(CharLevenshtein::new(word, typos)), interrupt);
        }
        match Levenshtein::new(word, u32::from(typos)) {
            Ok(automaton) => self.matching(terms, &WordOf(automaton), interrupt),
            Err(_) => Ok(terms.get(word).into_iter().collect()),
        }
    }

    fn matching(
        &self,
        terms: &Interner,
        automaton: &impl Automaton,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<u32>> {
        let mut cached = wait_for(interrupt, |slice| self.set.try_lock_for(slice))?;
        // a dictionary that shrank is another one
        let covered = cached.as_ref().map_or(0, |(covered, _)| *covered);
        if covered > terms.len() || terms.len() - covered > 4096 + covered / 8 {
            *cached = set(terms, interrupt)?.map(|set| (terms.len(), set));
        }
        let mut found = Vec::new();
        let covered = cached.as_ref().map_or(0, |(covered, _)| *covered);
        if let Some((_, set)) = cached.as_ref() {
            let mut stream = set.search(automaton).into_stream();
            while let Some(text) = stream.next() {
                found.extend(std::str::from_utf8(text).ok().and_then(|text| terms.get(text)));
                if found.len() % INTERRUPT_STEP == 1 && interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        let later = covered as u32..terms.len() as u32;
        let matches = |text: &str| !is_marker(text) && accepts(automaton, text);
        found.extend(later.filter(|&id| matches(terms.text(id))));
        Ok(found)
    }

    /// Drops the set, after the dictionary was numbered anew.
    pub fn reset(&self) {
        *self.set.lock() = None;
    }
}

/// Makes the set; interrupts are checked between parts of the sort.
fn set(terms: &Interner, interrupt: Interrupt<'_>) -> Result<Option<Set<Vec<u8>>>> {
    let mut by_letter: Vec<Vec<&str>> = vec![Vec::new(); 256];
    for id in 0..terms.len() as u32 {
        let text = terms.text(id);
        if is_marker(text) {
            continue;
        }
        by_letter[usize::from(text.bytes().next().unwrap_or(0))].push(text);
    }
    let mut builder = SetBuilder::memory();
    for mut texts in by_letter {
        texts.sort_unstable();
        for some in texts.chunks(INTERRUPT_STEP) {
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

/// Returns whether a term stands for no word.
fn is_marker(text: &str) -> bool {
    text.starts_with(SEPARATOR)
}

/// A Levenshtein automaton by characters, for words that are not of ASCII alone: that of `fst` is
/// quicker, but forgets all characters of a word but one that begin with the same byte.
struct CharLevenshtein {
    word: Vec<char>,
    typos: u8,
}

/// How far the beginnings of the word are from what was read, and the begun character.
#[derive(Clone)]
struct CharState {
    row: Vec<u8>,
    begun: u32,
    missing: u8,
}

impl CharLevenshtein {
    fn new(word: &str, typos: u8) -> Self {
        Self { word: word.chars().collect(), typos }
    }

    /// Returns the row behind one more character; what is too far counts as one too far.
    fn step(&self, row: &[u8], read: u32) -> Vec<u8> {
        let most = self.typos + 1;
        let mut next = Vec::with_capacity(row.len());
        let mut last = (row[0] + 1).min(most);
        next.push(last);
        for (&letter, pair) in self.word.iter().zip(row.windows(2)) {
            let changed = pair[0] + u8::from(u32::from(letter) != read);
            last = changed.min(last + 1).min(pair[1] + 1).min(most);
            next.push(last);
        }
        next
    }
}

impl Automaton for CharLevenshtein {
    type State = CharState;

    fn start(&self) -> CharState {
        let most = self.typos + 1;
        let row = (0..=self.word.len()).map(|at| u8::try_from(at).map_or(most, |at| at.min(most)));
        CharState { row: row.collect(), begun: 0, missing: 0 }
    }

    fn is_match(&self, state: &CharState) -> bool {
        state.missing == 0 && state.row.last().is_some_and(|&typos| typos <= self.typos)
    }

    fn can_match(&self, state: &CharState) -> bool {
        state.row.iter().any(|&typos| typos <= self.typos)
    }

    fn accept(&self, state: &CharState, byte: u8) -> CharState {
        let (begun, missing) = match (state.missing, byte) {
            (0, 0xf0..) => (u32::from(byte & 0x07), 3),
            (0, 0xe0..) => (u32::from(byte & 0x0f), 2),
            (0, 0xc0..) => (u32::from(byte & 0x1f), 1),
            (0, _) => (u32::from(byte), 0),
            (missing, _) => (state.begun << 6 | u32::from(byte & 0x3f), missing - 1),
        };
        let row = if missing == 0 { self.step(&state.row, begun) } else { state.row.clone() };
        CharState { row, begun, missing }
    }
}

/// Matches a term by the word that it stands for, whatever language that is read in.
struct WordOf<A>(A);

/// The state before the end of the word, and whether it matched there.
enum WordState<S> {
    Within(S),
    Behind(bool),
}

impl<A: Automaton> Automaton for WordOf<A> {
    type State = WordState<A::State>;

    fn start(&self) -> Self::State {
        WordState::Within(self.0.start())
    }

    fn is_match(&self, state: &Self::State) -> bool {
        match state {
            WordState::Within(state) => self.0.is_match(state),
            WordState::Behind(matched) => *matched,
        }
    }

    fn can_match(&self, state: &Self::State) -> bool {
        match state {
            WordState::Within(state) => self.0.can_match(state),
            WordState::Behind(matched) => *matched,
        }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        match state {
            WordState::Within(state) if char::from(byte) == SEPARATOR => {
                WordState::Behind(self.0.is_match(state))
            }
            WordState::Within(state) => WordState::Within(self.0.accept(state, byte)),
            WordState::Behind(matched) => WordState::Behind(*matched),
        }
    }
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
    fn an_interrupt_stops_making_and_searching_the_set() {
        let mut terms = Interner::default();
        for n in 0..2 * INTERRUPT_STEP {
            terms.intern(&format!("a{n}"));
        }
        let run = |stop_at: usize| {
            let checks = AtomicUsize::new(0);
            let interrupt = || checks.fetch_add(1, Ordering::Relaxed) == stop_at;
            let found = Expander::default().prefix(&terms, "a", &interrupt);
            (found.map(|found| found.len()), checks.into_inner())
        };
        let (found, checks) = run(usize::MAX);
        assert_eq!(found.unwrap(), 2 * INTERRUPT_STEP);
        assert!(checks >= 4, "{checks}");
        assert!((0..checks).all(|at| matches!(run(at).0, Err(Error::Interrupted))));
    }

    #[test]
    fn prefixes_and_typos_are_found_in_old_and_new_terms() {
        let mut terms = Interner::default();
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
        terms.intern("\u{1f}\u{1f}de");
        assert!(expander.fuzzy(&terms, "a", 1, &|| false).unwrap().is_empty());
        terms.intern("sucht\u{1f}such\u{1f}de");
        let found = expander.fuzzy(&terms, "suct", 1, &|| false).unwrap();
        assert_eq!(found, [terms.get("sucht\u{1f}such\u{1f}de").unwrap()]);
        for term in ["машину\u{1f}машин\u{1f}ru", "数据", "é"] {
            terms.intern(term);
        }
        for (word, typos, expected) in [
            ("машину", 1, 1),
            ("машыну", 1, 1),
            ("ашину", 1, 1),
            ("мамшину", 1, 1),
            ("мышыну", 1, 0),
            ("мышыну", 2, 1),
            ("数居", 1, 1),
            ("ö", 1, 1),
        ] {
            let found = expander.fuzzy(&terms, word, typos, &|| false).unwrap();
            assert_eq!(found.len(), expected, "{word}~{typos}");
        }
        terms.intern("seal");
        let found = expander.prefix(&terms, "seal", &|| false).unwrap();
        assert_eq!(found, [terms.get("seal").unwrap()]);
        assert!(expander.fuzzy(&terms, &"x".repeat(3000), 2, &|| false).unwrap().is_empty());
    }
}
