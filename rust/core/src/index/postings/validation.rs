//! Validation of the posting lists of a snapshot, before their first use.
//!
//! A checksum tells what a disk did, not what somebody wrote on purpose. A list is used only if
//! its postings, encoded again, give the same bytes, with every impact and upper bound computed
//! anew, and if they add up to the document frequencies that scores are made of. That is done once
//! for each list, when it is first needed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::index::bm25f::{Bm25f, Lengths};
use crate::index::postings::codec::{Impact, Posting, encode};
use crate::index::postings::decoding::decode;
use crate::index::postings::impacts::Impacts;
use crate::index::postings::tf_profiles::TfProfiles;

/// The lists of a snapshot.
#[derive(Debug)]
pub(crate) struct Validation {
    /// The formula with which the lists were packed.
    formula: Bm25f,
    /// By concept, whether its list may be used.
    valid: Vec<AtomicBool>,
    /// By word, whether it has the concept of its stem: to stem each word of each query again takes
    /// longer than to look it up.
    checked_words: Vec<AtomicBool>,
}

fn all_false(count: usize) -> Vec<AtomicBool> {
    let mut all = Vec::new();
    all.resize_with(count, AtomicBool::default);
    all
}

impl Validation {
    /// Starts with no list validated, and no word checked.
    pub fn new(formula: Bm25f, concepts: usize, words: usize) -> Self {
        Self { formula, valid: all_false(concepts), checked_words: all_false(words) }
    }

    /// Says whether a word was checked, and has the right concept.
    pub fn is_checked(&self, word: u32) -> bool {
        let checked = self.checked_words.get(word as usize);
        checked.is_some_and(|checked| checked.load(Ordering::Relaxed))
    }

    /// Records that a word has the right concept.
    pub fn set_checked(&self, word: u32) {
        if let Some(checked) = self.checked_words.get(word as usize) {
            checked.store(true, Ordering::Relaxed);
        }
    }

    /// Says whether the list of a concept needs no validation: it passed, or it was added since the
    /// snapshot was opened.
    pub fn is_done(&self, concept: u32) -> bool {
        self.valid.get(concept as usize).is_none_or(|valid| valid.load(Ordering::Relaxed))
    }

    /// Records that the list of a concept may be used.
    pub fn set_done(&self, concept: u32) {
        if let Some(valid) = self.valid.get(concept as usize) {
            valid.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the postings of a list of `count`, if the list is what was written. Once `stops` says
    /// so, what it returns is of no use.
    pub fn postings(
        &self,
        bytes: &[u8],
        count: u32,
        profiles: &TfProfiles,
        lengths: &[Lengths],
        stops: &impl Fn() -> bool,
    ) -> Option<Vec<Posting>> {
        if count == 0 || count as usize > lengths.len() {
            return None;
        }
        let list = decode(bytes, count as usize)?;
        let ascending = list.windows(2).all(|pair| pair[0].document < pair[1].document);
        let known = |posting: &Posting| {
            (posting.document as usize) < lengths.len()
                && (posting.profile as usize) < profiles.len()
        };
        if list.len() != count as usize || !ascending || !list.iter().all(known) {
            return None;
        }
        let impacts = Impacts::for_some(&self.formula, list.len());
        let impact = |posting: &Posting| match stops() {
            true => Impact::default(),
            false => {
                impacts.of(profiles.counts(posting.profile), &lengths[posting.document as usize])
            }
        };
        let mut same = Vec::with_capacity(bytes.len());
        encode(&list, impact, &mut same);
        bytes.starts_with(&same).then_some(list)
    }
}
