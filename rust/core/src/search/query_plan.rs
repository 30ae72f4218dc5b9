//! Query planning: from the atoms of a query to the concepts that are scored.

use crate::catalog::Catalog;
use crate::error::Result;
use crate::index::bm25f::Bm25f;
use crate::index::dictionary::expansion::Expander;
use crate::index::inverted_index::InvertedIndex;
use crate::search::query::{Atom, MAX_TERMS, Query};
use crate::search::query_concept::{meanings, prefixes};
use crate::search::result::SearchResult;
use crate::search::scoring::QueryScorer;
use crate::text::language::readings::bare;
use crate::text::query_terms::{language_of, query_terms};
use crate::text::question::{asks_when, is_about_asker};

/// The additional weight of the words of a question, where the query has other sentences too.
const QUESTION_WEIGHT: f32 = 0.5;
/// The additional weight of the words that a query marks as code.
const CODE_WEIGHT: f32 = 0.5;
/// Most words that one pattern is expanded to.
pub const MAX_EXPANSIONS: usize = 256;
/// Most postings of these words, over all patterns of a query.
pub const MAX_EXPANSION_POSTINGS: u32 = 1 << 20;

/// Adds the concepts of a query to the scorer, and its terms and notes to the result.
pub(super) fn plan(
    scorer: &mut QueryScorer<'_>,
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    result: &mut SearchResult,
) -> Result<()> {
    let index = &catalog.index;
    let (lexicon, formula) = (index.lexicon(), scorer.formula.clone());
    let mut budget = ExpansionBudget::new(query);
    let mut words: Vec<(&str, f32)> = Vec::new();
    for atom in &query.atoms {
        let (name, ids, field) = match atom {
            Atom::Words(text) => {
                words.push((text, 1.0));
                continue;
            }
            Atom::InField(field, text) => {
                (format!("{}:{text}", field.name()), variants_of(text, index), Some(*field))
            }
            Atom::Prefix(prefix) => {
                let words = expander.prefix(&lexicon.words, prefix, scorer.interrupt)?;
                let name = format!("{prefix}*");
                let words = budget.limit(&name, words, index, &mut result.notes);
                (name, words, None)
            }
            Atom::Fuzzy(word, typos) => {
                let words = expander.fuzzy(&lexicon.words, word, *typos, scorer.interrupt)?;
                let name = format!("{word}~{typos}");
                let words = budget.limit(&name, words, index, &mut result.notes);
                (name, words, None)
            }
        };
        for &id in &ids {
            result
                .terms
                .add(bare(lexicon.words.text(id)), formula.idf(index.word_doc_freqs(id).scored(0)));
        }
        scorer.add_combined(name, &ids, field)?;
    }
    for (again, weight) in
        [(&query.question_words, QUESTION_WEIGHT), (&query.code_words, CODE_WEIGHT)]
    {
        words.extend(again.iter().map(|text| (text.as_str(), weight)));
    }
    add_words(scorer, &words, index, &formula, result);
    scorer.has_only_stop_words &= query.phrases.is_empty();
    scorer.validate_lists()
}

/// Adds the plain words of a query.
fn add_words(
    scorer: &mut QueryScorer<'_>,
    words: &[(&str, f32)],
    index: &InvertedIndex,
    formula: &Bm25f,
    result: &mut SearchResult,
) {
    let languages = scorer.stats.languages();
    let own = words.iter().filter(|(_, weight)| *weight >= 1.0).map(|&(text, _)| text);
    scorer.asks_when = asks_when(own.clone());
    scorer.is_about_asker = is_about_asker(own, language_of(words, &languages));
    let mut terms = query_terms(words, &languages, |word| index.lexicon().stem(word));
    if terms.len() > MAX_TERMS {
        let note = format!("only the first {MAX_TERMS} of {} terms were searched", terms.len());
        result.notes.push(note);
        terms.truncate(MAX_TERMS);
    }
    let is_first = scorer.concepts.is_empty();
    scorer.has_only_stop_words = is_first && terms.iter().all(|term| term.is_stop_word);
    // a few words in several languages are a hundred cache misses: all under way at once, they take
    // as long as a few of them
    for (text, stem, _) in terms.iter().flat_map(|term| meanings(term).chain(prefixes(term))) {
        index.lexicon().prefetch(text, stem);
    }
    for term in &terms {
        let idf = formula.idf(scorer.add_term(term));
        result.terms.add(&term.text, idf);
        let read = term.readings.iter().map(|reading| reading.stem());
        term.stem.as_deref().into_iter().chain(read).for_each(|stem| result.terms.add(stem, idf));
    }
    result.terms.read_in(languages);
}

