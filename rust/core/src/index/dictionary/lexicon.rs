//! The lexicon: words and their concepts.
//!
//! A *concept* is what one posting list is for: a stem of a language, or any other token as it is. The
//! *words* of a concept are its variants. One list for all of them takes half the memory and time
//! of a list for the stem and one for each variant.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::index::bm25f::Field;
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::token_cache::{ChunkLookup, TokenCache};
use crate::index::dictionary::word_counts::{
    CountedText, DocumentCounts, FieldCount, WordEntry, WordSlots,
};
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::postings::tf_profiles::{TfProfiles, VariantCounts};
use crate::index::storage::lazy_array::LazyArray;
use crate::text::language::readings::LanguageId;
use crate::text::language::stems::stem;

/// No word, or no stem.
const NONE: u32 = u32::MAX;

/// The tables of a lexicon, as a snapshot has them.
#[derive(Debug, Default)]
pub struct LexiconTables {
    /// The concept and variant of each word.
    pub entries: LazyArray<WordEntry>,
    /// The concept of each stem.
    pub concept_of_stem: LazyArray<u32>,
    /// The stem of each concept, or `u32::MAX`.
    pub stem_of_concept: LazyArray<u32>,
    /// The last variant of each concept, as a word.
    pub latest: LazyArray<u32>,
    /// For each word, the variant before it, as a word, or `u32::MAX`.
    pub before: LazyArray<u32>,
}

/// The dictionaries, and the counts of the document being read.
#[derive(Debug, Clone, Default)]
pub struct Lexicon {
    /// Words as they are in the text, but folded.
    pub words: Interner,
    /// The concept and variant of each word.
    pub(super) entries: LazyArray<WordEntry>,
    /// Stems.
    pub stems: Interner,
    /// The concept of each stem.
    concept_of_stem: LazyArray<u32>,
    /// The stem of each concept, or none.
    stem_of_concept: LazyArray<u32>,
    /// The last variant of each concept, as a word.
    latest: LazyArray<u32>,
    /// For each word, the variant before it, as a word.
    before: LazyArray<u32>,
    /// The term-frequency profiles.
    pub profiles: TfProfiles,
    /// How the document being read is read, with what is cached of this reading and of others.
    pub(super) language: LanguageId,
    pub(super) cache: TokenCache,
    pub(super) other_caches: FxHashMap<LanguageId, TokenCache>,
    /// The word before, in a language where two that follow each other are a term.
    pub(super) previous: Option<u32>,
    /// Spare buffers for some chunks, and for their words.
    pub(super) spare_lookups: Vec<ChunkLookup>,
    pub(super) spare_words: Vec<u32>,
    pub(super) slots: WordSlots,
    /// The texts of one field of the document being read, as far as they were given to [`Self::add`].
    pub(super) text: CountedText,
    pub(super) field: Option<Field>,
    pub(super) document: DocumentCounts,
    /// Spare buffers for the profile of a concept.
    pub(super) spare_counts: Vec<FieldCount>,
    pub(super) spare_profile: Vec<VariantCounts>,
}

impl Lexicon {
    /// Makes the lexicon of a snapshot, of which a query reads what it needs; `None` if the arrays
    /// have not as many entries as each other.
    pub fn from_parts(
        words: Interner,
        stems: Interner,
        tables: LexiconTables,
        profiles: TfProfiles,
    ) -> Option<Self> {
        let LexiconTables { entries, concept_of_stem, stem_of_concept, latest, before } = tables;
        let fits = [entries.len(), before.len()] == [words.len(); 2]
            && concept_of_stem.len() == stems.len()
            && stem_of_concept.len() == latest.len()
            && latest.len() <= words.len();
        let tables =
            Self { entries, concept_of_stem, stem_of_concept, latest, before, ..Self::default() };
        fits.then_some(Self { words, stems, profiles, ..tables })
    }

    /// Returns the tables that [`Self::from_parts`] takes, to store them.
    pub(crate) fn tables(&self) -> (&[WordEntry], [&[u32]; 4]) {
        let numbers = [&self.concept_of_stem, &self.stem_of_concept, &self.latest, &self.before];
        (self.entries.all(), numbers.map(LazyArray::all))
    }

