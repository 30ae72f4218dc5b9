//! Change of one file: what it holds now, compared with what the index holds of it.

use std::ops::Range;

use crate::catalog::file_reader::{
    DocContent, DocSink as _, FileReader, LeftOut, ReadResult, read_note,
};
use crate::catalog::incremental_parse::parse_incrementally;
use crate::catalog::transcript_resume::TranscriptResume;
use crate::catalog::{Catalog, DocIds, DocMeta, FileMeta};
use crate::error::{Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::root::{Root, Stat};
use crate::memory_limit::ALWAYS_THERE;
use crate::text::encoding::as_text;

/// Most documents of a file that are prefetched before it is known which change.
const PREFETCHED_DOCS: u32 = 64;

/// The change of the documents of one file.
pub(super) struct FileChange {
    pub reading: ReadResult,
    pub docs: Vec<Vec<(DocMeta, DocContent)>>,
    /// So many of its documents, from the first, stay as they are.
    pub kept: usize,
    /// So do those from this place on, but for where they lie.
    pub rest: usize,
    /// By how many bytes and lines those have moved.
    pub moved: (i64, i64),
    /// Documents that it does not hold any more.
    pub gone: Vec<u32>,
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
    /// Asks the system for the first of some documents, which are needed soon.
    pub(super) fn readahead(&self, documents: Range<u32>) {
        let end = documents.end.min(documents.start.saturating_add(PREFETCHED_DOCS));
        self.index.readahead(documents.start..end);
    }

    /// Reads a file and compares it with what the index holds of it.
    pub(super) fn reread(
        &mut self,
        root: &Root,
        path: &str,
        stat: &Stat,
        interrupt: Interrupt<'_>,
    ) -> Result<FileChange> {
        let (none, file) = (DocIds::default(), self.file(path));
        let held = file.map_or(&none, |file| &file.documents);
        let seen = file.map_or(0, |file| file.progress.offset);
        let file = file.filter(|_| self.archived.get(path, stat).is_none());
        let resume = file.map_or(Ok(None), |file| self.resume(root, file, stat))?;
        let kept = resume.as_ref().map_or(0, |_| held.len().saturating_sub(1));
        let count = held.len();
        let from_last = || (kept..count).rev().map(|at| held.get(at));
        let keys = || from_last().map(|number| (self.docs[number as usize].key, number));
        let (indexed, mut pending) = match self.begin_comparison(count - kept, keys) {
            Ok(begun) => begun,
            Err(needed) => return self.same_or_left_out(root, path, needed, interrupt),
        };
        let (lexicon, labels, corpus) =
            (self.index.lexicon_mut(), self.labels.interner(), self.corpus);
        let (limit, archived, sink) = (&self.limit, &self.archived, &mut pending);
        let mut reader =
            FileReader { root, lexicon, labels, corpus, interrupt, indexed, limit, archived, sink };
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
    pub(super) fn reread_note(
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
            Err(left_out) => return Ok(FileChange::of_left_out(left_out, held)),
        };
        let text = as_text(&bytes);
        let docs: Vec<DocMeta> = held.iter().map(|&number| self.docs[number as usize]).collect();
        let parsed = || parse_incrementally(&text, &docs, &self.labels, interrupt);
        let partial = (!whole).then(parsed).flatten();
        let (kept, rest) = partial.as_ref().map_or((0, held.len()), |e| (e.kept, e.rest));
        if let (Some(&first), Some(&last)) = (held[kept..rest].first(), held[kept..rest].last()) {
            self.readahead(first..last.saturating_add(1));
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
        let (lexicon, labels, corpus) =
            (self.index.lexicon_mut(), self.labels.interner(), self.corpus);
        let (limit, archived, sink) = (&self.limit, &self.archived, &mut pending);
        let mut reader =
            FileReader { root, lexicon, labels, corpus, interrupt, indexed, limit, archived, sink };
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
        let summary = self.labels.text(file.summary);
        TranscriptResume::new(root, &file.path, file.progress, [before, last], summary)
    }
}
