//! Validation of posting lists at first use, and their comparison with the forward index.
//!
//! The concepts of a document are stored twice: by document (forward index), to delete it, and by
//! concept (posting lists), to find it.

use std::cell::Cell;

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Interrupt, Result};
use crate::index::bm25f::Lengths;
use crate::index::dictionary::document_analysis::AnalyzedDocument;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::inverted_index::InvertedIndex;
use crate::index::postings::codec::Posting;
use crate::index::postings::decoding::decode;
use crate::index::storage::packed_index::PackedIndex;

/// Documents or lists between two checks for an interrupt.
const INTERRUPT_STEP: u32 = 1024;
/// Postings that are validated between two checks for an interrupt.
const VALIDATION_STEP: u32 = 1 << 13;

/// Pairs of profile numbers that must stand for the same profile: one that was added after a
/// snapshot was opened may be in the snapshot as well.
pub type ProfilePairs = FxHashSet<(u32, u32)>;

/// The concepts and lengths of each document.
pub struct ForwardIndex<'a> {
    packed: &'a PackedIndex,
    delta: &'a [Box<[(u32, u32)]>],
    lengths: &'a [Lengths],
}

impl ForwardIndex<'_> {
    /// Says whether a document is equal to one that was analyzed with the lexicon of the same index,
    /// provided that the profiles in `pairs` are the same.
    pub fn equals(
        &self,
        number: u32,
        document: &AnalyzedDocument,
        pairs: &mut ProfilePairs,
    ) -> bool {
        let mut read = document.concepts.iter().copied();
        let mut same = |held: (u32, u32)| {
            let Some(read) = read.next() else { return false };
            if held.1 != read.1 {
                pairs.insert((held.1, read.1));
            }
            held.0 == read.0
        };
        let all = match number.checked_sub(self.packed.documents) {
            Some(at) => self.delta[at as usize].iter().copied().all(&mut same),
            None => self.packed.concepts_of(number).all(&mut same),
        };
        all && read.next().is_none() && self.lengths[number as usize] == document.lengths
    }
}

impl InvertedIndex {
    /// Returns the packed list of a concept and its number of postings. If it is in a snapshot and
    /// cannot be what was written, the list is empty and the snapshot is marked as damaged.
    pub(crate) fn packed_list(&self, concept: u32) -> (&[u8], u32) {
        // nobody stops it
        self.validated_list(concept, &|| false).unwrap_or((&[], 0))
    }

