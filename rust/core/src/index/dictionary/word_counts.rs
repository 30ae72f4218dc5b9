//! Counts of the words of a text, and of the texts of a document by field.
//!
//! A text may be in several documents: a message is also the context of its neighbours. So a text is
//! counted by itself, and a document is made of the counts of its texts.

use crate::index::bm25f::{FIELDS, Field, Lengths};
use crate::index::prefetch::prefetch;
use crate::text::language::detection::Votes;
use crate::text::language::readings::LanguageId;

/// The concept of a word, and which of its variants the word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WordEntry {
    /// The concept.
    pub concept: u32,
    /// The number of the variant within the concept.
    pub variant: u32,
}

/// The counts of a text as it is read in one language, with the numbers of one lexicon.
#[derive(Debug, Clone, Default)]
pub struct CountedText {
    pub(super) words: Vec<WordCount>,
    /// The concept of each of `words` in the upper half, and its place in the lower; ascending once
    /// the text is counted.
    order: Vec<u64>,
    /// What it adds to the length of a field.
    pub(super) length: u32,
    pub(super) votes: Votes,
    /// The language, once it is counted.
    pub(super) language: Option<LanguageId>,
}

/// How often a word is in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordCount {
    pub word: u32,
    /// Which of the variants of its concept the word is.
    pub variant: u16,
    pub count: u16,
}

impl CountedText {
    /// Empties it for the next text.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.order.clear();
        self.length = 0;
        self.votes.clear();
        self.language = None;
    }

    /// Looks up the concepts of the words, and sorts by them: once for all documents that have the text.
    pub(super) fn set_concepts(&mut self, entries: &[WordEntry]) {
        self.order.clear();
        for (at, count) in (0..).zip(&mut self.words) {
            let entry = entries[count.word as usize];
            count.variant = u16::try_from(entry.variant).unwrap_or(u16::MAX);
            self.order.push(u64::from(entry.concept) << 32 | at);
        }
        self.order.sort_unstable();
    }
}

/// Where each word is counted in the text that is being counted.
#[derive(Debug, Clone, Default)]
pub(super) struct WordSlots {
    /// For each word, its place among the counts, and the number of the text that set it.
    slots: Vec<(u32, u32)>,
    /// The number of the text; texts are numbered from 1, so a fresh slot belongs to none.
    text: u32,
}

impl WordSlots {
    /// Begins the next text.
    pub fn begin(&mut self) {
        if self.text == u32::MAX {
            self.slots.fill((0, 0));
            self.text = 0;
        }
        self.text += 1;
    }

    /// Prefetches what [`Self::count`] reads.
    #[inline]
    pub fn prefetch(&self, word: u32) {
        prefetch(&self.slots, word as usize);
    }

    /// Counts a word of the text.
    #[inline]
    pub fn count(&mut self, words: &mut Vec<WordCount>, word: u32) {
        let at = word as usize;
        if at >= self.slots.len() {
            self.reserve(at + 1);
        }
        let slot = &mut self.slots[at];
        if slot.1 == self.text
            && let Some(known) = words.get_mut(slot.0 as usize)
        {
            known.count = known.count.saturating_add(1);
            return;
        }
        *slot = (words.len() as u32, self.text);
        words.push(WordCount { word, variant: 0, count: 1 });
    }

    /// Adds slots for so many words, and some more.
    #[cold]
    fn reserve(&mut self, words: usize) {
        let wanted = words + words / 8;
        match self.slots.is_empty() {
            // zeroed pages cost nothing until they are used
            true => self.slots = vec![(0, 0); wanted],
            false => self.slots.resize(wanted, (0, 0)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u32, u32)>()
    }
}

/// The counts of the document being read.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentCounts {
    /// As [`CountedText::order`], behind which single words may stand.
    order: Vec<u64>,
    /// Spare buffer for the order.
    merged: Vec<u64>,
    words: Vec<FieldCount>,
    lengths: [u32; FIELDS],
    pub votes: Votes,
}

/// How often a word is in a text of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldCount {
    pub word: u32,
    pub variant: u16,
    pub count: u16,
    pub field: Field,
}

impl DocumentCounts {
    /// Adds the length of a text alone.
    pub fn add_length(&mut self, field: Field, text: &CountedText) {
        self.lengths[field as usize] += text.length;
    }

    /// Adds a text.
    pub fn add(&mut self, field: Field, text: &CountedText) {
        self.add_length(field, text);
        // the context is the text of other documents, and tells nothing of the language of this
        if field != Field::Context {
            self.votes.add_all(&text.votes);
        }
        let first = self.words.len() as u64;
        self.merge(&text.order, first);
        let counts = text.words.iter();
        self.words.extend(counts.map(|&WordCount { word, variant, count }| FieldCount {
            word,
            variant,
            count,
            field,
        }));
    }

    /// Merges the ascending keys of a text, whose words begin at the place `first`, into the order.
    fn merge(&mut self, keys: &[u64], first: u64) {
        let Self { order, merged, .. } = self;
        merged.resize(order.len() + keys.len(), 0);
        let (mut old, mut new) = (0, 0);
        for least in &mut *merged {
            let known = order.get(old).copied().unwrap_or(u64::MAX);
            let key = keys.get(new).map_or(u64::MAX, |key| key + first);
            // without a branch, which could not be predicted
            *least = known.min(key);
            old += usize::from(known < key);
            new += usize::from(known >= key);
        }
        std::mem::swap(order, merged);
    }

