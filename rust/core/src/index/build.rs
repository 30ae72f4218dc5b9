//! Construction of an inverted index: from partial indexes, from a snapshot, and by repacking.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use rustc_hash::FxHashMap;

use crate::index::bm25f::{Bm25f, Lengths, Totals, Weights};
use crate::index::dictionary::document_analysis::AnalyzedDocument;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::inverted_index::InvertedIndex;
use crate::index::postings::validation::Validation;
use crate::index::storage::lazy_array::LazyArray;
use crate::index::storage::packed_index::{ListPosition, PackedIndex};
use crate::index::storage::packing::{Packing, pack};
use crate::index::storage::paged_array::SPARE_CAPACITY;
use crate::index::storage::partial_index::PartialIndex;
use crate::memory_limit::trim_heap;

impl InvertedIndex {
    /// Merges partial indexes. `schedule` gives the order of the documents: a partial index, and how
    /// many of its documents come next.
    ///
    /// Once `stop` is set it ends soon, and the result must not be used.
    pub fn build(
        weights: Weights,
        mut partials: Vec<PartialIndex>,
        schedule: &[(usize, usize)],
        stop: &AtomicBool,
    ) -> Self {
        let mut lexicon = Lexicon::default();
        // the numbers of the first lexicon stay; those of the others are remapped
        if let Some((first, others)) = partials.split_first_mut() {
            lexicon = std::mem::take(&mut first.lexicon);
            others.iter_mut().for_each(|partial| partial.remap(&mut lexicon, |_, _| true));
        }
        let count = partials.iter().map(PartialIndex::len).sum::<usize>();
        let mut queues: Vec<_> = partials.iter_mut().map(PartialIndex::take_lengths).collect();
        let mut lengths = Vec::with_capacity(count + SPARE_CAPACITY);
        for &(partial, count) in schedule {
            lengths.extend(queues[partial].by_ref().take(count));
        }
        drop(queues);
        let mut queues: Vec<_> = partials.iter().map(PartialIndex::documents).collect();
        let mut documents = Vec::with_capacity(count);
        for &(partial, count) in schedule {
            documents.extend(queues[partial].by_ref().take(count));
        }
        let mut totals = Totals::default();
        lengths.iter().for_each(|lengths| totals.add(lengths));
        let formula = Bm25f::new(&weights, &totals);
        let Packing { packed, doc_freqs, word_doc_freqs } =
            pack(&mut lexicon, &formula, &documents, &lengths, stop);
        let mut index = Self::from_parts(weights, lexicon, lengths, totals, packed);
        (index.doc_freqs, index.word_doc_freqs) = (doc_freqs.into(), word_doc_freqs.into());
        index.count_terms();
        index
    }

    /// Sets the number of postings, and of words that are used.
    fn count_terms(&mut self) {
        let words = self.word_doc_freqs.all().iter();
        self.used_words = words.filter(|word| word.any > 0).count();
        self.packed_postings = self.packed.counts.all().iter().map(|&count| count as usize).sum();
        self.postings = self.packed_postings;
    }

    /// Makes an index from its arrays, with no deleted documents and no document frequencies yet.
    pub fn from_parts(
        weights: Weights,
        lexicon: Lexicon,
        lengths: Vec<Lengths>,
        totals: Totals,
        packed: PackedIndex,
    ) -> Self {
        let documents = lengths.len();
        let mut live = vec![u64::MAX; documents.div_ceil(64)];
        if let Some(last) = live.last_mut().filter(|_| !documents.is_multiple_of(64)) {
            *last = (1 << (documents % 64)) - 1;
        }
        Self {
            doc_freqs: LazyArray::default(),
            word_doc_freqs: LazyArray::default(),
            weights,
            min_average: totals.average_if_any(),
            lexicon,
            packed,
            validation: None,
            delta: FxHashMap::default(),
            delta_documents: Vec::new(),
            lengths,
            live,
            totals,
            postings: 0,
            packed_postings: 0,
            used_words: 0,
            languages: OnceLock::new(),
        }
    }

