//! The coordinator.

use gtc::check::CheckOptions;
use gtc::facade::{self, Source, decision, offset_reset, transaction_id};
use gtc::views::outcome_name;
use gtc::{BatchLimits, ConsumerOptions, TransactionOptions};
use jni::Env;
use jni::objects::{JByteArray, JClass, JObjectArray, JString};
use jni::sys::{jint, jlong};

use crate::border::{Failure, natives};
use crate::convert::{self, Value, array, bytes_or_null, finding, text, text_or_null, texts, time};
use crate::handles::{get, hold};
use crate::pending::{answer, done};

natives! {
    fn open(kind: jint, text: JString, values: [JString]) -> jlong;
    fn check(kind: jint, text: JString, values: [JString], participants: [JString], group: JString) -> jlong;
    fn id(coordinator: jlong) -> JString;
    fn begin(coordinator: jlong, key: [jbyte], timeout_ns: jlong) -> jlong;
    fn consumer(coordinator: jlong, participant: JString, group: JString, topics: [JString], reset: JString, instance: JString, records_max: jint, bytes_max: jlong, linger_ns: jlong) -> jlong;
    fn settle(coordinator: jlong, participant: JString, transactional_id: JString) -> jlong;
    fn outcome(coordinator: jlong, id: JString) -> JString;
    fn outcome_by_key(coordinator: jlong, key: [jbyte]) -> [JObject];
    fn list(coordinator: jlong) -> [JObject];
    fn in_doubt(coordinator: jlong) -> [JObject];
    fn describe(coordinator: jlong, id: JString) -> [JObject];
    fn foreign(coordinator: jlong) -> [JObject];
    fn resolve(coordinator: jlong, id: JString, decision: JString);
    fn resolve_foreign(coordinator: jlong, participant: JString, transactional_id: JString, decision: JString) -> jlong;
    fn forget(coordinator: jlong, id: JString);
    fn recover(coordinator: jlong) -> jlong;
    fn verified(coordinator: jlong, participant: JString) -> jlong;
    fn check_open(coordinator: jlong, participants: [JString], group: JString) -> jlong;
    fn status(coordinator: jlong) -> [JObject];
    fn close(coordinator: jlong) -> jlong;
}

type Texts<'local> = JObjectArray<'local, JString<'local>>;

/// A file, TOML text, or dotted keys and values by turns.
fn source(
    env: &mut Env<'_>,
    (kind, text): (jint, &JString<'_>),
    values: &Texts<'_>,
) -> Result<Source, Failure> {
    Ok(match kind {
        0 => Source::File(convert::text(env, text)?.into()),
        1 => Source::Toml(convert::text(env, text)?),
        _ => {
            let mut values = texts(env, values)?.into_iter();
            let pairs = std::iter::from_fn(|| Some((values.next()?, values.next()?)));
            Source::Values(pairs.collect())
        }
    })
}

fn options(
    env: &mut Env<'_>,
    participants: &Texts<'_>,
    group: &JString<'_>,
) -> Result<CheckOptions, Failure> {
    let options = CheckOptions::new().participants(texts(env, participants)?);
    Ok(match text_or_null(env, group)? {
        Some(group) => options.group(group),
        None => options,
    })
}

fn open<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    kind: jint,
    text: JString<'local>,
    values: Texts<'local>,
) -> Result<jlong, Failure> {
    let pending = facade::Coordinator::open(source(env, (kind, &text), &values)?);
    answer(pending, |env, coordinator| {
        Value::Number(hold(coordinator)).to_object(env)
    })
}

/// Checks the preconditions without opening a coordinator.
fn check<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    kind: jint,
    text: JString<'local>,
    values: Texts<'local>,
    participants: Texts<'local>,
    group: JString<'local>,
) -> Result<jlong, Failure> {
    let source = source(env, (kind, &text), &values)?;
    let pending = facade::check(source, options(env, &participants, &group)?);
    answer(pending, |env, found| {
        Value::list(&found, finding).to_object(env)
    })
}

fn id<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<JString<'local>, Failure> {
    Ok(JString::from_str(
        env,
        get::<facade::Coordinator>(coordinator)?.id(),
    )?)
}

fn begin<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    key: JByteArray<'local>,
    timeout_ns: jlong,
) -> Result<jlong, Failure> {
    let mut options = TransactionOptions::new();
    options.key = bytes_or_null(env, &key)?;
    options.timeout = time(timeout_ns);
    let coordinator = get::<facade::Coordinator>(coordinator)?;
    Ok(hold(coordinator.begin(options)?))
}

