//! Scoring of a query: BM25F over its concepts, each with up to four weights.
//!
//! The words of a query become its concepts in [`query_words`](crate::search::query_words).
//! All of the weights apply to the one posting of the concept: see
//! [`query_concept`](crate::search::query_concept).

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, ZONE_DOCS};
use crate::error::{Interrupt, Result};
use crate::index::bm25f::{Bm25f, Counts, Field, Lengths};
use crate::index::postings::codec::Impact;
use crate::index::postings::reader::PostingList;
use crate::index::postings::tf_profiles::ProfileSummary;
use crate::index::topk::collector::Scoring;
use crate::search::collection_stats::CollectionStats;
use crate::search::query_concept::{ConceptList, QueryConcept};
use crate::search::query_stats::QueryStats;
use crate::search::turns::TurnFinder;
use crate::text::language::readings::LanguageId;
use crate::text::tokens::TermForm;

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
    /// Whether it asks for stop words alone.
    pub(super) has_only_stop_words: bool,
    /// Whether the query is about the one who asks it.
    pub(super) is_about_asker: bool,
    /// Whether it asks when something was.
    pub(super) asks_when: bool,
    /// The words of the query that no document holds.
    pub(super) unknown: Vec<(String, TermForm)>,
    pub(super) by_concept: FxHashMap<u32, usize>,
    /// Concepts of the collection that the index does not have, by name.
    pub(super) absent: FxHashMap<String, usize>,
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
            has_only_stop_words: false,
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
