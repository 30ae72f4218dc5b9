//! The words of a document that a query can match: all others add nothing to its score.

use rustc_hash::FxHashSet;

use crate::search::term_names::TermKind;
use crate::store::engine::query_names::QueryNames;

/// The words that a query asks for, by their concepts.
#[derive(Debug)]
pub struct AskedWords {
    stems: FxHashSet<String>,
    /// Those without a stem.
    words: FxHashSet<String>,
}

impl AskedWords {
    /// Returns the words of a query; none where a pattern, a phrase or an exclusion can match others.
    #[must_use]
    pub fn of(names: &QueryNames) -> Option<Self> {
        let query = &names.query;
        let is_plain =
            names.patterns.is_empty() && query.phrases.is_empty() && query.excluded.is_empty();
        let terms = |kind: TermKind| {
            let terms = names.names.iter().filter_map(|name| name.strip_prefix(kind.letter()));
            terms.map(str::to_owned).collect()
        };
        is_plain.then(|| Self { stems: terms(TermKind::Stem), words: terms(TermKind::Word) })
    }

    /// Says whether a word is asked for: in any form, if it has a stem.
    pub(super) fn holds<'w>(&self, stem: Option<&str>, word: impl FnOnce() -> &'w str) -> bool {
        match stem {
            Some(stem) => self.stems.contains(stem),
            None => self.words.contains(word()),
        }
    }
}
