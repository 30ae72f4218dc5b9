//! Comparison of what the index holds with what the files say.

use crate::catalog::extract::Kind;
use crate::catalog::file_reader::{Content, Known, Reader, Sink};
use crate::catalog::{Catalog, Documents, Row, Rows};
use crate::error::{Error, Interrupt, Result};
use crate::files::root::Root;
use crate::index::consistency::{Held, Pairs};
use crate::index::storage::packed_index::packing_bytes;
use crate::memory_limit::MemoryLimit;

/// The documents of one file, which are compared as they are read.
struct Comparison<'a> {
    held: Held<'a>,
    rows: &'a Rows,
    /// Those that the index holds of the file, and how many came.
    documents: &'a Documents,
    count: usize,
    file: u32,
    same: bool,
    /// Patterns that must be the same, under two numbers.
    pairs: Pairs,
    /// What the index takes, and may take.
    bytes: u64,
    limit: &'a MemoryLimit,
    part: usize,
}

impl Sink for Comparison<'_> {
    fn take(&mut self, row: Row, content: Content) {
        let row = Row { file: self.file, ..row };
        self.count += 1;
        self.same &= match content {
            Content::New(document) if self.count <= self.documents.len() => {
                let number = self.documents.get(self.count - 1);
                self.rows[number as usize] == row
                    && self.held.is(number, &document, &mut self.pairs)
            }
            _ => false,
        };
    }

    fn allows(&self, _: usize, more: u64) -> bool {
        self.limit.allows(self.part, self.bytes.saturating_add(more))
    }
}

impl Catalog {
    /// Says whether it holds of a file what the file says: concepts, lengths, labels and places of
    /// all documents. None where that cannot be told, as for a file that changes meanwhile, or of
    /// which not all is indexed.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn holds(
        &mut self,
        root: &Root,
        path: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<bool>> {
        let clock = self.clock;
        let look = || root.stat(path).ok().map(|stat| clock.truncate(stat));
        let (Some(place), Some(stat)) = (self.find(path), look()) else { return Ok(None) };
        let file = self.files[place as usize].clone();
        if !file.present || file.left_out.is_some() || file.cut {
            return Ok(None);
        }
        let dictionaries = self.index.words().bytes() + self.labels.bytes();
        let (documents, postings) = (self.index.numbers(), self.index.postings());
        let (lexicon, held) = self.index.to_compare();
        let mut comparison = Comparison {
            held,
            rows: &self.rows,
            documents: &file.documents,
            count: 0,
            file: place,
            same: true,
            pairs: Pairs::default(),
            bytes: packing_bytes(documents.into(), postings as u64, dictionaries as u64),
            limit: &self.limit,
            part: self.part as usize,
        };
        let (labels, part, limit) = (&mut self.labels, self.part, &self.limit);
        let (known, sink) = (Known::default(), &mut comparison);
        let mut reader = Reader { root, lexicon, labels, part, interrupt, known, limit, sink };
        let reading = match reader.whole(path, &stat) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(_) => return Ok(None),
            Ok(reading) => reading,
        };
        let all = comparison.same && comparison.count == file.documents.len();
        let pairs = comparison.pairs;
        if reading.cut.is_some() || reading.left_out.is_some() || look() != Some(stat) {
            return Ok(None);
        }
        let summary = self.labels.text(file.summary);
        let seen = file.kind == Kind::Note || reading.seen == file.seen;
        let same = all && self.index.are_same(&pairs);
        Ok(Some(same && seen && summary == reading.summary))
    }

    /// Returns the files of which the posting lists say something else than their documents.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn contradictions(&self, interrupt: Interrupt<'_>) -> Result<Vec<String>> {
        let documents = self.index.contradictions(interrupt)?;
        let file = |document: u32| self.rows[document as usize].file;
        let mut files: Vec<u32> = documents.into_iter().map(file).collect();
        files.dedup();
        let present = files.into_iter().map(|file| &self.files[file as usize]);
        Ok(present.filter(|file| file.present).map(|file| file.path.clone()).collect())
    }
}
