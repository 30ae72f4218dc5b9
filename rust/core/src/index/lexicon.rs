//! Text in, postings of one document out.
//!
//! A *concept* is what one posting list is about: an English stem, or anything else as it stands.
//! The *words* of a concept are its spellings. One list for all of them costs half of what a list
//! for the stem and one for each spelling would, in memory and in time.

use std::borrow::Cow;

use super::memo::Memo;
use super::patterns::{Patterns, Spelling};
use super::terms::Terms;
use crate::index::bm25f::{Counts, FIELDS, Field, Lengths};
use crate::text::chunks;
use crate::text::stems::stem;
use crate::text::tokens;

/// One document as the index takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Concept and pattern, each concept once, ascending.
    pub concepts: Vec<(u32, u32)>,
    /// Terms in each field.
    pub lengths: Lengths,
}

/// Which concept a word belongs to, and which of its spellings it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Place {
    /// The concept.
    pub concept: u32,
    /// The number of the spelling.
    pub spelling: u32,
}

/// No word.
const NONE: u32 = u32::MAX;

/// The dictionaries, and the counts of the document being read.
#[derive(Debug, Default)]
pub struct Lexicon {
    /// Words, as they are spelled but folded.
    pub words: Terms,
    /// The place of each word.
    pub places: Vec<Place>,
    /// Stems.
    pub stems: Terms,
    /// The concept of each stem.
    pub concept_of_stem: Vec<u32>,
    /// The stem of each concept, or none.
    stem_of_concept: Vec<u32>,
    /// The latest word of each concept: that of its last spelling.
    latest: Vec<u32>,
    /// The word of the spelling before, for each word.
    before: Vec<u32>,
    /// The patterns.
    pub patterns: Patterns,
    memo: Memo,
    /// Room for the words of a chunk that is not in the memo.
    fresh: Vec<u32>,
    tally: Tally,
}

/// The counts of the document being read.
#[derive(Debug, Default)]
struct Tally {
    /// For each word, its place in `counts` plus the number of the document that put it there.
    slots: Vec<(u32, u32)>,
    document: u32,
    counts: Vec<(u32, Counts)>,
    lengths: [u32; FIELDS],
    /// Room in which the counts are put in order.
    order: Vec<u64>,
}

impl Tally {
    #[inline]
    fn count(&mut self, field: Field, word: u32) {
        let at = word as usize;
        if at >= self.slots.len() {
            self.make_room(at + 1);
        }
        let slot = &mut self.slots[at];
        // documents are numbered from 1 here, so a fresh slot belongs to none
        if slot.1 != self.document + 1 {
            *slot = (self.counts.len() as u32, self.document + 1);
            self.counts.push((word, [0; FIELDS]));
        }
        let count = &mut self.counts[slot.0 as usize].1[field as usize];
        *count = count.saturating_add(1);
    }

    /// Makes room for so many words, and some more.
    #[cold]
    fn make_room(&mut self, words: usize) {
        let wanted = words + words / 8;
        match self.slots.is_empty() {
            // zeros from the system cost nothing until they are looked at
            true => self.slots = vec![(0, 0); wanted],
            false => self.slots.resize(wanted, (0, 0)),
        }
    }

    /// Forgets the counts, for the next document.
    fn next(&mut self) {
        self.counts.clear();
        self.lengths = [0; FIELDS];
        self.document = self.document.wrapping_add(1);
    }
}

