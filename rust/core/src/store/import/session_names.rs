//! Paths of imported sessions: one transcript for each, unique among all.

use std::io::{BufRead, BufReader, Read};

use rustc_hash::FxHashMap;

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::fold;
use crate::messages::formats::SessionHeader;
use crate::store::Store;
use crate::store::import::ledger::Ledger;
use crate::store::import::session_folder::{
    SESSIONS, beside_parent, candidates, project, walk_sessions,
};

/// The name of the transcript in the folder of a session.
const FILE: &str = "messages.jsonl";
/// How much of a transcript is read to know whose it is.
const MAX_RECORD: u64 = 1 << 16;

/// Paths of sessions: which were given, and which project folders there are. They are read when the
/// first is asked for, as most imports only add to sessions that are known.
pub(super) struct SessionNames<'s> {
    store: &'s Store,
    /// Transcripts of the ledger with their records, until they are read.
    records: Option<Vec<(String, String)>>,
    /// Paths by host and id of session.
    known: FxHashMap<(String, String), String>,
    /// Host and id of session by path.
    taken: FxHashMap<String, (String, String)>,
    /// Folders of projects, by what other systems take for the same name.
    projects: FxHashMap<String, String>,
}

impl<'s> SessionNames<'s> {
    pub fn new(store: &'s Store, ledger: &Ledger) -> Self {
        Self {
            store,
            records: Some(ledger.records()),
            known: FxHashMap::default(),
            taken: FxHashMap::default(),
            projects: FxHashMap::default(),
        }
    }

    fn load(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let Some(records) = self.records.take() else { return Ok(()) };
        for dir in walk_sessions(self.store, interrupt)?.dirs {
            let below = dir.strip_prefix(SESSIONS).and_then(|below| below.strip_prefix('/'));
            if let Some(project) = below.filter(|below| !below.contains('/')) {
                self.projects.insert(fold(project), project.to_owned());
            }
        }
        for (path, record) in records {
            let mut header = SessionHeader::default();
            header.take_record(&serde_json::from_str(&record).unwrap_or_default());
            self.note(&header, &path);
        }
        Ok(())
    }

    fn note(&mut self, header: &SessionHeader, path: &str) {
        let key = (header.host.clone(), header.id.clone().unwrap_or_default());
        self.taken.insert(path.to_owned(), key.clone());
        self.known.entry(key).or_insert_with(|| path.to_owned());
    }

    /// Returns the path for a session, which is its own if it has one.
    pub fn path(
        &mut self,
        header: &SessionHeader,
        modified: i64,
        interrupt: Interrupt<'_>,
    ) -> Result<String> {
        self.load(interrupt)?;
        let key = |id: &Option<String>| (header.host.clone(), id.clone().unwrap_or_default());
        if let Some(path) = self.known.get(&key(&header.id)) {
            return Ok(path.clone());
        }
        let project = project(header);
        let project = self.projects.entry(fold(&project)).or_insert(project).clone();
        let paths: Box<dyn Iterator<Item = String>> = match &header.parent {
            None => Box::new(candidates(header, &project, modified)),
            Some(_) => {
                let parent = match self.known.get(&key(&header.parent)) {
                    Some(path) => path.trim_end_matches(FILE).trim_end_matches('/').to_owned(),
                    None => {
                        let id = header.parent.clone();
                        let parent = SessionHeader { id, parent: None, ..header.clone() };
                        candidates(&parent, &project, modified).next().unwrap_or_default()
                    }
                };
                Box::new(beside_parent(header, &parent))
            }
        };
        for folder in paths {
            let path = format!("{folder}/{FILE}");
            let owner = match self.taken.get(&path) {
                Some(owner) => Some(owner.clone()),
                None => self.owner(&path)?,
            };
            if owner.is_none_or(|owner| owner == key(&header.id)) {
                self.note(header, &path);
                return Ok(path);
            }
        }
        let why = "ten thousand sessions have this name; rename their folder";
        Err(Error::refused(&header.record(), "name", why))
    }

    /// Returns host and id of the session in a transcript; none if there is no such file.
    fn owner(&self, path: &str) -> Result<Option<(String, String)>> {
        let file = match self.store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(None),
            file => file?,
        };
        let mut line = Vec::new();
        let mut reader = BufReader::new(file).take(MAX_RECORD);
        reader.read_until(b'\n', &mut line).map_err(|error| Error::io("read", path, error))?;
        let mut header = SessionHeader::default();
        let record: serde_json::Value = serde_json::from_slice(&line).unwrap_or_default();
        if record["type"] == "session" {
            header.take_record(&record);
        }
        Ok(Some((header.host, header.id.unwrap_or_default())))
    }
}
