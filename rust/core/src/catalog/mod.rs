//! Files ↔ documents: which file holds which documents, and how the two stay in step.
//!
//! The catalog is the index's other half. It reads a file, compares what it drafts with what the
//! index holds of it, and changes only the difference.

mod bulk;
pub(crate) mod cache;
pub mod draft;
pub(crate) mod reading;
pub mod snapshot;

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::catalog::draft::{Kind, Part};
use crate::catalog::reading::{Content, Reader, Reading, Resume};
use crate::error::{Error, Interrupt, Result};
use crate::files::root::{Root, Stat};
use crate::files::stamps::{Clock, now_ns, untrusted};
use crate::index::Index;
use crate::index::bm25f::Weights;
use crate::index::terms::Terms;

/// Where a document lies and what filters may ask about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Row {
    /// First byte in the file.
    pub start: u64,
    /// Hash of the bytes.
    pub hash: u64,
    /// Hash of all that was indexed.
    pub key: u64,
    /// Milliseconds since 1970; [`NO_TIME`] when unknown.
    pub time: i64,
    /// The file, as a place in [`Catalog::files`].
    pub file: u32,
    /// Bytes.
    pub length: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Heading trail, as a label.
    pub trail: u32,
    /// Role, as a label.
    pub role: u32,
    /// Session, as a label.
    pub session: u32,
    /// Category, as a label.
    pub category: u32,
    /// Keeps the layout free of holes.
    pub unused: u32,
}

/// [`Row::time`] of a document without one.
pub const NO_TIME: i64 = i64::MIN;

/// One file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Relative path.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The stamps it had when it was read, or [`untrusted`] ones.
    pub stat: Stat,
    /// What a note says of itself in one line, as a label.
    pub summary: u32,
    /// How far a transcript was read, so that only what was appended is read next time.
    pub seen: Seen,
    /// Its documents, in order of position.
    pub documents: Vec<u32>,
    /// Why nothing of it is in the index, when that is so: `encoding`, `large`.
    pub left_out: Option<&'static str>,
    /// False for a file that is gone; its place is taken again by the next new file.
    pub present: bool,
}

/// How far a transcript was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// End of the last whole line.
    pub offset: u64,
    /// Whole lines before that.
    pub lines: u32,
    /// Lines among them that could not be read.
    pub bad_lines: u32,
    /// Hash of the bytes just before `offset`.
    pub tail: u64,
}

/// What is to change in the documents of one file.
struct Change {
    reading: Reading,
    /// So many of its documents, from the first, stay as they are.
    kept: usize,
    /// Documents that it does not hold any more.
    gone: Vec<u32>,
}

/// See the module.
#[derive(Debug)]
pub struct Catalog {
    /// The index.
    pub index: Index,
    /// One row a document number.
    pub rows: Vec<Row>,
    /// Files by place.
    pub files: Vec<FileRow>,
    /// Trails, roles, sessions and categories.
    pub labels: Terms,
    by_path: FxHashMap<String, u32>,
    /// Places of files that are gone.
    free: Vec<u32>,
    part: Part,
    /// How finely stamps are kept.
    pub(crate) clock: Clock,
    /// Bytes read since the last snapshot: what the next opening would have to read again.
    pub redone: u64,
    /// How often it was packed: each time documents and terms are numbered anew.
    pub packings: u64,
}

impl Catalog {
    /// Makes an empty catalog.
    pub fn new(weights: Weights, part: Part) -> Self {
        Self::from_parts(Index::new(weights), Vec::new(), Vec::new(), Terms::default(), part)
    }

    /// Takes stamps to be no finer than those of `clock`.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Puts together what a snapshot kept.
    pub fn from_parts(
        index: Index,
        rows: Vec<Row>,
        files: Vec<FileRow>,
        labels: Terms,
        part: Part,
    ) -> Self {
        let mut labels = labels;
        // the empty label has number 0 everywhere
        labels.intern("");
        let by_path = files.iter().enumerate().map(|(at, f)| (f.path.clone(), at as u32)).collect();
        let (free, clock) = (Vec::new(), Clock::default());
        Self { index, rows, files, labels, by_path, free, part, clock, redone: 0, packings: 0 }
    }

