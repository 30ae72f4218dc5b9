//! Files ↔ documents: which file holds which documents, and how the two stay in step.
//!
//! The catalog is the index's other half. It reads a file, compares what it drafts with what the
//! index holds of it, and changes only the difference.

use std::cmp::Ordering;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::bm25f::Weights;
use crate::draft::{Draft, Kind, Messages, Part, note};
use crate::error::{Error, Interrupt, Result};
use crate::index::Index;
use crate::index::lexicon::{Document, Lexicon};
use crate::index::packing::Run;
use crate::index::terms::Terms;
use crate::message::{self, Line, Message};
use crate::root::{Root, Stat};
use crate::sections::as_text;
use crate::transcript::lines;

/// Notes larger than this are listed and can be searched with grep, but are not indexed.
pub const LARGEST_NOTE: u64 = 256 << 20;

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
    /// The stamps it had when it was read; zero when they must not be trusted.
    pub stat: Stat,
    /// What a note says of itself in one line, as a label.
    pub summary: u32,
    /// How far a transcript was read, so that only what was appended is read next time.
    pub seen: Seen,
    /// Its documents, in order of position.
    pub documents: Vec<u32>,
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
    /// Hash of the bytes just before `offset`, at most [`TAIL`] of them.
    pub tail: u64,
}

/// Bytes by which a transcript that grew is told from one that was rewritten.
const TAIL: u64 = 4096;

/// What was read of one file, before it has a place in the index.
#[derive(Debug, Default)]
struct Reading {
    rows: Vec<(Row, Content)>,
    seen: Seen,
    summary: String,
}

/// What one of the two threads of a build has read.
#[derive(Debug, Default)]
struct Half {
    run: Run,
    labels: Terms,
    readings: Vec<(usize, Result<Reading>)>,
}

/// The content of a document that was read.
#[derive(Debug)]
enum Content {
    /// The index holds it under this number.
    Known(u32),
    /// The index is to take it in.
    New(Document),
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
    part: Part,
    /// Bytes read since the last snapshot: what the next opening would have to read again.
    pub redone: u64,
}

/// Turns the drafts of a file into rows and documents, with the dictionaries of one thread.
struct Reader<'a> {
    lexicon: &'a mut Lexicon,
    labels: &'a mut Terms,
    part: Part,
    /// Documents of this file that the index holds, by key.
    known: FxHashMap<u64, Vec<u32>>,
}

impl Reader<'_> {
    fn draft(&mut self, draft: &Draft<'_>, reading: &mut Reading) {
        let content = match self.known.get_mut(&draft.key).and_then(Vec::pop) {
            Some(number) => Content::Known(number),
            None => {
                for (field, text) in &draft.fields {
                    self.lexicon.add(*field, text);
                }
                Content::New(self.lexicon.finish())
            }
        };
        let row = Row {
            start: draft.start,
            hash: draft.hash,
            key: draft.key,
            time: draft.time.unwrap_or(NO_TIME),
            file: 0,
            length: draft.length,
            line: draft.line,
            trail: self.labels.intern(&draft.trail),
            role: self.labels.intern(&draft.role),
            session: self.labels.intern(&draft.session),
            category: self.labels.intern(&draft.category),
            unused: 0,
        };
        reading.rows.push((row, content));
    }

    fn read(&mut self, root: &Root, path: &str, stat: &Stat) -> Result<Reading> {
        let mut reading = Reading::default();
        match Kind::of(path) {
            Kind::Note if stat.size <= LARGEST_NOTE && self.part == Part::Said => {
                let bytes = root.read(path)?;
                if !is_utf16(&bytes) {
                    let text = as_text(&bytes);
                    let told = note(path, &text, &mut |draft| self.draft(&draft, &mut reading));
                    reading.summary = told.unwrap_or_default();
                }
            }
            Kind::Transcript => {
                let file = root.open_read(path)?;
                let messages = Messages::new(self.part, None);
                self.transcript(&file, path, stat.size, 0, 0, messages, &mut reading)?;
            }
            _ => {}
        }
        Ok(reading)
    }

    /// Reads messages from a line on; `reading.seen` says how far an earlier reading came.
    #[expect(
        clippy::too_many_arguments,
        reason = "a place in a file and where to put what is there"
    )]
    fn transcript(
        &mut self,
        file: &File,
        path: &str,
        size: u64,
        offset: u64,
        line: u32,
        mut messages: Messages,
        reading: &mut Reading,
    ) -> Result<()> {
        let seen = reading.seen;
        let mut now = Seen { lines: line, ..seen };
        lines(file, path, offset..size, &mut |start, bytes, whole| {
            let sound = whole
                && messages.line(start, now.lines + 1, bytes, &mut |d| self.draft(&d, reading));
            if bytes.ends_with(b"\n") {
                now.lines += 1;
                now.offset = start + bytes.len() as u64;
                now.bad_lines += u32::from(!sound && now.offset > seen.offset);
            }
        })?;
        messages.finish(&mut |draft| self.draft(&draft, reading));
        now.tail = tail(file, path, now.offset)?;
        reading.seen = now;
        Ok(())
    }
}

