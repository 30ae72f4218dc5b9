//! Import: another tool's transcript, from anywhere on this machine, into a `messages.jsonl`.
//!
//! Messages become lines as [`formats`] writes them. Lines that the file holds already must be
//! those the source begins with; only what follows them is added. So nothing comes in twice, an
//! import that was cut off goes on, and a source that has grown is caught up with.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::catalog::draft::Kind;
use crate::error::{Error, Interrupt, Result};
use crate::files::Expected;
use crate::messages::formats::{self, Imported, read_line};
use crate::messages::lines::check_encoding;
use crate::messages::message::{self, Line};
use crate::store::Store;

/// How much is appended at once: enough that waiting for the disk does not count.
const BATCH: usize = 8 << 20;
/// Bytes by which a stored line may be longer than the message that it is compared with, so that it
/// is still told from one that is damaged.
const LONGER: usize = 1 << 20;
/// Under this name [`Imported::skipped`] counts the messages of an earlier import.
const KNOWN: &str = "already there";

impl Store {
    /// Adds the messages of the transcript `source` to `path`, and returns the stored path and
    /// what was taken; `progress` gets the bytes read so far.
    ///
    /// Memory stays constant. What was added before an error stays, in whole lines.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Refused`] or [`Error::Io`] for a source that is no readable
    /// file; [`Error::Format`] when it, or `path`, is in UTF-16, or it holds no message; [`Error::Diverged`] when `path` holds
    /// others; else those of [`Files::append`](crate::files::Files::append);
    /// [`Error::Memory`]; [`Error::Interrupted`].
    pub fn import_transcript(
        &self,
        source: &Path,
        path: &str,
        progress: &mut dyn FnMut(u64),
        interrupt: Interrupt<'_>,
    ) -> Result<(String, Imported)> {
        let path = &*self.root().spelled(path);
        let shown = source.to_string_lossy();
        let reader = BufReader::with_capacity(1 << 18, open_source(source, &shown)?);
        check_encoding(reader.get_ref(), &shown)?;
        let mut known = Known::open(self, path)?;
        let mut expected = if known.is_some() { Expected::Any } else { Expected::Absent };
        let (mut stored, mut batch, mut passed) = (path.to_owned(), Vec::new(), 0);
        let mut append = |batch: &mut Vec<u8>| -> Result<()> {
            if !batch.is_empty() {
                stored = self.files().append(path, batch, expected)?.path;
                expected = Expected::Any;
                batch.clear();
            }
            Ok(())
        };
        let mut take = |line: &[u8]| {
            if let Some(before) = &mut known {
                if before.goes_on_with(line, &shown)? {
                    passed += 1;
                    return Ok(());
                }
                known = None;
            }
            batch.extend_from_slice(line);
            if batch.len() >= BATCH { append(&mut batch) } else { Ok(()) }
        };
        let mut imported =
            formats::import(reader, &shown, &self.limit, &mut take, progress, interrupt)?;
        if interrupt() {
            return Err(Error::Interrupted);
        }
        append(&mut batch)?;
        if imported.messages == 0 {
            let why = "it holds no message; expected one JSON object a line, as Claude Code, \
                       Codex, pi or OpenAI chat write it, or {\"role\": …, \"content\": …}";
            return Err(Error::Format { path: shown.into(), line: None, why: why.to_owned() });
        }
        if passed > 0 {
            imported.messages -= passed;
            imported.skipped.insert(KNOWN.to_owned(), passed);
        }
        Ok((stored, imported))
    }
}

/// Opens what the user named, wherever it lies; a FIFO must not keep us waiting.
fn open_source(source: &Path, shown: &str) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(source, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => {
            return Err(Error::missing(shown, "check the path of the file to import"));
        }
        Err(error) => return Err(Error::io("open", shown, error)),
    };
    let kind = file.metadata().map_err(|error| Error::io("open", shown, error))?.file_type();
    match kind {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => {
            Err(Error::refused(shown, "type", "it is a folder; name a file of messages in it"))
        }
        _ => Err(Error::refused(shown, "type", "it is not a regular file; save it as one first")),
    }
}

/// The messages that are in the file before the import.
struct Known {
    reader: BufReader<File>,
    path: String,
    line: Vec<u8>,
    number: u64,
}

impl Known {
    fn open(store: &Store, path: &str) -> Result<Option<Self>> {
        if Kind::of(path) != Kind::Transcript {
            let why = "messages go to a file that ends in .jsonl".to_owned();
            return Err(Error::Format { path: path.to_owned(), line: None, why });
        }
        let file = match store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(None),
            done => done?,
        };
        check_encoding(&file, path)?;
        let reader = BufReader::with_capacity(1 << 18, file);
        Ok(Some(Self { reader, path: path.to_owned(), line: Vec::new(), number: 0 }))
    }

    /// Says whether the next message is `wanted`; false at the end of the file.
    fn goes_on_with(&mut self, wanted: &[u8], source: &str) -> Result<bool> {
        loop {
            let longest = wanted.len() + LONGER;
            let size = read_line(&mut self.reader, &mut self.line, longest)
                .map_err(|error| Error::io("read", &*self.path, error))?;
            if size == 0 {
                return Ok(false);
            }
            self.number += 1;
            if message::trim(&self.line) == message::trim(wanted) {
                return Ok(true);
            }
            // a crash may have left the start of a line, which the next append ended
            if !matches!(message::outline(&self.line), Line::Bad | Line::Blank) {
                return Err(Error::Diverged {
                    path: self.path.clone(),
                    line: self.number,
                    source_path: source.to_owned(),
                });
            }
        }
    }
}
