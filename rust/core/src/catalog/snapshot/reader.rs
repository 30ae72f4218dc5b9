//! Reader of a snapshot, which checks all that it takes from one.

use std::fs::File;
use std::sync::Arc;

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::doc_ids::DocIds;
use crate::catalog::doc_table::{self, DocMeta, DocTable, DocValidator};
use crate::catalog::extract::Corpus;
use crate::catalog::label_table::LabelTable;
use crate::catalog::snapshot::{
    ARRAYS_AT, HEADER_BYTES, LoadError, MAGIC, TERM_ARRAYS, format, weight_array,
};
use crate::catalog::{Catalog, FileMeta, ReadProgress};
use crate::files::paths;
use crate::files::platform::FileExt as _;
use crate::files::racy_stat::is_trusted;
use crate::files::root::Stat;
use crate::index::bm25f::{Lengths, Totals, Weights};
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::lexicon::{Lexicon, LexiconTables};
use crate::index::doc_freqs::{DocFreqs, WordDocFreqs};
use crate::index::inverted_index::InvertedIndex;
use crate::index::postings::decoding::is_forward_page;
use crate::index::postings::tf_profiles::TfProfiles;
use crate::index::storage::lazy_array::LazyArray;
use crate::index::storage::packed_index::{ListPosition, PackedIndex};
use crate::index::storage::paged_array::{Extent, PagedArray, SPARE_CAPACITY, SnapshotFile};
use crate::parallel::in_parallel;

const TRUNCATED: LoadError = "it is cut short";
const DAMAGED: LoadError = "it is damaged";
const INCONSISTENT: LoadError = "it does not fit together";

/// Opens a snapshot of the root with this id, made with these weights.
///
/// # Errors
/// Why it cannot be used. What is wrong with pages shows only when they are asked for.
pub fn read(file: File, root: u64, weights: &Weights) -> Result<Catalog, LoadError> {
    let mut head = [0; ARRAYS_AT];
    file.read_exact_at(&mut head, 0).map_err(|_| TRUNCATED)?;
    if &head[..8] != MAGIC {
        return Err("it is not an index of commonplace");
    }
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&head[8 + at * 8..16 + at * 8]);
        u64::from_le_bytes(word)
    };
    if word(0) != format() {
        return Err("it was written by another version, or with other languages");
    }
    if word(1) != root {
        return Err("it belongs to another root");
    }
    if file.metadata().map_or(0, |found| found.len()) != word(2) {
        return Err(TRUNCATED);
    }
    if word(3) != xxh3_64(&head[HEADER_BYTES..]) {
        return Err(DAMAGED);
    }
    let directory: Vec<Extent> = bytemuck::pod_collect_to_vec(&head[HEADER_BYTES..]);
    let (kept, length) = (Arc::new(SnapshotFile::new(file)), word(2));
    if !directory.iter().all(|extent| extent.ends_by(length)) {
        return Err(INCONSISTENT);
    }
    let mut arrays = ArrayReader { kept, length, directory: directory.into_iter() };
    let weights_of_it: Vec<f32> = arrays.array()?;
    if weights_of_it != weight_array(weights) {
        return Err("the weights differ");
    }
    let terms = arrays.split_off(TERM_ARRAYS);
    // about as much work on either side
    let (terms, tables) =
        in_parallel(|| terms.clone().term_tables(), || arrays.clone().doc_tables());
    arrays.catalog(weights.clone(), terms?, tables?)
}

/// What is known of the terms.
struct TermTables {
    lexicon: Lexicon,
    concepts: LazyArray<DocFreqs>,
    words: LazyArray<WordDocFreqs>,
}

/// What is known of the documents and files, and where the pages lie.
struct DocTables {
    totals: Totals,
    /// How many postings there are, and words that are used.
    term_counts: [usize; 2],
    lengths: Vec<Lengths>,
    starts: LazyArray<ListPosition>,
    counts: LazyArray<u32>,
    lists: Vec<Extent>,
    forward: Vec<Extent>,
    docs: Vec<Extent>,
    labels: LabelTable,
    files: Vec<FileMeta>,
}

/// Takes the arrays off the front of the directory, one by one.
#[derive(Clone)]
struct ArrayReader {
    kept: Arc<SnapshotFile>,
    /// Of the file.
    length: u64,
    directory: std::vec::IntoIter<Extent>,
}

impl ArrayReader {
    /// Takes the first arrays away, for another reader.
    fn split_off(&mut self, arrays: usize) -> Self {
        let first: Vec<Extent> = self.directory.by_ref().take(arrays).collect();
        Self { directory: first.into_iter(), ..self.clone() }
    }

