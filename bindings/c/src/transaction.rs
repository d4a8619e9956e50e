//! Transactions.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use gtc::facade::{self, Pending};
use gtc::{OwnProducer, TransactionId};

use crate::border::{
    Answer, done, enter, hand_out, items, optional_text, pointer_place, read, shared, take_back,
    text,
};
use crate::callback::{Caller, Done, gtc_done_callback, gtc_own_branch_callback, handle};
use crate::consumer::{batch_of, gtc_batch, gtc_consumer};
use crate::error::c_text;
use crate::own::gtc_own_branch;
use crate::record::{gtc_record, outgoing};
use crate::status::gtc_status;
use crate::words;

/// A global transaction. Several threads may write at once: a commit waits for the writes under way,
/// an abort makes them give up.
pub struct gtc_transaction {
    facade: facade::Transaction,
    id: CString,
}

impl gtc_transaction {
    pub(crate) fn new(facade: facade::Transaction) -> Self {
        let id = c_text(&facade.id().to_string());
        Self { facade, id }
    }
}

/// Its id, valid until it is freed: keep it where the outcome may have to be asked for. NULL for NULL.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_id(transaction: *const gtc_transaction) -> *const c_char {
    read(ptr::null(), || {
        // SAFETY: as the caller promises.
        let transaction = unsafe { transaction.as_ref() };
        transaction.map_or(ptr::null(), |transaction| transaction.id.as_ptr())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn ask<T>(
    transaction: *const gtc_transaction,
    verb: impl FnOnce(&facade::Transaction) -> Pending<T>,
) -> Answer<Pending<T>> {
    // SAFETY: as the caller promises.
    let transaction = unsafe { shared(transaction, "transaction") }?;
    Ok(verb(&transaction.facade))
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn send(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    (records, length): (*const gtc_record, usize),
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    unsafe {
        let participant = text(participant, "participant")?;
        let records = outgoing(items(records, length, "records")?)?;
        ask(transaction, |facade| facade.send_many(participant, records))
    }
}

/// Sends a record to a participant, which joins the transaction by that. Waits for a free slot, and
/// while the producer's queue is full; does not wait for the delivery.
///
/// Config for an unknown participant, unavailable, timeout, fenced, closed, or how the transaction
/// ended. What the producer refused leaves a transaction that can only abort.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    record: *const gtc_record,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { send(transaction, participant, (record, 1)) }?))
}

/// As `gtc_transaction_send`, and calls back. The order of records that are sent without waiting for
/// each other is not kept where a send has to wait.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_async(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    record: *const gtc_record,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { send(transaction, participant, (record, 1)) }?);
        Ok(())
    })
}

/// Sends records to a participant, in their order. If one is refused, the later ones are not sent.
///
/// They cross in one call, and their bytes are copied once.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_many(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    records: *const gtc_record,
    length: usize,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { send(transaction, participant, (records, length)) }?))
}

/// As `gtc_transaction_send_many`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_many_async(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    records: *const gtc_record,
    length: usize,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { send(transaction, participant, (records, length)) }?);
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn send_offsets(
    transaction: *const gtc_transaction,
    batch: *const gtc_batch,
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    unsafe {
        let batch = batch_of(batch)?;
        ask(transaction, |facade| facade.send_offsets(batch))
    }
}

/// Moves the consumer's group behind the batch when the transaction commits. The batch is done with
/// that; if the transaction aborts, its records are read again.
///
/// Errors as of `gtc_transaction_send`; config for a batch of another coordinator's consumer;
/// invalid-state where its offsets were sent before or its records are read again.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_offsets(
    transaction: *const gtc_transaction,
    batch: *const gtc_batch,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { send_offsets(transaction, batch) }?))
}

/// As `gtc_transaction_send_offsets`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_offsets_async(
    transaction: *const gtc_transaction,
    batch: *const gtc_batch,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { send_offsets(transaction, batch) }?);
        Ok(())
    })
}

/// As `gtc_transaction_send_offsets`, for the batch that the consumer has handed out last.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_send_offsets_of(
    transaction: *const gtc_transaction,
    consumer: *const gtc_consumer,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let consumer = unsafe { shared(consumer, "consumer") }?;
        // SAFETY: as the caller promises.
        let pending = unsafe {
            ask(transaction, |facade| {
                facade.send_offsets_of(&consumer.facade)
            })
        };
        done(pending?)
    })
}

/// Without a number of a class, it is the newest that the cluster has.
///
/// # Safety
/// As in the [rules](crate#rules).
unsafe fn enlist(
    transaction: *const gtc_transaction,
    (participant, transactional_id): (*const c_char, *const c_char),
    version_class: Option<u32>,
) -> Answer<Pending<facade::OwnBranch>> {
    let class = version_class.map(words::version_class).transpose()?;
    // SAFETY: as the caller promises.
    unsafe {
        let participant = text(participant, "participant")?;
        let mut producer = OwnProducer::new(text(transactional_id, "transactional_id")?);
        if let Some(class) = class {
            producer = producer.version_class(class);
        }
        ask(transaction, |facade| {
            facade.enlist_producer(participant, producer)
        })
    }
}

