//! Ranked search: from a query to the best documents of a catalog.

mod asked_speaker;
pub mod collection_stats;
mod combined_list;
mod confidence;
mod doc_filter;
mod explain_turn;
pub mod explanation;
mod message_rescore;
mod phrase;
pub mod query;
mod query_concept;
pub mod query_fields;
pub mod query_plan;
mod query_stats;
mod query_words;
pub mod result;
pub mod scoring;
pub mod session_rescore;
mod shares;
mod term_bounds;
pub mod term_names;
mod turn_rescore;
pub mod turns;

use crate::catalog::Catalog;
use crate::error::{Error, Interrupt, Result};
use crate::filter::SearchFilter;
use crate::index::bm25f::Field;
use crate::index::dictionary::expansion::Expander;
use crate::index::topk::collector::{Scored, Scoring};
use crate::index::topk::top_k;
use crate::search::collection_stats::CollectionStats;
use crate::search::doc_filter::DocFilter;
pub use crate::search::explain_turn::explain_turn;
use crate::search::explanation::Explanation;
use crate::search::phrase::QueryPhrases;
use crate::search::query::Query;
use crate::search::query_plan::plan;
use crate::search::result::SearchResult;
use crate::search::scoring::{DocPredicate, QueryScorer};
use crate::search::session_rescore::rescore;
use crate::search::turns::{TurnFinder, Unit};
use crate::text::language::readings::LanguageId;

/// What is asked of a search, besides its query and its filter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Most results.
    pub limit: usize,
    /// What a result of a transcript is.
    pub unit: Unit,
    /// The statistics to score by, where the catalog is a part of a larger collection.
    pub stats: Option<&'a CollectionStats>,
    /// Whether messages keep their own scores, and are not rescored by those around them.
    pub by_own_scores: bool,
}

impl From<(usize, Unit)> for Wanted<'_> {
    fn from((limit, unit): (usize, Unit)) -> Self {
        Self { limit, unit, ..Self::default() }
    }
}

