//! The inverted index: posting lists of concepts, with insertion, deletion and document statistics.
//!
//! A document is a section, a part of a long one, or a message; the index knows only numbers and
//! words. Most of it is packed; documents that were added since are in the delta. Document numbers
//! only grow, so a new document is appended to one list for each concept, and a deleted one is a
//! cleared bit and smaller document frequencies. `N`, `n_t` and the average lengths are exact, so
//! scores are at any moment those of a fresh build.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::error::{Interrupt, Result};
use crate::index::bm25f::{Bm25f, Counts, FIELDS, Field, Lengths, Totals, Weights};
use crate::index::dictionary::document_analysis::AnalyzedDocument;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::dictionary::word_counts::WordEntry;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::postings::codec::{Impact, Posting};
use crate::index::postings::impacts::{encode_with_impacts, impact_of};
use crate::index::postings::reader::PostingList;
use crate::index::postings::validation::Validation;
use crate::index::prefetch;
use crate::index::storage::lazy_array::LazyArray;
use crate::index::storage::packed_index::PackedIndex;
use crate::text::language::readings::LanguageId;

/// An inverted index over the documents of a memory.
#[derive(Debug, Default)]
pub struct InvertedIndex {
    pub(super) weights: Weights,
    pub(super) lexicon: Lexicon,
    /// Document frequencies of each concept.
    pub(super) doc_freqs: LazyArray<DocFreqs>,
    /// Document frequencies of each word.
    pub(super) word_doc_freqs: LazyArray<WordDocFreqs>,
    pub(super) packed: PackedIndex,
    /// Which packed lists of a snapshot may be used; `None` where they were made by this process.
    pub(super) validation: Option<Box<Validation>>,
    /// Postings of the documents that are not packed, by concept.
    pub(super) delta: FxHashMap<u32, DeltaList>,
    /// Concepts and profiles of the documents that are not packed, by document.
    pub(super) delta_documents: Vec<Box<[(u32, u32)]>>,
    /// The lowest average lengths since the last packing: with them no impact is too low.
    pub(super) min_average: [f32; FIELDS],
    pub(super) lengths: Vec<Lengths>,
    /// One bit for each document that is not deleted.
    pub(super) live: Vec<u64>,
    pub(super) totals: Totals,
    /// Postings, those of deleted documents included.
    pub(super) postings: usize,
    /// Those that are packed.
    pub(super) packed_postings: usize,
    /// Words that some document holds.
    pub(super) used_words: usize,
    /// The languages of the documents, once they were asked for: each query asks. Each change drops
    /// them.
    pub(super) languages: OnceLock<Box<[LanguageId]>>,
}

/// The postings of a concept that are not packed.
#[derive(Debug, Default)]
pub(super) struct DeltaList {
    pub postings: Vec<Posting>,
    /// The maximum impact of the postings.
    impact: Impact,
}

impl InvertedIndex {
    /// Makes an empty index.
    pub fn new(weights: Weights) -> Self {
        Self { weights, min_average: [f32::INFINITY; FIELDS], ..Self::default() }
    }

    /// Returns the lexicon, to analyze a document for [`Self::insert`].
    pub fn lexicon_mut(&mut self) -> &mut Lexicon {
        self.load();
        &mut self.lexicon
    }

    /// Adds a document that was analyzed with [`Self::lexicon_mut`] and returns its number.
    pub fn insert(&mut self, document: &AnalyzedDocument) -> u32 {
        let number = self.lengths.len() as u32;
        self.lengths.push(document.lengths);
        if number.is_multiple_of(64) {
            self.live.push(0);
        }
        self.live[number as usize / 64] |= 1 << (number % 64);
        self.totals.add(&document.lengths);
        self.update_min_average();
        let formula = self.formula();
        self.load();
        self.doc_freqs.to_mut().resize(self.lexicon.concepts(), DocFreqs::default());
        let words = self.lexicon.words.len();
        self.word_doc_freqs.to_mut().resize(words, WordDocFreqs::default());
        for &(concept, profile) in &document.concepts {
            let counts = self.lexicon.profiles.counts(profile);
            let impact = impact_of(&formula, counts, &document.lengths);
            let delta = self.delta.entry(concept).or_default();
            delta.impact = delta.impact.max(impact);
            delta.postings.push(Posting { document: number, profile });
            self.postings += 1;
            self.change_doc_freqs(concept, profile, |count| *count += 1);
        }
        self.delta_documents.push(document.concepts.clone().into());
        number
    }

