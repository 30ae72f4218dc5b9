//! Phrase filter: posting lists preselect, the document's text decides (the index stores no
//! positions).

use crate::catalog::Catalog;
use crate::error::{Interrupt, Result};
use crate::index::postings::reader::PostingList;
use crate::search::query::{Query, contains_phrase};
use crate::text::query_terms::{QueryTerm, query_terms};

/// A phrase of a query.
pub(super) struct Phrase<'a> {
    words: String,
    /// The posting lists of its terms, `None` if one is unknown: only a document in all of them is
    /// read.
    lists: Option<Vec<PostingList<'a>>>,
}

impl<'a> Phrase<'a> {
    fn new(words: &str, catalog: &'a Catalog, interrupt: Interrupt<'_>) -> Result<Self> {
        let index = &catalog.index;
        let list = |term: QueryTerm| -> Result<_> {
            let Some(word) = index.lexicon().words.get(&term.text) else { return Ok(None) };
            let concept = index.entry(word).concept;
            index.validate_list(concept, interrupt)?;
            Ok(Some(index.posting_list(concept)))
        };
        let terms = query_terms(&[(words, 1.0)], |_| None);
        let lists: Vec<_> = terms.into_iter().map(list).collect::<Result<_>>()?;
        Ok(Self { words: words.to_owned(), lists: lists.into_iter().collect() })
    }

    /// Says whether a document holds all words of the phrase.
    pub fn has_words_in(&self, document: u32) -> bool {
        let all =
            |lists: &Vec<PostingList<'_>>| lists.iter().all(|list| list.find(document).is_some());
        self.lists.as_ref().is_some_and(all)
    }

    /// Says whether a document holds the phrase.
    pub fn is_in(&self, document: u32, text: &mut dyn FnMut(u32) -> Option<String>) -> bool {
        self.has_words_in(document)
            && text(document).is_some_and(|text| contains_phrase(&text, &self.words))
    }
}

/// The phrases that a document must hold, and those that it must not.
pub(super) struct QueryPhrases<'a> {
    required: Vec<Phrase<'a>>,
    excluded: Vec<Phrase<'a>>,
}

impl<'a> QueryPhrases<'a> {
    /// Returns those of a query.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn new(query: &Query, catalog: &'a Catalog, interrupt: Interrupt<'_>) -> Result<Self> {
        Ok(Self {
            required: phrases(&query.phrases, catalog, interrupt)?,
            excluded: phrases(&query.excluded, catalog, interrupt)?,
        })
    }

    /// Returns whether there is a phrase that documents must hold.
    pub const fn is_required(&self) -> bool {
        !self.required.is_empty()
    }

    /// Says whether a document holds all words of the phrases that it must hold.
    pub fn has_words_in(&self, document: u32) -> bool {
        self.required.iter().all(|phrase| phrase.has_words_in(document))
    }

    /// Says whether a document holds all that it must and nothing that it must not.
    pub fn accept(&self, document: u32, text: &mut dyn FnMut(u32) -> Option<String>) -> bool {
        self.required.iter().all(|phrase| phrase.is_in(document, text))
            && !self.excluded.iter().any(|phrase| phrase.is_in(document, text))
    }
}

/// Returns the phrases of these texts.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
fn phrases<'a>(
    texts: &[String],
    catalog: &'a Catalog,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Phrase<'a>>> {
    texts.iter().map(|words| Phrase::new(words, catalog, interrupt)).collect()
}
