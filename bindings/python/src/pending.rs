//! Results that are not there yet.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gtc::Error;
use gtc::facade;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raise;

/// How often a wait looks for signals, Ctrl-C among them.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Makes Python's value of a result, with the interpreter at hand.
type Convert = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type Answer = Result<Convert, Error>;

/// A pending result of any type.
trait Waiting: Send {
    fn wait_for(&mut self, timeout: Duration) -> Option<Answer>;
    fn on_done(self: Box<Self>, callback: Box<dyn FnOnce(Answer) + Send>) -> facade::Canceller;
}

struct Typed<T, F> {
    pending: facade::Pending<T>,
    convert: Option<F>,
}

impl<T, F> Waiting for Typed<T, F>
where
    T: Send + 'static,
    F: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
{
    fn wait_for(&mut self, timeout: Duration) -> Option<Answer> {
        let result = self.pending.wait_for(timeout)?;
        // Without a conversion the result was taken before, which the façade has refused.
        let convert = self.convert.take()?;
        Some(result.map(|value| -> Convert { Box::new(|py| convert(py, value)) }))
    }

    fn on_done(self: Box<Self>, callback: Box<dyn FnOnce(Answer) + Send>) -> facade::Canceller {
        let Self { pending, convert } = *self;
        pending.on_done(move |result| {
            let Some(convert) = convert else { return };
            callback(result.map(|value| -> Convert { Box::new(|py| convert(py, value)) }));
        })
    }
}

/// The value of a verb if it is there already, and a `Pending` of it otherwise.
pub(crate) fn answer<T: Send + 'static>(
    py: Python<'_>,
    mut pending: facade::Pending<T>,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    match pending.wait_for(Duration::ZERO) {
        Some(Ok(value)) => convert(py, value),
        Some(Err(error)) => Err(raise(py, &error)),
        None => {
            let convert = Some(convert);
            let waiting: Box<dyn Waiting> = Box::new(Typed { pending, convert });
            let pending = Pending {
                waiting: Mutex::new(Some(waiting)),
            };
            Ok(Py::new(py, pending)?.into_any())
        }
    }
}

/// As [`answer`], for verbs that have no value.
pub(crate) fn done(py: Python<'_>, pending: facade::Pending<()>) -> PyResult<Py<PyAny>> {
    answer(py, pending, |py, ()| Ok(py.None()))
}

/// The result of a verb that is under way.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Pending {
    waiting: Mutex<Option<Box<dyn Waiting>>>,
}

#[pymethods]
impl Pending {
    /// Waits for the result without the interpreter's lock; signals are handled meanwhile.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mut waiting = self.take()?;
        loop {
            match py.detach(|| waiting.wait_for(SIGNAL_INTERVAL)) {
                Some(Ok(convert)) => return convert(py),
                Some(Err(error)) => return Err(raise(py, &error)),
                None => py.check_signals()?,
            }
        }
    }

    /// Calls `callback(value, error)` from a thread of gtc's own, once.
    fn on_done(&self, callback: Py<PyAny>) -> PyResult<Canceller> {
        let canceller = self.take()?.on_done(Box::new(move |answer| {
            // Nobody is left to be called when the interpreter has ended.
            Python::try_attach(|py| call(py, &callback, answer));
        }));
        Ok(Canceller(Mutex::new(Some(canceller))))
    }
}

impl Pending {
    fn take(&self) -> PyResult<Box<dyn Waiting>> {
        let taken = self
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        taken.ok_or_else(|| PyRuntimeError::new_err("the result was taken before"))
    }
}

fn call(py: Python<'_>, callback: &Py<PyAny>, answer: Answer) {
    let result = match answer {
        Ok(convert) => convert(py),
        Err(error) => Err(raise(py, &error)),
    };
    let called = match result {
        Ok(value) => callback.call1(py, (value, py.None())),
        Err(error) => callback.call1(py, (py.None(), error)),
    };
    if let Err(error) = called {
        error.write_unraisable(py, Some(callback.bind(py)));
    }
}

/// Gives up work whose result goes to a callback.
#[pyclass(frozen, module = "gtc._native")]
pub(crate) struct Canceller(Mutex<Option<facade::Canceller>>);

#[pymethods]
impl Canceller {
    /// Gives up what can be given up without harm. A commit or an abort goes on.
    fn cancel(&self) {
        let canceller = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(canceller);
    }
}
