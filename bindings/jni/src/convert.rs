//! Java's values as Rust's, and back.

use std::time::Duration;

use gtc::check::Finding;
use gtc::views::{BranchInfo, ForeignInfo, ParticipantInfo, Status, TransactionInfo};
use jni::objects::{JByteArray, JObject, JObjectArray, JString, JValue};
use jni::refs::{IntoAuto, Reference};
use jni::sys::jlong;
use jni::{Env, jni_sig, jni_str};

use crate::border::Failure;

/// A text that has to be there.
pub(crate) fn text(env: &Env<'_>, value: &JString<'_>) -> Result<String, Failure> {
    Ok(value.try_to_string(env)?)
}

/// A text that may be null.
pub(crate) fn text_or_null(env: &Env<'_>, value: &JString<'_>) -> Result<Option<String>, Failure> {
    match value.is_null() {
        true => Ok(None),
        false => text(env, value).map(Some),
    }
}

/// Bytes that may be null.
pub(crate) fn bytes_or_null(
    env: &Env<'_>,
    value: &JByteArray<'_>,
) -> Result<Option<Vec<u8>>, Failure> {
    match value.is_null() {
        true => Ok(None),
        false => Ok(Some(env.convert_byte_array(value)?)),
    }
}

/// The texts of an array.
pub(crate) fn texts<'local>(
    env: &mut Env<'local>,
    array: &JObjectArray<'_, JString<'_>>,
) -> Result<Vec<String>, Failure> {
    let length = array.len(env)?;
    let mut texts = Vec::with_capacity(length);
    for index in 0..length {
        let element = array.get_element(env, index)?.auto();
        texts.push(text(env, &element)?);
    }
    Ok(texts)
}

/// A time in nanoseconds; a negative one is none.
pub(crate) fn time(nanos: jlong) -> Option<Duration> {
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// What the small classes of the package are made of.
pub(crate) enum Value<'a> {
    Null,
    Flag(bool),
    Number(i64),
    Text(&'a str),
    Owned(String),
    Bytes(Vec<u8>),
    List(Vec<Value<'a>>),
}

impl<'a> From<Option<&'a String>> for Value<'a> {
    fn from(text: Option<&'a String>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text))
    }
}

impl<'a> Value<'a> {
    /// A list of one value for each item.
    pub(crate) fn list<T: 'a>(
        items: impl IntoIterator<Item = T>,
        value: impl FnMut(T) -> Self,
    ) -> Self {
        Self::List(items.into_iter().map(value).collect())
    }

    /// A list is an `Object[]`, a flag a `Boolean`, a number a `Long`.
    pub(crate) fn to_object<'local>(
        &self,
        env: &mut Env<'local>,
    ) -> Result<JObject<'local>, Failure> {
        Ok(match self {
            Self::Null => JObject::null(),
            Self::Flag(flag) => boxed(env, JValue::Bool(*flag))?,
            Self::Number(number) => boxed(env, JValue::Long(*number))?,
            Self::Text(text) => JString::from_str(env, text)?.into(),
            Self::Owned(text) => JString::from_str(env, text)?.into(),
            Self::Bytes(bytes) => env.byte_array_from_slice(bytes)?.into(),
            Self::List(values) => array(env, values)?.into(),
        })
    }
}

/// An `Object[]` of these values.
pub(crate) fn array<'local>(
    env: &mut Env<'local>,
    values: &[Value<'_>],
) -> Result<JObjectArray<'local>, Failure> {
    let array = JObjectArray::<JObject<'_>>::new(env, values.len(), JObject::null())?;
    for (index, value) in values.iter().enumerate() {
        let element = value.to_object(env)?.auto();
        array.set_element(env, index, &*element)?;
    }
    Ok(array)
}

fn boxed<'local>(env: &mut Env<'local>, value: JValue<'_>) -> Result<JObject<'local>, Failure> {
    let value_of = jni_str!("valueOf");
    let boxed = match value {
        JValue::Bool(_) => {
            let signature = jni_sig!((value: boolean) -> java.lang.Boolean);
            env.call_static_method(jni_str!("java/lang/Boolean"), value_of, signature, &[value])
        }
        _ => {
            let signature = jni_sig!((value: long) -> java.lang.Long);
            env.call_static_method(jni_str!("java/lang/Long"), value_of, signature, &[value])
        }
    };
    Ok(boxed?.l()?)
}

pub(crate) fn transaction(info: &TransactionInfo) -> Value<'_> {
    Value::List(vec![
        Value::Text(&info.id),
        match &info.key_hex {
            Some(key) => Value::Bytes(unhex(key)),
            None => Value::Null,
        },
        Value::Text(&info.state),
        info.decision.as_ref().into(),
        Value::Number(i64::try_from(info.since_unix_ms).unwrap_or(i64::MAX)),
        Value::list(&info.branches, branch),
    ])
}

fn branch(info: &BranchInfo) -> Value<'_> {
    Value::List(vec![
        Value::Text(&info.participant),
        info.transactional_id.as_ref().into(),
        Value::Text(&info.state),
        info.detail.as_ref().into(),
    ])
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.len() / 2).filter_map(|at| text.get(2 * at..2 * at + 2));
    digits
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

pub(crate) fn foreign(info: &ForeignInfo) -> Value<'_> {
    Value::List(vec![
        Value::Text(&info.participant),
        Value::Text(&info.transactional_id),
        Value::Text(&info.state),
    ])
}

pub(crate) fn status(status: &Status) -> [Value<'_>; 6] {
    [
        Value::Text(&status.coordinator),
        Value::Number(i64::from(status.incarnation)),
        Value::Flag(status.recovered),
        status.stopped.as_ref().into(),
        Value::list(&status.participants, participant),
        Value::Number(i64::try_from(status.open).unwrap_or(i64::MAX)),
    ]
}

fn participant(info: &ParticipantInfo) -> Value<'_> {
    let count = |count: u64| Value::Number(i64::try_from(count).unwrap_or(i64::MAX));
    Value::List(vec![
        Value::Text(&info.name),
        Value::Text(&info.state),
        info.detail.as_ref().into(),
        count(info.slots_open),
        count(info.slots_free),
        count(info.waiting),
    ])
}

pub(crate) fn finding(finding: &Finding) -> Value<'_> {
    Value::List(vec![
        Value::Text(&finding.participant),
        Value::Text(finding.check),
        Value::Text(finding.level.as_str()),
        Value::Text(&finding.detail),
        finding.remedy.as_ref().into(),
    ])
}
