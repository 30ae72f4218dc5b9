//! Query terms: tokens of a query with weights, without stop words.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::text::language::{is_proper_noun, is_stop_run, is_stop_word, longest_stop_run};
use crate::text::segmentation;
use crate::text::tokens::{Term, TermForm, terms};

/// A term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// Folded.
    pub text: String,
    /// Its stem, when it has one.
    pub stem: Option<String>,
    /// What it is.
    pub form: TermForm,
    /// How often it occurs in the query, by weight.
    pub times: f32,
}

/// Returns the terms of a query, each once, in the order of the query; each text comes
/// with its weight; `stem` tells the stem of a word.
///
/// Stop words are left out, unless there is nothing else.
pub fn query_terms(texts: &[(&str, f32)], stem: impl Fn(&str) -> Option<String>) -> Vec<QueryTerm> {
    let mut collected = TermCollector::new(&stem);
    let mut stops = TermCollector::new(&stem);
    for &(text, weight) in texts {
        segmentation::each(text, &mut |chunk| {
            let stopped = stop_characters(chunk);
            terms(chunk, &mut |term| match term.form {
                TermForm::Word if is_stop_word(term.text) && !is_proper_noun(chunk) => {
                    stops.add(&term, weight);
                }
                TermForm::Character | TermForm::Pair if term_is_stopped(&stopped, &term.range) => {}
                _ => collected.add(&term, weight),
            });
        });
    }
    if collected.terms.is_empty() { stops.terms } else { collected.terms }
}

struct TermCollector<S> {
    stem: S,
    terms: Vec<QueryTerm>,
    places: FxHashMap<(TermForm, String), usize>,
}

impl<S: Fn(&str) -> Option<String>> TermCollector<S> {
    fn new(stem: S) -> Self {
        Self { stem, terms: Vec::new(), places: FxHashMap::default() }
    }

    fn add(&mut self, term: &Term<'_>, weight: f32) {
        let next = self.terms.len();
        let place = *self.places.entry((term.form, term.text.to_owned())).or_insert(next);
        if place == next {
            self.terms.push(QueryTerm {
                text: term.text.to_owned(),
                stem: (self.stem)(term.text),
                form: term.form,
                times: 0.0,
            });
        }
        self.terms[place].times += weight;
    }
}

fn term_is_stopped(stopped: &[Range<usize>], range: &Range<usize>) -> bool {
    // a pair is stopped when both of its characters are
    let covered = |at: usize| stopped.iter().any(|stop| stop.contains(&at));
    covered(range.start) && covered(range.end - 1)
}

/// Returns where stop words stand in a run of an unspaced script; nowhere if they are all of it.
fn stop_characters(chunk: &str) -> Vec<Range<usize>> {
    if chunk.is_ascii() {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = chunk.char_indices().collect();
    let mut stopped = Vec::new();
    let mut at = 0;
    let mut other = false;
    while at < chars.len() {
        let start = chars[at].0;
        let end_of = |length: usize| chars.get(at + length).map_or(chunk.len(), |&(end, _)| end);
        let length = (1..=longest_stop_run().min(chars.len() - at))
            .rev()
            .find(|&length| is_stop_run(&chunk[start..end_of(length)]));
        if length.is_some() {
            stopped.push(start..end_of(length.unwrap_or(1)));
        } else {
            other = true;
        }
        at += length.unwrap_or(1);
    }
    if other { stopped } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_leaves_out_stop_words_unless_there_is_nothing_else() {
        let texts = |query: &[&str]| -> Vec<String> {
            let texts: Vec<(&str, f32)> = query.iter().map(|&text| (text, 1.0)).collect();
            query_terms(&texts, |_| None).into_iter().map(|term| term.text).collect()
        };
        assert_eq!(texts(&["what is the name"]), ["name"]);
        assert_eq!(texts(&["to be or not to be"]), ["to", "be", "or", "not"]);
        assert_eq!(texts(&["什么数据"]), ["数", "么数", "据", "数据"]);
        assert_eq!(texts(&["what may rain", "in May"]), ["rain", "may"]);
    }
}
