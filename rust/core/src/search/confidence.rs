//! Confidence of an answer: the score of the best document, as a share of what the query asks for.
//!
//! ```text
//! confidence(q) = s / (s + r)        s = score(q, d₁)        r = Σ_t idf(t) / (k1 + 1)
//! ```
//! `r` is the score of a document of average length that says each word of the query once; a best
//! document like that gives ½. A word that no document holds counts there as the rarest do, so a
//! query about other things scores low even where its common words are found. A query of stop words
//! alone does not name what it is about, so nothing that it finds is sure.
//! `docs/explanation/confidence.md` has the measurements.

use std::borrow::Cow;

use crate::index::bm25f::Field;
use crate::index::topk::collector::Scored;
use crate::search::query_concept::QueryConcept;
use crate::search::result::SearchResult;
use crate::search::scoring::QueryScorer;
use crate::text::tokens::TermForm;

/// Below this all words that the best document lacks are named, else only those that no text has.
const DOUBTFUL: f32 = 0.3;
/// The most for a query of stop words alone.
const UNNAMED: f32 = 0.1;
/// Most words that are named.
const MAX_MISSING: usize = 3;
/// The fields of what a document says itself.
const TEXT: [Field; 5] = [Field::Body, Field::Heading, Field::Title, Field::Keywords, Field::Code];
/// What is said of a best document whose text has all words, and whose score is low.
const DILUTED: &str = "the best match has every word, but they are a small part of a long text";
/// What is said of one that lacks words, which are all in its context.
const BESIDE: &str = "the best match lacks words that its neighbours have";

impl QueryScorer<'_> {
    /// Sets the confidence of a result, whose documents are ranked by their own score. A note says
    /// what the best one lacks; where it lacks nothing and yet the confidence is low, why.
    pub(super) fn rate_confidence(&self, result: &mut SearchResult) {
        let Some(best) = result.ranked.first() else { return };
        let reference = self.formula.score(self.asked, 1.0);
        // a query of unknown words alone finds nothing, so there is a score
        result.confidence = best.score / (best.score + reference);
        if self.has_only_stop_words {
            result.confidence = result.confidence.min(UNNAMED);
            result.notes.push("the query has only stop words, which any text may hold".to_owned());
        } else {
            let is_doubtful = result.confidence < DOUBTFUL;
            let low = || self.why_low(best).filter(|_| is_doubtful).map(str::to_owned);
            result.notes.extend(self.missing(best, is_doubtful).or_else(low));
        }
    }

    /// Says why the score of a document is low that lacks no word of the query, if its fields show it.
    fn why_low(&self, best: &Scored) -> Option<&'static str> {
        let has_all = |fields: &[Field]| {
            let held = self.held(best, fields);
            self.concepts.iter().all(|concept| held.contains(&&*concept.word))
        };
        match has_all(&TEXT) {
            true => Some(DILUTED),
            false => has_all(&[&TEXT[..], &[Field::Context]].concat()).then_some(BESIDE),
        }
    }

    /// Returns the words of the query that a document has in one of these fields.
    fn held(&self, best: &Scored, fields: &[Field]) -> Vec<&str> {
        let is_held = |&at: &usize| {
            self.list(at).find(best.document).is_some_and(|profile| {
                let counts = self.counts(profile);
                fields.iter().any(|&field| counts[field as usize] > 0)
            })
        };
        let held = (0..self.concepts.len()).filter(is_held);
        held.map(|at| &*self.concepts[at].word).collect()
    }

    /// Says which words of the query a document lacks, those that say most first; without `all` only
    /// those that no document has, of unspaced scripts words alone: a pair may be of two words.
    fn missing(&self, best: &Scored, all: bool) -> Option<String> {
        let held = if all { self.held(best, &Field::ALL) } else { Vec::new() };
        // a word has a concept in each language
        let lacks = |concept: &&QueryConcept| !held.contains(&&*concept.word);
        let concepts = if all { &*self.concepts } else { &[] };
        let mut known: Vec<&QueryConcept> = concepts.iter().filter(lacks).collect();
        known.sort_by(|a, b| b.any.total_cmp(&a.any));
        known.dedup_by(|a, b| a.word == b.word);
        let known = known.into_iter().map(QueryConcept::name);
        let is_named =
            |form: TermForm| all || !matches!(form, TermForm::Pair | TermForm::Character);
        let unknown = self.unknown.iter().filter(|(_, form)| is_named(*form));
        let unknown = unknown.map(|(word, _)| Cow::Borrowed(&**word));
        let words: Vec<Cow<'_, str>> = unknown.chain(known).take(MAX_MISSING).collect();
        (!words.is_empty()).then(|| format!("the best match lacks: {}", words.join(", ")))
    }
}
