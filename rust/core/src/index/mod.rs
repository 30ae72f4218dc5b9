//! The BM25F index over documents: insert, delete, look up, pack.
//!
//! A document is a section, a part of a long one, or a message; the index knows only numbers and
//! words. Most of it is packed; what came since lies in a loose tail. Numbers only grow, so a new
//! document is one push a concept, and a deleted one is a cleared bit and one count less a
//! concept. Scores are at any moment those of a fresh build, for `N`, `n_t` and the average
//! lengths are exact.

pub mod bm25f;
pub mod consistency;
pub mod dictionary;
pub mod postings;
mod prefetch;
pub mod storage;
pub mod topk;

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::index::bm25f::{Bm25f, Counts, FIELDS, Field, Lengths, Totals, Weights};
use crate::index::dictionary::lexicon::{Document, Lexicon};
use crate::index::postings::codec::{Impact, Posting};
use crate::index::postings::impacts::impact_of;
use crate::index::postings::reader::PostingList;
use crate::index::postings::validation::Validation;
use crate::index::storage::packed_index::Packed;

/// See the module.
#[derive(Debug, Default)]
pub struct Index {
    weights: Weights,
    lexicon: Lexicon,
    /// Documents that hold each concept.
    holders: Vec<Holders>,
    /// Documents that hold each word.
    word_holders: Vec<u32>,
    packed: Packed,
    /// Which packed lists of a snapshot may be used; none where they were made here.
    validation: Option<Box<Validation>>,
    tail: FxHashMap<u32, Tail>,
    /// Concepts and patterns of the documents that are not packed.
    loose: Vec<Box<[(u32, u32)]>>,
    /// Least average lengths since the last packing: with them no impact is too low.
    least_average: [f32; FIELDS],
    lengths: Vec<Lengths>,
    live: Vec<u64>,
    totals: Totals,
    /// Postings, those of dead documents included.
    postings: usize,
    /// Those that are packed.
    packed_postings: usize,
    /// Words that some document holds.
    used_words: usize,
}

/// `n_t` of a concept: in any field, and in the fields that count once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Holders {
    /// Documents that hold it anywhere.
    pub any: u32,
    /// Documents that hold it in a heading or title.
    pub heading: u32,
    /// Documents whose speaker is called so.
    pub speaker: u32,
}

impl Holders {
    fn change(&mut self, counts: &Counts, change: impl Fn(&mut u32)) {
        change(&mut self.any);
        if counts[Field::Heading as usize] | counts[Field::Title as usize] > 0 {
            change(&mut self.heading);
        }
        if counts[Field::Speaker as usize] > 0 {
            change(&mut self.speaker);
        }
    }
}

#[derive(Debug, Default)]
struct Tail {
    postings: Vec<Posting>,
    impact: Impact,
}

impl Index {
    /// Makes an empty index.
    pub fn new(weights: Weights) -> Self {
        Self { weights, least_average: [f32::INFINITY; FIELDS], ..Self::default() }
    }

    /// Returns the dictionaries, to read a document for [`Self::insert`].
    pub fn lexicon(&mut self) -> &mut Lexicon {
        &mut self.lexicon
    }

    /// Takes in a document read with [`Self::lexicon`] and returns its number.
    pub fn insert(&mut self, document: &Document) -> u32 {
        let number = self.lengths.len() as u32;
        self.lengths.push(document.lengths);
        if number.is_multiple_of(64) {
            self.live.push(0);
        }
        self.live[number as usize / 64] |= 1 << (number % 64);
        self.totals.add(&document.lengths);
        self.note_averages();
        let formula = self.formula();
        self.holders.resize(self.lexicon.concepts(), Holders::default());
        self.word_holders.resize(self.lexicon.words.len(), 0);
        for &(concept, pattern) in &document.concepts {
            let counts = self.lexicon.patterns.sum(pattern);
            let impact = impact_of(&formula, counts, &document.lengths);
            let tail = self.tail.entry(concept).or_default();
            tail.impact = tail.impact.or(impact);
            tail.postings.push(Posting { document: number, pattern });
            self.postings += 1;
            self.count(concept, pattern, |count| *count += 1);
        }
        self.loose.push(document.concepts.clone().into());
        number
    }

    /// Takes a document out; nothing happens if it is out already.
    pub fn delete(&mut self, document: u32) {
        if !self.is_live(document) {
            return;
        }
        self.live[document as usize / 64] &= !(1 << (document % 64));
        self.totals.remove(&self.lengths[document as usize]);
        self.note_averages();
        for (concept, pattern) in self.concepts_of(document) {
            // of a snapshot that does not fit together, the counts need not
            self.count(concept, pattern, |count| *count = count.saturating_sub(1));
        }
    }

    /// Lets come what is needed to delete some documents, while something else is done.
    pub fn expect(&self, documents: Range<u32>) {
        self.packed.expect(documents);
    }

    /// Returns the concepts of a document, ascending, with their patterns.
    fn concepts_of(&self, document: u32) -> Vec<(u32, u32)> {
        match document.checked_sub(self.packed.documents) {
            Some(at) => self.loose[at as usize].to_vec(),
            None => self.packed.held(document).collect(),
        }
    }