    /// Adds a word with its counts in all texts of a field.
    pub fn add_word(&mut self, field: Field, word: u32, entry: WordEntry, count: u16) {
        let variant = u16::try_from(entry.variant).unwrap_or(u16::MAX);
        self.order.push(u64::from(entry.concept) << 32 | self.words.len() as u64);
        self.words.push(FieldCount { word, variant, count, field });
    }

    /// Returns the counts in the order in which they were added.
    pub fn words(&self) -> &[FieldCount] {
        &self.words
    }

    /// Returns the counts of each concept, ascending, as places among [`Self::words`] in the lower
    /// half of a number that has the concept in its upper half.
    pub fn by_concept(&mut self) -> (impl Iterator<Item = &[u64]>, &[FieldCount]) {
        // that of texts is ascending already, and this sort merges single words into it
        self.order.sort();
        (self.order.chunk_by(|a, b| a >> 32 == b >> 32), &self.words)
    }

    /// Returns the terms in each field.
    pub fn lengths(&self) -> Lengths {
        self.lengths.map(|length| u16::try_from(length).unwrap_or(u16::MAX))
    }

    pub fn set_lengths(&mut self, lengths: &Lengths) {
        self.lengths = lengths.map(u32::from);
    }

    /// Empties it for the next document.
    pub fn clear(&mut self) {
        self.order.clear();
        self.words.clear();
        self.lengths = [0; FIELDS];
        self.votes.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::index::dictionary::document_analysis::AnalyzedDocument;
    use crate::index::dictionary::lexicon::Lexicon;
    use crate::text::language::SEPARATOR;
    use crate::text::prefix_filter::PrefixFilter;

    /// Reads messages with their neighbours as context; `keeps` says whether each is counted once.
    fn read(messages: &[String], keeps: bool) -> (Vec<AnalyzedDocument>, Vec<String>) {
        let mut lexicon = Lexicon::default();
        let mut counted: Vec<CountedText> = Vec::new();
        counted.resize_with(messages.len(), CountedText::default);
        let mut documents = Vec::new();
        for at in 0..messages.len() {
            let around = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let context = around.filter(|&at| at < messages.len()).map(|at| (Field::Context, at));
            let texts: Vec<_> = std::iter::once((Field::Body, at)).chain(context).collect();
            let mut add = |lexicon: &mut Lexicon| {
                for &(field, at) in &texts {
                    match keeps {
                        true => lexicon.add_shared(field, &messages[at], &mut counted[at]),
                        false => lexicon.add(field, &messages[at]),
                    }
                    lexicon.add(Field::Speaker, "user");
                }
            };
            add(&mut lexicon);
            if lexicon.rereads() {
                add(&mut lexicon);
            }
            documents.push(lexicon.finish());
        }
        let words = (0..lexicon.words.len() as u32).map(|word| lexicon.words.text(word).to_owned());
        (documents, words.collect())
    }

    proptest! {
        /// The languages change from message to message.
        #[test]
        fn a_text_that_is_counted_once_counts_the_same(
            messages in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(vec![
                        "run", "running", "runs", "Katze", "die", "ist nicht im Haus", "und", "gato",
                        "no está en la casa", "de mi", "the", "user", "users", "getUserName", "数据库",
                    ]),
                    0..30,
                ),
                1..12,
            ),
        ) {
            let messages: Vec<String> = messages.iter().map(|words| words.join(" ")).collect();
            let (kept, plain) = (read(&messages, true), read(&messages, false));
            prop_assert_eq!(kept.1.len(), plain.1.len());
            prop_assert_eq!(kept, plain);
        }

        /// Each word of the texts is asked for by its stem, or as it is where it has none.
        #[test]
        fn what_is_asked_for_counts_the_same_in_a_filtered_context(
            texts in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(vec![
                        "run", "Running", "ran", "went", "goes", "don't", "e-mail", "src/run_go.rs", "USB-3",
                        "Katze", "Kätzchen", "die", "ist nicht im Haus", "und Häuser", "gatos", "evlerinden",
                        "no está en la casa", "l'été", "không có ở nhà", "the", "users", "getUserName",
                        "数据库", "東京に行った", "дома", "нет", "３a", "\u{307}i", "#tag", "a.b@c.de",
                    ]),
                    0..12,
                ),
                2..4,
            ),
        ) {
            let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
            let counts = |lexicon: &mut Lexicon, filter: Option<&PrefixFilter>| {
                let add = |lexicon: &mut Lexicon| {
                    lexicon.add(Field::Body, &texts[0]);
                    for text in &texts[1..] {
                        let counted = &mut CountedText::default();
                        match filter {
                            Some(filter) => lexicon.add_filtered(Field::Context, text, counted, filter),
                            None => lexicon.add_shared(Field::Context, text, counted),
                        }
                    }
                };
                add(lexicon);
                if lexicon.rereads() {
                    add(lexicon);
                }
                let words = lexicon.finish_words(|_| true).0.into_iter();
                let text = |word| lexicon.words.text(word).to_owned();
                words.map(|(word, counts)| (text(word), counts)).collect::<BTreeMap<_, _>>()
            };
            let mut lexicon = Lexicon::default();
            let all = counts(&mut lexicon, None);
            for word in all.keys() {
                let id = lexicon.words.get(word).expect("a word that was counted");
                let stem = lexicon.stem_of(lexicon.entry(id).concept);
                let asked = stem.unwrap_or(word);
                // what stands for all words that begin alike is not filtered
                if asked.starts_with(SEPARATOR) {
                    continue;
                }
                let filter = PrefixFilter::of(std::iter::once(asked));
                let filtered = counts(&mut Lexicon::default(), Some(&filter));
                prop_assert_eq!(filtered.get(word), all.get(word), "{} by {}", word, asked);
            }
        }
    }
}
