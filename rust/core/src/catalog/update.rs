//! Update of one file in the index: only documents that differ are deleted and inserted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::extract::Corpus;
use crate::catalog::file_change::FileChange;
use crate::catalog::file_reader::{DocContent, DocSink as _};
use crate::catalog::memory_estimate::EXTRACTION_FACTOR;
use crate::catalog::{Catalog, DocIds, DocMeta, FileMeta, ReadProgress};
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::racy_stat::{now_ns, untrusted};
use crate::files::root::{Root, Stat};

/// Returns a number that no catalog of this process has had.
pub(super) fn next_revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Catalog {
    /// Reads a file again and updates the index; returns whether anything changed.
    ///
    /// # Errors
    /// Those of reading the file, which then is in the index no more; [`Error::Interrupted`].
    pub fn update(&mut self, root: &Root, path: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        self.read_again(root, path, false, interrupt)
    }

    fn read_again(
        &mut self,
        root: &Root,
        path: &str,
        whole: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        // both are needed soon, and on the disk they lie apart
        if let Some(FileMeta { documents: DocIds::Range(run), .. }) = self.file(path) {
            // a transcript mostly grows at its end
            let from = match FileKind::of(path) {
                FileKind::Note => run.start,
                _ => run.end.saturating_sub(2).max(run.start),
            };
            self.docs.prefetch(from..run.end);
            self.readahead(from..run.end);
        }
        let now = now_ns();
        let clock = self.clock;
        let look = || root.stat(path).map(|stat| clock.truncate(stat));
        let read = look().and_then(|stat| {
            let change = match FileKind::of(path) {
                FileKind::Note if self.corpus == Corpus::Main => {
                    self.reread_note(root, path, &stat, whole, interrupt)?
                }
                _ => self.reread(root, path, &stat, interrupt)?,
            };
            Ok((stat, change))
        });
        match read {
            Ok((stat, change)) => {
                // a write during the read shows in the stamps: the next call reads again
                let stat = if look().is_ok_and(|after| after == stat) {
                    clock.trusted(&stat, now)
                } else {
                    untrusted(&stat)
                };
                Ok(self.apply(path, stat, change))
            }
            Err(Error::NotFound { .. }) => Ok(self.remove(path)),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(error) => {
                self.remove(path);
                Err(error)
            }
        }
    }

    /// As [`Self::update`], and takes nothing of it for read.
    ///
    /// # Errors
    /// Those of [`Self::update`].
    pub fn verify(&mut self, root: &Root, path: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        if let Some(at) = self.find(path) {
            self.files[at as usize].progress = ReadProgress::default();
        }
        self.read_again(root, path, true, interrupt)
    }

    /// Applies a change to the index and the tables; returns whether anything changed.
    fn apply(&mut self, path: &str, stat: Stat, change: FileChange) -> bool {
        let FileChange { reading, docs, kept, rest, moved: by, gone } = change;
        let file = self.place(path);
        let mut changed = !gone.is_empty();
        for number in gone {
            self.index.delete(number);
        }
        let held = std::mem::take(&mut self.files[file as usize].documents);
        let mut moved = false;
        let mut documents = Vec::with_capacity(held.len());
        documents.extend(held.iter().take(kept));
        for (doc, content) in docs.into_iter().flatten() {
            let doc = DocMeta { file, ..doc };
            documents.push(match content {
                DocContent::Indexed(number) => {
                    let doc = DocMeta { trail: self.docs[number as usize].trail, ..doc };
                    moved |= self.docs[number as usize] != doc;
                    self.docs.set(number, doc);
                    number
                }
                DocContent::New(document) => {
                    changed = true;
                    self.docs.push(doc);
                    self.index.insert(&document)
                }
            });
        }
        for number in (rest..held.len()).map(|at| held.get(at)) {
            moved |= self.shift(number, by);
            documents.push(number);
        }
        let same = documents.iter().copied().eq(held.iter());
        if changed || moved || !same {
            self.revision = next_revision();
            let packed = self.index.packed_documents();
            self.reordered |= !documents.iter().filter(|&&number| number < packed).is_sorted();
        }
        let file_meta = &mut self.files[file as usize];
        let before = (file_meta.stat.size, file_meta.stat.mtime_ns);
        if changed || moved || !same || before != (stat.size, stat.mtime_ns) {
            self.changes.push(path);
        }
        file_meta.stat = stat;
        file_meta.progress = reading.progress;
        file_meta.summary = self.labels.interner().intern(&reading.summary);
        file_meta.left_out = reading.left_out;
        file_meta.cut = reading.cut.is_some();
        file_meta.needs = reading.needs;
        file_meta.documents = if same { held } else { DocIds::List(documents) };
        self.report_memory_use();
        changed
    }

    /// Moves a document by so many bytes and lines; returns whether that changes it.
    fn shift(&mut self, number: u32, by: (i64, i64)) -> bool {
        let doc = self.docs[number as usize];
        let start = doc.start.saturating_add_signed(by.0);
        let line = doc.line.saturating_add_signed(by.1 as i32);
        if by != (0, 0) {
            self.docs.set(number, DocMeta { start, line, ..doc });
        }
        by != (0, 0)
    }

    /// Returns whether there is room by now for what of a file was left out for want of it.
    pub fn has_room_for(&self, path: &str) -> bool {
        let Some(file) = self.file(path).filter(|file| file.lacks_memory()) else { return false };
        let dictionaries = self.index.lexicon().bytes() + self.labels.bytes();
        let read = if file.kind == FileKind::Transcript { file.progress.offset } else { 0 };
        let rest = file.stat.size.saturating_sub(read);
        let needs = rest.saturating_mul(EXTRACTION_FACTOR).max(file.needs);
        self.pending_docs().allows(dictionaries, needs)
    }

    /// Removes a file; returns whether it was there.
    pub fn remove(&mut self, path: &str) -> bool {
        let Some(at) = self.find(path).filter(|&at| self.files[at as usize].present) else {
            return false;
        };
        self.revision = next_revision();
        self.changes.push(path);
        let file = &mut self.files[at as usize];
        for document in std::mem::take(&mut file.documents).iter() {
            self.index.delete(document);
        }
        file.present = false;
        (file.left_out, file.cut, file.needs) = (None, false, 0);
        if self.by_path.remove(path).is_some() {
            self.free.push(at);
        }
        true
    }
}
