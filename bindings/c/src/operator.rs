//! What is known of transactions, and what operators decide.
#![allow(unsafe_code, reason = "pointers of callers are read here")]

use std::ffi::{c_char, c_void};

use gtc::facade::Pending;

use crate::border::{Answer, bytes, done, enter, place, pointer_place, shared, text};
use crate::callback::{Caller, gtc_done_callback};
use crate::coordinator::gtc_coordinator;
use crate::error::Failure;
use crate::record::{GTC_TRANSACTION_ID_SIZE, NO_ID, gtc_bytes, id, id_text};
use crate::status::gtc_status;
use crate::views::{self, gtc_coordinator_info, gtc_foreign_branches, gtc_transactions};
use crate::words::{self, gtc_outcome};

/// Tells how a transaction ended: committed, aborted, undecided, in-doubt, mixed or unknown. Unknown
/// is not aborted: a transaction that committed in one phase leaves no record.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_outcome(
    coordinator: *const gtc_coordinator,
    id: *const c_char,
    outcome: *mut gtc_outcome,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, coordinator, id) = unsafe {
            (
                place(outcome, "outcome")?,
                shared(coordinator, "coordinator")?,
                self::id(id)?,
            )
        };
        place.fill(coordinator.facade.outcome(id)?.into());
        Ok(())
    })
}

/// The newest transaction with a key, and how it ended.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_keyed_outcome {
    /// Whether there is one.
    pub found: bool,
    /// How it ended.
    pub outcome: gtc_outcome,
    /// Its id; empty if there is none.
    pub id: [c_char; GTC_TRANSACTION_ID_SIZE],
}

/// Finds the newest transaction with this key of the application's, and tells how it ended.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_outcome_by_key(
    coordinator: *const gtc_coordinator,
    key: gtc_bytes,
    outcome: *mut gtc_keyed_outcome,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, coordinator, key) = unsafe {
            (
                place(outcome, "outcome")?,
                shared(coordinator, "coordinator")?,
                bytes(&key, "key")?.ok_or(Failure::null("key"))?,
            )
        };
        let found = coordinator.facade.outcome_by_key(key)?;
        place.fill(gtc_keyed_outcome {
            found: found.is_some(),
            outcome: found.map_or(gtc_outcome::Unknown, |keyed| keyed.outcome.into()),
            id: found.map_or(NO_ID, |keyed| id_text(keyed.id)),
        });
        Ok(())
    })
}

/// The name of an outcome in every language, such as `in-doubt`. `outcome` is a `gtc_outcome`.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_outcome_name(outcome: u32) -> *const c_char {
    let name = match outcome {
        1 => c"committed",
        2 => c"aborted",
        3 => c"undecided",
        4 => c"in-doubt",
        5 => c"mixed",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// Lists the transactions that are not ended, or ended otherwise than decided.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_list(
    coordinator: *const gtc_coordinator,
    transactions: *mut *mut gtc_transactions,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(transactions, "transactions") }?;
        // SAFETY: as the caller promises.
        let coordinator = unsafe { shared(coordinator, "coordinator") }?;
        place.fill(views::transactions(&coordinator.facade.list()?));
        Ok(())
    })
}

/// Lists the transactions that need a hand: in doubt, or mixed. Empty when all is well.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_in_doubt(
    coordinator: *const gtc_coordinator,
    transactions: *mut *mut gtc_transactions,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(transactions, "transactions") }?;
        // SAFETY: as the caller promises.
        let coordinator = unsafe { shared(coordinator, "coordinator") }?;
        place.fill(views::transactions(&coordinator.facade.in_doubt()?));
        Ok(())
    })
}

/// Describes one transaction with its branches, also an ended one within the retention. A list of
/// one, or of none if it is not known.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_describe(
    coordinator: *const gtc_coordinator,
    id: *const c_char,
    transactions: *mut *mut gtc_transactions,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (place, coordinator, id) = unsafe {
            (
                pointer_place(transactions, "transactions")?,
                shared(coordinator, "coordinator")?,
                self::id(id)?,
            )
        };
        let described = coordinator.facade.describe(id)?;
        place.fill(views::transactions(described.as_slice()));
        Ok(())
    })
}

