//! The result of a verb that may take a while: waited for, awaited, or called back with.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::runtime::{Guarded, runtime};
use crate::error::{Error, ErrorKind};

/// What becomes of work that nobody waits for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// It goes on: a commit that was asked for is not taken back.
    GoesOn,
    /// It stops where it is.
    Stops,
}

/// The result of a verb. The work is under way already, on threads of gtc's own.
///
/// It is an ordinary future, for any executor. Callers without one [`wait`](Pending::wait), wait
/// for a while with [`wait_for`](Pending::wait_for), or leave a callback with
/// [`on_done`](Pending::on_done). Dropping it gives up what can be given up without harm, such as
/// a consumer's wait for records; a commit or an abort goes on.
#[must_use = "the result tells whether it worked"]
pub struct Pending<T>(Inner<T>);

enum Inner<T> {
    Ready(Option<Result<T, Error>>),
    Running(Arc<Promise<T>>, Given),
}

/// Stops the work when it is dropped, where that was agreed.
struct Given(Option<AbortHandle>);

impl Drop for Given {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

/// Gives work up whose result goes to a callback, when it is dropped, see [`Pending::on_done`].
#[must_use = "dropping it gives the work up"]
pub struct Canceller(Given);

impl Canceller {
    /// Gives the work up, as dropping the [`Pending`] would have. The callback may or may not be
    /// called then.
    pub fn cancel(self) {
        drop(self.0);
    }

    /// Lets the work go on.
    fn release(mut self) {
        self.0.0 = None;
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canceller")
    }
}

struct Promise<T> {
    state: Mutex<State<T>>,
    done: Condvar,
}

enum State<T> {
    Running,
    Awaited(Waker),
    Called(Box<dyn FnOnce(Result<T, Error>) + Send>),
    Done(Result<T, Error>),
    Taken,
}

impl<T: Send + 'static> Pending<T> {
    /// A result that is there already.
    pub(super) fn ready(result: Result<T, Error>) -> Self {
        Self(Inner::Ready(Some(result)))
    }

    /// Does at once, on the caller's thread, what can be done without waiting, and the rest on
    /// the runtime. Most sends end here, without a change of threads.
    pub(super) fn start(
        (operation, abandoned): (&'static str, Abandoned),
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Self {
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => return Self::ready(Err(error)),
        };
        let mut work = Box::pin(Guarded::new(operation, work));
        let context = runtime.tokio().enter();
        // Whoever polls next leaves a waker of its own.
        if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Self::ready(result);
        }
        drop(context);
        let promise = Arc::new(Promise {
            state: Mutex::new(State::Running),
            done: Condvar::new(),
        });
        let kept = promise.clone();
        let task = runtime
            .tokio()
            .spawn(async move { kept.fulfil(work.await) });
        let task = (abandoned == Abandoned::Stops).then(|| task.abort_handle());
        Self(Inner::Running(promise, Given(task)))
    }

    /// Does all of it on the runtime: for work that blocks for a moment before it first waits.
    pub(super) fn spawn(
        about: (&'static str, Abandoned),
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Self {
        Self::start(about, async move {
            tokio::task::yield_now().await;
            work.await
        })
    }

    /// Waits for the result, for as long as it takes.
    ///
    /// # Errors
    /// Those of the verb.
    pub fn wait(mut self) -> Result<T, Error> {
        loop {
            if let Some(result) = self.wait_for(Duration::from_secs(3600)) {
                return result;
            }
        }
    }

    /// Waits for the result, but not longer than `timeout`. `None`: it is not there yet, ask again.
    pub fn wait_for(&mut self, timeout: Duration) -> Option<Result<T, Error>> {
        match &mut self.0 {
            Inner::Ready(result) => Some(result.take().unwrap_or_else(|| Err(taken()))),
            Inner::Running(promise, _) => promise.wait_for(timeout),
        }
    }

    /// Waits for the result, and calls `go_on` every `interval`; its error ends the wait. This is
    /// how a language sees to its signals.
    ///
    /// # Errors
    /// The outer one is that of `go_on`, the inner one that of the verb.
    pub fn wait_while<E>(
        mut self,
        interval: Duration,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Result<T, Error>, E> {
        loop {
            if let Some(result) = self.wait_for(interval) {
                return Ok(result);
            }
            go_on()?;
        }
    }

    /// Calls `callback` with the result, once, on the thread `gtc-callback`: all callbacks of the
    /// process run there, one after the other, so that a slow one holds up the others and nothing
    /// else. It may use every verb, and may wait. Dropping the returned canceller gives the work
    /// up, as dropping the pending result would; see also [`then`](Pending::then).
    pub fn on_done(self, callback: impl FnOnce(Result<T, Error>) + Send + 'static) -> Canceller {
        self.hand_on(move |result| match runtime() {
            Ok(runtime) => runtime.call(Box::new(move || callback(result))),
            // No thread to call on: the caller has to hear of it all the same.
            Err(_) => callback(result),
        })
    }

    /// As [`on_done`](Pending::on_done), on whichever thread has the result, which spares a change
    /// of threads: for bindings that hand it on to a thread of their language. `callback` must not
    /// wait, use no verb, and not panic.
    pub fn hand_on(
        mut self,
        callback: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Canceller {
        match &mut self.0 {
            Inner::Ready(result) => {
                callback(result.take().unwrap_or_else(|| Err(taken())));
                Canceller(Given(None))
            }
            Inner::Running(promise, given) => {
                promise.call(Box::new(callback));
                Canceller(Given(given.0.take()))
            }
        }
    }

    /// As [`on_done`](Pending::on_done), for work that is not given up any more.
    pub fn then(self, callback: impl FnOnce(Result<T, Error>) + Send + 'static) {
        self.on_done(callback).release();
    }
}

impl<T: Send + 'static> Promise<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Each change is one assignment, so that a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fulfil(&self, result: Result<T, Error>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Called(callback) => {
                drop(state);
                callback(result);
            }
            State::Awaited(waker) => {
                *state = State::Done(result);
                drop(state);
                self.done.notify_all();
                waker.wake();
            }
            _ => {
                *state = State::Done(result);
                drop(state);
                self.done.notify_all();
            }
        }
    }

    fn wait_for(&self, timeout: Duration) -> Option<Result<T, Error>> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Done(result) => return Some(result),
                State::Taken => return Some(Err(taken())),
                running => *state = running,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn call(&self, callback: Box<dyn FnOnce(Result<T, Error>) + Send>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(result) => {
                drop(state);
                callback(result);
            }
            State::Taken => {
                drop(state);
                callback(Err(taken()));
            }
            _ => *state = State::Called(callback),
        }
    }
}

impl<T: Send + 'static> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let promise = match &mut self.0 {
            Inner::Ready(result) => {
                return Poll::Ready(result.take().unwrap_or_else(|| Err(taken())));
            }
            Inner::Running(promise, _) => promise,
        };
        let mut state = promise.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(result) => Poll::Ready(result),
            State::Taken => Poll::Ready(Err(taken())),
            _ => {
                *state = State::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

// Nothing in it is pinned: the work itself lives on the runtime.
impl<T> Unpin for Pending<T> {}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Inner::Ready(_) => "Pending(ready)",
            Inner::Running(..) => "Pending(running)",
        })
    }
}

fn taken() -> Error {
    let problem = "the result was taken before";
    Error::new(ErrorKind::InvalidState, "wait", problem)
}

#[cfg(test)]
mod tests;
