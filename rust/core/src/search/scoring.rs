//! Scoring of a query: BM25F over its concepts, each with up to four weights.
//!
//! All of the weights apply to the one posting of the concept: see
//! [`query_concept`](crate::search::query_concept).

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, ZONE_DOCS};
use crate::error::{Interrupt, Result};
use crate::index::bm25f::{Bm25f, Counts, Field, Lengths};
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::postings::codec::Impact;
use crate::index::postings::reader::PostingList;
use crate::index::postings::tf_profiles::ProfileSummary;
use crate::index::topk::collector::Scoring;
use crate::search::collection_stats::CollectionStats;
use crate::search::query_concept::{
    ConceptKind, ConceptList, QueryConcept, TermConcept, form_weight, is_role, meanings, prefixes,
};
use crate::search::query_stats::QueryStats;
use crate::search::turns::TurnFinder;
use crate::text::language::readings::LanguageId;
use crate::text::query_terms::QueryTerm;

/// The scoring function of a query over a catalog.
pub struct QueryScorer<'a> {
    pub(super) catalog: &'a Catalog,
    /// The formula with the current statistics.
    pub formula: Bm25f,
    /// The factor by which stored impacts may have grown.
    pub(super) impact_growth: f32,
    pub(super) concepts: Vec<QueryConcept>,
    /// The sum of the idf of all that the query asks for, each once.
    pub(super) asked: f32,
    /// Whether the query is about the one who asks it.
    pub(super) is_about_asker: bool,
    /// Whether it asks when something was.
    pub(super) asks_when: bool,
    /// The words of the query that no document holds.
    pub(super) unknown: Vec<String>,
    by_concept: FxHashMap<u32, usize>,
    /// Concepts of the collection that the index does not have, by name.
    absent: FxHashMap<String, usize>,
    /// Where its document frequencies come from.
    pub(super) stats: QueryStats<'a>,
    /// Concepts of the index whose lists were combined.
    pub(super) combined: Vec<u32>,
    /// Counts of profiles that exist only in this query, numbered after those of the index.
    pub(super) query_profiles: Vec<Counts>,
    pub(super) by_counts: FxHashMap<Counts, u32>,
    pub(super) interrupt: Interrupt<'a>,
    stopped: Cell<bool>,
    /// Which documents may be found; all of them if `None`.
    allows: Option<DocPredicate<'a>>,
    /// As `allows`, for a check that takes longer.
    requires: Option<DocPredicate<'a>>,
    /// Which blocks of [`ZONE_DOCS`] documents may hold any that passes the filter.
    blocks: Option<Vec<bool>>,
    /// Finds the turns by which messages are grouped, if they are.
    turns: Option<&'a TurnFinder<'a>>,
}

/// The number of a variant that other documents of the collection hold, and none of the index: no
/// posting has it.
const ABSENT_VARIANT: u16 = u16::MAX - 1;

/// A predicate of documents.
pub type DocPredicate<'a> = Box<dyn Fn(u32) -> bool + 'a>;

impl<'a> QueryScorer<'a> {
    /// Makes a scorer without concepts; `allows` says which documents may be found, if not all.
    pub fn new(
        catalog: &'a Catalog,
        allows: Option<DocPredicate<'a>>,
        interrupt: Interrupt<'a>,
    ) -> Self {
        let index = &catalog.index;
        let (formula, impact_growth) = (index.formula(), index.impact_growth());
        Self {
            catalog,
            formula,
            impact_growth,
            concepts: Vec::new(),
            asked: 0.0,
            is_about_asker: false,
            asks_when: false,
            unknown: Vec::new(),
            by_concept: FxHashMap::default(),
            absent: FxHashMap::default(),
            stats: QueryStats::of(index),
            combined: Vec::new(),
            query_profiles: Vec::new(),
            by_counts: FxHashMap::default(),
            interrupt,
            stopped: Cell::new(false),
            allows,
            requires: None,
            blocks: None,
            turns: None,
        }
    }

    /// Scores by the statistics of a collection that the catalog is a part of.
    #[must_use]
    pub(super) fn by(self, stats: Option<&'a CollectionStats>) -> Self {
        let Some(stats) = stats else { return self };
        let index = &self.catalog.index;
        let formula = Bm25f::new(index.weights(), &stats.totals);
        let impact_growth = index.impact_growth_by(&stats.totals);
        let stats = QueryStats::of_collection(index, stats);
        Self { formula, impact_growth, stats, ..self }
    }

    /// Notes the statistics that are looked up; with `languages`, as the query is read in these.
    #[must_use]
    pub(super) fn noting(self, languages: Option<&[LanguageId]>) -> Self {
        Self { stats: QueryStats::noting(&self.catalog.index, languages), ..self }
    }

