//! The coordinator.

use gtc::check::CheckOptions;
use gtc::facade::{self, Source, decision, offset_reset, transaction_id};
use gtc::views::outcome_name;
use gtc::{BatchLimits, ConsumerOptions, TransactionOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::consumer::Consumer;
use crate::convert::{findings, foreign, seconds, status, transaction};
use crate::error::now;
use crate::pending::{answer, done};
use crate::transaction::Transaction;

/// Commits transactions over its participants.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Coordinator(facade::Coordinator);

fn source(kind: &str, text: &str, values: Vec<(String, String)>) -> PyResult<Source> {
    match kind {
        "file" => Ok(Source::File(text.into())),
        "toml" => Ok(Source::Toml(text.to_owned())),
        "values" => Ok(Source::Values(values)),
        _ => Err(PyValueError::new_err("file, toml or values")),
    }
}

/// Opens a coordinator from a file, TOML text, or dotted keys and values.
#[pyfunction]
pub(crate) fn open(
    py: Python<'_>,
    kind: &str,
    text: &str,
    values: Vec<(String, String)>,
) -> PyResult<Py<PyAny>> {
    let pending = facade::Coordinator::open(source(kind, text, values)?);
    answer(py, pending, |py, coordinator| {
        Ok(Py::new(py, Coordinator(coordinator))?.into_any())
    })
}

/// Checks the preconditions without opening a coordinator.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    kind: &str,
    text: &str,
    values: Vec<(String, String)>,
    participants: Vec<String>,
    group: Option<String>,
) -> PyResult<Py<PyAny>> {
    let pending = facade::check(source(kind, text, values)?, options(participants, group));
    answer(py, pending, |py, found| findings(py, &found))
}

fn options(participants: Vec<String>, group: Option<String>) -> CheckOptions {
    let options = CheckOptions::new().participants(participants);
    match group {
        Some(group) => options.group(group),
        None => options,
    }
}

#[pymethods]
impl Coordinator {
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    #[pyo3(signature = (key=None, timeout_s=None))]
    fn begin(
        &self,
        py: Python<'_>,
        key: Option<Vec<u8>>,
        timeout_s: Option<f64>,
    ) -> PyResult<Transaction> {
        let mut options = TransactionOptions::new();
        options.key = key;
        options.timeout = seconds(timeout_s)?;
        now(py, self.0.begin(options)).map(Transaction)
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "they are keyword arguments of Python"
    )]
    fn consumer(
        &self,
        py: Python<'_>,
        participant: &str,
        group: String,
        topics: Vec<String>,
        reset: &str,
        instance: Option<String>,
        limits: (Option<usize>, Option<usize>, Option<f64>),
    ) -> PyResult<Py<PyAny>> {
        let mut options = ConsumerOptions::new(group, topics);
        options.reset = now(py, offset_reset(reset))?;
        options.instance = instance;
        let default = BatchLimits::default();
        options.limits = BatchLimits {
            records_max: limits.0.unwrap_or(default.records_max),
            bytes_max: limits.1.unwrap_or(default.bytes_max),
            linger: seconds(limits.2)?.unwrap_or(default.linger),
        };
        let pending = self.0.consumer(participant, options);
        answer(py, pending, |py, consumer| {
            Ok(Py::new(py, Consumer(consumer))?.into_any())
        })
    }

    fn settle(
        &self,
        py: Python<'_>,
        participant: &str,
        transactional_id: &str,
    ) -> PyResult<Py<PyAny>> {
        done(py, self.0.settle(participant, transactional_id))
    }

    fn outcome(&self, py: Python<'_>, id: &str) -> PyResult<&'static str> {
        let id = now(py, transaction_id(id))?;
        now(py, self.0.outcome(id)).map(outcome_name)
    }

    /// The id and the outcome.
    fn outcome_by_key(
        &self,
        py: Python<'_>,
        key: &[u8],
    ) -> PyResult<Option<(String, &'static str)>> {
        let found = now(py, self.0.outcome_by_key(key))?;
        Ok(found.map(|keyed| (keyed.id.to_string(), outcome_name(keyed.outcome))))
    }

    fn list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let listed = now(py, self.0.list())?;
        listed.iter().map(|info| transaction(py, info)).collect()
    }

    fn in_doubt<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let listed = now(py, self.0.in_doubt())?;
        listed.iter().map(|info| transaction(py, info)).collect()
    }

    fn describe<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let id = now(py, transaction_id(id))?;
        let described = now(py, self.0.describe(id))?;
        described.map(|info| transaction(py, &info)).transpose()
    }

    fn foreign<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let listed = now(py, self.0.foreign())?;
        listed.iter().map(|info| foreign(py, info)).collect()
    }

    fn resolve(&self, py: Python<'_>, id: &str, decision: &str) -> PyResult<()> {
        let id = now(py, transaction_id(id))?;
        let decision = now(py, self::decision(decision))?;
        now(py, self.0.resolve(id, decision))
    }

    fn resolve_foreign(
        &self,
        py: Python<'_>,
        participant: &str,
        transactional_id: &str,
        decision: &str,
    ) -> PyResult<Py<PyAny>> {
        let decision = now(py, self::decision(decision))?;
        done(
            py,
            self.0
                .resolve_foreign(participant, transactional_id, decision),
        )
    }

    fn forget(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let id = now(py, transaction_id(id))?;
        now(py, self.0.forget(id))
    }

    fn recover(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        done(py, self.0.recover())
    }

    fn verified(&self, py: Python<'_>, participant: &str) -> PyResult<Py<PyAny>> {
        done(py, self.0.verified(participant))
    }

    fn check(
        &self,
        py: Python<'_>,
        participants: Vec<String>,
        group: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let pending = self.0.check(options(participants, group));
        answer(py, pending, |py, found| findings(py, &found))
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        status(py, &now(py, self.0.status())?)
    }

    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        done(py, self.0.close())
    }
}
