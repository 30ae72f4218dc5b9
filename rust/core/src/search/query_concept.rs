//! Concepts of a query, with up to four weights each.
//!
//! A word counts by its stem and, half as much, by its variant; what is in a heading, or is the
//! speaker's name, counts once more with the idf it has there. The weights are measured, see
//! `docs/explanation/ranking.md`.

use crate::catalog::Catalog;
use crate::index::bm25f::Bm25f;
use crate::index::doc_freqs::DocFreqs;
use crate::search::term_names::{ConceptNames, TermKind};
use crate::text::query_terms::QueryTerm;
use crate::text::tokens::TermForm;

/// The weights of the parts of a word.
mod weight {
    /// Its stem, and its variant.
    pub const STEM: f32 = 1.0 / 1.5;
    pub const WORD: f32 = 0.5 / 1.5;
    /// A single character of an unspaced script says less than a pair.
    pub const CHARACTER: f32 = 0.5;
    /// In a heading or title, and as the name of the speaker.
    pub const HEADING: f32 = 0.5;
    pub const SPEAKER: f32 = 2.0;
}

/// Roles of speakers, by stem: they do not count as names.
const ROLES: [&str; 11] = [
    "user", "assist", "system", "tool", "human", "ai", "bot", "agent", "model", "develop",
    "function",
];

/// One concept of a query, with its weights, each times its idf.
pub(super) struct QueryConcept {
    /// The name in an explanation.
    pub name: String,
    pub list: ConceptList,
    /// Documents that hold the concept, as they are counted for its weight.
    pub doc_freq: u32,
    /// The weight in any field,
    pub any: f32,
    /// of single variants,
    pub variants: Vec<(u16, f32)>,
    /// in headings,
    pub heading: f32,
    /// and as the name of the speaker.
    pub speaker: f32,
}

/// The postings of a concept of a query.
pub(super) enum ConceptList {
    /// The list of a concept of the index.
    Indexed(u32),
    /// A list that was encoded for this query, and its number of postings.
    Combined(Vec<u8>, u32),
}

/// Returns the weight of a term by its form.
pub(super) fn form_weight(form: TermForm) -> f32 {
    if form == TermForm::Character { weight::CHARACTER } else { 1.0 }
}

/// Says whether a word is the role of a speaker.
pub(super) fn is_role(term: &QueryTerm) -> bool {
    ROLES.contains(&&**term.stem.as_ref().unwrap_or(&term.text))
}

impl QueryConcept {
    /// Makes the concept of a word, without weights yet.
    pub fn new(term: &QueryTerm, list: ConceptList, doc_freq: u32) -> Self {
        Self {
            name: term.stem.as_ref().unwrap_or(&term.text).clone(),
            list,
            doc_freq,
            any: 0.0,
            variants: Vec::new(),
            heading: 0.0,
            speaker: 0.0,
        }
    }

    /// Adds the weights of a word.
    ///
    /// # Arguments
    /// * `doc_freqs`: of the concept.
    /// * `variant`: the number of the word among the variants of the concept, and its document
    ///   frequency, if documents spell it so.
    pub fn add_word(
        &mut self,
        term: &QueryTerm,
        doc_freqs: &DocFreqs,
        variant: Option<(u16, u32)>,
        formula: &Bm25f,
    ) {
        let times = term.times * form_weight(term.form);
        let n = doc_freqs.scored(is_role(term));
        let idf = |n: u32| if n > 0 { times * formula.idf(n) } else { 0.0 };
        if term.stem.is_none() {
            self.any += idf(n);
        } else {
            self.any += weight::STEM * idf(n);
            if let Some((number, doc_freq)) = variant {
                let weight = weight::WORD * idf(doc_freq);
                match self.variants.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, sum)) => *sum += weight,
                    None => self.variants.push((number, weight)),
                }
            }
        }
        self.heading += weight::HEADING * idf(doc_freqs.heading);
        if term.form != TermForm::Whole && !is_role(term) {
            self.speaker += weight::SPEAKER * idf(doc_freqs.speaker);
        }
    }

    /// Returns its weights by name, as [`ConceptNames`] and [`TermKind`] give them.
    pub fn name_weights(&self, catalog: &Catalog) -> Vec<(String, f32)> {
        let lexicon = catalog.index.lexicon();
        let ConceptList::Indexed(concept) = self.list else {
            return vec![(TermKind::Pattern.name(&self.name), self.any)];
        };
        let names = ConceptNames::of(lexicon.stem_of(concept), &self.name);
        let spelled = self.variants.iter().filter_map(|&(variant, weight)| {
            let word = lexicon.words.text(lexicon.word(concept, variant)?);
            Some((TermKind::Word.name(word), weight))
        });
        let concept =
            [(names.text, self.any), (names.heading, self.heading), (names.speaker, self.speaker)];
        concept.into_iter().chain(spelled).filter(|(_, weight)| *weight > 0.0).collect()
    }

    /// Multiplies all weights.
    pub fn multiply(&mut self, factor: f32) {
        let variants = self.variants.iter_mut().map(|(_, weight)| weight);
        for weight in
            [&mut self.any, &mut self.heading, &mut self.speaker].into_iter().chain(variants)
        {
            *weight *= factor;
        }
    }
}
