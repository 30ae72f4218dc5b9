//! Query terms: tokens of a query with weights, without stop words.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::text::language::detection::{QUERY_MARGIN, Votes, vote_of};
use crate::text::language::readings::{LanguageId, Reading, prefix_of};
use crate::text::language::stems::readings;
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
    /// What else it is, as a word of each language that it is read in.
    pub readings: Vec<Arc<Reading>>,
    /// The term for all words that begin like it, when it is read by itself; of two syllables that
    /// follow each other their term.
    pub prefix: Option<String>,
    /// What it is.
    pub form: TermForm,
    /// How often it occurs in the query, by weight.
    pub times: f32,
    /// Whether it is a stop word, of a query that has nothing else.
    pub is_stop_word: bool,
}

/// Returns the terms of a query, each once, in the order of the query; each text comes
/// with its weight; `stem` tells the stem of a word that is read by itself, and each word is read in
/// each of `languages` as well.
///
/// Stop words of the language that the query is in are left out, unless there is nothing else. Where
/// words are of several syllables, a stop word counts half, for it can be part of a word that is none;
/// and two syllables that follow each other are a term, unless both are stop words.
pub fn query_terms(
    texts: &[(&str, f32)],
    languages: &[LanguageId],
    stem: impl Fn(&str) -> Option<String>,
) -> Vec<QueryTerm> {
    let mut collected = TermCollector::new(languages, &stem);
    let mut stops = TermCollector::new(languages, &stem);
    let language = language_of(texts, languages);
    let by_syllables = language.writes_syllables();
    let mut before: Option<(String, f32)> = None;
    for &(text, weight) in texts {
        segmentation::each(text, &mut |chunk| {
            let stopped = stop_characters(chunk);
            terms(chunk, &mut |term| match term.form {
                TermForm::Word => {
                    let reading = language.read(term.spelled);
                    let is_stopped = match &reading {
                        Some(reading) => reading.is_stop_word,
                        None => is_stop_word(term.text) && !is_proper_noun(chunk),
                    };
                    let syllable = reading.filter(|_| by_syllables).map(|reading| reading.term);
                    match (is_stopped, &syllable) {
                        (true, None) => stops.add(&term, weight),
                        (true, Some(_)) => collected.add(&term, weight / 2.0),
                        (false, _) => collected.add(&term, weight),
                    }
                    // the words of a question come a second time, with another weight
                    let first = before.take().filter(|(_, its_weight)| *its_weight == weight);
                    if let Some(((first, _), second)) = first.zip(syllable.as_ref()) {
                        let pair = language.pair(&first, second);
                        pair.into_iter().for_each(|pair| collected.add_pair(pair, weight));
                    }
                    before = syllable.map(|syllable| (syllable, weight));
                }
                TermForm::Whole => collected.add(&term, weight),
                // its word and its pairs say it
                TermForm::CharacterInWord => {}
                _ => match stopped_ends(&stopped, &term.range) {
                    2 => {}
                    // half of a pair is
                    1 => collected.add(&term, weight / 2.0),
                    _ => collected.add(&term, weight),
                },
            });
        });
        // a sentence, or a part of one, ends
        before = before.filter(|_| text.ends_with(char::is_alphanumeric));
    }
    if !collected.terms.is_empty() {
        return collected.terms;
    }
    stops.terms.into_iter().map(|term| QueryTerm { is_stop_word: true, ..term }).collect()
}

/// Returns the language among some that a query is in. The words of a question come a second time,
/// with a weight below 1, and have one vote all the same.
pub fn language_of(texts: &[(&str, f32)], languages: &[LanguageId]) -> LanguageId {
    let mut votes = Votes::default();
    if !languages.is_empty() {
        for (text, _) in texts.iter().filter(|(_, weight)| *weight >= 1.0) {
            segmentation::each(text, &mut |chunk| votes.add(vote_of(chunk)));
        }
    }
    votes.language(QUERY_MARGIN, |language| languages.contains(&language))
}

struct TermCollector<'l, S> {
    languages: &'l [LanguageId],
    stem: S,
    terms: Vec<QueryTerm>,
    places: FxHashMap<(TermForm, String), usize>,
}

impl<'l, S: Fn(&str) -> Option<String>> TermCollector<'l, S> {
    fn new(languages: &'l [LanguageId], stem: S) -> Self {
        Self { languages, stem, terms: Vec::new(), places: FxHashMap::default() }
    }

    fn add(&mut self, term: &Term<'_>, weight: f32) {
        let next = self.terms.len();
        // with other accents it can be another word
        let spelled = if self.languages.is_empty() { term.text } else { term.spelled };
        let place = *self.places.entry((term.form, spelled.to_lowercase())).or_insert(next);
        if place == next {
            let is_word = term.form == TermForm::Word;
            self.terms.push(QueryTerm {
                text: term.text.to_owned(),
                stem: (self.stem)(term.text),
                readings: if is_word { readings(term.spelled, self.languages) } else { Vec::new() },
                prefix: if is_word { prefix_of(term.text) } else { None },
                form: term.form,
                times: 0.0,
                is_stop_word: false,
            });
        }
        self.terms[place].times += weight;
    }

    /// Adds two syllables that follow each other: their term, and what they are spelled as.
    fn add_pair(&mut self, (term, spelled): (String, String), weight: f32) {
        let next = self.terms.len();
        let place = *self.places.entry((TermForm::Pair, spelled.clone())).or_insert(next);
        if place == next {
            self.terms.push(QueryTerm {
                text: spelled,
                stem: None,
                readings: Vec::new(),
                prefix: Some(term),
                form: TermForm::Pair,
                times: 0.0,
                is_stop_word: false,
            });
        }
        self.terms[place].times += weight;
    }
}

/// Returns how many of the first and the last character of a term are in a stop word.
fn stopped_ends(stopped: &[Range<usize>], range: &Range<usize>) -> usize {
    let covered = |at: &usize| stopped.iter().any(|stop| stop.contains(at));
    [range.start, range.end - 1].iter().filter(|at| covered(at)).count()
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
            query_terms(&texts, &[], |_| None).into_iter().map(|term| term.text).collect()
        };
        assert_eq!(texts(&["what is the name"]), ["name"]);
        assert_eq!(texts(&["to be or not to be"]), ["to", "be", "or", "not"]);
        assert_eq!(texts(&["什么数据"]), ["数", "么数", "据", "数据"]);
        assert_eq!(texts(&["what may rain", "in May"]), ["rain", "may"]);
        assert_eq!(texts(&["データのパリ"]), ["データ", "デー", "ータ", "タの", "パリ", "のパ"]);
    }
}
