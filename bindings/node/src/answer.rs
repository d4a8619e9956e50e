//! Results: there already, failed, or still to come.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gtc::{Error, facade};
use napi::bindgen_prelude::{BigInt, Either, Either3, Object, Status, ToNapiValue};
use napi::{Env, JsDeferred};
use napi_derive::napi;

use crate::convert::id_out;

/// A value, or why there is none.
pub(crate) type Now<V> = Either<V, Failure>;
/// A value, why there is none, or what can be waited for.
pub(crate) type Answer<V> = Either3<V, Failure, Pending>;

/// An error of the driver.
#[napi]
pub struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

#[napi]
impl Failure {
    /// The number of the kind.
    #[napi(getter, catch_unwind)]
    pub fn kind(&self) -> u8 {
        self.0.kind().code()
    }

    /// All of it, for people.
    #[napi(getter, catch_unwind)]
    pub fn message(&self) -> String {
        self.0.to_string()
    }

    /// Whether asking again helps.
    #[napi(getter, catch_unwind)]
    pub fn retry(&self) -> &'static str {
        self.0.retry().as_str()
    }

    /// The call or step that failed.
    #[napi(getter, catch_unwind)]
    pub fn operation(&self) -> &str {
        self.0.operation()
    }

    /// The participant concerned.
    #[napi(getter, catch_unwind)]
    pub fn participant(&self) -> Option<&str> {
        self.0.participant()
    }

    /// The transaction concerned.
    #[napi(getter, catch_unwind)]
    pub fn transaction(&self) -> Option<BigInt> {
        self.0.transaction().map(id_out)
    }

    /// What went wrong.
    #[napi(getter, catch_unwind)]
    pub fn problem(&self) -> &str {
        self.0.problem()
    }

    /// What to do about it.
    #[napi(getter, catch_unwind)]
    pub fn remedy(&self) -> &str {
        self.0.remedy()
    }
}

/// The result of a verb that answers at once.
pub(crate) fn now<V>(result: Result<V, Error>) -> Now<V> {
    match result {
        Ok(value) => Either::A(value),
        Err(error) => Either::B(error.into()),
    }
}

/// The result of a verb that may take a while, as it stands. `convert` runs on any thread.
pub(crate) fn answer<T, V>(
    mut pending: facade::Pending<T>,
    convert: impl FnOnce(T) -> V + Send + 'static,
) -> Answer<V>
where
    T: Send + 'static,
    V: ToNapiValue + 'static,
{
    match pending.wait_for(Duration::ZERO) {
        Some(Ok(value)) => Either3::A(convert(value)),
        Some(Err(error)) => Either3::B(error.into()),
        None => Either3::C(Pending {
            waiting: Mutex::new(Some(Box::new(Typed { pending, convert }))),
            canceller: Canceller::default(),
        }),
    }
}

/// As [`answer`], for verbs that have no value.
pub(crate) fn done(pending: facade::Pending<()>) -> Answer<()> {
    answer(pending, |()| ())
}

/// A verb whose arguments could not be read, or its answer.
pub(crate) fn read<T, V>(read: Result<T, Error>, verb: impl FnOnce(T) -> Answer<V>) -> Answer<V> {
    match read {
        Ok(value) => verb(value),
        Err(error) => Either3::B(error.into()),
    }
}

/// Gives work up. It is held by the callback as well, as work goes on when JavaScript no longer
/// has the `Pending`.
type Canceller = Arc<Mutex<Option<facade::Canceller>>>;

/// The result of a verb that is under way.
#[napi]
pub struct Pending {
    waiting: Mutex<Option<Box<dyn Waiting>>>,
    canceller: Canceller,
}

#[napi]
impl Pending {
    /// A promise of the value or a `Failure`; once.
    #[napi(catch_unwind)]
    pub fn promise<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let waiting = self.waiting.lock();
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner).take();
        match waiting {
            Some(waiting) => waiting.promise(env, &self.canceller),
            None => Err(napi::Error::new(
                Status::GenericFailure,
                "the result was taken before",
            )),
        }
    }

    /// Gives up what can be given up without harm. A commit or an abort goes on.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        let canceller = self.canceller.lock();
        let canceller = canceller.unwrap_or_else(PoisonError::into_inner).take();
        drop(canceller);
    }
}

/// A pending result of any type.
trait Waiting: Send {
    fn promise<'env>(
        self: Box<Self>,
        env: &'env Env,
        canceller: &Canceller,
    ) -> napi::Result<Object<'env>>;
}

struct Typed<T, F> {
    pending: facade::Pending<T>,
    convert: F,
}

impl<T, V, F> Waiting for Typed<T, F>
where
    T: Send + 'static,
    V: ToNapiValue + 'static,
    F: FnOnce(T) -> V + Send + 'static,
{
    fn promise<'env>(
        self: Box<Self>,
        env: &'env Env,
        canceller: &Canceller,
    ) -> napi::Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred()?;
        let (settle, held, convert) = (Settle(Some(deferred)), canceller.clone(), self.convert);
        let given = self.pending.hand_on(move |result| {
            settle.with(result.map(convert));
            drop(held);
        });
        *canceller.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
        Ok(promise)
    }
}

/// Makes the value on the thread of JavaScript.
type Resolver<V> = Box<dyn FnOnce(Env) -> napi::Result<Now<V>>>;

/// A promise that is settled in any case: one that is not would keep the process alive.
struct Settle<V: ToNapiValue + 'static>(Option<JsDeferred<Now<V>, Resolver<V>>>);

impl<V: ToNapiValue + 'static> Settle<V> {
    fn with(mut self, result: Result<V, Error>) {
        if let Some(deferred) = self.0.take() {
            deferred.resolve(Box::new(move |_| Ok(now(result))));
        }
    }
}

impl<V: ToNapiValue + 'static> Drop for Settle<V> {
    /// The work was given up: whoever did so does not wait for the promise any more.
    fn drop(&mut self) {
        if let Some(deferred) = self.0.take() {
            deferred.reject(napi::Error::new(Status::Cancelled, "it was given up"));
        }
    }
}
