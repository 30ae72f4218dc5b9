//! Turns: a prompt and the messages up to the next one, found and scored as one result.
//!
//! The best turns by their best message are exact (`index/topk/collector` keeps one message of
//! each). The best [`WINDOW`] of them are then scored anew, each
//! from all of its messages, by BM25F over two fields:
//!
//! ```text
//! tf~(t,T)   = Σ_f Σ_m w_m · tf(t,m) / ((1 − b) + b · (len(f,T) + m) / (avglen_f + m))
//! score(q,T) = Σ_t weight(t) · tf~ / (k1 + tf~) + 0.1 · best message
//! ```
//! The fields `f` are the prompt and the reply, each with its own length. A message of the reply
//! has weight 1 if it is the last one, and [`NARRATION`] if others follow: what an agent says
//! between calls of tools tells what it is about to do, and the last message what came of it.
//! Lengths are compared with the mean over the turns of the window. `docs/explanation/ranking.md`
//! has the experiments.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::catalog::{Catalog, DocIds};
use crate::files::file_kind::FileKind;
use crate::index::bm25f::{Counts, Field};
use crate::index::topk::collector::{Scored, Scoring as _};
use crate::search::result::SearchResult;
use crate::search::scoring::{QueryConcept, QueryScorer};
use crate::search::session_rescore::{WINDOW, rescore};

/// The weight of a message of a reply that is not its last.
const NARRATION: f32 = 0.1;
/// How much of the score of its best message a turn gets: it decides between equal turns, and finds
/// those that hold the words only in what is indexed beside the text.
const BEST_MESSAGE: f32 = 0.1;

/// The unit of an answer over transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// A message.
    #[default]
    Message,
    /// A prompt and the messages up to the next one.
    Turn,
}

/// A turn that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The first message: the prompt, unless the transcript or session begins without one.
    pub first: u32,
    /// The last message.
    pub last: u32,
    /// The message whose passage is shown.
    pub shown: u32,
}

/// Finds the turns of documents; those found are kept.
#[derive(Debug)]
pub(super) struct TurnFinder<'a> {
    catalog: &'a Catalog,
    /// The first place of a turn, by file and the place behind the last one.
    known: RefCell<BTreeMap<(u32, usize), usize>>,
}

impl<'a> TurnFinder<'a> {
    pub fn new(catalog: &'a Catalog) -> Self {
        Self { catalog, known: RefCell::default() }
    }

    /// Returns the messages of the file of a document, and the places of those of its turn; none
    /// for a section of a note.
    fn places(&self, document: u32) -> Option<(&'a DocIds, Range<usize>)> {
        let number = self.catalog.docs[document as usize].file;
        let file = &self.catalog.files[number as usize];
        let documents = &file.documents;
        let place = (file.kind == FileKind::Transcript)
            .then(|| self.catalog.place_in_file(document))
            .flatten()?;
        let mut known = self.known.borrow_mut();
        if let Some((&(same, end), &start)) = known.range((number, place + 1)..).next()
            && same == number
            && start <= place
        {
            return Some((documents, start..end));
        }
        let begins = |at: &usize| begins_turn(self.catalog, documents, *at);
        let start = (0..=place).rev().find(begins).unwrap_or(0);
        let end = (place + 1..documents.len()).find(begins).unwrap_or(documents.len());
        known.insert((number, end), start);
        Some((documents, start..end))
    }

    /// Returns the first message of the turn of a document.
    pub fn group(&self, document: u32) -> Option<u32> {
        self.places(document).map(|(documents, places)| documents.get(places.start))
    }
}

/// Returns whether a turn begins at a place: with a prompt, or with another session.
fn begins_turn(catalog: &Catalog, documents: &DocIds, at: usize) -> bool {
    let row = |at: usize| &catalog.docs[documents.get(at) as usize];
    at == 0 || row(at).section_meta.starts == 1 || row(at).session != row(at - 1).session
}

/// The messages of a turn that are scored: those that pass the filter.
struct ScoredTurn {
    turn: Turn,
    prompt: Option<u32>,
    reply: Vec<u32>,
    /// Terms of the prompt and of the reply.
    lengths: [f32; 2],
}

