//! Paged arrays: arrays in a snapshot file whose pages are read when they are first used.
//!
//! A query needs a few of several hundred thousand lists, so opening reads none of them, and memory
//! holds the pages that were used. A page is used only if its checksum is right. A damaged page is
//! recorded ([`SnapshotFile::is_damaged`]): the caller then rebuilds the index and searches again.

use std::fmt;
use std::fs::File;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use crate::files::platform::{AsHandle as _, FileExt as _, Platform as _, System};

/// Spare capacity of an array that was read or built, in entries. Moving a large array at the first
/// change would take longer than the change, and unused capacity takes no memory.
pub const SPARE_CAPACITY: usize = 1 << 14;

/// An open snapshot file. It is never written again: a newer snapshot is another file.
#[derive(Debug)]
pub struct SnapshotFile {
    file: File,
    damaged: AtomicBool,
    lost: AtomicBool,
}

/// A range of bytes in the snapshot file, with their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Extent {
    /// The first byte in the file.
    pub start: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// XXH3 of the bytes.
    pub sum: u64,
}

impl Extent {
    /// Says whether the range ends within a file of this length.
    pub fn ends_by(&self, length: u64) -> bool {
        self.start.checked_add(self.bytes).is_some_and(|end| end <= length)
    }
}

impl SnapshotFile {
    /// Takes a file that nobody changes.
    pub fn new(file: File) -> Self {
        Self { file, damaged: AtomicBool::new(false), lost: AtomicBool::new(false) }
    }

    /// Reads an array; `None` if it is not what was written, which is recorded as damage.
    pub fn read<T: Pod>(&self, extent: &Extent) -> Option<Vec<T>> {
        self.read_with_capacity(extent, 0)
    }

    /// As [`Self::read`], with spare capacity.
    pub fn read_with_capacity<T: Pod>(&self, extent: &Extent, spare: usize) -> Option<Vec<T>> {
        self.read_checked(extent, spare, |bytes| xxh3_64(bytes) == extent.sum)
    }

    /// Reads an array whose bytes pass a check; else `None`, which is recorded as damage.
    fn read_checked<T: Pod>(
        &self,
        extent: &Extent,
        spare: usize,
        is_whole: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<T>> {
        let read = || {
            let count = usize::try_from(extent.bytes).ok()? / size_of::<T>();
            let mut array = try_zeroed_vec(count.checked_add(spare)?).ok()?;
            array.truncate(count);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut array);
            self.file.read_exact_at(bytes, extent.start).ok()?;
            (bytes.len() as u64 == extent.bytes && is_whole(bytes)).then_some(array)
        };
        let array = read();
        self.damaged.fetch_or(array.is_none(), Ordering::Relaxed);
        self.lost.fetch_or(array.is_none(), Ordering::Relaxed);
        array
    }

    /// Reads pages that lie one behind the other as one array with spare capacity; `None` if one is not
    /// what was written, which is recorded as damage.
    fn read_pages<T: Pod>(&self, pages: &[Extent], spare: usize) -> Option<Vec<T>> {
        let Some(first) = pages.first() else { return Some(Vec::with_capacity(spare)) };
        let bytes = pages.iter().map(|page| page.bytes).sum();
        self.read_checked(&Extent { bytes, ..*first }, spare, |all| {
            let (mut start, mut rest) = (first.start, all);
            pages.iter().all(|page| {
                let own = rest.split_off(..page.bytes as usize);
                let is_next = page.start == start;
                start += page.bytes;
                is_next && own.is_some_and(|own| xxh3_64(own) == page.sum)
            })
        })
    }

    /// Starts reading an array from the disk in the background. The system drops pages that were not
    /// used for minutes even where memory is free, and two waits at the same time take one.
    fn readahead(&self, extent: &Extent) {
        // a length of 0 would mean all of the file
        if let Some(length) = NonZeroU64::new(extent.bytes) {
            System::readahead(self.file.as_handle(), extent.start, length);
        }
    }

    /// Marks the file as damaged: its contents contradict each other.
    pub fn reject(&self) {
        self.damaged.store(true, Ordering::Relaxed);
    }

    /// Says whether a read failed or had a wrong checksum, or the contents were rejected.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Says whether a read failed or had a wrong checksum.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// An array in pages, some of them not yet read from the snapshot file.
#[derive(Debug)]
pub struct PagedArray<T> {
    pages: Vec<OnceLock<Option<Box<[T]>>>>,
    source: Option<PageSource<T>>,
}

/// A check of a page, given its number, beside that of its checksum.
type PageCheck<T> = dyn Fn(usize, &[T]) -> bool + Send + Sync;

struct PageSource<T> {
    file: Arc<SnapshotFile>,
    extents: Vec<Extent>,
    check: Box<PageCheck<T>>,
}

impl<T> fmt::Debug for PageSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSource").field("file", &self.file).finish_non_exhaustive()
    }
}

impl<T> Default for PagedArray<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), source: None }
    }
}

impl<T: Pod> PagedArray<T> {
    /// Makes an array whose pages are read when they are first used.
    pub fn of(
        file: Arc<SnapshotFile>,
        extents: Vec<Extent>,
        check: impl Fn(usize, &[T]) -> bool + Send + Sync + 'static,
    ) -> Self {
        let mut pages = Vec::new();
        pages.resize_with(extents.len(), OnceLock::new);
        Self { pages, source: Some(PageSource { file, extents, check: Box::new(check) }) }
    }

    /// Adds a page.
    pub fn push(&mut self, page: Vec<T>) {
        self.pages.push(OnceLock::from(Some(page.into_boxed_slice())));
    }

    /// Returns the number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns whether there is no page.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns a page; `None` if there is no such page, or it is damaged.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&[T]> {
        self.pages.get(number)?.get_or_init(|| self.load(number)).as_deref()
    }

    /// Starts reading a page from the disk in the background.
    pub fn readahead(&self, number: usize) {
        if let (Some(source), Some(None)) =
            (&self.source, self.pages.get(number).map(OnceLock::get))
        {
            source.file.readahead(&source.extents[number]);
        }
    }

    /// As [`Self::get`], to change it in memory.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut [T]> {
        self.get(number)?;
        self.pages[number].get_mut()?.as_deref_mut()
    }

    fn load(&self, number: usize) -> Option<Box<[T]>> {
        let PageSource { file, extents, check } = self.source.as_ref()?;
        let page = file.read(&extents[number])?;
        let sound = check(number, &page);
        file.damaged.fetch_or(!sound, Ordering::Relaxed);
        sound.then(|| page.into_boxed_slice())
    }

    /// Reads all pages at once, with spare capacity; `None` if one is damaged, or they do not lie one
    /// behind the other.
    pub fn read_all(&self) -> Option<Vec<T>> {
        let PageSource { file, extents, .. } = self.source.as_ref()?;
        file.read_pages(extents, SPARE_CAPACITY)
    }

    /// Returns whether its snapshot file is damaged.
    #[cfg(test)]
    pub(crate) fn is_damaged(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.file.is_damaged())
    }

    /// Marks the snapshot file as damaged: its contents contradict each other.
    pub fn reject(&self) {
        if let Some(source) = &self.source {
            source.file.reject();
        }
    }

    /// Returns the bytes that the array takes in memory.
    pub fn bytes(&self) -> usize {
        let loaded = self.pages.iter().filter_map(|page| page.get()?.as_deref());
        loaded.map(size_of_val).sum::<usize>() + self.pages.len() * 48
    }
}
