//! Snapshot format: the index as checksummed little-endian arrays in one file.
//!
//! One file of plain little-endian arrays, each as it lies in memory, so that opening is reading.
//! Layout: magic, format number, root id, length of the file, XXH3 of the directory; the directory
//! ([`Extent`]s); the arrays, at multiples of eight. What any query needs is read at opening; what
//! a query needs little of, lists and document metadata, stays behind in pages. It is a cache: a
//! snapshot that is damaged, cut short, of another root or of another version is ignored and
//! rebuilt.

use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::doc_ids::DocIds;
use crate::catalog::doc_table::{self, DocMeta, DocTable, DocValidator};
use crate::catalog::extract::Corpus;
use crate::catalog::{Catalog, FileMeta, ReadProgress};
use crate::files::paths;
use crate::files::platform::FileExt as _;
use crate::files::racy_stat::is_trusted;
use crate::files::root::Stat;
use crate::index::bm25f::{FIELDS, Lengths, Totals, Weights};
use crate::index::dictionary::interner::Interner;
use crate::index::dictionary::lexicon::Lexicon;
use crate::index::inverted_index::InvertedIndex;
use crate::index::postings::decoding::is_forward_page;
use crate::index::postings::tf_profiles::TfProfiles;
use crate::index::storage::packed_index::PackedIndex;
use crate::index::storage::paged_array::{Extent, PagedArray, SPARE_CAPACITY, SnapshotFile};
use crate::text::language;

const MAGIC: &[u8; 8] = b"CMNPLACE";
/// Raised whenever the layout changes, or how text becomes terms and documents.
const FORMAT: u64 = 12;

/// Returns the format number for this process: languages that were added change the terms.
fn format() -> u64 {
    FORMAT ^ language::extension_id()
}

/// Bytes before the directory, and arrays in it.
const HEADER_BYTES: usize = 40;
const ARRAYS: usize = 30;
const ARRAYS_AT: usize = HEADER_BYTES + ARRAYS * size_of::<Extent>();

/// The reason why a snapshot cannot be used.
pub type LoadError = &'static str;
const TRUNCATED: LoadError = "it is cut short";
const DAMAGED: LoadError = "it is damaged";
const INCONSISTENT: LoadError = "it does not fit together";

/// Returns the snapshot of a catalog, which must be packed, for the root with this id; none when
/// a part of the catalog is lost, or there is no memory for it.
pub fn write(catalog: &Catalog, root: u64) -> Option<Vec<u8>> {
    let (packed, lengths, totals) = catalog.index.packed();
    let words = catalog.index.lexicon();
    let file = |file: &FileMeta| file.path.len() + size_of::<FileMeta>();
    let files: usize = catalog.files.iter().map(file).sum();
    let room = catalog.index.bytes()
        + catalog.docs.len() * 72
        + catalog.labels.bytes()
        + files
        + ARRAYS_AT;
    if !catalog.has_room_for_snapshot(room) {
        return None;
    }
    let mut out = SnapshotWriter::default();
    out.file.try_reserve_exact(room).ok()?;
    out.file.resize(ARRAYS_AT, 0);
    out.put(&weight_array(catalog.index.weights()));
    out.put(&[u64::from(totals.documents)]);
    out.put(&totals.docs_with_field);
    out.put(&totals.length);
    for terms in [&words.words, &words.stems, &catalog.labels] {
        let (text, ends, slots) = terms.parts();
        out.put(text.as_bytes());
        out.put(ends);
        out.put(slots);
    }
    out.put(&words.entries);
    out.put(&words.concept_of_stem);
    let (variants, ends) = words.profiles.parts();
    out.put(variants);
    out.put(ends);
    out.put(lengths);
    let (concepts, words) = catalog.index.all_doc_freqs();
    out.put(concepts);
    out.put(words);
    out.put(&packed.starts);
    out.put(&packed.counts);
    out.put_pages((0..packed.lists.len()).map(|page| packed.lists.get(page)))?;
    out.put_pages((0..packed.forward.len()).map(|page| packed.forward.get(page)))?;
    out.put_pages(rows_of_kept(catalog).chunks(doc_table::DOCS_PER_PAGE).map(Some))?;
    let kept = || catalog.files.iter().filter(|file| is_kept(file));
    let (mut paths, mut ends) = (String::new(), Vec::new());
    for file in kept() {
        paths.push_str(&file.path);
        ends.push(paths.len() as u32);
    }
    out.put(paths.as_bytes());
    out.put(&ends);
    out.put(&kept().map(|file| file.stat).collect::<Vec<_>>());
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let progress = |seen: ReadProgress| {
        let lines = pair(seen.textless, seen.lines);
        let bad = pair(seen.long_lines, seen.bad_lines);
        let records = pair(seen.copies, seen.records);
        let damage = pair(seen.merge_markers, seen.first_bad_line);
        [seen.offset, seen.tail, lines, bad, records, damage]
    };
    out.put(&kept().map(|file| progress(file.progress)).collect::<Vec<_>>());
    out.put(&kept().map(|file| [file.summary, file.documents.len() as u32]).collect::<Vec<_>>());
    (!out.lacks_memory).then(|| out.finish(root))
}