impl Lexicon {
    /// Puts together what a snapshot kept; `None` if it does not fit.
    pub fn from_parts(
        words: Terms,
        places: Vec<Place>,
        stems: Terms,
        concept_of_stem: Vec<u32>,
        patterns: Patterns,
    ) -> Option<Self> {
        let concepts = places.iter().map(|place| place.concept as usize + 1).max().unwrap_or(0);
        if words.len() != places.len()
            || stems.len() != concept_of_stem.len()
            || concepts > words.len()
            || concept_of_stem.iter().any(|&concept| concept as usize >= concepts)
        {
            return None;
        }
        let mut latest = vec![NONE; concepts];
        let mut before = Vec::with_capacity(places.capacity());
        let mut seen = 0;
        for (word, place) in places.iter().enumerate() {
            // concepts are numbered as their first words come
            if place.concept > seen {
                return None;
            }
            seen += u32::from(place.concept == seen);
            let last = std::mem::replace(&mut latest[place.concept as usize], word as u32);
            let spelling = if last == NONE { 0 } else { places[last as usize].spelling + 1 };
            if spelling != place.spelling {
                return None;
            }
            before.push(last);
        }
        if latest.contains(&NONE) || !concept_of_stem.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut stem_of_concept = vec![NONE; concepts];
        for (stem, &concept) in (0..).zip(&concept_of_stem) {
            stem_of_concept[concept as usize] = stem;
        }
        let lexicon = Self { latest, before, stem_of_concept, patterns, ..Self::default() };
        Some(Self { words, places, stems, concept_of_stem, ..lexicon })
    }

    /// Returns the number of concepts.
    pub fn concepts(&self) -> usize {
        self.latest.len()
    }

    /// Returns the stem of a concept, if it has one.
    pub(super) fn stem_of(&self, concept: u32) -> Option<&str> {
        let stem = self.stem_of_concept[concept as usize];
        (stem != NONE).then(|| self.stems.text(stem))
    }

    /// Returns the stem of a word, looked up where it is known: that costs a tenth of stemming.
    pub fn stem(&self, word: &str) -> Option<String> {
        match self.words.get(word) {
            Some(id) => self.stem_of(self.places[id as usize].concept).map(str::to_owned),
            None => stem(word).map(Cow::into_owned),
        }
    }

    /// Says whether so many documents may hold each word, given how many hold each concept: all of
    /// these, where it is the only spelling.
    pub(super) fn may_be_held(&self, words: &[u32], concepts: &[u32]) -> bool {
        self.places.iter().zip(words).enumerate().all(|(word, (place, &held))| {
            let only = place.spelling == 0 && self.latest[place.concept as usize] == word as u32;
            let all = concepts[place.concept as usize];
            if only { held == all } else { held <= all }
        })
    }

    /// Says whether a word is a spelling of the concept that its stem has.
    pub fn is_placed(&self, word: u32) -> bool {
        let found = stem(self.words.text(word));
        self.stem_of(self.places[word as usize].concept) == found.as_deref()
    }

    /// Returns the words of a concept, by the number of the spelling.
    pub fn spellings(&self, concept: u32) -> Vec<u32> {
        let first = Some(self.latest[concept as usize]);
        let before = |&word: &u32| Some(self.before[word as usize]).filter(|&word| word != NONE);
        let mut words: Vec<u32> = std::iter::successors(first, before).collect();
        words.reverse();
        words
    }

    /// Returns the word of one spelling of a concept.
    pub fn word(&self, concept: u32, spelling: u16) -> Option<u32> {
        let mut word = self.latest[concept as usize];
        loop {
            let place = self.places.get(word as usize)?;
            if place.spelling <= u32::from(spelling) {
                return (place.spelling == u32::from(spelling)).then_some(word);
            }
            word = self.before[word as usize];
        }
    }

    /// Returns the number of a word, making it a spelling of its stem's concept if it is new.
    pub fn intern(&mut self, word: &str) -> u32 {
        self.intern_by(word, || stem(word))
    }