    fn array<T: Pod>(&mut self) -> Result<Vec<T>, LoadError> {
        let extent = self.directory.next().ok_or(INCONSISTENT)?;
        self.kept.read_with_capacity(&extent, SPARE_CAPACITY).ok_or(DAMAGED)
    }

    /// Returns where pages lie.
    fn extents(&mut self) -> Result<Vec<Extent>, LoadError> {
        let extents: Vec<Extent> = self.array()?;
        let within = extents.iter().all(|extent| extent.ends_by(self.length));
        // a page that lies where another does would pass for it
        let apart = extents.windows(2).all(|pair| pair[0].ends_by(pair[1].start));
        if within && apart { Ok(extents) } else { Err(INCONSISTENT) }
    }

    /// Returns pages, of which a check is asked when they are read.
    fn pages<T: Pod>(
        &self,
        extents: Vec<Extent>,
        check: impl Fn(usize, &[T]) -> bool + Send + Sync + 'static,
    ) -> PagedArray<T> {
        PagedArray::of(self.kept.clone(), extents, check)
    }

    /// Returns an array that is read as it is used.
    fn lazy_array<T: Pod>(&mut self) -> Result<LazyArray<T>, LoadError> {
        let extents = self.extents()?;
        let full = (LazyArray::<T>::PER_PAGE * size_of::<T>()) as u64;
        let bytes: u64 = extents.iter().map(|page| page.bytes).sum();
        let fits = extents.split_last().is_none_or(|(last, others)| {
            (1..=full).contains(&last.bytes) && others.iter().all(|page| page.bytes == full)
        });
        if !fits || !bytes.is_multiple_of(size_of::<T>() as u64) {
            return Err(INCONSISTENT);
        }
        Ok(LazyArray::of(self.pages(extents, |_, _| true), bytes as usize / size_of::<T>()))
    }

    fn text(&mut self) -> Result<String, LoadError> {
        String::from_utf8(self.array()?).map_err(|_| INCONSISTENT)
    }

    fn terms(&mut self) -> Result<Interner, LoadError> {
        Interner::from_parts(self.text()?, self.array()?, self.array()?).ok_or(INCONSISTENT)
    }

    /// Returns the totals of the documents, and how many postings and used words there are.
    fn totals(&mut self) -> Result<(Totals, [usize; 2]), LoadError> {
        let (numbers, having, length) = (self.array()?, self.array()?, self.array()?);
        match (&numbers[..], having.try_into(), length.try_into()) {
            (&[documents, postings, used_words], Ok(having), Ok(length)) => {
                let (documents, postings): (u64, u64) = (documents, postings);
                let documents = u32::try_from(documents).map_err(|_| INCONSISTENT)?;
                let totals = Totals { documents, docs_with_field: having, length };
                Ok((totals, [postings as usize, used_words as usize]))
            }
            _ => Err(INCONSISTENT),
        }
    }

    fn term_tables(mut self) -> Result<TermTables, LoadError> {
        let (words, stems) = (self.terms()?, self.terms()?);
        let tables = LexiconTables {
            entries: self.lazy_array()?,
            concept_of_stem: self.lazy_array()?,
            stem_of_concept: self.lazy_array()?,
            latest: self.lazy_array()?,
            before: self.lazy_array()?,
        };
        let profiles = TfProfiles::from_parts(self.array()?, self.array()?).ok_or(INCONSISTENT)?;
        let lexicon = Lexicon::from_parts(words, stems, tables, profiles).ok_or(INCONSISTENT)?;
        Ok(TermTables { lexicon, concepts: self.lazy_array()?, words: self.lazy_array()? })
    }

    fn doc_tables(mut self) -> Result<DocTables, LoadError> {
        let (totals, term_counts) = self.totals()?;
        let lengths: Vec<Lengths> = self.array()?;
        let mut counted = Totals::default();
        lengths.iter().for_each(|lengths| counted.add(lengths));
        if counted != totals {
            return Err(INCONSISTENT);
        }
        let (starts, counts) = (self.lazy_array()?, self.lazy_array()?);
        let (lists, forward, docs) = (self.extents()?, self.extents()?, self.extents()?);
        if docs.len() != lengths.len().div_ceil(doc_table::DOCS_PER_PAGE) {
            return Err(INCONSISTENT);
        }
        let pages = self.extents()?;
        let labels = LabelTable::from_parts(self.kept.clone(), pages, self.array()?, self.array()?);
        let labels = labels.ok_or(INCONSISTENT)?;
        let files = self.files(lengths.len(), labels.len() as u32)?;
        Ok(DocTables {
            totals,
            term_counts,
            lengths,
            starts,
            counts,
            lists,
            forward,
            docs,
            labels,
            files,
        })
    }

