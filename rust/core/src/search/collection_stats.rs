//! Statistics of a collection for one query: `N`, the lengths of fields, and `n_t` of each name.
//!
//! Documents that are scored as a part of a larger collection, such as candidates of another engine
//! or an index beside an archive, are scored with these in place of those of their own index. Then
//! their scores compare, to the last digit.

use std::collections::BTreeMap;

use crate::index::bm25f::Totals;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::search::term_names::{ConceptNames, TermKind};
use crate::text::language::readings::LanguageId;

/// The statistics by which the documents of a collection are scored for one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionStats {
    /// Documents, and the lengths of their fields.
    pub totals: Totals,
    /// How many documents have each name (see [`TermKind`]); 0 of what is not listed.
    pub doc_freqs: BTreeMap<String, u32>,
}

impl CollectionStats {
    /// Adds the documents of another collection, which has none of these.
    pub fn add(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (name, count) in &other.doc_freqs {
            let all = self.doc_freqs.entry(name.clone()).or_default();
            *all = all.saturating_add(*count);
        }
    }

    /// Removes documents of the collection, without their document frequencies.
    pub fn subtract(&mut self, other: &Self) {
        let (own, gone) = (&mut self.totals, &other.totals);
        own.documents = own.documents.saturating_sub(gone.documents);
        let fields = own.docs_with_field.iter_mut().zip(gone.docs_with_field);
        fields.for_each(|(all, gone)| *all = all.saturating_sub(gone));
        let lengths = own.length.iter_mut().zip(gone.length);
        lengths.for_each(|(all, gone)| *all = all.saturating_sub(gone));
    }

    fn count(&self, name: &str) -> u32 {
        self.doc_freqs.get(name).copied().unwrap_or_default()
    }

    /// Returns the languages that some document is read in, beside words read by themselves.
    pub(super) fn languages(&self) -> Vec<LanguageId> {
        let is_held = |one: &LanguageId| self.concept(&ConceptNames::of_language(*one)).any > 0;
        LanguageId::all().filter(is_held).collect()
    }

    /// Returns the document frequencies of a concept.
    pub(super) fn concept(&self, names: &ConceptNames) -> DocFreqs {
        let text = self.count(&names.text);
        DocFreqs {
            any: text.saturating_add(self.count(&names.beside)),
            text,
            heading: self.count(&names.heading),
            speaker: self.count(&names.speaker),
        }
    }

    /// Returns the document frequencies of a word as it is spelled.
    pub(super) fn word(&self, word: &str) -> WordDocFreqs {
        let text = self.count(&TermKind::Word.name(word));
        let beside = self.count(&TermKind::WordBeside.name(word));
        WordDocFreqs { any: text.saturating_add(beside), text }
    }

    /// Returns the document frequency of a pattern, if it was counted.
    pub(super) fn pattern(&self, pattern: &str) -> Option<u32> {
        self.doc_freqs.get(&TermKind::Pattern.name(pattern)).copied()
    }

    /// Notes the document frequencies of a concept.
    pub(super) fn set_concept(&mut self, names: ConceptNames, doc_freqs: &DocFreqs) {
        let DocFreqs { any, text, heading, speaker } = *doc_freqs;
        let ConceptNames { text: in_text, beside, heading: in_heading, speaker: as_speaker } =
            names;
        self.doc_freqs.extend([
            (in_text, text),
            (beside, any.saturating_sub(text)),
            (in_heading, heading),
            (as_speaker, speaker),
        ]);
    }

    /// Notes the document frequencies of a word as it is spelled.
    pub(super) fn set_word(&mut self, word: &str, doc_freqs: WordDocFreqs) {
        let WordDocFreqs { any, text } = doc_freqs;
        self.doc_freqs.insert(TermKind::Word.name(word), text);
        self.doc_freqs.insert(TermKind::WordBeside.name(word), any.saturating_sub(text));
    }

    /// Notes the document frequency of a pattern.
    pub(super) fn set_pattern(&mut self, pattern: &str, count: u32) {
        self.doc_freqs.insert(TermKind::Pattern.name(pattern), count);
    }
}