    /// Does the same where its stem may be had for less than stemming costs.
    pub(super) fn intern_by<'w>(
        &mut self,
        word: &'w str,
        stem: impl FnOnce() -> Option<Cow<'w, str>>,
    ) -> u32 {
        let id = self.words.intern(word);
        if id as usize == self.places.len() {
            let fresh = self.latest.len() as u32;
            let stem = stem().map(|stem| self.stems.intern(&stem));
            let concept = stem.map_or(fresh, |stem| {
                if stem as usize == self.concept_of_stem.len() {
                    self.concept_of_stem.push(fresh);
                }
                self.concept_of_stem[stem as usize]
            });
            if concept == fresh {
                self.latest.push(NONE);
                self.stem_of_concept.push(stem.unwrap_or(NONE));
            }
            let last = std::mem::replace(&mut self.latest[concept as usize], id);
            let spelling = self.places.get(last as usize).map_or(0, |place| place.spelling + 1);
            self.places.push(Place { concept, spelling });
            self.before.push(last);
        }
        id
    }

    /// Counts the words of `text` for `field` of the document being read.
    pub fn add(&mut self, field: Field, text: &str) {
        if self.words.len() > self.tally.slots.len() {
            self.tally.make_room(self.words.len());
        }
        chunks::spans(text, &mut |span| {
            if let Some(known) = self.memo.get(text, &span) {
                self.tally.lengths[field as usize] += u32::from(known.length);
                for &word in self.memo.words(&known) {
                    self.tally.count(field, word);
                }
                return;
            }
            let chunk = &text[span];
            let mut words = std::mem::take(&mut self.fresh);
            let mut length = 0;
            tokens::terms(chunk, &mut |term| {
                let counts = u32::from(term.counts);
                length += counts;
                // parts of identifiers are most often words that stand elsewhere too
                words.push(self.memo.word(term.text).unwrap_or_else(|| {
                    let word = self.intern(term.text);
                    if term.form == tokens::Form::Word {
                        self.memo.note_word(term.text, word, counts);
                    }
                    word
                }));
            });
            self.memo.note(chunk, &words, length);
            self.tally.lengths[field as usize] += length;
            words.drain(..).for_each(|word| self.tally.count(field, word));
            self.fresh = words;
        });
    }

    /// Leaves the document being read, and begins the next.
    pub fn abandon(&mut self) {
        self.tally.next();
    }

    /// Ends the document being read and begins the next.
    pub fn finish(&mut self) -> Document {
        let Self { places, patterns, tally, .. } = self;
        let Tally { counts, order, .. } = tally;
        // small keys sort faster than what they stand for
        let concept = |(at, &(word, _)): (usize, &(u32, Counts))| {
            u64::from(places[word as usize].concept) << 32 | at as u64
        };
        order.clear();
        order.extend(counts.iter().enumerate().map(concept));
        order.sort_unstable();
        let spelling = |&key: &u64| {
            let (word, counts) = counts[key as u32 as usize];
            let number = places[word as usize].spelling;
            Spelling { number: u16::try_from(number).unwrap_or(u16::MAX), counts }
        };
        let mut concepts = Vec::with_capacity(order.len());
        let mut several = Vec::new();
        for same in order.chunk_by(|a, b| a >> 32 == b >> 32) {
            let pattern = match same {
                [one] => patterns.intern(&[spelling(one)]),
                same => {
                    several.clear();
                    several.extend(same.iter().map(spelling));
                    several.sort_unstable_by_key(|spelling| spelling.number);
                    patterns.intern(&several)
                }
            };
            concepts.push(((same[0] >> 32) as u32, pattern));
        }
        let lengths = tally.lengths.map(|length| u16::try_from(length).unwrap_or(u16::MAX));
        tally.next();
        Document { concepts, lengths }
    }

    /// Forgets what only speeds things up.
    pub fn rest(&mut self) {
        self.memo = Memo::default();
        self.fresh = Vec::new();
        self.tally = Tally::default();
    }

    /// Returns the bytes that the dictionaries take.
    pub fn bytes(&self) -> usize {
        let (patterns, ends) = self.patterns.parts();
        self.words.bytes()
            + self.stems.bytes()
            + self.places.capacity() * 8
            + self.concept_of_stem.capacity() * 4
            + (self.latest.capacity() + self.before.capacity()) * 4
            + self.stem_of_concept.capacity() * 4
            + patterns.len() * 20
            + ends.len() * 28
            + self.memo.bytes()
            + self.tally.slots.len() * 8
    }
}
