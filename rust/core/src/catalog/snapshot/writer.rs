//! Writer of a snapshot: the arrays of a packed catalog, one behind the other.

use std::borrow::Cow;

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::doc_table::{self, DocMeta};
use crate::catalog::label_table::{LABELS_PER_PAGE, LabelTable};
use crate::catalog::snapshot::{ARRAYS_AT, HEADER_BYTES, MAGIC, format, weight_array};
use crate::catalog::{Catalog, FileMeta, ReadProgress};
use crate::index::dictionary::interner::{Interner, hash};
use crate::index::storage::lazy_array::LazyArray;
use crate::index::storage::paged_array::Extent;

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
    // see TERM_ARRAYS
    out.put_terms(&words.words);
    out.put_terms(&words.stems);
    let (entries, tables) = words.tables();
    out.put_lazy(entries)?;
    tables.into_iter().try_for_each(|table| out.put_lazy(table))?;
    let (variants, ends) = words.profiles.parts();
    out.put(variants);
    out.put(ends);
    let (concepts, words) = catalog.index.all_doc_freqs();
    out.put_lazy(concepts)?;
    out.put_lazy(words)?;
    let (postings, used_words) = (catalog.index.postings(), catalog.index.used_words());
    out.put(&[u64::from(totals.documents), postings as u64, used_words as u64]);
    out.put(&totals.docs_with_field);
    out.put(&totals.length);
    out.put(lengths);
    out.put_lazy(packed.starts.all())?;
    out.put_lazy(packed.counts.all())?;
    out.put_pages((0..packed.lists.len()).map(|page| packed.lists.get(page)))?;
    out.put_pages((0..packed.forward.len()).map(|page| packed.forward.get(page)))?;
    out.put_pages(rows_of_kept(catalog).chunks(doc_table::DOCS_PER_PAGE).map(Some))?;
    out.put_labels(&catalog.labels);
    out.put_files(catalog);
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

    /// Puts an array in pages that are read one by one, see [`LazyArray`].
    fn put_lazy<T: Pod>(&mut self, array: &[T]) -> Option<()> {
        self.put_pages(array.chunks(LazyArray::<T>::PER_PAGE).map(Some))
    }

    fn put_terms(&mut self, terms: &Interner) {
        let (text, ends, slots) = terms.parts();
        self.put(text.as_bytes());
        self.put(ends);
        self.put(slots);
    }

    fn put_labels(&mut self, labels: &LabelTable) {
        let text = |label: usize| labels.text(label as u32);
        let pages = (0..labels.len()).step_by(LABELS_PER_PAGE).map(|first| {
            let labels = first..(first + LABELS_PER_PAGE).min(labels.len());
            labels.map(text).collect::<String>().into_bytes()
        });
        let extents: Vec<Extent> = pages.map(|page| self.write(&page)).collect();
        self.put(&extents);
        let mut end = 0;
        let ends = (0..labels.len()).map(|label| {
            end += text(label).len() as u32;
            end
        });
        self.put(&ends.collect::<Vec<u32>>());
        self.put(&(0..labels.len()).map(|label| hash(text(label))).collect::<Vec<u32>>());
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

    /// Puts the files that are kept, in order of their paths.
    fn put_files(&mut self, catalog: &Catalog) {
        let kept = || catalog.files.iter().filter(|file| is_kept(file));
        let (mut paths, mut ends) = (String::new(), Vec::new());
        for file in kept() {
            paths.push_str(&file.path);
            ends.push(paths.len() as u32);
        }
        self.put(paths.as_bytes());
        self.put(&ends);
        self.put(&kept().map(|file| file.stat).collect::<Vec<_>>());
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let progress = |seen: ReadProgress| {
            let lines = pair(seen.textless, seen.lines);
            let bad = pair(seen.long_lines, seen.bad_lines);
            let records = pair(seen.copies, seen.records);
            let damage = pair(seen.merge_markers, seen.first_bad_line);
            [seen.offset, seen.tail, lines, bad, records, damage]
        };
        self.put(&kept().map(|file| progress(file.progress)).collect::<Vec<_>>());
        self.put(
            &kept().map(|file| [file.summary, file.documents.len() as u32]).collect::<Vec<_>>(),
        );
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
