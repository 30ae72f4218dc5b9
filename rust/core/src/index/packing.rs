//! The packed part of the index: flat arrays, so that a snapshot is a copy of them.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::lexicon::{Document, Lexicon};
use super::paged::Pages;
use super::patterns::Patterns;
use super::postings::{Impact, Posting, encode, take_varint, varint};
use super::{Holders, Index, impact_of};
use crate::index::bm25f::{Bm25f, Lengths, Totals, Weights};

/// Lists that do not change.
#[derive(Debug, Default)]
pub struct Packed {
    /// Documents it covers, dead ones included.
    pub documents: u32,
    /// Where each concept's list begins in `lists`: the page and the place in it.
    pub starts: Vec<Spot>,
    /// Postings in each list.
    pub counts: Vec<u32>,
    /// The lists, see [`super::postings`]; none goes over the end of a page.
    pub lists: Pages<u8>,
    /// The concepts of each document, ascending, as gaps, each with its pattern.
    pub held: Pages<u8>,
}

/// A place in a [`Pages`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spot {
    page: u32,
    at: u32,
}

/// Bytes from which on a page of lists is full.
const LISTS: usize = 64 << 10;
/// Documents whose concepts make a page.
const HOLDERS: usize = 256;

impl Packed {
    /// Says whether there is a list for each of so many concepts, and a page for each document.
    pub fn fits(&self, concepts: usize) -> bool {
        let pages = self.lists.len();
        [self.starts.len(), self.counts.len()] == [concepts; 2]
            && self.starts.iter().all(|spot| (spot.page as usize) < pages)
            && self.held.len() == (self.documents as usize).div_ceil(HOLDERS)
    }

    /// Returns the bytes from the list of a concept on, and how many postings are in it.
    pub fn list(&self, concept: u32) -> (&[u8], u32) {
        let found = self.starts.get(concept as usize).and_then(|spot| {
            let page = self.lists.get(spot.page as usize)?;
            Some((page.get(spot.at as usize..)?, self.counts[concept as usize]))
        });
        found.unwrap_or((&[], 0))
    }

    /// Returns the concepts of a document with their patterns.
    pub fn held(&self, document: u32) -> impl Iterator<Item = (u32, u32)> {
        let (page, place) = (document as usize / HOLDERS, document as usize % HOLDERS);
        let mut page = self.held.get(page).unwrap_or_default();
        let mut bytes: &[u8] = &[];
        for _ in 0..=place {
            let length = take_varint(&mut page) as usize;
            (bytes, page) = page.split_at_checked(length).unwrap_or_default();
        }
        let mut concept = 0;
        std::iter::from_fn(move || {
            (!bytes.is_empty()).then(|| {
                concept += take_varint(&mut bytes);
                (concept, take_varint(&mut bytes))
            })
        })
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.lists.bytes()
            + self.held.bytes()
            + self.starts.capacity() * 8
            + self.counts.capacity() * 4
    }
}

/// Documents read by one thread, with dictionaries of its own.
#[derive(Debug, Default)]
pub struct Run {
    /// The dictionaries.
    pub lexicon: Lexicon,
    /// The documents, each with the place it is to have in the index.
    pub documents: Vec<(u32, Document)>,
}

impl Index {
    /// Builds an index of all the documents of several runs; their places are `0..n`.
    pub fn build(weights: Weights, runs: Vec<Run>) -> Self {
        let total: usize = runs.iter().map(|run| run.documents.len()).sum();
        let mut documents: Vec<Document> = Vec::new();
        documents.resize_with(total, Document::default);
        let mut runs = runs.into_iter();
        let mut lexicon = Lexicon::default();
        // the first one's numbers hold; the others' are translated
        if let Some(first) = runs.next() {
            lexicon = first.lexicon;
            for (place, document) in first.documents {
                documents[place as usize] = document;
            }
        }
        for run in runs {
            let translation = lexicon.absorb(&run.lexicon);
            for (place, mut document) in run.documents {
                for posting in &mut document.concepts {
                    *posting = lexicon.translate(&translation, &run.lexicon, *posting);
                }
                document.concepts.sort_unstable();
                documents[place as usize] = document;
            }
        }
        Self::pack(weights, lexicon, documents)
    }

    fn pack(weights: Weights, mut lexicon: Lexicon, documents: Vec<Document>) -> Self {
        let mut totals = Totals::default();
        let mut counts = vec![0u32; lexicon.concepts()];
        let mut uses = vec![0u32; lexicon.patterns.len()];
        for document in &documents {
            totals.add(&document.lengths);
            for &(concept, pattern) in &document.concepts {
                counts[concept as usize] += 1;
                uses[pattern as usize] += 1;
            }
        }
        let renumbered = by_use(&mut lexicon.patterns, &uses);
        let mut ends = Vec::with_capacity(counts.len());
        let mut sum = 0;
        for &count in &counts {
            ends.push(sum);
            sum += count as usize;
        }
        let mut packed = Packed { documents: documents.len() as u32, counts, ..Packed::default() };
        let mut lengths = Vec::with_capacity(documents.len());
        let mut postings = vec![Posting { document: 0, pattern: 0 }; sum];
        let (mut page, mut held) = (Vec::new(), Vec::new());
        for (number, document) in documents.into_iter().enumerate() {
            lengths.push(document.lengths);
            held.clear();
            let mut last = 0;
            for (concept, pattern) in document.concepts {
                let end = &mut ends[concept as usize];
                let pattern = renumbered[pattern as usize];
                postings[*end] = Posting { document: number as u32, pattern };
                *end += 1;
                varint(concept - last, &mut held);
                varint(pattern, &mut held);
                last = concept;
            }
            varint(held.len() as u32, &mut page);
            page.extend_from_slice(&held);
            if number % HOLDERS == HOLDERS - 1 {
                packed.held.push(page.clone());
                page.clear();
            }
        }
        if !page.is_empty() {
            packed.held.push(page);
        }
        let formula = Bm25f::new(&weights, &totals);
        (packed.starts, packed.lists) = encode_all(&postings, &ends, &lexicon, &formula, &lengths);
        let mut index = Self::from_parts(weights, lexicon, lengths, totals, packed);
        index.count_holders();
        index
    }

