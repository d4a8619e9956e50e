//! Consumers and their batches.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use gtc::facade::{self, Pending};

use crate::arena::{Arena, Owned, free};
use crate::border::{Answer, done, enter, pointer_place, read, shared, take_back, text};
use crate::callback::{Caller, gtc_batch_callback, gtc_done_callback};
use crate::error::{Failure, c_text};
use crate::record::{consumed, gtc_consumed_record};
use crate::status::gtc_status;
use crate::views::{self, gtc_lags, gtc_notices, gtc_position};

/// Waits for as long as it takes.
pub const GTC_FOREVER: i64 = -1;

/// A consumer whose offsets travel inside transactions. Any thread may use it, but only one at a time
/// may ask for batches.
pub struct gtc_consumer {
    pub(crate) facade: facade::Consumer,
    participant: CString,
}

impl gtc_consumer {
    pub(crate) fn new(facade: facade::Consumer) -> Self {
        let participant = c_text(facade.participant());
        Self {
            facade,
            participant,
        }
    }
}

/// Records, and the offsets after them. The records are views: they stay where they are until the
/// batch is freed.
///
/// A batch is done when the transaction that its offsets were sent into has committed. If that
/// aborts, or the next batch is asked for before the offsets were sent, the records are read again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_batch {
    /// The records; within a partition in their order. There may be none: transaction markers and
    /// aborted records move offsets too.
    pub records: *const gtc_consumed_record,
    /// How many there are.
    pub records_length: usize,
    /// The next offset to read of each partition that the batch moved.
    pub positions: *const gtc_position,
    /// How many there are.
    pub positions_length: usize,
}

fn batch(batch: facade::Batch) -> *mut gtc_batch {
    let mut arena = Arena::default();
    let records = consumed(batch.records(), &mut arena);
    let positions = views::positions(batch.positions(), &mut arena);
    let view = gtc_batch {
        records_length: records.len(),
        records: arena.list(records),
        positions_length: positions.len(),
        positions: arena.list(positions),
    };
    arena.give_with(view, batch)
}

/// NULL when the time has passed.
fn given(found: Option<Option<facade::Batch>>) -> *mut gtc_batch {
    found.flatten().map_or(ptr::null_mut(), batch)
}

/// # Safety
/// It is NULL, or a batch of [`batch`].
pub(crate) unsafe fn batch_of<'a>(batch: *const gtc_batch) -> Answer<&'a facade::Batch> {
    // SAFETY: as the caller promises; the structure stands first in what owns it.
    let owned = unsafe { shared(batch.cast::<Owned<gtc_batch, facade::Batch>>(), "batch") }?;
    Ok(&owned.kept)
}

/// The participant it reads from; valid until it is freed. NULL for NULL.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_participant(consumer: *const gtc_consumer) -> *const c_char {
    read(ptr::null(), || {
        // SAFETY: as the caller promises.
        let consumer = unsafe { consumer.as_ref() };
        consumer.map_or(ptr::null(), |consumer| consumer.participant.as_ptr())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn next(
    consumer: *const gtc_consumer,
    timeout_ms: i64,
) -> Answer<Pending<Option<facade::Batch>>> {
    // SAFETY: as the caller promises.
    let consumer = unsafe { shared(consumer, "consumer") }?;
    let timeout = match timeout_ms {
        GTC_FOREVER => None,
        time => {
            let time = u64::try_from(time);
            let time = time.map_err(|_| Failure::Argument("timeout_ms", "is negative"))?;
            Some(std::time::Duration::from_millis(time))
        }
    };
    Ok(consumer.facade.next(timeout))
}

/// Waits for the next batch, or until the time-out passes. A batch whose offsets were not sent is read
/// again: nothing is skipped.
///
/// The batch is NULL when the time has passed, which is no error. `timeout_ms` may be `GTC_FOREVER`.
/// Closed; in-doubt where a transaction with offsets of this consumer has not told how it ended: close
/// it, and make a new one, which waits for the outcome; invalid-state where a partition waits for
/// `gtc_consumer_resume_at`; why the consumer cannot go on.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_next(
    consumer: *const gtc_consumer,
    timeout_ms: i64,
    batch: *mut *mut gtc_batch,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(batch, "batch") }?;
        // SAFETY: as the caller promises.
        let found = unsafe { next(consumer, timeout_ms) }?.wait()?;
        place.fill(given(Some(found)));
        Ok(())
    })
}

