//! Retention: old texts of the history and old sessions are erased by the rules of the caller.
//!
//! No rule holds by itself. What goes, goes as by `forget`: from history, index and caches, and an
//! import does not bring it back.

use std::collections::BTreeMap;

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::paths::{OWN, is_below};
use crate::files::{kept_path, parse_revision_name};
use crate::store::Store;
use crate::store::forget::ForgetRequest;
use crate::store::sessions::{Session, SessionFilter};

/// What stays. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetainRules {
    /// Texts of the history that were put there before this go.
    pub history_since: Option<i64>,
    /// Of each file so many texts of the history stay.
    pub history_count: Option<usize>,
    /// Sessions of which the last message was said before this go.
    pub sessions_since: Option<i64>,
    /// So many sessions stay, the newest.
    pub session_count: Option<usize>,
    /// Notes, transcripts and history take no more bytes than this: the oldest texts of the history
    /// go first, then the oldest sessions.
    pub total_bytes: Option<u64>,
}

/// What was erased, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    /// The transcripts of the sessions.
    pub sessions: Vec<String>,
    /// All files that went with them.
    pub files: Vec<String>,
    /// Addresses of the texts of the history.
    pub revisions: Vec<String>,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// A text of the history, or a session with its files.
#[derive(Debug)]
struct Candidate {
    time_ms: i64,
    bytes: u64,
    /// The transcript of a session; none for a text of the history.
    session: Option<String>,
    files: Vec<String>,
    revisions: Vec<String>,
    goes: bool,
}

impl Store {
    /// Erases what the rules do not keep, and returns what that was; with `dry_run`, what it would
    /// be. `live_vectors` are as for [`Store::forget`].
    ///
    /// # Errors
    /// As for [`Store::forget`].
    pub fn retain(
        &self,
        rules: &RetainRules,
        dry_run: bool,
        live_vectors: Option<&[[u8; 16]]>,
        interrupt: Interrupt<'_>,
    ) -> Result<Retained> {
        if *rules == RetainRules::default() {
            return Ok(Retained::default());
        }
        let walk = self.root().walk("", interrupt)?;
        let sizes: BTreeMap<String, u64> =
            walk.files.into_iter().map(|(path, stat)| (path, stat.size)).collect();
        let mut history = self.revision_candidates(interrupt)?;
        let mut sessions = self.session_candidates(&sizes, interrupt)?;
        for (count, one) in &mut history {
            one.goes = rules.history_since.is_some_and(|since| one.time_ms < since)
                || rules.history_count.is_some_and(|most| *count >= most);
        }
        let mut history: Vec<Candidate> = history.into_iter().map(|(_, one)| one).collect();
        for (at, one) in sessions.iter_mut().enumerate() {
            one.goes = rules.sessions_since.is_some_and(|since| one.time_ms < since)
                || rules.session_count.is_some_and(|most| at >= most);
        }
        if let Some(most) = rules.total_bytes {
            let all =
                sizes.values().sum::<u64>() + history.iter().map(|one| one.bytes).sum::<u64>();
            let going = history.iter().chain(&sessions).filter(|one| one.goes);
            let mut left = all.saturating_sub(going.map(|one| one.bytes).sum());
            for list in [&mut history, &mut sessions] {
                // oldest first, also of those within one millisecond
                list.reverse();
                list.sort_by_key(|one| one.time_ms);
            }
            for one in history.iter_mut().chain(&mut sessions).filter(|one| !one.goes) {
                if left <= most {
                    break;
                }
                one.goes = true;
                left = left.saturating_sub(one.bytes);
            }
        }
        let retained = Retained::of(history.into_iter().chain(sessions).filter(|one| one.goes));
        if !(dry_run || retained.files.is_empty() && retained.revisions.is_empty()) {
            let (files, revisions) = (retained.files.clone(), retained.revisions.clone());
            let request = ForgetRequest { files, revisions, ..ForgetRequest::default() };
            self.forget(&request, None, live_vectors, interrupt)?;
        }
        Ok(retained)
    }

    /// Returns the texts of the history, each with how many newer ones there are of its file.
    fn revision_candidates(&self, interrupt: Interrupt<'_>) -> Result<Vec<(usize, Candidate)>> {
        let walk = match self.root().walk_all(&format!("{OWN}/history"), interrupt, &|_| {}) {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            walk => walk?,
        };
        let mut newer: BTreeMap<String, usize> = BTreeMap::new();
        let mut found = Vec::new();
        // their names sort by age
        for (address, stat) in walk.files.into_iter().rev() {
            let name = address.rsplit_once('/').map_or(&*address, |(_, name)| name);
            let (Some((time_ms, _)), Some(path)) =
                (parse_revision_name(name), kept_path(&address, "history"))
            else {
                continue;
            };
            let count = newer.entry(path.to_owned()).or_default();
            let revisions = vec![address];
            let (session, files, bytes, goes) = (None, Vec::new(), stat.size, false);
            found.push((*count, Candidate { time_ms, bytes, session, files, revisions, goes }));
            *count += 1;
        }
        Ok(found)
    }

    /// Returns the sessions with the files in their folders, newest first.
    fn session_candidates(
        &self,
        sizes: &BTreeMap<String, u64>,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Candidate>> {
        let sessions = self.sessions(&SessionFilter::default(), interrupt)?;
        let folders: Vec<String> = sessions.iter().filter_map(own_folder).collect();
        let mut found = Vec::with_capacity(sessions.len());
        for session in sessions {
            let mut files = vec![session.path.clone()];
            let mut revisions = Vec::new();
            if let Some(folder) = own_folder(&session) {
                let is_own = |path: &str| {
                    let inner = |other: &&String| {
                        **other != folder && is_below(other, &folder) && is_below(path, other)
                    };
                    is_below(path, &folder) && !folders.iter().any(|other| inner(&other))
                };
                let is_ours = |path: &&String| FileKind::of(path) != FileKind::Other;
                let below = sizes.keys().filter(|path| is_own(path)).filter(is_ours);
                files.extend(below.filter(|path| **path != session.path).cloned());
                let kept = format!("{OWN}/history/{folder}");
                let walk = self.root().walk_all(&kept, interrupt, &|_| {}).unwrap_or_default();
                let kept = walk.files.into_iter().map(|(address, _)| address);
                revisions.extend(kept.filter(|one| kept_path(one, "history").is_some_and(&is_own)));
            }
            let bytes = files.iter().filter_map(|path| sizes.get(path)).sum();
            let time_ms = session.last_time();
            let session = Some(session.path);
            found.push(Candidate { time_ms, bytes, session, files, revisions, goes: false });
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.time_ms));
        Ok(found)
    }
}

impl Retained {
    fn of(gone: impl Iterator<Item = Candidate>) -> Self {
        let mut own = Self::default();
        for one in gone {
            own.sessions.extend(one.session);
            own.files.extend(one.files);
            own.revisions.extend(one.revisions);
            own.bytes += one.bytes;
        }
        for list in [&mut own.sessions, &mut own.files, &mut own.revisions] {
            list.sort();
            list.dedup();
        }
        own
    }
}

/// The folder that is a session's alone: that of its `messages.jsonl`.
fn own_folder(session: &Session) -> Option<String> {
    session.path.strip_suffix("/messages.jsonl").map(str::to_owned)
}
