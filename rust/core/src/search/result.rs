//! Search result: the ranked documents of a query.

use crate::index::topk::collector::Scored;
use crate::search::turns::Turn;
use crate::text::snippet_terms::SnippetTerms;

/// The ranked documents of a query, with what is needed to show them.
#[derive(Debug, Default)]
pub struct SearchResult {
    /// Best first.
    pub ranked: Vec<Scored>,
    /// The turn of each, where turns were searched; none for a section of a note.
    pub turns: Vec<Option<Turn>>,
    /// The terms to show in snippets.
    pub terms: SnippetTerms,
    /// What of the query was not used, and why.
    pub notes: Vec<String>,
    /// How much of the query the best document says, in 0…1.
    pub confidence: f32,
    /// Concepts whose posting lists were opened.
    pub concepts: Vec<u32>,
}

impl SearchResult {
    /// Returns the document that is shown of each hit: of a turn it can be another than was found.
    pub fn shown(&self) -> impl Iterator<Item = u32> + Clone {
        self.ranked.iter().enumerate().map(|(at, scored)| {
            let turn = self.turns.get(at).and_then(Option::as_ref);
            turn.map_or(scored.document, |turn| turn.shown)
        })
    }
}
