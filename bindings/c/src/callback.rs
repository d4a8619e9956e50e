//! Callbacks, for the `_async` form of the verbs that may take a while.
#![allow(
    unsafe_code,
    reason = "functions of callers are called here, with their context"
)]

use std::ffi::c_void;
use std::ptr;

use gtc::facade::Pending;

use crate::border::{Answer, guard, hand_out};
use crate::consumer::{gtc_batch, gtc_consumer};
use crate::coordinator::gtc_coordinator;
use crate::error::{self, Failure};
use crate::own::gtc_own_branch;
use crate::status::gtc_status;
use crate::views::gtc_findings;

/// Called once when work without a value is done, from the thread `gtc-callback`. All callbacks of
/// the process run there, one after the other: a slow one holds up the others and nothing else.
/// It may make every call, and may wait. The `gtc_error` functions tell of this work while the
/// callback makes no other call. `context` is what was given with the callback, and must live until
/// then. No exception and no longjmp may leave it.
pub type gtc_done_callback = Option<unsafe extern "C" fn(context: *mut c_void, status: gtc_status)>;

/// As `gtc_done_callback`, with a coordinator that the callback owns; NULL on an error.
pub type gtc_coordinator_callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        status: gtc_status,
        coordinator: *mut gtc_coordinator,
    ),
>;

/// As `gtc_done_callback`, with a consumer that the callback owns; NULL on an error.
pub type gtc_consumer_callback = Option<
    unsafe extern "C" fn(context: *mut c_void, status: gtc_status, consumer: *mut gtc_consumer),
>;

/// As `gtc_done_callback`, with a batch that the callback owns; NULL on an error, and when the time
/// has passed.
pub type gtc_batch_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, status: gtc_status, batch: *mut gtc_batch)>;

/// As `gtc_done_callback`, with a branch that the callback owns; NULL on an error.
pub type gtc_own_branch_callback = Option<
    unsafe extern "C" fn(context: *mut c_void, status: gtc_status, branch: *mut gtc_own_branch),
>;

/// As `gtc_done_callback`, with findings that the callback owns; NULL on an error.
pub type gtc_findings_callback = Option<
    unsafe extern "C" fn(context: *mut c_void, status: gtc_status, findings: *mut gtc_findings),
>;

/// As `gtc_done_callback`, with a `gtc_reuse`; to discard on an error.
pub type gtc_reuse_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, status: gtc_status, reuse: u32)>;

/// A callback with its context.
pub(crate) struct Caller<F> {
    function: F,
    context: *mut c_void,
}

// SAFETY: the header says that callbacks run on another thread, with their context.
unsafe impl<F> Send for Caller<F> {}

pub(crate) type Done = unsafe extern "C" fn(*mut c_void, gtc_status);
pub(crate) type Value<V> = unsafe extern "C" fn(*mut c_void, gtc_status, V);

impl<F> Caller<F> {
    /// Before the work begins: without a callback nobody would hear of it.
    pub(crate) fn new(callback: Option<F>, context: *mut c_void) -> Answer<Self> {
        let function = callback.ok_or(Failure::null("callback"))?;
        Ok(Self { function, context })
    }
}

impl Caller<Done> {
    pub(crate) fn after<T: Send + 'static>(self, pending: Pending<T>) {
        pending.then(move |result| {
            let status = error::tell(result.map(drop).map_err(Failure::from));
            self.call(status);
        });
    }

    fn call(self, status: gtc_status) {
        // SAFETY: the header says what a callback has to be able to take.
        unsafe { (self.function)(self.context, status) }
    }
}

impl<V: 'static> Caller<Value<V>> {
    /// `convert` makes the value, also for want of one.
    pub(crate) fn after<T: Send + 'static>(
        self,
        pending: Pending<T>,
        convert: impl Fn(Option<T>) -> V + Send + 'static,
    ) {
        pending.then(move |result| {
            let result = result.map_err(Failure::from);
            let made = result.and_then(|value| guard(|| Ok(convert(Some(value)))));
            let (value, result) = match made {
                Ok(value) => (value, Ok(())),
                Err(failure) => (convert(None), Err(failure)),
            };
            let status = error::tell(result);
            self.call(status, value);
        });
    }

    fn call(self, status: gtc_status, value: V) {
        // SAFETY: the header says what a callback has to be able to take.
        unsafe { (self.function)(self.context, status, value) }
    }
}

/// Gives a handle of what was made; NULL if nothing was.
pub(crate) fn handle<T, H>(wrap: impl Fn(T) -> H) -> impl Fn(Option<T>) -> *mut H {
    move |made| made.map_or(ptr::null_mut(), |made| hand_out(wrap(made)))
}
