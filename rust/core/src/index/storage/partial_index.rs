//! Documents read by one thread with dictionaries of its own, and how these join those of another.

use std::borrow::Cow;

use crate::index::bm25f::Lengths;
use crate::index::dictionary::lexicon::{Document, Lexicon, Place};
use crate::index::postings::tf_profiles::Spelling;

/// A concept above its pattern: so they sort as numbers.
pub(crate) type Key = u64;

/// Marks a key that is translated already; no concept has so high a number.
const DONE: Key = 1 << 63;

fn key(&(concept, pattern): &(u32, u32)) -> Key {
    Key::from(concept) << 32 | Key::from(pattern)
}

pub(crate) fn unkey(key: Key) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// What a document holds.
pub(crate) type Held<'a> = &'a [Key];

/// See the module.
#[derive(Debug, Default)]
pub struct Run {
    /// The dictionaries.
    pub lexicon: Lexicon,
    /// What the documents hold, one after the other: the system takes one large array back at once,
    /// but of a hundred thousand small ones the allocator keeps most.
    keys: Vec<Key>,
    /// Where each document ends in `keys`.
    ends: Vec<usize>,
    /// The field lengths of each document.
    lengths: Vec<Lengths>,
}

/// Adds to an array that may be most of the memory: doubling it would ask for twice what it holds.
fn grow<T>(array: &mut Vec<T>, more: usize) {
    if array.capacity() - array.len() < more {
        array.reserve_exact(more.max(array.len() / 4).max(1 << 10));
    }
}

impl Run {
    /// Gives its documents the dictionaries that they were read with.
    pub(crate) fn with(self, lexicon: Lexicon) -> Self {
        Self { lexicon, ..self }
    }

    /// Adds a document.
    pub fn push(&mut self, document: &Document) {
        grow(&mut self.keys, document.concepts.len());
        grow(&mut self.ends, 1);
        grow(&mut self.lengths, 1);
        self.keys.extend(document.concepts.iter().map(key));
        self.ends.push(self.keys.len());
        self.lengths.push(document.lengths);
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of postings.
    pub(crate) fn postings(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = Held<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.keys[std::mem::replace(&mut start, end)..end])
    }

    /// Hands out the field lengths of its documents.
    pub(crate) fn take_lengths(&mut self) -> impl Iterator<Item = Lengths> + use<> {
        std::mem::take(&mut self.lengths).into_iter()
    }

    /// Leaves only those words in its dictionaries of which `is_used` holds.
    pub(crate) fn forget_words(&mut self, is_used: impl Fn(u32) -> bool) {
        let mut used = vec![false; self.lexicon.concepts()];
        self.keys.iter().for_each(|&posting| used[unkey(posting).0 as usize] = true);
        let mut lexicon = Lexicon::default();
        self.translate(&mut lexicon, |concept, word| used[concept as usize] && is_used(word));
        self.lexicon = lexicon;
    }

    /// Translates everything into the numbers of another lexicon, which takes over the words of
    /// which `is_used` holds.
    pub(crate) fn translate(&mut self, lexicon: &mut Lexicon, is_used: impl Fn(u32, u32) -> bool) {
        let own = std::mem::take(&mut self.lexicon);
        let translation = Translation::new(lexicon, &own, is_used);
        let (first, second) = self.ends.split_at(self.ends.len() / 2);
        let middle = first.last().copied().unwrap_or(0);
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
fn finish(keys: &mut [Key], ends: &[usize], before: usize) {
    let mut start = 0;
    for &end in ends {
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
    /// Lets a lexicon take over patterns and words of another.
    fn new(lexicon: &mut Lexicon, other: &Lexicon, is_used: impl Fn(u32, u32) -> bool) -> Self {
        let mut translation = Self {
            concepts: vec![0; other.concepts()],
            spellings: vec![None; other.concepts()],
            patterns: Vec::with_capacity(other.patterns.len()),
        };
        for concept in 0..other.concepts() as u32 {
            let stem = other.stem_of(concept);
            let words = other.spellings(concept).into_iter().map(|word| {
                is_used(concept, word).then(|| {
                    let id = lexicon.intern_by(other.words.text(word), || stem.map(Cow::Borrowed));
                    lexicon.places[id as usize]
                })
            });
            let places: Vec<Option<Place>> = words.collect();
            let Some(first) = places.iter().flatten().next() else { continue };
            translation.concepts[concept as usize] = first.concept;
            let mut numbers = places.iter().map(|place| place.unwrap_or(*first).spelling);
            if numbers.clone().zip(0..).any(|(number, at)| number != at) {
                let numbers = numbers.by_ref().map(|number| number as u16).collect();
                translation.spellings[concept as usize] = Some(numbers);
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
                        // of a snapshot that does not fit together there may be fewer
                        let number = numbers.get(spelling.number as usize);
                        spelling.number = number.copied().unwrap_or(0);
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
