//! Gram index files of a store: their folder, their validity, requests to write them.
//!
//! One is written in the background after a search that had to read all of a transcript, so that no
//! answer waits for it.

use std::fs::File;

use crate::error::Error;
use crate::files::paths::OWN;
use crate::files::platform::try_lock;
use crate::grep::gram_index::GramIndex;
use crate::store::Store;
use crate::store::gram_index_thread::{GramIndexJob, name, stat};

/// The folder, below [`OWN`].
const FOLDER: &str = "gram_index";

impl Store {
    /// Returns the gram index of a transcript, if it is of the file as it is now.
    pub(crate) fn gram_index(&self, path: &str, file: &File) -> Option<GramIndex> {
        let stat = stat(file, self.clock).filter(|stat| stat.size >= self.gram_index_min_size)?;
        let side = self.root().open_own(&format!("{OWN}/{FOLDER}/{}", name(path))).ok()?;
        GramIndex::read(side).filter(|index| index.fits(path, &stat))
    }

    /// Has a gram index written for a transcript, if it is large; a failure is not reported.
    pub(crate) fn request_gram_index(&self, path: &str) {
        let Ok(file) = self.root().open_read(path) else { return };
        if file.metadata().map_or(0, |data| data.len()) < self.gram_index_min_size {
            return;
        }
        self.remove_stale_gram_indexes();
        if let (Ok(own), Ok(folder)) = (self.root().own_dir(""), self.root().own_dir(FOLDER)) {
            let path = path.to_owned();
            self.gram_indexes.add(GramIndexJob { file, path, folder, own, clock: self.clock });
        }
    }

    /// Waits until the gram indexes that earlier calls requested are written.
    pub fn wait_for_gram_indexes(&self) {
        self.gram_indexes.wait_until_written();
    }

    /// Removes the gram indexes of files that are gone, and what a crash left of one.
    pub(crate) fn remove_stale_gram_indexes(&self) {
        let folder = format!("{OWN}/{FOLDER}");
        let Ok(walk) = self.root().walk_all(&folder, &|| false, &|_| {}) else { return };
        for (place, _) in walk.files {
            let Ok(side) = self.root().open_own(&place) else { continue };
            let gone = match place.strip_suffix(".new") {
                Some(_) => try_lock(&side).unwrap_or(false),
                None => GramIndex::read(side).is_none_or(|index| {
                    matches!(self.root().stat(index.path()), Err(Error::NotFound { .. }))
                }),
            };
            if let (true, Ok(place)) = (gone, self.root().path_handle(&place)) {
                let _ = place.unlink();
            }
        }
    }
}
