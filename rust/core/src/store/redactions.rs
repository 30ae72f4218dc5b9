//! Redaction log: how many secrets imports replaced, by kind.
//!
//! A line of `.commonplace/redactions.jsonl` is what one append to a transcript replaced, and at which
//! byte it begins. So the counts are summed without reading a transcript. It is written before the
//! append: if an import is killed between the two, the next one writes a line for the same place,
//! which counts instead.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};

use crate::error::{Error, Result};
use crate::files::side_files::Access;
use crate::messages::redaction::Redactions;
use crate::store::IndexState;
use crate::store::Store;

const LOG: &str = "redactions.jsonl";

impl Store {
    /// Logs what is replaced in the lines that come into `path` at byte `start`.
    pub(super) fn log_redactions(
        &self,
        path: &str,
        start: u64,
        redacted: &Redactions,
    ) -> Result<()> {
        if redacted.is_empty() {
            return Ok(());
        }
        let line = serde_json::json!({ "path": path, "start": start, "redacted": redacted });
        let mut log = self.root().open_side(LOG, Access::Append)?;
        // one write: two imports do not mix their lines; a torn line before it stays apart
        log.write_all(format!("\n{line}\n").as_bytes()).map_err(|e| Error::io("write", LOG, e))
    }

    /// How many secrets imports have replaced in the transcripts that are still there, by kind.
    pub(super) fn redactions(&self, state: &IndexState) -> Result<Redactions> {
        let log = match self.root().open_side(LOG, Access::Read) {
            Err(Error::NotFound { .. }) => return Ok(Redactions::new()),
            log => log?,
        };
        let mut appends: BTreeMap<(String, u64), Redactions> = BTreeMap::new();
        for line in BufReader::new(log).split(b'\n') {
            let line = line.map_err(|e| Error::io("read", LOG, e))?;
            // what is no record was torn, or is somebody else's
            let Ok(record) = serde_json::from_slice::<serde_json::Value>(&line) else { continue };
            let path = record["path"].as_str().unwrap_or_default();
            let start = record["start"].as_u64().unwrap_or(0);
            let file = state.main.file(path).filter(|file| file.present);
            if file.is_some_and(|file| file.stat.size > start) {
                let counts = record["redacted"].as_object().into_iter().flatten();
                let count = |(kind, count): (&String, &serde_json::Value)| {
                    (kind.clone(), count.as_u64().unwrap_or(0))
                };
                appends.insert((path.to_owned(), start), counts.map(count).collect());
            }
        }
        let mut sum = Redactions::new();
        for (kind, count) in appends.into_values().flatten() {
            *sum.entry(kind).or_default() += count;
        }
        Ok(sum)
    }
}
