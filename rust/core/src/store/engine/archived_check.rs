//! Comparison of archived files with their rows.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::ReadProgress;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::messages::line_reader::{LONGEST_LINE, is_in_utf16, lines};
use crate::messages::message::{ParsedLine, parse};
use crate::store::Store;
use crate::store::engine::archived_place::ArchivedPlace;

/// What a comparison of archived files with their rows found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedCheck {
    /// Paths of the files whose rows are not those of their messages.
    pub differing: Vec<String>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
    /// Warnings of malformed lines, as of the other transcripts.
    pub notes: Vec<String>,
}

/// Where a message is: its first byte, its line, the messages before it, the lower half of its hash.
type MessagePlace = (u64, u32, u32, u32);

impl Store {
    /// Reads archived files, and compares their messages with all of their rows: each must have one,
    /// and be what it was. The words of rows are not compared.
    ///
    /// # Arguments
    /// * `paths`: transcripts; those that were changed or deleted since they were archived are passed over.
    /// * `rows`: the places of all their rows, each with the number of its file, in any order.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn check_archived(
        &self,
        paths: &[String],
        rows: &[(u64, ArchivedPlace)],
        interrupt: Interrupt<'_>,
    ) -> Result<ArchivedCheck> {
        let archived = self.archive_list()?;
        let mut places: HashMap<&str, Vec<MessagePlace>> = HashMap::new();
        for (file, ArchivedPlace { start, line, position, hash, .. }) in rows {
            if let Some(path) = archived.path(*file) {
                places.entry(path).or_default().push((*start, *line, position.place, *hash));
            }
        }
        let mut check = ArchivedCheck::default();
        for path in paths {
            let mut held = places.remove(&**path).unwrap_or_default();
            held.sort_unstable();
            let read = self.message_places(path, interrupt);
            // what is changed or deleted meanwhile leaves the archive
            let has_left = match self.root().stat_own(path) {
                Ok(stat) => archived.get(path, &stat).is_none(),
                Err(error) => matches!(error, Error::NotFound { .. }),
            };
            if has_left {
                continue;
            }
            match read {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => check.unread.push(error.to_string()),
                Ok((there, progress)) => {
                    check.differing.extend((there != held).then(|| path.clone()));
                    check.notes.extend(progress.bad_lines_note(path, FileKind::Transcript));
                }
            }
        }
        Ok(check)
    }

    /// Returns where the messages of a transcript are, ascending, and what was read.
    fn message_places(
        &self,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<(Vec<MessagePlace>, ReadProgress)> {
        let (mut places, mut progress) = (Vec::new(), ReadProgress::default());
        let file = self.root().open_own(path)?;
        if is_in_utf16(&file, path)? {
            return Ok((places, progress));
        }
        let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
        lines(&file, path, 0..size, LONGEST_LINE, interrupt, &mut |start, bytes, is_whole| {
            let kind = match parse(bytes) {
                _ if !is_whole => ParsedLine::Bad,
                ParsedLine::Message(message) => ParsedLine::Message(!message.text.is_empty()),
                ParsedLine::Other => ParsedLine::Other,
                ParsedLine::Blank => ParsedLine::Blank,
                ParsedLine::Bad => ParsedLine::Bad,
            };
            if kind == ParsedLine::Message(true) {
                let hash = xxh3_64(bytes) as u32;
                places.push((start, progress.lines + 1, places.len() as u32, hash));
            }
            if bytes.ends_with(b"\n") {
                progress.take_line(start, bytes, &kind, is_whole);
            }
        })?;
        Ok((places, progress))
    }
}
