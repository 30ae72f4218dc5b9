//! The BM25F index over documents: insert, delete, look up, pack.
//!
//! A document is a section, a part of a long one, or a message; the index knows only numbers and
//! terms. Most of it is packed; what came since lies in a loose tail. Numbers only grow, so a new
//! document is one push a term, and a deleted one is a cleared bit and one count less a term.
//! Scores are at any moment those of a fresh build, for `N`, `n_t` and the average lengths are
//! exact.

pub mod expand;
pub mod lexicon;
pub mod patterns;
pub mod postings;
pub mod terms;
pub mod topk;

use rustc_hash::FxHashMap;

use crate::bm25f::{Bm25f, FIELDS, Lengths, Totals, Weights};
use lexicon::{Document, Lexicon};
use patterns::Patterns;
use postings::{Cursor, Posting, encode, take_varint, varint};
use terms::Terms;

/// See the module.
#[derive(Debug, Default)]
pub struct Index {
    weights: Weights,
    lexicon: Lexicon,
    /// `n_t` of every term.
    holders: Vec<u32>,
    packed: Packed,
    tail: FxHashMap<u32, Tail>,
    /// Terms of the documents that are not packed.
    tail_terms: Vec<Box<[u32]>>,
    /// Least average lengths since the last packing: with them no bound is too low.
    least_average: [f32; FIELDS],
    lengths: Vec<Lengths>,
    live: Vec<u64>,
    totals: Totals,
}

/// The part that does not change; as flat arrays, so that a snapshot is a copy of it.
#[derive(Debug, Default)]
pub struct Packed {
    /// Documents it covers, dead ones included.
    pub documents: u32,
    /// Where each term's list begins in `lists`.
    pub starts: Vec<u64>,
    /// Postings in each term's list.
    pub counts: Vec<u32>,
    /// The lists, see [`postings`].
    pub lists: Vec<u8>,
    /// Where each document's terms begin in `terms`.
    pub term_starts: Vec<u64>,
    /// The terms of each document, ascending, as gaps.
    pub terms: Vec<u8>,
}

#[derive(Debug, Default)]
struct Tail {
    postings: Vec<Posting>,
    bound: f32,
}

/// What a snapshot keeps of an index, apart from [`Packed`].
#[derive(Debug)]
pub struct Parts {
    /// The weights for which the block bounds hold.
    pub weights: Weights,
    /// The term dictionary.
    pub terms: Terms,
    /// The pattern dictionary.
    pub patterns: Patterns,
    /// Field lengths of each document.
    pub lengths: Vec<Lengths>,
    /// The packed lists.
    pub packed: Packed,
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
    /// Makes an empty index.
    pub fn new(weights: Weights) -> Self {
        Self { weights, least_average: [f32::INFINITY; FIELDS], ..Self::default() }
    }

    /// Builds an index of all the documents of several runs; their places are `0..n`.
    pub fn build(weights: Weights, runs: Vec<Run>) -> Self {
        let mut terms = Terms::default();
        let mut patterns = Patterns::default();
        let total: usize = runs.iter().map(|run| run.documents.len()).sum();
        let mut documents: Vec<Document> = Vec::new();
        documents.resize_with(total, Document::default);
        for run in runs {
            let local = &run.lexicon;
            let term_of: Vec<u32> = (0..local.terms.len() as u32)
                .map(|id| terms.intern(local.terms.text(id)))
                .collect();
            let pattern_of: Vec<u32> =
                local.patterns.all().iter().map(|counts| patterns.intern(counts)).collect();
            for (place, mut document) in run.documents {
                for (term, pattern) in &mut document.terms {
                    *term = term_of[*term as usize];
                    *pattern = pattern_of[*pattern as usize];
                }
                documents[place as usize] = document;
            }
        }
        Self::pack(weights, terms, patterns, documents)
    }

