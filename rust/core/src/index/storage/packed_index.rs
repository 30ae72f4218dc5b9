//! The packed part of the index: flat arrays, so that a snapshot is a copy of them.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use crate::index::bm25f::{Bm25f, Counts, Lengths, Totals, Weights};
use crate::index::dictionary::lexicon::{Document, Lexicon};
use crate::index::postings::codec::{Posting, encode, take_varint, varint};
use crate::index::postings::impacts::Impacts;
use crate::index::postings::tf_profiles::Patterns;
use crate::index::postings::validation::Validation;
pub use crate::index::postings::validation::is_page_of_holders;
use crate::index::storage::paged_array::{Pages, ROOM};
use crate::index::storage::partial_index::{Held, Run, unkey};
use crate::index::{Holders, Index, Tail};

/// Returns how many bytes an index and its rows take at most while so many documents and postings
/// are packed, given what the dictionaries take.
pub fn packing_bytes(documents: u64, postings: u64, dictionaries: u64) -> u64 {
    // postings as read and where each document ends; rows and lengths before and after
    const DOCUMENT: u64 = 8 + 16 + 2 * (size_of::<Lengths>() + 64) as u64;
    // as read; packed twice, by document and by concept; those of the batches
    const POSTING: u64 = 8 + 8 + 2;
    let batches = (8 * postings).min(2 * 8 * BATCH as u64);
    documents * DOCUMENT + postings * POSTING + 2 * dictionaries + batches
}

/// Returns how many bytes documents take beside that before they are packed: so many postings, in
/// dictionaries of so many bytes.
pub fn loose_bytes(postings: u64, dictionaries: u64) -> u64 {
    // in the list of its concept, which grows by doubling, and in that of its document
    const POSTING: u64 = 16 + 8;
    // of a concept that has few: its place in a table that is half full, and the least room
    const LIST: u64 = 2 * (size_of::<(u32, Tail)>() + 1) as u64 + 32;
    // the least that a concept takes in the dictionaries
    const CONCEPT: u64 = 48;
    postings * POSTING + postings.min(dictionaries / CONCEPT) * LIST
}

/// Lists that do not change.
#[derive(Debug, Default)]
pub struct Packed {
    /// Documents it covers, dead ones included.
    pub documents: u32,
    /// Where each concept's list begins in `lists`: the page and the place in it.
    pub starts: Vec<Spot>,
    /// Postings in each list.
    pub counts: Vec<u32>,
    /// The lists, see [`crate::index::postings::codec`]; none goes over the end of a page.
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
/// Documents whose concepts make a page: to delete one reads the page and walks half of it.
pub(crate) const HOLDERS: usize = 32;
/// Postings that a thread turns into lists at a time, and the part of all that may be more than
/// these: a copy of all postings would be the largest piece of memory of a build.
const BATCH: usize = 1 << 20;
const BATCHES: usize = 8;

impl Packed {
    /// Says whether there is a list for each of so many concepts, and a page for each document.
    pub fn fits(&self, concepts: usize) -> bool {
        let pages = self.lists.len();
        [self.starts.len(), self.counts.len()] == [concepts; 2]
            && self.starts.iter().all(|spot| (spot.page as usize) < pages)
            && self.starts.is_sorted_by_key(|spot| (spot.page, spot.at))
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

    /// Lets the concepts of some documents come from the disk while something else is done.
    pub fn expect(&self, documents: Range<u32>) {
        let documents = documents.start..documents.end.min(self.documents);
        if !documents.is_empty() {
            let page = |document: u32| document as usize / HOLDERS;
            (page(documents.start)..=page(documents.end - 1))
                .for_each(|page| self.held.expect(page));
        }
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.lists.bytes()
            + self.held.bytes()
            + self.starts.capacity() * 8
            + self.counts.capacity() * 4
    }
}

impl Index {
    /// Builds an index of all the documents of several runs; `turns` says, in the order of the
    /// places they are to have, from which run the next so many come.
    ///
    /// Once `stop` is set it ends soon, and what it returns is of no use.
    pub fn build(
        weights: Weights,
        mut runs: Vec<Run>,
        turns: &[(usize, usize)],
        stop: &AtomicBool,
    ) -> Self {
        let mut lexicon = Lexicon::default();
        // the first one's numbers hold; the others' are translated
        if let Some((first, others)) = runs.split_first_mut() {
            lexicon = std::mem::take(&mut first.lexicon);
            others.iter_mut().for_each(|run| run.translate(&mut lexicon, |_, _| true));
        }
        let count = runs.iter().map(Run::len).sum::<usize>();
        let mut queues: Vec<_> = runs.iter_mut().map(Run::take_lengths).collect();
        let mut lengths = Vec::with_capacity(count + ROOM);
        for &(run, count) in turns {
            lengths.extend(queues[run].by_ref().take(count));
        }
        drop(queues);
        let mut queues: Vec<_> = runs.iter().map(Run::documents).collect();
        let mut documents = Vec::with_capacity(count);
        for &(run, count) in turns {
            documents.extend(queues[run].by_ref().take(count));
        }
        Self::pack(weights, lexicon, &documents, lengths, stop)
    }

