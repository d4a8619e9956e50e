//! The bare core, for hosts with a loop and participants of their own.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{CString, c_char};
use std::sync::{Mutex, MutexGuard};

use gtc_plain::{Misfit, Now, Output, PlainCore, Time};

use crate::border::{
    Answer, bytes, enter, hand_out, items, place, pointer_place, read, shared, take_back, text,
};
use crate::error::{Failure, c_text};
use crate::record::gtc_bytes;
use crate::status::gtc_status;

/// The core of one coordinator: a state machine without I/O, clock and threads. What goes in and comes
/// out is JSON text in the form of `vectors/README.md`. It is for hosts with a loop of their own; all
/// others open a `gtc_coordinator`.
///
/// The contract: put one thing in (a request, a response, a time-out), then poll until the output is
/// `GTC_CORE_OUTPUT_KIND_WAIT`, and do the actions; the response to each goes in under its id. Make
/// records durable, in their order, before they are answered `appended`. One thread at a time may use
/// a core: the texts that it gives out are valid until its next call.
pub struct gtc_core(Mutex<Bare>);

struct Bare {
    core: PlainCore,
    /// What was given out last.
    given: CString,
}

/// The clocks, which the core does not read itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_now {
    /// A monotonic clock that also runs in suspend, in microseconds.
    pub monotonic_us: u64,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub unix_ms: u64,
}

impl From<gtc_now> for Now {
    fn from(now: gtc_now) -> Self {
        Self {
            monotonic: Time::from_micros(now.monotonic_us),
            unix_ms: now.unix_ms,
        }
    }
}

/// What kind of thing comes out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_core_output_kind {
    /// Nothing more for now: put the next thing in.
    Wait = 0,
    /// Something to do, and to answer under its id.
    Action = 1,
    /// Something to tell the application.
    Event = 2,
}

/// No time-out is to be handled before more is put in.
pub const GTC_CORE_NEVER: u64 = u64::MAX;

/// One output.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_core_output {
    /// What kind of thing it is.
    pub kind: gtc_core_output_kind,
    /// The id of an action.
    pub id: u64,
    /// While it waits: when `gtc_core_handle_timeout` is to be called, on the monotonic clock in
    /// microseconds, or `GTC_CORE_NEVER`.
    pub until_us: u64,
    /// All of it as JSON; valid until the next call with this core.
    pub text: *const c_char,
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit.0)
    }
}

impl Bare {
    fn give(&mut self, text: &str) -> *const c_char {
        self.given = c_text(text);
        self.given.as_ptr()
    }
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn bare<'a>(core: *const gtc_core) -> Answer<MutexGuard<'a, Bare>> {
    // SAFETY: as the caller promises.
    let core = unsafe { shared(core, "core") }?;
    // After a panic nobody knows what state it is in: as after a crash, the log tells.
    core.0
        .lock()
        .map_err(|_| Failure::Panic("the core panicked in an earlier call".to_owned()))
}

/// Makes a core that goes on where the records of its log end. Drain it at once.
///
/// `config` is JSON; `log` are the records that were made durable, oldest first. Config for a
/// configuration that cannot work, and for records that are damaged or out of order.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_new(
    config: *const c_char,
    log: *const gtc_bytes,
    log_length: usize,
    now: gtc_now,
    core: *mut *mut gtc_core,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, config, log) = unsafe {
            (
                pointer_place(core, "core")?,
                text(config, "config")?,
                items(log, log_length, "log")?,
            )
        };
        // SAFETY: as the caller promises.
        let records = log.iter().map(|record| unsafe { bytes(record, "log") });
        let records: Vec<&[u8]> = records
            .map(|record| record?.ok_or(Failure::null("log")))
            .collect::<Answer<_>>()?;
        let bare = Bare {
            core: PlainCore::new(config, records, now.into())?,
            given: CString::default(),
        };
        place.fill(hand_out(gtc_core(Mutex::new(bare))));
        Ok(())
    })
}

/// Takes a request in. The answer is JSON: accepted, or a refusal, which is no error of this call.
///
/// Config for what is no request.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_handle_request(
    core: *const gtc_core,
    request: *const c_char,
    now: gtc_now,
    answer: *mut *const c_char,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, mut core, request) = unsafe {
            (
                place(answer, "answer")?,
                bare(core)?,
                text(request, "request")?,
            )
        };
        let answer = core.core.handle_request(request, now.into())?;
        place.fill(core.give(&answer));
        Ok(())
    })
}

/// Takes the response to an action in. Late, repeated and unknown ones are ignored.
///
/// Config for what is no response.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_handle_response(
    core: *const gtc_core,
    id: u64,
    response: *const c_char,
    now: gtc_now,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (mut core, response) = unsafe { (bare(core)?, text(response, "response")?) };
        Ok(core.core.handle_response(id, response, now.into())?)
    })
}

/// Does what is due. Calling it early or often does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_handle_timeout(
    core: *const gtc_core,
    now: gtc_now,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        unsafe { bare(core) }?.core.handle_timeout(now.into());
        Ok(())
    })
}

/// Gives the next output. Call it until that is one to wait.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_poll_output(
    core: *const gtc_core,
    output: *mut gtc_core_output,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, mut core) = unsafe { (place(output, "output")?, bare(core)?) };
        let (kind, id, until_us, text) = match core.core.poll_output()? {
            Output::Action { id, text } => (gtc_core_output_kind::Action, id, GTC_CORE_NEVER, text),
            Output::Event { text } => (gtc_core_output_kind::Event, 0, GTC_CORE_NEVER, text),
            Output::Wait { until_us, text } => {
                let until_us = until_us.unwrap_or(GTC_CORE_NEVER);
                (gtc_core_output_kind::Wait, 0, until_us, text)
            }
        };
        place.fill(gtc_core_output {
            kind,
            id,
            until_us,
            text: core.give(&text),
        });
        Ok(())
    })
}

/// Frees the core; NULL does no harm. Nothing is lost: its log is its host's.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_core_free(core: *mut gtc_core) {
    // SAFETY: as the caller promises.
    read((), || drop(unsafe { take_back(core) }));
}
