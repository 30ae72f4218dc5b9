//! Search over the files as they are now: refresh, rank, check each hit against its file, answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::walk::unlistable_note;
use crate::filter::SearchFilter;
use crate::search::collection_stats::CollectionStats;
use crate::search::explanation::Explanation;
use crate::search::query::Query;
use crate::search::query_fields::{asked_filter, restrict};
use crate::search::turns::Unit;
use crate::search::{Wanted, collection_stats, explain, explain_turn, search};
use crate::store::document_reader::{DocumentReader, MAX_ATTEMPTS};
use crate::store::hit::{ENDED, Hits};
use crate::store::{Freshness, IndexState, Store};
use crate::text::citation::{cite_line, cites_range, parse_citation};
use crate::text::validity::{Statement, today};

/// Files that are not indexed as they should be, of which an answer says why.
const MAX_OMISSION_NOTES: usize = 5;

/// A search request.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The words.
    pub query: String,
    /// Most hits.
    pub limit: usize,
    /// Which documents may be found.
    pub filter: SearchFilter,
    /// What a hit of a transcript is. What is of tools is always found by message.
    pub unit: Unit,
    /// The statistics to score by, where the notes and messages of the store are a part of a larger
    /// collection. What is of tools is scored by its own.
    pub stats: Option<Arc<CollectionStats>>,
}

impl Store {
    /// Returns the best hits for a query, best first; ties by path, then by position.
    ///
    /// # Errors
    /// [`Error::Query`] for an empty query, or a filter that nothing can pass;
    /// [`Error::Interrupted`].
    pub fn search(&self, request: &SearchRequest, interrupt: Interrupt<'_>) -> Result<Hits> {
        let query = Query::parse(&request.query)?;
        request.filter.check()?;
        let (filter, notes) = self.resolve_sessions(request.filter.clone(), interrupt)?;
        let mut request = SearchRequest { filter, ..request.clone() };
        let asked = self.restrict(&mut request.filter, &query, interrupt)?;
        if request.filter.tools {
            drop(self.refresh(interrupt)?);
            self.make_tools(interrupt)?;
        }
        let (wanted, mut tries) = (request.limit, 0);
        loop {
            tries += 1;
            let state = self.refresh(interrupt)?;
            let [mut changed, mut doubted] = Default::default();
            let mut answer = Hits::with_ended_behind(wanted, |limit| {
                request.limit = limit;
                let (found, files) = self.search_once(&state, &query, &request, interrupt)?;
                [changed, doubted] = files;
                Ok(found)
            })?;
            answer.notes.extend(notes.iter().cloned());
            match &asked {
                Ok(notes) => answer.notes.extend(notes.iter().cloned()),
                Err(impossible) => {
                    answer.hits.clear();
                    answer.confidence = 0.0;
                    answer.notes.push(impossible.clone());
                }
            }
            let damaged = state.main.is_damaged();
            drop(state);
            if damaged && tries < MAX_ATTEMPTS {
                continue;
            }
            if !doubted.is_empty() && self.verify_hits(doubted, interrupt)? && tries < MAX_ATTEMPTS
            {
                continue;
            }
            if changed.is_empty() || tries == MAX_ATTEMPTS {
                if !changed.is_empty() {
                    answer.freshness = Freshness::Stale;
                    let files: Vec<String> = changed.into_iter().collect();
                    let note = format!("{} kept changing while it was read", files.join(", "));
                    answer.notes.push(note);
                }
                return Ok(answer);
            }
            self.read_again(&changed, interrupt)?;
        }
    }

