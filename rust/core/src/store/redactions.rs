//! Redaction log: how many secrets each import replaced, by kind.
//!
//! A line of `.commonplace/redactions.jsonl` is one import. So the counts are summed without reading
//! a transcript; the placeholders in the transcripts stay what holds. An import that was killed
//! before its end is not counted.

use std::io::{BufRead, BufReader, Write};

use crate::error::{Error, Interrupt, Result};
use crate::files::side_files::Access;
use crate::messages::redaction::Redactions;
use crate::store::Store;

const LOG: &str = "redactions.jsonl";

impl Store {
    /// Adds what an import replaced to the log.
    pub(super) fn log_redactions(&self, path: &str, redacted: &Redactions) -> Result<()> {
        if redacted.is_empty() {
            return Ok(());
        }
        let line = serde_json::json!({ "path": path, "redacted": redacted });
        let mut log = self.root().open_side(LOG, Access::Append)?;
        // one write: two imports do not mix their lines; a torn line before it stays apart
        log.write_all(format!("\n{line}\n").as_bytes()).map_err(|e| Error::io("write", LOG, e))
    }

    /// Returns how many secrets imports have replaced in the transcripts that are still there, by
    /// kind.
    ///
    /// # Errors
    /// Those of opening the log, [`Error::Io`]; [`Error::Interrupted`].
    pub fn redactions(&self, interrupt: Interrupt<'_>) -> Result<Redactions> {
        let mut sum = Redactions::new();
        let log = match self.root().open_side(LOG, Access::Read) {
            Err(Error::NotFound { .. }) => return Ok(sum),
            log => log?,
        };
        let state = self.refresh(interrupt)?;
        for line in BufReader::new(log).split(b'\n') {
            let line = line.map_err(|e| Error::io("read", LOG, e))?;
            // what is no record was torn, or is somebody else's
            let Ok(record) = serde_json::from_slice::<serde_json::Value>(&line) else { continue };
            let path = record["path"].as_str().unwrap_or_default();
            if !state.main.file(path).is_some_and(|file| file.present) {
                continue;
            }
            for (kind, count) in record["redacted"].as_object().into_iter().flatten() {
                *sum.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        Ok(sum)
    }
}
