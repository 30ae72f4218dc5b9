//! Rescoring of messages by the words in their text and in the messages near them, among the best
//! documents.
//!
//! ```text
//! score(q,m) = Σ_t s(t,m) + ⅕ Σ_t (max over the messages n near m: s(t,n) − s(t,m))
//! s(t,m)     = score(t,m) + ⅙ (presence(t,m) − score(t,m))
//! ```
//! What a question asks for often stands in several messages side by side: one names the thing, the
//! next one tells something about it. A message gains by the words that it lacks and those near it
//! have, and not by those that it has itself. Presence is that of turns
//! ([`turn_rescore`](crate::search::turn_rescore)). `docs/explanation/ranking-experiments.md` has the
//! experiments.

use crate::index::topk::collector::Scored;
use crate::index::topk::upper_bound::{from_fixed, to_fixed};
use crate::search::scoring::QueryScorer;
use crate::search::session_rescore::placed_messages;
use crate::search::turn_rescore::PRESENCE;

/// How much of what the words of messages near it would add is added to a message.
const NEAR: f32 = 0.2;
/// How many places away such a message is at most.
const NEAR_PLACES: usize = 8;

impl QueryScorer<'_> {
    /// Scores messages by their words and those near them. Sections of notes keep their scores.
    ///
    /// # Arguments
    /// * `best`: the best documents, which alone are near each other.
    pub fn rescore_messages(&self, best: &mut [Scored]) {
        let messages = placed_messages(self.catalog, best);
        // a row of no words cannot be cut off
        let words = self.concepts.len().max(1);
        let mut scores = vec![0.0; messages.len() * words];
        for at in 0..self.concepts.len() {
            let list = self.list(at);
            for (message, own) in messages.iter().zip(scores.chunks_exact_mut(words)) {
                if let Some(profile) = list.find(message.document) {
                    own[at] = self.score_with_presence(at, message.document, profile, PRESENCE).0;
                }
            }
        }
        let scores: Vec<&[f32]> = scores.chunks_exact(words).collect();
        for (at, message) in messages.iter().enumerate() {
            let is_near = |&other: &usize| {
                messages[other].session() == message.session()
                    && messages[other].position.abs_diff(message.position) <= NEAR_PLACES
            };
            // they stand side by side, itself among them
            let before = (0..at).rev().take_while(is_near).count();
            let behind = (at..messages.len()).take_while(is_near).count();
            let near = &scores[at - before..at + behind];
            // in fixed point no order of the words changes the sums
            let (mut sum, mut gain) = (0, 0);
            for (word, &own) in scores[at].iter().enumerate() {
                let highest = near.iter().map(|other| other[word]).fold(own, f32::max);
                sum += to_fixed(own);
                gain += to_fixed(highest - own);
            }
            best[message.rank].score = from_fixed(sum) + NEAR * from_fixed(gain);
        }
    }
}
