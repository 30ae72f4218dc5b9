//! Packing: inversion of the documents of a collection into posting lists, on two threads.
//!
//! (Longer than 350 lines: the steps of one pass, which hand their buffers on.)

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::index::bm25f::{Bm25f, Lengths};
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::postings::codec::{ESCAPE, Posting, encode, varint};
use crate::index::postings::decoding::FORWARD_PAGE;
use crate::index::postings::impacts::Impacts;
use crate::index::postings::tf_profiles::TfProfiles;
use crate::index::prefetch::{CACHE_LINE, prefetch};
use crate::index::storage::packed_index::{ListPosition, PackedIndex};
use crate::index::storage::paged_array::SPARE_CAPACITY;
use crate::index::storage::partial_index::{DocPostings, PostingKey, split_posting_key};

/// Bytes from which on a page of lists is full.
const LIST_PAGE: usize = 64 << 10;
/// Postings that a thread turns into lists at a time, unless the collection is so large that one
/// part in [`MAX_BATCHES`] has more: a copy of all postings would be most of the memory of a build.
pub(crate) const BATCH: usize = 1 << 20;
const MAX_BATCHES: usize = 8;
/// How many documents, and how many postings of a list, are prefetched ahead of the one in work.
const DOCS_AHEAD: usize = 8;
const POSTINGS_AHEAD: usize = 16;

/// A packed index with its document frequencies.
pub(crate) struct Packing {
    pub packed: PackedIndex,
    /// By concept.
    pub doc_freqs: Vec<DocFreqs>,
    /// By word.
    pub word_doc_freqs: Vec<WordDocFreqs>,
}

