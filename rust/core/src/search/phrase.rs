//! Phrase filter: posting lists preselect, the document's text decides (the index stores no
//! positions).

use crate::catalog::Catalog;
use crate::error::{Interrupt, Result};
use crate::index::dictionary::expansion::Expander;
use crate::index::postings::reader::PostingList;
use crate::search::query::{Query, contains_phrase};
use crate::text::language::SEPARATOR;
use crate::text::query_terms::{QueryTerm, query_terms};
use crate::text::tokens::TermForm;

/// A phrase of a query.
pub(super) struct Phrase<'a> {
    words: String,
    /// The posting lists of each of its terms, one a language, `None` if a term is unknown: only a
    /// document in one of each term is read.
    lists: Option<Vec<Vec<PostingList<'a>>>>,
}

impl<'a> Phrase<'a> {
    fn new(
        words: &str,
        catalog: &'a Catalog,
        expander: &Expander,
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let index = &catalog.index;
        let lexicon = index.lexicon();
        let languages = index.languages();
        let lists = |term: QueryTerm| -> Result<_> {
            let mut found: Vec<u32> = lexicon.words.get(&term.text).into_iter().collect();
            if !languages.is_empty() {
                // phrases are compared without accents, whatever the stem of a word is with them
                let read = format!("{}{SEPARATOR}", term.text);
                found.extend(expander.prefix(&lexicon.words, &read, interrupt)?);
            }
            let mut concepts: Vec<u32> =
                found.into_iter().map(|word| index.entry(word).concept).collect();
            concepts.sort_unstable();
            concepts.dedup();
            concepts.iter().try_for_each(|&one| index.validate_list(one, interrupt))?;
            let lists: Vec<_> = concepts.iter().map(|&one| index.posting_list(one)).collect();
            Ok(Some(lists).filter(|lists| !lists.is_empty()))
        };
        let terms = query_terms(&[(words, 1.0)], languages, |_| None);
        // the index looks up the syllables, the text tells whether they follow each other
        let terms =
            terms.into_iter().filter(|term| term.form != TermForm::Pair || term.prefix.is_none());
        // a phrase may end within a word; one of two characters is a pair of the longer
        let is_pair = |term: &QueryTerm| term.text.chars().count() <= 2;
        let terms = terms.filter(|term| term.form != TermForm::RunWord || is_pair(term));
        let lists: Vec<_> = terms.map(lists).collect::<Result<_>>()?;
        Ok(Self { words: words.to_owned(), lists: lists.into_iter().collect() })
    }

    /// Says whether a document holds all words of the phrase.
    pub fn has_words_in(&self, document: u32) -> bool {
        let any =
            |lists: &Vec<PostingList<'_>>| lists.iter().any(|list| list.find(document).is_some());
        self.lists.as_ref().is_some_and(|terms| terms.iter().all(any))
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
    pub fn new(
        query: &Query,
        catalog: &'a Catalog,
        expander: &Expander,
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let phrases = |texts: &[String]| -> Result<Vec<_>> {
            texts.iter().map(|words| Phrase::new(words, catalog, expander, interrupt)).collect()
        };
        Ok(Self { required: phrases(&query.phrases)?, excluded: phrases(&query.excluded)? })
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
