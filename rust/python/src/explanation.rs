//! Explanation of a score as Python objects.

use commonplace_core::search::explanation;
use pyo3::prelude::*;

/// How the score of a section, a message or a turn comes about.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Explanation {
    pub citation: String,
    pub score: f32,
    pub words: Vec<WordScore>,
    pub session: f32,
    pub text: String,
}

/// What a word of a query adds to a score.
#[pyclass(frozen, get_all, module = "commonplace")]
#[derive(Clone)]
pub struct WordScore {
    pub name: String,
    pub score: f32,
    pub documents: u32,
    pub fields: Vec<&'static str>,
}

impl From<explanation::Explanation> for Explanation {
    fn from(explained: explanation::Explanation) -> Self {
        let explanation::Explanation { citation, score, words, session, text } = explained;
        let words = words.into_iter().map(WordScore::from).collect();
        Self { citation, score, words, session, text }
    }
}

impl From<explanation::WordScore> for WordScore {
    fn from(word: explanation::WordScore) -> Self {
        let explanation::WordScore { name, score, doc_freq, fields } = word;
        Self { name, score, documents: doc_freq, fields }
    }
}

#[pymethods]
impl Explanation {
    fn __repr__(&self) -> String {
        format!("Explanation({:?}, {:.4})", self.citation, self.score)
    }
}

#[pymethods]
impl WordScore {
    fn __repr__(&self) -> String {
        format!("WordScore({:?}, {:.4})", self.name, self.score)
    }
}
