//! Omissions: files or parts of files that are not indexed, with the reason.

use crate::catalog::file_reader::{ENCODING, LARGE, MAX_NOTE_BYTES, NO_MEMORY};
use crate::catalog::{Catalog, FileMeta};
use crate::error::megabytes;
use crate::files::file_kind::FileKind;
use crate::messages::line_reader::LONGEST_LINE;
use crate::text::section::MAX_SECTIONS;

/// The part of a file that is not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omission {
    /// What is not in the index, why, and what to do.
    pub why: String,
    /// Whether some of its text cannot be found.
    pub missing: bool,
}

impl FileMeta {
    /// Returns whether more of it would be in the index if there were more memory.
    pub fn lacks_memory(&self) -> bool {
        self.present && (self.cut || self.left_out == Some(NO_MEMORY))
    }
}

impl Catalog {
    /// Returns what the index does not hold of a file, if there is such a file and it is so.
    pub fn omission(&self, path: &str) -> Option<Omission> {
        self.omission_of(self.file(path)?)
    }

    /// As [`Self::omission`], for a file of the table.
    pub fn omission_of(&self, file: &FileMeta) -> Option<Omission> {
        let (path, size) = (&file.path, megabytes(file.stat.size));
        let raise = || {
            let limit = self.limit.shown();
            let or = match file.kind {
                FileKind::Transcript => ", or archive old sessions (commonplace archive)",
                _ => "",
            };
            format!("the memory limit of {limit} allows no more; raise memory_limit{or}")
        };
        let long = file.progress.long_lines;
        let why = match file.left_out {
            Some(LARGE) => {
                let most = megabytes(MAX_NOTE_BYTES);
                format!("{path} is not indexed: {size}, and a note has at most {most}; split it")
            }
            Some(ENCODING) => {
                format!("{path} is not indexed: it is in UTF-16; save it as UTF-8")
            }
            Some(NO_MEMORY) => format!("{path} is not indexed ({size}): {}", raise()),
            Some(_) => return None,
            None if file.cut && file.kind == FileKind::Transcript => {
                let (lines, read) = (file.progress.lines, megabytes(file.progress.offset));
                format!("{path} is indexed up to line {lines} ({read} of {size}): {}", raise())
            }
            None if file.cut => format!("{path} is indexed in part ({size}): {}", raise()),
            None if long > 0 => {
                let most = megabytes(self.limit.longest_line(LONGEST_LINE) as u64);
                format!("{path}: {long} lines longer than {most} are not indexed; split them")
            }
            None if self.has_joined_sections(file) => {
                let why = format!(
                    "{path} has more than {MAX_SECTIONS} headings: what follows them is found as \
                     one section; split it"
                );
                return Some(Omission { why, missing: false });
            }
            None => return None,
        };
        Some(Omission { why, missing: true })
    }

    fn has_joined_sections(&self, file: &FileMeta) -> bool {
        let section_meta = |document: u32| self.docs[document as usize].section_meta;
        let opens = |document: &u32| {
            section_meta(*document).starts > 0 && section_meta(*document).level > 0
        };
        file.kind == FileKind::Note
            && file.documents.len() > MAX_SECTIONS
            && file.documents.iter().filter(opens).count() > MAX_SECTIONS
    }
}
