//! What the core answered, as the caller's result.

use gtc_core::{
    AbortReason, Decision, HeuristicBranch, HeuristicKind, Outcome, Refusal, StopReason,
    TransactionId,
};

use crate::error::{Error, ErrorKind, Retry};
use crate::views::decision_name;

/// The error of a refused request.
pub(crate) fn refused(operation: &'static str, refusal: Refusal) -> Error {
    match refusal {
        Refusal::UnknownTransaction(id) => {
            let problem = "no such transaction is under way here";
            Error::new(ErrorKind::InvalidState, operation, problem)
                .with_transaction(id)
                .with_remedy("ask for its outcome")
        }
        Refusal::InvalidState(why) => Error::new(ErrorKind::InvalidState, operation, why),
        Refusal::Limit(name, value) => limit(operation, name, value),
        Refusal::Unavailable(why) => Error::new(ErrorKind::Unavailable, operation, why)
            .with_remedy("try again later; it is connected to in the background"),
        Refusal::SlotTimeout(why) => Error::new(ErrorKind::Timeout, operation, why)
            .with_remedy("try again later, or raise the participant's `slots`"),
        Refusal::Fenced(why) => Error::new(ErrorKind::Fenced, operation, why)
            .with_remedy("find out who else uses this coordinator's names, then restart it"),
        Refusal::WrongCluster(why) => Error::new(ErrorKind::Config, operation, why).with_remedy(
            "correct the participant's bootstrap.servers, or give the new cluster a participant \
             name of its own; then restart the coordinator",
        ),
        Refusal::Broken(why) => Error::new(ErrorKind::Internal, operation, why)
            .with_remedy("restart the coordinator, and report this as a defect of gtc"),
        Refusal::Config(why) => Error::new(ErrorKind::Config, operation, why)
            .with_remedy("correct the configuration of the participant, or the call"),
        Refusal::Closed => Error::new(ErrorKind::Closed, operation, "the coordinator is closing"),
        Refusal::Stopped(reason) => stopped(operation, &reason),
        other => Error::new(
            ErrorKind::Internal,
            operation,
            format!("refused: {other:?}"),
        ),
    }
}

fn limit(operation: &'static str, name: &'static str, value: u64) -> Error {
    let (kind, problem) = match name {
        // Time does not change them.
        "key_bytes_max" => (
            ErrorKind::Config,
            format!("the key is longer than {name} = {value} bytes"),
        ),
        "branches_max" => (
            ErrorKind::Config,
            format!("the transaction has {name} = {value} branches already"),
        ),
        _ => (
            ErrorKind::Unavailable,
            format!("the limit {name} = {value} is reached"),
        ),
    };
    let remedy = format!("stay below it, or raise {name}");
    Error::new(kind, operation, problem).with_remedy(remedy)
}

/// The error of a coordinator that stopped for good.
pub(crate) fn stopped(operation: &'static str, reason: &StopReason) -> Error {
    let (kind, problem, remedy) = match reason {
        StopReason::LogFailed(why) => (
            ErrorKind::Log,
            format!("the coordinator stopped, as its log failed: {why}"),
            "mend the disk, then open the coordinator again: it recovers",
        ),
        StopReason::LogFenced(why) => (
            ErrorKind::Fenced,
            format!("the coordinator stopped, as another owner took its log over: {why}"),
            "leave the work to that owner",
        ),
        StopReason::StaleLog(why) => (
            ErrorKind::Log,
            format!("the log is stale: {why}"),
            "start from the log that was last in use; where it is lost, docs/operations.md has the \
             way out",
        ),
        StopReason::Closed => (
            ErrorKind::Closed,
            "the coordinator is closed".to_owned(),
            "open it again",
        ),
        other => (
            ErrorKind::Internal,
            format!("the coordinator stopped: {other:?}"),
            "open it again",
        ),
    };
    Error::new(kind, operation, problem).with_remedy(remedy)
}

/// The result of a transaction that was to commit.
pub(crate) fn committed(id: TransactionId, outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Committed => Ok(()),
        Outcome::Aborted(reason) => {
            Err(Error::new(ErrorKind::Aborted, "commit", reason.to_string())
                .with_transaction(id)
                .with_remedy(after_abort(reason)))
        }
        other => Err(unfinished("commit", id, other)),
    }
}

/// An abort that every other attempt would end in.
pub(crate) fn never_accepted(error: Error, remedy: &'static str) -> Error {
    match error.kind() {
        ErrorKind::Aborted => error.with_retry(Retry::Never).with_remedy(remedy),
        _ => error,
    }
}

fn after_abort(reason: &AbortReason) -> &'static str {
    match reason {
        AbortReason::DeadlinePassed { .. } => {
            "commit sooner after the first write, or raise the transaction time-out of the \
             producer; nothing is visible, and it can be run again"
        }
        AbortReason::TimedOut => "ask to commit sooner, or raise the transaction's own time-out",
        AbortReason::LogFull(_) => "make room for the log, then run the transaction again",
        AbortReason::Closed => "open the coordinator again, then run the transaction again",
        _ => "run the transaction again; nothing of it is visible",
    }
}

/// The error of a call on a transaction that aborts by itself, and has not ended yet.
pub(crate) fn aborting(operation: &'static str) -> Error {
    let problem =
        "the transaction is being aborted: its time-out has passed, or a participant fails";
    Error::new(ErrorKind::Aborted, operation, problem)
        .with_remedy("run the transaction again; nothing of it becomes visible")
}

/// The result of a transaction that was to abort.
pub(crate) fn aborted(id: TransactionId, outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Aborted(_) => Ok(()),
        Outcome::Committed => {
            let problem = "it had been committed before";
            Err(Error::new(ErrorKind::InvalidState, "abort", problem).with_transaction(id))
        }
        other => Err(unfinished("abort", id, other)),
    }
}

