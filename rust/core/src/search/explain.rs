//! Explanation of a score: the parts of the sum, with the formula and its numbers.

use std::fmt::Write;

use crate::search::scoring::QueryScorer;

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
