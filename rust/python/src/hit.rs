//! Search hits as Python objects.

use commonplace_core::store::Freshness;
use commonplace_core::store::hit::{self, HitSource, Passage};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use crate::from_python::Count;
use crate::results::counted;

/// One ranked result: where it is, how it scored, and the passage that matched.
#[pyclass(frozen, module = "commonplace")]
pub struct Hit {
    pub hit: hit::Hit,
}

impl Hit {
    /// Returns the passage; it is looked for without the GIL when it is first asked for.
    fn passage(&self, py: Python<'_>) -> &Passage {
        py.detach(|| self.hit.passage())
    }
}

impl From<hit::Hit> for Hit {
    fn from(hit: hit::Hit) -> Self {
        Self { hit }
    }
}

#[pymethods]
impl Hit {
    #[getter]
    fn source(&self) -> &'static str {
        match self.hit.source {
            HitSource::Note => "note",
            HitSource::Message => "message",
            HitSource::Tool => "tool",
        }
    }

    #[getter]
    fn path(&self) -> &str {
        &self.hit.path
    }

    #[getter]
    fn line(&self, py: Python<'_>) -> u64 {
        self.passage(py).line
    }

    #[getter]
    fn first_line(&self) -> u64 {
        self.hit.first_line
    }

    #[getter]
    fn end_line(&self) -> u64 {
        self.hit.end_line
    }

    #[getter]
    fn start(&self) -> u64 {
        self.hit.start
    }

    #[getter]
    fn end(&self) -> u64 {
        self.hit.end
    }

    #[getter]
    fn heading<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.hit.heading)
    }

    #[getter]
    fn score(&self) -> f32 {
        self.hit.score
    }

    #[getter]
    fn snippet(&self, py: Python<'_>) -> &str {
        &self.passage(py).snippet
    }

    #[getter]
    fn highlights(&self, py: Python<'_>) -> Vec<(usize, usize)> {
        self.passage(py).highlights.clone()
    }

    #[getter]
    fn citation(&self, py: Python<'_>) -> &str {
        &self.passage(py).citation
    }

    #[getter]
    fn text(&self) -> String {
        self.hit.text.replace('\u{1a}', "\u{fffd}")
    }

    #[getter]
    fn role(&self) -> Option<&str> {
        self.hit.message.as_ref().map(|message| message.role.as_str())
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.name.as_deref())
    }

    #[getter]
    fn time(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.time.as_deref())
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.hit.message.as_ref().and_then(|message| message.session.as_deref())
    }

    #[getter]
    fn is_turn(&self) -> bool {
        self.hit.turn.is_some()
    }

    #[getter]
    fn prompt(&self) -> Option<&str> {
        self.hit.turn.as_ref().and_then(|turn| turn.prompt.as_deref())
    }

    #[getter]
    fn title(&self) -> Option<&str> {
        self.hit.turn.as_ref().and_then(|turn| turn.title.as_deref())
    }

    #[getter]
    fn project(&self) -> Option<&str> {
        self.hit.project()
    }

    #[getter]
    fn archived(&self) -> bool {
        self.hit.archived
    }

    #[getter]
    fn category(&self) -> Option<&str> {
        self.hit.category.as_deref()
    }

    #[getter]
    fn until(&self) -> Option<&str> {
        self.hit.statement().and_then(|statement| statement.until)
    }

    #[getter]
    fn ended(&self) -> bool {
        self.hit.has_ended()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let passage = self.passage(py);
        format!("Hit({:?}, {:.3}, {:?})", passage.citation, self.hit.score, passage.snippet)
    }
}

/// Hits, best first, with how far they can be trusted.
#[pyclass(frozen, sequence, module = "commonplace")]
pub struct Hits {
    hits: Py<PyList>,
    freshness: Freshness,
    #[pyo3(get)]
    confidence: f32,
    #[pyo3(get)]
    notes: Vec<String>,
    #[pyo3(get)]
    phrase_missed: bool,
}

/// How many hits a representation names.
const SHOWN: usize = 3;

impl Hits {
    fn to_core(&self, py: Python<'_>) -> PyResult<hit::Hits> {
        let hits = self.hits.bind(py).iter();
        let hits = hits.map(|hit| Ok(hit.cast_into::<Hit>()?.get().hit.clone()));
        Ok(hit::Hits {
            hits: hits.collect::<PyResult<_>>()?,
            freshness: self.freshness,
            confidence: self.confidence,
            notes: self.notes.clone(),
            phrase_missed: self.phrase_missed,
        })
    }

    /// Wraps an answer of the engine.
    pub fn new(py: Python<'_>, answer: hit::Hits) -> PyResult<Self> {
        let hits = answer
            .hits
            .into_iter()
            .map(|hit| Py::new(py, Hit::from(hit)))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            hits: PyList::new(py, hits)?.unbind(),
            freshness: answer.freshness,
            confidence: answer.confidence,
            notes: answer.notes,
            phrase_missed: answer.phrase_missed,
        })
    }
}

#[pymethods]
impl Hits {
    fn with_archived(&self, py: Python<'_>, archived: &Self, limit: Count) -> PyResult<Self> {
        let (own, archived) = (self.to_core(py)?, archived.to_core(py)?);
        Self::new(py, own.with_archived(archived, limit.into()))
    }

    #[getter]
    fn freshness(&self) -> &'static str {
        self.freshness.name()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.hits.bind(py).len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let hits = self.hits.bind(py).as_any();
        if !index.is_instance_of::<PySlice>() && hits.get_item(index).is_err() {
            return Err(PyIndexError::new_err("there are no more hits"));
        }
        hits.get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.hits.bind(py).as_any().try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let hits = self.hits.bind(py);
        let shown = hits.iter().take(SHOWN).filter_map(|hit| {
            let hit = hit.cast_into::<Hit>().ok()?;
            Some(hit.get().passage(py).citation.clone())
        });
        let mut citations: Vec<String> = shown.collect();
        citations.extend((hits.len() > SHOWN).then(|| "…".to_owned()));
        let colon = if citations.is_empty() { "" } else { ": " };
        let freshness = self.freshness.name();
        let count = counted(hits.len() as u64, "hit");
        format!("<{count}, {freshness}{colon}{}>", citations.join(", "))
    }
}