/// Hashes the bytes just before an offset.
fn tail(file: &File, path: &str, offset: u64) -> Result<u64> {
    let mut bytes = vec![0; TAIL.min(offset) as usize];
    let start = offset - bytes.len() as u64;
    let read = file.read_at(&mut bytes, start);
    let read = read.map_err(|error| Error::io("read", path, error))?;
    Ok(xxh3_64(&bytes[..read]))
}

/// UTF-16 is not indexed: as bytes it would be noise, and it is never rewritten.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

impl Catalog {
    /// Makes an empty catalog.
    pub fn new(weights: Weights, part: Part) -> Self {
        Self::from_parts(Index::new(weights), Vec::new(), Vec::new(), Terms::default(), part)
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
        Self { index, rows, files, labels, by_path, part, redone: 0 }
    }

    /// Reads all files on two threads and builds the index at one go.
    ///
    /// Returns the catalog and what could not be read.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the caller asks to stop.
    pub fn build(
        root: &Root,
        files: &[(String, Stat)],
        weights: Weights,
        part: Part,
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Vec<(String, Error)>)> {
        /// Large steps keep neighbours, which share words, on one thread.
        const STEP: usize = 32;
        let next = AtomicUsize::new(0);
        let work = |stop: &dyn Fn() -> bool| {
            let mut half = Half::default();
            loop {
                let from = next.fetch_add(STEP, AtomicOrdering::Relaxed);
                if from >= files.len() || stop() {
                    half.run.lexicon.rest();
                    return half;
                }
                for at in from..files.len().min(from + STEP) {
                    let (path, stat) = &files[at];
                    let (lexicon, labels) = (&mut half.run.lexicon, &mut half.labels);
                    let mut reader = Reader { lexicon, labels, part, known: FxHashMap::default() };
                    let reading = reader.read(root, path, stat);
                    half.readings.push((at, reading));
                }
            }
        };
        let now = now_ns();
        let mut interrupted = false;
        let halves: Vec<Half> = std::thread::scope(|scope| {
            let other = scope.spawn(|| work(&|| false));
            // only the caller's own thread may ask whether to stop
            let own = work(&|| interrupt());
            if interrupt() {
                interrupted = true;
                next.store(files.len(), AtomicOrdering::Relaxed);
            }
            [Some(own), other.join().ok()].into_iter().flatten().collect()
        });
        if interrupted {
            return Err(Error::Interrupted);
        }
        let mut catalog = Self::new(weights.clone(), part);
        let mut failures = Vec::new();
        let mut order: Vec<(usize, usize, Reading)> = Vec::new();
        let mut runs = Vec::new();
        let mut label_of = Vec::new();
        for (half, Half { run, labels, readings }) in halves.into_iter().enumerate() {
            runs.push(run);
            let labels = (0..labels.len() as u32).map(|id| catalog.labels.intern(labels.text(id)));
            label_of.push(labels.collect::<Vec<u32>>());
            for (at, reading) in readings {
                match reading {
                    Ok(reading) => order.push((at, half, reading)),
                    Err(error) => failures.push((files[at].0.clone(), error)),
                }
            }
        }
        order.sort_unstable_by_key(|&(at, ..)| at);
        for (at, half, reading) in order {
            let (path, stat) = &files[at];
            let file = catalog.place(path);
            let label = |id: u32| label_of[half][id as usize];
            let row = &mut catalog.files[file as usize];
            row.stat = trusted(stat, now);
            row.seen = reading.seen;
            row.summary = catalog.labels.intern(&reading.summary);
            for (draft, content) in reading.rows {
                let Content::New(document) = content else { continue };
                let number = catalog.rows.len() as u32;
                row.documents.push(number);
                runs[half].documents.push((number, document));
                catalog.rows.push(Row {
                    file,
                    trail: label(draft.trail),
                    role: label(draft.role),
                    session: label(draft.session),
                    category: label(draft.category),
                    ..draft
                });
            }
        }
        catalog.index = Index::build(weights, runs);
        Ok((catalog, failures))
    }

    /// Returns the place of a path, taking one for it if it is new.
    fn place(&mut self, path: &str) -> u32 {
        if let Some(&at) = self.by_path.get(path) {
            self.files[at as usize].present = true;
            return at;
        }
        let at = self.files.len() as u32;
        self.files.push(FileRow {
            path: path.to_owned(),
            kind: Kind::of(path),
            stat: Stat::default(),
            summary: 0,
            seen: Seen::default(),
            documents: Vec::new(),
            present: true,
        });
        self.by_path.insert(path.to_owned(), at);
        at
    }

    /// Returns what of transcripts is in it.
    pub fn part(&self) -> Part {
        self.part
    }

    /// Returns the row of a file that is there.
    pub fn file(&self, path: &str) -> Option<&FileRow> {
        self.by_path.get(path).map(|&at| &self.files[at as usize]).filter(|file| file.present)
    }

    /// Says whether a file with these stamps was read as it is now.
    pub fn knows(&self, path: &str, stat: &Stat) -> bool {
        self.file(path).is_some_and(|file| file.stat == *stat)
    }

