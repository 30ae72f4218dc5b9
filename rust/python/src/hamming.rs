//! Nearest bit codes for Python.

use commonplace_core::hamming::{LONGEST, WORD, nearest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::detached::detached;

/// Returns the positions of the codes nearest to one.
#[pyfunction]
pub fn nearest_codes(
    py: Python<'_>,
    blocks: Vec<PyBackedBytes>,
    query: PyBackedBytes,
    k: usize,
) -> PyResult<Vec<u32>> {
    let width = query.len();
    if width == 0
        || width > LONGEST
        || !width.is_multiple_of(WORD)
        || blocks.iter().any(|block| block.len() % width != 0)
    {
        return Err(PyValueError::new_err(format!(
            "a code is a multiple of {WORD} bytes up to {LONGEST}, and a block holds whole ones"
        )));
    }
    detached(py, |_| {
        let blocks: Vec<&[u8]> = blocks.iter().map(|block| &**block).collect();
        Ok(nearest(&blocks, &query, k))
    })
}
