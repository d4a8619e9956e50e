//! Results that are not there yet.
//!
//! A verb gives back 0 where it is done already, and a number otherwise. Java asks to be told when
//! that result is there ([`watch`]), and may wait a moment for it; a thread of Java's waits for
//! what is there ([`take_ready`]), and whoever wanted the result takes it and makes Java's value of
//! it ([`take`]). So no thread of gtc's is ever attached to the JVM, nor runs code of an
//! application.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gtc::{Error, facade};
use jni::Env;
use jni::objects::{JClass, JLongArray, JObject};
use jni::sys::{jboolean, jint, jlong};

use crate::border::{Failure, natives};
use crate::handles::next_number;

natives! {
    fn watch(pending: jlong, patience_us: jint) -> jboolean;
    fn take_ready() -> [jlong];
    fn take(pending: jlong) -> JObject;
    fn give_up(pending: jlong);
}

/// Makes Java's value of a result.
type Convert =
    Box<dyn for<'local> FnOnce(&mut Env<'local>) -> Result<JObject<'local>, Failure> + Send>;
type Answer = Result<Convert, Error>;

/// A pending result of any type.
trait Waiting: Send {
    /// The result, or itself where that is not there in time.
    fn wait_for(self: Box<Self>, time: Duration) -> Result<Answer, Box<dyn Waiting>>;
    fn hand_on(self: Box<Self>, callback: Box<dyn FnOnce(Answer) + Send>) -> facade::Canceller;
}

struct Typed<T, F> {
    pending: facade::Pending<T>,
    convert: F,
}

impl<T, F> Waiting for Typed<T, F>
where
    T: Send + 'static,
    F: for<'local> FnOnce(&mut Env<'local>, T) -> Result<JObject<'local>, Failure> + Send + 'static,
{
    fn wait_for(mut self: Box<Self>, time: Duration) -> Result<Answer, Box<dyn Waiting>> {
        match self.pending.wait_for(time) {
            Some(result) => Ok(converted(result, self.convert)),
            None => Err(self),
        }
    }

    fn hand_on(self: Box<Self>, callback: Box<dyn FnOnce(Answer) + Send>) -> facade::Canceller {
        let Self { pending, convert } = *self;
        pending.hand_on(move |result| callback(converted(result, convert)))
    }
}

fn converted<T: Send + 'static>(
    result: Result<T, Error>,
    convert: impl for<'local> FnOnce(&mut Env<'local>, T) -> Result<JObject<'local>, Failure>
    + Send
    + 'static,
) -> Answer {
    result.map(|value| -> Convert { Box::new(move |env| convert(env, value)) })
}

#[derive(Default)]
struct Entry {
    waiting: Option<Box<dyn Waiting>>,
    /// Gives the work up when the entry goes away first.
    canceller: Option<facade::Canceller>,
    answer: Option<Answer>,
}

type Shared = Arc<Mutex<Entry>>;

static PENDING: LazyLock<Mutex<HashMap<jlong, Shared>>> = LazyLock::new(Mutex::default);
static READY: (Mutex<Vec<jlong>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());

/// Each change is one call, so that a panic elsewhere leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert(entry: Entry) -> jlong {
    let number = next_number();
    lock(&PENDING).insert(number, Arc::new(Mutex::new(entry)));
    number
}

/// The number of a pending result, or 0 where the verb is done: for verbs without a value.
pub(crate) fn done(mut pending: facade::Pending<()>) -> Result<jlong, Failure> {
    match pending.wait_for(Duration::ZERO) {
        Some(result) => Ok(result.map(|()| 0)?),
        None => Ok(running(pending, |_, ()| Ok(JObject::null()))),
    }
}

/// The number of a result, whether it is there or not.
pub(crate) fn answer<T: Send + 'static>(
    mut pending: facade::Pending<T>,
    convert: impl for<'local> FnOnce(&mut Env<'local>, T) -> Result<JObject<'local>, Failure>
    + Send
    + 'static,
) -> Result<jlong, Failure> {
    match pending.wait_for(Duration::ZERO) {
        Some(Err(error)) => Err(error.into()),
        Some(Ok(value)) => Ok(insert(Entry {
            answer: Some(converted(Ok(value), convert)),
            ..Entry::default()
        })),
        None => Ok(running(pending, convert)),
    }
}

fn running<T: Send + 'static>(
    pending: facade::Pending<T>,
    convert: impl for<'local> FnOnce(&mut Env<'local>, T) -> Result<JObject<'local>, Failure>
    + Send
    + 'static,
) -> jlong {
    insert(Entry {
        waiting: Some(Box::new(Typed { pending, convert })),
        ..Entry::default()
    })
}

/// Whether the result is there within a time; if it is not, the number comes out of [`take_ready`]
/// once it is.
fn watch<'local>(
    _: &mut Env<'local>,
    _: JClass<'local>,
    number: jlong,
    patience_us: jint,
) -> Result<jboolean, Failure> {
    let entry = lock(&PENDING).get(&number).cloned().ok_or(Failure::Gone)?;
    let Some(waiting) = lock(&entry).waiting.take() else {
        return Ok(true);
    };
    let patience = Duration::from_micros(u64::try_from(patience_us).unwrap_or_default());
    let waiting = match waiting.wait_for(patience) {
        Ok(answer) => {
            lock(&entry).answer = Some(answer);
            return Ok(true);
        }
        Err(waiting) => waiting,
    };
    let kept = Arc::downgrade(&entry);
    let canceller = waiting.hand_on(Box::new(move |answer| {
        // Whoever wanted it may have given it up.
        if let Some(entry) = kept.upgrade() {
            lock(&entry).answer = Some(answer);
            ready(number);
        }
    }));
    lock(&entry).canceller = Some(canceller);
    Ok(false)
}

fn ready(number: jlong) {
    let (numbers, told) = &READY;
    lock(numbers).push(number);
    told.notify_one();
}

/// Waits for results, and gives back their numbers.
fn take_ready<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
) -> Result<JLongArray<'local>, Failure> {
    let (numbers, told) = &READY;
    let mut numbers = lock(numbers);
    while numbers.is_empty() {
        numbers = told.wait(numbers).unwrap_or_else(PoisonError::into_inner);
    }
    let taken = std::mem::take(&mut *numbers);
    drop(numbers);
    let array = JLongArray::new(env, taken.len())?;
    array.set_region(env, 0, &taken)?;
    Ok(array)
}

/// The value of a result that is there, or its error; the number is done with that.
fn take<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    number: jlong,
) -> Result<JObject<'local>, Failure> {
    let entry = lock(&PENDING).remove(&number).ok_or(Failure::Gone)?;
    let answer = lock(&entry).answer.take().ok_or(Failure::Gone)?;
    answer?(env)
}

/// Gives up what can be given up without harm. A commit or an abort goes on.
fn give_up<'local>(_: &mut Env<'local>, _: JClass<'local>, number: jlong) -> Result<(), Failure> {
    let entry = lock(&PENDING).remove(&number);
    // Without the lock, as the end of the work may do more than free memory.
    drop(entry);
    Ok(())
}
