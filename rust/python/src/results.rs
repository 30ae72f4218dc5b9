//! What calls return: the engine's types, as Python sees them.

use std::collections::BTreeMap;

use commonplace_core::hits::{self, Source};
use commonplace_core::{bm25f, files, message};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

use crate::enter::error_of;

/// A heading with the text up to the next one, or what stands before the first.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct Section {
    pub path: String,
    #[pyo3(get)]
    pub heading: Vec<String>,
    pub level: u8,
    pub line: u64,
    pub end_line: u64,
    pub start: usize,
    pub end: usize,
    pub summary: Option<String>,
    pub category: Option<String>,
    pub keywords: Vec<String>,
}