    /// Restricts the search to some blocks of [`ZONE_DOCS`] documents, if it is restricted.
    #[must_use]
    pub fn within(self, blocks: Option<Vec<bool>>) -> Self {
        Self { blocks, ..self }
    }

    /// Keeps only the best message of each turn.
    #[must_use]
    pub(super) fn grouped(self, turns: Option<&'a TurnFinder<'a>>) -> Self {
        Self { turns, ..self }
    }

    /// Returns whether a document exists and passes the filter.
    pub(super) fn passes(&self, document: u32) -> bool {
        self.catalog.index.is_live(document)
            && self.allows.as_ref().is_none_or(|allows| allows(document))
    }

    /// Adds a check that takes longer.
    #[must_use]
    pub fn requiring(self, requires: Option<DocPredicate<'a>>) -> Self {
        Self { requires, ..self }
    }

    /// Returns the concepts of the index whose lists were opened.
    pub fn into_concepts(self) -> Vec<u32> {
        self.by_concept.into_keys().chain(self.combined).collect()
    }

    /// Adds a word of the query and returns in how many texts it is as it is spelled; a word that
    /// no document holds adds no concept.
    ///
    /// No document is in two languages, so what its concepts weigh comes from the sums of their
    /// document frequencies.
    pub fn add_term(&mut self, term: &QueryTerm) -> u32 {
        self.add_concepts(term, prefixes(term));
        let (is_known, freqs, spelled) = self.add_concepts(term, meanings(term));
        if is_known || !term.form.has_parts() {
            let doc_freq = freqs.scored(is_role(term));
            self.asked += form_weight(term.form) * self.formula.idf(doc_freq);
        }
        if !is_known && !term.form.has_parts() {
            self.unknown.push(term.text.clone());
        }
        spelled.scored(0)
    }

    /// Adds the concepts of a word in all languages that it is read in, as far as documents hold
    /// them. Returns whether any does, with the sum of the document frequencies of the concepts and
    /// of those of the word as it is spelled.
    fn add_concepts<'t>(
        &mut self,
        term: &QueryTerm,
        meanings: impl Iterator<Item = (&'t str, Option<&'t str>, ConceptKind)>,
    ) -> (bool, DocFreqs, WordDocFreqs) {
        let index = &self.catalog.index;
        let lexicon = index.lexicon();
        let mut found = Vec::with_capacity(1 + term.readings.len());
        let (mut doc_freqs, mut spelled) = (DocFreqs::default(), WordDocFreqs::default());
        for (text, stem, kind) in meanings {
            let word = lexicon.words.get(text);
            let entry = word.map(|word| index.entry(word));
            let by_stem = || index.concept_of(stem?);
            let concept = entry.map(|entry| entry.concept).or_else(by_stem);
            let freqs = self.stats.concept((text, stem), concept);
            let of_word = self.stats.word((text, stem), word);
            if freqs.any == 0 {
                continue;
            }
            doc_freqs = doc_freqs.plus(freqs);
            spelled = spelled.plus(of_word);
            let number = entry.map_or(ABSENT_VARIANT, |entry| entry.variant as u16);
            let variant = Some(number).filter(|_| of_word.any > 0);
            found.push((text, TermConcept { concept, stem, variant, kind }));
        }
        let doc_freq = doc_freqs.scored(is_role(term));
        for (text, one) in &found {
            let next = self.concepts.len();
            let (at, list) = match one.concept {
                Some(concept) => {
                    let at = *self.by_concept.entry(concept).or_insert(next);
                    (at, ConceptList::Indexed(concept))
                }
                None => {
                    let name = one.stem.unwrap_or(text).to_owned();
                    let at = *self.absent.entry(name).or_insert(next);
                    (at, ConceptList::Combined(Vec::new(), 0))
                }
            };
            if at == next {
                self.concepts.push(QueryConcept::new(term, one, list, doc_freq));
            }
            self.concepts[at].add_word(term, one, (&doc_freqs, spelled), &self.formula);
        }
        (!found.is_empty(), doc_freqs, spelled)
    }

    /// Validates the lists of the query, which can be interrupted, before they are opened.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn validate_lists(&self) -> Result<()> {
        self.concepts.iter().try_for_each(|concept| match concept.list {
            ConceptList::Indexed(concept) => {
                self.catalog.index.validate_list(concept, self.interrupt)
            }
            ConceptList::Combined(..) => Ok(()),
        })
    }

    /// Returns the posting list of a concept of the query.
    pub(super) fn list(&self, number: usize) -> PostingList<'_> {
        match &self.concepts[number].list {
            ConceptList::Indexed(concept) => self.catalog.index.posting_list(*concept),
            ConceptList::Combined(bytes, count) => {
                PostingList::new(bytes, *count, &[], Impact::default())
            }
        }
    }

    pub(super) fn counts(&self, profile: u32) -> &Counts {
        let profiles = &self.catalog.index.lexicon().profiles;
        match (profile as usize).checked_sub(profiles.len()) {
            None => profiles.counts(profile),
            Some(own) => &self.query_profiles[own],
        }
    }

    /// Returns the counts of one variant in a profile.
    fn variant_counts(&self, number: u16, profile: u32) -> Option<&Counts> {
        let variants = self.catalog.index.lexicon().profiles.variants(profile);
        variants.iter().find(|variant| variant.variant == number).map(|s| &s.counts)
    }

    /// Returns the sum of the parts of a concept; `each` is called for every part.
    #[inline]
    pub(super) fn parts(
        &self,
        concept: &QueryConcept,
        lengths: &Lengths,
        profile: u32,
        mut each: impl FnMut(&str, f32, &Counts, f32),
    ) -> f32 {
        let counts = self.counts(profile);
        let frequency = self.formula.frequency(counts, lengths);
        let mut sum = self.formula.score(concept.any, frequency);
        each("", concept.any, counts, frequency);
        for &(number, weight) in &concept.variants {
            if let Some(own) = self.variant_counts(number, profile) {
                let frequency =
                    if own == counts { frequency } else { self.formula.frequency(own, lengths) };
                sum += self.formula.score(weight, frequency);
                each(", as it is spelled", weight, own, frequency);
            }
        }
        if concept.heading > 0.0 {
            let frequency = self.formula.heading_frequency(counts, lengths);
            if frequency > 0.0 {
                sum += self.formula.score(concept.heading, frequency);
                each(", in the heading", concept.heading, counts, frequency);
            }
        }
        if concept.speaker > 0.0 {
            let frequency = self.formula.speaker_frequency(counts, lengths);
            if frequency > 0.0 {
                sum += self.formula.score(concept.speaker, frequency);
                each(", as the speaker", concept.speaker, counts, frequency);
            }
        }
        sum
    }
}

