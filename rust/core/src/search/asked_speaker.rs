//! The speaker that a query asks about, by which messages of others count less.
//!
//! Who asks for "my budget" asks for what the user said; who asks what Ann likes, for what Ann said.
//! The answer of an assistant repeats the words of the prompt, and those of others speak of Ann too. So
//! a message that somebody else said keeps a share of its score, when the best are scored anew.

use crate::index::bm25f::Field;
use crate::search::query_concept::QueryConcept;
use crate::search::scoring::QueryScorer;

/// What is left of the score of a message that another one said.
pub(super) const OTHER_SPEAKER: f32 = 0.75;
/// The role whose messages are not the user's.
const ASSISTANT: &str = "assistant";

impl QueryScorer<'_> {
    /// Says whether a document is a message of the assistant, where the query is about the user, or of
    /// somebody else, where it names speakers.
    pub(super) fn is_of_other_speaker(&self, document: u32) -> bool {
        let role = self.catalog.docs[document as usize].role;
        role != 0
            && (self.is_about_asker && self.catalog.labels.text(role) == ASSISTANT
                || self.names_speakers() && !self.is_said_by_named(document))
    }

    fn names_speakers(&self) -> bool {
        self.concepts.iter().any(is_speaker)
    }

    /// Says whether a word of the query is in the speaker's name.
    fn is_said_by_named(&self, document: u32) -> bool {
        let mut speakers = (0..self.concepts.len()).filter(|&at| is_speaker(&self.concepts[at]));
        speakers.any(|at| {
            let profile = self.list(at).find(document);
            profile.is_some_and(|profile| self.counts(profile)[Field::Speaker as usize] > 0)
        })
    }
}

/// Says whether the word of a concept is in the name of some speaker.
fn is_speaker(concept: &QueryConcept) -> bool {
    concept.speaker > 0.0
}
