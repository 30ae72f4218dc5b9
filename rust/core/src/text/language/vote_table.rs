//! Table of votes: which languages have a word as a stop word, or a letter for their own.

use rustc_hash::FxHashMap;

use crate::text::language::Language;

/// Stop words of some language that code and names of companies are full of.
const NO_VOTE: [&str; 5] = ["ai", "com", "comment", "io", "sub"];

/// What votes a word gives.
#[derive(Debug, Default)]
pub(super) struct VoteTable {
    /// The class of each stop word, and of each letter of few languages.
    pub words: FxHashMap<&'static str, u16>,
    pub letters: FxHashMap<char, u16>,
    /// For each class, a bit for each language; the lowest is for words read by themselves. Class 0
    /// has none.
    pub classes: Vec<u32>,
    /// The class of words that are surely read by themselves.
    pub by_itself: u16,
}

impl VoteTable {
    /// Makes the table of the languages that are told by their stop words, and of the stop words
    /// by which the text of others is told from these.
    pub fn of(told: &[&'static dyn Language], others: &[&'static dyn Language]) -> Self {
        let (mut words, mut letters) = (FxHashMap::default(), FxHashMap::default());
        let others = others.iter().map(|language| (1, language));
        for (bit, language) in others.chain((1..).map(|at| 1 << at).zip(told)) {
            let words_of = language.stop_words().split_whitespace();
            // letters are names of variables
            for word in words_of.filter(|word| word.len() > 1 && !NO_VOTE.contains(word)) {
                *words.entry(word).or_insert(0) |= bit;
            }
            for letter in language.letters().chars() {
                *letters.entry(letter).or_insert(0) |= bit;
            }
        }
        let mut table = Self { classes: vec![0], ..Self::default() };
        let mut class_of = |mask: u32| {
            let known = table.classes.iter().position(|&known| known == mask);
            let class = known.unwrap_or_else(|| {
                table.classes.push(mask);
                table.classes.len() - 1
            });
            class as u16
        };
        let words = words.into_iter().map(|(word, mask)| (word, class_of(mask))).collect();
        let letters = letters.into_iter().map(|(letter, mask)| (letter, class_of(mask))).collect();
        let by_itself = class_of(1);
        Self { words, letters, by_itself, ..table }
    }
}
