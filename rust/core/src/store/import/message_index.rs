//! Message index: where in the stored transcripts each message is, by its key.
//!
//! `.commonplace/imports/messages` saves reading the transcripts again, and what lies there is read
//! up to the first damage. A message counts as stored only when its line, read again, has the key.
//! One that was in the index and is in no transcript was removed by the user, and stays so: its key
//! is known as long as this file is; what was forgotten is known by its tombstone.
//!
//! The file is a list of frames, each for a range of lines of one transcript: length (u32), payload,
//! xxh3 of the payload (u64). A payload is the length of the path (u32), the path, four u64 (first byte, end,
//! lines before, lines up to the end), and for each message hash (u128), offset (u64) and line (u32).
//! A frame that begins at 0 replaces those of its path before it, whose messages are removed if it
//! has them not; one that does not begin where the last of its path ended is passed over.

use std::fs::File;
use std::io::Write;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::platform::FileExt as _;
use crate::files::root::Stat;
use crate::files::side_files::Access;
use crate::messages::line_reader::{LONGEST_LINE, lines};
use crate::messages::message_key::MessageKey;
use crate::store::Store;
use crate::store::forget::Tombstones;
use crate::store::import::index_frame;
use crate::store::import::ordinals::Ordinals;

const FILE: &str = "imports/messages";
/// Bytes of an entry.
const ENTRY: usize = 28;
/// How much of a line is read at once.
const BLOCK: usize = 1 << 14;

/// Where a message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Number of the transcript.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// First byte of the line.
    pub offset: u64,
}

/// What the index knows of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    No,
    /// It is stored; its line was just read.
    At(Location),
    /// It was stored once, and somebody has removed it.
    Removed,
}

/// A message of a range: hash of its key, first byte and line.
pub(super) type Entry = (u128, u64, u32);

#[derive(Debug)]
struct IndexedFile {
    path: String,
    end: u64,
    lines: u64,
}

#[derive(Debug, Default)]
pub(super) struct MessageIndex {
    files: Vec<IndexedFile>,
    numbers: FxHashMap<String, u32>,
    keys: FxHashMap<u128, Location>,
    /// Messages that were stored once and are in no transcript now.
    removed: FxHashSet<u128>,
    /// Messages that were forgotten: they count as removed even where this file is lost.
    forgotten: FxHashSet<u128>,
    /// Frames that are not saved.
    unsaved: Vec<u8>,
    /// How many bytes of the file could be read, where damage stands behind them.
    sound: Option<u64>,
    /// The transcript that was read last, to look at a line again.
    opened: Option<(u32, File)>,
}

impl MessageIndex {
    /// Reads what was saved.
    pub fn open(store: &Store) -> Result<Self> {
        let forgotten = Tombstones::open(store.root())?.messages;
        let mut index = Self { forgotten, ..Self::default() };
        index.load(&store.root().read_reserved(FILE)?);
        Ok(index)
    }

    /// Reads the transcripts that have changed since the index was saved.
    pub fn read_changed(
        &mut self,
        store: &Store,
        stored: &[(String, Stat)],
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        for (path, stat) in stored {
            let end = self.numbers.get(path).map(|&number| self.files[number as usize].end);
            if FileKind::of(path) != FileKind::Transcript || end == Some(stat.size) {
                continue;
            }
            if end.is_some_and(|end| end > stat.size) {
                self.reset(path);
            }
            self.read_on(store, path, interrupt)?;
        }
        Ok(())
    }

