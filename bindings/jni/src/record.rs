//! Records. They cross by columns: one call for a batch, and one copy of each key and value.

use std::sync::Arc;

use bytes::Bytes;
use gtc::{ConsumedRecord, Record};
use jni::Env;
use jni::objects::{JByteArray, JIntArray, JLongArray, JObject, JObjectArray, JString};
use jni::refs::{IntoAuto, Reference};
use jni::sys::{jint, jlong};

use crate::border::Failure;
use crate::convert::text;

/// What stands for no timestamp, as in Kafka's own client.
const NO_TIMESTAMP: jlong = -1;

/// Names and values of headers by turns; null where there are none.
pub(crate) type Headers<'local> = JObjectArray<'local, JObject<'local>>;
type Header = (String, Option<Bytes>);

/// What a record is made of, beside topic and headers. A negative partition is none.
pub(crate) struct Content<'a, 'local> {
    pub(crate) key: &'a JByteArray<'local>,
    pub(crate) value: &'a JByteArray<'local>,
    pub(crate) partition: jint,
    pub(crate) timestamp_ms: jlong,
}

impl Content<'_, '_> {
    pub(crate) fn record(
        &self,
        env: &mut Env<'_>,
        topic: Arc<str>,
        headers: &Headers<'_>,
    ) -> Result<Record, Failure> {
        Ok(Record {
            partition: (self.partition >= 0).then_some(self.partition),
            key: payload(env, self.key)?,
            value: payload(env, self.value)?,
            headers: headers_in(env, headers)?,
            timestamp_ms: (self.timestamp_ms != NO_TIMESTAMP).then_some(self.timestamp_ms),
            ..Record::to(topic)
        })
    }
}

/// The only copy on the way to the producer: the JVM moves its arrays about.
fn payload(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Option<Bytes>, Failure> {
    match array.is_null() {
        true => Ok(None),
        false => Ok(Some(env.convert_byte_array(array)?.into())),
    }
}

fn headers_in(env: &mut Env<'_>, array: &Headers<'_>) -> Result<Vec<Header>, Failure> {
    if array.is_null() {
        return Ok(Vec::new());
    }
    let mut headers = Vec::new();
    for index in (0..array.len(env)?).step_by(2) {
        let name = array.get_element(env, index)?;
        let name = env.cast_local::<JString<'_>>(name)?.auto();
        let value = array.get_element(env, index + 1)?;
        let value = env.cast_local::<JByteArray<'_>>(value)?.auto();
        headers.push((text(env, &name)?, payload(env, &value)?));
    }
    Ok(headers)
}

/// The columns of a batch on its way in. Topics come once for each record.
pub(crate) struct Columns<'a, 'local> {
    pub(crate) topics: &'a JObjectArray<'local, JString<'local>>,
    pub(crate) keys: &'a JObjectArray<'local, JByteArray<'local>>,
    pub(crate) values: &'a JObjectArray<'local, JByteArray<'local>>,
    pub(crate) headers: &'a JObjectArray<'local, Headers<'local>>,
    pub(crate) partitions: &'a JIntArray<'local>,
    pub(crate) timestamps: &'a JLongArray<'local>,
}

impl Columns<'_, '_> {
    pub(crate) fn records(&self, env: &mut Env<'_>) -> Result<Vec<Record>, Failure> {
        let length = self.topics.len(env)?;
        let mut partitions = vec![0; length];
        self.partitions.get_region(env, 0, &mut partitions)?;
        let mut timestamps = vec![0; length];
        self.timestamps.get_region(env, 0, &mut timestamps)?;
        let mut topic: Arc<str> = "".into();
        let mut records = Vec::with_capacity(length);
        for index in 0..length {
            let name = self.topics.get_element(env, index)?;
            let name = text(env, &name.auto())?;
            if *topic != *name {
                topic = name.into();
            }
            let key = self.keys.get_element(env, index)?.auto();
            let value = self.values.get_element(env, index)?.auto();
            let headers = self.headers.get_element(env, index)?.auto();
            let content = Content {
                key: &key,
                value: &value,
                partition: partitions[index],
                timestamp_ms: timestamps[index],
            };
            records.push(content.record(env, topic.clone(), &headers)?);
        }
        Ok(records)
    }
}

/// The columns of a batch on its way out, as an `Object[]` of topics, keys, values and headers, and
/// of partitions, offsets and timestamps.
pub(crate) fn columns<'local>(
    env: &mut Env<'local>,
    records: &[ConsumedRecord],
) -> Result<[JObject<'local>; 7], Failure> {
    let length = records.len();
    let topics = JObjectArray::<JString<'_>>::new(env, length, JString::null())?;
    let keys = JObjectArray::<JByteArray<'_>>::new(env, length, JByteArray::null())?;
    let values = JObjectArray::<JByteArray<'_>>::new(env, length, JByteArray::null())?;
    let headers = JObjectArray::<JObject<'_>>::new(env, length, JObject::null())?;
    let mut last: Option<(&Arc<str>, JString<'local>)> = None;
    for (index, record) in records.iter().enumerate() {
        let topic = match last.take() {
            Some((name, topic)) if *name == record.topic => topic,
            _ => JString::from_str(env, &*record.topic)?,
        };
        topics.set_element(env, index, &topic)?;
        last = Some((&record.topic, topic));
        set_bytes(env, (&keys, index), record.key.as_deref())?;
        set_bytes(env, (&values, index), record.value.as_deref())?;
        if !record.headers.is_empty() {
            let array = headers_out(env, &record.headers)?;
            let array = JObject::from(array).auto();
            headers.set_element(env, index, &*array)?;
        }
    }
    let partitions = JIntArray::new(env, length)?;
    partitions.set_region(env, 0, &column(records, |record| record.partition))?;
    let offsets = JLongArray::new(env, length)?;
    offsets.set_region(env, 0, &column(records, |record| record.offset))?;
    let timestamps = JLongArray::new(env, length)?;
    let of = |record: &ConsumedRecord| record.timestamp_ms.unwrap_or(NO_TIMESTAMP);
    timestamps.set_region(env, 0, &column(records, of))?;
    Ok([
        topics.into(),
        keys.into(),
        values.into(),
        headers.into(),
        partitions.into(),
        offsets.into(),
        timestamps.into(),
    ])
}

fn column<T>(records: &[ConsumedRecord], of: impl Fn(&ConsumedRecord) -> T) -> Vec<T> {
    records.iter().map(of).collect()
}

/// The only copy on the way to the application.
fn set_bytes(
    env: &mut Env<'_>,
    (array, index): (&JObjectArray<'_, JByteArray<'_>>, usize),
    bytes: Option<&[u8]>,
) -> Result<(), Failure> {
    let Some(bytes) = bytes else { return Ok(()) };
    let copy = env.byte_array_from_slice(bytes)?.auto();
    Ok(array.set_element(env, index, &*copy)?)
}

fn headers_out<'local>(
    env: &mut Env<'local>,
    headers: &[Header],
) -> Result<JObjectArray<'local>, Failure> {
    let array = JObjectArray::<JObject<'_>>::new(env, 2 * headers.len(), JObject::null())?;
    for (index, (name, value)) in headers.iter().enumerate() {
        let name = JString::from_str(env, name)?;
        let name = JObject::from(name).auto();
        array.set_element(env, 2 * index, &*name)?;
        if let Some(value) = value {
            let value = env.byte_array_from_slice(value)?;
            let value = JObject::from(value).auto();
            array.set_element(env, 2 * index + 1, &*value)?;
        }
    }
    Ok(array)
}
