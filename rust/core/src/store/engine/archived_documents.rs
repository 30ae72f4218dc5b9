//! Archived documents, read back from their files by the numbers that the archive keeps of them.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::TranscriptPosition;
use crate::catalog::extract::Corpus;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::platform::FileExt as _;
use crate::messages::formats::SessionRecord;
use crate::store::Store;
use crate::store::engine::document::EngineDocument;
use crate::store::engine::extraction::{documents, message_between};

/// Where an archived document is, as its row says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedPlace {
    /// The number of its file.
    pub file: u64,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Its position in its transcript.
    pub position: TranscriptPosition,
    /// Bytes from the beginning of the message before it.
    pub before: u64,
    /// Bytes to the end of the message behind it.
    pub after: u64,
    /// The lower half of the hash of its bytes.
    pub hash: u32,
}

impl Store {
    /// Returns the archived documents at these places, and the files that have changed since: of
    /// these no document is returned. What is of no archived file is passed over.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn archived_documents(
        &self,
        places: &[ArchivedPlace],
        interrupt: Interrupt<'_>,
    ) -> Result<(Vec<EngineDocument>, BTreeSet<String>)> {
        let state = self.refresh(interrupt)?;
        let archived = state.main.archived.clone();
        let wanted: BTreeSet<u64> = places.iter().map(|place| place.file).collect();
        let named = archived
            .files()
            .iter()
            .filter(|(path, file)| wanted.contains(&file.id) && state.main.is_archived(path));
        let named: BTreeMap<u64, (&String, &str)> =
            named.map(|(path, file)| (file.id, (path, file.summary.as_str()))).collect();
        let mut by_file: BTreeMap<u64, Vec<&ArchivedPlace>> = BTreeMap::new();
        for place in places.iter().filter(|place| named.contains_key(&place.file)) {
            by_file.entry(place.file).or_default().push(place);
        }
        drop(state);
        let (mut found, mut changed) = (Vec::new(), BTreeSet::new());
        for (id, places) in by_file {
            let (path, summary) = named[&id];
            let title = SessionRecord::parse(summary).header.title;
            match self.documents_at(path, &places, interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Ok(Some(documents)) => found.extend(
                    documents.into_iter().map(|one| EngineDocument { title: title.clone(), ..one }),
                ),
                // what cannot be read now is read by the index of the store, which says why
                Ok(None) | Err(_) => drop(changed.insert(path.clone())),
            }
        }
        Ok((found, changed))
    }

    /// Returns the documents of one file; none if it has changed.
    fn documents_at(
        &self,
        path: &str,
        places: &[&ArchivedPlace],
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Vec<EngineDocument>>> {
        let is_same = |document: &EngineDocument, place: &ArchivedPlace| {
            (document.start, document.hash as u32) == (place.start, place.hash)
        };
        if FileKind::of(path) == FileKind::Note {
            let all = documents(path, &self.root().read(path)?, Corpus::Main, interrupt)?;
            let find = |place: &&ArchivedPlace| {
                all.iter().find(|document| is_same(document, place)).cloned()
            };
            return Ok(places.iter().map(find).collect());
        }
        let file = self.root().open_own(path)?;
        let mut found = Vec::with_capacity(places.len());
        for place in places {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let from = place.start.saturating_sub(place.before);
            let length = (place.start - from).saturating_add(place.length + place.after);
            let size = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
            if from.saturating_add(length) > size {
                return Ok(None);
            }
            let mut bytes = vec![0; length as usize];
            let read = file.read_exact_at(&mut bytes, from);
            read.map_err(|error| Error::io("read", path, error))?;
            let own = (place.start - from) as usize..(place.start - from + place.length) as usize;
            if xxh3_64(&bytes[own.clone()]) as u32 != place.hash {
                return Ok(None);
            }
            let message = message_between(path, &bytes, own, (from, place.line));
            let Some(document) = message else { return Ok(None) };
            found.push(EngineDocument { position: place.position, ..document });
        }
        Ok(Some(found))
    }
}
