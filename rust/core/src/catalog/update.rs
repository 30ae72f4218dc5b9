//! One file read anew: only what differs of it is deleted and inserted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::draft::{Kind, Part};
use crate::catalog::edited::edited;
use crate::catalog::footprint::DRAFTED;
use crate::catalog::reading::{Content, Known, Reader, Reading, Resume, Sink, read_note};
use crate::catalog::{Catalog, Documents, FileRow, Row, Seen};
use crate::error::{Error, Interrupt, Result};
use crate::files::root::{Root, Stat};
use crate::files::stamps::{now_ns, untrusted};
use crate::index::packing::{loose_bytes, packing_bytes};
use crate::memory_limit::MemoryLimit;
use crate::text::sections::as_text;

/// Returns a number that no catalog of this process has had.
pub(super) fn next_revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Documents of a file that are thought to change before it is known which.
const FEW: u32 = 64;

/// Documents that are read before they are put in the place of those that were there.
struct Pending {
    rows: Vec<(Row, Content)>,
    /// Documents and postings, of the index and in `rows`.
    documents: usize,
    postings: usize,
    /// Of these those that are not packed.
    loose: usize,
    limit: MemoryLimit,
    part: Part,
}

impl Sink for Pending {
    fn take(&mut self, row: Row, content: Content) {
        if let Content::New(document) = &content {
            self.documents += 1;
            self.postings += document.concepts.len();
            self.loose += document.concepts.len();
        }
        self.rows.push((row, content));
    }

    fn allows(&self, dictionaries: usize, more: u64) -> bool {
        let packing =
            packing_bytes(self.documents as u64, self.postings as u64, dictionaries as u64);
        let pending = self.rows.len() * size_of::<(Row, Content)>();
        let loose = loose_bytes(self.loose as u64, dictionaries as u64);
        self.limit
            .allows(self.part as usize, (packing + loose + pending as u64).saturating_add(more))
    }
}

/// What is to change in the documents of one file.
struct Change {
    reading: Reading,
    rows: Vec<(Row, Content)>,
    /// So many of its documents, from the first, stay as they are.
    kept: usize,
    /// So do those from this place on, but for where they lie.
    rest: usize,
    /// By how many bytes and lines those have moved.
    moved: (i64, i64),
    /// Documents that it does not hold any more.
    gone: Vec<u32>,
}

impl Catalog {
    /// Reads a file anew and brings the index in step; returns whether anything changed.
    ///
    /// # Errors
    /// Those of reading the file, which then is in the index no more; [`Error::Interrupted`].
    pub fn update(&mut self, root: &Root, path: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        self.bring(root, path, false, interrupt)
    }