/// As `gtc_consumer_next`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_next_async(
    consumer: *const gtc_consumer,
    timeout_ms: i64,
    callback: gtc_batch_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { next(consumer, timeout_ms) }?, given);
        Ok(())
    })
}

/// Whether its offsets would be refused: the group has rebalanced, or an earlier batch is read again.
/// False for NULL.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_batch_is_stale(batch: *const gtc_batch) -> bool {
    // SAFETY: as the caller promises.
    read(false, || {
        unsafe { batch_of(batch) }.is_ok_and(facade::Batch::is_stale)
    })
}

/// Frees the batch with its records; NULL does no harm. Its offsets stay sent.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_batch_free(batch: *mut gtc_batch) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, facade::Batch>(batch) });
}

/// Tells how far each assigned partition is behind, as of the last statistics.
///
/// Empty before the first statistics, and after its end.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_lag(
    consumer: *const gtc_consumer,
    lags: *mut *mut gtc_lags,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(lags, "lags") }?;
        // SAFETY: as the caller promises.
        let consumer = unsafe { shared(consumer, "consumer") }?;
        place.fill(views::lags(&consumer.facade.lag()?));
        Ok(())
    })
}

/// Whether everything that can be read now was handed out. Ask after `gtc_consumer_next` has found
/// nothing: records may be on their way to it. False for NULL, and in a forked child.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_is_caught_up(consumer: *const gtc_consumer) -> bool {
    read(false, || {
        // SAFETY: as the caller promises.
        let consumer = unsafe { consumer.as_ref() };
        consumer.is_some_and(|consumer| consumer.facade.is_caught_up().unwrap_or(false))
    })
}

/// Hands out what happened beside the batches: partitions assigned or revoked, records lost, requests
/// refused.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_notices(
    consumer: *const gtc_consumer,
    notices: *mut *mut gtc_notices,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(notices, "notices") }?;
        // SAFETY: as the caller promises.
        let consumer = unsafe { shared(consumer, "consumer") }?;
        place.fill(views::notices(&consumer.facade.notices()?));
        Ok(())
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn resume_at(
    consumer: *const gtc_consumer,
    topic: *const c_char,
    (partition, offset): (i32, i64),
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    let (consumer, topic) = unsafe { (shared(consumer, "consumer")?, text(topic, "topic")?) };
    Ok(consumer.facade.resume_at(topic, partition, offset))
}

/// Goes on at an offset with a partition whose position the cluster no longer has.
///
/// Closed, or that the partition is not assigned.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_resume_at(
    consumer: *const gtc_consumer,
    topic: *const c_char,
    partition: i32,
    offset: i64,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| done(unsafe { resume_at(consumer, topic, (partition, offset)) }?))
}

/// As `gtc_consumer_resume_at`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_resume_at_async(
    consumer: *const gtc_consumer,
    topic: *const c_char,
    partition: i32,
    offset: i64,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        caller.after(unsafe { resume_at(consumer, topic, (partition, offset)) }?);
        Ok(())
    })
}

/// Leaves the group and ends the consumer. Closing twice does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_close(consumer: *const gtc_consumer) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let consumer = unsafe { shared(consumer, "consumer") }?;
        done(consumer.facade.close())
    })
}

/// As `gtc_consumer_close`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_close_async(
    consumer: *const gtc_consumer,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let consumer = unsafe { shared(consumer, "consumer") }?;
        caller.after(consumer.facade.close());
        Ok(())
    })
}

/// Frees the handle; NULL does no harm. The consumer ends with the last handle, batch and transaction
/// that needs it; close it to have it leave its group now.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_consumer_free(consumer: *mut gtc_consumer) {
    // SAFETY: as the caller promises.
    read((), || drop(unsafe { take_back(consumer) }));
}
