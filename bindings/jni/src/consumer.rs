//! Consumers and their batches.

use gtc::PartitionLag;
use gtc::facade::{self, Notice};
use jni::Env;
use jni::objects::{JClass, JObject, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong};

use crate::border::{Failure, natives};
use crate::convert::{Value, array, text, time};
use crate::handles::{get, hold};
use crate::pending::{answer, done};
use crate::record::columns;

natives! {
    fn participant(consumer: jlong) -> JString;
    fn next(consumer: jlong, timeout_ns: jlong) -> jlong;
    fn lag(consumer: jlong) -> [JObject];
    fn is_caught_up(consumer: jlong) -> jboolean;
    fn notices(consumer: jlong) -> [JObject];
    fn resume_at(consumer: jlong, topic: JString, partition: jint, offset: jlong) -> jlong;
    fn close_consumer(consumer: jlong) -> jlong;
    fn is_stale(batch: jlong) -> jboolean;
}

fn participant<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
) -> Result<JString<'local>, Failure> {
    let consumer = get::<facade::Consumer>(consumer)?;
    Ok(JString::from_str(env, consumer.participant())?)
}

/// A batch, or null when the time has passed.
fn next<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
    timeout_ns: jlong,
) -> Result<jlong, Failure> {
    let pending = get::<facade::Consumer>(consumer)?.next(time(timeout_ns));
    answer(pending, |env, batch| match batch {
        Some(batch) => Ok(self::batch(env, batch)?.into()),
        None => Ok(JObject::null()),
    })
}

/// Its handle and its positions, then the columns of its records.
fn batch<'local>(
    env: &mut Env<'local>,
    batch: facade::Batch,
) -> Result<JObjectArray<'local>, Failure> {
    let columns = columns(env, batch.records())?;
    let positions = Value::list(batch.positions(), |position| {
        Value::List(vec![
            Value::Text(&position.topic),
            Value::Number(i64::from(position.partition)),
            Value::Number(position.offset),
        ])
    });
    let positions = positions.to_object(env)?;
    let handle = Value::Number(hold(batch)).to_object(env)?;
    let parts = JObjectArray::<JObject<'_>>::new(env, 2 + columns.len(), JObject::null())?;
    for (index, part) in [handle, positions].iter().chain(&columns).enumerate() {
        parts.set_element(env, index, part)?;
    }
    Ok(parts)
}

/// Topic, partition, position (null where it is not known) and end of each partition.
fn lag<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    fn value(lag: &PartitionLag) -> Value<'_> {
        Value::List(vec![
            Value::Text(&lag.topic),
            Value::Number(i64::from(lag.partition)),
            lag.position.map_or(Value::Null, Value::Number),
            Value::Number(lag.end),
        ])
    }
    let lag = get::<facade::Consumer>(consumer)?.lag()?;
    let values: Vec<_> = lag.iter().map(value).collect();
    array(env, &values)
}

fn is_caught_up<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
) -> Result<jboolean, Failure> {
    Ok(get::<facade::Consumer>(consumer)?.is_caught_up()?)
}

/// Kind, text and partitions of each notice.
fn notices<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    fn value(notice: &Notice) -> Value<'_> {
        let partitions = Value::list(&notice.partitions, |(topic, partition)| {
            Value::List(vec![
                Value::Text(topic),
                Value::Number(i64::from(*partition)),
            ])
        });
        Value::List(vec![
            Value::Text(notice.kind.as_str()),
            Value::Text(&notice.text),
            partitions,
        ])
    }
    let notices = get::<facade::Consumer>(consumer)?.notices()?;
    let values: Vec<_> = notices.iter().map(value).collect();
    array(env, &values)
}

fn resume_at<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
    topic: JString<'local>,
    partition: jint,
    offset: jlong,
) -> Result<jlong, Failure> {
    let topic = text(env, &topic)?;
    done(get::<facade::Consumer>(consumer)?.resume_at(&topic, partition, offset))
}

fn close_consumer<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    consumer: jlong,
) -> Result<jlong, Failure> {
    done(get::<facade::Consumer>(consumer)?.close())
}

fn is_stale<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    batch: jlong,
) -> Result<jboolean, Failure> {
    Ok(get::<facade::Batch>(batch)?.is_stale())
}