    /// Deletes a document; nothing happens if it is deleted already.
    pub fn delete(&mut self, document: u32) {
        if !self.is_live(document) {
            return;
        }
        self.load();
        self.live[document as usize / 64] &= !(1 << (document % 64));
        self.totals.remove(&self.lengths[document as usize]);
        self.update_min_average();
        for (concept, profile) in self.concepts_of(document) {
            // in a damaged snapshot the frequencies can be wrong
            self.change_doc_freqs(concept, profile, |count| *count = count.saturating_sub(1));
        }
    }

    /// Starts reading from the disk what is needed to delete some documents.
    pub fn readahead(&self, documents: Range<u32>) {
        self.packed.readahead(documents);
    }

    /// Returns the concepts of a document, ascending, with their profiles.
    pub(super) fn concepts_of(&self, document: u32) -> Vec<(u32, u32)> {
        match document.checked_sub(self.packed.documents) {
            Some(at) => self.delta_documents[at as usize].to_vec(),
            None => self.packed.concepts_of(document).collect(),
        }
    }

    fn change_doc_freqs(&mut self, concept: u32, profile: u32, change: impl Fn(&mut u32)) {
        self.languages.take();
        let profiles = &self.lexicon.profiles;
        self.doc_freqs.to_mut()[concept as usize].change(profiles.counts(profile), &change);
        for variant in profiles.variants(profile) {
            if let Some(word) = self.lexicon.word(concept, variant.variant) {
                let doc_freqs = &mut self.word_doc_freqs.to_mut()[word as usize];
                self.used_words -= usize::from(doc_freqs.any > 0);
                doc_freqs.change(&variant.counts, &change);
                self.used_words += usize::from(doc_freqs.any > 0);
            }
        }
    }

    fn update_min_average(&mut self) {
        for (min, average) in self.min_average.iter_mut().zip(self.totals.average_if_any()) {
            *min = min.min(average);
        }
    }

    /// Says whether a document is in the index and not deleted.
    #[inline]
    pub fn is_live(&self, document: u32) -> bool {
        self.live.get(document as usize / 64).is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    /// Returns the number of documents, without deleted ones.
    pub fn documents(&self) -> u32 {
        self.totals.documents
    }

    /// Returns the number of documents that have a field.
    pub fn docs_with_field(&self, field: Field) -> u32 {
        self.totals.docs_with_field[field as usize]
    }

    /// Returns the number of documents, deleted ones included: one more than the highest number.
    pub fn max_doc(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Returns the number of words that some document holds.
    pub fn used_words(&self) -> usize {
        self.used_words
    }

    /// Returns the number of postings, those of deleted documents included.
    pub fn postings(&self) -> usize {
        self.postings
    }

    /// Returns the number of postings that are not packed.
    pub fn delta_postings(&self) -> usize {
        self.postings - self.packed_postings
    }

    /// Says whether so many documents are unpacked or deleted that packing pays.
    pub fn needs_packing(&self) -> bool {
        let unpacked = self.delta_documents.len() as u32;
        let deleted = self.max_doc() - self.documents();
        let unused = (self.lexicon.words.len() - self.used_words) as u32;
        // bounds that have grown by so much prune nothing any more
        unpacked.max(deleted) > 4096 + self.max_doc() / 4
            || unused > 8192 + self.used_words as u32
            || self.impact_growth() > 8.0
    }

    /// Returns how many documents are packed: those with the lowest numbers.
    pub fn packed_documents(&self) -> u32 {
        self.packed.documents
    }

    /// Says whether all documents are packed, and every word and concept has a document frequency.
    pub fn is_packed(&self) -> bool {
        let documents = self.packed.documents;
        [self.max_doc(), self.documents()] == [documents; 2]
            && self.packed.is_complete(self.lexicon.concepts())
            && self.word_doc_freqs.len() == self.lexicon.words.len()
    }

    /// Returns the posting list of a concept; its impacts are upper bounds when multiplied by
    /// [`Self::impact_growth`].
    pub fn posting_list(&self, concept: u32) -> PostingList<'_> {
        let (bytes, count) = self.packed_list(concept);
        match self.delta.get(&concept) {
            Some(delta) => PostingList::new(bytes, count, &delta.postings, delta.impact),
            None => PostingList::new(bytes, count, &[], Impact::default()),
        }
    }

    /// Encodes a list that is made for one query; `counts` gives the counts of a profile.
    pub fn encode_list<'c>(
        &self,
        list: &[Posting],
        formula: &Bm25f,
        counts: impl Fn(u32) -> &'c Counts,
    ) -> Vec<u8> {
        encode_with_impacts(list, formula, &self.lengths, counts)
    }

    /// Returns the concept and variant of a word. If a snapshot gives it the concept of another stem,
    /// the snapshot is marked as damaged.
    pub fn entry(&self, word: u32) -> WordEntry {
        if let Some(validation) = self.validation.as_ref().filter(|all| !all.is_checked(word)) {
            match self.lexicon.has_right_concept(word) {
                true => validation.set_checked(word),
                false => self.packed.lists.reject(),
            }
        }
        self.lexicon.entry(word)
    }

