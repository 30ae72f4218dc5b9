//! The lexicon: words, their concepts, and the analysis of a document into concepts and profiles.
//!
//! A *concept* is what one posting list is for: a stem of a language, or any other token as it is. The
//! *words* of a concept are its variants. One list for all of them takes half the memory and time
//! of a list for the stem and one for each variant.
//!
//! Longer than 350 lines: the analysis of a document works on all of the dictionaries at once.

use std::borrow::Cow;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::index::bm25f::{Counts, FIELDS, Field, Lengths};
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::token_cache::{ChunkLookup, TokenCache};
use crate::index::dictionary::word_counts::{
    CountedText, DocumentCounts, FieldCount, WordEntry, WordSlots,
};
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::postings::tf_profiles::{TfProfiles, VariantCounts};
use crate::index::storage::lazy_array::LazyArray;
use crate::text::language::detection::{DOCUMENT_MARGIN, Vote, vote_of};
use crate::text::language::readings::{LanguageId, Reading, prefix_of};
use crate::text::language::stems::stem;
use crate::text::prefix_filter::PrefixFilter;
use crate::text::segmentation;
use crate::text::tokens::{self, Term, TermForm};

/// One document, ready to be indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnalyzedDocument {
    /// Each concept with its profile, ascending.
    pub concepts: Vec<(u32, u32)>,
    /// Terms in each field.
    pub lengths: Lengths,
}