    /// Validates the list of a concept, if that is not done: of one that every message is in, this
    /// takes long, and what opens it later cannot be stopped.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn validate_list(&self, concept: u32, interrupt: Interrupt<'_>) -> Result<()> {
        self.validated_list(concept, interrupt).map(|_| ())
    }

    fn validated_list(&self, concept: u32, interrupt: Interrupt<'_>) -> Result<(&[u8], u32)> {
        let (bytes, count) = self.packed.list(concept);
        let Some(validation) = &self.validation else { return Ok((bytes, count)) };
        if validation.is_done(concept) {
            return Ok((bytes, count));
        }
        let (asked, stopped) = (Cell::new(0u32), Cell::new(false));
        let stops = || {
            asked.set(asked.get().wrapping_add(1));
            if asked.get().is_multiple_of(VALIDATION_STEP) && interrupt() {
                stopped.set(true);
            }
            stopped.get()
        };
        let lengths = &self.lengths[..self.packed.documents as usize];
        let list = validation.postings(bytes, count, &self.lexicon.profiles, lengths, &stops);
        let is_valid = list.is_some_and(|list| self.adds_up(concept, &list, &stops));
        if stopped.get() {
            return Err(Error::Interrupted);
        }
        if !is_valid {
            self.packed.lists.reject();
            return Ok((&[], 0));
        }
        validation.set_done(concept);
        Ok((bytes, count))
    }

    /// Says whether a packed list, with the delta, gives the document frequencies of its concept.
    fn adds_up(&self, concept: u32, list: &[Posting], stops: &impl Fn() -> bool) -> bool {
        let profiles = &self.lexicon.profiles;
        let words = self.lexicon.variants(concept);
        let mut freqs = DocFreqs::default();
        let mut word_freqs = vec![WordDocFreqs::default(); words.len()];
        let delta = self.delta.get(&concept).map_or(&[][..], |delta| &delta.postings);
        for posting in list.iter().chain(delta) {
            if stops() {
                return false;
            }
            let live = u32::from(self.is_live(posting.document));
            freqs.change(profiles.counts(posting.profile), |count| *count += live);
            for variant in profiles.variants(posting.profile) {
                let Some(freqs) = word_freqs.get_mut(usize::from(variant.variant)) else {
                    return false;
                };
                freqs.change(&variant.counts, |count| *count += live);
            }
        }
        freqs == self.doc_freqs(concept)
            && words.iter().zip(word_freqs).all(|(&word, freqs)| self.word_doc_freqs(word) == freqs)
    }

    /// Returns a checksum of all document frequencies that does not depend on how concepts and
    /// words are numbered: the sums of their squares.
    pub fn doc_freq_checksum(&self) -> [u64; 6] {
        let mut sums = [0u64; 6];
        for freqs in self.doc_freqs.all() {
            let counts = [freqs.any, freqs.text, freqs.heading, freqs.speaker];
            for (sum, count) in sums[..4].iter_mut().zip(counts) {
                *sum += u64::from(count) * u64::from(count);
            }
        }
        for freqs in self.word_doc_freqs.all() {
            for (sum, count) in sums[4..].iter_mut().zip([freqs.any, freqs.text]) {
                *sum += u64::from(count) * u64::from(count);
            }
        }
        sums
    }

    /// Returns the lexicon, to analyze documents with, and the forward index to compare them with.
    pub fn split_for_comparison(&mut self) -> (&mut Lexicon, ForwardIndex<'_>) {
        self.load();
        let Self { lexicon, packed, delta_documents: delta, lengths, .. } = self;
        (lexicon, ForwardIndex { packed, delta, lengths })
    }

    /// Says whether the profiles of each pair are the same.
    pub fn are_same(&self, pairs: &ProfilePairs) -> bool {
        let profiles = &self.lexicon.profiles;
        pairs.iter().all(|&(a, b)| profiles.variants(a) == profiles.variants(b))
    }

    /// Says whether the lists of some concepts agree with the forward index on a document.
    pub fn agrees_on(&self, document: u32, concepts: &[u32]) -> bool {
        let held = self.concepts_of(document);
        concepts.iter().all(|&concept| {
            let at = held.binary_search_by_key(&concept, |&(concept, _)| concept).ok();
            self.posting_list(concept).find(document) == at.map(|at| held[at].1)
        })
    }

    /// Returns the documents on which the posting lists and the forward index disagree.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn contradictions(&self, interrupt: Interrupt<'_>) -> Result<Vec<u32>> {
        let stops = |at: u32| at.is_multiple_of(INTERRUPT_STEP) && interrupt();
        // by document; a hash of 64 bits that no two sets of postings share by chance
        let mut sums = vec![0u64; self.max_doc() as usize];
        for document in 0..self.max_doc() {
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
            let (bytes, count) = self.validated_list(concept, interrupt)?;
            let packed = decode(bytes, count as usize).unwrap_or_default();
            let delta = self.delta.get(&concept).map_or(&[][..], |delta| &delta.postings);
            for posting in packed.iter().chain(delta) {
                if let Some(sum) = sums.get_mut(posting.document as usize) {
                    *sum = sum.wrapping_sub(digest((concept, posting.profile)));
                }
            }
        }
        Ok((0..self.max_doc()).filter(|&document| sums[document as usize] != 0).collect())
    }
}

fn digest((concept, profile): (u32, u32)) -> u64 {
    xxh3_64(bytemuck::bytes_of(&[concept, profile]))
}
