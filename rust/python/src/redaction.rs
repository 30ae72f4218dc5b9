//! Redaction of secrets in texts for Python.

use commonplace_core::messages::redaction::{Redactions, redact_value};
use pyo3::prelude::*;

use crate::detached::detached;
use crate::from_python::Text;

/// Replaces the secrets of a text.
#[pyfunction]
#[pyo3(signature = (text, name = None, known = None))]
pub fn redact(
    py: Python<'_>,
    text: Text,
    name: Option<Text>,
    known: Option<Text>,
) -> PyResult<Option<(String, Redactions)>> {
    let known = known.as_deref().unwrap_or_default();
    detached(py, |interrupt| redact_value(&text, name.as_deref(), known, interrupt))
}
