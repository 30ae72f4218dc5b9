//! What is left of the score of a message that does not tell what is asked for, as in
//! `search/shares.rs`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use commonplace_core::index::bm25f::Field;
use commonplace_core::text::language::readings::LanguageId;
use commonplace_core::text::language::stems::stem;
use commonplace_core::text::query_terms::{language_of, query_terms};
use commonplace_core::text::tokens::TermForm;

use super::{Document, Position, ROLES, Reference, meanings, sum_of};

impl Reference {
    /// ¾ for what another one said than the query asks about.
    pub(super) fn speaker_share(&self, query: &str, place: &Position) -> f64 {
        let document = &self.documents[place];
        if document.role.is_empty() {
            return 1.0;
        }
        let lower = query.to_lowercase();
        let has = |words: &[&str]| {
            lower.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
        };
        // word by word: each run of Han characters has a vote for the language of the query
        let words: Vec<(&str, f32)> = query.split_whitespace().map(|word| (word, 1.0)).collect();
        let held: BTreeSet<LanguageId> = self.documents.values().map(|d| d.language).collect();
        let languages: Vec<LanguageId> = LanguageId::all().filter(|l| held.contains(l)).collect();
        // no other language of the tests has a pronoun in its texts
        let is_about_user = language_of(&words, &languages) == LanguageId::BY_WORD
            && (has(&["i"]) || has(&["my", "me"]) && !has(&["you", "your"]));
        let terms = query_terms(&words, &languages, |word| stem(word).map(Cow::into_owned));
        let names: Vec<String> = terms
            .iter()
            .filter(|term| term.form != TermForm::Whole)
            .filter(|term| !ROLES.contains(&&**term.stem.as_ref().unwrap_or(&term.text)))
            .flat_map(meanings)
            .filter(|meaning| !meaning.is_prefix)
            .map(|meaning| meaning.concept)
            .collect();
        let speaks = |document: &Document, name: &String| {
            let counts = document.concepts.get(name).map(|words| sum_of(words.values()));
            counts.is_some_and(|counts| counts[Field::Speaker as usize] > 0)
        };
        let is_named = |name: &&String| self.documents.values().any(|d| speaks(d, name));
        let mut speakers = names.iter().filter(is_named).peekable();
        let is_other = is_about_user && document.role == "assistant"
            || speakers.peek().is_some() && !speakers.any(|name| speaks(document, name));
        if is_other { 0.75 } else { 1.0 }
    }

    /// ¾ for a message that only asks.
    pub(super) fn question_share(&self, place: &Position) -> f64 {
        let document = &self.documents[place];
        let asks = document.text.trim_end().ends_with('?') && document.is_named;
        if asks && document.lengths[0] <= 15 { 0.75 } else { 1.0 }
    }

    /// 0.85 for a message without a time, where the query asks when.
    pub(super) fn time_share(&self, query: &str, place: &Position) -> f64 {
        let document = &self.documents[place];
        let words = |text: &str| -> Vec<String> {
            let lower = text.to_lowercase();
            lower.split(|c: char| !c.is_alphanumeric() && c != ':').map(str::to_owned).collect()
        };
        let query = format!(" {} ", words(query).join(" "));
        let asks = TIME_QUESTIONS.lines().any(|phrase| query.contains(&format!(" {phrase} ")));
        let is_time = |word: &String| {
            let is_year = word.parse().is_ok_and(|year: u32| (1800..2100).contains(&year));
            TIME_WORDS.lines().any(|known| known == word) || is_year
        };
        let tells = words(&document.text).iter().any(is_time);
        if asks && !tells && !document.role.is_empty() { 0.85 } else { 1.0 }
    }
}

const TIME_QUESTIONS: &str =
    include_str!("../../../rust/core/src/text/language/words/time_questions_en.txt");
const TIME_WORDS: &str = include_str!("../../../rust/core/src/text/language/words/time_en.txt");
