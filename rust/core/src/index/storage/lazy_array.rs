//! Lazy arrays: those of a snapshot of which a query reads a few pages, and a change all.
//!
//! The tables of terms are half of what a snapshot holds beside lists and documents, and a query
//! asks for a few entries of them.

use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

use crate::index::storage::paged_array::PagedArray;

/// Bytes of a page.
const PAGE_BYTES: usize = 4 << 10;

/// An array that lies in pages of a snapshot, until all of it is asked for.
#[derive(Debug, Clone)]
pub struct LazyArray<T> {
    stored: Option<StoredArray<T>>,
    /// All entries otherwise.
    own: Vec<T>,
}

/// The array of a snapshot.
#[derive(Debug, Clone)]
struct StoredArray<T> {
    pages: Arc<PagedArray<T>>,
    len: usize,
    /// All of it, once it was asked for.
    read: OnceLock<Vec<T>>,
}

impl<T> Default for LazyArray<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for LazyArray<T> {
    fn from(own: Vec<T>) -> Self {
        Self { stored: None, own }
    }
}

impl<T: Pod> LazyArray<T> {
    /// Entries on a page of a snapshot, but for the last.
    pub const PER_PAGE: usize = PAGE_BYTES / size_of::<T>();

    /// Takes the pages of a snapshot, which hold so many entries.
    pub fn of(pages: PagedArray<T>, len: usize) -> Self {
        let stored = StoredArray { pages: Arc::new(pages), len, read: OnceLock::new() };
        Self { stored: Some(stored), own: Vec::new() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.stored.as_ref().map_or(self.own.len(), |stored| stored.len)
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it may lie in a snapshot only.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Returns an entry, if there is one; zeros for one of a page that is lost.
    #[inline]
    pub fn get(&self, at: usize) -> Option<T> {
        match &self.stored {
            None => self.own.get(at).copied(),
            Some(stored) => stored.get(at),
        }
    }

    /// Returns all entries, zeros if any of them is lost.
    pub fn all(&self) -> &[T] {
        match &self.stored {
            None => &self.own,
            Some(stored) => stored.all(),
        }
    }

    /// Returns all entries, to change them in memory.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Some(mut stored) = self.stored.take() {
            stored.all();
            self.own = stored.read.take().unwrap_or_default();
        }
        &mut self.own
    }

    /// Returns the bytes that it takes in memory once all of it is there.
    pub fn bytes(&self) -> usize {
        self.len().max(self.own.capacity()) * size_of::<T>()
    }
}

impl<T: Pod> StoredArray<T> {
    fn get(&self, at: usize) -> Option<T> {
        if let Some(all) = self.read.get() {
            return all.get(at).copied();
        }
        let page = self.pages.get(at / LazyArray::<T>::PER_PAGE);
        let entry = page.and_then(|page| page.get(at % LazyArray::<T>::PER_PAGE).copied());
        (at < self.len).then(|| entry.unwrap_or_else(T::zeroed))
    }

    fn all(&self) -> &[T] {
        self.read.get_or_init(|| {
            let all = self.pages.read_all().filter(|all| all.len() == self.len);
            all.unwrap_or_else(|| {
                self.pages.reject();
                vec![T::zeroed(); self.len]
            })
        })
    }
}