    /// Looks for the `ordinal`-th message with a key, which belongs to the transcript `path`.
    pub fn find(
        &mut self,
        store: &Store,
        (key, ordinal, path): (MessageKey, u32, &str),
        interrupt: Interrupt<'_>,
    ) -> Result<Known> {
        let hash = key.stored_hash(path, ordinal);
        if let Some(location) = self.keys.get(&hash).copied() {
            if self.is_at(store, key, location)? {
                return Ok(Known::At(location));
            }
            // somebody has changed the transcript
            let path = self.path(location.file).to_owned();
            self.read_anew(store, &path, interrupt)?;
        }
        Ok(match self.keys.get(&hash) {
            Some(location) => Known::At(*location),
            None if self.removed.contains(&hash) => Known::Removed,
            None if self.forgotten.contains(&hash) => Known::Removed,
            None => Known::No,
        })
    }

    /// The path of a transcript.
    pub fn path(&self, file: u32) -> &str {
        &self.files[file as usize].path
    }

    /// The number of a transcript.
    pub fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.push(IndexedFile { path: path.to_owned(), end: 0, lines: 0 });
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// Reads the whole lines of a transcript that are not in the index.
    pub fn read_on(&mut self, store: &Store, path: &str, interrupt: Interrupt<'_>) -> Result<()> {
        let number = self.number(path);
        let file = match store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            file => file?,
        };
        let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
        let IndexedFile { end: start, lines: before, .. } = self.files[number as usize];
        let (mut end, mut line, mut entries, mut last) = (start, before, Vec::new(), None);
        let (mut ordinals, keys, forgotten) = (Ordinals::default(), &self.keys, &self.forgotten);
        let mut each = |at: u64, bytes: &[u8], is_whole: bool| {
            let place = u32::try_from(line + 1).unwrap_or(u32::MAX);
            let key = MessageKey::of(bytes).filter(|_| is_whole);
            // a line that had no end was taken when it was read before
            let is_taken = |hash: &u128| {
                forgotten.contains(hash)
                    || keys
                        .get(hash)
                        .is_some_and(|known| (known.file, known.offset) != (number, at))
            };
            let hash = key.map(|key| ordinals.next_free(key, path, is_taken));
            let entry = hash.map(|hash| (hash, at, place));
            if bytes.ends_with(b"\n") {
                (end, line) = (at + bytes.len() as u64, line + 1);
                entries.extend(entry);
            } else {
                last = entry;
            }
        };
        lines(&file, path, start..size, LONGEST_LINE, interrupt, &mut each)?;
        self.add(number, start..end, [before, line], &entries);
        // a last line without an end is read again when it has one
        if let Some((hash, offset, line)) = last {
            self.insert(hash, Location { file: number, line, offset });
        }
        Ok(())
    }

    /// Reads all of a transcript again, of which lines were replaced.
    pub fn read_anew(&mut self, store: &Store, path: &str, interrupt: Interrupt<'_>) -> Result<()> {
        self.reset(path);
        self.read_on(store, path, interrupt)
    }

    /// Takes the messages of a range that follows what is in the index; false if it does not.
    pub fn add(
        &mut self,
        number: u32,
        span: Range<u64>,
        lines: [u64; 2],
        entries: &[Entry],
    ) -> bool {
        let file = &mut self.files[number as usize];
        if file.end != span.start || file.lines != lines[0] {
            return false;
        }
        (file.end, file.lines) = (span.end, lines[1]);
        for &(hash, offset, line) in entries {
            self.insert(hash, Location { file: number, line, offset });
        }
        let path = self.files[number as usize].path.as_bytes();
        let mut payload = Vec::with_capacity(36 + path.len() + entries.len() * ENTRY);
        payload.extend_from_slice(&(path.len() as u32).to_le_bytes());
        payload.extend_from_slice(path);
        for field in [span.start, span.end, lines[0], lines[1]] {
            payload.extend_from_slice(&field.to_le_bytes());
        }
        for (hash, offset, line) in entries {
            payload.extend_from_slice(&hash.to_le_bytes());
            payload.extend_from_slice(&offset.to_le_bytes());
            payload.extend_from_slice(&line.to_le_bytes());
        }
        index_frame::write(&payload, &mut self.unsaved);
        true
    }

    /// How many lines of a transcript are in the index, and where they end.
    pub fn extent(&self, number: u32) -> (u64, u64) {
        let file = &self.files[number as usize];
        (file.lines, file.end)
    }

    /// Saves what is new.
    pub fn save(&mut self, store: &Store) -> Result<()> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let fail = |error| Error::io("write", FILE, error);
        let mut file = store.root().open_side(FILE, Access::Append)?;
        if let Some(sound) = self.sound.take() {
            // what stands behind damage would never be read
            file.set_len(sound).map_err(fail)?;
        }
        file.write_all(&self.unsaved).map_err(fail)?;
        self.unsaved.clear();
        Ok(())
    }

    fn insert(&mut self, hash: u128, location: Location) {
        self.keys.entry(hash).or_insert(location);
        self.removed.remove(&hash);
    }

    /// Takes all messages of a transcript for removed, until they are read again.
    fn reset(&mut self, path: &str) {
        let number = self.number(path);
        (self.files[number as usize].end, self.files[number as usize].lines) = (0, 0);
        let removed = self.keys.extract_if(|_, location| location.file == number);
        self.removed.extend(removed.map(|(hash, _)| hash));
        self.opened = None;
    }

    /// Takes frames up to the first that is damaged.
    fn load(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while let Some((payload, rest)) = index_frame::read(left) {
            if self.take(payload).is_none() {
                break;
            }
            left = rest;
        }
        self.sound = (!left.is_empty()).then(|| (bytes.len() - left.len()) as u64);
    }

    fn take(&mut self, payload: &[u8]) -> Option<()> {
        let (length, rest) = payload.split_first_chunk::<4>()?;
        let (path, mut rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let mut fields = [0; 4];
        for field in &mut fields {
            let (number, left) = rest.split_first_chunk::<8>()?;
            (*field, rest) = (u64::from_le_bytes(*number), left);
        }
        let [start, end, before, lines] = fields;
        let path = std::str::from_utf8(path).ok()?;
        let number = self.number(path);
        if start == 0 && self.files[number as usize].end > 0 {
            self.reset(path);
        }
        let file = &mut self.files[number as usize];
        if file.end != start || file.lines != before {
            return Some(());
        }
        (file.end, file.lines) = (end, lines);
        self.keys.reserve(rest.len() / ENTRY);
        while let Some((entry, left)) = rest.split_first_chunk::<ENTRY>() {
            let (hash, place) = entry.split_first_chunk::<16>()?;
            let (offset, line) = place.split_first_chunk::<8>()?;
            let (offset, line) =
                (u64::from_le_bytes(*offset), u32::from_le_bytes(*line.first_chunk::<4>()?));
            self.insert(u128::from_le_bytes(*hash), Location { file: number, line, offset });
            rest = left;
        }
        Some(())
    }

    /// Whether the line at a place is a message with this key.
    fn is_at(&mut self, store: &Store, key: MessageKey, location: Location) -> Result<bool> {
        let path = &*self.files[location.file as usize].path;
        if self.opened.as_ref().is_none_or(|opened| opened.0 != location.file) {
            self.opened = match store.root().open_read(path) {
                Err(Error::NotFound { .. }) => None,
                file => Some((location.file, file?)),
            };
        }
        let Some((_, file)) = &self.opened else { return Ok(false) };
        let mut line = Vec::new();
        loop {
            let held = line.len();
            line.resize(held + BLOCK.max(held), 0);
            let read = file
                .read_at(&mut line[held..], location.offset + held as u64)
                .map_err(|error| Error::io("read", path, error))?;
            line.truncate(held + read);
            let end = memchr::memchr(b'\n', &line[held..]);
            if let Some(end) = end {
                line.truncate(held + end);
            }
            if end.is_some() || read == 0 || line.len() > LONGEST_LINE {
                return Ok(MessageKey::of(&line) == Some(key));
            }
        }
    }
}
