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

/// Terms of a query with their weights, the filter for them, and a cache; made once a query.
#[derive(Debug, Default)]
pub struct SnippetTerms {
    /// Number and weight of each.
    pub(super) terms: FxHashMap<String, (usize, f32)>,
    /// Languages that words of a text are read in, beside by themselves.
    languages: Vec<LanguageId>,
    filter: OnceLock<PrefixFilter>,
    /// Matches in a span between borders: the texts that one query finds hold the same spans again
    /// and again, and to cut, fold and stem them is most of the work.
    cache: Mutex<FxHashMap<Box<str>, Vec<TermMatch>>>,
}

/// Spans that are cached for a query, and the longest of them.
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

    /// Sets the languages in which the words of a text are read: stems of these are among the terms.
    pub fn read_in(&mut self, languages: Vec<LanguageId>) {
        self.languages = languages;
    }

    fn filter(&self) -> &PrefixFilter {
        self.filter.get_or_init(|| PrefixFilter::of(self.terms.keys().map(String::as_str)))
    }

    /// Says whether a text holds any of the terms.
    pub fn occur_in(&self, text: &str) -> bool {
        self.filter().spans(text).any(|span| !self.find_in(&text[span]).is_empty())
    }

    /// Returns where a text holds a term, or a word that has one for its stem.
    fn find_in(&self, text: &str) -> Vec<TermMatch> {
        let mut matches = Vec::new();
        segmentation::each(text, &mut |chunk| {
            let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
            tokens::filtered_terms(chunk, Some(self.filter()), &mut |term| {
                let known = |text: &str| self.terms.get(text).copied();
                let read = |language: &LanguageId| known(language.read(term.spelled)?.stem());
                let found = known(term.text)
                    .or_else(|| with_stem(term.text, known)?)
                    .or_else(|| self.languages.iter().find_map(read));
                matches.extend(found.map(|(number, weight)| {
                    let bytes = start + term.range.start..start + term.range.end;
                    TermMatch { bytes, term: number, weight }
                }));
            });
        });
        matches
    }

    /// Returns where a text holds terms, in order.
    pub(super) fn matches_in(&self, text: &str) -> Vec<TermMatch> {
        let mut cache = self.cache.lock();
        if cache.is_empty() {
            cache.reserve(64);
        }
        let mut matches = Vec::with_capacity(32);
        for span in self.filter().spans(text) {
            let (start, span) = (span.start, &text[span]);
            let mut add = |found: &[TermMatch]| {
                matches.extend(found.iter().map(|one| {
                    let bytes = start + one.bytes.start..start + one.bytes.end;
                    TermMatch { bytes, ..*one }
                }));
            };
            if let Some(found) = cache.get(span) {
                add(found);
                continue;
            }
            let found = self.find_in(span);
            add(&found);
            if span.len() <= MAX_CACHED_SPAN && cache.len() < MAX_CACHED_SPANS {
                cache.insert(span.into(), found);
            }
        }
        matches.sort_by_key(|one| (one.bytes.start, one.bytes.end));
        matches
    }
}

/// A match of a term in a text.
#[derive(Debug, Clone)]
pub(super) struct TermMatch {
    pub bytes: Range<usize>,
    pub term: usize,
    pub weight: f32,
}
