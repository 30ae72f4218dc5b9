//! Repacking of a catalog on another thread, so that the caller can be interrupted.

use std::sync::Arc;
use std::thread::{self, Builder, JoinHandle};

use crate::catalog::{Catalog, DocIds, DocMeta};
use crate::error::{Interrupt, Result, wait_for};
use crate::index::storage::paged_array::SPARE_CAPACITY;
use crate::memory_limit::trim_heap;
use crate::sync::Mutex;

/// A catalog that another thread repacks.
#[derive(Debug)]
pub(super) struct PackingThread(JoinHandle<Option<Catalog>>);

impl Catalog {
    /// Returns whether the delta has grown so large, or so many documents are deleted, that packing
    /// pays.
    pub fn needs_packing(&self) -> bool {
        self.index.needs_packing()
    }

    /// Packs the index, unless the caller asks to stop meanwhile.
    ///
    /// Half-way through, it holds nothing that can be searched, and to go back would take twice the
    /// memory. So it goes on without the caller, and until [`Self::finish_packing`] is called
    /// this catalog is an empty one.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn repack_unless(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let caller = thread::current();
        let empty = Self::new(self.index.weights().clone(), self.corpus);
        let (limit, packings) = (self.limit.clone(), self.packings + 1);
        let empty = Self { limit, packings, ..empty.with_clock(self.clock) };
        let whole = Arc::new(Mutex::new(Some(std::mem::replace(self, empty))));
        let given = Arc::clone(&whole);
        let started = Builder::new().spawn(move || {
            let mut catalog = given.lock().take();
            catalog.iter_mut().for_each(Self::repack);
            caller.unpark();
            catalog
        });
        match started {
            Ok(thread) => self.packing = Some(PackingThread(thread)),
            // no thread can be started
            Err(_) => {
                if let Some(catalog) = whole.lock().take() {
                    *self = catalog;
                    self.repack();
                }
            }
        }
        self.finish_packing(interrupt)
    }

    /// Returns whether another thread repacks it, and nobody has waited for the end.
    pub fn is_packing(&self) -> bool {
        self.packing.is_some()
    }

    /// Waits for what [`Self::repack_unless`] has begun.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn finish_packing(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let Some(PackingThread(thread)) = &self.packing else { return Ok(()) };
        wait_for(interrupt, |slice| {
            if !thread.is_finished() {
                thread::park_timeout(slice);
            }
            thread.is_finished().then_some(())
        })?;
        if let Some(PackingThread(thread)) = self.packing.take() {
            let packed = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            packed.into_iter().for_each(|catalog| *self = catalog);
        }
        Ok(())
    }

    /// Packs the index, numbering documents by path and then by position. Where the system does not
    /// give the memory for that, it stays as it is.
    pub fn repack(&mut self) {
        let (mut order, mut docs): (Vec<u32>, Vec<DocMeta>) = Default::default();
        let reserved = order.try_reserve_exact(self.docs.len()).is_ok()
            && docs.try_reserve_exact(self.docs.len() + SPARE_CAPACITY).is_ok();
        let room = self.index.room_for_packing(self.docs.len());
        let Some(partial) = room.filter(|_| reserved) else { return };
        self.packings += 1;
        self.checked_places.lock().clear();
        self.reordered = false;
        self.free.clear();
        self.files.retain(|file| file.present);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        // headings that were edited leave their old labels behind
        let old = std::mem::take(&mut self.labels);
        let labels = self.labels.interner();
        labels.intern("");
        let mut label = |id: u32| labels.intern(old.text(id));
        self.by_path.clear();
        for (at, file) in self.files.iter_mut().enumerate() {
            file.summary = label(file.summary);
            let first = docs.len() as u32;
            for document in file.documents.iter() {
                order.push(document);
                let doc = self.docs[document as usize];
                docs.push(DocMeta {
                    file: at as u32,
                    trail: label(doc.trail),
                    role: label(doc.role),
                    session: label(doc.session),
                    category: label(doc.category),
                    ..doc
                });
            }
            file.documents = DocIds::Range(first..docs.len() as u32);
        }
        self.sorted = self.files.len();
        self.docs = docs.into_iter().collect();
        let checksum = self.index.doc_freq_checksum();
        self.index.repack(&order, partial);
        if self.index.doc_freq_checksum() != checksum {
            // what a snapshot says of its documents is not what its lists say
            self.reject();
        }
        self.report_memory_use();
        trim_heap();
        // all is in memory now, unless some of it was lost
        self.kept.take_if(|kept| !kept.is_damaged());
    }
}
