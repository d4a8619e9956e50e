//! Records on their way out. They cross by columns: one call for a batch, and one copy of each key
//! and value.

use std::sync::Arc;

use bytes::Bytes;
use gtc::ConsumedRecord;
use jni::Env;
use jni::objects::{JByteArray, JIntArray, JLongArray, JObject, JObjectArray, JString};
use jni::refs::IntoAuto;
use jni::sys::jlong;

use crate::border::Failure;

/// What stands for no timestamp, as in Kafka's own client.
const NO_TIMESTAMP: jlong = -1;

type Header = (String, Option<Bytes>);

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