    fn pack(
        weights: Weights,
        mut lexicon: Lexicon,
        documents: &[Held<'_>],
        lengths: Vec<Lengths>,
        stop: &AtomicBool,
    ) -> Self {
        let goes_on = || !stop.load(Ordering::Relaxed);
        let mut totals = Totals::default();
        lengths.iter().for_each(|lengths| totals.add(lengths));
        let middle = documents.len() / 2 / HOLDERS * HOLDERS;
        let [(mut counts, mut uses), more] = on_two_threads(documents.len(), middle, |part| {
            let mut counts = vec![0u32; lexicon.concepts()];
            let mut uses = vec![0u32; lexicon.patterns.len()];
            for &posting in documents[part].iter().copied().flatten() {
                let (concept, pattern) = unkey(posting);
                counts[concept as usize] += 1;
                uses[pattern as usize] += 1;
            }
            (counts, uses)
        });
        counts.iter_mut().zip(more.0).for_each(|(count, more)| *count += more);
        uses.iter_mut().zip(more.1).for_each(|(uses, more)| *uses += more);
        let renumbered = by_use(&mut lexicon.patterns, &uses);
        let mut packed = Packed { documents: documents.len() as u32, counts, ..Packed::default() };
        let pages = on_two_threads(documents.len(), middle, |part| {
            let pages = documents[part].chunks(HOLDERS).take_while(|_| goes_on());
            pages.map(|page| holders(page, &renumbered)).collect()
        });
        pages.into_iter().flat_map(|pages: Vec<_>| pages).for_each(|page| packed.held.push(page));

        let formula = Bm25f::new(&weights, &totals);
        let lists = Lists {
            documents,
            counts: &packed.counts,
            renumbered: &renumbered,
            lexicon: &lexicon,
            formula: &formula,
            lengths: &lengths,
            batch: BATCH.max(documents.iter().map(|held| held.len()).sum::<usize>() / BATCHES),
            stop,
        };
        let halves = on_two_threads(packed.counts.len(), lists.middle(), |part| lists.encode(part));
        let mut concepts = Vec::with_capacity(packed.counts.len() + ROOM);
        let mut words = Vec::with_capacity(lexicon.words.len() + ROOM);
        words.resize(lexicon.words.len(), 0);
        for half in halves {
            let before = packed.lists.len() as u32;
            let spots = half.spots.iter().map(|spot| Spot { page: before + spot.page, ..*spot });
            packed.starts.extend(spots);
            half.pages.into_iter().for_each(|page| packed.lists.push(page));
            concepts.extend(half.holders);
            words.iter_mut().zip(half.word_holders).for_each(|(count, more)| *count += more);
        }
        let mut index = Self::from_parts(weights, lexicon, lengths, totals, packed);
        index.set_holders(concepts, words);
        index
    }

    fn set_holders(&mut self, concepts: Vec<Holders>, words: Vec<u32>) {
        self.used_words = words.iter().filter(|&&holders| holders > 0).count();
        (self.holders, self.word_holders) = (concepts, words);
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
        let packed_postings = packed.counts.iter().map(|&count| count as usize).sum();
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
            validation: None,
            tail: FxHashMap::default(),
            loose: Vec::new(),
            lengths,
            live,
            totals,
            postings: packed_postings,
            packed_postings,
            used_words: 0,
        }
    }

