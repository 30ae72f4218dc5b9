//! Calls of the core without the GIL: detach, poll signals (Ctrl-C), map errors to exceptions.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::error::{Error, Interrupt, storage_code};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

pub(crate) mod exceptions {
    use pyo3::import_exception;

    import_exception!(commonplace.errors, Busy);
    import_exception!(commonplace.errors, CommonplaceError);
    import_exception!(commonplace.errors, Conflict);
    import_exception!(commonplace.errors, EncodingError);
    import_exception!(commonplace.errors, FormatError);
    import_exception!(commonplace.errors, InDoubt);
    import_exception!(commonplace.errors, InvalidArgument);
    import_exception!(commonplace.errors, MemoryLimit);
    import_exception!(commonplace.errors, NotFound);
    import_exception!(commonplace.errors, PatchFailed);
    import_exception!(commonplace.errors, QueryError);
    import_exception!(commonplace.errors, Refused);
    import_exception!(commonplace.errors, StorageError);
}

/// How often a long call looks for Ctrl-C.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    /// The exception that Python raised when it was asked, until a call raises it.
    static PENDING_EXCEPTION: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Asks Python whether Ctrl-C was pressed, and keeps what it raises for [`detached`]. From then on
/// it says so until that is raised, for Python says it once.
pub fn is_interrupted() -> bool {
    if let Some(exception) = PENDING_EXCEPTION.take() {
        PENDING_EXCEPTION.set(Some(exception));
        return true;
    }
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            PENDING_EXCEPTION.set(Some(error));
            true
        }
    }
}

/// Runs `work` without the GIL; it is given a way to ask whether Ctrl-C was pressed.
///
/// What Python raised meanwhile is raised in any case, as Python itself does it when a function in
/// C returns: a change that was made is made, and an error is the cause of what is raised.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Interrupt<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    if let Some(exception) = PENDING_EXCEPTION.take() {
        // the last call was one that cannot raise
        return Err(exception);
    }
    let done = py.detach(|| {
        let started = Instant::now();
        let (asked, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        let interrupt = || {
            let now = started.elapsed().as_millis() as u64;
            if now >= asked.load(Ordering::Relaxed) + SIGNAL_POLL_INTERVAL.as_millis() as u64 {
                asked.store(now, Ordering::Relaxed);
                stopped.fetch_or(is_interrupted(), Ordering::Relaxed);
            }
            stopped.load(Ordering::Relaxed)
        };
        work(&interrupt)
    });
    match (done, PENDING_EXCEPTION.take()) {
        (Ok(_) | Err(Error::Interrupted), Some(exception)) => Err(exception),
        (Err(error), Some(exception)) => {
            exception.set_cause(py, Some(to_py_err(py, error)));
            Err(exception)
        }
        (done, None) => done.map_err(|error| to_py_err(py, error)),
    }
}

/// Turns an error of the engine into the exception of `commonplace.errors` that names it.
pub fn to_py_err(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    let (exception, code, path) = match error {
        Error::Refused { code, path, .. } => {
            (exceptions::Refused::new_err(text), Some(code), Some(path))
        }
        Error::NotFound { path } | Error::Missing { path, .. } | Error::NoVersion { path, .. } => {
            (exceptions::NotFound::new_err(text), None, Some(path))
        }
        Error::Conflict { path, .. } | Error::Diverged { path, .. } => {
            (exceptions::Conflict::new_err(text), None, Some(path))
        }
        Error::Patch { path, .. } => (exceptions::PatchFailed::new_err(text), None, Some(path)),
        Error::Busy { path, .. } => (exceptions::Busy::new_err(text), None, Some(path)),
        Error::InDoubt { path, .. } => (exceptions::InDoubt::new_err(text), None, Some(path)),
        Error::Io { path, source, .. } => {
            (exceptions::StorageError::new_err(text), storage_code(&source), Some(path))
        }
        Error::Memory { .. } => (exceptions::MemoryLimit::new_err(text), None, None),
        Error::Query { code, .. } => (exceptions::QueryError::new_err(text), Some(code), None),
        Error::Format { path, .. } => (exceptions::FormatError::new_err(text), None, Some(path)),
        Error::Interrupted => return PyKeyboardInterrupt::new_err(text),
        _ => (exceptions::CommonplaceError::new_err(text), None, None),
    };
    let value = exception.value(py);
    // setting an attribute on our own exception cannot fail
    let _ = code.map(|code| value.setattr("code", code));
    let _ = path.map(|path| value.setattr("path", path));
    exception
}
