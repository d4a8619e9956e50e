//! What several calls use at once, until one of them ends it.

use std::future::Future;

use tokio::sync::{RwLock, RwLockReadGuard, watch};

use super::runtime::is_forked;
use crate::error::{Error, ErrorKind};

/// A value that calls share. Taking it waits for the calls under way, or makes them give up.
pub(super) struct Held<T> {
    value: RwLock<Kept<T>>,
    /// Calls under way give up, and new ones are refused.
    ended: watch::Sender<bool>,
    over: Over,
}

/// The kind, the problem and the remedy of what comes after the end.
pub(super) type Over = (ErrorKind, &'static str, &'static str);

impl<T> Held<T> {
    /// Calls after its end fail with `over`.
    pub(super) fn new(value: T, over: Over) -> Self {
        Self {
            value: RwLock::new(Kept(Some(value))),
            ended: watch::Sender::new(false),
            over,
        }
    }

    /// The value, for one call.
    pub(super) async fn share(
        &self,
        operation: &'static str,
    ) -> Result<RwLockReadGuard<'_, T>, Error> {
        let value = self.unless_ended(operation, async { Ok(self.value.read().await) });
        RwLockReadGuard::try_map(value.await?, |value| value.0.as_ref())
            .map_err(|_| self.over(operation))
    }

    /// Runs a call, unless the end comes first.
    pub(super) async fn unless_ended<R>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<R, Error>>,
    ) -> Result<R, Error> {
        let mut ended = self.ended.subscribe();
        tokio::select! {
            biased;
            result = call => result,
            _ = ended.wait_for(|ended| *ended) => Err(self.over(operation)),
        }
    }

    /// Reads the value, unless it is taken or being taken.
    pub(super) fn peek<R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let value = self.value.try_read().ok()?;
        value.0.as_ref().map(read)
    }

    /// Makes the calls under way give up, and refuses new ones.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// The value itself, once no call uses it; `None` if it was taken before.
    pub(super) async fn take(&self) -> Option<T> {
        self.value.write().await.0.take()
    }

    pub(super) fn over(&self, operation: &'static str) -> Error {
        let (kind, problem, remedy) = self.over;
        Error::new(kind, operation, problem).with_remedy(remedy)
    }
}

/// In a forked child the threads that a value would wait for at its end do not exist: there it is
/// left alone.
struct Kept<T>(Option<T>);

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if is_forked() {
            std::mem::forget(self.0.take());
        }
    }
}