/// Inverts the documents; renumbers the profiles of the lexicon by frequency.
///
/// Once `stop` is set it ends soon, and the result must not be used.
pub(crate) fn pack(
    lexicon: &mut Lexicon,
    formula: &Bm25f,
    documents: &[DocPostings<'_>],
    lengths: &[Lengths],
    stop: &AtomicBool,
) -> Packing {
    let goes_on = || !stop.load(Ordering::Relaxed);
    let middle = documents.len() / 2 / FORWARD_PAGE * FORWARD_PAGE;
    let (counts, uses) = count_postings(lexicon, documents, middle);
    let renumbered = renumber_by_frequency(&mut lexicon.profiles, &uses);
    let mut packed = PackedIndex { documents: documents.len() as u32, ..PackedIndex::default() };
    let pages = on_two_threads(documents.len(), middle, |part| {
        let pages = documents[part].chunks(FORWARD_PAGE).take_while(|_| goes_on());
        pages.map(|page| encode_forward_page(page, &renumbered)).collect()
    });
    let pages = pages.into_iter().flat_map(|pages: Vec<_>| pages);
    pages.for_each(|page| packed.forward.push(page));

    let encoder = ListEncoder {
        documents,
        counts: &counts,
        renumbered: &renumbered,
        lexicon,
        formula,
        lengths,
        batch: BATCH.max(documents.iter().map(|held| held.len()).sum::<usize>() / MAX_BATCHES),
        stop,
    };
    let halves = on_two_threads(counts.len(), encoder.middle(), |part| encoder.encode(part));
    let mut doc_freqs = Vec::with_capacity(counts.len() + SPARE_CAPACITY);
    let mut word_doc_freqs = Vec::with_capacity(lexicon.words.len() + SPARE_CAPACITY);
    word_doc_freqs.resize(lexicon.words.len(), WordDocFreqs::default());
    for half in halves {
        let before = packed.lists.len() as u32;
        let starts =
            half.starts.iter().map(|start| ListPosition { page: before + start.page, ..*start });
        packed.starts.to_mut().extend(starts);
        half.pages.into_iter().for_each(|page| packed.lists.push(page));
        doc_freqs.extend(half.doc_freqs);
        let counts = word_doc_freqs.iter_mut().zip(half.word_doc_freqs);
        counts.for_each(|(count, more)| {
            count.any += more.any;
            count.text += more.text;
        });
    }
    packed.counts = counts.into();
    Packing { packed, doc_freqs, word_doc_freqs }
}

/// Counts the postings of each concept, and those of each profile.
fn count_postings(
    lexicon: &Lexicon,
    documents: &[DocPostings<'_>],
    middle: usize,
) -> (Vec<u32>, Vec<u32>) {
    let [(mut counts, mut uses), more] = on_two_threads(documents.len(), middle, |part| {
        let mut counts = vec![0u32; lexicon.concepts()];
        let mut uses = vec![0u32; lexicon.profiles.len()];
        for &posting in documents[part].iter().copied().flatten() {
            let (concept, profile) = split_posting_key(posting);
            counts[concept as usize] += 1;
            uses[profile as usize] += 1;
        }
        (counts, uses)
    });
    counts.iter_mut().zip(more.0).for_each(|(count, more)| *count += more);
    uses.iter_mut().zip(more.1).for_each(|(uses, more)| *uses += more);
    (counts, uses)
}

/// Runs `work` on the parts of `0..end` before and after `middle` at the same time.
fn on_two_threads<T: Send>(
    end: usize,
    middle: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> [T; 2] {
    std::thread::scope(|scope| {
        let second = scope.spawn(|| work(middle..end));
        let first = work(0..middle);
        [first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
    })
}

/// Encodes a page of the forward index, as [`PackedIndex::concepts_of`] reads it.
fn encode_forward_page(documents: &[DocPostings<'_>], renumbered: &[u32]) -> Vec<u8> {
    let (mut page, mut bytes) = (Vec::new(), Vec::new());
    for &postings in documents {
        let mut last = 0;
        for &posting in postings {
            let (concept, profile) = split_posting_key(posting);
            varint(concept - last, &mut bytes);
            varint(renumbered[profile as usize], &mut bytes);
            last = concept;
        }
        varint(bytes.len() as u32, &mut page);
        page.append(&mut bytes);
    }
    // no spare capacity: there are many pages
    page.shrink_to_fit();
    page
}

/// What the lists are made of.
struct ListEncoder<'a> {
    documents: &'a [DocPostings<'a>],
    /// The number of postings of each concept.
    counts: &'a [u32],
    /// The new numbers of profiles.
    renumbered: &'a [u32],
    lexicon: &'a Lexicon,
    formula: &'a Bm25f,
    lengths: &'a [Lengths],
    /// How many postings to gather at a time.
    batch: usize,
    stop: &'a AtomicBool,
}

/// The lists of a range of concepts.
struct EncodedLists {
    starts: Vec<ListPosition>,
    pages: Vec<Vec<u8>>,
    doc_freqs: Vec<DocFreqs>,
    /// By word; those of other concepts are 0.
    word_doc_freqs: Vec<WordDocFreqs>,
}

impl ListEncoder<'_> {
    /// Returns the concept at which half of the postings are encoded.
    fn middle(&self) -> usize {
        let mut rest: u64 = self.counts.iter().copied().map(u64::from).sum::<u64>() / 2;
        let done = self.counts.iter().position(|&count| {
            let more = rest.checked_sub(count.into());
            rest = more.unwrap_or(0);
            more.is_none()
        });
        done.unwrap_or(0)
    }

    /// Returns the first of these concepts whose postings are gathered at the same time.
    fn batch(&self, concepts: Range<usize>) -> Range<usize> {
        let mut left = self.batch;
        let counts = &self.counts[concepts.clone()];
        let full = counts.iter().position(|&count| {
            let rest = left.checked_sub(count as usize);
            left = rest.unwrap_or(0);
            rest.is_none()
        });
        concepts.start..full.map_or(concepts.end, |at| concepts.start + at.max(1))
    }

    /// Returns how many postings of each document are of concepts before this one.
    fn postings_before(&self, concept: usize) -> Vec<u32> {
        let is_before = |&posting: &PostingKey| (split_posting_key(posting).0 as usize) < concept;
        self.documents.iter().map(|held| held.partition_point(is_before) as u32).collect()
    }

    /// Gathers the postings of some concepts, each in the order of documents. `gathered` is how many
    /// postings of each document were gathered before, `rest` how many there are of these concepts and
    /// later ones; `postings` are those of other concepts, whose memory is used again, as fresh memory
    /// costs more than using it.
    fn gather(
        &self,
        concepts: &Range<usize>,
        gathered: &mut [u32],
        rest: usize,
        mut postings: Vec<Posting>,
    ) -> Vec<Posting> {
        let counts = &self.counts[concepts.clone()];
        let mut sum = 0;
        let start = |&count: &u32| {
            sum += count as usize;
            sum - count as usize
        };
        let mut next: Vec<usize> = counts.iter().map(start).collect();
        const NONE: Posting = Posting { document: 0, profile: 0 };
        if postings.capacity() < sum {
            // two batches at a time would take too much memory
            drop(postings);
            // later batches may be a little larger
            postings = Vec::with_capacity(sum.max(self.batch.min(rest)));
        }
        postings.resize(sum, NONE);
        for (document, postings_of) in (0u32..).zip(self.documents) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            // each document has some of its postings in the batch, and what is between them belongs
            // to other batches
            let ahead = document as usize + DOCS_AHEAD;
            if let (Some(keys), Some(&from)) = (self.documents.get(ahead), gathered.get(ahead)) {
                prefetch(keys, from as usize);
                prefetch(keys, from as usize + CACHE_LINE / size_of::<PostingKey>());
            }
            let gathered = &mut gathered[document as usize];
            for &posting in &postings_of[*gathered as usize..] {
                let (concept, profile) = split_posting_key(posting);
                let Some(next) = next.get_mut(concept as usize - concepts.start) else { break };
                postings[*next] = Posting { document, profile: self.renumbered[profile as usize] };
                *next += 1;
                *gathered += 1;
            }
        }
        postings
    }

    /// Encodes the lists of some concepts and counts their documents.
    fn encode(&self, concepts: Range<usize>) -> EncodedLists {
        let profiles = &self.lexicon.profiles;
        let impacts = Impacts::new(self.formula);
        let mut gathered = self.postings_before(concepts.start);
        let (mut batch_end, mut postings, mut at) = (concepts.start, Vec::new(), 0);
        let mut rest: usize =
            self.counts[concepts.clone()].iter().map(|&count| count as usize).sum();
        let (mut page, mut uses) = (Vec::new(), ProfileUses::default());
        let mut encoded = EncodedLists {
            starts: Vec::with_capacity(concepts.len()),
            pages: Vec::new(),
            doc_freqs: vec![DocFreqs::default(); concepts.len()],
            word_doc_freqs: vec![WordDocFreqs::default(); self.lexicon.words.len()],
        };
        for (concept, doc_freqs) in concepts.clone().zip(&mut encoded.doc_freqs) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if concept == batch_end {
                let batch = self.batch(concept..concepts.end);
                batch_end = batch.end;
                rest -= at;
                (postings, at) = (self.gather(&batch, &mut gathered, rest, postings), 0);
            }
            if page.len() >= LIST_PAGE {
                // no spare capacity: there are many pages
                encoded.pages.push(page.clone());
                page.clear();
            }
            let list = &postings[at..][..self.counts[concept] as usize];
            at += list.len();
            let start =
                ListPosition { page: encoded.pages.len() as u32, offset: page.len() as u32 };
            encoded.starts.push(start);
            let words = self.lexicon.variants(concept as u32);
            uses.for_each(list, |profile, documents| {
                doc_freqs.change(profiles.counts(profile), |count| *count += documents);
                for variant in profiles.variants(profile) {
                    // a damaged snapshot may have more
                    if let Some(&word) = words.get(variant.variant as usize) {
                        encoded.word_doc_freqs[word as usize]
                            .change(&variant.counts, |count| *count += documents);
                    }
                }
            });
            let mut ahead = list.get(POSTINGS_AHEAD..).unwrap_or_default().iter();
            let impact = |posting: &Posting| {
                if let Some(ahead) = ahead.next() {
                    prefetch(self.lengths, ahead.document as usize);
                }
                let lengths = &self.lengths[posting.document as usize];
                impacts.of(profiles.counts(posting.profile), lengths)
            };
            encode(list, impact, &mut page);
        }
        page.shrink_to_fit();
        encoded.pages.push(page);
        encoded
    }
}

