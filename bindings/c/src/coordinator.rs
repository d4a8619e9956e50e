//! The coordinator: its life, its work, and its checks.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use gtc::facade::{self, Pending};

use crate::border::{
    Answer, done, enter, guard, hand_out, pointer_place, read, shared, take_back, text,
};
use crate::callback::{
    Caller, gtc_consumer_callback, gtc_coordinator_callback, gtc_done_callback,
    gtc_findings_callback, handle,
};
use crate::consumer::gtc_consumer;
use crate::error::c_text;
use crate::source::{
    check_options, consumer_options, gtc_check_options, gtc_consumer_options, gtc_source,
    gtc_transaction_options, source, transaction_options,
};
use crate::status::gtc_status;
use crate::transaction::gtc_transaction;
use crate::views::{self, gtc_findings};

/// Commits transactions over its participants. Any thread may use it.
pub struct gtc_coordinator {
    pub(crate) facade: facade::Coordinator,
    id: CString,
}

impl gtc_coordinator {
    fn new(facade: facade::Coordinator) -> Self {
        let id = c_text(facade.id());
        Self { facade, id }
    }
}

/// Opens the decision log, connects to the participants, and starts the recovery of what an earlier
/// start left open. New work may begin beside it.
///
/// Config, log (also where another process owns the log), or fenced.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_open(
    config: gtc_source,
    coordinator: *mut *mut gtc_coordinator,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, source) =
            unsafe { (pointer_place(coordinator, "coordinator")?, source(&config)?) };
        let facade = facade::Coordinator::open(source).wait()?;
        place.fill(hand_out(gtc_coordinator::new(facade)));
        Ok(())
    })
}

/// As `gtc_coordinator_open`, and calls back.
///
/// For this and every other `_async` call: where it gives back anything but `GTC_STATUS_OK`, a value
/// in the call cannot be one, nothing was begun, and the callback is not called. Else it is called
/// once, perhaps before this returns.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_open_async(
    config: gtc_source,
    callback: gtc_coordinator_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let source = unsafe { source(&config) }?;
        let pending = facade::Coordinator::open(source);
        caller.after(pending, handle(gtc_coordinator::new));
        Ok(())
    })
}

/// Its id; valid until it is freed. NULL for NULL.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_id(coordinator: *const gtc_coordinator) -> *const c_char {
    read(ptr::null(), || {
        // SAFETY: as the caller promises.
        let coordinator = unsafe { coordinator.as_ref() };
        coordinator.map_or(ptr::null(), |coordinator| coordinator.id.as_ptr())
    })
}

/// Begins a transaction. A key of the application's lets it ask for the outcome after a crash; with
/// a time-out the transaction aborts by itself when it was not asked to commit in time.
///
/// `options` may be NULL. Unavailable where a limit is reached, closed, or why the coordinator
/// stopped.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_begin(
    coordinator: *const gtc_coordinator,
    options: *const gtc_transaction_options,
    transaction: *mut *mut gtc_transaction,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, coordinator, options) = unsafe {
            (
                pointer_place(transaction, "transaction")?,
                shared(coordinator, "coordinator")?,
                transaction_options(options)?,
            )
        };
        let begun = coordinator.facade.begin(options)?;
        place.fill(hand_out(gtc_transaction::new(begun)));
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn make_consumer(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    options: *const gtc_consumer_options,
) -> Answer<Pending<facade::Consumer>> {
    // SAFETY: as the caller promises.
    let (coordinator, participant, options) = unsafe {
        (
            shared(coordinator, "coordinator")?,
            text(participant, "participant")?,
            consumer_options(shared(options, "options")?)?,
        )
    };
    Ok(coordinator.facade.consumer(participant, options))
}

/// Makes a consumer of one participant, whose offsets can be sent into transactions. It reads with
/// read_committed, and commits nothing by itself.
///
/// Config for an unknown participant or properties that do not work; closed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_consumer(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    options: *const gtc_consumer_options,
    consumer: *mut *mut gtc_consumer,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(consumer, "consumer") }?;
        // SAFETY: as the caller promises.
        let made = unsafe { make_consumer(coordinator, participant, options) }?;
        place.fill(hand_out(gtc_consumer::new(made.wait()?)));
        Ok(())
    })
}