    /// Returns the concept of a stem, if some word has it. If a snapshot gives it that of another, the
    /// snapshot is marked as damaged.
    pub fn concept_of(&self, stem: &str) -> Option<u32> {
        let concept = self.lexicon.concept_of(stem)?;
        if self.validation.is_some() && self.lexicon.stem_of(concept) != Some(stem) {
            self.packed.lists.reject();
        }
        Some(concept)
    }

    /// Returns the formula with the current statistics.
    pub fn formula(&self) -> Bm25f {
        Bm25f::new(&self.weights, &self.totals)
    }

    /// Returns the factor by which any stored impact may have grown since it was computed.
    pub fn impact_growth(&self) -> f32 {
        self.impact_growth_by(&self.totals)
    }

    /// Returns the same where the average lengths are those of a larger collection.
    pub fn impact_growth_by(&self, totals: &Totals) -> f32 {
        let now = totals.average();
        (0..FIELDS).map(|f| now[f] / self.min_average[f]).fold(1.0, f32::max)
    }

    /// Returns the lexicon.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Returns the document frequencies of a concept.
    pub fn doc_freqs(&self, concept: u32) -> DocFreqs {
        let freqs = self.doc_freqs.get(concept as usize).unwrap_or_default();
        if self.doc_freqs.is_stored() && self.packed.counts.get(concept as usize) != Some(freqs.any)
        {
            self.packed.lists.reject();
        }
        freqs
    }

    /// Returns the languages that some document is read in, beside words read by themselves.
    pub fn languages(&self) -> &[LanguageId] {
        let is_held = |language: &LanguageId| {
            let word = self.lexicon.words.get(language.marker());
            word.is_some_and(|word| self.word_doc_freqs(word).any > 0)
        };
        self.languages.get_or_init(|| LanguageId::all().filter(is_held).collect())
    }

    /// Returns which of some languages each document is read in; if none, each word by itself.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn languages_of(
        &self,
        documents: impl Iterator<Item = u32> + Clone,
        among: impl Iterator<Item = LanguageId>,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<LanguageId>> {
        let mut languages: Vec<_> = documents.clone().map(|_| LanguageId::BY_WORD).collect();
        for language in among {
            let word = self.lexicon.words.get(language.marker());
            let Some(word) = word else { continue };
            let concept = self.entry(word).concept;
            self.validate_list(concept, interrupt)?;
            let list = self.posting_list(concept);
            for (told, document) in languages.iter_mut().zip(documents.clone()) {
                if list.find(document).is_some() {
                    *told = language;
                }
            }
        }
        Ok(languages)
    }

    /// Returns the document frequencies of a word.
    pub fn word_doc_freqs(&self, word: u32) -> WordDocFreqs {
        let freqs = self.word_doc_freqs.get(word as usize).unwrap_or_default();
        if self.word_doc_freqs.is_stored() {
            let concept = self.doc_freqs(self.lexicon.entry(word).concept);
            if !self.lexicon.can_have_doc_freq(word, &freqs, &concept) {
                self.packed.lists.reject();
            }
        }
        freqs
    }

    /// Returns the document frequencies of every concept and of every word.
    pub fn all_doc_freqs(&self) -> (&[DocFreqs], &[WordDocFreqs]) {
        (self.doc_freqs.all(), self.word_doc_freqs.all())
    }

    /// Returns the field lengths of a document.
    #[inline]
    pub fn lengths(&self, document: u32) -> &Lengths {
        &self.lengths[document as usize]
    }

    /// Prefetches what scoring a document reads.
    #[inline]
    pub fn prefetch(&self, document: u32) {
        prefetch::prefetch(&self.lengths, document as usize);
    }

    /// Returns the number of documents and the lengths of their fields.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the arrays that a snapshot stores; pack first, so that they hold all documents.
    pub fn packed(&self) -> (&PackedIndex, &[Lengths], &Totals) {
        (&self.packed, &self.lengths, &self.totals)
    }

    /// Returns the bytes that the index takes in memory.
    pub fn bytes(&self) -> usize {
        let delta: usize = self.delta.values().map(|t| t.postings.capacity() * 8 + 48).sum();
        let documents: usize =
            self.delta_documents.iter().map(|concepts| concepts.len() * 8 + 16).sum();
        self.packed.bytes()
            + self.doc_freqs.bytes()
            + self.word_doc_freqs.bytes()
            + self.lengths.capacity() * size_of::<Lengths>()
            + self.lexicon.bytes()
            + delta
            + documents
    }
}
