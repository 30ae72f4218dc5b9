//! Partial index: documents analyzed by one thread with its own lexicon, to be merged with others.

use std::borrow::Cow;

use crate::index::bm25f::Lengths;
use crate::index::dictionary::document_analysis::AnalyzedDocument;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::dictionary::word_counts::WordEntry;
use crate::index::postings::tf_profiles::VariantCounts;

/// A concept in the upper half and its profile in the lower half: keys sort as numbers.
pub(crate) type PostingKey = u64;

/// Flag of a key that is remapped already; no concept has so high a number.
const REMAPPED: PostingKey = 1 << 63;

fn key(&(concept, profile): &(u32, u32)) -> PostingKey {
    PostingKey::from(concept) << 32 | PostingKey::from(profile)
}

pub(crate) fn split_posting_key(key: PostingKey) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// The concepts of a document, with their profiles.
pub(crate) type DocPostings<'a> = &'a [PostingKey];

/// Documents that were analyzed with one lexicon.
#[derive(Debug, Default)]
pub struct PartialIndex {
    /// The lexicon of the documents.
    pub lexicon: Lexicon,
    /// The postings of all documents, one document after the other. One large array is returned to
    /// the system at once; of a hundred thousand small ones the allocator would keep most.
    keys: Vec<PostingKey>,
    /// Where each document ends in `keys`.
    ends: Vec<usize>,
    /// The field lengths of each document.
    lengths: Vec<Lengths>,
}

/// Grows an array by a quarter instead of doubling it, as it may be most of the memory.
fn grow<T>(array: &mut Vec<T>, more: usize) {
    if array.capacity() - array.len() < more {
        array.reserve_exact(more.max(array.len() / 4).max(1 << 10));
    }
}

impl PartialIndex {
    /// Makes an empty one with room for so many documents and postings; none where the system does
    /// not give the memory.
    pub(crate) fn try_with_capacity(documents: usize, postings: usize) -> Option<Self> {
        let mut partial = Self::default();
        partial.keys.try_reserve_exact(postings).ok()?;
        partial.ends.try_reserve_exact(documents).ok()?;
        partial.lengths.try_reserve_exact(documents).ok()?;
        Some(partial)
    }

    /// Sets the lexicon that the documents were analyzed with.
    pub(crate) fn with_lexicon(self, lexicon: Lexicon) -> Self {
        Self { lexicon, ..self }
    }

    /// Adds a document.
    pub fn push(&mut self, document: &AnalyzedDocument) {
        grow(&mut self.keys, document.concepts.len());
        grow(&mut self.ends, 1);
        grow(&mut self.lengths, 1);
        self.keys.extend(document.concepts.iter().map(key));
        self.ends.push(self.keys.len());
        self.lengths.push(document.lengths);
    }

    /// Drops all but the first so many documents.
    pub(crate) fn truncate(&mut self, documents: usize) {
        self.ends.truncate(documents);
        self.lengths.truncate(documents);
        self.keys.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of postings.
    pub(crate) fn postings(&self) -> usize {
        self.keys.len()
    }

    /// Returns the postings of each document.
    pub(crate) fn documents(&self) -> impl Iterator<Item = DocPostings<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.keys[std::mem::replace(&mut start, end)..end])
    }

    /// Takes the field lengths of the documents out.
    pub(crate) fn take_lengths(&mut self) -> impl Iterator<Item = Lengths> + use<> {
        std::mem::take(&mut self.lengths).into_iter()
    }

    /// Drops the words from the lexicon of which `is_used` does not hold.
    pub(crate) fn drop_words(&mut self, is_used: impl Fn(u32) -> bool) {
        let mut used = vec![false; self.lexicon.concepts()];
        self.keys.iter().for_each(|&posting| used[split_posting_key(posting).0 as usize] = true);
        let mut lexicon = Lexicon::default();
        self.remap(&mut lexicon, |concept, word| used[concept as usize] && is_used(word));
        self.lexicon = lexicon;
    }

    /// Changes all numbers to those of another lexicon, which takes over the words of which
    /// `is_used` holds.
    pub(crate) fn remap(&mut self, lexicon: &mut Lexicon, is_used: impl Fn(u32, u32) -> bool) {
        let own = std::mem::take(&mut self.lexicon);
        let ordinals = OrdinalMap::new(lexicon, &own, is_used);
        let (first, second) = self.ends.split_at(self.ends.len() / 2);
        let middle = first.last().copied().unwrap_or(0);
        let (below, above) = self.keys.split_at_mut(middle);
        let known: &Lexicon = lexicon;
        std::thread::scope(|scope| {
            scope.spawn(|| ordinals.remap(above, &own, |profile| known.profiles.get(profile)));
            ordinals.remap(below, &own, |profile| known.profiles.get(profile));
        });
        // what is left needs new profiles, which only one thread can number
        let profiles = &mut lexicon.profiles;
        ordinals.remap(&mut self.keys, &own, |profile| Some(profiles.intern(profile)));
        let (below, above) = self.keys.split_at_mut(middle);
        std::thread::scope(|scope| {
            let same = ordinals.same();
            scope.spawn(move || sort_documents(above, second, middle, same));
            sort_documents(below, first, 0, same);
        });
    }
}