/// How many postings of a list have each of the commonest profiles; nearly all postings do.
struct ProfileUses([u32; ProfileUses::COMMON]);

impl Default for ProfileUses {
    fn default() -> Self {
        Self([0; Self::COMMON])
    }
}

impl ProfileUses {
    const COMMON: usize = ESCAPE as usize;

    /// Calls `each` for the profiles of a list, with how many postings have it: for one of the
    /// commonest once, for the others at each posting.
    fn for_each(&mut self, list: &[Posting], mut each: impl FnMut(u32, u32)) {
        for &Posting { profile, .. } in list {
            match self.0.get_mut(profile as usize) {
                Some(uses) => *uses += 1,
                None => each(profile, 1),
            }
        }
        // a list of few postings has few profiles, which are told by going through it again
        if list.len() < Self::COMMON {
            for &Posting { profile, .. } in list {
                if let Some(uses @ 1..) = self.0.get_mut(profile as usize).map(std::mem::take) {
                    each(profile, uses);
                }
            }
        } else {
            for (profile, uses) in (0..).zip(&mut self.0).filter(|(_, uses)| **uses > 0) {
                each(profile, std::mem::take(uses));
            }
        }
    }
}

/// Renumbers the profiles by descending frequency, drops unused ones, and returns the new numbers.
fn renumber_by_frequency(profiles: &mut TfProfiles, uses: &[u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..uses.len()).filter(|&id| uses[id] > 0).collect();
    order.sort_by_key(|&id| (Reverse(uses[id]), id));
    let mut renumbered = vec![0; uses.len()];
    let mut used = TfProfiles::default();
    for old in order {
        renumbered[old] = used.intern(profiles.variants(old as u32));
    }
    *profiles = used;
    renumbered
}
