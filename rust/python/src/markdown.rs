//! Parsing of Markdown text for Python: sections, list items and other blocks, metadata.

use commonplace_core::store::sections::list_sections;
use commonplace_core::text::block_entries::{self, list_blocks};
use commonplace_core::text::metadata;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::detached::detached;
use crate::from_python::Text;
use crate::results::Section;

/// A list item, or another block of a section.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct MarkdownBlock {
    section: usize,
    start: usize,
    end: usize,
    line: u64,
    end_line: u64,
    is_item: bool,
    text: String,
}

impl From<block_entries::BlockEntry> for MarkdownBlock {
    fn from(entry: block_entries::BlockEntry) -> Self {
        let block_entries::BlockEntry { section, start, end, line, end_line, is_item, text } =
            entry;
        Self { section, start, end, line, end_line, is_item, text }
    }
}

/// The front matter of a note.
#[pyclass(frozen, module = "commonplace")]
pub struct FrontMatter(metadata::FrontMatter);

#[pymethods]
impl FrontMatter {
    #[getter]
    fn start(&self) -> usize {
        self.0.start
    }

    #[getter]
    fn end(&self) -> usize {
        self.0.end
    }

    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.fields)
    }
}

/// Cuts Markdown into sections.
#[pyfunction]
pub fn sections(py: Python<'_>, text: Text) -> PyResult<Vec<Section>> {
    let sections = detached(py, |interrupt| list_sections(&text, interrupt))?;
    Ok(Section::all("", sections))
}

/// Cuts Markdown into list items and other blocks.
#[pyfunction]
pub fn blocks(py: Python<'_>, text: Text) -> PyResult<Vec<MarkdownBlock>> {
    let blocks = detached(py, |interrupt| list_blocks(&text, interrupt))?;
    Ok(blocks.into_iter().map(MarkdownBlock::from).collect())
}

/// Returns the front matter of Markdown, if it has one.
#[pyfunction]
pub fn front_matter(text: Text) -> Option<FrontMatter> {
    metadata::front_matter(&text).map(FrontMatter)
}

/// The `META:` comment of a section.
#[pyclass(frozen, get_all, module = "commonplace")]
pub struct MetaComment {
    heading: String,
    fields: Py<PyTuple>,
    after: String,
}

/// Returns the `META:` comment that Markdown begins with, if it has one.
#[pyfunction]
pub fn meta_comment(py: Python<'_>, text: Text) -> PyResult<Option<MetaComment>> {
    let Some(found) = metadata::meta_comment(&text) else { return Ok(None) };
    let fields = PyTuple::new(py, found.fields().collect::<Vec<_>>())?.unbind();
    let (heading, after) = (found.heading.to_owned(), found.after.to_owned());
    Ok(Some(MetaComment { heading, fields, after }))
}