/// Returns whether a file is in a snapshot; why one is left out is checked again.
fn is_kept(file: &FileMeta) -> bool {
    file.present && file.left_out.is_none()
}

/// Returns the document table, with the numbers that files have among those that are kept.
fn rows_of_kept(catalog: &Catalog) -> Cow<'_, [DocMeta]> {
    let docs = catalog.docs.since();
    if catalog.files.iter().all(is_kept) {
        return docs.into();
    }
    let mut kept = 0;
    let place = |file| {
        kept += u32::from(is_kept(file));
        kept.saturating_sub(1)
    };
    let places: Vec<u32> = catalog.files.iter().map(place).collect();
    docs.iter().map(|doc| DocMeta { file: places[doc.file as usize], ..*doc }).collect()
}

#[derive(Default)]
struct SnapshotWriter {
    file: Vec<u8>,
    directory: Vec<Extent>,
    /// Whether something could not be written for want of memory.
    lacks_memory: bool,
}

impl SnapshotWriter {
    fn write<T: Pod>(&mut self, array: &[T]) -> Extent {
        let bytes: &[u8] = bytemuck::cast_slice(array);
        let start = self.file.len() as u64;
        self.lacks_memory |= self.file.try_reserve(bytes.len() + 8).is_err();
        if self.lacks_memory {
            return Extent { start, bytes: 0, sum: 0 };
        }
        self.file.extend_from_slice(bytes);
        self.file.resize(self.file.len().next_multiple_of(8), 0);
        Extent { start, bytes: bytes.len() as u64, sum: xxh3_64(bytes) }
    }

    fn put<T: Pod>(&mut self, array: &[T]) {
        let extent = self.write(array);
        self.directory.push(extent);
    }

    /// Puts the extents of pages in the directory's place of the pages themselves.
    fn put_pages<'a, T: Pod>(
        &mut self,
        pages: impl Iterator<Item = Option<&'a [T]>>,
    ) -> Option<()> {
        let extents: Option<Vec<Extent>> = pages.map(|page| Some(self.write(page?))).collect();
        self.put(&extents?);
        Some(())
    }

    fn finish(mut self, root: u64) -> Vec<u8> {
        let directory: &[u8] = bytemuck::cast_slice(&self.directory);
        debug_assert_eq!(directory.len(), ARRAYS_AT - HEADER_BYTES);
        self.file[..8].copy_from_slice(MAGIC);
        let words = [format(), root, self.file.len() as u64, xxh3_64(directory)];
        self.file[8..HEADER_BYTES].copy_from_slice(bytemuck::cast_slice(&words));
        self.file[HEADER_BYTES..ARRAYS_AT].copy_from_slice(directory);
        self.file
    }
}

