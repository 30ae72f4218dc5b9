//! Concepts of the words of a query, in every language that a word is read in.

use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::search::query_concept::{
    ConceptKind, ConceptList, QueryConcept, TermConcept, form_weight, is_role, meanings, prefixes,
};
use crate::search::scoring::QueryScorer;
use crate::text::query_terms::QueryTerm;

/// The number of a variant that other documents of the collection hold, and none of the index: no
/// posting has it.
const ABSENT_VARIANT: u16 = u16::MAX - 1;

impl QueryScorer<'_> {
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
            self.unknown.push((term.text.clone(), term.form));
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
}
