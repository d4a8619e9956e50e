//! Python's values as Rust's, and back.

use std::time::Duration;

use bytes::Bytes;
use gtc::check::Finding;
use gtc::views::{BranchInfo, ForeignInfo, ParticipantInfo, Status, TransactionInfo};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyDict, PyList};

/// A key, a value or a header's value: the bytes stay Python's, and are not copied here.
pub(crate) fn payload(value: &Bound<'_, PyAny>) -> PyResult<Option<Bytes>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(bytes) = value.extract::<PyBackedBytes>() {
        return Ok(Some(Bytes::from_owner(bytes)));
    }
    if let Ok(text) = value.extract::<PyBackedStr>() {
        return Ok(Some(Bytes::copy_from_slice(text.as_bytes())));
    }
    let name = value.get_type().name()?;
    let text = format!("bytes, str (as UTF-8) or None are wanted, and not {name}");
    Err(PyTypeError::new_err(text))
}

/// Headers as a mapping, or as pairs where a name comes twice.
pub(crate) fn headers(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, Option<Bytes>)>> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let pairs = match value.hasattr("items")? {
        true => value.call_method0("items")?,
        false => value.clone(),
    };
    pairs
        .try_iter()?
        .map(|pair| {
            let (name, value): (String, Bound<'_, PyAny>) = pair?.extract()?;
            Ok((name, payload(&value)?))
        })
        .collect()
}

/// Seconds as a time.
pub(crate) fn seconds(value: Option<f64>) -> PyResult<Option<Duration>> {
    let convert = |seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
    };
    value.map(convert).transpose()
}

/// What the classes of the package are made of.
pub(crate) fn transaction<'py>(
    py: Python<'py>,
    info: &TransactionInfo,
) -> PyResult<Bound<'py, PyDict>> {
    let branches = info.branches.iter().map(|branch| self::branch(py, branch));
    let dict = PyDict::new(py);
    dict.set_item("id", &info.id)?;
    dict.set_item("key", info.key_hex.as_deref().map(unhex).as_deref())?;
    dict.set_item("state", &info.state)?;
    dict.set_item("decision", &info.decision)?;
    dict.set_item("since_unix_ms", info.since_unix_ms)?;
    dict.set_item("branches", branches.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

fn branch<'py>(py: Python<'py>, branch: &BranchInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("participant", &branch.participant)?;
    dict.set_item("transactional_id", &branch.transactional_id)?;
    dict.set_item("state", &branch.state)?;
    dict.set_item("detail", &branch.detail)?;
    Ok(dict)
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.len() / 2).filter_map(|at| text.get(2 * at..2 * at + 2));
    digits
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

pub(crate) fn foreign<'py>(py: Python<'py>, info: &ForeignInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("participant", &info.participant)?;
    dict.set_item("transactional_id", &info.transactional_id)?;
    dict.set_item("state", &info.state)?;
    Ok(dict)
}

pub(crate) fn status<'py>(py: Python<'py>, status: &Status) -> PyResult<Bound<'py, PyDict>> {
    let participants = status
        .participants
        .iter()
        .map(|info| participant(py, info))
        .collect::<PyResult<Vec<_>>>()?;
    let dict = PyDict::new(py);
    dict.set_item("coordinator", &status.coordinator)?;
    dict.set_item("incarnation", status.incarnation)?;
    dict.set_item("recovered", status.recovered)?;
    dict.set_item("stopped", &status.stopped)?;
    dict.set_item("participants", participants)?;
    dict.set_item("open", status.open)?;
    Ok(dict)
}

fn participant<'py>(py: Python<'py>, info: &ParticipantInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &info.name)?;
    dict.set_item("state", &info.state)?;
    dict.set_item("detail", &info.detail)?;
    dict.set_item("slots_open", info.slots_open)?;
    dict.set_item("slots_free", info.slots_free)?;
    dict.set_item("waiting", info.waiting)?;
    Ok(dict)
}

pub(crate) fn findings(py: Python<'_>, findings: &[Finding]) -> PyResult<Py<PyAny>> {
    let list = PyList::empty(py);
    for finding in findings {
        let dict = PyDict::new(py);
        dict.set_item("participant", &finding.participant)?;
        dict.set_item("check", finding.check)?;
        dict.set_item("level", finding.level.as_str())?;
        dict.set_item("detail", &finding.detail)?;
        dict.set_item("remedy", &finding.remedy)?;
        list.append(dict)?;
    }
    Ok(list.into_any().unbind())
}