/// Lists open branches that another log left under this coordinator's id: in doubt until an operator
/// resolves them.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_foreign(
    coordinator: *const gtc_coordinator,
    branches: *mut *mut gtc_foreign_branches,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(branches, "branches") }?;
        // SAFETY: as the caller promises.
        let coordinator = unsafe { shared(coordinator, "coordinator") }?;
        place.fill(views::foreign_branches(&coordinator.facade.foreign()?));
        Ok(())
    })
}

/// Ends a transaction that cannot end by itself. Commit: its branches are tried again now. Abort: the
/// open branches are given up, as a heuristic outcome.
///
/// `decision` is a `gtc_decision`. Invalid-state for a transaction that has ended or whose decision is
/// another; closed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_resolve(
    coordinator: *const gtc_coordinator,
    id: *const c_char,
    decision: u32,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (coordinator, id) = unsafe { (shared(coordinator, "coordinator")?, self::id(id)?) };
        let decision = words::decision(decision)?;
        Ok(coordinator.facade.resolve(id, decision)?)
    })
}

/// # Safety
/// As in the [rules](crate#rules).
unsafe fn resolve_foreign(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
    decision: u32,
) -> Answer<Pending<()>> {
    // SAFETY: as the caller promises.
    let (coordinator, participant, name) = unsafe {
        (
            shared(coordinator, "coordinator")?,
            text(participant, "participant")?,
            text(transactional_id, "transactional_id")?,
        )
    };
    let decision = words::decision(decision)?;
    Ok(coordinator
        .facade
        .resolve_foreign(participant, name, decision))
}

/// Ends an open branch of another log.
///
/// `decision` is a `gtc_decision`. Config for an unknown participant, invalid-state for a branch that
/// is not listed, unavailable where the attempt failed, closed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_resolve_foreign(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
    decision: u32,
) -> gtc_status {
    // SAFETY: as the caller promises.
    enter(|| {
        done(unsafe { resolve_foreign(coordinator, participant, transactional_id, decision) }?)
    })
}

/// As `gtc_coordinator_resolve_foreign`, and calls back.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_resolve_foreign_async(
    coordinator: *const gtc_coordinator,
    participant: *const c_char,
    transactional_id: *const c_char,
    decision: u32,
    callback: gtc_done_callback,
    context: *mut c_void,
) -> gtc_status {
    enter(|| {
        let caller = Caller::new(callback, context)?;
        // SAFETY: as the caller promises.
        let pending =
            unsafe { resolve_foreign(coordinator, participant, transactional_id, decision) }?;
        caller.after(pending);
        Ok(())
    })
}

/// Stops listing a mixed outcome, once an operator has dealt with it.
///
/// Invalid-state for a transaction without such an outcome; closed.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_forget(
    coordinator: *const gtc_coordinator,
    id: *const c_char,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let (coordinator, id) = unsafe { (shared(coordinator, "coordinator")?, self::id(id)?) };
        Ok(coordinator.facade.forget(id)?)
    })
}

/// Tells how the coordinator and its participants stand.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_status(
    coordinator: *const gtc_coordinator,
    info: *mut *mut gtc_coordinator_info,
) -> gtc_status {
    enter(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { pointer_place(info, "info") }?;
        // SAFETY: as the caller promises.
        let coordinator = unsafe { shared(coordinator, "coordinator") }?;
        place.fill(views::coordinator_info(&coordinator.facade.status()?));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr;

    use gtc::KnownOutcome;
    use gtc::views::outcome_name;

    use super::*;

    #[test]
    fn outcomes_have_the_names_of_every_language() {
        for outcome in [
            KnownOutcome::Committed,
            KnownOutcome::Aborted,
            KnownOutcome::Undecided,
            KnownOutcome::InDoubt,
            KnownOutcome::Mixed,
            KnownOutcome::Unknown,
        ] {
            let name = gtc_outcome_name(gtc_outcome::from(outcome) as u32);
            // SAFETY: it is a constant.
            let name = unsafe { CStr::from_ptr(name) };
            assert_eq!(name.to_str().unwrap(), outcome_name(outcome));
        }
        assert_eq!(gtc_outcome_name(77), gtc_outcome_name(0));
    }

    #[test]
    fn a_missing_handle_is_refused_and_the_result_is_null() {
        let mut listed = ptr::dangling_mut();
        // SAFETY: the place is of this function, and NULL is checked.
        let status = unsafe { gtc_coordinator_list(ptr::null(), &raw mut listed) };
        assert_eq!(status, gtc_status::Config);
        assert!(listed.is_null());
    }
}
