//! Archived documents, read back from their files by the numbers that the archive keeps of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::extract::Corpus;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::messages::formats::SessionRecord;
use crate::store::Store;
use crate::store::engine::archived_place::{ArchivedPlace, Reach};
use crate::store::engine::asked_words::{AskedWords, KeptWords};
use crate::store::engine::document::EngineDocument;
use crate::store::engine::extraction::documents;
use crate::store::engine::transcript_lines::TranscriptLines;

/// Documents, and the files that have changed since they were archived.
type Found = (Vec<EngineDocument>, BTreeSet<String>);

impl Store {
    /// Returns the archived documents at these places, and the files that have changed since: of
    /// these no document is returned. What is of no archived file is passed over.
    ///
    /// # Arguments
    /// * `places`: each with the number of its file; of the first `with_neighbours` of them the
    ///   messages beside them are returned too.
    /// * `asked`: the words that documents are returned with; all if there are none.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn archived_documents(
        &self,
        places: &[(u64, ArchivedPlace)],
        with_neighbours: usize,
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let state = self.refresh(interrupt)?;
        let archived = state.main.archived.clone();
        let mut by_path: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (at, (file, place)) in places.iter().enumerate() {
            if let Some(path) = archived.path(*file).filter(|path| state.main.is_archived(path)) {
                let reach = if at < with_neighbours { Reach::Neighbours } else { Reach::Itself };
                by_path.entry(path).or_default().push((place.clone(), reach));
            }
        }
        drop(state);
        self.read_archived(by_path, asked, interrupt)
    }

    /// Returns all documents of the turns of some archived documents, and the files that have changed
    /// since they were read.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn archived_turns(
        &self,
        documents: &[Arc<EngineDocument>],
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let mut turns = BTreeSet::new();
        let mut by_path: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for document in documents {
            if turns.insert((&document.path, document.position.turn)) {
                let place = ArchivedPlace::from(&**document);
                by_path.entry(&document.path).or_default().push((place, Reach::Turn));
            }
        }
        self.read_archived(by_path, asked, interrupt)
    }

    fn read_archived(
        &self,
        by_path: BTreeMap<&str, Vec<(ArchivedPlace, Reach)>>,
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let archived = self.archived();
        let (mut found, mut changed) = (Vec::new(), BTreeSet::new());
        for (path, mut places) in by_path {
            places
                .sort_unstable_by_key(|(place, reach)| (place.start, *reach != Reach::Neighbours));
            places.dedup_by_key(|(place, _)| place.start);
            // what is shown of a turn; to parse it takes longer than to read a message
            let is_turn = places.iter().any(|(_, reach)| *reach == Reach::Turn);
            let file = archived.files().get(path).filter(|_| is_turn);
            let title = file.and_then(|file| SessionRecord::parse(&file.summary).header.title);
            match self.documents_at(path, &places, asked, interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Ok(Some(documents)) => found.extend(
                    documents.into_iter().map(|one| EngineDocument { title: title.clone(), ..one }),
                ),
                // what cannot be read now is read by the index of the store, which says why
                Ok(None) | Err(_) => drop(changed.insert(path.to_owned())),
            }
        }
        Ok((found, changed))
    }

    /// Returns the documents of one file; none if it has changed.
    fn documents_at(
        &self,
        path: &str,
        places: &[(ArchivedPlace, Reach)],
        asked: Option<&AskedWords>,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Vec<EngineDocument>>> {
        if FileKind::of(path) == FileKind::Note {
            let all = documents(path, &self.root().read(path)?, Corpus::Main, interrupt)?;
            let is_same = |document: &EngineDocument, place: &ArchivedPlace| {
                (document.start, document.hash as u32) == (place.start, place.hash)
            };
            let find = |(place, _): &(ArchivedPlace, Reach)| {
                all.iter().find(|document| is_same(document, place)).cloned()
            };
            return Ok(places.iter().map(find).collect());
        }
        let file = self.root().open_own(path)?;
        TranscriptLines::new(path, file, interrupt)?
            .documents(places, asked.map_or(KeptWords::All, KeptWords::Asked))
    }
}
