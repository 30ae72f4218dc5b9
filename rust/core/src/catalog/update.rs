//! Update of one file in the index: only documents that differ are deleted and inserted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::extract::Corpus;
use crate::catalog::file_reader::{
    DocContent, DocSink as _, FileReader, LeftOut, ReadResult, read_note,
};
use crate::catalog::incremental_parse::parse_incrementally;
use crate::catalog::memory_estimate::EXTRACTION_FACTOR;
use crate::catalog::transcript_resume::TranscriptResume;
use crate::catalog::{Catalog, DocIds, DocMeta, FileMeta, ReadProgress};
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::racy_stat::{now_ns, untrusted};
use crate::files::root::{Root, Stat};
use crate::memory_limit::ALWAYS_THERE;
use crate::text::encoding::as_text;

/// Returns a number that no catalog of this process has had.
pub(super) fn next_revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Most documents of a file that are prefetched before it is known which change.
const PREFETCHED_DOCS: u32 = 64;

/// The change of the documents of one file.
struct FileChange {
    reading: ReadResult,
    docs: Vec<Vec<(DocMeta, DocContent)>>,
    /// So many of its documents, from the first, stay as they are.
    kept: usize,
    /// So do those from this place on, but for where they lie.
    rest: usize,
    /// By how many bytes and lines those have moved.
    moved: (i64, i64),
    /// Documents that it does not hold any more.
    gone: Vec<u32>,
}

impl FileChange {
    /// Returns the change of a file of which nothing can be indexed any more.
    fn of_left_out(left_out: LeftOut, gone: Vec<u32>) -> Self {
        let mut reading = ReadResult::default();
        left_out.note(&mut reading);
        let (docs, rest) = (Vec::new(), gone.len());
        Self { reading, docs, kept: 0, rest, moved: (0, 0), gone }
    }
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
            self.index.readahead(from..run.end.min(from.saturating_add(PREFETCHED_DOCS)));
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
        file_meta.stat = stat;
        file_meta.progress = reading.progress;
        file_meta.summary = self.labels.intern(&reading.summary);
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

    /// Reads a file and compares it with what the index holds of it.
    fn reread(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        interrupt: Interrupt<'_>,
    ) -> Result<FileChange> {
        let (none, file) = (DocIds::default(), self.file(path));
        let held = file.map_or(&none, |file| &file.documents);
        let seen = file.map_or(0, |file| file.progress.offset);
        let resume = file.map_or(Ok(None), |file| self.resume(root, file, stat))?;
        let kept = resume.as_ref().map_or(0, |_| held.len().saturating_sub(1));
        let count = held.len();
        let from_last = || (kept..count).rev().map(|at| held.get(at));
        let keys = || from_last().map(|number| (self.docs[number as usize].key, number));
        let (indexed, mut pending) = match self.begin_comparison(count - kept, keys) {
            Ok(begun) => begun,
            Err(needed) => return self.same_or_left_out(root, path, needed, interrupt),
        };
        let (lexicon, labels, corpus) = (self.index.lexicon_mut(), &mut self.labels, self.corpus);
        let (limit, sink) = (&self.limit, &mut pending);
        let mut reader =
            FileReader { root, lexicon, labels, corpus, interrupt, indexed, limit, sink };
        let reading = match resume {
            Some(resume) => {
                self.reread_bytes += stat.size - seen;
                reader.rest(path, stat, resume)?
            }
            None => {
                self.reread_bytes += stat.size;
                reader.whole(path, stat)?
            }
        };
        let mut gone: Vec<u32> = reader.indexed.remaining().collect();
        gone.sort_unstable();
        Ok(FileChange { reading, docs: pending.docs, kept, rest: count, moved: (0, 0), gone })
    }

