//! The list of all sessions, kept from one call to the next.
//!
//! With thousands of sessions most calls come after one of them was added to: only what is known of
//! that one is read from the index again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::catalog::archive_list::ArchivedFiles;
use crate::error::{Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::store::Store;
use crate::store::sessions::{Session, abbreviate, in_order, parents};

/// Sessions that may have changed for a list to be updated, and not made anew.
const FEW_CHANGES: usize = 64;

impl Store {
    /// Returns all sessions, newest first, each followed by those that it started.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(super) fn every_session(&self, interrupt: Interrupt<'_>) -> Result<Arc<Vec<Session>>> {
        let state = self.refresh(interrupt)?;
        let main = &state.main;
        let mut kept = self.session_list.lock();
        let known = kept.take().filter(|known| Arc::ptr_eq(&known.archived, &main.archived));
        let sessions = known
            .and_then(|known| updated(known.sessions, main, &main.changes.since(known.revision)?))
            .unwrap_or_else(|| Arc::new(sessions_of(main)));
        *kept = Some(SessionList {
            revision: main.changes.last(),
            archived: main.archived.clone(),
            sessions: sessions.clone(),
        });
        Ok(sessions)
    }
}

/// The list of all sessions as it was made last.
#[derive(Debug)]
pub(super) struct SessionList {
    /// The last change of a file that it knows.
    revision: u64,
    /// The list of archived files that it was made of.
    archived: Arc<ArchivedFiles>,
    sessions: Arc<Vec<Session>>,
}

/// Returns all sessions of an index in their order.
fn sessions_of(catalog: &Catalog) -> Vec<Session> {
    let mut sessions: Vec<Session> = (catalog.files.iter())
        .filter(|file| file.present && file.kind == FileKind::Transcript)
        .filter_map(|file| Session::of(catalog, file))
        .collect();
    // before any is left out: an abbreviation is to stay what it is
    abbreviate(&mut sessions);
    let parents = parents(&sessions);
    let ids: Vec<Option<String>> =
        parents.iter().map(|parent| Some(sessions[(*parent)?].id.clone())).collect();
    for (session, id) in sessions.iter_mut().zip(ids) {
        session.parent = session.parent.take().or(id);
    }
    sort(&mut sessions, &parents);
    sessions
}

/// Returns a list with what has changed of its sessions. `None` where one has come, gone, or got
/// another id or parent, which changes others too, and where many have changed.
fn updated(
    mut sessions: Arc<Vec<Session>>,
    catalog: &Catalog,
    changed: &BTreeSet<&str>,
) -> Option<Arc<Vec<Session>>> {
    let mut transcripts =
        changed.iter().filter(|path| FileKind::of(path) == FileKind::Transcript).peekable();
    if transcripts.peek().is_none() {
        return Some(sessions);
    }
    // a copy only while somebody else has the list
    let list = Arc::make_mut(&mut sessions);
    for (count, path) in transcripts.enumerate() {
        let now = catalog.file(path).and_then(|file| Session::of(catalog, file));
        let before = list.iter_mut().find(|session| session.path == **path);
        match (before, now) {
            (None, None) => {}
            (Some(before), Some(now))
                if count < FEW_CHANGES && now.id == before.id && now.parent == before.parent =>
            {
                let short_id = std::mem::take(&mut before.short_id);
                *before = Session { short_id, ..now };
            }
            _ => return None,
        }
    }
    let parents = parents(list);
    sort(list, &parents);
    Some(sessions)
}

/// Puts all sessions into their order.
fn sort(sessions: &mut Vec<Session>, parents: &[Option<usize>]) {
    let order = in_order(sessions, parents, &vec![true; sessions.len()]);
    let mut taken: Vec<Option<Session>> = std::mem::take(sessions).into_iter().map(Some).collect();
    *sessions = order.into_iter().filter_map(|at| taken[at].take()).collect();
}
