//! Documents read by one thread with dictionaries of its own, and how these join those of another.

use std::borrow::Cow;

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
        let translation = Translation::new(lexicon, &own);
        let (first, second) = self.documents.split_at(self.documents.len() / 2);
        let middle = first.last().map_or(0, |&(end, _)| end);
        let (below, above) = self.keys.split_at_mut(middle);
        let known: &Lexicon = lexicon;
        std::thread::scope(|scope| {
            scope.spawn(|| translation.all(above, &own, |pattern| known.patterns.get(pattern)));
            translation.all(below, &own, |pattern| known.patterns.get(pattern));
        });
        // what is left needs new patterns, which only one can number
        let patterns = &mut lexicon.patterns;
        translation.all(&mut self.keys, &own, |pattern| Some(patterns.intern(pattern)));
        let (below, above) = self.keys.split_at_mut(middle);
        std::thread::scope(|scope| {
            scope.spawn(|| finish(above, second, middle));
            finish(below, first, 0);
        });
    }
}

/// Puts the postings of some documents in order, which end where they say less `before`.
fn finish(keys: &mut [Key], documents: &[(usize, Lengths)], before: usize) {
    let mut start = 0;
    for &(end, _) in documents {
        let held = &mut keys[std::mem::replace(&mut start, end - before)..end - before];
        held.iter_mut().for_each(|posting| *posting ^= DONE);
        held.sort_unstable();
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
}

impl Translation {
    /// Lets a lexicon take over the words and patterns of another.
    fn new(lexicon: &mut Lexicon, other: &Lexicon) -> Self {
        let mut translation = Self {
            concepts: vec![0; other.concepts()],
            spellings: vec![None; other.concepts()],
            patterns: Vec::with_capacity(other.patterns.len()),
        };
        for concept in 0..other.concepts() {
            let stem = other.stem_of(concept as u32);
            let words = other.spellings(concept as u32).into_iter().map(|word| {
                let id = lexicon.intern_by(other.words.text(word), || stem.map(Cow::Borrowed));
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

    /// Translates the postings that are not yet translated, but for those whose pattern `number`
    /// does not know.
    fn all(
        &self,
        keys: &mut [Key],
        other: &Lexicon,
        mut number: impl FnMut(&[Spelling]) -> Option<u32>,
    ) {
        let mut spellings = Vec::new();
        for posting in keys.iter_mut().filter(|posting| **posting & DONE == 0) {
            let (concept, pattern) = unkey(*posting);
            let pattern = match &self.spellings[concept as usize] {
                None => Some(self.patterns[pattern as usize]),
                Some(numbers) => {
                    spellings.clear();
                    spellings.extend_from_slice(other.patterns.spellings(pattern));
                    for spelling in &mut spellings {
                        spelling.number = numbers[spelling.number as usize];
                    }
                    spellings.sort_unstable_by_key(|spelling| spelling.number);
                    number(&spellings)
                }
            };
            if let Some(pattern) = pattern {
                *posting = DONE | key(&(self.concepts[concept as usize], pattern));
            }
        }
    }
}