/// Sorts the postings of each document; `ends` less `before` are the ends of the documents. Those of
/// concepts before `same` have kept their numbers.
fn sort_documents(keys: &mut [PostingKey], ends: &[usize], before: usize, same: u32) {
    let mut start = 0;
    for &end in ends {
        let postings = &mut keys[std::mem::replace(&mut start, end - before)..end - before];
        postings.iter_mut().for_each(|posting| *posting ^= REMAPPED);
        let kept = postings.partition_point(|&posting| split_posting_key(posting).0 < same);
        postings[kept..].sort_unstable();
        // a damaged snapshot may name one concept twice
        if !postings.is_sorted() {
            postings.sort_unstable();
        }
    }
}

/// The numbers of one lexicon in another.
#[derive(Debug)]
struct OrdinalMap {
    concepts: Vec<u32>,
    /// For concepts whose variants have other numbers in the other lexicon: these.
    variants: Vec<Option<Vec<u16>>>,
    /// The profiles of all other concepts.
    profiles: Vec<u32>,
}

impl OrdinalMap {
    /// Returns how many of the first concepts have the same numbers in both lexicons.
    fn same(&self) -> u32 {
        self.concepts.iter().zip(0..).take_while(|(number, at)| *number == at).count() as u32
    }

    /// Adds the words and profiles of a lexicon to another.
    fn new(lexicon: &mut Lexicon, other: &Lexicon, is_used: impl Fn(u32, u32) -> bool) -> Self {
        let mut map = Self {
            concepts: vec![0; other.concepts()],
            variants: vec![None; other.concepts()],
            profiles: Vec::with_capacity(other.profiles.len()),
        };
        for concept in 0..other.concepts() as u32 {
            let stem = other.stem_of(concept);
            let words = other.variants(concept).into_iter().map(|word| {
                is_used(concept, word).then(|| {
                    let id = lexicon
                        .intern_with_stem(other.words.text(word), || stem.map(Cow::Borrowed));
                    lexicon.entry(id)
                })
            });
            let entries: Vec<Option<WordEntry>> = words.collect();
            let Some(first) = entries.iter().flatten().next() else { continue };
            map.concepts[concept as usize] = first.concept;
            let mut numbers = entries.iter().map(|entry| entry.unwrap_or(*first).variant);
            if numbers.clone().zip(0..).any(|(number, at)| number != at) {
                let numbers = numbers.by_ref().map(|number| number as u16).collect();
                map.variants[concept as usize] = Some(numbers);
            }
        }
        for profile in 0..other.profiles.len() as u32 {
            let profile = lexicon.profiles.intern(other.profiles.variants(profile));
            map.profiles.push(profile);
        }
        map
    }

    /// Remaps the postings that are not yet remapped, but for those whose profile `number` does
    /// not know.
    fn remap(
        &self,
        keys: &mut [PostingKey],
        other: &Lexicon,
        mut number: impl FnMut(&[VariantCounts]) -> Option<u32>,
    ) {
        let mut variants = Vec::new();
        for posting in keys.iter_mut().filter(|posting| **posting & REMAPPED == 0) {
            let (concept, profile) = split_posting_key(*posting);
            let profile = match &self.variants[concept as usize] {
                None => Some(self.profiles[profile as usize]),
                Some(numbers) => {
                    variants.clear();
                    variants.extend_from_slice(other.profiles.variants(profile));
                    for variant in &mut variants {
                        // a damaged snapshot may have fewer
                        let number = numbers.get(variant.variant as usize);
                        variant.variant = number.copied().unwrap_or(0);
                    }
                    variants.sort_unstable_by_key(|variant| variant.variant);
                    number(&variants)
                }
            };
            if let Some(profile) = profile {
                *posting = REMAPPED | key(&(self.concepts[concept as usize], profile));
            }
        }
    }
}