    fn count(&mut self, concept: u32, pattern: u32, change: impl Fn(&mut u32)) {
        let patterns = &self.lexicon.patterns;
        self.holders[concept as usize].change(patterns.sum(pattern), &change);
        for spelling in patterns.spellings(pattern) {
            if let Some(word) = self.lexicon.word(concept, spelling.number) {
                let holders = &mut self.word_holders[word as usize];
                self.used_words -= usize::from(*holders > 0);
                change(holders);
                self.used_words += usize::from(*holders > 0);
            }
        }
    }

    fn note_averages(&mut self) {
        for (least, average) in self.least_average.iter_mut().zip(self.totals.average_if_any()) {
            *least = least.min(average);
        }
    }

    /// Says whether a document is in the index.
    #[inline]
    pub fn is_live(&self, document: u32) -> bool {
        self.live.get(document as usize / 64).is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    /// Returns how many documents there are.
    pub fn documents(&self) -> u32 {
        self.totals.documents
    }

    /// Returns how many documents have a field.
    pub fn having(&self, field: Field) -> u32 {
        self.totals.having[field as usize]
    }

    /// Returns how many numbers are taken, by dead documents too.
    pub fn numbers(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Returns how many words some document holds.
    pub fn used_words(&self) -> usize {
        self.used_words
    }

    /// Returns how many postings there are, those of dead documents included.
    pub fn postings(&self) -> usize {
        self.postings
    }

    /// Returns how many of them are not packed.
    pub fn loose_postings(&self) -> usize {
        self.postings - self.packed_postings
    }

    /// Says whether so much is loose or dead that packing pays.
    pub fn wants_packing(&self) -> bool {
        let loose = self.loose.len() as u32;
        let dead = self.numbers() - self.documents();
        let unused = (self.lexicon.words.len() - self.used_words) as u32;
        // bounds that have grown so much prune nothing any more
        loose.max(dead) > 4096 + self.numbers() / 4
            || unused > 8192 + self.used_words as u32
            || self.drift() > 8.0
    }

    /// Returns how many documents, the first ones, were there when everything was packed.
    pub fn packed_documents(&self) -> u32 {
        self.packed.documents
    }

    /// Says whether everything is packed, and whatever the dictionaries hold is counted.
    pub fn is_packed(&self) -> bool {
        let documents = self.packed.documents;
        [self.numbers(), self.documents()] == [documents; 2]
            && self.packed.fits(self.lexicon.concepts())
            && self.word_holders.len() == self.lexicon.words.len()
    }

    /// Opens the list of a concept; its impacts hold when multiplied by [`Self::drift`].
    pub fn list(&self, concept: u32) -> PostingList<'_> {
        let (bytes, count) = self.packed_list(concept);
        match self.tail.get(&concept) {
            Some(tail) => PostingList::new(bytes, count, &tail.postings, tail.impact),
            None => PostingList::new(bytes, count, &[], Impact::default()),
        }
    }

    /// Packs a list that is made for one query; `counts` tells those of a pattern.
    pub fn pack_list<'c>(
        &self,
        list: &[Posting],
        formula: &Bm25f,
        counts: impl Fn(u32) -> &'c Counts,
    ) -> Vec<u8> {
        storage::packed_index::pack(list, formula, &self.lengths, counts)
    }

    /// Returns the place of a word; damage, if a snapshot gives it that of another stem.
    pub fn place(&self, word: u32) -> dictionary::lexicon::Place {
        if self.validation.is_some() && !self.lexicon.is_placed(word) {
            self.packed.lists.reject();
        }
        self.lexicon.places[word as usize]
    }

    /// Returns the formula with the figures of this moment.
    pub fn formula(&self) -> Bm25f {
        Bm25f::new(&self.weights, &self.totals)
    }

    /// Returns by how much any stored impact may have grown since it was stored.
    pub fn drift(&self) -> f32 {
        let now = self.totals.average();
        (0..FIELDS).map(|f| now[f] / self.least_average[f]).fold(1.0, f32::max)
    }

    /// Returns the dictionaries.
    pub fn words(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Returns `n_t` of a concept.
    pub fn holders(&self, concept: u32) -> Holders {
        self.holders.get(concept as usize).copied().unwrap_or_default()
    }

    /// Returns `n_t` of a word.
    pub fn word_holders(&self, word: u32) -> u32 {
        self.word_holders.get(word as usize).copied().unwrap_or(0)
    }

    /// Returns the holders of every concept and of every word.
    pub fn all_holders(&self) -> (&[Holders], &[u32]) {
        (&self.holders, &self.word_holders)
    }

    /// Returns the field lengths of a document.
    #[inline]
    pub fn lengths(&self, document: u32) -> &Lengths {
        &self.lengths[document as usize]
    }

    /// Asks for what scoring a document reads.
    #[inline]
    pub fn prefetch(&self, document: u32) {
        prefetch::prefetch(&self.lengths, document as usize);
    }

    /// Returns the weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the arrays that a snapshot keeps; pack first, so that they hold everything.
    pub fn packed(&self) -> (&Packed, &[Lengths], &Totals) {
        (&self.packed, &self.lengths, &self.totals)
    }

    /// Returns the bytes that the index takes in memory.
    pub fn bytes(&self) -> usize {
        let tail: usize = self.tail.values().map(|t| t.postings.capacity() * 8 + 48).sum();
        let loose: usize = self.loose.iter().map(|held| held.len() * 8 + 16).sum();
        self.packed.bytes()
            + self.holders.capacity() * size_of::<Holders>()
            + self.word_holders.capacity() * 4
            + self.lengths.capacity() * size_of::<Lengths>()
            + self.lexicon.bytes()
            + tail
            + loose
    }
}