#[allow(
    clippy::too_many_arguments,
    reason = "Java's options cross as what they are made of"
)]
fn consumer<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    participant: JString<'local>,
    group: JString<'local>,
    topics: Texts<'local>,
    reset: JString<'local>,
    instance: JString<'local>,
    records_max: jint,
    bytes_max: jlong,
    linger_ns: jlong,
) -> Result<jlong, Failure> {
    let mut options = ConsumerOptions::new(text(env, &group)?, texts(env, &topics)?);
    options.reset = offset_reset(&text(env, &reset)?)?;
    options.instance = text_or_null(env, &instance)?;
    let default = BatchLimits::default();
    options.limits = BatchLimits {
        records_max: usize::try_from(records_max).unwrap_or(default.records_max),
        bytes_max: usize::try_from(bytes_max).unwrap_or(default.bytes_max),
        linger: time(linger_ns).unwrap_or(default.linger),
    };
    let coordinator = get::<facade::Coordinator>(coordinator)?;
    let pending = coordinator.consumer(&text(env, &participant)?, options);
    answer(pending, |env, consumer| {
        Value::Number(hold(consumer)).to_object(env)
    })
}

fn settle<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    participant: JString<'local>,
    transactional_id: JString<'local>,
) -> Result<jlong, Failure> {
    let coordinator = get::<facade::Coordinator>(coordinator)?;
    done(coordinator.settle(&text(env, &participant)?, &text(env, &transactional_id)?))
}

fn outcome<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    id: JString<'local>,
) -> Result<JString<'local>, Failure> {
    let id = transaction_id(&text(env, &id)?)?;
    let outcome = get::<facade::Coordinator>(coordinator)?.outcome(id)?;
    Ok(JString::from_str(env, outcome_name(outcome))?)
}

/// The id and the outcome.
fn outcome_by_key<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    key: JByteArray<'local>,
) -> Result<JObjectArray<'local>, Failure> {
    let key = env.convert_byte_array(&key)?;
    let Some(keyed) = get::<facade::Coordinator>(coordinator)?.outcome_by_key(&key)? else {
        return Ok(JObjectArray::default());
    };
    let (id, outcome) = (keyed.id.to_string(), outcome_name(keyed.outcome));
    array(env, &[Value::Owned(id), Value::Text(outcome)])
}

fn list<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    let listed = get::<facade::Coordinator>(coordinator)?.list()?;
    let listed: Vec<_> = listed.iter().map(convert::transaction).collect();
    array(env, &listed)
}

fn in_doubt<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    let listed = get::<facade::Coordinator>(coordinator)?.in_doubt()?;
    let listed: Vec<_> = listed.iter().map(convert::transaction).collect();
    array(env, &listed)
}

/// Null where nothing is known of it.
fn describe<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    id: JString<'local>,
) -> Result<JObjectArray<'local>, Failure> {
    let id = transaction_id(&text(env, &id)?)?;
    match get::<facade::Coordinator>(coordinator)?.describe(id)? {
        Some(info) => array(env, &[convert::transaction(&info)]),
        None => Ok(JObjectArray::default()),
    }
}

fn foreign<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    let listed = get::<facade::Coordinator>(coordinator)?.foreign()?;
    let listed: Vec<_> = listed.iter().map(convert::foreign).collect();
    array(env, &listed)
}

fn resolve<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    id: JString<'local>,
    decision: JString<'local>,
) -> Result<(), Failure> {
    let id = transaction_id(&text(env, &id)?)?;
    let decision = self::decision(&text(env, &decision)?)?;
    Ok(get::<facade::Coordinator>(coordinator)?.resolve(id, decision)?)
}

fn resolve_foreign<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    participant: JString<'local>,
    transactional_id: JString<'local>,
    decision: JString<'local>,
) -> Result<jlong, Failure> {
    let decision = self::decision(&text(env, &decision)?)?;
    let (participant, name) = (text(env, &participant)?, text(env, &transactional_id)?);
    let coordinator = get::<facade::Coordinator>(coordinator)?;
    done(coordinator.resolve_foreign(&participant, &name, decision))
}

fn forget<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    id: JString<'local>,
) -> Result<(), Failure> {
    let id = transaction_id(&text(env, &id)?)?;
    Ok(get::<facade::Coordinator>(coordinator)?.forget(id)?)
}

fn recover<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<jlong, Failure> {
    done(get::<facade::Coordinator>(coordinator)?.recover())
}

fn verified<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    participant: JString<'local>,
) -> Result<jlong, Failure> {
    let coordinator = get::<facade::Coordinator>(coordinator)?;
    done(coordinator.verified(&text(env, &participant)?))
}

fn check_open<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
    participants: Texts<'local>,
    group: JString<'local>,
) -> Result<jlong, Failure> {
    let options = options(env, &participants, &group)?;
    let pending = get::<facade::Coordinator>(coordinator)?.check(options);
    answer(pending, |env, found| {
        Value::list(&found, finding).to_object(env)
    })
}

fn status<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<JObjectArray<'local>, Failure> {
    let status = get::<facade::Coordinator>(coordinator)?.status()?;
    array(env, &convert::status(&status))
}

fn close<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    coordinator: jlong,
) -> Result<jlong, Failure> {
    done(get::<facade::Coordinator>(coordinator)?.close())
}