/// Returns the best sections and messages for a query, or the best sections and turns, each turn by
/// its best message that passes the filter; at most `limit`.
///
/// `text` returns the text of a document, to look for phrases in; `None` when it cannot be read.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn search<'a>(
    catalog: &'a Catalog,
    expander: &Expander,
    query: &Query,
    filter: &SearchFilter,
    wanted: impl Into<Wanted<'a>>,
    text: &mut dyn FnMut(u32) -> Option<String>,
    interrupt: Interrupt<'_>,
) -> Result<SearchResult> {
    let Wanted { limit, unit, stats, by_own_scores } = wanted.into();
    let finder = TurnFinder::new(catalog);
    let mut result = SearchResult { notes: query.notes.clone(), ..SearchResult::default() };
    let filter = DocFilter::new(filter, catalog);
    let blocks = filter.as_ref().and_then(DocFilter::blocks);
    let allows = filter
        .map(|filter| Box::new(move |document: u32| filter.passes(document)) as DocPredicate<'_>);
    // a document without all words of a phrase need not be scored or read
    let phrases = QueryPhrases::new(query, catalog, expander, interrupt)?;
    let requires = phrases
        .is_required()
        .then(|| Box::new(|document| phrases.has_words_in(document)) as DocPredicate<'_>);
    let by_turn = (unit == Unit::Turn).then_some(&finder);
    let scorer = QueryScorer::new(catalog, allows, interrupt).by(stats).within(blocks);
    let mut scorer = scorer.requiring(requires).grouped(by_turn);
    plan(&mut scorer, catalog, expander, query, &mut result)?;
    let rescored = limit > 0 && !by_own_scores && has_speakers(catalog);
    let depth = if rescored { limit.max(unit.window()) } else { limit };
    let mut accept = |document| phrases.accept(document, text);
    result.ranked = best(&scorer, depth, &mut accept)?;
    if let Some(finder) = by_turn {
        scorer.rank_turns(finder, &mut accept, &mut result);
    } else if rescored {
        let window = result.ranked.len().min(unit.window());
        scorer.rescore_messages(&mut result.ranked[..window]);
        rescore(catalog, &mut result.ranked, unit.window(), |document| scorer.share(document));
    }
    scorer.rate_confidence(&mut result);
    result.ranked.truncate(limit);
    result.turns.truncate(limit);
    result.concepts = scorer.into_concepts();
    Ok(result)
}

/// Says whether any document has a speaker: without messages there is nothing to rescore.
fn has_speakers(catalog: &Catalog) -> bool {
    catalog.index.docs_with_field(Field::Speaker) > 0
}

/// Returns the best documents that are accepted.
fn best(
    scorer: &QueryScorer<'_>,
    limit: usize,
    accept: &mut dyn FnMut(u32) -> bool,
) -> Result<Vec<Scored>> {
    let (terms, scale) = scorer.term_scorers();
    let best = top_k(&terms, scale, scorer, limit, accept);
    // documents found before an interrupt are not the best
    if scorer.is_stopped() { Err(Error::Interrupted) } else { Ok(best) }
}

/// Returns how the score of one document comes about.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn explain(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    document: u32,
    text: &mut dyn FnMut(u32) -> Option<String>,
    interrupt: Interrupt<'_>,
) -> Result<Explanation> {
    let mut scorer = QueryScorer::new(catalog, None, interrupt);
    plan(&mut scorer, catalog, expander, query, &mut SearchResult::default())?;
    let mut explanation = scorer.explain(document);
    if !has_speakers(catalog) {
        return Ok(explanation);
    }
    let phrases = QueryPhrases::new(query, catalog, expander, scorer.interrupt)?;
    let mut accept = |document| phrases.accept(document, text);
    let window = Unit::Message.window();
    let mut best = best(&scorer, window + 1, &mut accept)?;
    let behind = best.get(window).map(|first| first.score);
    let rescored = best.len().min(window);
    scorer.rescore_messages(&mut best[..rescored]);
    rescore(catalog, &mut best, window, |document| scorer.share(document));
    let mut among = best.iter().take(window);
    if let Some(rescored) = among.find(|scored| scored.document == document) {
        if catalog.docs[document as usize].role != 0 {
            scorer.add_presence(document, &mut explanation);
        }
        explanation.rescore(rescored.score, scorer.shares(document));
    } else if let Some((last, first)) = best.last().zip(behind.filter(|first| *first > 0.0)) {
        explanation.put_behind(explanation.score * (last.score / first), window);
    }
    Ok(explanation)
}

/// Returns the statistics of a catalog for a query: by these and those of other documents, all of
/// them are scored as one collection.
///
/// # Arguments
/// * `languages`: those that the query is read in; none: those of the documents.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn collection_stats(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    languages: Option<&[LanguageId]>,
    interrupt: Interrupt<'_>,
) -> Result<CollectionStats> {
    let mut scorer = QueryScorer::new(catalog, None, interrupt).noting(languages);
    plan(&mut scorer, catalog, expander, query, &mut SearchResult::default())?;
    Ok(scorer.stats.into_noted())
}

/// Returns the names of a query with their weights, as [`CollectionStats`] give them: a document
/// scores the sum over its names of `weight · tf~ / (k1 + tf~)`.
///
/// # Arguments
/// * `catalog`: knows the words of the query, and needs no documents.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn name_weights(
    catalog: &Catalog,
    query: &Query,
    stats: &CollectionStats,
    interrupt: Interrupt<'_>,
) -> Result<Vec<(String, f32)>> {
    let mut scorer = QueryScorer::new(catalog, None, interrupt).by(Some(stats));
    plan(&mut scorer, catalog, &Expander::default(), query, &mut SearchResult::default())?;
    Ok(scorer.concepts.iter().flat_map(|concept| concept.name_weights(catalog)).collect())
}
