//! Analysis of a document into concepts and profiles, field by field, with the dictionaries of the
//! lexicon.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::index::bm25f::{Counts, FIELDS, Field, Lengths};
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::dictionary::token_cache::ChunkLookup;
use crate::index::dictionary::word_counts::{CountedText, FieldCount};
use crate::index::postings::tf_profiles::VariantCounts;
use crate::text::language::detection::{DOCUMENT_MARGIN, Vote, vote_of};
use crate::text::language::readings::{LanguageId, Reading, prefix_of};
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

impl Lexicon {
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
