//! Explanation of a score: the parts of the sum, with the formula and its numbers.

use std::fmt::Write;

use crate::search::asked_speaker::OTHER_SPEAKER;
use crate::search::scoring::QueryScorer;
use crate::search::session_rescore::QUESTION_SHARE;

/// What is said of a message of which less counts.
pub(super) const ANOTHER_SPEAKER: &str = "the query asks about another speaker";

/// Explains how the score of a document became another one when the best were rescored.
///
/// # Arguments
/// * `speaker` and `question`: what is left of it for its speaker and for being a question.
pub(super) fn explain_rescoring(
    (alone, rescored): (f32, f32),
    speaker: f32,
    question: f32,
) -> String {
    let by = rescored / (speaker * question) - alone;
    let mut lines = String::new();
    if by > 0.0 {
        lines +=
            &format!("{by:.4} = session rescoring (neighbours, question before it, session)\n");
    }
    if speaker < 1.0 {
        lines += &format!("× {OTHER_SPEAKER} = {ANOTHER_SPEAKER}\n");
    }
    if question < 1.0 {
        lines += &format!("× {QUESTION_SHARE} = only a short question\n");
    }
    lines
}

impl QueryScorer<'_> {
    /// Returns the score of one document, and the explanation.
    pub fn explain(&self, document: u32) -> (f32, String) {
        let mut text = String::new();
        let mut score = 0.0;
        for at in 0..self.concepts.len() {
            let found = self.list(at).find(document);
            let concept = &self.concepts[at];
            let (name, doc_freq) = (&concept.name, concept.doc_freq);
            // writing to a String cannot fail
            let Some(profile) = found else {
                let _ = writeln!(text, "0 = {name}: not in it; in {doc_freq} documents");
                continue;
            };
            let lengths = self.catalog.index.lengths(document);
            let mut parts = String::new();
            let sum = self.parts(concept, lengths, profile, |part, weight, counts, frequency| {
                parts += &format!("{name}{part}: ");
                parts += &self.formula.explain(weight, frequency, counts, lengths, part.is_empty());
            });
            let _ = writeln!(text, "{sum:.4} = {name}; in {doc_freq} documents");
            text.extend(parts.lines().map(|line| format!("    {line}\n")));
            score += sum;
        }
        (score, text)
    }
}