    /// Reads a file anew and brings the index in step; returns whether anything changed.
    ///
    /// # Errors
    /// Those of reading the file; the index then still holds what it did.
    pub fn update(&mut self, root: &Root, path: &str) -> Result<bool> {
        let now = now_ns();
        let stat = match root.stat(path) {
            Ok(stat) => stat,
            Err(Error::NotFound { .. }) => return Ok(self.remove(path)),
            Err(error) => {
                self.remove(path);
                return Err(error);
            }
        };
        let reading = self.reread(root, path, &stat)?;
        // a write during the read shows in the stamps: the next call reads again
        let after = root.stat(path).unwrap_or_default();
        let file = self.place(path);
        let (reading, kept, dropped) = reading;
        let mut changed = !dropped.is_empty();
        for number in dropped {
            self.index.delete(number);
        }
        let mut documents = kept;
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
        row.stat = if after == stat { trusted(&stat, now) } else { Stat::default() };
        row.seen = reading.seen;
        row.summary = self.labels.intern(&reading.summary);
        row.documents = documents;
        if self.index.wants_packing() {
            self.repack();
        }
        Ok(changed)
    }

    /// Reads a file; returns what is new or moved, what stands as it did, and what is gone.
    fn reread(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
    ) -> Result<(Reading, Vec<u32>, Vec<u32>)> {
        let held = self.file(path).map(|file| (file.documents.clone(), file.seen));
        let (held, seen) = held.unwrap_or_default();
        let grown = self.grown(root, path, stat, &held, seen)?;
        let kept = grown.as_ref().map_or(0, |_| held.len() - 1);
        let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for &number in held[kept..].iter().rev() {
            known.entry(self.rows[number as usize].key).or_default().push(number);
        }
        let last = held.last().map(|&number| self.rows[number as usize]);
        let (lexicon, labels) = (self.index.lexicon(), &mut self.labels);
        let mut reader = Reader { lexicon, labels, part: self.part, known };
        let reading = match (grown, last) {
            (Some((file, before)), Some(last)) => {
                let mut reading = Reading { seen, ..Reading::default() };
                let messages = Messages::new(self.part, before);
                self.redone += stat.size - last.start;
                let (start, line) = (last.start, last.line - 1);
                reader.transcript(&file, path, stat.size, start, line, messages, &mut reading)?;
                reading
            }
            _ => {
                self.redone += stat.size;
                reader.read(root, path, stat)?
            }
        };
        let mut gone: Vec<u32> = reader.known.into_values().flatten().collect();
        gone.sort_unstable();
        Ok((reading, held[..kept].to_vec(), gone))
    }

    /// Opens a transcript that has only grown since it was read, and its last message but one.
    fn grown(
        &self,
        root: &Root,
        path: &str,
        stat: &Stat,
        held: &[u32],
        seen: Seen,
    ) -> Result<Option<(File, Option<Message>)>> {
        if Kind::of(path) != Kind::Transcript || stat.size < seen.offset || held.is_empty() {
            return Ok(None);
        }
        let file = root.open_read(path)?;
        if tail(&file, path, seen.offset)? != seen.tail {
            return Ok(None);
        }
        let before = held.len().checked_sub(2).map(|at| self.rows[held[at] as usize]);
        let Some(row) = before else { return Ok(Some((file, None))) };
        let mut bytes = vec![0; row.length as usize];
        let read = file.read_at(&mut bytes, row.start);
        read.map_err(|error| Error::io("read", path, error))?;
        match message::parse(&bytes) {
            Line::Message(before) if xxh3_64(&bytes) == row.hash => Ok(Some((file, Some(before)))),
            _ => Ok(None),
        }
    }

    /// Takes a file out; returns whether it was there.
    pub fn remove(&mut self, path: &str) -> bool {
        let Some(&at) = self.by_path.get(path) else { return false };
        let file = &mut self.files[at as usize];
        for document in std::mem::take(&mut file.documents) {
            self.index.delete(document);
        }
        file.stat = Stat::default();
        file.seen = Seen::default();
        std::mem::replace(&mut file.present, false)
    }

    /// Packs the index, numbering documents by path and then by position.
    pub fn repack(&mut self) {
        self.files.retain(|file| file.present);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut order = Vec::with_capacity(self.rows.len());
        let mut rows = Vec::with_capacity(self.rows.len());
        self.by_path.clear();
        for (at, file) in self.files.iter_mut().enumerate() {
            self.by_path.insert(file.path.clone(), at as u32);
            for document in &mut file.documents {
                order.push(*document);
                let row = Row { file: at as u32, ..self.rows[*document as usize] };
                *document = rows.len() as u32;
                rows.push(row);
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

/// Returns the stamps of a file if they prove that it has not changed since, else zero.
///
/// Git's racy rule: a file may change twice within one tick of its clock, so stamps younger than
/// two seconds (the coarsest clock, FAT's) say nothing yet.
pub fn trusted(stat: &Stat, now_ns: i64) -> Stat {
    const TICK: i64 = 2_000_000_000;
    match stat.mtime_ns.max(stat.ctime_ns).saturating_add(TICK) < now_ns {
        true => *stat,
        false => Stat::default(),
    }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