    /// Takes over the holders of every concept and word of a snapshot, of which no list is used
    /// before it is validated; returns nothing if they do not fit.
    pub fn with_holders(mut self, concepts: Vec<Holders>, words: Vec<u32>) -> Option<Self> {
        let documents = self.packed.documents;
        let within = |(held, &count): (&Holders, &u32)| {
            held.any == count && count <= documents && held.heading.max(held.speaker) <= count
        };
        let fit = concepts.len() == self.holders.len()
            && words.len() == self.word_holders.len()
            && concepts.iter().zip(&self.packed.counts).all(within)
            && self.lexicon.may_be_held(&words, &self.packed.counts);
        self.set_holders(concepts, words);
        self.validation = Some(Box::new(Validation::new(self.formula(), self.holders.len())));
        fit.then_some(self)
    }

    /// Packs everything anew, drops the dead and the words that only they held, and numbers the
    /// documents in the order given.
    ///
    /// `order` lists the live documents; the one at place `i` becomes number `i`.
    pub fn repack(&mut self, order: &[u32]) {
        let mut run = Run::default();
        for &number in order {
            let lengths = self.lengths[number as usize];
            run.push(&Document { concepts: self.concepts_of(number), lengths });
        }
        run.lexicon = std::mem::take(&mut self.lexicon);
        if self.used_words < run.lexicon.words.len() {
            run.forget_words(|word| self.word_holders(word) > 0);
        }
        // both at a time would take twice the memory
        (self.packed, self.tail, self.loose, self.validation) = Default::default();
        let never = AtomicBool::new(false);
        *self = Self::build(self.weights.clone(), vec![run], &[(0, order.len())], &never);
    }
}

/// Does the parts of `0..end` before and behind `middle` at the same time.
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

/// Packs one list; `counts` tells those of a pattern.
pub(crate) fn pack<'c>(
    list: &[Posting],
    formula: &Bm25f,
    lengths: &[Lengths],
    counts: impl Fn(u32) -> &'c Counts,
) -> Vec<u8> {
    let impacts = Impacts::for_some(formula, list.len());
    let mut bytes = Vec::with_capacity(list.len() * 4);
    let impact = |posting: &Posting| {
        impacts.of(counts(posting.pattern), &lengths[posting.document as usize])
    };
    encode(list, impact, &mut bytes);
    bytes
}

/// Returns what the documents of a page hold, as [`Packed::held`] reads it.
fn holders(documents: &[Held<'_>], renumbered: &[u32]) -> Vec<u8> {
    let (mut page, mut bytes) = (Vec::new(), Vec::new());
    for &held in documents {
        let mut last = 0;
        for &posting in held {
            let (concept, pattern) = unkey(posting);
            varint(concept - last, &mut bytes);
            varint(renumbered[pattern as usize], &mut bytes);
            last = concept;
        }
        varint(bytes.len() as u32, &mut page);
        page.append(&mut bytes);
    }
    // as long as what is in it
    page.shrink_to_fit();
    page
}

/// What is turned into lists.
struct Lists<'a> {
    documents: &'a [Held<'a>],
    /// Documents that hold each concept.
    counts: &'a [u32],
    renumbered: &'a [u32],
    lexicon: &'a Lexicon,
    formula: &'a Bm25f,
    lengths: &'a [Lengths],
    /// Postings to gather at a time.
    batch: usize,
    stop: &'a AtomicBool,
}