/// Returns all variants of the words of a text.
fn variants_of(text: &str, index: &InvertedIndex) -> Vec<u32> {
    let lexicon = index.lexicon();
    let terms = query_terms(&[(text, 1.0)], index.languages(), |word| lexicon.stem(word));
    let of_stem = |stem: Option<&str>| Some(lexicon.variants(index.concept_of(stem?)?));
    let ids = terms.iter().flat_map(|term| {
        let word = lexicon.words.get(&term.text);
        let read = term.readings.iter().filter_map(|one| of_stem(Some(one.stem()))).flatten();
        let by_itself = of_stem(term.stem.as_deref());
        by_itself.unwrap_or_else(|| word.into_iter().collect()).into_iter().chain(read)
    });
    ids.collect()
}

/// How many postings the patterns of a query may still expand to.
struct ExpansionBudget {
    patterns: u32,
    postings: u32,
}

impl ExpansionBudget {
    fn new(query: &Query) -> Self {
        let is_pattern = |atom: &&Atom| matches!(atom, Atom::Prefix(_) | Atom::Fuzzy(..));
        let patterns = query.atoms.iter().filter(is_pattern).count() as u32;
        Self { patterns, postings: MAX_EXPANSION_POSTINGS }
    }

    /// Returns the most frequent of the words that a pattern expands to; a note tells what was left
    /// out. Each pattern has its share of the postings that those before it left.
    fn limit(
        &mut self,
        name: &str,
        mut words: Vec<u32>,
        index: &InvertedIndex,
        notes: &mut Vec<String>,
    ) -> Vec<u32> {
        words.retain(|&word| index.word_doc_freqs(word).any > 0);
        let all = words.len();
        let (words, postings) = most_frequent(index, words, self.postings / self.patterns.max(1));
        self.patterns = self.patterns.saturating_sub(1);
        self.postings = self.postings.saturating_sub(postings);
        if words.len() < all {
            let some = words.len();
            notes.push(format!(
                "{name} expands to {all} words; {some} of the most frequent were searched"
            ));
        }
        words
    }
}

/// Returns the words that are in most documents and together have at most so many postings, most
/// frequent first, and the number of these postings; of equally frequent words the first in
/// alphabetical order. The most frequent word is always among them: it takes no longer than a query
/// for it alone.
pub fn most_frequent(index: &InvertedIndex, mut words: Vec<u32>, postings: u32) -> (Vec<u32>, u32) {
    let lexicon = index.lexicon();
    let frequency = |word| index.word_doc_freqs(word).any;
    let order = |&a: &u32, &b: &u32| {
        let by_frequency = frequency(b).cmp(&frequency(a));
        by_frequency.then_with(|| lexicon.words.text(a).cmp(lexicon.words.text(b)))
    };
    if words.len() > MAX_EXPANSIONS {
        words.select_nth_unstable_by(MAX_EXPANSIONS, order);
        words.truncate(MAX_EXPANSIONS);
    }
    words.sort_unstable_by(order);
    let (mut used, first) = (0u32, words.first().copied());
    // the list of a word is that of its concept
    words.retain(|&word| {
        let sum = used.saturating_add(index.doc_freqs(index.entry(word).concept).any);
        let fits = sum <= postings || Some(word) == first;
        used = if fits { sum } else { used };
        fits
    });
    (words, used)
}
