//! Documents read by one thread with dictionaries of its own, and how these join those of another.

use super::lexicon::{Document, Lexicon, Place};
use super::patterns::Spelling;
use crate::index::bm25f::Lengths;

/// A concept above its pattern: so they sort as numbers.
pub(super) type Key = u64;

/// Marks a key that is translated already; no concept has so high a number.
const DONE: Key = 1 << 63;

fn key(&(concept, pattern): &(u32, u32)) -> Key {
    Key::from(concept) << 32 | Key::from(pattern)
}

pub(super) fn unkey(key: Key) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// What a document holds, and how long its fields are.
pub(super) type Held<'a> = (&'a [Key], Lengths);

/// See the module.
#[derive(Debug, Default)]
pub struct Run {
    /// The dictionaries.
    pub lexicon: Lexicon,
    /// What the documents hold, one after the other: the system takes one large array back at once,
    /// but of a hundred thousand small ones the allocator keeps most.
    keys: Vec<Key>,
    /// Where each document ends in `keys`, and its lengths.
    documents: Vec<(usize, Lengths)>,
}

impl Run {
    /// Adds a document.
    pub fn push(&mut self, document: &Document) {
        self.keys.extend(document.concepts.iter().map(key));
        self.documents.push((self.keys.len(), document.lengths));
    }

    /// Returns the number of documents.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = Held<'_>> {
        let mut start = 0;
        self.documents.iter().map(move |&(end, lengths)| {
            (&self.keys[std::mem::replace(&mut start, end)..end], lengths)
        })
    }

    /// Translates everything into the numbers of another lexicon, which takes over the words.
    pub(super) fn translate(&mut self, lexicon: &mut Lexicon) {
        let own = std::mem::take(&mut self.lexicon);
        let mut translation = Translation::new(lexicon, &own);
        // one by one, for they may need new patterns; then all the rest, on two threads
        for key in &mut self.keys {
            translation.respell(lexicon, &own, key);
        }
        let (first, second) = self.documents.split_at(self.documents.len() / 2);
        let middle = first.last().map_or(0, |&(end, _)| end);
        let (below, above) = self.keys.split_at_mut(middle);
        std::thread::scope(|scope| {
            scope.spawn(|| translation.rest(above, second, middle));
            translation.rest(below, first, 0);
        });
    }
}

/// How the numbers of one lexicon read in another.
#[derive(Debug)]
struct Translation {
    concepts: Vec<u32>,
    /// For concepts whose spellings have other numbers: those.
    spellings: Vec<Option<Vec<u16>>>,
    /// For all the other concepts.
    patterns: Vec<u32>,
    /// The pattern being translated.
    pattern: Vec<Spelling>,
}

impl Translation {
    /// Lets a lexicon take over the words and patterns of another.
    fn new(lexicon: &mut Lexicon, other: &Lexicon) -> Self {
        let mut translation = Self {
            concepts: vec![0; other.concepts()],
            spellings: vec![None; other.concepts()],
            patterns: Vec::with_capacity(other.patterns.len()),
            pattern: Vec::new(),
        };
        for concept in 0..other.concepts() {
            let words = other.spellings(concept as u32).into_iter().map(|word| {
                let id = lexicon.intern(other.words.text(word));
                lexicon.places[id as usize]
            });
            let places: Vec<Place> = words.collect();
            translation.concepts[concept] = places.first().map_or(0, |place| place.concept);
            let moved = places.iter().enumerate().any(|(at, place)| place.spelling != at as u32);
            if moved {
                let numbers = places.iter().map(|place| place.spelling as u16).collect();
                translation.spellings[concept] = Some(numbers);
            }
        }
        for pattern in 0..other.patterns.len() as u32 {
            let pattern = lexicon.patterns.intern(other.patterns.spellings(pattern));
            translation.patterns.push(pattern);
        }
        translation
    }

    /// Translates a posting of a concept whose spellings have other numbers.
    fn respell(&mut self, lexicon: &mut Lexicon, other: &Lexicon, posting: &mut Key) {
        let (concept, pattern) = unkey(*posting);
        let Some(numbers) = &self.spellings[concept as usize] else { return };
        let spellings = &mut self.pattern;
        spellings.clear();
        spellings.extend_from_slice(other.patterns.spellings(pattern));
        for spelling in spellings.iter_mut() {
            spelling.number = numbers[spelling.number as usize];
        }
        spellings.sort_unstable_by_key(|spelling| spelling.number);
        let pattern = lexicon.patterns.intern(spellings);
        *posting = DONE | key(&(self.concepts[concept as usize], pattern));
    }

    /// Translates all other postings of some documents, which end where they say less `before`.
    fn rest(&self, keys: &mut [Key], documents: &[(usize, Lengths)], before: usize) {
        let mut start = 0;
        for &(end, _) in documents {
            let held = &mut keys[std::mem::replace(&mut start, end - before)..end - before];
            for posting in held.iter_mut() {
                let (concept, pattern) = unkey(*posting);
                *posting = match *posting & DONE {
                    0 => key(&(self.concepts[concept as usize], self.patterns[pattern as usize])),
                    done => *posting ^ done,
                };
            }
            held.sort_unstable();
        }
    }
}