/// Chunks that are looked up at a time.
const CHUNKS_AHEAD: usize = 16;

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
    entries: LazyArray<WordEntry>,
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
    language: LanguageId,
    cache: TokenCache,
    other_caches: FxHashMap<LanguageId, TokenCache>,
    /// The word before, in a language where two that follow each other are a term.
    previous: Option<u32>,
    /// Spare buffers for some chunks, and for their words.
    spare_lookups: Vec<ChunkLookup>,
    spare_words: Vec<u32>,
    slots: WordSlots,
    /// The texts of one field of the document being read, as far as they were given to [`Self::add`].
    text: CountedText,
    field: Option<Field>,
    document: DocumentCounts,
    /// Spare buffers for the profile of a concept.
    spare_counts: Vec<FieldCount>,
    spare_profile: Vec<VariantCounts>,
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

    /// Counts the words of `text` for `field` of the document being read.
    pub fn add(&mut self, field: Field, text: &str) {
        if self.field != Some(field) {
            self.end_field();
            self.field = Some(field);
            self.slots.begin();
        }
        let mut counted = std::mem::take(&mut self.text);
        self.count(text, &mut counted, None);
        self.text = counted;
    }

    /// Does the same for a text that other documents have too: it is counted once and kept in
    /// `counted`, which is for this text and this lexicon alone.
    pub fn add_shared(&mut self, field: Field, text: &str, counted: &mut CountedText) {
        self.count_shared(text, counted, None);
        self.document.add(field, counted);
    }

    /// Does the same, but of the words that do not pass the filter it may add the length alone.
    pub(crate) fn add_matching(
        &mut self,
        field: Field,
        text: &str,
        counted: &mut CountedText,
        filter: &PrefixFilter,
    ) {
        self.count_shared(text, counted, Some(filter));
        self.document.add(field, counted);
    }

    /// Adds only the length of such a text.
    pub(crate) fn add_length(&mut self, field: Field, text: &str, counted: &mut CountedText) {
        self.count_shared(text, counted, None);
        self.document.add_length(field, counted);
    }

    /// Adds of such a text only the words that pass a filter, unless it was counted before. What it
    /// adds to the length of the field tells nothing then.
    pub(crate) fn add_filtered(
        &mut self,
        field: Field,
        text: &str,
        counted: &mut CountedText,
        filter: &PrefixFilter,
    ) {
        // of syllables, also those that follow each other are terms
        if counted.language == Some(self.language) || self.language.writes_syllables() {
            return self.add_matching(field, text, counted, filter);
        }
        filter.spans(text).for_each(|span| self.add(field, &text[span]));
    }

    fn count_shared(
        &mut self,
        text: &str,
        counted: &mut CountedText,
        filter: Option<&PrefixFilter>,
    ) {
        if counted.language != Some(self.language) {
            self.end_field();
            counted.clear();
            self.slots.begin();
            self.count(text, counted, filter);
            counted.set_concepts(self.entries.all());
            counted.language = Some(self.language);
        }
    }

    /// Adds what was counted of a field to the document being read.
    fn end_field(&mut self) {
        if let Some(field) = self.field.take() {
            self.text.set_concepts(self.entries.all());
            self.document.add(field, &self.text);
            self.text.clear();
        }
    }

    /// Counts the words of a text, or of a piece of it.
    fn count(&mut self, text: &str, counted: &mut CountedText, filter: Option<&PrefixFilter>) {
        // only of such a chunk as `is_ruled_out` takes is it known what it adds to the length
        let filter = filter.filter(|_| self.language == LanguageId::BY_WORD);
        self.previous = None;
        let mut lookups = std::mem::take(&mut self.spare_lookups);
        segmentation::spans(text, &mut |span| {
            lookups.push(self.cache.prefetch(text, span));
            if lookups.len() == CHUNKS_AHEAD {
                self.count_chunks(text, &mut lookups, counted, filter);
            }
        });
        self.count_chunks(text, &mut lookups, counted, filter);
        self.spare_lookups = lookups;
    }

    /// Counts the words of some chunks of a text.
    ///
    /// Cache misses are half of its time, so what is read of all of them is prefetched before the
    /// first is counted.
    fn count_chunks(
        &mut self,
        text: &str,
        lookups: &mut Vec<ChunkLookup>,
        counted: &mut CountedText,
        filter: Option<&PrefixFilter>,
    ) {
        let CountedText { words: counts, length, votes, .. } = counted;
        let mut words = std::mem::take(&mut self.spare_words);
        for lookup in lookups.drain(..) {
            let before = words.len();
            let chunk = &text[lookup.span.clone()];
            if filter.is_some_and(|filter| is_ruled_out(chunk, filter)) {
                let (terms, vote): (u32, _) = match self.cache.get_short(&lookup) {
                    Some(tokens) => (tokens.length.into(), tokens.vote),
                    None => (tokens::has_length(chunk).into(), vote_of(chunk)),
                };
                *length += terms;
                votes.add(vote);
                continue;
            }
            let (terms, vote) = match self.cache.get(text, &lookup) {
                Some(tokens) => {
                    words.extend_from_slice(self.cache.words(&tokens));
                    (tokens.length.into(), tokens.vote)
                }
                None => self.tokenize(chunk, &mut words),
            };
            *length += terms;
            votes.add(vote);
            if self.language.writes_syllables() {
                self.add_pairs(before, &mut words);
            }
            words.last().into_iter().for_each(|&word| self.slots.prefetch(word));
        }
        words.drain(..).for_each(|word| self.slots.count(counts, word));
        self.spare_words = words;
    }

    /// Appends the terms for each two syllables that follow each other, of the words from one on and
    /// the one before.
    fn add_pairs(&mut self, from: usize, words: &mut Vec<u32>) {
        for at in from..words.len() {
            let second = words[at];
            let pair = self.previous.replace(second).and_then(|first| {
                self.language.pair(self.words.text(first), self.words.text(second))
            });
            words.extend(pair.map(|(pair, _)| self.intern(&pair)));
        }
    }

    /// Appends the words of a chunk that is not cached to others, and caches them. Returns what it
    /// adds to the length of a field, and its vote.
    fn tokenize(&mut self, chunk: &str, words: &mut Vec<u32>) -> (u32, Vote) {
        let (before, mut terms) = (words.len(), 0);
        tokens::terms(chunk, &mut |term| {
            let (word, prefix, counts) = self.intern_term(&term);
            terms += counts;
            words.push(word);
            words.extend(prefix);
        });
        let vote = vote_of(chunk);
        self.cache.insert(chunk, &words[before..], terms, vote);
        (terms, vote)
    }

    /// Returns the number of the word that a term is as the document is read, that of the term for
    /// words which begin like it, and what it adds to the length of a field.
    fn intern_term(&mut self, term: &Term<'_>) -> (u32, Option<u32>, u32) {
        let is_word = term.form == TermForm::Word;
        let reading = if is_word { self.language.read(term.spelled) } else { None };
        if let Some(Reading { term, prefix, is_stop_word, .. }) = reading {
            let prefix = prefix.map(|prefix| self.intern(&prefix));
            return (self.intern(&term), prefix, u32::from(!is_stop_word));
        }
        let counts = u32::from(term.counts);
        let prefix = if is_word { prefix_of(term.text) } else { None };
        let prefix = prefix.map(|prefix| self.intern(&prefix));
        if self.language != LanguageId::BY_WORD {
            return (self.intern(term.text), prefix, counts);
        }
        // parts of identifiers are mostly words that are in the text elsewhere too
        let word = self.cache.word(term.text).unwrap_or_else(|| {
            let word = self.intern(term.text);
            if is_word {
                self.cache.insert_word(term.text, word, counts, vote_of(term.text));
            }
            word
        });
        (word, prefix, counts)
    }

    /// Returns whether the document being read is in another language than it was read in; then it
    /// is left, and what is added next is read in that.
    ///
    /// A document is taken to be in the language of the one before, until its own words tell.
    pub fn rereads(&mut self) -> bool {
        self.end_field();
        let language = self.document.votes.language(DOCUMENT_MARGIN, |_| true);
        if language == self.language {
            return false;
        }
        let cache = self.other_caches.remove(&language).unwrap_or_default();
        let cache = std::mem::replace(&mut self.cache, cache);
        self.other_caches.insert(self.language, cache);
        self.language = language;
        self.abandon();
        true
    }

    /// Leaves the document being read, and begins the next.
    pub fn abandon(&mut self) {
        self.field = None;
        self.text.clear();
        self.document.clear();
    }

    /// Returns those words of the document that was read which are kept, and the one that tells its
    /// language, with their counts in each field where they are, and its lengths; begins the next.
    ///
    /// # Arguments
    /// * `keeps`: says whether a concept is kept.
    pub fn finish_words(&mut self, keeps: impl Fn(u32) -> bool) -> (Vec<(u32, Counts)>, Lengths) {
        self.end_field();
        let marker = self.add_marker();
        let most = self.document.words().len();
        let mut places = FxHashMap::with_capacity_and_hasher(most, FxBuildHasher);
        let mut words: Vec<(u32, Counts)> = Vec::with_capacity(most);
        for &FieldCount { word, count, field, .. } in self.document.words() {
            if marker != Some(word) && !keeps(self.entry(word).concept) {
                continue;
            }
            let at = *places.entry(word).or_insert(words.len());
            if at == words.len() {
                words.push((word, [0; FIELDS]));
            }
            let sum = &mut words[at].1[field as usize];
            *sum = sum.saturating_add(count);
        }
        let lengths = self.document.lengths();
        self.abandon();
        (words, lengths)
    }

    /// Adds the term by which a document tells its language, and returns it: a query is read in the
    /// languages that some document is in.
    fn add_marker(&mut self) -> Option<u32> {
        (self.language != LanguageId::BY_WORD).then(|| {
            let marker = self.intern(self.language.marker());
            self.document.add_word(Field::Time, marker, self.entry(marker), 1);
            marker
        })
    }

    /// Returns a document of which the words were counted before.
    pub fn counted<'w>(
        &mut self,
        words: impl IntoIterator<Item = (&'w str, &'w Counts)>,
        lengths: &Lengths,
    ) -> AnalyzedDocument {
        for (word, counts) in words {
            let word = self.intern(word);
            let entry = self.entry(word);
            for (field, &count) in Field::ALL.into_iter().zip(counts).filter(|(_, c)| **c > 0) {
                self.document.add_word(field, word, entry, count);
            }
        }
        self.document.set_lengths(lengths);
        self.finish()
    }

    /// Returns the document that was read and begins the next.
    pub fn finish(&mut self) -> AnalyzedDocument {
        self.end_field();
        self.add_marker();
        let Self { profiles, document, spare_counts, spare_profile, .. } = self;
        let lengths = document.lengths();
        let (by_concept, words) = document.by_concept();
        let mut concepts = Vec::with_capacity(words.len());
        for same in by_concept {
            let counts = same.iter().map(|&key| words[key as u32 as usize]);
            let profile = match in_text(counts.clone()) {
                Some((variant, body, context)) => profiles.intern_text(variant, body, context),
                None => {
                    spare_counts.clear();
                    spare_counts.extend(counts);
                    set_profile(spare_profile, spare_counts);
                    profiles.intern(spare_profile)
                }
            };
            concepts.push(((same[0] >> 32) as u32, profile));
        }
        document.clear();
        AnalyzedDocument { concepts, lengths }
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

/// Says whether a chunk is certainly one word that does not pass a filter.
fn is_ruled_out(chunk: &str, filter: &PrefixFilter) -> bool {
    let bytes = chunk.as_bytes();
    bytes.iter().all(u8::is_ascii_lowercase) && !filter.may_match(bytes)
}

/// Returns the variant of some counts of a concept, with its term frequency in the body and in the
/// context, if there are no other variants and no other fields.
#[inline]
fn in_text(mut counts: impl Iterator<Item = FieldCount> + Clone) -> Option<(u16, u16, u16)> {
    let (mut body, mut context) = (0u16, 0u16);
    let variant = counts.clone().next()?.variant;
    let all = counts.all(|count| {
        match count.field {
            Field::Body => body = body.saturating_add(count.count),
            Field::Context => context = context.saturating_add(count.count),
            _ => return false,
        }
        count.variant == variant
    });
    all.then_some((variant, body, context))
}

/// Sets a profile to the counts of a concept.
fn set_profile(profile: &mut Vec<VariantCounts>, counts: &mut [FieldCount]) {
    profile.clear();
    counts.sort_unstable_by_key(|count| count.variant);
    for same in counts.chunk_by(|a, b| a.variant == b.variant) {
        let mut of_variant = VariantCounts { variant: same[0].variant, counts: [0; FIELDS] };
        for count in same {
            let sum = &mut of_variant.counts[count.field as usize];
            *sum = sum.saturating_add(count.count);
        }
        profile.push(of_variant);
    }
}
