//! Argument conversion from Python: text, counts, timestamps, versions, weights; other types are
//! refused.

use std::collections::BTreeMap;
use std::ops::Deref;

use commonplace_core::error::Result;
use commonplace_core::files::Expected;
use commonplace_core::files::version::Version;
use commonplace_core::index::bm25f;
use commonplace_core::search::turns;
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyString};

use crate::detached::exceptions::{EncodingError, InvalidArgument};
use crate::detached::to_py_err;

/// A `str` that can be written as UTF-8; it is borrowed from Python, not copied.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(PyBackedStr);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.to_string()
    }
}

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if !value.is_instance_of::<PyString>() {
            return Err(type_error("text (str)", value));
        }
        value.extract().map(Self).map_err(|error: PyErr| {
            let why = error.value(value.py());
            EncodingError::new_err(format!(
                "an argument is not UTF-8 ({why}); replace what cannot be written, as in \
                 text.encode(errors=\"replace\").decode()"
            ))
        })
    }
}

/// A path: text, or an object such as `pathlib.Path`.
pub struct Path(Text);

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0.into()
    }
}

impl FromPyObject<'_, '_> for Path {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let method = intern!(value.py(), "__fspath__");
        match value.getattr_opt(method)? {
            Some(own) if !value.is_instance_of::<PyString>() => own.call0()?.extract().map(Self),
            _ => value.extract().map(Self),
        }
    }
}

/// The unit of an answer over transcripts.
pub struct Unit(pub turns::Unit);

impl FromPyObject<'_, '_> for Unit {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match &*value.extract::<Text>()? {
            "turn" => Ok(Self(turns::Unit::Turn)),
            "message" => Ok(Self(turns::Unit::Message)),
            other => {
                let why = format!("unit is \"turn\" or \"message\", not {other:?}");
                Err(InvalidArgument::new_err(why))
            }
        }
    }
}

/// A whole number from 0 on: a limit, a width, a line, an offset.
#[derive(Clone, Copy)]
pub struct Count(pub u64);

impl From<Count> for usize {
    fn from(count: Count) -> Self {
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}

impl FromPyObject<'_, '_> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        // True is an int to Python, and no caller means it
        if value.is_instance_of::<PyBool>() {
            return Err(type_error("a whole number (int)", value));
        }
        value.extract().map(Self).map_err(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(value.py()) {
                true => InvalidArgument::new_err(
                    "a count, a line or an offset is a number from 0 to 2**64 - 1",
                ),
                false => type_error("a whole number (int)", value),
            }
        })
    }
}

/// A time: seconds since 1970, or what `commonplace.timestamps` turns into them.
#[derive(Clone, Copy)]
pub struct Timestamp(f64);

impl Timestamp {
    /// The same as the engine counts.
    pub fn milliseconds(self) -> i64 {
        (self.0 * 1000.0).round() as i64
    }
}

impl FromPyObject<'_, '_> for Timestamp {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyBool>() {
            return Err(type_error("a time", value));
        }
        let timestamps = value.py().import("commonplace.timestamps")?;
        match timestamps.call_method1("seconds", (value,))?.extract() {
            Ok(seconds) if f64::is_finite(seconds) => Ok(Self(seconds)),
            _ => Err(InvalidArgument::new_err("a time is a finite number of seconds since 1970")),
        }
    }
}

/// A number of any size; what a float cannot hold is infinite, which the engine refuses.
pub struct Weight(f32);

impl FromPyObject<'_, '_> for Weight {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        given.extract().map(Self).or_else(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(given.py()) {
                true => Ok(Self(f32::INFINITY)),
                false => Err(type_error("a number", given)),
            }
        })
    }
}

/// Returns the error of an argument of another type.
pub fn type_error(wanted: &str, value: Borrowed<'_, '_, PyAny>) -> PyErr {
    let found = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    InvalidArgument::new_err(format!("expected {wanted}, got {found}"))
}

/// The version of a file that is not there.
pub const ABSENT: &str = "absent";

/// What a caller expects to find, given as a version.
pub fn expected(py: Python<'_>, version: Option<Text>) -> PyResult<Expected> {
    match version.as_deref() {
        None => Ok(Expected::Any),
        Some(ABSENT) => Ok(Expected::Absent),
        Some(version) => {
            let version: Result<Version> = version.parse();
            version.map(Expected::Version).map_err(|error| to_py_err(py, error))
        }
    }
}

/// Field weights, length norms and k1 of BM25F; all have defaults.
#[pyclass(frozen, module = "commonplace")]
pub struct Weights {
    pub weights: bm25f::Weights,
}

/// Returns the weights that a caller gave, or the defaults.
pub fn weights_or_default(weights: Option<&Weights>) -> bm25f::Weights {
    weights.map(|weights| weights.weights.clone()).unwrap_or_default()
}

#[pymethods]
impl Weights {
    #[new]
    #[pyo3(signature = (values = None))]
    fn new(py: Python<'_>, values: Option<BTreeMap<Text, Weight>>) -> PyResult<Self> {
        let mut weights = bm25f::Weights::default();
        for (name, value) in values.unwrap_or_default() {
            weights.set(&name, value.0).map_err(|error| to_py_err(py, error))?;
        }
        Ok(Self { weights })
    }

    fn as_dict(&self) -> BTreeMap<String, f32> {
        self.weights.named().into_iter().collect()
    }

    fn __repr__(&self) -> String {
        format!("Weights({:?})", self.as_dict())
    }
}