    /// Sets what a snapshot says of its terms: the document frequencies, how many postings there are,
    /// and words that are used. Its lists are validated before they are used; `None` if it cannot be
    /// right.
    pub fn with_doc_freqs(
        mut self,
        concepts: LazyArray<DocFreqs>,
        words: LazyArray<WordDocFreqs>,
        [postings, used_words]: [usize; 2],
    ) -> Option<Self> {
        let fit = concepts.len() == self.lexicon.concepts()
            && words.len() == self.lexicon.words.len()
            && used_words <= words.len()
            && postings <= self.lexicon.concepts().saturating_mul(self.lengths.len());
        (self.doc_freqs, self.word_doc_freqs) = (concepts, words);
        (self.postings, self.packed_postings, self.used_words) = (postings, postings, used_words);
        self.validation = Some(Box::new(Validation::new(
            self.formula(),
            self.doc_freqs.len(),
            self.lexicon.words.len(),
        )));
        fit.then_some(self)
    }

    /// Reads all that is still in a snapshot only, but for lists and documents: a query reads some of
    /// it, and a change needs all. What does not fit together is replaced by what means nothing, and
    /// the snapshot is marked as damaged.
    pub(super) fn load(&mut self) {
        if !self.lexicon.is_stored() {
            return;
        }
        let Self { doc_freqs, word_doc_freqs, packed, lexicon, .. } = &mut *self;
        let (concepts, words) = (&*doc_freqs.to_mut(), &*word_doc_freqs.to_mut());
        let counts = &*packed.counts.to_mut();
        packed.starts.to_mut();
        let within = |(freqs, &count): (&DocFreqs, &u32)| {
            freqs.any == count
                && count <= packed.documents
                && freqs.text.max(freqs.speaker) <= count
                && freqs.heading <= freqs.text
        };
        let fit = lexicon.load()
            && concepts.iter().zip(counts).all(within)
            && lexicon.can_have_doc_freqs(words, concepts)
            && packed.is_complete(lexicon.concepts());
        let said = [self.packed_postings, self.used_words];
        self.count_terms();
        if !fit || said != [self.packed_postings, self.used_words] {
            self.packed.lists.reject();
            self.lexicon = self.lexicon.placeholder();
            let concepts = self.lexicon.concepts();
            // each is used, or packing would drop it
            let freqs = WordDocFreqs { any: 1, text: 0 };
            self.doc_freqs = vec![DocFreqs::default(); concepts].into();
            self.word_doc_freqs = vec![freqs; concepts].into();
            self.packed.starts = vec![ListPosition::default(); concepts].into();
            self.packed.counts = vec![0; concepts].into();
            self.count_terms();
        }
        self.languages.take();
    }

    /// Returns room for packing so many documents; none where the system does not give it.
    pub fn room_for_packing(&self, documents: usize) -> Option<PartialIndex> {
        PartialIndex::try_with_capacity(documents, self.postings)
    }

    /// Packs all documents, drops deleted ones and the words that only they held, and numbers the
    /// documents anew.
    ///
    /// `order` lists the documents that are not deleted; the one at index `i` becomes number `i`.
    /// `partial` is [`Self::room_for_packing`].
    pub fn repack(&mut self, order: &[u32], mut partial: PartialIndex) {
        self.load();
        for &number in order {
            let lengths = self.lengths[number as usize];
            partial.push(&AnalyzedDocument { concepts: self.concepts_of(number), lengths });
        }
        partial.lexicon = std::mem::take(&mut self.lexicon);
        if self.used_words < partial.lexicon.words.len() {
            partial.drop_words(|word| self.word_doc_freqs(word).any > 0);
        }
        // the old and the new index at the same time would take twice the memory
        (self.packed, self.delta, self.delta_documents, self.validation) = Default::default();
        trim_heap();
        let never = AtomicBool::new(false);
        *self = Self::build(self.weights.clone(), vec![partial], &[(0, order.len())], &never);
    }
}
