//! Arrays that stay in the snapshot until they are asked for, and then come a page at a time.
//!
//! A query needs a few lists of a few hundred thousand, so opening reads none of them, and memory
//! holds what was used. Each page has its own checksum and is believed only after it. What is lost
//! is remembered ([`Kept::is_damaged`]): who sees that builds the index anew and asks again.

use std::fmt;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use rustix::fs::Advice;
use xxhash_rust::xxh3::xxh3_64;

/// Entries for which an array that was read or built has room: to move a large one at the first
/// change would take longer than the change, and room that is not used takes no memory.
pub const ROOM: usize = 1 << 14;

/// A snapshot that is open. It is never written again: a newer one is another file.
#[derive(Debug)]
pub struct Kept {
    file: File,
    damaged: AtomicBool,
    lost: AtomicBool,
}

/// Where in the snapshot some bytes are, and what they must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Extent {
    /// The first byte in the file.
    pub start: u64,
    /// So many.
    pub bytes: u64,
    /// XXH3 of them.
    pub sum: u64,
}

impl Extent {
    /// Says whether it lies in a file of that length.
    pub fn ends_by(&self, length: u64) -> bool {
        self.start.checked_add(self.bytes).is_some_and(|end| end <= length)
    }
}

impl Kept {
    /// Keeps a file that nobody changes.
    pub fn new(file: File) -> Self {
        Self { file, damaged: AtomicBool::new(false), lost: AtomicBool::new(false) }
    }

    /// Reads an array; none, and damage, if it is not what was written.
    pub fn read<T: Pod>(&self, extent: &Extent) -> Option<Vec<T>> {
        self.read_roomy(extent, 0)
    }

    /// As [`Self::read`], with room for so many more.
    pub fn read_roomy<T: Pod>(&self, extent: &Extent, room: usize) -> Option<Vec<T>> {
        let read = || {
            let count = usize::try_from(extent.bytes).ok()? / size_of::<T>();
            let mut array = bytemuck::zeroed_vec(count.checked_add(room)?);
            array.truncate(count);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut array);
            self.file.read_exact_at(bytes, extent.start).ok()?;
            let same = bytes.len() as u64 == extent.bytes && xxh3_64(bytes) == extent.sum;
            same.then_some(array)
        };
        let array = read();
        self.damaged.fetch_or(array.is_none(), Ordering::Relaxed);
        self.lost.fetch_or(array.is_none(), Ordering::Relaxed);
        array
    }

    /// Lets the system fetch an array from the disk meanwhile: it drops what nobody has read for
    /// some minutes even where memory is free, and two waits at a time are one.
    fn expect(&self, extent: &Extent) {
        // of no length would mean all of the file
        if let Some(length) = NonZeroU64::new(extent.bytes) {
            // where it fails, reading waits
            let _ = rustix::fs::fadvise(&self.file, extent.start, Some(length), Advice::WillNeed);
        }
    }

    /// Takes it for damaged: what came of it does not fit together.
    pub fn reject(&self) {
        self.damaged.store(true, Ordering::Relaxed);
    }

    /// Says whether some of it was asked for and is lost, or it was rejected.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Says whether some of it was asked for and could not be read, or is not what was written.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// An array in pages, some of them still in the snapshot.
#[derive(Debug)]
pub struct Pages<T> {
    pages: Vec<OnceLock<Option<Box<[T]>>>>,
    source: Option<Source<T>>,
}

/// What must hold of a page, given its number, beside its checksum, lest it lead astray.
type Check<T> = dyn Fn(usize, &[T]) -> bool + Send + Sync;

struct Source<T> {
    kept: Arc<Kept>,
    extents: Vec<Extent>,
    check: Box<Check<T>>,
}

impl<T> fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), source: None }
    }
}

impl<T: Pod> Pages<T> {
    /// Leaves the pages in the snapshot until they are asked for.
    pub fn of(
        kept: Arc<Kept>,
        extents: Vec<Extent>,
        check: impl Fn(usize, &[T]) -> bool + Send + Sync + 'static,
    ) -> Self {
        let mut pages = Vec::new();
        pages.resize_with(extents.len(), OnceLock::new);
        Self { pages, source: Some(Source { kept, extents, check: Box::new(check) }) }
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

    /// Returns a page; none if there is no such page, or it is lost.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&[T]> {
        self.pages.get(number)?.get_or_init(|| self.load(number)).as_deref()
    }

    /// Lets a page come from the disk while something else is done.
    pub fn expect(&self, number: usize) {
        if let (Some(source), Some(None)) =
            (&self.source, self.pages.get(number).map(OnceLock::get))
        {
            source.kept.expect(&source.extents[number]);
        }
    }

    /// As [`Self::get`], to change it in memory.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut [T]> {
        self.get(number)?;
        self.pages[number].get_mut()?.as_deref_mut()
    }

    fn load(&self, number: usize) -> Option<Box<[T]>> {
        let Source { kept, extents, check } = self.source.as_ref()?;
        let page = kept.read(&extents[number])?;
        let sound = check(number, &page);
        kept.damaged.fetch_or(!sound, Ordering::Relaxed);
        sound.then(|| page.into_boxed_slice())
    }

    /// Takes the snapshot for damaged: what came of it does not fit together.
    pub fn reject(&self) {
        if let Some(source) = &self.source {
            source.kept.reject();
        }
    }

    /// Returns the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let loaded = self.pages.iter().filter_map(|page| page.get()?.as_deref());
        loaded.map(size_of_val).sum::<usize>() + self.pages.len() * 48
    }
}
