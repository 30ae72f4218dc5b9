//! Concepts of a query, with up to four weights each.
//!
//! A word counts by its stem and, half as much, by its variant; what is in a heading, or is the
//! speaker's name, counts once more with the idf it has there. The weights and what they were
//! measured by are in `docs/explanation/ranking.md`.

use std::borrow::Cow;

use crate::catalog::Catalog;
use crate::index::bm25f::Bm25f;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::search::term_names::{ConceptNames, TermKind};
use crate::text::language::readings::{self, stem_in};
use crate::text::query_terms::QueryTerm;
use crate::text::tokens::TermForm;

/// The weights of the parts of a word.
mod weight {
    /// Its stem, and its variant.
    pub const STEM: f32 = 1.0 / 1.5;
    pub const WORD: f32 = 0.5 / 1.5;
    /// The same where a word with other accents is another word.
    pub const UNACCENTED: f32 = 0.2;
    pub const ACCENTED: f32 = 0.8;
    /// The stem, and what begins like it, in a language that has such terms.
    pub const STEM_BY_PREFIX: f32 = 1.0 / 3.0;
    pub const PREFIX: f32 = 1.0 / 3.0;
    /// A single character of an unspaced script says less than a pair.
    pub const CHARACTER: f32 = 0.5;
    /// A pair within a word that is a term by itself.
    pub const PAIR_IN_WORD: f32 = 0.3;
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
    /// The name, for an explanation.
    pub name: ConceptName,
    /// The word of the query, which can have a concept in each language.
    pub word: String,
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

/// What a concept is called, which is written out only where it is shown.
pub(super) enum ConceptName {
    /// A pattern, as it stands in the query.
    Pattern(String),
    /// A stem, with its language, or a word without one.
    Stem(String),
    /// What begins like the word.
    Prefix,
}

/// A concept of the index that a word of a query means in one language.
pub(super) struct TermConcept<'t> {
    /// The number in the index; none where only other documents of the collection hold it.
    pub concept: Option<u32>,
    pub stem: Option<&'t str>,
    /// The number of the word among the variants of the concept, if documents spell it so.
    pub variant: Option<u16>,
    pub kind: ConceptKind,
}

/// What the weight of a word is divided among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConceptKind {
    /// Its stem and the word as it is spelled.
    Plain,
    /// The same, and other accents make another word.
    ByAccents,
    /// Its stem, the word as it is spelled, and words that begin like it or two syllables.
    WithPrefix,
    /// The last of these.
    Prefix,
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
    match form {
        TermForm::Character | TermForm::CharacterInWord => weight::CHARACTER,
        TermForm::PairInWord => weight::PAIR_IN_WORD,
        TermForm::Word | TermForm::Whole | TermForm::RunWord | TermForm::Pair => 1.0,
    }
}

/// Says whether a word is the role of a speaker.
pub(super) fn is_role(term: &QueryTerm) -> bool {
    ROLES.contains(&&**term.stem.as_ref().unwrap_or(&term.text))
}

impl QueryConcept {
    /// Makes the concept of a word, without weights yet.
    pub fn new(
        term: &QueryTerm,
        found: &TermConcept<'_>,
        list: ConceptList,
        doc_freq: u32,
    ) -> Self {
        let is_prefix = found.kind == ConceptKind::Prefix && term.form == TermForm::Word;
        let stem = found.stem.unwrap_or(&term.text);
        Self {
            name: if is_prefix { ConceptName::Prefix } else { ConceptName::Stem(stem.to_owned()) },
            word: term.text.clone(),
            list,
            doc_freq,
            any: 0.0,
            variants: Vec::new(),
            heading: 0.0,
            speaker: 0.0,
        }
    }

    /// Returns the name to show.
    pub fn name(&self) -> Cow<'_, str> {
        match &self.name {
            ConceptName::Pattern(name) => name.into(),
            ConceptName::Stem(stem) => readings::shown(stem),
            ConceptName::Prefix => format!("{}…", self.word).into(),
        }
    }

    /// Adds the weights of a word.
    ///
    /// # Arguments
    /// * `found`: this concept of the word.
    /// * `doc_freqs`: of all concepts of the word, and of all words that are spelled like it.
    pub fn add_word(
        &mut self,
        term: &QueryTerm,
        found: &TermConcept<'_>,
        (doc_freqs, spelled): (&DocFreqs, WordDocFreqs),
        formula: &Bm25f,
    ) {
        let times = term.times * form_weight(term.form);
        let is_role = is_role(term);
        let n = doc_freqs.scored(is_role);
        let idf = |n: u32| if n > 0 { times * formula.idf(n) } else { 0.0 };
        let (stem, word) = match found.kind {
            ConceptKind::Plain => (weight::STEM, weight::WORD),
            ConceptKind::ByAccents => (weight::UNACCENTED, weight::ACCENTED),
            ConceptKind::WithPrefix => (weight::STEM_BY_PREFIX, weight::WORD),
            ConceptKind::Prefix => {
                self.any += weight::PREFIX * idf(n);
                return;
            }
        };
        if found.stem.is_none() {
            self.any += idf(n);
        } else {
            self.any += stem * idf(n);
            if let Some(number) = found.variant {
                let weight = word * idf(spelled.scored(doc_freqs.of_role(is_role)));
                match self.variants.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, sum)) => *sum += weight,
                    None => self.variants.push((number, weight)),
                }
            }
        }
        self.heading += weight::HEADING * idf(doc_freqs.heading);
        if term.form != TermForm::Whole && !is_role {
            self.speaker += weight::SPEAKER * idf(doc_freqs.speaker);
        }
    }

    /// Returns its weights by name, as [`ConceptNames`] and [`TermKind`] give them.
    pub fn name_weights(&self, catalog: &Catalog) -> Vec<(String, f32)> {
        let lexicon = catalog.index.lexicon();
        let ConceptList::Indexed(concept) = self.list else {
            return vec![(TermKind::Pattern.name(&self.name()), self.any)];
        };
        let word = lexicon.word(concept, 0).map(|word| lexicon.words.text(word));
        let names = ConceptNames::of(lexicon.stem_of(concept), word.unwrap_or_default());
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

/// Returns the terms that a word of a query is in each language, with its stems.
pub(super) fn meanings(
    term: &QueryTerm,
) -> impl Iterator<Item = (&str, Option<&str>, ConceptKind)> {
    let kind = |prefix: &Option<String>| match prefix {
        Some(_) => ConceptKind::WithPrefix,
        None => ConceptKind::Plain,
    };
    let read = term.readings.iter().map(move |one| {
        let kind = if one.by_accents { ConceptKind::ByAccents } else { kind(&one.prefix) };
        (&*one.term, Some(one.stem()), kind)
    });
    std::iter::once((&*term.text, term.stem.as_deref(), kind(&term.prefix))).chain(read)
}

/// Returns the terms for what begins like a word of a query.
pub(super) fn prefixes(
    term: &QueryTerm,
) -> impl Iterator<Item = (&str, Option<&str>, ConceptKind)> {
    let read = term.readings.iter().filter_map(|one| one.prefix.as_deref());
    let all = term.prefix.as_deref().into_iter().chain(read);
    all.map(|prefix| (prefix, stem_in(prefix), ConceptKind::Prefix))
}
