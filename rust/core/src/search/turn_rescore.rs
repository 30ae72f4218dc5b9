//! Rescoring of turns by their prompt and their reply, among the best by their best message.
//!
//! The best turns by their best message are exact (`index/topk/collector` keeps one message of
//! each). The best twenty of them are then scored anew from all of their messages:
//!
//! ```text
//! reply(q,T) = max over the messages m of the reply: w(m) · score′(q,m)
//! score(q,T) = max(prompt, reply) + 0.3 · min(prompt, reply)
//! ```
//! `w` is 1 for the last message of a reply, and [`NARRATION`] for those before: what an agent says
//! between calls of tools tells what it is about to do, the last message what came of it. `score′`
//! is the score of a message with dampened weights (`concept_factors`): in a transcript of a few
//! thousand messages a word is often rare by chance, and by its idf alone it outweighs two words
//! that say what the turn is about. A sixth of it is presence:
//!
//! ```text
//! score′(q,m) = Σ_t score + ⅙ (presence − score)    presence = W / (1 + length / 300), 0 if not in the text
//! ```
//! The last message of a turn is a report, five times as long as others, and its length norm takes
//! more than one mention of each word gives. At last the turns are rescored by session as messages are.
//! `docs/explanation/ranking-experiments.md` has the experiments.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use crate::index::bm25f::Field;
use crate::index::postings::reader::PostingList;
use crate::index::topk::collector::{Scored, Scoring as _};
use crate::index::topk::upper_bound::{from_fixed, to_fixed};
use crate::search::asked_speaker::OTHER_SPEAKER;
use crate::search::explanation::Explanation;
use crate::search::query_concept::QueryConcept;
use crate::search::result::SearchResult;
use crate::search::scoring::QueryScorer;
use crate::search::session_rescore::rescore;
use crate::search::turns::{Turn, TurnFinder, Unit};

/// The weight of a message of a reply that is not its last.
const NARRATION: f32 = 0.5;
/// The weight of the lower score of prompt and reply.
pub(super) const OTHER: f32 = 0.3;

/// How much of the score of a word is that it is in the message at all.
pub(super) const PRESENCE: f32 = 1.0 / 6.0;
/// The terms of a message by which that counts half.
const PRESENCE_LENGTH: f32 = 300.0;

/// The scores of a turn that decide between it and others.
pub(super) struct ScoredTurn {
    pub turn: Turn,
    pub score: f32,
    /// The prompt and its score.
    pub prompt: Option<(u32, f32)>,
    /// The best message of the reply and its weighted score.
    pub reply: Option<(u32, f32)>,
}

