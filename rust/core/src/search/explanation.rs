//! Explanation of a score: what each word adds, as numbers, and the formula with its numbers as text.

use std::fmt::Write;

use crate::index::bm25f::Field;
use crate::search::scoring::QueryScorer;
use crate::search::shares::Shares;

/// How the score of a section, a message or a turn comes about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// What is explained, as it is cited.
    pub citation: String,
    /// The score, which is the sum of the parts.
    pub score: f32,
    /// What each word adds, after rescoring; of a turn first those of the prompt, then those of the reply.
    pub words: Vec<WordScore>,
    /// What session rescoring adds.
    pub session: f32,
    /// The parts of the sum with the formula and its numbers, line by line.
    pub text: String,
}

/// What a word of a query adds to a score.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordScore {
    /// The word as it was searched for: its stem, or a phrase.
    pub name: String,
    /// What it adds; 0 where it is not in the document.
    pub score: f32,
    /// How many documents have it.
    pub doc_freq: u32,
    /// The fields in which it is.
    pub fields: Vec<&'static str>,
}

impl Explanation {
    /// Explains how the score became another one when the best were rescored; what each word adds
    /// is then that of the new score.
    ///
    /// # Arguments
    /// * `shares`: what is left of it for what it does not tell.
    pub(super) fn rescore(&mut self, rescored: f32, shares: Shares) {
        let share = shares.product();
        let by = rescored / share - self.score;
        // writing to a String cannot fail; what is less comes of rounding the shares
        if by > 8.0 * f32::EPSILON * self.score {
            let what = "session rescoring (words near it, neighbours, question before it, session)";
            let _ = writeln!(self.text, "{by:.4} = {what}");
            self.session = by * share;
        }
        shares.explain(&mut self.text);
        let left = if self.score > 0.0 { (rescored - self.session) / self.score } else { 1.0 };
        self.words.iter_mut().for_each(|word| word.score *= left);
        self.score = rescored;
    }

    /// Explains the score of what stands behind the best, which were rescored: there the order is
    /// that of the best messages, and the scores are scaled to stay below those of the best.
    pub(super) fn put_behind(&mut self, score: f32, window: usize) {
        if self.score <= 0.0 {
            return;
        }
        let factor = score / self.score;
        if (factor - 1.0).abs() > 8.0 * f32::EPSILON {
            // writing to a String cannot fail
            let _ = writeln!(self.text, "× {factor:.4} = behind the best {window}");
        }
        self.words.iter_mut().for_each(|word| word.score *= factor);
        self.score = score;
    }

    /// Explains a statement that no longer holds: so much of its score is left.
    pub fn end(&mut self, share: f32) {
        // writing to a String cannot fail
        let _ = writeln!(self.text, "× {share} = it no longer holds");
        self.words.iter_mut().for_each(|word| word.score *= share);
        self.session *= share;
        self.score *= share;
    }
}

impl QueryScorer<'_> {
    /// Returns the explanation of the score of one document.
    pub fn explain(&self, document: u32) -> Explanation {
        let mut explanation = Explanation::default();
        for at in 0..self.concepts.len() {
            let word = self.explain_word(at, document, &mut explanation.text);
            explanation.score += word.score;
            explanation.words.push(word);
        }
        explanation
    }

    fn explain_word(&self, at: usize, document: u32, text: &mut String) -> WordScore {
        let found = self.list(at).find(document);
        let concept = &self.concepts[at];
        let (name, doc_freq) = (concept.name(), concept.doc_freq);
        let mut word = WordScore { name: name.to_string(), doc_freq, ..WordScore::default() };
        // writing to a String cannot fail
        let Some(profile) = found else {
            let _ = writeln!(text, "0 = {name}: not in it; in {doc_freq} documents");
            return word;
        };
        let lengths = self.catalog.index.lengths(document);
        let mut parts = String::new();
        word.score = self.parts(concept, lengths, profile, |part, weight, counts, frequency| {
            parts += &format!("{name}{part}: ");
            parts += &self.formula.explain(weight, frequency, counts, lengths, part.is_empty());
            if part.is_empty() {
                let fields = Field::ALL.into_iter().filter(|field| counts[*field as usize] > 0);
                word.fields = fields.map(Field::name).collect();
            }
        });
        let _ = writeln!(text, "{:.4} = {name}; in {doc_freq} documents", word.score);
        text.extend(parts.lines().map(|line| format!("    {line}\n")));
        word
    }
}
