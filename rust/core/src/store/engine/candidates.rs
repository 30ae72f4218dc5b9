//! Exact ranking of the candidates of an engine, as a catalog of these documents alone.
//!
//! It is ranked by the code that ranks the index of a store: its formula with the statistics of the
//! whole collection, phrases and exclusions, turns, sessions, the passages that are shown.

use std::sync::Arc;

use crate::catalog::extract::Corpus;
use crate::catalog::{Catalog, DocIds, DocMeta, NO_TIME};
use crate::error::{Interrupt, Result};
use crate::filter::SearchFilter;
use crate::index::bm25f::Weights;
use crate::index::dictionary::expansion::Expander;
use crate::search::collection_stats::CollectionStats;
use crate::search::query::Query;
use crate::search::query_fields::{asked_filter, restrict};
use crate::search::result::SearchResult;
use crate::search::turns::{Turn, Unit, turn_of};
use crate::search::{Wanted, search};
use crate::store::Freshness;
use crate::store::engine::document::EngineDocument;
use crate::store::hit::{Hit, Hits};

/// Returns the best hits among candidates, best first; ties by path, then by position.
///
/// They are scored by [`Wanted::stats`], those of the whole collection; without these by their
/// own.
///
/// With `unit` turns, all messages of a turn must be among the candidates: of others it has the
/// score and the lines of those that are.
///
/// # Errors
/// [`Error::Query`](crate::error::Error::Query) for a filter that nothing can pass;
/// [`Error::Interrupted`](crate::error::Error::Interrupted).
pub fn rank(
    documents: &[Arc<EngineDocument>],
    query: &Query,
    filter: &SearchFilter,
    wanted: Wanted<'_>,
    weights: &Weights,
    interrupt: Interrupt<'_>,
) -> Result<Hits> {
    let nothing = Hits {
        hits: Vec::new(),
        freshness: Freshness::Fresh,
        confidence: 0.0,
        notes: Vec::new(),
        phrase_missed: false,
    };
    let filter = match restricted(query, filter)? {
        Ok(filter) => filter,
        Err(impossible) => return Ok(Hits { notes: vec![impossible], ..nothing }),
    };
    let candidates = Candidates::new(documents, weights);
    let catalog = &candidates.catalog;
    Hits::with_ended_behind(wanted.limit, |limit| {
        let found = candidates.search(query, &filter, Wanted { limit, ..wanted }, interrupt)?;
        let (shown, among) = (found.shown(), found.terms.languages());
        let languages = catalog.index.languages_of(shown, among, interrupt)?;
        let terms = Arc::new(found.terms);
        let hits = found.ranked.iter().enumerate().map(|(at, scored)| {
            let turn = found.turns.get(at).and_then(Option::as_ref);
            let shown = turn.map_or(scored.document, |turn| turn.shown);
            let (document, meta) = (candidates.document(shown), catalog.docs[shown as usize]);
            let hit = Hit::of_document(catalog, &meta, scored.score, document.text(), &terms);
            let hit = hit.read_in(languages[at]);
            match turn {
                None => hit,
                Some(turn) => candidates.turn(hit, turn),
            }
        });
        let hits = hits.collect();
        let (confidence, notes) = (found.confidence, found.notes);
        Ok(Hits { hits, confidence, notes, ..nothing.clone() })
    })
}

/// Returns the candidates that are found, best first, as indices of `documents`: by message and by
/// their own scores, as turns are found. No text is read but that of phrases.
///
/// # Errors
/// As for [`rank`].
pub fn best_first(
    documents: &[Arc<EngineDocument>],
    query: &Query,
    filter: &SearchFilter,
    stats: &CollectionStats,
    weights: &Weights,
    interrupt: Interrupt<'_>,
) -> Result<Vec<usize>> {
    let Ok(filter) = restricted(query, filter)? else { return Ok(Vec::new()) };
    let candidates = Candidates::new(documents, weights);
    let (limit, unit) = (documents.len(), Unit::Message);
    let wanted = Wanted { limit, unit, stats: Some(stats), by_own_scores: true };
    let found = candidates.search(query, &filter, wanted, interrupt)?;
    let index = |document: u32| candidates.documents[document as usize].0;
    Ok(found.ranked.iter().map(|scored| index(scored.document)).collect())
}