    /// Returns whether some of it may be in a snapshot only.
    pub(crate) fn is_stored(&self) -> bool {
        self.entries.is_stored()
    }

    /// Reads all of it; says whether what was read fits together. If not, it must be replaced.
    pub(crate) fn load(&mut self) -> bool {
        let Self { entries, concept_of_stem, stem_of_concept, latest, before, .. } = self;
        let [concept_of_stem, stem_of_concept, latest, before] =
            [concept_of_stem, stem_of_concept, latest, before].map(|table| &*table.to_mut());
        let entries = entries.to_mut();
        let mut last_of = vec![NONE; latest.len()];
        for (word, entry) in entries.iter().enumerate() {
            let Some(last) = last_of.get_mut(entry.concept as usize) else { return false };
            let last = std::mem::replace(last, word as u32);
            let variant = entries.get(last as usize).map_or(0, |entry| entry.variant + 1);
            if variant != entry.variant || before[word] != last {
                return false;
            }
        }
        // concepts are numbered in the order of their first words
        let firsts = entries.iter().filter(|entry| entry.variant == 0);
        let mut stems = vec![NONE; latest.len()];
        let known = (0..).zip(concept_of_stem).all(|(stem, &concept)| {
            stems.get_mut(concept as usize).map(|of_concept| *of_concept = stem).is_some()
        });
        known
            && firsts.map(|entry| entry.concept).eq(0..latest.len() as u32)
            && concept_of_stem.is_sorted_by(|a, b| a < b)
            && *latest == last_of
            && *stem_of_concept == stems
    }

    /// Returns a lexicon of as many words, each a concept, that mean nothing: it stands for one that is
    /// damaged until the index is built anew.
    pub(crate) fn placeholder(&self) -> Self {
        let mut placeholder = Self { profiles: self.profiles.clone(), ..Self::default() };
        for word in 0..self.words.len() {
            placeholder.intern_with_stem(&word.to_string(), || None);
        }
        placeholder
    }

    /// Returns the number of concepts.
    pub fn concepts(&self) -> usize {
        self.latest.len()
    }

    /// Returns the stem of a concept, if it has one.
    pub(crate) fn stem_of(&self, concept: u32) -> Option<&str> {
        let stem = self.stem_of_concept.get(concept as usize).filter(|&stem| stem != NONE)?;
        ((stem as usize) < self.stems.len()).then(|| self.stems.text(stem))
    }

    /// Returns the concept of a stem, if some word has it.
    pub(crate) fn concept_of(&self, stem: &str) -> Option<u32> {
        self.concept_of_stem.get(self.stems.get(stem)? as usize)
    }

    /// Returns the concept of a word without a stem, if it is known.
    pub(crate) fn concept_of_word(&self, word: &str) -> Option<u32> {
        let concept = self.entry(self.words.get(word)?).concept;
        self.stem_of(concept).is_none().then_some(concept)
    }

    /// Returns the stem of a word; a lookup of a known word costs a tenth of stemming.
    pub fn stem(&self, word: &str) -> Option<String> {
        match self.words.get(word) {
            Some(id) => self.stem_of(self.entry(id).concept).map(str::to_owned),
            None => stem(word).map(Cow::into_owned),
        }
    }

    /// Says whether the document frequencies of words can be right, given those of concepts: a word
    /// that is the only variant of its concept has the same.
    pub(crate) fn can_have_doc_freqs(&self, words: &[WordDocFreqs], concepts: &[DocFreqs]) -> bool {
        let words = self.entries.all().iter().zip(words).enumerate();
        words.into_iter().all(|(word, (entry, freqs))| {
            self.can_have_doc_freq(word as u32, freqs, &concepts[entry.concept as usize])
        })
    }

    /// Says the same of one word and its concept.
    pub(crate) fn can_have_doc_freq(
        &self,
        word: u32,
        freqs: &WordDocFreqs,
        concept: &DocFreqs,
    ) -> bool {
        let WordEntry { concept: number, variant } = self.entry(word);
        let only = variant == 0 && self.latest.get(number as usize) == Some(word);
        let fits = |word: u32, all: u32| if only { word == all } else { word <= all };
        freqs.text <= freqs.any && fits(freqs.any, concept.any) && fits(freqs.text, concept.text)
    }