/// The lists of neighbouring concepts.
struct Encoded {
    spots: Vec<Spot>,
    pages: Vec<Vec<u8>>,
    holders: Vec<Holders>,
    /// By word; those of other concepts are 0.
    word_holders: Vec<u32>,
}

impl Lists<'_> {
    /// Returns the concept at which half of the postings are done.
    fn middle(&self) -> usize {
        let mut rest: u64 = self.counts.iter().copied().map(u64::from).sum::<u64>() / 2;
        let done = self.counts.iter().position(|&count| {
            let more = rest.checked_sub(count.into());
            rest = more.unwrap_or(0);
            more.is_none()
        });
        done.unwrap_or(0)
    }

    /// Returns those of some concepts, from the first, whose postings are gathered at a time.
    fn batch(&self, concepts: Range<usize>) -> Range<usize> {
        let mut room = self.batch;
        let counts = &self.counts[concepts.clone()];
        let full = counts.iter().position(|&count| {
            let left = room.checked_sub(count as usize);
            room = left.unwrap_or(0);
            left.is_none()
        });
        concepts.start..full.map_or(concepts.end, |at| concepts.start + at.max(1))
    }

    /// Gathers the postings of some concepts, each in the order of documents.
    fn gather(&self, concepts: &Range<usize>) -> Vec<Posting> {
        let counts = &self.counts[concepts.clone()];
        let mut sum = 0;
        let start = |&count: &u32| {
            sum += count as usize;
            sum - count as usize
        };
        let mut next: Vec<usize> = counts.iter().map(start).collect();
        let mut postings = vec![Posting { document: 0, pattern: 0 }; sum];
        for (document, held) in (0..).zip(self.documents) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let from =
                held.partition_point(|&posting| (unkey(posting).0 as usize) < concepts.start);
            for &posting in &held[from..] {
                let (concept, pattern) = unkey(posting);
                let Some(next) = next.get_mut(concept as usize - concepts.start) else { break };
                postings[*next] = Posting { document, pattern: self.renumbered[pattern as usize] };
                *next += 1;
            }
        }
        postings
    }

    fn encode(&self, concepts: Range<usize>) -> Encoded {
        let patterns = &self.lexicon.patterns;
        let impacts = Impacts::new(self.formula);
        let (mut gathered, mut postings, mut at) = (concepts.start, Vec::new(), 0);
        let mut page = Vec::new();
        let mut encoded = Encoded {
            spots: Vec::with_capacity(concepts.len()),
            pages: Vec::new(),
            holders: vec![Holders::default(); concepts.len()],
            word_holders: vec![0; self.lexicon.words.len()],
        };
        for (concept, holders) in concepts.clone().zip(&mut encoded.holders) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if concept == gathered {
                let batch = self.batch(concept..concepts.end);
                gathered = batch.end;
                // two at a time would be too much
                drop(postings);
                (postings, at) = (self.gather(&batch), 0);
            }
            if page.len() >= LISTS {
                // as long as what is in it
                encoded.pages.push(page.clone());
                page.clear();
            }
            let list = &postings[at..][..self.counts[concept] as usize];
            at += list.len();
            encoded.spots.push(Spot { page: encoded.pages.len() as u32, at: page.len() as u32 });
            let words = self.lexicon.spellings(concept as u32);
            for posting in list {
                holders.change(patterns.sum(posting.pattern), |count| *count += 1);
                for spelling in patterns.spellings(posting.pattern) {
                    // a snapshot may say more than there are
                    if let Some(&word) = words.get(spelling.number as usize) {
                        encoded.word_holders[word as usize] += 1;
                    }
                }
            }
            let impact = |posting: &Posting| {
                let lengths = &self.lengths[posting.document as usize];
                impacts.of(patterns.sum(posting.pattern), lengths)
            };
            encode(list, impact, &mut page);
        }
        page.shrink_to_fit();
        encoded.pages.push(page);
        encoded
    }
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