impl QueryScorer<'_> {
    /// Scores the best of what was found by turns. What is behind them stays there.
    /// A message that is not accepted, as it holds an excluded phrase, counts nothing.
    pub(super) fn rank_turns(
        &self,
        finder: &TurnFinder<'_>,
        accept: &mut dyn FnMut(u32) -> bool,
        result: &mut SearchResult,
    ) {
        let lists = self.dampened_lists();
        let mut turns: FxHashMap<u32, Turn> = FxHashMap::default();
        let mut score = |scored: &Scored| -> f32 {
            let Some(found) = self.score_turn(finder, &lists, scored.document, accept) else {
                return scored.score;
            };
            turns.insert(scored.document, found.turn);
            found.score
        };
        let window = Unit::Turn.window();
        for (at, scored) in result.ranked.iter_mut().enumerate() {
            let score = score(scored);
            scored.score = if at < window { score } else { scored.score };
        }
        // whose messages count is told message by message
        let share = |document: u32| {
            turns.get(&document).map_or(1.0, |turn| self.shares_of_turn(turn).product())
        };
        rescore(self.catalog, &mut result.ranked, window, share);
        result.turns = result.ranked.iter().map(|scored| turns.remove(&scored.document)).collect();
    }

    /// Scores the turn of a message.
    pub(super) fn score_turn_of(
        &self,
        finder: &TurnFinder<'_>,
        message: u32,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<ScoredTurn> {
        self.score_turn(finder, &self.dampened_lists(), message, accept)
    }

    /// Returns the score by which a turn stands in the ranking before it is rescored: that of its best
    /// accepted message. A section of a note stands by its own.
    pub(super) fn best_message_score(
        &self,
        finder: &TurnFinder<'_>,
        message: u32,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> f32 {
        let lists: Vec<_> = (0..self.concepts.len()).map(|at| (self.list(at), 1.0)).collect();
        let Some((documents, places)) = finder.places(message) else {
            return self.score_message(&lists, message, 0.0).0;
        };
        let messages = places.map(|at| documents.get(at)).filter(|&one| self.passes(one));
        let scores = messages.map(|one| (self.score_message(&lists, one, 0.0).0, one));
        // what is not accepted is read only where it would be the best
        scores.fold(
            0.0,
            |best, (score, one)| {
                if score > best && accept(one) { score } else { best }
            },
        )
    }

    /// Dampens the weights of the concepts for good, so that an explanation shows those of turns.
    pub(super) fn dampen(&mut self) {
        let factors = self.concept_factors();
        for (concept, factor) in self.concepts.iter_mut().zip(factors) {
            concept.multiply(factor);
        }
    }

    /// Returns the list of each concept, and by what its score is multiplied.
    fn dampened_lists(&self) -> Vec<(PostingList<'_>, f32)> {
        (0..self.concepts.len()).map(|at| self.list(at)).zip(self.concept_factors()).collect()
    }

    /// Scores the turn of a message by those of its messages that pass the filter; none for a
    /// section of a note.
    fn score_turn(
        &self,
        finder: &TurnFinder<'_>,
        lists: &[(PostingList<'_>, f32)],
        found_by: u32,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<ScoredTurn> {
        let (documents, places) = finder.places(found_by)?;
        let (first, last) = (documents.get(places.start), documents.get(places.end - 1));
        let messages = places
            .map(|at| documents.get(at))
            .filter(|&message| self.passes(message) && accept(message));
        let is_prompt = self.catalog.docs[first as usize].section_meta.starts == 1;
        let (mut prompt, mut reply, mut shown) = (0.0, 0.0, None);
        let mut best_reply = None;
        let mut most_said = f32::NEG_INFINITY;
        for message in messages {
            let (score, said) = self.score_message(lists, message, PRESENCE);
            let speaker = if self.is_of_other_speaker(message) { OTHER_SPEAKER } else { 1.0 };
            let score = score * speaker;
            if message == first && is_prompt {
                prompt = score;
                continue;
            }
            let weight = if message == last { 1.0 } else { NARRATION };
            if weight * score > reply {
                reply = weight * score;
                best_reply = Some((message, reply));
            }
            // of equal ones the last
            if weight * said >= most_said {
                (most_said, shown) = (weight * said, Some(message));
            }
        }
        let turn = Turn { first, last, shown: shown.unwrap_or(found_by) };
        Some(ScoredTurn {
            turn,
            score: f32::max(prompt, reply) + OTHER * f32::min(prompt, reply),
            prompt: is_prompt.then_some((first, prompt)),
            reply: best_reply,
        })
    }

    /// Returns by what the score of each concept is multiplied: its weight is raised to the power of
    /// ¾, and the sum of all weights stays as it is, so that turns compare with notes as before.
    fn concept_factors(&self) -> Vec<f32> {
        let weights: Vec<f32> = self.concepts.iter().map(weight).collect();
        // sorted, so that no order of the words changes the sums; no idf is 0
        let mut sorted = weights.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        // roots are rounded alike on every machine, powers are not
        let quarter = |weight: f32| weight.sqrt().sqrt();
        let dampened: f32 = sorted.iter().map(|&weight| weight / quarter(weight)).sum();
        let scale = sorted.iter().sum::<f32>() / dampened;
        weights.iter().map(|&weight| scale / quarter(weight)).collect()
    }

    /// Returns the score of a message, of which `share` is presence, and how much of it is of words in
    /// the message itself.
    fn score_message(
        &self,
        lists: &[(PostingList<'_>, f32)],
        message: u32,
        share: f32,
    ) -> (f32, f32) {
        let (mut sum, mut said) = (0, 0.0);
        for (at, (list, factor)) in lists.iter().enumerate() {
            let Some(profile) = list.find(message) else { continue };
            let (score, is_said) = self.score_with_presence(at, message, profile, share);
            let part = factor * score;
            // in fixed point no order of the words changes the sum
            sum += to_fixed(part);
            said += if is_said { part } else { 0.0 };
        }
        (from_fixed(sum), said)
    }

    /// Returns the score of a concept in a message, of which `share` is presence, and whether it is in
    /// its text.
    pub(super) fn score_with_presence(
        &self,
        at: usize,
        message: u32,
        profile: u32,
        share: f32,
    ) -> (f32, bool) {
        let is_said = self.counts(profile)[Field::Body as usize] > 0;
        let score = self.term_score(at, message, profile);
        let presence = if is_said { self.presence(at, message) } else { 0.0 };
        (score + share * (presence - score), is_said)
    }

    /// Returns what a concept in the text of a message adds by being there.
    fn presence(&self, at: usize, message: u32) -> f32 {
        let length = f32::from(self.catalog.index.lengths(message)[Field::Body as usize]);
        weight(&self.concepts[at]) / (1.0 + length / PRESENCE_LENGTH)
    }

    /// Makes a share of the explained score of a message presence, as in the score of its turn.
    pub(super) fn add_presence(&self, message: u32, explanation: &mut Explanation) {
        let (mut score, mut present) = (0.0, 0.0);
        for (at, word) in explanation.words.iter_mut().enumerate() {
            let Some(profile) = self.list(at).find(message) else { continue };
            let is_said = self.counts(profile)[Field::Body as usize] > 0;
            let presence = if is_said { self.presence(at, message) } else { 0.0 };
            word.score += PRESENCE * (presence - word.score);
            score += word.score;
            present += presence;
        }
        explanation.score = score;
        // writing to a String cannot fail
        let _ = writeln!(
            explanation.text,
            "{score:.4} = {:.4} of that, and {PRESENCE:.4} · {present:.4} for words in its text: their \
             weights / (1 + length / {PRESENCE_LENGTH})",
            1.0 - PRESENCE
        );
    }
}

/// Returns the weight of a concept: what it would add if it were in a message any number of times.
fn weight(concept: &QueryConcept) -> f32 {
    let variants = concept.variants.iter().map(|(_, weight)| weight);
    concept.any + variants.sum::<f32>()
}
