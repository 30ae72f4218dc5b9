//! Redaction log: how many secrets were replaced, by kind.
//!
//! A line of `.commonplace/redactions.jsonl` is what one append to a transcript replaced, and at which
//! byte it begins. So the counts are summed without reading a transcript. It is written before the
//! append: if an import is killed between the two, the next one writes a line for the same place,
//! which counts instead. What was replaced in a text that a caller gave has no place: each such line
//! counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};

use crate::error::{Error, Result};
use crate::files::side_files::Access;
use crate::messages::redaction::{Redactions, add_counts};
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
        self.log_line(&serde_json::json!({ "path": path, "start": start, "redacted": redacted }))
    }

    /// Logs what was replaced in a text before it came into `path`.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::Io`].
    pub fn log_redacted_text(&self, path: &str, redacted: &Redactions) -> Result<()> {
        if redacted.is_empty() {
            return Ok(());
        }
        self.log_line(&serde_json::json!({ "path": path, "redacted": redacted }))
    }

    fn log_line(&self, line: &serde_json::Value) -> Result<()> {
        let mut log = self.root().open_side(LOG, Access::Append)?;
        // one write: two imports do not mix their lines; a torn line before it stays apart
        log.write_all(format!("\n{line}\n").as_bytes()).map_err(|e| Error::io("write", LOG, e))
    }

    /// How many secrets were replaced in the files that are still there, by kind.
    pub(super) fn redactions(&self, state: &IndexState) -> Result<Redactions> {
        let log = match self.root().open_side(LOG, Access::Read) {
            Err(Error::NotFound { .. }) => return Ok(Redactions::new()),
            log => log?,
        };
        let mut sum = Redactions::new();
        let mut appends: BTreeMap<(String, u64), Redactions> = BTreeMap::new();
        for line in BufReader::new(log).split(b'\n') {
            let line = line.map_err(|e| Error::io("read", LOG, e))?;
            // what is no record was torn, or is somebody else's
            let Ok(record) = serde_json::from_slice::<serde_json::Value>(&line) else { continue };
            let path = record["path"].as_str().unwrap_or_default();
            let Some(file) = state.main.file(path).filter(|file| file.present) else { continue };
            let counts = record["redacted"].as_object().into_iter().flatten();
            let count = |(kind, count): (&String, &serde_json::Value)| {
                (kind.clone(), count.as_u64().unwrap_or(0))
            };
            let counts = counts.map(count).collect();
            match record["start"].as_u64() {
                Some(start) if file.stat.size > start => {
                    appends.insert((path.to_owned(), start), counts);
                }
                Some(_) => {}
                None => add_counts(&mut sum, counts),
            }
        }
        appends.into_values().for_each(|counts| add_counts(&mut sum, counts));
        Ok(sum)
    }
}
