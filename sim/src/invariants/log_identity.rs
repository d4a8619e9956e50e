//! Log identity: a coordinator touches names of its own log only (R12), reports what others have open, and
//! never works on an old copy of its log (R13).

use gtc_core::{LogId, SlotName, StopReason};

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "log-identity";

/// When a coordinator sends a request about a transactional.id.
pub fn own_names_only(coordinator: &str, log: LogId, id: &str) -> Verdict {
    let foreign = SlotName::parse(coordinator, id).is_some_and(|name| name.log_id != log);
    holds(NAME, !foreign, || {
        format!("the owner of log {log} works on {id}")
    })
}

/// After a participant was listed: open transactions of other logs are on the coordinator's list.
pub fn reported(missing: Option<&str>) -> Verdict {
    let missing = missing.unwrap_or_default();
    holds(NAME, missing.is_empty(), || {
        format!("{missing} belongs to another log, is open, and is not reported")
    })
}

/// An owner that read no copy stops: its log is never taken for an old one.
pub fn not_stale(stopped: &StopReason) -> Verdict {
    let stale = matches!(stopped, StopReason::StaleLog(_));
    holds(NAME, !stale, || {
        format!("the true log is refused: {stopped:?}")
    })
}

/// When a coordinator asks for an initialisation: never of an application's own producer (R5).
pub fn slots_only(own: bool, id: &str) -> Verdict {
    holds(NAME, !own, || {
        format!("the application's own {id} is initialised")
    })
}

/// A start that read an old copy of the log has come to an end.
pub fn copy_refused(stopped: Option<&StopReason>) -> Verdict {
    let refused = matches!(stopped, Some(StopReason::StaleLog(_)));
    holds(NAME, refused, || {
        format!("an old copy of the log is worked on: {stopped:?}")
    })
}
