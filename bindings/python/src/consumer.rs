//! Consumers and their batches.

use std::sync::atomic::{AtomicUsize, Ordering};

use gtc::facade;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::convert::seconds;
use crate::error::now;
use crate::pending::{answer, done};
use crate::record::ConsumedRecord;

/// Topic, partition, position and end.
type LagParts = (String, i32, Option<i64>, i64);
/// Kind, text and partitions.
type NoticeParts = (&'static str, String, Vec<(String, i32)>);

/// A consumer whose offsets travel inside transactions.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Consumer(pub(crate) facade::Consumer);

#[pymethods]
impl Consumer {
    #[getter]
    fn participant(&self) -> &str {
        self.0.participant()
    }

    /// A batch, or `None` when the time has passed.
    #[pyo3(signature = (timeout_s=None))]
    fn next(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Py<PyAny>> {
        let pending = self.0.next(seconds(timeout_s)?);
        answer(py, pending, |py, batch| {
            let batch = batch.map(|batch| Py::new(py, Batch(batch))).transpose()?;
            Ok(batch.map_or_else(|| py.None(), Py::into_any))
        })
    }

    /// Topic, partition, position (if known) and end of each partition.
    fn lag(&self, py: Python<'_>) -> PyResult<Vec<LagParts>> {
        let lag = now(py, self.0.lag())?.into_iter();
        let lag = lag.map(|lag| (lag.topic.to_string(), lag.partition, lag.position, lag.end));
        Ok(lag.collect())
    }

    fn is_caught_up(&self, py: Python<'_>) -> PyResult<bool> {
        now(py, self.0.is_caught_up())
    }

    /// Kind, text and partitions of each notice.
    fn notices(&self, py: Python<'_>) -> PyResult<Vec<NoticeParts>> {
        let notices = now(py, self.0.notices())?.into_iter();
        let notices = notices.map(|notice| {
            let partitions = notice.partitions.iter();
            let partitions = partitions.map(|(topic, partition)| (topic.to_string(), *partition));
            (notice.kind.as_str(), notice.text, partitions.collect())
        });
        Ok(notices.collect())
    }

    fn resume_at(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> PyResult<Py<PyAny>> {
        done(py, self.0.resume_at(topic, partition, offset))
    }

    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        done(py, self.0.close())
    }
}

/// Records, and the offsets after them.
#[pyclass(frozen, sequence, module = "gtc")]
pub(crate) struct Batch(pub(crate) facade::Batch);

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.records().len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<ConsumedRecord> {
        let length = self.0.records().len();
        let from_end = |index: isize| length.checked_add_signed(index);
        let index = usize::try_from(index).ok().or_else(|| from_end(index));
        match index.filter(|index| *index < length) {
            Some(index) => Ok(ConsumedRecord::new(self.0.clone(), index)),
            None => Err(PyIndexError::new_err("the batch has no such record")),
        }
    }

    fn __iter__(&self) -> Records {
        Records {
            batch: self.0.clone(),
            next: AtomicUsize::new(0),
        }
    }

    /// Always true: a batch without records moves offsets too.
    fn __bool__(&self) -> bool {
        true
    }

    /// The next offset to read of each partition that the batch moved.
    #[getter]
    fn positions(&self) -> Vec<(String, i32, i64)> {
        let positions = self.0.positions().iter();
        positions
            .map(|place| (place.topic.to_string(), place.partition, place.offset))
            .collect()
    }

    /// Whether its offsets would be refused: the group has rebalanced, or an earlier batch is
    /// read again.
    #[getter]
    fn is_stale(&self) -> bool {
        self.0.is_stale()
    }
}

/// The records of a batch, one after the other.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Records {
    batch: facade::Batch,
    next: AtomicUsize,
}

#[pymethods]
impl Records {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> Option<ConsumedRecord> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let is_there = index < self.batch.records().len();
        is_there.then(|| ConsumedRecord::new(self.batch.clone(), index))
    }
}