fn unfinished(operation: &'static str, id: TransactionId, outcome: &Outcome) -> Error {
    match outcome {
        Outcome::InDoubt(why) => in_doubt(operation, id, why.clone()),
        Outcome::Mixed {
            decision,
            heuristic,
        } => {
            let problem = mixed(*decision, heuristic);
            Error::new(ErrorKind::Heuristic, operation, problem)
                .with_transaction(id)
                .with_remedy(repair(heuristic))
        }
        other => {
            Error::new(ErrorKind::Internal, operation, format!("{other:?}")).with_transaction(id)
        }
    }
}

/// Where every branch is known to have ended, there is nothing to be found out first.
fn repair(heuristic: &[HeuristicBranch]) -> &'static str {
    match heuristic.iter().all(is_known) {
        true => "repair the data by hand, then forget the transaction",
        false => ErrorKind::Heuristic.remedy(),
    }
}

/// Whether it is proved how the branch ended.
fn is_known(branch: &HeuristicBranch) -> bool {
    matches!(
        branch.kind,
        HeuristicKind::Aborted | HeuristicKind::Committed
    )
}

/// How a transaction ended that did not end as decided, or of which that is not known.
pub(crate) fn mixed(decision: Decision, heuristic: &[HeuristicBranch]) -> String {
    let branches = heuristic.iter().map(|branch| {
        let (name, kind, detail) = (&branch.participant, branch.kind, &branch.detail);
        match is_known(branch) {
            true => format!("`{name}` {kind} ({detail})"),
            false => format!("`{name}` {kind}, which may have committed or aborted ({detail})"),
        }
    });
    let otherwise = match heuristic.iter().all(is_known) {
        true => "ended otherwise",
        false => "ended otherwise, or may have",
    };
    format!(
        "decided {}, and {otherwise}: {}",
        decision_name(decision),
        branches.collect::<Vec<_>>().join(", ")
    )
}

/// It may have committed.
pub(crate) fn in_doubt(
    operation: &'static str,
    id: TransactionId,
    why: impl Into<String>,
) -> Error {
    Error::new(ErrorKind::InDoubt, operation, why)
        .with_transaction(id)
        .with_remedy("ask for the outcome of the transaction before running it again")
}

#[cfg(test)]
mod tests {
    use gtc_core::Incarnation;

    use super::*;

    const ID: TransactionId = TransactionId {
        incarnation: Incarnation(3),
        sequence: 17,
    };

    #[test]
    fn outcomes_become_kinds_and_in_doubt_is_never_aborted() {
        let mixed = Outcome::Mixed {
            decision: Decision::Commit,
            heuristic: vec![HeuristicBranch {
                participant: "eu".to_owned(),
                kind: HeuristicKind::Aborted,
                detail: "CompleteAbort".to_owned(),
            }],
        };
        let cases = [
            (Outcome::Committed, None),
            (
                Outcome::Aborted(AbortReason::TimedOut),
                Some(ErrorKind::Aborted),
            ),
            (
                Outcome::InDoubt("lost".to_owned()),
                Some(ErrorKind::InDoubt),
            ),
            (mixed, Some(ErrorKind::Heuristic)),
        ];
        for (outcome, kind) in cases {
            let result = committed(ID, &outcome);
            assert_eq!(result.as_ref().err().map(Error::kind), kind, "{outcome:?}");
            let id = result.err().map(|error| error.transaction());
            assert!(id.is_none_or(|id| id == Some(ID)));
        }
    }

    /// Who takes a branch that was given up for an aborted one writes its records twice.
    #[test]
    fn a_branch_of_which_the_end_is_not_known_is_told_from_an_aborted_one() {
        for (kind, is_known) in [
            (HeuristicKind::Aborted, true),
            (HeuristicKind::Committed, true),
            (HeuristicKind::Hazard, false),
            (HeuristicKind::Abandoned, false),
        ] {
            let branch = |participant: &str, kind| HeuristicBranch {
                participant: participant.to_owned(),
                kind,
                detail: "evidence".to_owned(),
            };
            let outcome = Outcome::Mixed {
                decision: Decision::Commit,
                heuristic: vec![branch("eu", HeuristicKind::Aborted), branch("us", kind)],
            };
            let error = committed(ID, &outcome).expect_err("it is mixed");
            let told = error.problem();
            assert!(told.contains("`eu` heuristic abort (evidence)"), "{told}");
            assert_eq!(told.contains("may have committed"), !is_known, "{told}");
            let remedy = error.remedy();
            assert_eq!(
                remedy.contains("look into the topics"),
                !is_known,
                "{remedy}"
            );
            assert!(remedy.contains("repair the data by hand"), "{remedy}");
            assert!(remedy.ends_with("then forget the transaction"), "{remedy}");
        }
    }

    #[test]
    fn an_abort_that_finds_a_commit_is_an_error() {
        assert!(aborted(ID, &Outcome::Aborted(AbortReason::Closed)).is_ok());
        let error = aborted(ID, &Outcome::Committed).expect_err("it committed");
        assert_eq!(error.kind(), ErrorKind::InvalidState);
    }

    #[test]
    fn limits_that_time_does_not_change_are_not_retried() {
        for lasting in ["key_bytes_max", "branches_max"] {
            let error = refused("begin", Refusal::Limit(lasting, 1024));
            let told = (error.kind(), error.retry());
            assert_eq!(told, (ErrorKind::Config, Retry::Never), "{error}");
        }
        let error = refused("begin", Refusal::Limit("transactions_max", 10));
        assert_eq!(error.retry(), Retry::Later);
    }
}