    /// Makes an index from its arrays; no documents are dead in it, and no holders are counted.
    pub fn from_parts(
        weights: Weights,
        lexicon: Lexicon,
        lengths: Vec<Lengths>,
        totals: Totals,
        packed: Packed,
    ) -> Self {
        let documents = lengths.len();
        let mut live = vec![u64::MAX; documents.div_ceil(64)];
        if let Some(last) = live.last_mut().filter(|_| !documents.is_multiple_of(64)) {
            *last = (1 << (documents % 64)) - 1;
        }
        Self {
            holders: vec![Holders::default(); lexicon.concepts()],
            word_holders: vec![0; lexicon.words.len()],
            weights,
            least_average: totals.average_if_any(),
            lexicon,
            packed,
            tail: FxHashMap::default(),
            loose: Vec::new(),
            lengths,
            live,
            totals,
        }
    }

    /// Takes over the holders of every concept and word; returns nothing if they do not fit.
    pub fn with_holders(mut self, concepts: Vec<Holders>, words: Vec<u32>) -> Option<Self> {
        let fit = concepts.len() == self.holders.len() && words.len() == self.word_holders.len();
        (self.holders, self.word_holders) = (concepts, words);
        fit.then_some(self)
    }

    /// Counts the holders of every concept and word from the lists.
    fn count_holders(&mut self) {
        for concept in 0..self.packed.starts.len() as u32 {
            let (list, count) = self.packed.list(concept);
            let words = self.lexicon.spellings(concept);
            let holders = &mut self.holders[concept as usize];
            Cursor::new(list, count, &[], Impact::default()).each(|Posting { pattern, .. }| {
                holders.change(self.lexicon.patterns.sum(pattern), |count| *count += 1);
                for spelling in self.lexicon.patterns.spellings(pattern) {
                    self.word_holders[words[spelling.number as usize] as usize] += 1;
                }
            });
        }
    }

    /// Packs everything anew, drops the dead, and numbers the documents in the order given.
    ///
    /// `order` lists the live documents; the one at place `i` becomes number `i`.
    pub fn repack(&mut self, order: &[u32]) {
        let mut documents: Vec<Document> = order
            .iter()
            .map(|&d| Document { concepts: Vec::new(), lengths: self.lengths[d as usize] })
            .collect();
        for (&number, document) in order.iter().zip(&mut documents) {
            document.concepts = self.concepts_of(number);
        }
        let lexicon = std::mem::take(&mut self.lexicon);
        *self = Self::pack(self.weights.clone(), lexicon, documents);
    }
}

/// Encodes every list, on two threads; `ends` says where each ends in `postings`.
fn encode_all(
    postings: &[Posting],
    ends: &[usize],
    lexicon: &Lexicon,
    formula: &Bm25f,
    lengths: &[Lengths],
) -> (Vec<Spot>, Pages<u8>) {
    let half = |concepts: std::ops::Range<usize>| {
        let mut spots = Vec::with_capacity(concepts.len());
        let (mut pages, mut page) = (Vec::new(), Vec::new());
        for concept in concepts {
            if page.len() >= LISTS {
                pages.push(page.clone());
                page.clear();
            }
            let start = concept.checked_sub(1).map_or(0, |before| ends[before]);
            spots.push(Spot { page: pages.len() as u32, at: page.len() as u32 });
            let impact = |posting: &Posting| {
                let counts = lexicon.patterns.sum(posting.pattern);
                impact_of(formula, counts, &lengths[posting.document as usize])
            };
            encode(&postings[start..ends[concept]], impact, &mut page);
        }
        page.shrink_to_fit();
        pages.push(page);
        (spots, pages)
    };
    // the concept at which half of the postings are done
    let middle = ends.partition_point(|&end| end < postings.len() / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| half(middle..ends.len()));
        let (mut spots, first) = half(0..middle);
        let (more, second) = second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let before = first.len() as u32;
        spots.extend(more.iter().map(|spot| Spot { page: before + spot.page, ..*spot }));
        let mut lists = Pages::default();
        first.into_iter().chain(second).for_each(|page| lists.push(page));
        (spots, lists)
    })
}

/// Renumbers patterns so that the commonest have the smallest numbers; unused ones go.
fn by_use(patterns: &mut Patterns, uses: &[u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..uses.len()).filter(|&id| uses[id] > 0).collect();
    order.sort_by_key(|&id| (Reverse(uses[id]), id));
    let mut renumbered = vec![0; uses.len()];
    let mut kept = Patterns::default();
    for old in order {
        renumbered[old] = kept.intern(patterns.spellings(old as u32));
    }
    *patterns = kept;
    renumbered
}