/// Returns the hit of each document, of which no two are the same, in their order and with a score
/// of 0; the snippet is the beginning of the text.
///
/// With `unit` turns a message becomes the hit of its turn, shown by the message: all messages of
/// the turn must be among the documents.
pub fn hits(documents: &[Arc<EngineDocument>], unit: Unit) -> Vec<Hit> {
    let candidates = Candidates::new(documents, &Weights::default());
    let catalog = &candidates.catalog;
    let terms = Arc::default();
    let mut hits: Vec<(usize, Hit)> = Vec::with_capacity(documents.len());
    for (number, (at, document)) in candidates.documents.iter().enumerate() {
        let meta = &catalog.docs[number];
        let hit = Hit::of_document(catalog, meta, 0.0, document.text(), &terms);
        let turn = match unit {
            Unit::Turn => turn_of(catalog, number as u32),
            Unit::Message => None,
        };
        hits.push((
            *at,
            match turn {
                None => hit,
                Some(turn) => candidates.turn(hit, &turn),
            },
        ));
    }
    hits.sort_by_key(|(at, _)| *at);
    hits.into_iter().map(|(_, hit)| hit).collect()
}

/// Returns the filter with those of the query beside it, or why nothing can pass.
fn restricted(
    query: &Query,
    filter: &SearchFilter,
) -> Result<std::result::Result<SearchFilter, String>> {
    filter.check()?;
    let mut filter = filter.clone();
    let asked = asked_filter(&query.filters).and_then(|asked| restrict(&mut filter, asked));
    Ok(asked.map(|()| filter))
}

/// A catalog of candidates.
struct Candidates<'a> {
    catalog: Catalog,
    /// By number: each with its index among those that were given.
    documents: Vec<(usize, &'a EngineDocument)>,
}

impl<'a> Candidates<'a> {
    fn new(documents: &'a [Arc<EngineDocument>], weights: &Weights) -> Self {
        let mut documents: Vec<(usize, &EngineDocument)> =
            documents.iter().enumerate().map(|(at, one)| (at, &**one)).collect();
        documents.sort_by(|(_, a), (_, b)| (&a.path, a.start).cmp(&(&b.path, b.start)));
        documents.dedup_by(|(_, a), (_, b)| (&a.path, a.start) == (&b.path, b.start));
        let corpus = documents.first().map_or(Corpus::Main, |(_, document)| document.corpus);
        let mut candidates = Self { catalog: Catalog::new(weights.clone(), corpus), documents };
        let positions =
            candidates.documents.iter().map(|(_, document)| document.position).collect();
        candidates.catalog.positions = Some(positions);
        for at in 0..candidates.documents.len() {
            candidates.insert(candidates.documents[at].1, at as u32);
        }
        candidates
    }

    fn document(&self, number: u32) -> &'a EngineDocument {
        self.documents[number as usize].1
    }

    /// Returns the hit of a turn, given that of the message that is shown.
    fn turn(&self, shown: Hit, turn: &Turn) -> Hit {
        let first = self.document(turn.first);
        let prompt = (first.section_meta.starts == 1).then(|| first.text().0);
        let [start, end] = [turn.first, turn.last].map(|end| self.catalog.docs[end as usize]);
        shown.of_turn([&start, &end], prompt, first.title.clone())
    }

    fn search(
        &self,
        query: &Query,
        filter: &SearchFilter,
        wanted: Wanted<'_>,
        interrupt: Interrupt<'_>,
    ) -> Result<SearchResult> {
        let mut text = |document: u32| Some(self.document(document).text().0);
        let expander = Expander::default();
        search(&self.catalog, &expander, query, filter, wanted, &mut text, interrupt)
    }

    fn insert(&mut self, document: &EngineDocument, number: u32) {
        let catalog = &mut self.catalog;
        let file = catalog.place(&document.path);
        catalog.files[file as usize].documents = match &catalog.files[file as usize].documents {
            DocIds::Range(range) if !range.is_empty() => DocIds::Range(range.start..number + 1),
            _ => DocIds::Range(number..number + 1),
        };
        let [trail, role, session, category] =
            [&document.trail, &document.role, &document.session, &document.category]
                .map(|label| catalog.labels.interner().intern(label));
        catalog.docs.push(DocMeta {
            start: document.start,
            hash: document.hash,
            key: document.key,
            time: document.time.unwrap_or(NO_TIME),
            file,
            length: document.bytes.len() as u32,
            line: document.line,
            trail,
            role,
            session,
            category,
            section_meta: document.section_meta,
        });
        let words = document.words.iter().map(|(word, counts)| (&**word, counts));
        let analyzed = catalog.index.lexicon_mut().counted(words, &document.lengths);
        catalog.index.insert(&analyzed);
    }
}