    /// Returns the place of a path, taking one for it if it is new.
    pub(crate) fn place(&mut self, path: &str) -> u32 {
        if let Some(&at) = self.by_path.get(path) {
            return at;
        }
        let file = FileRow {
            path: path.to_owned(),
            kind: Kind::of(path),
            stat: Stat::default(),
            summary: 0,
            seen: Seen::default(),
            documents: Vec::new(),
            left_out: None,
            present: true,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.files[at as usize] = file;
                at
            }
            None => {
                self.files.push(file);
                self.files.len() as u32 - 1
            }
        };
        self.by_path.insert(path.to_owned(), at);
        at
    }

    /// Returns what of transcripts is in it.
    pub fn part(&self) -> Part {
        self.part
    }

    /// Returns the row of a file that is there.
    pub fn file(&self, path: &str) -> Option<&FileRow> {
        self.by_path.get(path).map(|&at| &self.files[at as usize])
    }

    /// Says whether a file with these stamps was read as it is now.
    pub fn knows(&self, path: &str, stat: &Stat) -> bool {
        self.file(path).is_some_and(|file| file.stat == *stat)
    }

    /// Reads a file anew and brings the index in step; returns whether anything changed.
    ///
    /// # Errors
    /// Those of reading the file, which then is in the index no more; [`Error::Interrupted`].
    pub fn update(&mut self, root: &Root, path: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        let now = now_ns();
        let clock = self.clock;
        let look = || root.stat(path).map(|stat| clock.see(stat));
        let read = look().and_then(|stat| Ok((stat, self.reread(root, path, &stat, interrupt)?)));
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

    /// As [`Self::update`], and takes nothing of a transcript for read.
    ///
    /// # Errors
    /// Those of [`Self::update`].
    pub fn verify(&mut self, root: &Root, path: &str, interrupt: Interrupt<'_>) -> Result<bool> {
        if let Some(&at) = self.by_path.get(path) {
            self.files[at as usize].seen = Seen::default();
        }
        self.update(root, path, interrupt)
    }

    /// Puts what was read in the place of what was there; returns whether anything changed.
    fn take(&mut self, path: &str, stat: Stat, change: Change) -> bool {
        let Change { reading, kept, gone } = change;
        let file = self.place(path);
        let mut changed = !gone.is_empty();
        for number in gone {
            self.index.delete(number);
        }
        let mut documents = std::mem::take(&mut self.files[file as usize].documents);
        documents.truncate(kept);
        for (row, content) in reading.rows {
            let row = Row { file, ..row };
            documents.push(match content {
                Content::Known(number) => {
                    self.rows[number as usize] = row;
                    number
                }
                Content::New(document) => {
                    changed = true;
                    self.rows.push(row);
                    self.index.insert(&document)
                }
            });
        }
        let row = &mut self.files[file as usize];
        row.stat = stat;
        row.seen = reading.seen;
        row.summary = self.labels.intern(&reading.summary);
        row.left_out = reading.left_out;
        row.documents = documents;
        if self.index.wants_packing() {
            self.repack();
        }
        changed
    }

    /// Reads a file and compares it with what the index holds of it.
    fn reread(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        interrupt: Interrupt<'_>,
    ) -> Result<Change> {
        let held = self.file(path).map_or(&[][..], |file| &file.documents);
        let resume = self.resume(root, path, stat)?;
        let kept = resume.as_ref().map_or(0, |_| held.len().saturating_sub(1));
        let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for &number in held[kept..].iter().rev() {
            known.entry(self.rows[number as usize].key).or_default().push(number);
        }
        let seen = self.file(path).map_or(0, |file| file.seen.offset);
        let (lexicon, labels, part) = (self.index.lexicon(), &mut self.labels, self.part);
        let mut reader = Reader { root, lexicon, labels, part, interrupt, known };
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
        let mut gone: Vec<u32> = reader.known.into_values().flatten().collect();
        gone.sort_unstable();
        Ok(Change { reading, kept, gone })
    }

    /// Says where to go on with a transcript that has only grown since it was read.
    ///
    /// One that has not grown was changed inside, if at all, and is read as a whole.
    fn resume(&self, root: &Root, path: &str, stat: &Stat) -> Result<Option<Resume>> {
        let grown = |file: &&FileRow| {
            file.kind == Kind::Transcript
                && (file.stat.dev, file.stat.ino) == (stat.dev, stat.ino)
                && file.stat.size < stat.size
        };
        let Some(file) = self.file(path).filter(grown) else { return Ok(None) };
        let mut last = file.documents.iter().rev().map(|&number| self.rows[number as usize]);
        let (last, before) = (last.next(), last.next());
        Resume::new(root, path, file.seen, [before, last])
    }

    /// Takes a file out; returns whether it was there.
    pub fn remove(&mut self, path: &str) -> bool {
        let Some(at) = self.by_path.remove(path) else { return false };
        let file = &mut self.files[at as usize];
        for document in std::mem::take(&mut file.documents) {
            self.index.delete(document);
        }
        file.present = false;
        self.free.push(at);
        true
    }

    /// Packs the index, numbering documents by path and then by position.
    pub fn repack(&mut self) {
        self.packings += 1;
        self.free.clear();
        self.files.retain(|file| file.present);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut order = Vec::with_capacity(self.rows.len());
        let mut rows = Vec::with_capacity(self.rows.len());
        // headings that were edited leave their old labels behind
        let old = std::mem::take(&mut self.labels);
        let labels = &mut self.labels;
        labels.intern("");
        let mut label = |id: u32| labels.intern(old.text(id));
        self.by_path.clear();
        for (at, file) in self.files.iter_mut().enumerate() {
            self.by_path.insert(file.path.clone(), at as u32);
            file.summary = label(file.summary);
            for document in &mut file.documents {
                order.push(*document);
                let row = self.rows[*document as usize];
                *document = rows.len() as u32;
                rows.push(Row {
                    file: at as u32,
                    trail: label(row.trail),
                    role: label(row.role),
                    session: label(row.session),
                    category: label(row.category),
                    ..row
                });
            }
        }
        self.rows = rows;
        self.index.repack(&order);
    }

    /// Returns the bytes of memory that the catalog and its index take.
    pub fn bytes(&self) -> usize {
        let files = self.files.iter().map(|f| f.path.len() * 2 + f.documents.capacity() * 4 + 160);
        self.index.bytes()
            + self.rows.capacity() * size_of::<Row>()
            + self.labels.bytes()
            + files.sum::<usize>()
    }

    /// Orders documents by path, then by position.
    pub fn order(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (&self.rows[a as usize], &self.rows[b as usize]);
        let path = |row: &Row| self.files[row.file as usize].path.as_str();
        match a.file == b.file {
            true => a.start.cmp(&b.start),
            false => path(a).cmp(path(b)),
        }
    }
}
