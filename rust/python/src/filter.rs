//! Python class `SearchFilter`: fields, conversion, predicate.

use commonplace_core::files::file_kind::FileKind;
use commonplace_core::filter::{self, ExcludedLines};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::detached::{exceptions, to_py_err};
use crate::from_python::{Count, Path, Text, Timestamp, type_error};
use crate::hit::Hit;

/// Which documents a search or a grep may find; immutable.
#[pyclass(frozen, eq, module = "commonplace")]
#[derive(PartialEq)]
pub struct SearchFilter {
    pub filter: filter::SearchFilter,
}

/// A field as Python gives it and as the core keeps it.
trait Field {
    type Core;

    fn into_core(self) -> Self::Core;

    /// Returns what Python is shown; `None` for a field that is not set.
    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// Defines the constructor, the getters and `repr` of [`SearchFilter`].
macro_rules! fields {
    ($($name:ident: $given:ty => $field:ident,)*) => {
        #[pymethods]
        impl SearchFilter {
            #[new]
            #[pyo3(signature = (*, $($name = None),*))]
            #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
            fn new(py: Python<'_>, $($name: Option<$given>),*) -> PyResult<Self> {
                let mut filter = filter::SearchFilter::default();
                $(if let Some(given) = $name {
                    filter.$field = given.into_core();
                })*
                filter.check().map_err(|error| to_py_err(py, error))?;
                Ok(Self { filter })
            }

            $(#[getter]
            fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                <$given>::shown(&self.filter.$field, py)
            })*

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let mut set = Vec::new();
                $(let value = self.$name(py)?;
                if value.is_truthy()? {
                    set.push(format!("{}={}", stringify!($name), value.repr()?));
                })*
                Ok(format!("SearchFilter({})", set.join(", ")))
            }

            fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
                PyString::new(py, &self.__repr__(py)?).hash()
            }

            #[getter]
            fn session_transcripts(&self) -> Vec<String> {
                self.filter.session_transcripts.clone()
            }

            fn is_open(&self) -> bool {
                self.filter.is_open()
            }

            fn admits(&self, hit: &Hit) -> bool {
                self.filter.admits(&hit.hit)
            }
        }
    };
}

fields! {
    prefix: Prefixes => prefixes,
    source: Source => kind,
    since: Timestamp => since,
    until: Timestamp => until,
    role: Text => role,
    session: Text => session,
    category: Text => category,
    exclude: Exclusions => exclude,
    tools: bool => tools,
}

/// One or several folders and files.
struct Prefixes(Vec<String>);

impl FromPyObject<'_, '_> for Prefixes {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyString>() || given.hasattr(intern!(given.py(), "__fspath__"))? {
            return Ok(Self(vec![given.extract::<Path>()?.into()]));
        }
        let Ok(prefixes) = given.try_iter() else {
            return Err(type_error("a path or several", given));
        };
        let prefixes = prefixes.map(|one| Ok(one?.extract::<Path>()?.into()));
        let prefixes = prefixes.collect::<PyResult<Vec<String>>>()?;
        if prefixes.is_empty() {
            // it is not guessed whether that means everything or nothing
            let why = "prefix names no folder; leave it out, or give \"\", to search everything";
            return Err(exceptions::InvalidArgument::new_err(why));
        }
        Ok(Self(prefixes))
    }
}

impl Field for Prefixes {
    type Core = Vec<String>;

    fn into_core(self) -> Self::Core {
        self.0
    }

    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let prefixes = (!core.is_empty()).then(|| PyTuple::new(py, core)).transpose()?;
        prefixes.into_bound_py_any(py)
    }
}

/// Lines of files or sessions, as tuples.
struct Exclusions(Vec<ExcludedLines>);

impl FromPyObject<'_, '_> for Exclusions {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let refused = |given: &Bound<'_, PyAny>| -> PyResult<PyErr> {
            let shown: String = given.repr()?.to_str()?.chars().take(60).collect();
            let why =
                "exclude takes tuples of a file or session, its first and its last line, such as";
            let why = format!("{why} (\"sessions/s1/messages.jsonl\", 1, 20), not {shown}");
            Ok(exceptions::InvalidArgument::new_err(why))
        };
        let Ok(lines) = given.try_iter() else { return Err(refused(&given)?) };
        let lines = lines.map(|one| {
            let one = one?;
            match one.extract::<(Path, Count, Count)>() {
                Ok((of, first, last)) => {
                    Ok(ExcludedLines { of: of.into(), first: first.0, last: last.0 })
                }
                Err(_) => Err(refused(&one)?),
            }
        });
        lines.collect::<PyResult<_>>().map(Self)
    }
}

impl Field for Exclusions {
    type Core = Vec<ExcludedLines>;

    fn into_core(self) -> Self::Core {
        self.0
    }

    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let lines = core.iter().map(|lines| (&lines.of, lines.first, lines.last));
        let lines: Vec<_> = lines.collect();
        let lines = (!lines.is_empty()).then(|| PyTuple::new(py, lines)).transpose()?;
        lines.into_bound_py_any(py)
    }
}

/// The name of a kind of document.
struct Source(FileKind);

impl FromPyObject<'_, '_> for Source {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match &*given.extract::<Text>()? {
            "note" => Ok(Self(FileKind::Note)),
            "message" => Ok(Self(FileKind::Transcript)),
            other => {
                let why = format!("source is \"note\" or \"message\", not {other:?}");
                Err(exceptions::InvalidArgument::new_err(why))
            }
        }
    }
}

impl Field for Source {
    type Core = Option<FileKind>;

    fn into_core(self) -> Self::Core {
        Some(self.0)
    }

    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = |kind| if kind == FileKind::Note { "note" } else { "message" };
        core.map(name).into_bound_py_any(py)
    }
}

impl Field for Timestamp {
    type Core = Option<i64>;

    fn into_core(self) -> Self::Core {
        Some(self.milliseconds())
    }

    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        core.map(|milliseconds| milliseconds as f64 / 1000.0).into_bound_py_any(py)
    }
}

impl Field for Text {
    type Core = Option<String>;

    fn into_core(self) -> Self::Core {
        Some(self.into())
    }

    fn shown<'py>(core: &Self::Core, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        core.as_deref().into_bound_py_any(py)
    }
}

impl Field for bool {
    type Core = Self;

    fn into_core(self) -> Self {
        self
    }

    fn shown<'py>(core: &Self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        core.into_bound_py_any(py)
    }
}
