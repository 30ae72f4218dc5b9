//! Imports with a progress callback, which may stop them by raising.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use commonplace_core::error::{Interrupt, Result};
use commonplace_core::store::Store;
use commonplace_core::store::import::{ImportFrom, ImportOptions, SourceReport};
use pyo3::prelude::*;

use crate::detached::detached;
use crate::write_results::{ImportReport, Imported, ImportedSource};

/// Runs an import; what `tell` returns with an error ends it, and is raised.
fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut(&dyn Fn(Python<'_>) -> PyResult<()>), Interrupt<'_>) -> Result<T>
    + Send,
) -> PyResult<T> {
    let failed: Mutex<Option<PyErr>> = Mutex::new(None);
    let failure = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let done = detached(py, |interrupt| {
        let mut tell = |call: &dyn Fn(Python<'_>) -> PyResult<()>| {
            let told = Python::attach(call);
            *failure() = told.err();
        };
        let stop = || failure().is_some() || interrupt();
        work(&mut tell, &stop)
    });
    match failure().take() {
        Some(error) => Err(error),
        None => done,
    }
}

/// Imports the transcript at `source` into `path`; calls `progress` with the bytes read so far.
pub fn import(
    py: Python<'_>,
    store: &Store,
    source: &Path,
    path: &str,
    options: ImportOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<Imported> {
    let (path, imported) = run(py, |tell, stop| {
        let mut shown = |read: u64| {
            if let Some(progress) = &progress {
                tell(&|py| progress.call1(py, (read,)).map(drop));
            }
        };
        store.import_transcript(source, path, options, &mut shown, stop)
    })?;
    Ok(Imported::new(path, imported))
}

/// Imports all sessions at `paths` and of `hosts`; calls `progress` with the bytes read so far and
/// those that there are.
pub fn import_sessions(
    py: Python<'_>,
    store: &Store,
    paths: Vec<PathBuf>,
    hosts: Vec<String>,
    options: ImportOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<ImportReport> {
    let places: Vec<ImportFrom> = paths
        .into_iter()
        .map(|path| match path == Path::new("-") {
            true => ImportFrom::Stdin,
            false => ImportFrom::Path(path),
        })
        .chain(hosts.into_iter().map(|host| match &*host {
            "all" => ImportFrom::AllHosts,
            _ => ImportFrom::Host(host),
        }))
        .collect();
    let report = run(py, |tell, stop| {
        let mut shown = |read: u64, total: u64| {
            if let Some(progress) = &progress {
                tell(&|py| progress.call1(py, (read, total)).map(drop));
            }
        };
        let variable = |name: &str| std::env::var_os(name);
        store.import_sessions(&places, options, &variable, &mut shown, stop)
    })?;
    Ok(ImportReport {
        places: report.places.clone(),
        new: report.count("new"),
        grown: report.count("grown"),
        unchanged: report.count("unchanged"),
        skipped: report.count("skipped"),
        messages: report.messages(),
        copies: report.copies(),
        redacted: report.redacted(),
        removed: report.removed,
        sources: report.sources.into_iter().map(imported_source).collect(),
    })
}

fn imported_source(report: SourceReport) -> ImportedSource {
    let imported = report.imported;
    ImportedSource {
        source: report.source,
        outcome: report.outcome.name(),
        why: report.outcome.reason().map(str::to_owned),
        paths: report.paths,
        messages: report.messages,
        copies: report.copies,
        cut_off: report.is_cut_off,
        format: imported.format.to_owned(),
        left_out: imported.skipped,
        bad_lines: imported.first_bad_lines,
        bad_line_count: imported.bad_lines,
        trailing_garbage: imported.first_trailing_garbage,
        trailing_garbage_count: imported.trailing_garbage,
        bad_rows: report.bad_rows,
        bad_row_count: report.bad_row_count,
        sessions: imported.sessions.into_iter().map(Into::into).collect(),
        redacted: imported.redacted,
    }
}
