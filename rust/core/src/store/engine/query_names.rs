//! What a query asks of an engine: names to count, then the weight of each, patterns and phrases.

use crate::catalog::Catalog;
use crate::catalog::extract::Corpus;
use crate::error::{Interrupt, Result};
use crate::filter::SearchFilter;
use crate::index::bm25f::Weights;
use crate::index::dictionary::expansion::Expander;
use crate::search::collection_stats::CollectionStats;
use crate::search::query::{Atom, Query};
use crate::search::query_fields::{asked_filter, restrict};
use crate::search::term_names::ConceptNames;
use crate::search::{collection_stats, name_weights};
use crate::text::language::stems::stem;
use crate::text::query_terms::query_terms;

/// A pattern of a query, which an engine expands over the words that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// As it is written in the query; its name in [`CollectionStats`] is that of a pattern.
    pub name: String,
    /// What it is.
    pub kind: PatternKind,
    /// Its folded text; of a field the concepts that are looked for there, by name.
    pub terms: Vec<String>,
}

/// The kind of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// Words with this beginning.
    Prefix,
    /// Words at most so many typos away.
    Fuzzy(u8),
    /// Any form of a word, in one field.
    Field,
}

/// A query as it is put to an engine.
#[derive(Debug)]
pub struct QueryNames {
    /// As it was parsed.
    pub query: Query,
    /// Without documents, but with the words of the query.
    catalog: Catalog,
    /// The names whose document frequencies are asked for, sorted.
    pub names: Vec<String>,
    /// Its patterns.
    pub patterns: Vec<Pattern>,
}

impl QueryNames {
    /// Parses a query.
    ///
    /// # Errors
    /// [`Error::Query`](crate::error::Error::Query) when it is empty.
    pub fn parse(text: &str, weights: &Weights, interrupt: Interrupt<'_>) -> Result<Self> {
        Self::of(Query::parse(text)?, weights, interrupt)
    }

    fn of(query: Query, weights: &Weights, interrupt: Interrupt<'_>) -> Result<Self> {
        let mut catalog = Catalog::new(weights.clone(), Corpus::Main);
        let words = query.atoms.iter().filter_map(|atom| match atom {
            Atom::Words(text) | Atom::InField(_, text) => Some((text.as_str(), 1.0)),
            _ => None,
        });
        let words: Vec<(&str, f32)> = words.collect();
        for term in query_terms(&words, |_| None) {
            catalog.index.lexicon_mut().intern(&term.text);
        }
        let counted = collection_stats(&catalog, &Expander::default(), &query, interrupt)?;
        let patterns: Vec<Pattern> = query.atoms.iter().filter_map(pattern).collect();
        let mut names: Vec<String> = counted.doc_freqs.into_keys().collect();
        names.retain(|name| {
            !name.starts_with(crate::search::term_names::TermKind::Pattern.letter())
        });
        names.sort_unstable();
        Ok(Self { query, catalog, names, patterns })
    }

    /// Returns the same query for documents that need not hold its phrases.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn without_phrases(&self, interrupt: Interrupt<'_>) -> Result<Self> {
        let query = Query { phrases: Vec::new(), ..self.query.clone() };
        Self::of(query, self.catalog.index.weights(), interrupt)
    }

    /// Returns the weight of each name: its share in the query times its idf.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn weights(
        &self,
        stats: &CollectionStats,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<(String, f32)>> {
        name_weights(&self.catalog, &self.query, stats, interrupt)
    }

    /// Returns for each phrase that a document must hold the names of its concepts: a document
    /// has them all, each in the text or beside it.
    #[must_use]
    pub fn phrases(&self) -> Vec<Vec<ConceptNames>> {
        self.query.phrases.iter().map(|phrase| concepts(phrase)).collect()
    }

    /// Returns whether a document is left out for what it says.
    #[must_use]
    pub fn excludes(&self) -> bool {
        !self.query.excluded.is_empty()
    }

    /// Returns the filter of a caller with those of the query beside it.
    ///
    /// # Errors
    /// A note, when nothing can pass.
    pub fn restricted(&self, filter: &SearchFilter) -> std::result::Result<SearchFilter, String> {
        let mut filter = filter.clone();
        let asked = asked_filter(&self.query.filters)?;
        restrict(&mut filter, asked).map(|()| filter)
    }
}

/// Returns the names of the concepts of a text.
fn concepts(text: &str) -> Vec<ConceptNames> {
    let terms = query_terms(&[(text, 1.0)], |_| None);
    terms.iter().map(|term| ConceptNames::of(stem(&term.text).as_deref(), &term.text)).collect()
}

fn pattern(atom: &Atom) -> Option<Pattern> {
    let (name, kind, terms) = match atom {
        Atom::Words(_) => return None,
        Atom::Prefix(prefix) => (format!("{prefix}*"), PatternKind::Prefix, vec![prefix.clone()]),
        Atom::Fuzzy(word, typos) => {
            (format!("{word}~{typos}"), PatternKind::Fuzzy(*typos), vec![word.clone()])
        }
        Atom::InField(field, text) => {
            let concepts = concepts(text).into_iter().flat_map(|names| [names.text, names.beside]);
            (format!("{}:{text}", field.name()), PatternKind::Field, concepts.collect())
        }
    };
    Some(Pattern { name, kind, terms })
}