    /// Reads a note, only what has changed of it if that can be determined, and compares it with
    /// what the index holds.
    fn reread_note(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        whole: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<FileChange> {
        self.reread_bytes += stat.size;
        let file = self.file(path);
        let count = file.map_or(0, |file| file.documents.len());
        let pending = self.pending_docs();
        let dictionaries = self.index.lexicon().bytes() + self.labels.bytes();
        let allows = |more| pending.allows(dictionaries, more);
        let lists = (count * (size_of::<DocMeta>() + size_of::<u32>())) as u64;
        if lists > ALWAYS_THERE && !allows(lists) {
            return self.same_or_left_out(root, path, lists, interrupt);
        }
        let held: Vec<u32> = file.map_or(Vec::new(), |file| file.documents.iter().collect());
        let summary = file.map_or(0, |file| file.summary);
        let bytes = match read_note(root, path, stat, &self.limit, &allows)? {
            Ok(bytes) => bytes,
            Err(left_out) => {
                return Ok(FileChange::of_left_out(left_out, held));
            }
        };
        let text = as_text(&bytes);
        let docs: Vec<DocMeta> = held.iter().map(|&number| self.docs[number as usize]).collect();
        let partial = match whole {
            true => None,
            false => parse_incrementally(&text, &docs, &self.labels, interrupt),
        };
        let (kept, rest) = partial.as_ref().map_or((0, held.len()), |e| (e.kept, e.rest));
        if let (Some(&first), Some(&last)) = (held[kept..rest].first(), held[kept..rest].last()) {
            self.index.readahead(
                first..last.saturating_add(1).min(first.saturating_add(PREFETCHED_DOCS)),
            );
        }
        let keys = docs[kept..rest].iter().map(|doc| doc.key).zip(held[kept..rest].iter().copied());
        let (indexed, mut pending) = match self.begin_comparison(rest - kept, || keys.rev()) {
            Ok(begun) => begun,
            Err(needed) => {
                drop((docs, text, partial));
                drop(bytes);
                return self.same_or_left_out(root, path, needed, interrupt);
            }
        };
        let mut reading = ReadResult::default();
        if partial.is_some() {
            reading.summary = self.labels.text(summary).to_owned();
        }
        let (lexicon, labels, corpus) = (self.index.lexicon_mut(), &mut self.labels, self.corpus);
        let (limit, sink) = (&self.limit, &mut pending);
        let mut reader =
            FileReader { root, lexicon, labels, corpus, interrupt, indexed, limit, sink };
        match &partial {
            Some(partial) => {
                reader.changed_sections(path, &text, &partial.range(), &mut reading)?
            }
            None => reader.note(path, &text, &mut reading)?,
        }
        let mut gone: Vec<u32> = reader.indexed.remaining().collect();
        gone.sort_unstable();
        let moved = partial.map_or((0, 0), |partial| partial.moved);
        Ok(FileChange { reading, docs: pending.docs, kept, rest, moved, gone })
    }

    /// Compares a file with what the index holds of it where there is no memory to find out what
    /// has changed, but that so many bytes would be needed: what differs is left out.
    fn same_or_left_out(
        &mut self,
        root: &Root,
        path: &str,
        needed: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<FileChange> {
        let is_same = self.matches_file(root, path, interrupt)? == Some(true);
        let file = self.file(path).cloned().unwrap_or_else(|| FileMeta::new(path.to_owned()));
        if !is_same {
            let gone = file.documents.iter().collect();
            return Ok(FileChange::of_left_out(LeftOut::for_memory(needed), gone));
        }
        let mut reading = ReadResult::default();
        reading.progress = file.progress;
        reading.summary = self.labels.text(file.summary).to_owned();
        reading.cut = file.cut.then_some((file.progress.offset, file.progress.lines));
        reading.needs = file.needs;
        let (docs, gone, all) = (Vec::new(), Vec::new(), file.documents.len());
        Ok(FileChange { reading, docs, kept: all, rest: all, moved: (0, 0), gone })
    }

    /// Returns where to resume a transcript that has only grown since it was read.
    ///
    /// One that has not grown was changed inside, if at all, and is read as a whole.
    fn resume(
        &self,
        root: &Root,
        file: &FileMeta,
        stat: &Stat,
    ) -> Result<Option<TranscriptResume>> {
        let grown = file.kind == FileKind::Transcript
            && (file.stat.dev, file.stat.ino) == (stat.dev, stat.ino)
            && file.stat.size < stat.size;
        if !grown {
            return Ok(None);
        }
        let mut last = file.documents.iter().rev().map(|number| self.docs[number as usize]);
        let (last, before) = (last.next(), last.next());
        let title = self.labels.text(file.summary);
        TranscriptResume::new(root, &file.path, file.progress, [before, last], title)
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
