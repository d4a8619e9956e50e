//! The branches of own producers.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{c_char, c_void};

use gtc::facade;

use crate::border::{enter, place, read, shared, take_back, text};
use crate::callback::{Caller, gtc_reuse_callback};
use crate::status::gtc_status;
use crate::words::gtc_reuse;

/// The branch of an own producer: what it is told about the producer's deliveries is its vote.
/// Any thread may tell.
pub struct gtc_own_branch(pub(crate) facade::OwnBranch);

/// Counts a record that was handed to the producer.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_sent(branch: *const gtc_own_branch) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let branch = unsafe { shared(branch, "branch") }?;
        branch.0.sent();
        Ok(())
    })
}

/// Counts a record that was delivered.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_delivered(branch: *const gtc_own_branch) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let branch = unsafe { shared(branch, "branch") }?;
        branch.0.delivered();
        Ok(())
    })
}

/// Counts a record that was delivered to this partition, which the transaction at the broker has to
/// have.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_delivered_to(
    branch: *const gtc_own_branch,
    topic: *const c_char,
    partition: i32,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (branch, topic) = unsafe { (shared(branch, "branch")?, text(topic, "topic")?) };
        branch.0.delivered_to(topic, partition);
        Ok(())
    })
}

/// Counts a record that was not delivered, or perhaps not.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_failed(
    branch: *const gtc_own_branch,
    reason: *const c_char,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (branch, reason) = unsafe { (shared(branch, "branch")?, text(reason, "reason")?) };
        branch.0.failed(reason);
        Ok(())
    })
}

/// States that all that was written is delivered, instead of counting.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_state_delivered(
    branch: *const gtc_own_branch,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let branch = unsafe { shared(branch, "branch") }?;
        branch.0.state_delivered();
        Ok(())
    })
}

/// States that something that was written is not delivered, or perhaps not.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_state_failed(
    branch: *const gtc_own_branch,
    reason: *const c_char,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (branch, reason) = unsafe { (shared(branch, "branch")?, text(reason, "reason")?) };
        branch.0.state_failed(reason);
        Ok(())
    })
}

/// Waits until the branch is ended, and tells whether the producer may go on: reuse, or discard,
/// which means to close it and make a new one.
///
/// Ask after the commit or the abort. In-doubt if the branch is not ended when the transaction is
/// for its caller: discard the producer, and settle its transactional.id before making a new one.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_finished(
    branch: *const gtc_own_branch,
    reuse: *mut gtc_reuse,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (branch, reuse) = unsafe { (shared(branch, "branch")?, place(reuse, "reuse")?) };
        match branch.0.finished().wait() {
            Ok(told) => {
                reuse.fill(told.into());
                Ok(())
            }
            Err(error) => {
                reuse.fill(gtc_reuse::Discard);
                Err(error.into())
            }
        }
    })
}

/// As `gtc_own_branch_finished`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_finished_async(
    branch: *const gtc_own_branch,
    callback: gtc_reuse_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let branch = unsafe { shared(branch, "branch") }?;
        let caller = Caller::new(callback, context)?;
        caller.after(branch.0.finished(), |told| {
            told.map_or(gtc_reuse::Discard, gtc_reuse::from) as u32
        });
        Ok(())
    })
}

/// Frees the handle; NULL does no harm. What was told stays told, and silence stays a no.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_own_branch_free(branch: *mut gtc_own_branch) {
    // SAFETY: as the caller promises.
    read((), || drop(unsafe { take_back(branch) }));
}