    fn bring(
        &mut self,
        root: &Root,
        path: &str,
        whole: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        // both are looked at soon, and on the disk they lie apart
        if let Some(FileRow { documents: Documents::Run(run), .. }) = self.file(path) {
            // a transcript mostly goes on behind its last message
            let from = match Kind::of(path) {
                Kind::Note => run.start,
                _ => run.end.saturating_sub(2).max(run.start),
            };
            self.rows.expect(from..run.end);
            self.index.expect(from..run.end.min(from.saturating_add(FEW)));
        }
        let now = now_ns();
        let clock = self.clock;
        let look = || root.stat(path).map(|stat| clock.see(stat));
        let read = look().and_then(|stat| {
            let change = match Kind::of(path) {
                Kind::Note if self.part == Part::Said => {
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
                Ok(self.take(path, stat, change))
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
            self.files[at as usize].seen = Seen::default();
        }
        self.bring(root, path, true, interrupt)
    }

    /// Puts what was read in the place of what was there; returns whether anything changed.
    fn take(&mut self, path: &str, stat: Stat, change: Change) -> bool {
        let Change { reading, rows, kept, rest, moved: by, gone } = change;
        let file = self.place(path);
        let mut changed = !gone.is_empty();
        for number in gone {
            self.index.delete(number);
        }
        let held = std::mem::take(&mut self.files[file as usize].documents);
        let mut moved = false;
        let mut documents = Vec::with_capacity(held.len() + rows.len());
        documents.extend(held.iter().take(kept));
        for (row, content) in rows {
            let row = Row { file, ..row };
            documents.push(match content {
                Content::Known(number) => {
                    let row = Row { trail: self.rows[number as usize].trail, ..row };
                    moved |= self.rows[number as usize] != row;
                    self.rows.set(number, row);
                    number
                }
                Content::New(document) => {
                    changed = true;
                    self.rows.push(row);
                    self.index.insert(&document)
                }
            });
        }
        for number in (rest..held.len()).map(|at| held.get(at)) {
            let row = self.rows[number as usize];
            let start = row.start.saturating_add_signed(by.0);
            let line = row.line.saturating_add_signed(by.1 as i32);
            if by != (0, 0) {
                moved = true;
                self.rows.set(number, Row { start, line, ..row });
            }
            documents.push(number);
        }
        if changed || moved || !documents.iter().copied().eq(held.iter()) {
            self.revision = next_revision();
            let packed = self.index.packed_documents();
            self.shuffled |= !documents.iter().filter(|&&number| number < packed).is_sorted();
        }
        let row = &mut self.files[file as usize];
        row.stat = stat;
        row.seen = reading.seen;
        row.summary = self.labels.intern(&reading.summary);
        row.left_out = reading.left_out;
        row.cut = reading.cut.is_some();
        row.needs = reading.needs;
        row.documents = Documents::List(documents);
        self.note_held();
        changed
    }

    /// Begins to read documents that are to be put in the place of others.
    fn pending(&self, room: usize) -> Pending {
        Pending {
            rows: Vec::with_capacity(room),
            documents: self.index.numbers() as usize,
            postings: self.index.postings(),
            loose: self.index.loose_postings(),
            limit: self.limit.clone(),
            part: self.part,
        }
    }

    /// Reads a file and compares it with what the index holds of it.
    fn reread(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        interrupt: Interrupt<'_>,
    ) -> Result<Change> {
        let (none, file) = (Documents::default(), self.file(path));
        let held = file.map_or(&none, |file| &file.documents);
        let seen = file.map_or(0, |file| file.seen.offset);
        let resume = file.map_or(Ok(None), |file| self.resume(root, file, stat))?;
        let kept = resume.as_ref().map_or(0, |_| held.len().saturating_sub(1));
        let count = held.len();
        let from_last = (kept..count).rev().map(|at| held.get(at));
        let known = Known::from_last(from_last.map(|n| (self.rows[n as usize].key, n)));
        let mut pending = self.pending(count - kept);
        let (lexicon, labels, part) = (self.index.lexicon(), &mut self.labels, self.part);
        let (limit, sink) = (&self.limit, &mut pending);
        let mut reader = Reader { root, lexicon, labels, part, interrupt, known, limit, sink };
        let reading = match resume {
            Some(resume) => {
                self.redone += stat.size - seen;
                reader.rest(path, stat, resume)?
            }
            None => {
                self.redone += stat.size;
                reader.whole(path, stat)?
            }
        };
        let mut gone: Vec<u32> = reader.known.left().collect();
        gone.sort_unstable();
        Ok(Change { reading, rows: pending.rows, kept, rest: count, moved: (0, 0), gone })
    }

    /// Reads a note, only what has changed of it if that can be told, and compares it with what the
    /// index holds.
    fn reread_note(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        whole: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<Change> {
        self.redone += stat.size;
        let file = self.file(path);
        let held: Vec<u32> = file.map_or(Vec::new(), |file| file.documents.iter().collect());
        let summary = file.map_or(0, |file| file.summary);
        let mut pending = self.pending(0);
        let dictionaries = self.index.words().bytes() + self.labels.bytes();
        let allows = |more| pending.allows(dictionaries, more);
        let text = match read_note(root, path, stat, &self.limit, &allows)? {
            Ok(bytes) => bytes,
            Err(left_out) => {
                let mut reading = Reading::default();
                left_out.note(&mut reading);
                let (rows, rest) = (Vec::new(), held.len());
                return Ok(Change { reading, rows, kept: 0, rest, moved: (0, 0), gone: held });
            }
        };
        let text = as_text(&text);
        let rows: Vec<Row> = held.iter().map(|&number| self.rows[number as usize]).collect();
        let edited = if whole { None } else { edited(&text, &rows, &self.labels, interrupt) };
        let (kept, rest) = edited.as_ref().map_or((0, held.len()), |e| (e.kept, e.rest));
        if let (Some(&first), Some(&last)) = (held[kept..rest].first(), held[kept..rest].last()) {
            self.index.expect(first..last.saturating_add(1).min(first.saturating_add(FEW)));
        }
        let keys = rows[kept..rest].iter().map(|row| row.key).zip(held[kept..rest].iter().copied());
        let known = Known::from_last(keys.rev());
        let mut reading = Reading::default();
        if edited.is_some() {
            reading.summary = self.labels.text(summary).to_owned();
        }
        let (lexicon, labels, part) = (self.index.lexicon(), &mut self.labels, self.part);
        let (limit, sink) = (&self.limit, &mut pending);
        let mut reader = Reader { root, lexicon, labels, part, interrupt, known, limit, sink };
        match &edited {
            Some(edited) => reader.edited(path, &text, &edited.cut(), &mut reading)?,
            None => reader.note(path, &text, &mut reading)?,
        }
        let mut gone: Vec<u32> = reader.known.left().collect();
        gone.sort_unstable();
        let moved = edited.map_or((0, 0), |edited| edited.moved);
        Ok(Change { reading, rows: pending.rows, kept, rest, moved, gone })
    }

    /// Says where to go on with a transcript that has only grown since it was read.
    ///
    /// One that has not grown was changed inside, if at all, and is read as a whole.
    fn resume(&self, root: &Root, file: &FileRow, stat: &Stat) -> Result<Option<Resume>> {
        let grown = file.kind == Kind::Transcript
            && (file.stat.dev, file.stat.ino) == (stat.dev, stat.ino)
            && file.stat.size < stat.size;
        if !grown {
            return Ok(None);
        }
        let mut last = file.documents.iter().rev().map(|number| self.rows[number as usize]);
        let (last, before) = (last.next(), last.next());
        Resume::new(root, &file.path, file.seen, [before, last])
    }

    /// Says whether there is room by now for what of a file was left out for want of it.
    pub fn has_room_for(&self, path: &str) -> bool {
        let Some(file) = self.file(path).filter(|file| file.lacks_memory()) else { return false };
        let dictionaries = self.index.words().bytes() + self.labels.bytes();
        let read = if file.kind == Kind::Transcript { file.seen.offset } else { 0 };
        let rest = file.stat.size.saturating_sub(read);
        let needs = rest.saturating_mul(DRAFTED).max(file.needs);
        self.pending(0).allows(dictionaries, needs)
    }

    /// Takes a file out; returns whether it was there.
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
