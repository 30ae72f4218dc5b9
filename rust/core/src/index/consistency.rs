//! Consistency of an index: with documents that were read anew, and of its lists with each other.
//!
//! What a document holds is kept twice: by document, to delete it, and by concept, to find it.

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::lexicon::{Document, Lexicon};
use super::validation::decode;
use super::{Index, Lengths, Packed};
use crate::error::{Error, Interrupt, Result};

/// Documents and lists that are looked at before it is asked whether to stop.
const STEP: u32 = 1024;

/// Numbers of patterns, two and two: one that came after a snapshot may be in it as well.
pub type Pairs = FxHashSet<(u32, u32)>;

/// What an index holds by document.
pub struct Held<'a> {
    packed: &'a Packed,
    loose: &'a [Box<[(u32, u32)]>],
    lengths: &'a [Lengths],
}

impl Held<'_> {
    /// Says whether a document is the one that was read with the dictionaries of the same index, if
    /// the patterns in `pairs` are the same.
    pub fn is(&self, number: u32, document: &Document, pairs: &mut Pairs) -> bool {
        let mut read = document.concepts.iter().copied();
        let mut same = |held: (u32, u32)| {
            let Some(read) = read.next() else { return false };
            if held.1 != read.1 {
                pairs.insert((held.1, read.1));
            }
            held.0 == read.0
        };
        let all = match number.checked_sub(self.packed.documents) {
            Some(at) => self.loose[at as usize].iter().copied().all(&mut same),
            None => self.packed.held(number).all(&mut same),
        };
        all && read.next().is_none() && self.lengths[number as usize] == document.lengths
    }
}

impl Index {
    /// Returns the dictionaries, to read documents with, and what is held to compare them with.
    pub fn to_compare(&mut self) -> (&mut Lexicon, Held<'_>) {
        let Self { lexicon, packed, loose, lengths, .. } = self;
        (lexicon, Held { packed, loose, lengths })
    }

    /// Says whether the patterns of each pair are the same.
    pub fn are_same(&self, pairs: &Pairs) -> bool {
        let patterns = &self.lexicon.patterns;
        pairs.iter().all(|&(a, b)| patterns.spellings(a) == patterns.spellings(b))
    }

    /// Says whether the lists of some concepts say of a document what is held of it.
    pub fn agrees_on(&self, document: u32, concepts: &[u32]) -> bool {
        let held = self.concepts_of(document);
        concepts.iter().all(|&concept| {
            let place = held.binary_search_by_key(&concept, |&(concept, _)| concept).ok();
            self.list(concept).find(document) == place.map(|place| held[place].1)
        })
    }

    /// Returns the documents of which the posting lists say something else than is held by
    /// document.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn contradictions(&self, interrupt: Interrupt<'_>) -> Result<Vec<u32>> {
        let stops = |at: u32| at.is_multiple_of(STEP) && interrupt();
        // of each document; a number of 64 bits that no two sets of postings share by chance
        let mut sums = vec![0u64; self.numbers() as usize];
        for document in 0..self.numbers() {
            if stops(document) {
                return Err(Error::Interrupted);
            }
            let postings = self.concepts_of(document).into_iter();
            sums[document as usize] =
                postings.map(digest).fold(0, |sum, posting| sum.wrapping_add(posting));
        }
        for concept in 0..self.lexicon.concepts() as u32 {
            if stops(concept) {
                return Err(Error::Interrupted);
            }
            let (bytes, count) = self.validated(concept, interrupt)?;
            let packed = decode(bytes, count as usize).unwrap_or_default();
            let tail = self.tail.get(&concept).map_or(&[][..], |tail| &tail.postings);
            for posting in packed.iter().chain(tail) {
                if let Some(sum) = sums.get_mut(posting.document as usize) {
                    *sum = sum.wrapping_sub(digest((concept, posting.pattern)));
                }
            }
        }
        Ok((0..self.numbers()).filter(|&document| sums[document as usize] != 0).collect())
    }
}

fn digest((concept, pattern): (u32, u32)) -> u64 {
    xxh3_64(bytemuck::bytes_of(&[concept, pattern]))
}