    fn pack(weights: Weights, terms: Terms, patterns: Patterns, documents: Vec<Document>) -> Self {
        let mut totals = Totals::default();
        let mut holders = vec![0u32; terms.len()];
        let mut uses = vec![0u32; patterns.all().len()];
        for document in &documents {
            totals.add(&document.lengths);
            for &(term, pattern) in &document.terms {
                holders[term as usize] += 1;
                uses[pattern as usize] += 1;
            }
        }
        let (patterns, renumbered) = by_use(&patterns, &uses);
        let mut packed = Packed { documents: documents.len() as u32, ..Packed::default() };
        let mut lengths = Vec::with_capacity(documents.len());
        let mut ends = Vec::with_capacity(terms.len());
        let mut sum = 0usize;
        for &count in &holders {
            ends.push(sum);
            sum += count as usize;
        }
        let mut postings = vec![Posting { document: 0, pattern: 0 }; sum];
        for (number, mut document) in documents.into_iter().enumerate() {
            lengths.push(document.lengths);
            document.terms.sort_unstable();
            packed.term_starts.push(packed.terms.len() as u64);
            let mut next = 0;
            for &(term, pattern) in &document.terms {
                varint(term - next, &mut packed.terms);
                next = term;
                let end = &mut ends[term as usize];
                let pattern = renumbered[pattern as usize];
                postings[*end] = Posting { document: number as u32, pattern };
                *end += 1;
            }
        }
        packed.term_starts.push(packed.terms.len() as u64);
        packed.terms.shrink_to_fit();
        let formula = Bm25f::new(&weights, &totals);
        let mut start = 0;
        for &end in &ends {
            packed.starts.push(packed.lists.len() as u64);
            let frequency = |p: &Posting| {
                formula.frequency(patterns.get(p.pattern), &lengths[p.document as usize])
            };
            encode(&postings[start..end], frequency, &mut packed.lists);
            start = end;
        }
        packed.lists.shrink_to_fit();
        packed.counts = holders.clone();
        Self::assemble(Parts { weights, terms, patterns, lengths, packed }, totals, holders)
    }

    /// Makes an index from what a snapshot kept: no documents are dead in it.
    pub fn from_parts(parts: Parts) -> Self {
        let mut totals = Totals::default();
        for lengths in &parts.lengths {
            totals.add(lengths);
        }
        let holders = parts.packed.counts.clone();
        Self::assemble(parts, totals, holders)
    }

    fn assemble(parts: Parts, totals: Totals, holders: Vec<u32>) -> Self {
        let Parts { weights, terms, patterns, lengths, packed } = parts;
        let documents = lengths.len();
        let mut live = vec![u64::MAX; documents.div_ceil(64)];
        if let Some(last) = live.last_mut().filter(|_| documents % 64 > 0) {
            *last = (1 << (documents % 64)) - 1;
        }
        Self {
            weights,
            least_average: totals.average(),
            lexicon: Lexicon::new(terms, patterns),
            holders,
            packed,
            tail: FxHashMap::default(),
            tail_terms: Vec::new(),
            lengths,
            live,
            totals,
        }
    }

    /// Returns the dictionaries, to read a document for [`Self::insert`].
    pub fn lexicon(&mut self) -> &mut Lexicon {
        &mut self.lexicon
    }

    /// Takes in a document read with [`Self::lexicon`] and returns its number.
    pub fn insert(&mut self, document: &Document) -> u32 {
        let number = self.lengths.len() as u32;
        self.lengths.push(document.lengths);
        self.totals.add(&document.lengths);
        if number.is_multiple_of(64) {
            self.live.push(0);
        }
        self.live[number as usize / 64] |= 1 << (number % 64);
        for (least, average) in self.least_average.iter_mut().zip(self.totals.average()) {
            *least = least.min(average);
        }
        let formula = Bm25f::new(&self.weights, &self.totals);
        self.holders.resize(self.lexicon.terms.len(), 0);
        for &(term, pattern) in &document.terms {
            self.holders[term as usize] += 1;
            let counts = self.lexicon.patterns.get(pattern);
            let tail = self.tail.entry(term).or_default();
            tail.bound = tail.bound.max(formula.frequency(counts, &document.lengths));
            tail.postings.push(Posting { document: number, pattern });
        }
        self.tail_terms.push(document.terms.iter().map(|&(term, _)| term).collect());
        number
    }

    /// Takes a document out; nothing happens if it is out already.
    pub fn delete(&mut self, document: u32) {
        if !self.is_live(document) {
            return;
        }
        self.live[document as usize / 64] &= !(1 << (document % 64));
        self.totals.remove(&self.lengths[document as usize]);
        for (least, average) in self.least_average.iter_mut().zip(self.totals.average()) {
            *least = least.min(average);
        }
        for term in self.terms_of(document) {
            self.holders[term as usize] -= 1;
        }
    }

    fn terms_of(&self, document: u32) -> Vec<u32> {
        if let Some(at) = document.checked_sub(self.packed.documents) {
            return self.tail_terms[at as usize].to_vec();
        }
        let start = self.packed.term_starts[document as usize] as usize;
        let end = self.packed.term_starts[document as usize + 1] as usize;
        let mut bytes = &self.packed.terms[start..end];
        let mut terms = Vec::new();
        let mut next = 0;
        while !bytes.is_empty() {
            next += take_varint(&mut bytes);
            terms.push(next);
        }
        terms
    }