/// Takes an own producer of the application in, before it begins its transaction. What is told to the
/// returned branch about its deliveries is its vote, and silence is a no.
///
/// `version_class` is a `gtc_version_class`: that of the producer on that cluster. Errors as of
/// `gtc_transaction_send`; config for an identity that must not be used again.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_enlist(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    transactional_id: *const c_char,
    version_class: u32,
    branch: *mut *mut gtc_own_branch,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(branch, "branch") }?;
        let producer = (participant, transactional_id);
        // SAFETY: as the caller promises.
        let pending = unsafe { enlist(transaction, producer, Some(version_class)) };
        place.fill(hand_out(gtc_own_branch(pending?.wait()?)));
        Ok(())
    })
}

/// As `gtc_transaction_enlist`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_enlist_async(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    transactional_id: *const c_char,
    version_class: u32,
    callback: gtc_own_branch_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        let producer = (participant, transactional_id);
        // SAFETY: as the caller promises.
        let pending = unsafe { enlist(transaction, producer, Some(version_class)) };
        caller.after(pending?, handle(gtc_own_branch));
        Ok(())
    })
}

/// As `gtc_transaction_enlist`, for a producer that takes the newest class that the cluster has by
/// itself, as the Java client does from 4.0. One that builds on librdkafka does not.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_enlist_newest(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    transactional_id: *const c_char,
    branch: *mut *mut gtc_own_branch,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(branch, "branch") }?;
        // SAFETY: as the caller promises.
        let pending = unsafe { enlist(transaction, (participant, transactional_id), None) };
        place.fill(hand_out(gtc_own_branch(pending?.wait()?)));
        Ok(())
    })
}

/// As `gtc_transaction_enlist_newest`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_enlist_newest_async(
    transaction: *const gtc_transaction,
    participant: *const c_char,
    transactional_id: *const c_char,
    callback: gtc_own_branch_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let pending = unsafe { enlist(transaction, (participant, transactional_id), None) };
        caller.after(pending?, handle(gtc_own_branch));
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn commit(
    transaction: *const gtc_transaction,
    report: u32,
) -> Answer<Pending<TransactionId>> {
    let report = words::report(report)?;
    // SAFETY: as the caller promises.
    unsafe { ask(transaction, |facade| facade.commit_with(report)) }
}

/// Commits on every participant, or on none. Waits for all deliveries, and for the last
/// acknowledgement. In doubt means that it may have committed: ask for the outcome before running it
/// again.
///
/// Aborted: nothing is visible. In-doubt: ask for the outcome. Heuristic: a branch ended otherwise
/// than decided. Invalid-state where its end was asked for before.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_commit(transaction: *const gtc_transaction) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| Ok(unsafe { commit(transaction, 0) }?.wait().map(drop)?))
}

/// As `gtc_transaction_commit`, and says when to return: a `gtc_commit_return`. With an own producer
/// it always returns after the acknowledgements.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_commit_with(
    transaction: *const gtc_transaction,
    report: u32,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| Ok(unsafe { commit(transaction, report) }?.wait().map(drop)?))
}

/// As `gtc_transaction_commit_with`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_commit_async(
    transaction: *const gtc_transaction,
    report: u32,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller: Caller<Done> = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { commit(transaction, report) }?);
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn abort(transaction: *const gtc_transaction, reason: *const c_char) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    unsafe {
        let reason = optional_text(reason, "reason")?.unwrap_or("asked for");
        ask(transaction, |facade| facade.abort(reason))
    }
}

/// Aborts on every participant, and waits until all have done so. Deliveries that an own producer
/// counts as open are waited for first: whether it may go on rests on them.
///
/// `reason` is for people, and may be NULL. Invalid-state where its end was asked for before;
/// heuristic as for a commit.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_abort(
    transaction: *const gtc_transaction,
    reason: *const c_char,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { abort(transaction, reason) }?))
}

/// As `gtc_transaction_abort`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_abort_async(
    transaction: *const gtc_transaction,
    reason: *const c_char,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { abort(transaction, reason) }?);
        Ok(())
    })
}

/// Aborts the transaction if it was not asked to commit or abort; else does nothing.
///
/// Errors as of `gtc_transaction_abort`, if it has to abort.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_close(transaction: *const gtc_transaction) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { ask(transaction, facade::Transaction::close) }?))
}

/// As `gtc_transaction_close`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_close_async(
    transaction: *const gtc_transaction,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { ask(transaction, facade::Transaction::close) }?);
        Ok(())
    })
}

/// Frees the handle; NULL does no harm. A transaction that was not asked to commit or abort is asked
/// to abort, without waiting for it.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transaction_free(transaction: *mut gtc_transaction) {
    // SAFETY: as the caller promises.
    read((), || drop(unsafe { take_back(transaction) }));
}
