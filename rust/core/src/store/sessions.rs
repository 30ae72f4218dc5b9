//! Sessions: the transcripts of a root as what they are to people, newest first.
//!
//! All of it is in the tables of the index: the session record of each transcript, its counts and
//! the times of its messages. No file is read.

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, DocMeta, FileMeta, NO_TIME};
use crate::error::{Interrupt, Result};
use crate::messages::formats::{SessionHeader, SessionRecord};
use crate::store::Store;
use crate::store::project::project_name;
use crate::text::time::parse_time;

/// Characters of an id that tell most sessions apart.
const SHORT_ID: usize = 8;
/// Last messages that are asked for a time: some hosts write none for some.
const ASKED_FOR_TIME: usize = 16;

/// A transcript with messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// The transcript, relative to the root.
    pub path: String,
    /// The id that its host gave it, else the name of its folder.
    pub id: String,
    /// The beginning of the id that no other session has, of 8 characters or more.
    pub short_id: String,
    /// The format of its host, such as `claude-code`; empty when unknown.
    pub host: String,
    /// The name of its project; empty when unknown.
    pub project: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
    /// The model that answered first.
    pub model: Option<String>,
    /// The title that its host gave it, else the first line of the first prompt.
    pub title: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started: Option<i64>,
    /// When its last message was said, in milliseconds since 1970.
    pub ended: Option<i64>,
    /// When its file was changed, in milliseconds since 1970.
    pub modified: i64,
    /// Messages that a search finds.
    pub messages: usize,
    /// Further messages, of tools and of the harness only.
    pub tool_messages: usize,
    /// Messages of other transcripts that it begins with or holds, stored once.
    pub copies: usize,
    /// Bytes.
    pub size: u64,
    /// The id of the session that started it, as that of an agent for its subagent.
    pub parent: Option<String>,
}

/// Which sessions are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those with a message at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only those that began before this time, in milliseconds since 1970.
    pub until: Option<i64>,
}

impl SessionFilter {
    fn admits(&self, session: &Session) -> bool {
        self.project.as_ref().is_none_or(|project| session.project == *project)
            && self.since.is_none_or(|since| session.last_time() >= since)
            && self.until.is_none_or(|until| session.first_time() < until)
    }
}

impl Session {
    pub(super) fn of(catalog: &Catalog, file: &FileMeta) -> Option<Self> {
        let archived = catalog.archived_file(file).cloned().unwrap_or_default();
        let (messages, progress) = (file.documents.len() + archived.messages(), file.progress);
        let record = SessionRecord::parse(catalog.labels.text(file.summary));
        if messages + progress.textless as usize == 0 && !record.is_written {
            return None;
        }
        let docs = || file.documents.iter().map(|number| catalog.docs[number as usize]);
        let time = |doc: &DocMeta| Some(doc.time).filter(|&time| time != NO_TIME);
        let SessionHeader { host, id, parent, cwd, git_branch, model, title, started, .. } =
            record.header;
        let named = |label: u32| Some(catalog.labels.text(label)).filter(|name| !name.is_empty());
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let first = docs().next().and_then(|doc| named(doc.session));
            first.unwrap_or_else(|| folder_name(&file.path)).to_owned()
        });
        Some(Self {
            short_id: String::new(),
            host,
            project: project(&file.path, cwd.as_deref()),
            cwd,
            git_branch,
            model,
            title: title.filter(|title| !title.is_empty()),
            started: started
                .as_deref()
                .and_then(parse_time)
                .or_else(|| docs().take(ASKED_FOR_TIME).find_map(|doc| time(&doc)))
                .or(archived.times[0]),
            ended: docs()
                .rev()
                .take(ASKED_FOR_TIME)
                .find_map(|doc| time(&doc))
                .or(archived.times[1]),
            modified: file.stat.mtime_ns / 1_000_000,
            messages,
            tool_messages: progress.textless as usize,
            copies: progress.copies as usize,
            size: file.stat.size,
            parent: parent.filter(|parent| !parent.is_empty() && *parent != id),
            path: file.path.clone(),
            id,
        })
    }

    /// When it was last added to, as far as known.
    pub(super) fn last_time(&self) -> i64 {
        self.ended.or(self.started).unwrap_or(self.modified)
    }

    fn first_time(&self) -> i64 {
        self.started.or(self.ended).unwrap_or(self.modified)
    }
}

impl Store {
    /// Returns the sessions, newest first, each followed by those that it started.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn sessions(
        &self,
        wanted: &SessionFilter,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Session>> {
        let every = self.every_session(interrupt)?;
        if *wanted == SessionFilter::default() {
            return Ok(every.to_vec());
        }
        let admitted: Vec<bool> = every.iter().map(|session| wanted.admits(session)).collect();
        let order = in_order(&every, &parents(&every), &admitted);
        Ok(order.into_iter().map(|at| every[at].clone()).collect())
    }
}

