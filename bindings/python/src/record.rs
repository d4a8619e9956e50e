//! Records.

use std::sync::Arc;

use gtc::facade;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::convert::{headers, payload};

/// A record to write.
#[pyclass(frozen, module = "gtc")]
pub(crate) struct Record(pub(crate) gtc::Record);

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (topic, value=None, *, key=None, headers=None, partition=None, timestamp_ms=None))]
    fn new(
        topic: String,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        partition: Option<i32>,
        timestamp_ms: Option<i64>,
    ) -> PyResult<Self> {
        let content = Content {
            value,
            key,
            headers,
            partition,
            timestamp_ms,
        };
        content.record(topic.into()).map(Self)
    }

    /// The topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.0.topic
    }
}

/// What a record is made of, beside its topic.
pub(crate) struct Content<'a, 'py> {
    pub(crate) value: Option<&'a Bound<'py, PyAny>>,
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partition: Option<i32>,
    pub(crate) timestamp_ms: Option<i64>,
}

impl Content<'_, '_> {
    pub(crate) fn record(self, topic: Arc<str>) -> PyResult<gtc::Record> {
        Ok(gtc::Record {
            partition: self.partition,
            key: self.key.map_or(Ok(None), payload)?,
            value: self.value.map_or(Ok(None), payload)?,
            headers: headers(self.headers)?,
            timestamp_ms: self.timestamp_ms,
            ..gtc::Record::to(topic)
        })
    }
}

/// A record that was read: a view of its batch.
#[pyclass(frozen, module = "gtc")]
pub(crate) struct ConsumedRecord {
    batch: facade::Batch,
    index: usize,
}

impl ConsumedRecord {
    /// The record at `index`, which is within the batch.
    pub(crate) fn new(batch: facade::Batch, index: usize) -> Self {
        Self { batch, index }
    }

    fn record(&self) -> &gtc::ConsumedRecord {
        &self.batch.records()[self.index]
    }
}

#[pymethods]
impl ConsumedRecord {
    /// The topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.record().topic
    }

    /// The partition.
    #[getter]
    fn partition(&self) -> i32 {
        self.record().partition
    }

    /// The offset.
    #[getter]
    fn offset(&self) -> i64 {
        self.record().offset
    }

    /// The key; `None` is a null key, which differs from an empty one.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.record()
            .key
            .as_deref()
            .map(|key| PyBytes::new(py, key))
    }

    /// The value; `None` is a tombstone, which differs from an empty value.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let value = self.record().value.as_deref();
        value.map(|value| PyBytes::new(py, value))
    }

    /// The headers in their order, as pairs of a name and a value.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (name, value) in &self.record().headers {
            let value = value.as_deref().map(|value| PyBytes::new(py, value));
            let pair = (name.as_str(), value).into_pyobject(py)?;
            list.append(pair.cast_into::<PyTuple>()?)?;
        }
        Ok(list)
    }

    /// The timestamp in milliseconds since the Unix epoch, if the record has one.
    #[getter]
    fn timestamp_ms(&self) -> Option<i64> {
        self.record().timestamp_ms
    }

    fn __repr__(&self) -> String {
        let record = self.record();
        format!(
            "ConsumedRecord(topic={:?}, partition={}, offset={})",
            record.topic, record.partition, record.offset
        )
    }
}