    /// Returns the concept and variant of a word.
    pub fn entry(&self, word: u32) -> WordEntry {
        const NO_ENTRY: WordEntry = WordEntry { concept: NONE, variant: 0 };
        self.entries.get(word as usize).unwrap_or(NO_ENTRY)
    }

    /// Prefetches what the lookups of a term and of its stem read first.
    pub(crate) fn prefetch(&self, text: &str, stem: Option<&str>) {
        self.words.prefetch(text);
        stem.into_iter().for_each(|stem| self.stems.prefetch(stem));
    }

    /// Says whether a word is a variant of the concept of its stem.
    pub fn has_right_concept(&self, word: u32) -> bool {
        let found = stem(self.words.text(word));
        let WordEntry { concept, variant } = self.entry(word);
        let number = u16::try_from(variant).ok();
        self.stem_of(concept) == found.as_deref()
            && number.is_none_or(|variant| self.word(concept, variant) == Some(word))
    }

    /// Returns the words of a concept, by variant.
    pub fn variants(&self, concept: u32) -> Vec<u32> {
        let last = self.latest.get(concept as usize);
        let mut words: Vec<u32> = std::iter::successors(last, |&word| self.before(word)).collect();
        words.reverse();
        words
    }

    /// Returns a variant of a concept, as a word.
    pub fn word(&self, concept: u32, variant: u16) -> Option<u32> {
        let mut word = self.latest.get(concept as usize)?;
        loop {
            let entry = self.entries.get(word as usize)?;
            if entry.variant <= u32::from(variant) {
                return (entry.variant == u32::from(variant)).then_some(word);
            }
            word = self.before(word)?;
        }
    }

    /// Returns the variant before a word, which has a smaller number.
    fn before(&self, word: u32) -> Option<u32> {
        self.before.get(word as usize).filter(|&before| before < word)
    }

    /// Returns the number of a word; a new word becomes a variant of the concept of its stem.
    pub fn intern(&mut self, word: &str) -> u32 {
        self.intern_with_stem(word, || stem(word))
    }

    /// Does the same with a function that returns the stem.
    pub(crate) fn intern_with_stem<'w>(
        &mut self,
        word: &'w str,
        stem: impl FnOnce() -> Option<Cow<'w, str>>,
    ) -> u32 {
        let id = self.words.intern(word);
        if id as usize == self.entries.len() {
            let fresh = self.latest.len() as u32;
            let stem = stem().map(|stem| self.stems.intern(&stem));
            let concept = stem.map_or(fresh, |stem| {
                let concept_of_stem = self.concept_of_stem.to_mut();
                if stem as usize == concept_of_stem.len() {
                    concept_of_stem.push(fresh);
                }
                concept_of_stem[stem as usize]
            });
            if concept == fresh {
                self.latest.to_mut().push(NONE);
                self.stem_of_concept.to_mut().push(stem.unwrap_or(NONE));
            }
            let last = std::mem::replace(&mut self.latest.to_mut()[concept as usize], id);
            let variant = self.entries.get(last as usize).map_or(0, |entry| entry.variant + 1);
            self.entries.to_mut().push(WordEntry { concept, variant });
            self.before.to_mut().push(last);
        }
        id
    }

    /// Drops the caches.
    pub fn drop_caches(&mut self) {
        self.cache = TokenCache::default();
        self.other_caches.clear();
        (self.spare_lookups, self.spare_words) = Default::default();
        self.slots = WordSlots::default();
        (self.text, self.document) = Default::default();
        (self.spare_counts, self.spare_profile) = Default::default();
    }

    /// Returns the bytes that the dictionaries take in memory.
    pub fn bytes(&self) -> usize {
        let (profiles, ends) = self.profiles.parts();
        self.words.bytes()
            + self.stems.bytes()
            + self.entries.bytes()
            + [&self.concept_of_stem, &self.stem_of_concept, &self.latest, &self.before]
                .map(LazyArray::bytes)
                .iter()
                .sum::<usize>()
            + profiles.len() * 20
            + ends.len() * 28
            + self.cache.bytes()
            + self.other_caches.values().map(TokenCache::bytes).sum::<usize>()
            + self.slots.bytes()
    }
}