/// As `gtc_coordinator_consumer`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_consumer_async(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    options: *const gtc_consumer_options,
    callback: gtc_consumer_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let pending = unsafe { make_consumer(coordinator, participant, options) }?;
        caller.after(pending, handle(gtc_consumer::new));
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn ask(
    coordinator: *const gtc_coordinator,
    verb: impl FnOnce(&facade::Coordinator) -> Pending<()>,
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    let coordinator = unsafe { shared(coordinator, "coordinator") }?;
    Ok(verb(&coordinator.facade))
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn settle(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    unsafe {
        let participant = text(participant, "participant")?;
        let name = text(transactional_id, "transactional_id")?;
        ask(coordinator, |facade| facade.settle(participant, name))
    }
}

/// Waits until no promised branch of this own producer is left. A restarted application calls it
/// before it initialises the producer again, which would abort a promised branch.
///
/// Config for an unknown participant, closed, or why the coordinator ended before.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_settle(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { settle(coordinator, participant, transactional_id) }?))
}

/// As `gtc_coordinator_settle`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_settle_async(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { settle(coordinator, participant, transactional_id) }?);
        Ok(())
    })
}

/// Waits until everything that the log left open is ended.
///
/// Closed, or why the coordinator stopped before.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_recover(
    coordinator: *const gtc_coordinator,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { ask(coordinator, facade::Coordinator::recover) }?))
}

/// As `gtc_coordinator_recover`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_recover_async(
    coordinator: *const gtc_coordinator,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { ask(coordinator, facade::Coordinator::recover) }?);
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn verified(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    unsafe {
        let participant = text(participant, "participant")?;
        ask(coordinator, |facade| facade.verified(participant))
    }
}

/// Waits until a participant takes branches.
///
/// Config for an unknown participant, closed, or why the coordinator stopped before.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_verified(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { verified(coordinator, participant) }?))
}

/// As `gtc_coordinator_verified`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_verified_async(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { verified(coordinator, participant) }?);
        Ok(())
    })
}

type Found = Vec<gtc::check::Finding>;

fn given(found: Option<Found>) -> *mut gtc_findings {
    found.map_or(ptr::null_mut(), |found| views::findings(&found))
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn check(
    coordinator: *const gtc_coordinator,
    options: *const gtc_check_options,
) -> Answer<Pending<Found>> {
    // SAFETY: as the caller promises.
    let (coordinator, options) =
        unsafe { (shared(coordinator, "coordinator")?, check_options(options)?) };
    Ok(coordinator.facade.check(options))
}

/// Connects to each participant and tells what is missing for the guarantee, each with its remedy.
///
/// `options` may be NULL. Config for an unknown participant. What is not met is a finding, and no
/// error.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_check(
    coordinator: *const gtc_coordinator,
    options: *const gtc_check_options,
    findings: *mut *mut gtc_findings,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(findings, "findings") }?;
        // SAFETY: as the caller promises.
        let found = unsafe { check(coordinator, options) }?.wait()?;
        place.fill(views::findings(&found));
        Ok(())
    })
}

/// As `gtc_coordinator_check`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_check_async(
    coordinator: *const gtc_coordinator,
    options: *const gtc_check_options,
    callback: gtc_findings_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { check(coordinator, options) }?, given);
        Ok(())
    })
}

/// As `gtc_coordinator_check`, without a coordinator: it needs no log.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_check(
    config: gtc_source,
    options: *const gtc_check_options,
    findings: *mut *mut gtc_findings,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(findings, "findings") }?;
        // SAFETY: as the caller promises.
        let (source, options) = unsafe { (source(&config)?, check_options(options)?) };
        let found = facade::check(source, options).wait()?;
        place.fill(views::findings(&found));
        Ok(())
    })
}

/// As `gtc_check`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_check_async(
    config: gtc_source,
    options: *const gtc_check_options,
    callback: gtc_findings_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let (source, options) = unsafe { (source(&config)?, check_options(options)?) };
        caller.after(facade::check(source, options), given);
        Ok(())
    })
}

/// Accepts nothing new, aborts what is undecided, waits for what is under way, closes the consumers,
/// and gives the log up. Closing twice does no harm.
///
/// Timeout with the number of transactions that stay open, which the next start finishes; log if its
/// last write failed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_close(coordinator: *const gtc_coordinator) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { ask(coordinator, facade::Coordinator::close) }?))
}

/// As `gtc_coordinator_close`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_close_async(
    coordinator: *const gtc_coordinator,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { ask(coordinator, facade::Coordinator::close) }?);
        Ok(())
    })
}

/// Frees the handle; NULL does no harm. Closes the coordinator first if that was not done, and waits
/// for it. Handles of its transactions and consumers stay valid, and have to be freed, too; their
/// calls are answered closed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_free(coordinator: *mut gtc_coordinator) {
    // SAFETY: as the caller promises.
    read((), || {
        if let Some(coordinator) = unsafe { take_back(coordinator) } {
            // How it ended is told by `gtc_coordinator_close`: here nobody asks.
            drop(guard(|| done(coordinator.facade.close())));
        }
    });
}