    /// Says whether a document is in the index.
    #[inline]
    pub fn is_live(&self, document: u32) -> bool {
        self.live.get(document as usize / 64).is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    /// Returns how many documents there are.
    pub fn documents(&self) -> u32 {
        self.totals.documents
    }

    /// Returns how many numbers are taken, by dead documents too.
    pub fn numbers(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Says whether so much is loose or dead that packing pays.
    pub fn wants_packing(&self) -> bool {
        let loose = self.tail_terms.len() as u32;
        let dead = self.numbers() - self.documents();
        loose.max(dead) > 4096 + self.numbers() / 4
    }

    /// Packs everything anew, drops the dead, and numbers the documents in the order given.
    ///
    /// `order` lists the live documents; the one at place `i` becomes number `i`.
    pub fn repack(&mut self, order: &[u32]) {
        let mut place = vec![u32::MAX; self.lengths.len()];
        for (at, &document) in order.iter().enumerate() {
            place[document as usize] = at as u32;
        }
        let mut documents: Vec<Document> = order
            .iter()
            .map(|&d| Document { terms: Vec::new(), lengths: self.lengths[d as usize] })
            .collect();
        let mut terms = Terms::default();
        let formula = self.formula();
        for term in 0..self.lexicon.terms.len() as u32 {
            if self.holders[term as usize] == 0 {
                continue;
            }
            let number = terms.intern(self.lexicon.terms.text(term));
            for posting in self.cursor(term, &formula).collect() {
                let place = place[posting.document as usize] as usize;
                if let Some(document) = documents.get_mut(place) {
                    document.terms.push((number, posting.pattern));
                }
            }
        }
        let patterns = std::mem::take(&mut self.lexicon.patterns);
        *self = Self::pack(self.weights.clone(), terms, patterns, documents);
    }

    /// Opens the list of a term; its bounds hold when multiplied by [`Self::drift`].
    pub fn cursor(&self, term: u32, formula: &Bm25f) -> Cursor<'_> {
        let tail = self.tail.get(&term);
        let postings = tail.map_or(&[][..], |tail| &tail.postings);
        let at = term as usize;
        let mut cursor = match self.packed.starts.get(at) {
            Some(&start) => {
                let bytes = &self.packed.lists[start as usize..];
                Cursor::new(bytes, self.packed.counts[at], postings)
            }
            None => Cursor::new(&[], 0, postings),
        };
        // the few postings behind the blocks carry no bound of their own
        let rest = cursor.rest().iter().map(|p| {
            formula.frequency(self.lexicon.patterns.get(p.pattern), self.lengths(p.document))
        });
        let bound = rest.fold(tail.map_or(0.0, |tail| tail.bound), f32::max);
        cursor.set_loose_bound(bound);
        cursor
    }

    /// Returns the formula with the figures of this moment.
    pub fn formula(&self) -> Bm25f {
        Bm25f::new(&self.weights, &self.totals)
    }

    /// Returns by how much any stored bound may have grown since it was stored.
    pub fn drift(&self) -> f32 {
        let now = self.totals.average();
        (0..FIELDS).map(|f| now[f] / self.least_average[f]).fold(1.0, f32::max)
    }

    /// Returns the dictionaries.
    pub fn words(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Returns `n_t`.
    pub fn holders(&self, term: u32) -> u32 {
        self.holders.get(term as usize).copied().unwrap_or(0)
    }

    /// Returns the field lengths of a document.
    #[inline]
    pub fn lengths(&self, document: u32) -> &Lengths {
        &self.lengths[document as usize]
    }

    /// Returns the weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the arrays that a snapshot keeps; pack first, so that they hold everything.
    pub fn packed(&self) -> (&Packed, &[Lengths]) {
        (&self.packed, &self.lengths)
    }

    /// Returns the bytes that the index takes in memory.
    pub fn bytes(&self) -> usize {
        let packed = &self.packed;
        let tail: usize = self.tail.values().map(|t| t.postings.capacity() * 8 + 48).sum();
        let tail_terms: usize = self.tail_terms.iter().map(|t| t.len() * 4 + 16).sum();
        packed.lists.capacity()
            + packed.terms.capacity()
            + packed.term_starts.capacity() * 8
            + packed.starts.capacity() * 12
            + self.holders.capacity() * 4
            + self.lengths.capacity() * size_of::<Lengths>()
            + self.lexicon.terms.bytes()
            + tail
            + tail_terms
    }
}

/// Renumbers patterns so that the commonest have the smallest numbers; unused ones go.
fn by_use(patterns: &Patterns, uses: &[u32]) -> (Patterns, Vec<u32>) {
    let mut order: Vec<usize> = (0..uses.len()).filter(|&id| uses[id] > 0).collect();
    order.sort_by_key(|&id| (std::cmp::Reverse(uses[id]), id));
    let mut renumbered = vec![0; uses.len()];
    for (new, &old) in order.iter().enumerate() {
        renumbered[old] = new as u32;
    }
    let counts = order.iter().map(|&id| patterns.all()[id]).collect();
    (Patterns::new(counts), renumbered)
}