/// The folder of a transcript; a transcript with a name of its own stands for itself.
pub(super) fn folder(path: &str) -> &str {
    let stem = path.strip_suffix(".jsonl").unwrap_or(path);
    stem.strip_suffix("/messages").unwrap_or(stem)
}

pub(super) fn folder_name(path: &str) -> &str {
    let folder = folder(path);
    folder.rsplit_once('/').map_or(folder, |(_, name)| name)
}

/// What of an id differs from session to session: `ses_` and the like are the same for all.
pub(super) fn distinct(id: &str) -> &str {
    id.rsplit_once('_').map_or(id, |(_, rest)| rest)
}

/// The project of a path `sessions/PROJECT/…`, else that of the working directory, else the folder
/// around.
fn project(path: &str, cwd: Option<&str>) -> String {
    let parts: Vec<&str> = folder(path).split('/').collect();
    let of_cwd = || cwd.and_then(project_name).map(str::to_owned);
    match parts[..] {
        ["sessions", project, _, ..] => project.to_owned(),
        [.., above, _] if above != "sessions" => of_cwd().unwrap_or_else(|| above.to_owned()),
        _ => of_cwd().unwrap_or_default(),
    }
}

/// Gives each session the beginning of its id, long enough to be told from the others.
pub(super) fn abbreviate(sessions: &mut [Session]) {
    let ids: Vec<String> = sessions.iter().map(|session| session.id.clone()).collect();
    let needed = short_id_lengths(ids.iter().map(String::as_str));
    for session in sessions {
        let id = distinct(&session.id);
        session.short_id = id.chars().take(needed[id]).collect();
    }
}

/// Returns how many characters tell each id from the others, by what is distinct of it.
pub(super) fn short_id_lengths<'a>(
    ids: impl Iterator<Item = &'a str>,
) -> FxHashMap<&'a str, usize> {
    let mut ids: Vec<&str> = ids.map(distinct).collect();
    ids.sort_unstable();
    ids.dedup();
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let length = |at: usize| {
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let shared = neighbours.filter_map(|other| Some(common(ids[at], ids.get(other)?))).max();
        (ids[at], SHORT_ID.max(shared.unwrap_or(0) + 1))
    };
    (0..ids.len()).map(length).collect()
}

/// Returns the place of the session that started each, where it is known: by the id that a subagent
/// names, or because it lies in the folder of the other.
pub(super) fn parents(sessions: &[Session]) -> Vec<Option<usize>> {
    let mut by_id: FxHashMap<&str, usize> = FxHashMap::default();
    let mut by_folder: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, session) in sessions.iter().enumerate() {
        by_folder.insert(folder(&session.path), at);
        // subagents may carry the id of what started them, which has the shorter path
        let known = by_id.entry(&session.id).or_insert(at);
        let length = |at: usize| (sessions[at].path.len(), &sessions[at].path);
        if length(at) < length(*known) {
            *known = at;
        }
    }
    let around = |path: &str| {
        let own = folder(path);
        own.rmatch_indices('/').find_map(|(end, _)| by_folder.get(&own[..end]).copied())
    };
    (sessions.iter().enumerate())
        .map(|(at, session)| {
            let named = session.parent.as_deref().and_then(|id| by_id.get(id).copied());
            around(&session.path).or(named).filter(|&parent| parent != at)
        })
        .collect()
}

/// Returns the places of those admitted, newest first, each followed by those it started.
pub(super) fn in_order(
    sessions: &[Session],
    parents: &[Option<usize>],
    admitted: &[bool],
) -> Vec<usize> {
    let mut newest: Vec<usize> = (0..sessions.len()).filter(|&at| admitted[at]).collect();
    newest.sort_by(|&a, &b| {
        let (a, b) = (&sessions[a], &sessions[b]);
        b.last_time().cmp(&a.last_time()).then_with(|| a.path.cmp(&b.path))
    });
    let mut started: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut tops = Vec::new();
    for &at in &newest {
        match parents[at].filter(|&parent| admitted[parent]) {
            Some(parent) => started.entry(parent).or_default().push(at),
            None => tops.push(at),
        }
    }
    let mut order = Vec::with_capacity(newest.len());
    let mut placed = vec![false; sessions.len()];
    // sessions that name each other as what started them have no top
    for top in tops.into_iter().chain(newest) {
        let mut stack = vec![top];
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut placed[at], true) {
                order.push(at);
                stack.extend(started.get(&at).into_iter().flatten().rev());
            }
        }
    }
    order
}
