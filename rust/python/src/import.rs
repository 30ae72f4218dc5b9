//! Import of a transcript with a progress callback, which may stop it by raising.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use commonplace_core::store::Store;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::write_results::Imported;

/// Imports the transcript at `source` into `path`; calls `progress` with the bytes read so far.
pub fn import(
    py: Python<'_>,
    store: &Store,
    source: &Path,
    path: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Imported> {
    let failed: Mutex<Option<PyErr>> = Mutex::new(None);
    let failure = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let done = detached(py, |interrupt| {
        let mut tell = |read: u64| {
            if let Some(progress) = &progress {
                let told = Python::attach(|py| progress.call1(py, (read,)));
                *failure() = told.err();
            }
        };
        let stop = || failure().is_some() || interrupt();
        store.import_transcript(source, path, &mut tell, &stop)
    });
    if let Some(error) = failure().take() {
        return Err(error);
    }
    let (path, imported) = done?;
    Ok(Imported {
        path,
        format: imported.format.to_owned(),
        messages: imported.messages,
        skipped: imported.skipped,
        bad_lines: imported.first_bad_lines,
        bad_line_count: imported.bad_lines,
        trailing_garbage: imported.first_trailing_garbage,
        trailing_garbage_count: imported.trailing_garbage,
        sessions: imported.sessions.into_iter().map(Into::into).collect(),
    })
}