    /// Puts the tables together.
    fn catalog(
        self,
        weights: Weights,
        terms: TermTables,
        tables: DocTables,
    ) -> Result<Catalog, LoadError> {
        let TermTables { lexicon, concepts, words } = terms;
        let DocTables { totals, lengths, starts, counts, lists, docs, labels, files, .. } = tables;
        let (forward, term_counts) = (tables.forward, tables.term_counts);
        let (concept_count, profile_count) = (lexicon.concepts(), lexicon.profiles.len());
        let count = lengths.len();
        let packed = PackedIndex {
            documents: count as u32,
            starts,
            counts,
            lists: self.pages(lists, |_, _| true),
            forward: self.pages(forward, move |page, bytes| {
                is_forward_page(page, bytes, count, concept_count, profile_count)
            }),
        };
        if !packed.has_all(concept_count) {
            return Err(INCONSISTENT);
        }
        let index = InvertedIndex::from_parts(weights, lexicon, lengths, totals, packed);
        let index = index.with_doc_freqs(concepts, words, term_counts).ok_or(INCONSISTENT)?;
        let validator = DocValidator::new(&files, labels.len() as u32);
        let pages = self.pages(docs, move |page, docs: &[DocMeta]| validator.accepts(page, docs));
        let mut catalog = Catalog::new(index.weights().clone(), Corpus::Main);
        catalog.index = index;
        catalog.docs = DocTable::of(pages, count);
        catalog.sorted = files.len();
        catalog.files = files;
        catalog.labels = labels;
        catalog.kept = Some(self.kept);
        catalog.from_snapshot = true;
        Ok(catalog)
    }

    /// Reads the files, in order of their paths, which share out so many documents.
    fn files(&mut self, documents: usize, labels: u32) -> Result<Vec<FileMeta>, LoadError> {
        let (paths, ends): (String, Vec<u32>) = (self.text()?, self.array()?);
        let (stats, progress): (Vec<Stat>, Vec<[u64; 6]>) = (self.array()?, self.array()?);
        let numbers: Vec<[u32; 2]> = self.array()?;
        if [stats.len(), progress.len(), numbers.len()] != [ends.len(); 3] {
            return Err(INCONSISTENT);
        }
        let mut files: Vec<FileMeta> = Vec::with_capacity(ends.len());
        let (mut start, mut first) = (0, 0u32);
        for (at, &end) in ends.iter().enumerate() {
            let path = paths.get(start..end as usize).ok_or(INCONSISTENT)?;
            let [summary, count] = numbers[at];
            let last = first.checked_add(count).ok_or(INCONSISTENT)?;
            if summary >= labels || files.last().is_some_and(|before| *before.path >= *path) {
                return Err(INCONSISTENT);
            }
            let [offset, tail, lines, bad, records, damage] = progress[at];
            let halves = |pair: u64| ((pair >> 32) as u32, pair as u32);
            let ((textless, lines), (long_lines, bad_lines)) = (halves(lines), halves(bad));
            let ((copies, records), (merge_markers, first_bad_line)) =
                (halves(records), halves(damage));
            let read = !is_trusted(&stats[at]) || offset <= stats[at].size;
            let counted = [textless, records, bad_lines].map(u64::from).iter().sum::<u64>();
            let lines_fit = counted.max(long_lines.into()) <= lines.into();
            if !read || !lines_fit || u64::from(lines) > offset {
                return Err(INCONSISTENT);
            }
            if paths::check_read(path).is_err() {
                return Err(INCONSISTENT);
            }
            files.push(FileMeta {
                stat: stats[at],
                summary,
                progress: ReadProgress {
                    offset,
                    lines,
                    bad_lines,
                    long_lines,
                    textless,
                    records,
                    copies,
                    merge_markers,
                    first_bad_line,
                    tail,
                },
                documents: DocIds::Range(first..last),
                ..FileMeta::new(path.to_owned())
            });
            (start, first) = (end as usize, last);
        }
        // the first document of a lost page stands for all of it, and is of the first file
        let whole = start == paths.len() && first as usize == documents;
        let fits = whole && (documents == 0 || !files.is_empty());
        if fits { Ok(files) } else { Err(INCONSISTENT) }
    }
}
