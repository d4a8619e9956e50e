//! Transactions and the branches of own producers.

use gtc::facade::{self, reuse_name, version_class};
use gtc::{OwnProducer, ProducerIdentity};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::consumer::{Batch, Consumer};
use crate::error::raise;
use crate::pending::{answer, done};
use crate::record::{Content, Record};

/// A global transaction.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Transaction(pub(crate) facade::Transaction);

#[pymethods]
impl Transaction {
    #[getter]
    fn id(&self) -> String {
        self.0.id().to_string()
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "they are keyword arguments of Python"
    )]
    #[pyo3(signature = (participant, topic, value=None, key=None, headers=None, partition=None, timestamp_ms=None))]
    fn send(
        &self,
        py: Python<'_>,
        participant: &str,
        topic: &str,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        partition: Option<i32>,
        timestamp_ms: Option<i64>,
    ) -> PyResult<Py<PyAny>> {
        let content = Content {
            value,
            key,
            headers,
            partition,
            timestamp_ms,
        };
        let record = content.record(topic.into())?;
        done(py, self.0.send(participant, record))
    }

    /// Takes any iterable of records; their bytes are shared with it, and not copied.
    fn send_many(
        &self,
        py: Python<'_>,
        participant: &str,
        records: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let records = records
            .try_iter()?
            .map(|record| Ok(record?.cast::<Record>()?.get().0.clone()))
            .collect::<PyResult<Vec<_>>>()?;
        let pending = py.detach(|| self.0.send_many(participant, records));
        done(py, pending)
    }

    fn send_offsets(&self, py: Python<'_>, batch: &Batch) -> PyResult<Py<PyAny>> {
        done(py, self.0.send_offsets(&batch.0))
    }

    fn send_offsets_of(&self, py: Python<'_>, consumer: &Consumer) -> PyResult<Py<PyAny>> {
        done(py, self.0.send_offsets_of(&consumer.0))
    }

    fn enlist(
        &self,
        py: Python<'_>,
        participant: &str,
        transactional_id: &str,
        version_class: &str,
        identity: Option<(i64, i16)>,
    ) -> PyResult<Py<PyAny>> {
        let class = self::version_class(version_class).map_err(|error| raise(py, &error))?;
        let mut producer = OwnProducer::new(transactional_id).version_class(class);
        if let Some((producer_id, epoch)) = identity {
            producer = producer.identity(ProducerIdentity { producer_id, epoch });
        }
        let pending = self.0.enlist_producer(participant, producer);
        answer(py, pending, |py, branch| {
            Ok(Py::new(py, OwnBranch(branch))?.into_any())
        })
    }

    /// The id.
    fn commit(&self, py: Python<'_>, at_decision: bool) -> PyResult<Py<PyAny>> {
        let report = match at_decision {
            true => gtc::CommitReturn::Decided,
            false => gtc::CommitReturn::Acknowledged,
        };
        answer(py, self.0.commit_with(report), |py, id| {
            Ok(PyString::new(py, &id.to_string()).into_any().unbind())
        })
    }

    fn abort(&self, py: Python<'_>, reason: String) -> PyResult<Py<PyAny>> {
        done(py, self.0.abort(reason))
    }

    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        done(py, self.0.close())
    }
}

/// The branch of an own producer.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct OwnBranch(facade::OwnBranch);

#[pymethods]
impl OwnBranch {
    fn sent(&self) {
        self.0.sent();
    }

    fn delivered(&self) {
        self.0.delivered();
    }

    fn delivered_to(&self, topic: &str, partition: i32) {
        self.0.delivered_to(topic, partition);
    }

    fn failed(&self, reason: &str) {
        self.0.failed(reason);
    }

    fn state_delivered(&self) {
        self.0.state_delivered();
    }

    fn state_failed(&self, reason: &str) {
        self.0.state_failed(reason);
    }

    /// `reuse` or `discard`.
    fn finished(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        answer(py, self.0.finished(), |py, reuse| {
            let name = PyString::new(py, reuse_name(reuse));
            Ok(name.into_any().unbind())
        })
    }
}