    /// Returns the statistics of the notes and messages of the store for a query. Added to those of
    /// other documents they are what [`SearchRequest::stats`] scores by.
    ///
    /// # Errors
    /// [`Error::Query`] for an empty query; [`Error::Interrupted`].
    pub fn collection_stats(
        &self,
        query: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<CollectionStats> {
        let query = Query::parse(query)?;
        let state = self.refresh(interrupt)?;
        collection_stats(&state.main, &self.expanders[0], &query, None, interrupt)
    }

    /// Sets the filters of a query beside those of its caller. Returns notes, or why nothing can
    /// pass: a query is never an error.
    fn restrict(
        &self,
        filter: &mut SearchFilter,
        query: &Query,
        interrupt: Interrupt<'_>,
    ) -> Result<std::result::Result<Vec<String>, String>> {
        let asked = match asked_filter(&query.filters) {
            Ok(asked) => asked,
            Err(note) => return Ok(Err(note)),
        };
        match self.resolve_sessions(asked, interrupt) {
            Ok((asked, notes)) => Ok(restrict(filter, asked).map(|()| notes)),
            Err(error @ (Error::Query { .. } | Error::Refused { .. })) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn search_once(
        &self,
        state: &IndexState,
        query: &Query,
        request: &SearchRequest,
        interrupt: Interrupt<'_>,
    ) -> Result<(Hits, [BTreeSet<String>; 2])> {
        let (hits, notes) = (Vec::new(), Vec::new());
        let freshness = Freshness::Fresh;
        let mut answer = Hits { hits, freshness, confidence: 0.0, notes, phrase_missed: false };
        let mut changed = Default::default();
        self.collect_hits(state, query, request, &mut answer, &mut changed, interrupt)?;
        if answer.hits.is_empty() && !query.phrases.is_empty() {
            let without_phrases = Query { phrases: Vec::new(), ..query.clone() };
            self.collect_hits(
                state,
                &without_phrases,
                request,
                &mut answer,
                &mut changed,
                interrupt,
            )?;
            answer.phrase_missed = true;
            answer
                .notes
                .push("no text holds the phrase; its words were searched instead".to_owned());
        }
        let before = answer.notes.len();
        // stable: of equal scores conversation text comes before tool traffic
        answer.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        answer.hits.truncate(request.limit);
        if answer.hits.is_empty() {
            answer.confidence = 0.0;
        }
        let closed = state.skipped.iter().filter_map(|(path, why)| unlistable_note(path, why));
        answer.notes.extend(state.unreadable.values().cloned().chain(closed));
        if !answer.notes[before..].is_empty() {
            answer.freshness = Freshness::Partial;
        }
        if state.incomplete.values().any(|omission| omission.missing) {
            answer.freshness = Freshness::Partial;
        }
        let omissions = state.incomplete.values().map(|omission| omission.why.clone());
        answer.notes.extend(omissions.take(MAX_OMISSION_NOTES));
        if let Some(more) = state.incomplete.len().checked_sub(MAX_OMISSION_NOTES + 1) {
            let more = more + 1;
            answer
                .notes
                .push(format!("{more} more files are indexed in part; `status` names them"));
        }
        if let Some(why) = &state.check_error {
            answer.freshness = Freshness::Stale;
            answer.notes.push(why.clone());
        }
        Ok((answer, changed))
    }

    /// Adds what a query finds, the files that differ from what the index says of them, and those
    /// of which that is not evident.
    fn collect_hits(
        &self,
        state: &IndexState,
        query: &Query,
        request: &SearchRequest,
        answer: &mut Hits,
        [changed, doubted]: &mut [BTreeSet<String>; 2],
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let tools = state.tools.as_ref().filter(|_| request.filter.tools);
        for (number, catalog) in [Some(&state.main), tools].into_iter().enumerate() {
            let Some(catalog) = catalog else { continue };
            let mut reader = DocumentReader::new(self, catalog, &mut *changed).with_cache(state);
            let (expander, filter) = (&self.expanders[number], &request.filter);
            let mut text = |document| reader.text(document).map(|(text, _)| text);
            // what is of tools is found by message
            let wanted = match number {
                0 => Wanted {
                    limit: request.limit,
                    unit: request.unit,
                    stats: request.stats.as_deref(),
                    ..Wanted::default()
                },
                _ => (request.limit, Unit::Message).into(),
            };
            let found = search(catalog, expander, query, filter, wanted, &mut text, interrupt)?;
            let (shown, among) = (found.shown(), found.terms.languages());
            let languages = catalog.index.languages_of(shown, among, interrupt)?;
            let terms = Arc::new(found.terms);
            for (at, scored) in found.ranked.iter().enumerate() {
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                let turn = found.turns.get(at).and_then(Option::as_ref);
                let hit = match turn {
                    Some(turn) => reader.turn(scored.score, turn, &terms),
                    None => reader.hit(scored, &terms),
                };
                let Some(hit) = hit else { continue };
                let hit = hit.read_in(languages[at]);
                // a turn may be found by another message than is shown
                let shown = turn.map_or(scored.document, |turn| turn.shown);
                if !reader.is_evident(&hit, shown, scored, &terms, interrupt)? {
                    doubted.insert(hit.path.clone());
                    if !catalog.index.agrees_on(scored.document, &found.concepts) {
                        catalog.reject();
                    }
                }
                answer.hits.push(hit);
            }
            answer.confidence = answer.confidence.max(found.confidence);
            let new = found.notes.into_iter().filter(|note| !answer.notes.contains(note));
            let new: Vec<String> = new.collect();
            answer.notes.extend(new);
        }
        Ok(())
    }

    /// Returns how the score of a section, a message, or a turn comes about. A turn is cited by a
    /// range of lines; `unit` says in which search a section has its score.
    ///
    /// # Errors
    /// [`Error::Query`] for an empty query, or a citation that names nothing;
    /// [`Error::NotFound`] for a file that is not there.
    pub fn explain(
        &self,
        text: &str,
        citation: &str,
        unit: Unit,
        interrupt: Interrupt<'_>,
    ) -> Result<Explanation> {
        let query = Query::parse(text)?;
        let (cited_path, line) = parse_citation(citation)?;
        let path = &*self.root().relative(cited_path)?;
        let path = &*self.root().normalized(path);
        let state = self.refresh(interrupt)?;
        let catalog = &state.main;
        let file = catalog.file(path).ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
        let is_note = file.kind == FileKind::Note;
        if is_note && line > 1 {
            let lines = String::from_utf8_lossy(&self.files().read_bytes(path)?).lines().count();
            if line > lines as u64 {
                let why = format!("{path} has {lines} lines");
                return Err(Error::Query { query: citation.to_owned(), code: "citation", why });
            }
        }
        let doc = |document: &u32| {
            let first = u64::from(catalog.docs[*document as usize].line);
            first == line || is_note && first < line
        };
        let document = file.documents.iter().rev().find(doc).ok_or_else(|| Error::Query {
            query: citation.to_owned(),
            code: "citation",
            why: "no section or message is at that line".to_owned(),
        })?;
        let mut changed = BTreeSet::new();
        let mut reader = DocumentReader::new(self, catalog, &mut changed);
        let mut words = |document| reader.text(document).map(|(text, _)| text);
        let expander = &self.expanders[0];
        let is_range = cites_range(citation);
        let by_turn = if is_note { unit == Unit::Turn } else { is_range };
        let explain = if by_turn { explain_turn } else { explain };
        let mut explained = explain(catalog, expander, &query, document, &mut words, interrupt)?;
        let read = reader.text(document).filter(|_| is_note);
        let statement = read.as_ref().and_then(|(text, _)| Statement::read(text));
        if statement.is_some_and(|statement| statement.has_ended(&today())) {
            explained.end(ENDED);
        }
        let line = catalog.docs[document as usize].line;
        let cited = if is_range && !is_note {
            citation.replacen(cited_path, path, 1)
        } else {
            cite_line(path, u64::from(line))
        };
        if catalog.is_damaged() {
            drop(state);
            // the index is rebuilt first, and what is built is not damaged
            return self.explain(text, citation, unit, interrupt);
        }
        let text = format!("{cited} scores {:.4}\n{}", explained.score, explained.text);
        Ok(Explanation { citation: cited, text, ..explained })
    }
}
