//! Resuming a transcript that has grown, or reading a part of one: the old part is checked by a hash,
//! only new lines are read, and the message before them is their context.

use std::fs::File;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::extract::Corpus;
use crate::catalog::{DocMeta, ReadProgress};
use crate::error::{Error, Interrupt, Result};
use crate::files::platform::FileExt as _;
use crate::files::root::Root;
use crate::messages::line_reader::lines;
use crate::messages::message::{self, Message, ParsedLine};

/// Bytes by which a transcript that grew is distinguished from one that was rewritten.
const TAIL_HASH_BYTES: u64 = 1 << 20;

/// Bytes before a part in which its context is looked for first.
const WINDOW: u64 = 1 << 16;

/// Returns the last message with text that ends at or before `end`, where a line ends.
pub(super) fn message_before(
    (file, path): (&File, &str),
    end: u64,
    (corpus, longest): (Corpus, usize),
    interrupt: Interrupt<'_>,
) -> Result<Option<Message>> {
    let mut window = WINDOW;
    loop {
        let from = end.saturating_sub(window);
        let mut last = None;
        lines(file, path, from..end, longest, interrupt, &mut |start, bytes, whole| {
            // the first may be the end of a line only
            if !whole || start == from && from > 0 {
                return;
            }
            if let ParsedLine::Message(message) = message::parse(bytes)
                && !corpus.text(&message).is_empty()
            {
                last = Some(message);
            }
        })?;
        if last.is_some() || from == 0 {
            return Ok(last);
        }
        window = window.saturating_mul(4);
    }
}

/// The position from which a transcript that has grown is read on.
pub(crate) struct TranscriptResume {
    pub(super) file: File,
    pub(super) progress: ReadProgress,
    /// The last message but one: the last one's context.
    pub(super) before: Option<Message>,
    /// The last message, whose context the new lines may complete.
    pub(super) last: Option<(DocMeta, Vec<u8>)>,
    /// The session record, as far as it was read.
    pub(super) summary: String,
}

impl TranscriptResume {
    /// Checks that a transcript is as it was up to `seen`; `last` are its last two messages.
    pub fn new(
        root: &Root,
        path: &str,
        progress: ReadProgress,
        last: [Option<DocMeta>; 2],
        summary: &str,
    ) -> Result<Option<Self>> {
        if progress.offset == 0 {
            return Ok(None);
        }
        let file = root.open_read(path)?;
        if tail(&file, path, progress.offset)? != progress.tail {
            return Ok(None);
        }
        let [before, last] = last.map(|doc| doc.map(|doc| (doc, line_at(&file, &doc))));
        let before = match before {
            None => None,
            Some((_, Some(bytes))) => match message::parse(&bytes) {
                ParsedLine::Message(message) => Some(message),
                _ => return Ok(None),
            },
            Some((_, None)) => return Ok(None),
        };
        let last = match last {
            None => None,
            Some((doc, Some(bytes))) => Some((doc, bytes)),
            Some((_, None)) => return Ok(None),
        };
        Ok(Some(Self { file, progress, before, last, summary: summary.to_owned() }))
    }
}

/// Reads the line of a message back, if it is still what was indexed.
pub(crate) fn line_at(file: &File, doc: &DocMeta) -> Option<Vec<u8>> {
    // no more is asked for than there is
    let size = file.metadata().ok()?.len();
    if doc.start.checked_add(doc.length.into())? > size {
        return None;
    }
    let mut bytes = vec![0; doc.length as usize];
    file.read_exact_at(&mut bytes, doc.start).ok()?;
    (xxh3_64(&bytes) == doc.hash).then_some(bytes)
}

/// Hashes the bytes just before an offset.
pub(super) fn tail(file: &File, path: &str, offset: u64) -> Result<u64> {
    let mut bytes = vec![0; TAIL_HASH_BYTES.min(offset) as usize];
    let start = offset - bytes.len() as u64;
    match file.read_exact_at(&mut bytes, start) {
        Ok(()) => Ok(xxh3_64(&bytes)),
        // it has become shorter: then it is another text
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(Error::io("read", path, error)),
    }
}
