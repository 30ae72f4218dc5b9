//! Statistics by which one query is scored: of the index, or of a collection that it is a part of.

use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::inverted_index::InvertedIndex;
use crate::search::collection_stats::CollectionStats;
use crate::search::term_names::ConceptNames;
use crate::text::language::readings::{LanguageId, stem_in};

/// Where the document frequencies of a query come from, and whether they are noted.
pub(super) struct QueryStats<'a> {
    index: &'a InvertedIndex,
    /// The statistics of the collection that the index is a part of, if it is.
    collection: Option<&'a CollectionStats>,
    /// The statistics that were looked up, if they are to be noted.
    noted: Option<Box<CollectionStats>>,
    /// The languages that the query is read in, if they are not those of the documents.
    read_in: Option<Vec<LanguageId>>,
}

impl<'a> QueryStats<'a> {
    /// Makes the statistics of an index that is all there is.
    pub(super) fn of(index: &'a InvertedIndex) -> Self {
        Self { index, collection: None, noted: None, read_in: None }
    }

    /// Makes the statistics of a collection that the index is a part of.
    pub(super) fn of_collection(index: &'a InvertedIndex, stats: &'a CollectionStats) -> Self {
        Self { collection: Some(stats), ..Self::of(index) }
    }

    /// Makes the statistics of an index which are noted as they are looked up.
    ///
    /// # Arguments
    /// * `languages`: those that the query is read in; none: those of the documents.
    pub(super) fn noting(index: &'a InvertedIndex, languages: Option<&[LanguageId]>) -> Self {
        let totals = index.totals().clone();
        let noted = CollectionStats { totals, ..CollectionStats::default() };
        let read_in = languages.map(<[LanguageId]>::to_vec);
        Self { noted: Some(Box::new(noted)), read_in, ..Self::of(index) }
    }

    /// Returns the statistics that were noted.
    pub(super) fn into_noted(self) -> CollectionStats {
        self.noted.map(|noted| *noted).unwrap_or_default()
    }

    /// Returns the languages that the documents of the collection are read in.
    pub(super) fn languages(&mut self) -> Vec<LanguageId> {
        let languages = match self.collection {
            Some(stats) => stats.languages(),
            None => self.read_in.clone().unwrap_or_else(|| self.index.languages().to_vec()),
        };
        if self.noted.is_some() {
            for language in &languages {
                let marker = language.marker();
                let word = self.index.lexicon().words.get(marker);
                let concept = word.map(|word| self.index.entry(word).concept);
                self.concept((marker, stem_in(marker)), concept);
            }
        }
        languages
    }

    /// Returns the document frequencies of a term, whose concept the index knows or not.
    pub(super) fn concept(
        &mut self,
        (text, stem): (&str, Option<&str>),
        concept: Option<u32>,
    ) -> DocFreqs {
        let names = || ConceptNames::of(stem, text);
        if let Some(stats) = self.collection {
            return stats.concept(&names());
        }
        let doc_freqs = concept.map(|concept| self.index.doc_freqs(concept)).unwrap_or_default();
        if let Some(noted) = &mut self.noted {
            noted.set_concept(names(), &doc_freqs);
        }
        doc_freqs
    }

    /// Returns the document frequencies of a term as it is spelled.
    pub(super) fn word(
        &mut self,
        (text, stem): (&str, Option<&str>),
        word: Option<u32>,
    ) -> WordDocFreqs {
        let doc_freqs = match (self.collection, word) {
            (Some(stats), _) if stem.is_some() => return stats.word(text),
            (_, Some(word)) => self.index.word_doc_freqs(word),
            _ => WordDocFreqs::default(),
        };
        if let Some(noted) = self.noted.as_mut().filter(|_| stem.is_some()) {
            noted.set_word(text, doc_freqs);
        }
        doc_freqs
    }

    /// Returns the document frequency of a pattern, of which the index has this one.
    pub(super) fn pattern(&mut self, name: &str, own: u32) -> u32 {
        if let Some(noted) = &mut self.noted {
            noted.set_pattern(name, own);
        }
        self.collection.and_then(|stats| stats.pattern(name)).unwrap_or(own)
    }
}
