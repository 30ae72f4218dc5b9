//! Positions of messages in their transcripts, where a catalog holds only some of these messages.
//!
//! Candidates of another engine are such a catalog. Neighbours and turns are then told by these
//! numbers, and not by the documents between two of them, which are not there.

use std::ops::Range;

use crate::catalog::{Catalog, DocIds};
use crate::index::bm25f::Field;

/// Where a message stands among all those of its transcript that have text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TranscriptPosition {
    /// How many messages stand before it.
    pub place: u32,
    /// How many turns begin before its own.
    pub turn: u32,
    /// How many times the session changes before it.
    pub session_run: u32,
    /// Terms in the texts of the messages before it.
    pub terms_before: u32,
}

impl TranscriptPosition {
    /// Returns the position of the message that follows.
    ///
    /// # Arguments
    /// * `terms`: in the text of this message.
    /// * `same_session`: whether the next message is of the same session.
    /// * `is_prompt`: whether it is a prompt.
    #[must_use]
    pub fn next(self, terms: u16, same_session: bool, is_prompt: bool) -> Self {
        Self {
            place: self.place.saturating_add(1),
            turn: self.turn.saturating_add(u32::from(is_prompt || !same_session)),
            session_run: self.session_run.saturating_add(u32::from(!same_session)),
            terms_before: self.terms_before.saturating_add(u32::from(terms)),
        }
    }

    /// Returns the position of the message before: the inverse of [`next`](Self::next).
    ///
    /// # Arguments
    /// * `terms`: in the text of the message before.
    /// * `same_session`: whether the message before is of the same session.
    /// * `is_prompt`: whether this message is a prompt.
    #[must_use]
    pub fn previous(self, terms: u16, same_session: bool, is_prompt: bool) -> Self {
        Self {
            place: self.place.saturating_sub(1),
            turn: self.turn.saturating_sub(u32::from(is_prompt || !same_session)),
            session_run: self.session_run.saturating_sub(u32::from(!same_session)),
            terms_before: self.terms_before.saturating_sub(u32::from(terms)),
        }
    }
}

impl Catalog {
    /// Returns the position of a message, where that is not given by the documents of its file.
    pub(crate) fn position(&self, document: u32) -> Option<&TranscriptPosition> {
        self.positions.as_ref()?.get(document as usize)
    }

    /// Returns the place of a document among all those of its file.
    pub(crate) fn place_in_transcript(&self, document: u32) -> Option<usize> {
        match self.position(document) {
            Some(position) => Some(position.place as usize),
            None => self.place_in_file(document),
        }
    }

    /// Returns the terms in the texts of the messages from one of a file to another one, without the
    /// message itself; none where a message of another session stands between.
    ///
    /// # Arguments
    /// * `message` and `other`: each a document with its place.
    pub(crate) fn terms_between(&self, message: (u32, usize), other: (u32, usize)) -> Option<u32> {
        let length = |document: u32| u32::from(self.index.lengths(document)[Field::Body as usize]);
        if let (Some(a), Some(b)) = (self.position(message.0), self.position(other.0)) {
            let terms = match a.place < b.place {
                true => (b.terms_before.saturating_add(length(other.0)))
                    .saturating_sub(a.terms_before.saturating_add(length(message.0))),
                false => a.terms_before.saturating_sub(b.terms_before),
            };
            return (a.session_run == b.session_run).then_some(terms);
        }
        let between: Range<usize> = match message.1 < other.1 {
            true => message.1 + 1..other.1 + 1,
            false => other.1..message.1,
        };
        let row = &self.docs[message.0 as usize];
        let documents: &DocIds = &self.files[row.file as usize].documents;
        let mut neighbours = between.map(|at| documents.get(at));
        neighbours.try_fold(0, |sum: u32, document| {
            let same = self.docs[document as usize].session == row.session;
            same.then(|| sum + length(document))
        })
    }
}
