//! Terms to highlight in snippets, and a search for them in a text.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::sync::Mutex;
use crate::text::language::readings::LanguageId;
use crate::text::language::stems::with_stem;
use crate::text::prefix_filter::PrefixFilter;
use crate::text::segmentation;
use crate::text::tokens;

/// Terms of a query with their weights, and what finds them in texts; made once a query.
#[derive(Debug, Default)]
pub struct SnippetTerms {
    /// Number and weight of each.
    pub(super) terms: FxHashMap<String, (usize, f32)>,
    /// For texts of which each word is read by itself.
    by_word: TermFinder,
    /// For each language that the query was read in as well.
    by_language: Vec<TermFinder>,
}

/// The filter for terms in texts of one language, and a cache.
#[derive(Debug, Default)]
struct TermFinder {
    language: LanguageId,
    filter: OnceLock<PrefixFilter>,
    /// Matches in a span between boundaries: texts that one query finds hold the same spans again
    /// and again, and to cut, fold and stem them is most of the work.
    cache: Mutex<FxHashMap<Box<str>, Vec<TermMatch>>>,
}

/// Spans that are cached for a query and a language, and the longest of them.
const MAX_CACHED_SPANS: usize = 1000;
const MAX_CACHED_SPAN: usize = 64;

impl SnippetTerms {
    /// Adds a term; of several weights the greatest counts.
    pub fn add(&mut self, term: &str, weight: f32) {
        match self.terms.get_mut(term) {
            Some((_, known)) => *known = known.max(weight),
            None => {
                self.terms.insert(term.to_owned(), (self.terms.len(), weight));
            }
        }
    }

    /// Sets the languages that the query was read in: stems of these are among the terms.
    pub fn read_in(&mut self, languages: Vec<LanguageId>) {
        let finder = |language| TermFinder { language, ..TermFinder::default() };
        self.by_language = languages.into_iter().map(finder).collect();
    }

    /// Returns the languages that the query was read in, beside each word by itself.
    pub fn languages(&self) -> impl Iterator<Item = LanguageId> {
        self.by_language.iter().map(|finder| finder.language)
    }

    /// Says whether a text holds any of the terms.
    ///
    /// # Arguments
    /// * `language`: that its words are read in.
    pub fn occur_in(&self, text: &str, language: LanguageId) -> bool {
        let (finder, filter) = self.finder(language);
        let mut cache = finder.cache.lock();
        let is_match = |found: &[TermMatch]| !found.is_empty();
        let mut spans = filter.spans(text);
        spans.any(|span| self.with_matches(&text[span], finder, filter, &mut cache, is_match))
    }

    /// Returns what finds the terms in texts of a language; of one that the query was not read in,
    /// by each word itself.
    fn finder(&self, language: LanguageId) -> (&TermFinder, &PrefixFilter) {
        let mut all = self.by_language.iter();
        let finder = all.find(|finder| finder.language == language).unwrap_or(&self.by_word);
        let filter = finder.filter.get_or_init(|| {
            let terms = self.terms.keys().map(String::as_str);
            PrefixFilter::of(terms.filter(|term| finder.language.may_have_stem(term)))
        });
        (finder, filter)
    }

    /// Returns where a text holds a term, or a word that has one for its stem.
    fn find_in(&self, text: &str, finder: &TermFinder, filter: &PrefixFilter) -> Vec<TermMatch> {
        let mut matches = Vec::new();
        segmentation::each(text, &mut |chunk| {
            let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
            tokens::filtered_terms(chunk, Some(filter), &mut |term| {
                let known = |text: &str| self.terms.get(text).copied();
                let found = known(term.text)
                    .or_else(|| with_stem(term.text, known)?)
                    .or_else(|| known(finder.language.read(term.spelled)?.stem()));
                matches.extend(found.map(|(number, weight)| {
                    let bytes = start + term.range.start..start + term.range.end;
                    TermMatch { bytes, term: number, weight }
                }));
            });
        });
        matches
    }

    /// Returns where a text holds terms, in order.
    ///
    /// # Arguments
    /// * `language`: that its words are read in.
    pub(super) fn matches_in(&self, text: &str, language: LanguageId) -> Vec<TermMatch> {
        let (finder, filter) = self.finder(language);
        let mut cache = finder.cache.lock();
        if cache.is_empty() {
            cache.reserve(64);
        }
        let mut matches = Vec::with_capacity(32);
        for span in filter.spans(text) {
            let (start, span) = (span.start, &text[span]);
            self.with_matches(span, finder, filter, &mut cache, |found| {
                matches.extend(found.iter().map(|one| {
                    let bytes = start + one.bytes.start..start + one.bytes.end;
                    TermMatch { bytes, ..*one }
                }));
            });
        }
        matches.sort_by_key(|one| (one.bytes.start, one.bytes.end));
        matches
    }

    /// Hands out the matches in a span between boundaries, which are cached.
    fn with_matches<R>(
        &self,
        span: &str,
        finder: &TermFinder,
        filter: &PrefixFilter,
        cache: &mut FxHashMap<Box<str>, Vec<TermMatch>>,
        then: impl FnOnce(&[TermMatch]) -> R,
    ) -> R {
        if let Some(found) = cache.get(span) {
            return then(found);
        }
        let found = self.find_in(span, finder, filter);
        let done = then(&found);
        if span.len() <= MAX_CACHED_SPAN && cache.len() < MAX_CACHED_SPANS {
            cache.insert(span.into(), found);
        }
        done
    }
}

/// A match of a term in a text.
#[derive(Debug, Clone)]
pub(super) struct TermMatch {
    pub bytes: Range<usize>,
    pub term: usize,
    pub weight: f32,
}
