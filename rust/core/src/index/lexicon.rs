//! Text in, postings of one document out.

use super::patterns::Patterns;
use super::terms::Terms;
use crate::bm25f::{Counts, FIELDS, Field, Lengths};
use crate::tokens::{self, Form};

/// One document as the index takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Term and pattern, each term once.
    pub terms: Vec<(u32, u32)>,
    /// Terms in each field.
    pub lengths: Lengths,
}

/// The dictionaries, and the counts of the document being read.
#[derive(Debug, Default)]
pub struct Lexicon {
    /// The term dictionary.
    pub terms: Terms,
    /// The pattern dictionary.
    pub patterns: Patterns,
    memo: Memo,
    /// For each term, its place in `counts` plus the number of the document that put it there.
    places: Vec<(u32, u32)>,
    document: u32,
    counts: Vec<(u32, Counts)>,
    lengths: [u32; FIELDS],
}

/// What the chunks of text that came lately are as terms: words repeat, so this saves most of
/// the folding and stemming of a build.
#[derive(Debug, Default)]
struct Memo {
    chunks: Terms,
    /// Where the terms of each chunk end in `terms`, and what it adds to the length of a field.
    ends: Vec<(u32, u32)>,
    terms: Vec<u32>,
}

/// Chunks the memo holds before it starts anew, and the longest it takes.
const MEMO_CHUNKS: usize = 1 << 18;
const MEMO_LENGTH: usize = 48;

/// Parts that speakers play, by stem.
const PARTS: [&str; 11] = [
    "user", "assist", "system", "tool", "human", "ai", "bot", "agent", "model", "develop",
    "function",
];

impl Lexicon {
    /// Makes a lexicon that goes on where the dictionaries stop.
    pub fn new(terms: Terms, patterns: Patterns) -> Self {
        Self { terms, patterns, ..Self::default() }
    }

    /// Counts the words of `text` for `field` of the document being read.
    pub fn add(&mut self, field: Field, text: &str) {
        tokens::chunks(text, &mut |chunk| {
            if chunk.len() > MEMO_LENGTH {
                let mut ids = Vec::new();
                let length = self.read(chunk, &mut ids);
                self.lengths[field as usize] += length;
                ids.into_iter().for_each(|id| self.count(field, id));
                return;
            }
            let chunk = match self.memo.chunks.get(chunk) {
                Some(id) => id as usize,
                None => self.remember(chunk),
            };
            let start = if chunk == 0 { 0 } else { self.memo.ends[chunk - 1].0 };
            let (end, length) = self.memo.ends[chunk];
            self.lengths[field as usize] += length;
            for at in start..end {
                self.count(field, self.memo.terms[at as usize]);
            }
        });
        match field {
            Field::Heading | Field::Title => self.add_marked(field, text, tokens::HEADING),
            Field::Speaker => self.add_marked(field, text, tokens::SPEAKER),
            _ => {}
        }
    }

    /// Counts the words once more, as terms that stand for this kind of field alone.
    fn add_marked(&mut self, field: Field, text: &str, mark: char) {
        let mut marked = String::new();
        tokens::chunks(text, &mut |chunk| {
            tokens::terms(chunk, &mut |term| {
                let bare = match term.form {
                    Form::Stem => &term.text[tokens::STEM.len_utf8()..],
                    Form::Word if term.text.bytes().all(|b| b.is_ascii_lowercase()) => return,
                    _ => term.text,
                };
                // every second message is from "assistant": as a name it says nothing
                if mark == tokens::SPEAKER && PARTS.contains(&bare) {
                    return;
                }
                marked.clear();
                marked.push(mark);
                marked.push_str(bare);
                let id = self.terms.intern(&marked);
                self.count(field, id);
            });
        });
    }

    /// Looks up the terms of a chunk and returns what it adds to the length of a field.
    fn read(&mut self, chunk: &str, ids: &mut Vec<u32>) -> u32 {
        let mut length = 0;
        tokens::terms(chunk, &mut |term| {
            ids.push(self.terms.intern(term.text));
            length += u32::from(term.counts);
        });
        length
    }

    fn remember(&mut self, chunk: &str) -> usize {
        if self.memo.chunks.len() >= MEMO_CHUNKS {
            self.memo = Memo::default();
        }
        let mut ids = std::mem::take(&mut self.memo.terms);
        let length = self.read(chunk, &mut ids);
        self.memo.terms = ids;
        self.memo.ends.push((self.memo.terms.len() as u32, length));
        self.memo.chunks.intern(chunk) as usize
    }

    fn count(&mut self, field: Field, term: u32) {
        let term_at = term as usize;
        if term_at >= self.places.len() {
            self.places.resize(self.terms.len().max(term_at + 1), (0, 0));
        }
        let place = &mut self.places[term_at];
        // documents are numbered from 1 here, so a fresh place belongs to none
        if place.1 != self.document + 1 {
            *place = (self.counts.len() as u32, self.document + 1);
            self.counts.push((term, [0; FIELDS]));
        }
        let count = &mut self.counts[place.0 as usize].1[field as usize];
        *count = count.saturating_add(1);
    }

    /// Ends the document being read and begins the next.
    pub fn finish(&mut self) -> Document {
        let patterns = &mut self.patterns;
        let terms = self.counts.drain(..).map(|(term, c)| (term, patterns.intern(&c))).collect();
        let lengths = self.lengths.map(|length| u16::try_from(length).unwrap_or(u16::MAX));
        self.lengths = [0; FIELDS];
        self.document = self.document.wrapping_add(1);
        Document { terms, lengths }
    }

    /// Forgets what only speeds things up.
    pub fn rest(&mut self) {
        self.memo = Memo::default();
        self.places = Vec::new();
        self.document = 0;
    }
}