impl ScoredTurn {
    /// Returns the messages with the field that each is of, and its weight.
    fn messages(&self) -> impl Iterator<Item = (u32, usize, f32)> {
        let last = self.reply.len().saturating_sub(1);
        let weight = move |at| if at == last { 1.0 } else { NARRATION };
        let reply = self.reply.iter().enumerate();
        let reply = reply.map(move |(at, &document)| (document, REPLY, weight(at)));
        self.prompt.map(|document| (document, PROMPT, 1.0)).into_iter().chain(reply)
    }
}

const PROMPT: usize = 0;
const REPLY: usize = 1;

impl QueryScorer<'_> {
    /// Scores the best of what was found by turns. What is behind them stays there.
    pub(super) fn rank_turns(&self, finder: &TurnFinder<'_>, result: &mut SearchResult) {
        let behind = result.ranked.split_off(result.ranked.len().min(WINDOW));
        result.turns = self.rescore_turns(finder, &mut result.ranked);
        let least = result.ranked.last().map_or(0.0, |scored| scored.score);
        for scored in behind {
            let turn = self.scored_turn(finder, scored.document).map(|mut turn| {
                turn.turn.shown = self.best_of_reply(&turn).unwrap_or(scored.document);
                turn.turn
            });
            result.ranked.push(Scored { score: scored.score.min(least), ..scored });
            result.turns.push(turn);
        }
    }

    /// Scores the turns in `window`, the best by their best message, and sorts it again. A turn of
    /// one message is scored as a message is, with its neighbours and session.
    ///
    /// Returns the turn of each, none for a section of a note.
    pub(super) fn rescore_turns(
        &self,
        finder: &TurnFinder<'_>,
        window: &mut Vec<Scored>,
    ) -> Vec<Option<Turn>> {
        let turns: Vec<Option<ScoredTurn>> =
            window.iter().map(|scored| self.scored_turn(finder, scored.document)).collect();
        let is_long = |turn: &ScoredTurn| turn.messages().nth(1).is_some();
        let (mut alone, mut long): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for (scored, turn) in window.drain(..).zip(turns) {
            match turn {
                Some(turn) if is_long(&turn) => long.push((scored, turn)),
                turn => alone.push((scored, turn.map(|turn| turn.turn))),
            }
        }
        let mut scores: Vec<Scored> = alone.iter().map(|(scored, _)| *scored).collect();
        rescore(self.catalog, &mut scores);
        let turn_of = |document| alone.iter().find(|(scored, _)| scored.document == document);
        let mut ranked: Vec<(Scored, Option<Turn>)> = scores
            .iter()
            .map(|&scored| (scored, turn_of(scored.document).and_then(|(_, turn)| turn.clone())))
            .collect();
        let averages = average_lengths(long.iter().map(|(_, turn)| turn));
        ranked.extend(long.into_iter().map(|(scored, mut turn)| {
            let score = self.score_turn(&turn, averages, |_, _| {}) + BEST_MESSAGE * scored.score;
            turn.turn.shown = self.best_of_reply(&turn).unwrap_or(scored.document);
            (Scored { score, ..scored }, Some(turn.turn))
        }));
        ranked.sort_by(|(a, _), (b, _)| {
            let by_place = || self.catalog.order(a.document, b.document);
            b.score.total_cmp(&a.score).then_with(by_place)
        });
        let turns;
        (*window, turns) = ranked.into_iter().unzip();
        turns
    }

    /// Returns the turn of a document, with the messages that pass the filter.
    fn scored_turn(&self, finder: &TurnFinder<'_>, document: u32) -> Option<ScoredTurn> {
        let (documents, places) = finder.places(document)?;
        let (first, last) = (documents.get(places.start), documents.get(places.end - 1));
        let mut reply: Vec<u32> =
            places.map(|at| documents.get(at)).filter(|&document| self.passes(document)).collect();
        let is_prompt = |&document: &u32| {
            document == first && self.catalog.docs[document as usize].section_meta.starts == 1
        };
        let prompt = reply.first().copied().filter(is_prompt);
        reply.drain(..usize::from(prompt.is_some()));
        let turn = Turn { first, last, shown: document };
        let mut turn = ScoredTurn { turn, prompt, reply, lengths: [0.0; 2] };
        let mut lengths = [0.0; 2];
        for (document, field, weight) in turn.messages() {
            let length = self.catalog.index.lengths(document)[Field::Body as usize];
            lengths[field] += weight * f32::from(length);
        }
        turn.lengths = lengths;
        Some(turn)
    }

    /// Returns the score of a turn; `each` is called with the name and the part of each concept.
    fn score_turn(
        &self,
        turn: &ScoredTurn,
        averages: [f32; 2],
        mut each: impl FnMut(&str, f32),
    ) -> f32 {
        let weights = self.catalog.index.weights();
        let body = Field::Body as usize;
        let (b, m) = (weights.b[body], weights.m[body]);
        let norm = |field: usize| {
            (1.0 - b) + b * (turn.lengths[field] + m) / (averages[field] + m).max(1.0)
        };
        let norms = [norm(PROMPT), norm(REPLY)].map(|norm| weights.weight[body] / norm.max(1e-3));
        let concepts = self.concepts.iter().enumerate();
        let parts = concepts.map(|(at, concept)| {
            let part = self.score_concept(at, concept, turn, norms);
            each(&concept.name, part);
            part
        });
        parts.sum()
    }

    fn score_concept(
        &self,
        at: usize,
        concept: &QueryConcept,
        turn: &ScoredTurn,
        norms: [f32; 2],
    ) -> f32 {
        let list = self.list(at);
        let count = |counts: &Counts| f32::from(counts[Field::Body as usize]);
        let (mut any, mut speaker) = (0.0, 0.0);
        let mut variants = vec![0.0; concept.variants.len()];
        for (document, field, weight) in turn.messages() {
            let Some(profile) = list.find(document) else { continue };
            let counts = self.counts(profile);
            any += weight * norms[field] * count(counts);
            for ((number, _), sum) in concept.variants.iter().zip(&mut variants) {
                let own = self.variant_counts(*number, profile).map_or(0.0, count);
                *sum += weight * norms[field] * own;
            }
            if field == PROMPT {
                // who asked, and when
                let lengths = self.catalog.index.lengths(document);
                let time = Field::Time as usize;
                speaker = self.formula.speaker_frequency(counts, lengths);
                any += speaker + self.formula.part(time, counts[time], lengths[time]);
            }
        }
        let variants = concept.variants.iter().zip(variants);
        self.formula.score(concept.any, any)
            + variants.map(|((_, weight), tf)| self.formula.score(*weight, tf)).sum::<f32>()
            + self.formula.score(concept.speaker, speaker)
    }

    /// Returns the message of a reply that has most of the query; the last one if none has any.
    fn best_of_reply(&self, turn: &ScoredTurn) -> Option<u32> {
        let lists: Vec<_> = (0..self.concepts.len()).map(|at| self.list(at)).collect();
        let score = |document: u32| -> f32 {
            let parts = lists.iter().enumerate().filter_map(|(at, list)| {
                let profile = list.find(document)?;
                let is_said = self.counts(profile)[Field::Body as usize] > 0;
                is_said.then(|| self.term_score(at, document, profile))
            });
            parts.sum()
        };
        let reply = turn.messages().filter(|&(_, field, _)| field == REPLY);
        let scored = reply.map(|(document, _, weight)| (document, weight * score(document)));
        // of equal ones the last
        scored.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(document, _)| document)
    }
}

/// Returns the mean lengths of prompts and replies, each over the turns that have one.
fn average_lengths<'t>(turns: impl Iterator<Item = &'t ScoredTurn>) -> [f32; 2] {
    let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
    for turn in turns {
        for field in [PROMPT, REPLY] {
            sums[field] += turn.lengths[field];
            counts[field] += if turn.lengths[field] > 0.0 { 1.0 } else { 0.0 };
        }
    }
    [PROMPT, REPLY].map(|field| if counts[field] > 0.0 { sums[field] / counts[field] } else { 0.0 })
}
