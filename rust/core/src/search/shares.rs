//! Score multipliers below 1: for messages by another speaker, short questions, and messages without
//! a time.
//!
//! Who asks for "my budget" asks for what the user said (see
//! [`asked_speaker`](crate::search::asked_speaker)). A short question has the words of the query and
//! tells nothing. Who asks when asks for a message with a day, a month or the like in its text.

use std::fmt::Write as _;

use crate::catalog::doc_table::{ENDS_ASKING, TELLS_TIME};
use crate::index::bm25f::Field;
use crate::search::asked_speaker::OTHER_SPEAKER;
use crate::search::scoring::QueryScorer;
use crate::search::turns::Turn;

/// What is left of the score of a message that is only a question.
const QUESTION: f32 = 0.75;
/// Most terms of such a message.
const MAX_QUESTION_TERMS: u16 = 15;
/// What is left of the score of a message that tells no time, where the query asks when.
const NO_TIME: f32 = 0.85;

/// What is said of a message of another speaker than the query asks about.
pub(super) const ANOTHER_SPEAKER: &str = "the query asks about another speaker";

/// What is left of the score of a message, as factors up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shares {
    /// Below 1 where somebody else said it than the query asks about.
    pub speaker: f32,
    /// Below 1 for a short question.
    pub question: f32,
    /// Below 1 where the query asks when, and the message tells no time.
    pub time: f32,
}

impl Shares {
    /// All of the score is left.
    pub const ALL: Self = Self { speaker: 1.0, question: 1.0, time: 1.0 };

    /// Returns the product of the shares.
    pub fn product(self) -> f32 {
        self.speaker * self.question * self.time
    }

    /// Adds a line to an explanation for each share below 1.
    pub fn explain(self, text: &mut String) {
        let reasons = [
            (self.speaker, ANOTHER_SPEAKER),
            (self.question, "only a short question"),
            (self.time, "the query asks when, and no time is told"),
        ];
        for (share, why) in reasons.into_iter().filter(|(share, _)| *share < 1.0) {
            // writing to a String cannot fail
            let _ = writeln!(text, "× {share} = {why}");
        }
    }
}

impl QueryScorer<'_> {
    /// Returns what is left of the score of a document when the best are rescored.
    pub fn share(&self, document: u32) -> f32 {
        self.shares(document).product()
    }

    /// Returns what is left of the score of a turn: less of a short question that nobody has answered
    /// in it, and of a single message without a time. Its messages were weighted by speaker.
    pub(super) fn shares_of_turn(&self, turn: &Turn) -> Shares {
        let alone = (turn.first == turn.last).then_some(turn.first);
        alone.map_or(Shares::ALL, |message| Shares { speaker: 1.0, ..self.shares(message) })
    }

    /// Returns the parts of [`Self::share`].
    pub(super) fn shares(&self, document: u32) -> Shares {
        let row = &self.catalog.docs[document as usize];
        // a section of a note is said by nobody
        if row.role == 0 {
            return Shares::ALL;
        }
        let length = || self.catalog.index.lengths(document)[Field::Body as usize];
        let is_question =
            row.section_meta.flags & ENDS_ASKING > 0 && length() <= MAX_QUESTION_TERMS;
        let lacks_time = self.asks_when && row.section_meta.flags & TELLS_TIME == 0;
        Shares {
            speaker: if self.is_of_other_speaker(document) { OTHER_SPEAKER } else { 1.0 },
            question: if is_question { QUESTION } else { 1.0 },
            time: if lacks_time { NO_TIME } else { 1.0 },
        }
    }
}
