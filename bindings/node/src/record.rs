//! Records, one by one on their way in, and a batch at a time on their way out.

use std::sync::Arc;

use bytes::Bytes;
use gtc::ConsumedRecord;
use napi::bindgen_prelude::{BigInt64Array, Buffer, BufferSlice, Float64Array, Int32Array};
use napi_derive::napi;

use crate::convert::{Payload, payload};

/// A record to write.
#[napi(object, object_to_js = false)]
pub struct Record<'a> {
    pub topic: String,
    pub partition: Option<i32>,
    pub key: Option<Payload<'a>>,
    pub value: Option<Payload<'a>>,
    pub timestamp_ms: Option<f64>,
    pub header_names: Vec<String>,
    pub header_values: Vec<Option<Payload<'a>>>,
}

impl From<Record<'_>> for gtc::Record {
    fn from(record: Record<'_>) -> Self {
        let values = record.header_values.into_iter().map(payload);
        Self {
            partition: record.partition,
            key: payload(record.key),
            value: payload(record.value),
            headers: record.header_names.into_iter().zip(values).collect(),
            timestamp_ms: record.timestamp_ms.map(|milliseconds| milliseconds as i64),
            ..Self::to(record.topic)
        }
    }
}

/// Records to write, as they cross in one call.
#[napi(object, object_to_js = false)]
pub struct OutgoingRecords<'a> {
    /// Each topic once.
    pub topics: Vec<String>,
    /// Of each record: the index of its topic, its partition, the lengths of key and value, how many
    /// headers it has, and the length of each header's value.
    pub numbers: Int32Array,
    /// NaN where a record has none.
    pub timestamp_ms: Float64Array,
    /// Key, value and the headers' values of each record, one after the other.
    pub bytes: BufferSlice<'a>,
    pub header_names: Vec<String>,
}

const NO_PARTITION: i32 = i32::MIN;

impl OutgoingRecords<'_> {
    /// Their bytes are views of one copy.
    pub(crate) fn read(self) -> Vec<gtc::Record> {
        let topics: Vec<Arc<str>> = self.topics.into_iter().map(Arc::from).collect();
        let mut header_names = self.header_names.into_iter();
        let mut reader = Reader {
            numbers: self.numbers.iter(),
            bytes: Bytes::copy_from_slice(&self.bytes),
        };
        let record = |timestamp_ms: &f64| {
            let topic = topics[reader.number() as usize].clone();
            let partition = reader.number();
            let (key_length, value_length) = (reader.number(), reader.number());
            let headers = reader.number() as usize;
            // The lengths of the headers stand before the next record's, as their values do.
            let (key, value) = (reader.payload(key_length), reader.payload(value_length));
            let headers = header_names.by_ref().take(headers).map(|name| {
                let length = reader.number();
                (name, reader.payload(length))
            });
            gtc::Record {
                partition: (partition != NO_PARTITION).then_some(partition),
                key,
                value,
                headers: headers.collect(),
                timestamp_ms: (!timestamp_ms.is_nan()).then_some(*timestamp_ms as i64),
                ..gtc::Record::to(topic)
            }
        };
        self.timestamp_ms.iter().map(record).collect()
    }
}

/// What is left of the numbers and bytes.
struct Reader<'a> {
    numbers: std::slice::Iter<'a, i32>,
    bytes: Bytes,
}

impl Reader<'_> {
    fn number(&mut self) -> i32 {
        self.numbers.next().copied().unwrap_or_default()
    }

    fn payload(&mut self, length: i32) -> Option<Bytes> {
        (length != NULL).then(|| self.bytes.split_to(length as usize))
    }
}

/// No bytes at all, where a length is wanted: null differs from empty.
const NULL: i32 = -1;

/// The records of a batch by columns: they cross in one call, and the bytes of all lie in one
/// piece of memory that JavaScript makes views of. So each byte is copied once.
#[napi(object, object_from_js = false)]
pub struct Columns {
    /// Each topic once.
    pub topics: Vec<String>,
    /// The index of each record's topic.
    pub topic: Int32Array,
    pub partition: Int32Array,
    pub offset: BigInt64Array,
    /// NaN where a record has none.
    pub timestamp_ms: Float64Array,
    /// Key, value and the headers' values of each record, one after the other.
    pub bytes: Buffer,
    pub key_length: Int32Array,
    pub value_length: Int32Array,
    /// How many headers each record has.
    pub headers: Int32Array,
    pub header_names: Vec<String>,
    pub header_length: Int32Array,
}

/// The records of a batch by columns.
pub(crate) fn columns(records: &[ConsumedRecord]) -> Columns {
    let mut bytes = Joined(Vec::with_capacity(records.iter().map(size).sum()));
    let (mut topics, mut topic) = (Vec::<String>::new(), Vec::new());
    let (mut key_length, mut value_length) = (Vec::new(), Vec::new());
    let (mut header_names, mut header_length) = (Vec::new(), Vec::new());
    for record in records {
        topic.push(index_of(&mut topics, &record.topic));
        key_length.push(bytes.add(record.key.as_deref()));
        value_length.push(bytes.add(record.value.as_deref()));
        for (name, value) in &record.headers {
            header_names.push(name.clone());
            header_length.push(bytes.add(value.as_deref()));
        }
    }
    let each = records.iter();
    Columns {
        topics,
        topic: topic.into(),
        partition: each
            .clone()
            .map(|record| record.partition)
            .collect::<Vec<_>>()
            .into(),
        offset: each
            .clone()
            .map(|record| record.offset)
            .collect::<Vec<_>>()
            .into(),
        timestamp_ms: each.clone().map(timestamp).collect::<Vec<_>>().into(),
        bytes: bytes.0.into(),
        key_length: key_length.into(),
        value_length: value_length.into(),
        headers: each
            .map(|record| length(record.headers.len()))
            .collect::<Vec<_>>()
            .into(),
        header_names,
        header_length: header_length.into(),
    }
}

struct Joined(Vec<u8>);

impl Joined {
    fn add(&mut self, bytes: Option<&[u8]>) -> i32 {
        let Some(bytes) = bytes else { return NULL };
        self.0.extend_from_slice(bytes);
        length(bytes.len())
    }
}

/// Kafka's own lengths have 31 bits.
fn length(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn size(record: &ConsumedRecord) -> usize {
    let headers = record.headers.iter().map(|(_, value)| value.as_ref());
    let parts = headers.chain([record.key.as_ref(), record.value.as_ref()]);
    parts.flatten().map(|bytes| bytes.len()).sum()
}

fn timestamp(record: &ConsumedRecord) -> f64 {
    record
        .timestamp_ms
        .map_or(f64::NAN, |milliseconds| milliseconds as f64)
}

/// Batches have few topics, and the records of one stand together.
fn index_of(topics: &mut Vec<String>, topic: &str) -> i32 {
    let found = topics.iter().rposition(|known| known == topic);
    length(found.unwrap_or_else(|| {
        topics.push(topic.to_owned());
        topics.len() - 1
    }))
}
