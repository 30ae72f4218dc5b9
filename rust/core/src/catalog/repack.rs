//! Packing of a catalog anew, by another thread, so that whoever waits for it may leave.

use std::sync::Arc;
use std::thread::{self, Builder, JoinHandle};

use crate::catalog::{Catalog, Documents, Row};
use crate::error::{Interrupt, Result, wait_for};
use crate::index::paged::ROOM;
use crate::memory;
use crate::sync::Mutex;

/// A catalog that another thread packs.
#[derive(Debug)]
pub(super) struct Packing(JoinHandle<Option<Catalog>>);

impl Catalog {
    /// Says whether so much is loose or dead that packing pays.
    pub fn wants_packing(&self) -> bool {
        self.index.wants_packing()
    }

    /// Packs the index, unless the caller asks to stop meanwhile.
    ///
    /// Half-way through, it holds nothing that can be searched, and to go back would take twice the
    /// memory. So it goes on without the caller, and until [`Self::finish_packing`] is called
    /// this catalog is an empty one. Where there is no memory for a thread, it is not left.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn repack_unless(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let (packing, loose) = self.needs_to_pack();
        // what one thread gives back another cannot have
        if !self.limit.allows(self.part as usize, packing + 2 * loose) {
            self.repack();
            return Ok(());
        }
        let caller = thread::current();
        let empty = Self::new(self.index.weights().clone(), self.part);
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
            Ok(thread) => self.packing = Some(Packing(thread)),
            // there are no more threads
            Err(_) => {
                if let Some(catalog) = whole.lock().take() {
                    *self = catalog;
                    self.repack();
                }
            }
        }
        self.finish_packing(interrupt)
    }

    /// Says whether it is packed by a thread for which nobody has waited to the end.
    pub fn is_packing(&self) -> bool {
        self.packing.is_some()
    }

    /// Waits for what [`Self::repack_unless`] has begun.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub fn finish_packing(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let Some(Packing(thread)) = &self.packing else { return Ok(()) };
        wait_for(interrupt, |slice| {
            if !thread.is_finished() {
                thread::park_timeout(slice);
            }
            thread.is_finished().then_some(())
        })?;
        if let Some(Packing(thread)) = self.packing.take() {
            let packed = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            packed.into_iter().for_each(|catalog| *self = catalog);
        }
        Ok(())
    }

    /// Packs the index, numbering documents by path and then by position.
    pub fn repack(&mut self) {
        self.packings += 1;
        self.lined.lock().clear();
        self.shuffled = false;
        self.free.clear();
        self.files.retain(|file| file.present);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut order = Vec::with_capacity(self.rows.len());
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len() + ROOM);
        // headings that were edited leave their old labels behind
        let old = std::mem::take(&mut self.labels);
        let labels = &mut self.labels;
        labels.intern("");
        let mut label = |id: u32| labels.intern(old.text(id));
        self.by_path.clear();
        for (at, file) in self.files.iter_mut().enumerate() {
            file.summary = label(file.summary);
            let first = rows.len() as u32;
            for document in file.documents.iter() {
                order.push(document);
                let row = self.rows[document as usize];
                rows.push(Row {
                    file: at as u32,
                    trail: label(row.trail),
                    role: label(row.role),
                    session: label(row.session),
                    category: label(row.category),
                    ..row
                });
            }
            file.documents = Documents::Run(first..rows.len() as u32);
        }
        self.sorted = self.files.len();
        self.rows = rows.into_iter().collect();
        let census = self.index.census();
        self.index.repack(&order);
        if self.index.census() != census {
            // what a snapshot says of its documents is not what its lists say
            self.reject();
        }
        self.note_held();
        memory::give_back();
        // all is in memory now, unless some of it was lost
        self.kept.take_if(|kept| !kept.is_damaged());
    }
}