/// Says whether a field counts only once.
#[inline]
fn counts_once(field: u16) -> bool {
    const TWICE: [u16; 3] = [Field::Heading as u16, Field::Title as u16, Field::Speaker as u16];
    field != ProfileSummary::SEVERAL && !TWICE.contains(&field)
}

impl Scoring for QueryScorer<'_> {
    #[inline]
    fn term_score(&self, term: usize, document: u32, profile: u32) -> f32 {
        let index = &self.catalog.index;
        let lengths = index.lengths(document);
        let concept = &self.concepts[term];
        // nine postings in ten have one variant in one field, mostly the body: the parts then have
        // the same tf~, and one division is enough for all of them
        let profiles = &index.lexicon().profiles;
        match (profile < profiles.len() as u32).then(|| profiles.summary(profile)) {
            Some(summary)
                if summary.variant != ProfileSummary::SEVERAL && counts_once(summary.field) =>
            {
                let own = concept.variants.iter().filter(|(number, _)| *number == summary.variant);
                let weight = concept.any + own.map(|(_, weight)| weight).sum::<f32>();
                let field = summary.field as usize;
                self.formula.score_in(weight, field, summary.count, lengths[field])
            }
            _ => self.parts(concept, lengths, profile, |_, _, _, _| {}),
        }
    }

    fn is_stopped(&self) -> bool {
        if !self.stopped.get() && (self.interrupt)() {
            self.stopped.set(true);
        }
        self.stopped.get()
    }

    fn allows(&self, document: u32) -> bool {
        self.passes(document) && self.requires.as_ref().is_none_or(|requires| requires(document))
    }

    fn is_filtered(&self) -> bool {
        self.allows.is_some() || self.requires.is_some()
    }

    fn may_allow(&self, documents: Range<u32>) -> bool {
        let any = |blocks: &Vec<bool>| {
            let (start, end) = (documents.start as usize, documents.end as usize);
            blocks.iter().take(end.div_ceil(ZONE_DOCS)).skip(start / ZONE_DOCS).any(|&block| block)
        };
        self.blocks.as_ref().is_none_or(any)
    }

    fn prefetch(&self, document: u32) {
        self.catalog.index.prefetch(document);
    }

    fn group(&self, document: u32) -> Option<u32> {
        self.turns?.group(document)
    }

    fn tie(&self, a: u32, b: u32) -> Ordering {
        self.catalog.order(a, b)
    }
}
