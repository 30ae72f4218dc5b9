//! A document as an engine outside of this process stores it: its place, its fields, its terms.

use std::borrow::Cow;

use crate::catalog::TranscriptPosition;
use crate::catalog::doc_table::SectionMeta;
use crate::catalog::extract::Corpus;
use crate::files::file_kind::FileKind;
use crate::index::bm25f::{Bm25f, Counts, Field, Lengths, Totals, Weights};
use crate::index::doc_freqs::is_in_text;
use crate::messages::message::{Message, ParsedLine, parse};
use crate::search::term_names::{ConceptNames, TermKind};
use crate::text::encoding::as_text;
use crate::text::language::stems;

/// A word of a document by its stem, with its counts.
pub(super) type StemmedWord<'a> = (Option<Cow<'a, str>>, &'a str, &'a Counts);

/// A section of a note or a message, with all that is needed to rank it and to show it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineDocument {
    /// The file, relative to the root.
    pub path: String,
    /// First byte in the file.
    pub start: u64,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Hash of the bytes.
    pub hash: u64,
    /// Hash of everything that is indexed.
    pub key: u64,
    /// The bytes in the file: of a section its Markdown, of a message its JSON.
    pub bytes: Vec<u8>,
    /// Whether it is of the text of a transcript or of what went into and came out of tools.
    pub corpus: Corpus,
    /// Headings from the outermost down, joined by [`TRAIL`](crate::text::section::TRAIL).
    pub trail: String,
    /// Milliseconds since 1970.
    pub time: Option<i64>,
    /// The role of who speaks; empty for notes.
    pub role: String,
    /// The session of a message.
    pub session: String,
    /// The category of a section.
    pub category: String,
    /// The title of the session of its transcript.
    pub title: Option<String>,
    /// Metadata of its section; of a message, whether a turn begins with it.
    pub section_meta: SectionMeta,
    /// Where it stands in its transcript.
    pub position: TranscriptPosition,
    /// Terms in each field.
    pub lengths: Lengths,
    /// Each word with its counts in each field.
    pub words: Vec<(Box<str>, Counts)>,
}

/// The words of one concept in a document.
struct Concept<'a> {
    stem: Option<Cow<'a, str>>,
    /// The sum of the counts of its words.
    counts: Counts,
    words: Vec<(&'a str, &'a Counts)>,
}

impl Concept<'_> {
    fn names(&self) -> ConceptNames {
        ConceptNames::of(self.stem.as_deref(), self.words[0].0)
    }

    /// The stem, or the one word where there is none.
    fn term(&self) -> &str {
        self.stem.as_deref().unwrap_or(self.words[0].0)
    }

    /// The kind of its name in the text.
    fn kind(&self) -> TermKind {
        if self.stem.is_some() { TermKind::Stem } else { TermKind::Word }
    }
}

impl EngineDocument {
    /// Returns its text, and its message if it is one.
    #[must_use]
    pub fn text(&self) -> (String, Option<Message>) {
        if FileKind::of(&self.path) == FileKind::Transcript
            && let ParsedLine::Message(message) = parse(&self.bytes)
        {
            let text = match self.corpus {
                Corpus::Main => message.text.clone(),
                Corpus::Tools => message.tools.clone(),
            };
            return (text, Some(message));
        }
        (as_text(&self.bytes).into_owned(), None)
    }

    /// Returns the names that it has, each once: of these an engine counts `n_t`.
    ///
    /// # Arguments
    /// * `context`: with the words of its neighbours, which `n_t` does not need as long as these
    ///   are documents too.
    #[must_use]
    pub fn names(&self, context: bool) -> Vec<String> {
        let mut names = Vec::with_capacity(2 * self.words.len());
        each_name(self.stemmed(context), &mut |_, name, _| names.push(name.to_owned()));
        names
    }

    /// Returns its words by their stems; with those that only its context has or not.
    pub(super) fn stemmed(&self, context: bool) -> Vec<StemmedWord<'_>> {
        let is_own = |counts: &Counts| counts[..Field::Context as usize].iter().any(|&n| n > 0);
        let words = self.words.iter().filter(|(_, counts)| context || is_own(counts));
        words.map(|(word, counts)| (stems::stem(word), &**word, counts)).collect()
    }

    /// Returns the impacts of its terms: `tf~` of a concept over all fields, of a word as it is
    /// spelled, and of a concept in headings and in the name of the speaker.
    ///
    /// A query asks for them by the names of `QueryNames::weights`: with these `w` a document scores
    /// `Σ w · tf~ / (k1 + tf~)`.
    ///
    /// # Arguments
    /// * `totals`: the documents of the collection and the lengths of their fields.
    #[must_use]
    pub fn impacts(&self, weights: &Weights, totals: &Totals) -> Vec<(String, f32)> {
        let (formula, lengths) = (Bm25f::new(weights, totals), &self.lengths);
        let mut impacts = Vec::with_capacity(2 * self.words.len());
        for concept in concepts(self.stemmed(true)) {
            let own = concept.names();
            impacts.push((own.heading, formula.heading_frequency(&concept.counts, lengths)));
            impacts.push((own.speaker, formula.speaker_frequency(&concept.counts, lengths)));
            impacts.push((own.text, formula.frequency(&concept.counts, lengths)));
            for (word, counts) in concept.words.iter().filter(|_| concept.stem.is_some()) {
                impacts.push((TermKind::Word.name(word), formula.frequency(counts, lengths)));
            }
        }
        impacts.retain(|(_, impact)| *impact > 0.0);
        impacts
    }
}

/// Hands out the names of a document of these words, with their kinds and counts.
pub(super) fn each_name(
    words: Vec<StemmedWord<'_>>,
    each: &mut dyn FnMut(TermKind, &str, &Counts),
) {
    // one buffer for all: a document has some dozens
    let mut name = String::new();
    for concept in concepts(words) {
        let (kind, counts) = (concept.kind(), &concept.counts);
        let has = [
            (TermKind::Heading, is_in_heading(counts)),
            (TermKind::Speaker, counts[Field::Speaker as usize] > 0),
        ];
        for (field, _) in has.into_iter().filter(|(_, has)| *has) {
            name.clear();
            name.extend([field.letter(), kind.letter()]);
            name.push_str(concept.term());
            each(field, &name, counts);
        }
        let mut hand_out = |kind: TermKind, term: &str, counts: &Counts| {
            let kind = if is_in_text(counts) { kind } else { kind.beside() };
            name.clear();
            name.push(kind.letter());
            name.push_str(term);
            each(kind, &name, counts);
        };
        hand_out(kind, concept.term(), counts);
        for (word, counts) in concept.words.iter().filter(|_| concept.stem.is_some()) {
            hand_out(TermKind::Word, word, counts);
        }
    }
}

/// Returns words by concept, ordered by name.
fn concepts(mut words: Vec<StemmedWord<'_>>) -> Vec<Concept<'_>> {
    words.sort_unstable_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let mut concepts: Vec<Concept<'_>> = Vec::with_capacity(words.len());
    for (stem, word, counts) in words {
        match concepts.last_mut() {
            Some(last) if stem.is_some() && last.stem == stem => {
                for (sum, count) in last.counts.iter_mut().zip(counts) {
                    *sum = sum.saturating_add(*count);
                }
                last.words.push((word, counts));
            }
            _ => concepts.push(Concept { stem, counts: *counts, words: vec![(word, counts)] }),
        }
    }
    concepts
}

fn is_in_heading(counts: &Counts) -> bool {
    counts[Field::Heading as usize] | counts[Field::Title as usize] > 0
}