fn weight_array(weights: &Weights) -> [f32; 1 + 3 * FIELDS] {
    let mut all = [weights.k1; 1 + 3 * FIELDS];
    all[1..=FIELDS].copy_from_slice(&weights.weight);
    all[1 + FIELDS..=2 * FIELDS].copy_from_slice(&weights.b);
    all[1 + 2 * FIELDS..].copy_from_slice(&weights.m);
    all
}

/// Opens a snapshot of the root with this id, made with these weights.
///
/// # Errors
/// Why it cannot be used. What is wrong with pages shows only when they are asked for.
pub fn read(file: File, root: u64, weights: &Weights) -> Result<Catalog, LoadError> {
    let mut head = [0; ARRAYS_AT];
    file.read_exact_at(&mut head, 0).map_err(|_| TRUNCATED)?;
    if &head[..8] != MAGIC {
        return Err("it is no index of ours");
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
    arrays.catalog(weights.clone())
}

/// Takes the arrays off the front of the directory, one by one.
struct ArrayReader {
    kept: Arc<SnapshotFile>,
    /// Of the file.
    length: u64,
    directory: std::vec::IntoIter<Extent>,
}

impl ArrayReader {
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

    fn text(&mut self) -> Result<String, LoadError> {
        String::from_utf8(self.array()?).map_err(|_| INCONSISTENT)
    }

    fn terms(&mut self) -> Result<Interner, LoadError> {
        Interner::from_parts(self.text()?, self.array()?, self.array()?).ok_or(INCONSISTENT)
    }

    fn totals(&mut self) -> Result<Totals, LoadError> {
        let (documents, having, length) = (self.array()?, self.array()?, self.array()?);
        match (&documents[..], having.try_into(), length.try_into()) {
            (&[documents], Ok(having), Ok(length)) => {
                let documents: u64 = documents;
                let documents = u32::try_from(documents).map_err(|_| INCONSISTENT)?;
                Ok(Totals { documents, docs_with_field: having, length })
            }
            _ => Err(INCONSISTENT),
        }
    }

    fn catalog(mut self, weights: Weights) -> Result<Catalog, LoadError> {
        let totals = self.totals()?;
        let (words, stems, labels) = (self.terms()?, self.terms()?, self.terms()?);
        let (entries, concept_of_stem) = (self.array()?, self.array()?);
        let profiles = TfProfiles::from_parts(self.array()?, self.array()?).ok_or(INCONSISTENT)?;
        let lexicon = Lexicon::from_parts(words, entries, stems, concept_of_stem, profiles);
        let lexicon = lexicon.ok_or(INCONSISTENT)?;
        let lengths: Vec<Lengths> = self.array()?;
        let mut counted = Totals::default();
        lengths.iter().for_each(|lengths| counted.add(lengths));
        if counted != totals {
            return Err(INCONSISTENT);
        }
        let (concepts, words) = (self.array()?, self.array()?);
        let (starts, counts): (Vec<_>, Vec<u32>) = (self.array()?, self.array()?);
        let (lists, forward, docs) = (self.extents()?, self.extents()?, self.extents()?);
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
        if !packed.is_complete(concept_count) {
            return Err(INCONSISTENT);
        }
        let index = InvertedIndex::from_parts(weights, lexicon, lengths, totals, packed);
        let index = index.with_doc_freqs(concepts, words).ok_or(INCONSISTENT)?;

        let label_count = labels.len() as u32;
        if labels.get("") != Some(0) {
            return Err(INCONSISTENT);
        }
        let files = self.files(count, label_count)?;
        let validator = DocValidator::new(&files, label_count);
        if docs.len() != count.div_ceil(doc_table::DOCS_PER_PAGE) {
            return Err(INCONSISTENT);
        }
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
