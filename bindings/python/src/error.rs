//! Errors of the driver as exceptions of the package.

use gtc::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// The classes by the number of their kind.
static KINDS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn kinds(py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
    let kinds = KINDS.get_or_try_init(py, || {
        let kinds = py.import("gtc._kinds")?.getattr("KINDS")?;
        Ok::<_, PyErr>(kinds.cast_into::<PyDict>()?.unbind())
    });
    kinds.map(|kinds| kinds.bind(py))
}

/// The exception of an error; where it cannot be made, why not.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

/// What a verb that answers at once gives.
pub(crate) fn now<T>(py: Python<'_>, result: Result<T, Error>) -> PyResult<T> {
    result.map_err(|error| raise(py, &error))
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = kinds(py)?.as_any().get_item(error.kind().code())?;
    let id = error.transaction().map(|id| id.to_string());
    let about = (
        error.to_string(),
        error.retry().as_str(),
        error.operation(),
        error.participant(),
        id,
        error.problem(),
        error.remedy(),
    );
    Ok(PyErr::from_value(class.call1(about)?))
}
