//! Transactions and the branches of own producers.

use gtc::facade::{self, reuse_name, version_class};
use gtc::{CommitReturn, OwnProducer, ProducerIdentity};
use jni::Env;
use jni::objects::{JByteArray, JClass, JString};
use jni::refs::Reference;
use jni::sys::{jboolean, jint, jlong};

use crate::border::{Failure, natives};
use crate::convert::{Value, text};
use crate::handles::{get, hold};
use crate::packed::Packed;
use crate::pending::{answer, done};

natives! {
    fn transaction_id(transaction: jlong) -> JString;
    fn send(transaction: jlong, participant: JString, packed: [jbyte]) -> jlong;
    fn send_many(transaction: jlong, participant: JString, packed: [jbyte], count: jint) -> jlong;
    fn send_offsets(transaction: jlong, batch: jlong) -> jlong;
    fn send_offsets_of(transaction: jlong, consumer: jlong) -> jlong;
    fn enlist(transaction: jlong, participant: JString, transactional_id: JString, version_class: JString, producer_id: jlong, epoch: jint) -> jlong;
    fn commit(transaction: jlong, at_decision: jboolean) -> jlong;
    fn abort(transaction: jlong, reason: JString) -> jlong;
    fn close_transaction(transaction: jlong) -> jlong;
    fn sent(branch: jlong);
    fn delivered(branch: jlong);
    fn delivered_to(branch: jlong, topic: JString, partition: jint);
    fn failed(branch: jlong, reason: JString);
    fn state_delivered(branch: jlong);
    fn state_failed(branch: jlong, reason: JString);
    fn finished(branch: jlong) -> jlong;
}

fn transaction_id<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
) -> Result<JString<'local>, Failure> {
    let id = get::<facade::Transaction>(transaction)?.id();
    Ok(JString::from_str(env, id.to_string())?)
}

fn send<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    participant: JString<'local>,
    packed: JByteArray<'local>,
) -> Result<jlong, Failure> {
    let transaction = get::<facade::Transaction>(transaction)?;
    let participant = text(env, &participant)?;
    let record = Packed::new(env, &packed)?.record();
    done(transaction.send(participant, record))
}

fn send_many<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    participant: JString<'local>,
    packed: JByteArray<'local>,
    count: jint,
) -> Result<jlong, Failure> {
    let transaction = get::<facade::Transaction>(transaction)?;
    let participant = text(env, &participant)?;
    let mut packed = Packed::new(env, &packed)?;
    let records = (0..count).map(|_| packed.record()).collect();
    done(transaction.send_many(participant, records))
}

fn send_offsets<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    batch: jlong,
) -> Result<jlong, Failure> {
    let batch = get::<facade::Batch>(batch)?;
    done(get::<facade::Transaction>(transaction)?.send_offsets(&batch))
}

fn send_offsets_of<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    consumer: jlong,
) -> Result<jlong, Failure> {
    let consumer = get::<facade::Consumer>(consumer)?;
    done(get::<facade::Transaction>(transaction)?.send_offsets_of(&consumer))
}

/// Without a version class, it is the newest that the cluster has. A negative producer id or epoch is none.
#[allow(
    clippy::too_many_arguments,
    reason = "a producer crosses as what it is made of, in one call"
)]
fn enlist<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    participant: JString<'local>,
    transactional_id: JString<'local>,
    version_class: JString<'local>,
    producer_id: jlong,
    epoch: jint,
) -> Result<jlong, Failure> {
    let transaction = get::<facade::Transaction>(transaction)?;
    let mut producer = OwnProducer::new(text(env, &transactional_id)?);
    if !version_class.is_null() {
        producer = producer.version_class(self::version_class(&text(env, &version_class)?)?);
    }
    if let (0.., Ok(epoch @ 0..)) = (producer_id, i16::try_from(epoch)) {
        producer = producer.identity(ProducerIdentity { producer_id, epoch });
    }
    let pending = transaction.enlist_producer(&text(env, &participant)?, producer);
    answer(pending, |env, branch| {
        Value::Number(hold(branch)).to_object(env)
    })
}

/// The id.
fn commit<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    at_decision: jboolean,
) -> Result<jlong, Failure> {
    let report = match at_decision {
        true => CommitReturn::Decided,
        false => CommitReturn::Acknowledged,
    };
    let pending = get::<facade::Transaction>(transaction)?.commit_with(report);
    answer(pending, |env, id| {
        Value::Owned(id.to_string()).to_object(env)
    })
}

fn abort<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
    reason: JString<'local>,
) -> Result<jlong, Failure> {
    let reason = text(env, &reason)?;
    done(get::<facade::Transaction>(transaction)?.abort(reason))
}

fn close_transaction<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    transaction: jlong,
) -> Result<jlong, Failure> {
    done(get::<facade::Transaction>(transaction)?.close())
}

fn sent<'local>(_: &mut Env<'local>, _: JClass<'local>, branch: jlong) -> Result<(), Failure> {
    get::<facade::OwnBranch>(branch)?.sent();
    Ok(())
}

fn delivered<'local>(_: &mut Env<'local>, _: JClass<'local>, branch: jlong) -> Result<(), Failure> {
    get::<facade::OwnBranch>(branch)?.delivered();
    Ok(())
}

fn delivered_to<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    branch: jlong,
    topic: JString<'local>,
    partition: jint,
) -> Result<(), Failure> {
    let topic = text(env, &topic)?;
    get::<facade::OwnBranch>(branch)?.delivered_to(&topic, partition);
    Ok(())
}

fn failed<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    branch: jlong,
    reason: JString<'local>,
) -> Result<(), Failure> {
    get::<facade::OwnBranch>(branch)?.failed(text(env, &reason)?);
    Ok(())
}

fn state_delivered<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    branch: jlong,
) -> Result<(), Failure> {
    get::<facade::OwnBranch>(branch)?.state_delivered();
    Ok(())
}

fn state_failed<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    branch: jlong,
    reason: JString<'local>,
) -> Result<(), Failure> {
    get::<facade::OwnBranch>(branch)?.state_failed(text(env, &reason)?);
    Ok(())
}

/// `reuse` or `discard`.
fn finished<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    branch: jlong,
) -> Result<jlong, Failure> {
    let pending = get::<facade::OwnBranch>(branch)?.finished();
    answer(pending, |env, reuse| {
        Value::Text(reuse_name(reuse)).to_object(env)
    })
}
