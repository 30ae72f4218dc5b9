//! Forgetting: texts leave notes, transcripts, history, index and caches, and do not come back.
//!
//! 1. `plan`: what is meant becomes lines of transcripts ([`transcript_units`], by what they say:
//!    [`line_text`]) and units of notes ([`note_units`]), with the texts of the history that hold
//!    the same.
//! 2. [`erasure`]: all of that is written to a journal, durably.
//! 3. `apply`: tombstones ([`tombstones`]), files, history, logs and caches, the index.
//! 4. The journal is removed.
//!
//! The root is locked all the time, so that no text goes to the history behind our back. A call that
//! was killed is finished when the memory is opened next.

mod apply;
mod caches;
mod erased_line;
mod erasure;
mod line_text;
mod needles;
mod note_units;
mod plan;
mod tombstones;
mod transcript_units;

pub(crate) use erased_line::{forgotten_record, is_forgotten_record};
pub use erasure::Passage;
pub(crate) use tombstones::Tombstones;

use std::io;

use crate::error::{Error, Interrupt, Result};
use crate::filter::SearchFilter;
use crate::messages::formats::title_of_prompt;
use crate::store::Store;
use crate::store::forget::erasure::Erasure;
use crate::store::forget::needles::Needle;
use crate::store::forget::transcript_units::title_start;

/// Bytes of a text that is looked for in the history of its own file.
const MIN_OWN: usize = 4;
/// Lines of a passage that are looked for in the history of its own file.
const MAX_OWN: usize = 200;

/// What is to be forgotten.
#[derive(Debug, Clone, Default)]
pub struct ForgetRequest {
    /// Texts: each unit that holds one of them and passes the filter.
    pub texts: Vec<String>,
    /// Lines of files, from 1, and what says the same elsewhere and passes the filter.
    pub lines: Vec<(String, u64, u64)>,
    /// Whole files, with their history.
    pub files: Vec<String>,
    /// Texts of the history, by their addresses.
    pub revisions: Vec<String>,
    /// Everything that passes the filter.
    pub all: bool,
    /// What may be forgotten.
    pub filter: SearchFilter,
}

/// What is forgotten, or was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// What it says, in the order of paths and lines.
    pub passages: Vec<Passage>,
    /// Files that go as a whole.
    pub files: Vec<String>,
    /// How many texts of the history hold it.
    pub revisions: usize,
    /// Where it is that we do not write, and why.
    pub left: Vec<String>,
    /// A hash of all of this.
    pub token: String,
}

impl Forgotten {
    /// Returns whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty() && self.files.is_empty() && self.revisions == 0
    }
}

impl Store {
    /// Returns what [`Store::forget`] would erase; nothing is changed.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a file that is not there; [`Error::Format`] for lines that it has not;
    /// [`Error::Query`] for a filter that lines have no field for; [`Error::Busy`]; those of reading;
    /// [`Error::Interrupted`].
    pub fn plan_forget(
        &self,
        request: &ForgetRequest,
        interrupt: Interrupt<'_>,
    ) -> Result<Forgotten> {
        let (filter, _) = self.resolve_sessions_unindexed(request.filter.clone(), interrupt)?;
        let request = ForgetRequest { filter, ..request.clone() };
        self.draft(&request, interrupt).map(|(forgotten, _)| forgotten)
    }

    /// Erases what is meant from all files below the root, for good, and returns what that was.
    /// `token` is that of a plan: if anything else would be erased now, nothing is. `live_vectors`
    /// are the keys of the vectors that stay; none: all are made again.
    ///
    /// # Errors
    /// As for [`Store::plan_forget`]; [`Error::Conflict`] when the token is another; [`Error::Io`]
    /// and [`Error::InDoubt`]: what was begun is finished when the memory is opened next.
    pub fn forget(
        &self,
        request: &ForgetRequest,
        token: Option<&str>,
        live_vectors: Option<&[[u8; 16]]>,
        interrupt: Interrupt<'_>,
    ) -> Result<Forgotten> {
        let (filter, _) = self.resolve_sessions_unindexed(request.filter.clone(), interrupt)?;
        let request = ForgetRequest { filter, ..request.clone() };
        // what a crash has left of a text beside its file
        self.files.recover()?;
        let guard = self.files.begin()?;
        if let Some(before) = Erasure::load(self.root())? {
            self.apply_erasure(&guard, &before, None)?;
        }
        let (forgotten, erasure) = self.draft(&request, interrupt)?;
        if let Some(token) = token.filter(|token| *token != forgotten.token) {
            return Err(Error::Conflict {
                path: "what is to be forgotten".to_owned(),
                expected: token.to_owned(),
                found: forgotten.token,
            });
        }
        if forgotten.is_empty() {
            return Ok(forgotten);
        }
        erasure.store(self.root())?;
        self.apply_erasure(&guard, &erasure, live_vectors)?;
        drop(guard);
        self.index_anew(interrupt)?;
        Ok(forgotten)
    }

    /// Finishes what a call that was killed has begun.
    ///
    /// # Errors
    /// As for [`Store::forget`].
    pub(super) fn finish_forgetting(&self) -> Result<()> {
        if self.root().stat_own(&erasure::journal_path()).is_err() {
            return Ok(());
        }
        let finish = || -> Result<()> {
            self.files.recover()?;
            let guard = self.files.begin()?;
            match Erasure::load(self.root())? {
                Some(erasure) => self.apply_erasure(&guard, &erasure, None),
                None => Ok(()),
            }
        };
        match finish() {
            // it was not killed: it is at work
            Err(Error::Busy { .. }) => Ok(()),
            // whoever may not write here may read; the next who may write finishes it
            Err(Error::Io { source, .. }) if is_not_writable(&source) => Ok(()),
            done => done,
        }
    }
}

fn is_not_writable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns by what texts a passage is known in the history of its own file: its lines, without what
/// is Markdown or metadata in them.
fn own_needles(text: &str) -> Vec<Needle> {
    let mut is_comment = false;
    let mut own: Vec<Needle> = Vec::new();
    for line in text.lines().take(MAX_OWN) {
        is_comment |= line.trim_start().starts_with("<!--");
        let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "-*+#>|".contains(c));
        let bare = bare.split("<!--").next().unwrap_or_default().trim();
        if !is_comment && bare.len() >= MIN_OWN {
            own.push(Needle::line(bare));
        }
        is_comment &= !line.contains("-->");
    }
    own.extend(title_start(text).map(Needle::line));
    let title = title_of_prompt(text);
    own.extend(title.map(|title| Needle::line(title.trim_end_matches('…'))));
    own.retain(|needle| needle.text.len() >= MIN_OWN);
    own.sort_unstable();
    own.dedup();
    own
}

/// Returns what a passage says: without marks of lists, and without comments, which are for programs.
fn bare_text(text: &str) -> String {
    let mut left = text;
    let mut bare = String::with_capacity(text.len());
    while let Some((before, comment)) = left.split_once("<!--") {
        bare.push_str(before);
        left = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    bare.push_str(left);
    let is_mark = |c: char| c.is_whitespace() || "-*+#>".contains(c);
    bare.trim_start_matches(is_mark).trim_end().to_owned()
}
