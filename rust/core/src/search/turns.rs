//! Turns: a prompt and the messages up to the next one, as a group of documents.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::catalog::{Catalog, DocIds};
use crate::files::file_kind::FileKind;

/// The unit of an answer over transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// A message.
    #[default]
    Message,
    /// A prompt and the messages up to the next one.
    Turn,
}

impl Unit {
    /// Returns how many of the best answers are rescored; the others stay behind them. A turn takes
    /// longer, as all of its messages are scored.
    pub fn window(self) -> usize {
        match self {
            Self::Message => 30,
            Self::Turn => 20,
        }
    }
}

/// A turn that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The first message: the prompt, unless the transcript or session begins without one.
    pub first: u32,
    /// The last message.
    pub last: u32,
    /// The message whose passage is shown.
    pub shown: u32,
}

/// Finds the turns of documents; those found are kept.
#[derive(Debug)]
pub(super) struct TurnFinder<'a> {
    catalog: &'a Catalog,
    /// The first place of a turn, by file and the place behind the last one.
    known: RefCell<BTreeMap<(u32, usize), usize>>,
}

impl<'a> TurnFinder<'a> {
    pub fn new(catalog: &'a Catalog) -> Self {
        Self { catalog, known: RefCell::default() }
    }

    /// Returns the messages of the file of a document, and the places of those of its turn; none
    /// for a section of a note.
    pub fn places(&self, document: u32) -> Option<(&'a DocIds, Range<usize>)> {
        let number = self.catalog.docs[document as usize].file;
        let file = &self.catalog.files[number as usize];
        let documents = &file.documents;
        let place = (file.kind == FileKind::Transcript)
            .then(|| self.catalog.place_in_file(document))
            .flatten()?;
        let mut known = self.known.borrow_mut();
        if let Some((&(same, end), &start)) = known.range((number, place + 1)..).next()
            && same == number
            && start <= place
        {
            return Some((documents, start..end));
        }
        let begins = |at: &usize| begins_turn(self.catalog, documents, *at);
        let start = (0..=place).rev().find(begins).unwrap_or(0);
        let end = (place + 1..documents.len()).find(begins).unwrap_or(documents.len());
        known.insert((number, end), start);
        Some((documents, start..end))
    }

    /// Returns the first message of the turn of a document.
    pub fn group(&self, document: u32) -> Option<u32> {
        self.places(document).map(|(documents, places)| documents.get(places.start))
    }
}

/// Returns the turn of a message, shown by that message; none for a section of a note.
pub fn turn_of(catalog: &Catalog, message: u32) -> Option<Turn> {
    let (documents, places) = TurnFinder::new(catalog).places(message)?;
    let (first, last) = (documents.get(places.start), documents.get(places.end - 1));
    Some(Turn { first, last, shown: message })
}

/// Returns the lines at which the turns of a transcript begin.
pub fn first_lines(catalog: &Catalog, documents: &DocIds) -> Vec<u64> {
    let begins = |at: &usize| begins_turn(catalog, documents, *at);
    let line = |at: usize| u64::from(catalog.docs[documents.get(at) as usize].line);
    (0..documents.len()).filter(begins).map(line).collect()
}

/// Returns whether a turn begins at a place: with a prompt, or with another session.
fn begins_turn(catalog: &Catalog, documents: &DocIds, at: usize) -> bool {
    if let Some(position) = catalog.position(documents.get(at)) {
        let before = at.checked_sub(1).and_then(|at| catalog.position(documents.get(at)));
        return before.is_none_or(|before| before.turn != position.turn);
    }
    let row = |at: usize| &catalog.docs[documents.get(at) as usize];
    at == 0 || row(at).section_meta.starts == 1 || row(at).session != row(at - 1).session
}
