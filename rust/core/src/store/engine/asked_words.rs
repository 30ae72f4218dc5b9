//! The words of a document that a query can match: all others add nothing to its score.

use crate::index::dictionary::lexicon::Lexicon;
use crate::search::term_names::TermKind;
use crate::store::engine::query_names::QueryNames;
use crate::text::language::SEPARATOR;
use crate::text::prefix_filter::PrefixFilter;

/// Which words of a document are kept.
#[derive(Debug, Clone, Copy)]
pub enum KeptWords<'a> {
    /// All.
    All,
    /// Those that a query asks for.
    Asked(&'a AskedWords),
}

/// The words that a query asks for, by their concepts.
#[derive(Debug)]
pub struct AskedWords {
    stems: Vec<String>,
    /// Those without a stem.
    words: Vec<String>,
    /// Passes whatever may have one of the stems, or be one of the words; none where one stands for
    /// all words that begin alike in a language, or for two words.
    pub(super) filter: Option<PrefixFilter>,
}

impl AskedWords {
    /// Returns the words of a query; none where a pattern, a phrase or an exclusion can match others.
    #[must_use]
    pub fn of(names: &QueryNames) -> Option<Self> {
        let query = &names.query;
        let is_plain =
            names.patterns.is_empty() && query.phrases.is_empty() && query.excluded.is_empty();
        let terms = |kind: TermKind| -> Vec<String> {
            let terms = names.names.iter().filter_map(|name| name.strip_prefix(kind.letter()));
            terms.map(str::to_owned).collect()
        };
        is_plain.then(|| {
            let (stems, words) = (terms(TermKind::Stem), terms(TermKind::Word));
            let has_beginnings = stems.iter().any(|stem| stem.starts_with(SEPARATOR));
            let terms = stems.iter().chain(&words).map(String::as_str);
            let filter = (!has_beginnings).then(|| PrefixFilter::of(terms));
            Self { stems, words, filter }
        })
    }

    /// Returns the concepts that are asked for, of those that are known by now: few.
    pub(super) fn concepts(&self, lexicon: &Lexicon) -> Vec<u32> {
        let stems = self.stems.iter().filter_map(|stem| lexicon.concept_of(stem));
        let words = self.words.iter().filter_map(|word| lexicon.concept_of_word(word));
        stems.chain(words).collect()
    }
}
