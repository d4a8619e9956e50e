//! What must hold, one function an invariant; the names are those of the random simulation.

use gtc_core::{
    Coordinator, Decision, HeuristicBranch, HeuristicKind, KnownOutcome, StopReason, TransactionId,
};

use super::state::{Account, Book, Scene, Told};
use crate::invariants::{
    ac1_agreement, ac2_stability, ac3_validity, ac4_nontriviality, external_consistency, fencing,
    forgetting, isolation, no_false_alarm, one_answer, recovery, usable, write_ahead,
};
use crate::model::broker::{Broker, Call, Fate, Tag};
use crate::violation::{Verdict, Violation, holds};

/// The invariants that the core itself checks.
pub fn core_is_valid(core: &Coordinator) -> Verdict {
    core.validate().map_err(|detail| Violation {
        invariant: "core-invariants",
        detail,
    })
}

/// A call changed the fate of an open tag.
pub fn ended_by_call(call: &Call, tag: &Tag, scene: &Scene) -> Verdict {
    let account = scene.book.account_of(tag.transaction);
    let owner = scene.actors[0].local.incarnation;
    match call {
        Call::End {
            decision, intent, ..
        } => {
            let commits = *decision == Decision::Commit;
            match intent {
                // An abort of what was never described is meant for whatever its producer has open.
                None if !commits => no_live_transaction_harmed((&account, owner), tag)?,
                _ if !tag.stray || commits => isolation::check(intent.as_ref(), tag)?,
                _ => {}
            }
            if commits {
                commit_only_if_all_voted_yes(&account, tag)?;
                decided_durable_before_any_branch_commits(&account, tag)?;
                told_aborted_never_committed(&account, tag)?;
            }
            Ok(())
        }
        Call::Init { .. } => no_live_transaction_harmed((&account, owner), tag),
        Call::Add { .. } | Call::Write { .. } | Call::Offsets { .. } => {
            unreachable!("model: only EndTxn and InitProducerId end anything")
        }
    }
}

fn commit_only_if_all_voted_yes(account: &Account, tag: &Tag) -> Verdict {
    let sound = !tag.stray && account.commit_asked && !account.lost_write;
    holds(ac3_validity::NAME, sound, || {
        format!("{tag:?} committed with {account:?}")
    })
}

fn decided_durable_before_any_branch_commits(account: &Account, tag: &Tag) -> Verdict {
    holds(write_ahead::NAME, account.decided, || {
        format!("{tag:?} committed without a record")
    })
}

fn told_aborted_never_committed(account: &Account, tag: &Tag) -> Verdict {
    let told = account.told == Some(Told::Aborted);
    holds(external_consistency::NAME, !told, || {
        format!("{tag:?} committed after its caller was told aborted")
    })
}

/// Neither what the owner of the log may still commit, nor what it promised, is aborted by what does not
/// know what it aborts: an initialisation, or an EndTxn for a branch that was never described.
fn no_live_transaction_harmed(
    (account, owner): (&Account, gtc_core::Incarnation),
    tag: &Tag,
) -> Verdict {
    let of_owner = account.live && tag.transaction.incarnation == owner;
    // With a lost record it can only abort.
    let live = of_owner && account.told.is_none() && !account.lost_write;
    let promised = account.decided;
    let harmed = (live || promised) && !account.heuristic && !tag.stray;
    holds(fencing::NAME, !harmed, || {
        format!("{tag:?} was aborted by what does not know it")
    })
}

/// A caller is told.
pub fn told(
    id: TransactionId,
    (before, account): (Option<Told>, Account),
    brokers: &[&Broker],
) -> Verdict {
    holds(one_answer::NAME, before.is_none(), || {
        format!("{id} was told {before:?} and then {:?}", account.told)
    })?;
    let fates = fates(id, brokers);
    let committed = account.told == Some(Told::Committed);
    let everywhere = fates.iter().all(|fate| *fate == Fate::Committed);
    holds(external_consistency::NAME, !committed || everywhere, || {
        format!("{id} was told committed, but its branches are {fates:?}")
    })?;
    let aborted = account.told == Some(Told::Aborted);
    holds(ac2_stability::NAME, !(aborted && account.decided), || {
        format!("{id} was decided to commit, and told aborted")
    })?;
    let somewhere = fates.contains(&Fate::Committed);
    holds(external_consistency::NAME, !(aborted && somewhere), || {
        format!("{id} was told aborted, but its branches are {fates:?}")
    })
}

/// A branch that ended as decided is not reported.
pub fn no_false_alarm(branch: &HeuristicBranch, id: TransactionId, brokers: &[&Broker]) -> Verdict {
    let here =
        |tag: &Tag| tag.transaction == id && format!("p{}", tag.participant) == branch.participant;
    let all = brokers.iter().flat_map(|broker| &broker.fates);
    let of_branch: Vec<(&Tag, &Fate)> = all.filter(|(tag, _)| here(tag)).collect();
    // Where a late request opened something under the name of the branch, nothing can be proved of it.
    if of_branch.iter().any(|(tag, _)| tag.stray) {
        return Ok(());
    }
    let mut fates = of_branch.iter().map(|(_, fate)| **fate);
    let possible = match branch.kind {
        HeuristicKind::Aborted | HeuristicKind::Hazard => {
            of_branch.is_empty() || fates.any(|fate| fate != Fate::Committed)
        }
        HeuristicKind::Committed => fates.any(|fate| fate == Fate::Committed),
        _ => true,
    };
    holds(no_false_alarm::NAME, possible, || {
        format!("{id}: {branch:?}, but {of_branch:?}")
    })
}

/// Every decision that earlier starts left open is carried out.
pub fn recovered(scene: &Scene, brokers: &[&Broker]) -> Verdict {
    for tag in brokers.iter().flat_map(|broker| broker.open_tags()) {
        let account = scene.book.account_of(tag.transaction);
        // What is undecided may still be opened by a late request; the sweep ends it.
        let left = account.decided && !account.live && !account.heuristic && !tag.stray;
        holds(recovery::NAME, !left, || {
            format!("recovered, but {tag:?} is open")
        })?;
    }
    Ok(())
}

/// After every durable write.
pub fn after_write(book: &mut Book, brokers: &[&Broker]) -> Verdict {
    let Book { ledger, accounts } = book;
    for (id, account) in accounts {
        let view = ledger.describe(*id);
        let decided = view.as_ref().and_then(|view| view.decision);
        account.decided |= decided == Some(Decision::Commit);
        account.heuristic |= ledger.outcome(*id) == KnownOutcome::Mixed;
        let ended = view.is_some_and(|view| view.state == gtc_core::TransactionState::Ended);
        let open = fates(*id, brokers).contains(&Fate::Open);
        let early = ended && account.decided && !account.heuristic && open;
        holds(forgetting::NAME, !early, || {
            format!("{id} is completed while a branch of it is open")
        })?;
    }
    Ok(())
}

/// The owner of a log that works, and knows all that was ever made with it, does not stop.
pub fn stops_with_a_reason(reason: &StopReason, zombie: bool, broken_log: bool) -> Verdict {
    let failed = broken_log && matches!(reason, StopReason::LogFailed(_));
    holds(usable::NAME, zombie || failed, || {
        format!("the owner of the log stopped: {reason:?}")
    })
}

/// A process is gone: everybody who waited for it was told.
pub fn stopped(book: &Book, incarnation: gtc_core::Incarnation) -> Verdict {
    let untold = book.accounts.iter().find(|(id, account)| {
        id.incarnation == incarnation && account.live && account.told.is_none()
    });
    holds(one_answer::NAME, untold.is_none(), || {
        format!("a coordinator stopped and told nothing of {untold:?}")
    })
}

/// Once nothing is under way any more.
pub fn judge(
    book: &Book,
    brokers: &[&Broker],
    outcome: impl Fn(TransactionId) -> KnownOutcome,
) -> Verdict {
    for (id, account) in &book.accounts {
        holds(
            one_answer::NAME,
            !account.live || account.told.is_some(),
            || format!("the caller of {id} was told nothing"),
        )?;
        agreement(*id, account, (&fates(*id, brokers), outcome(*id)))?;
    }
    strays_never_commit(brokers)
}

/// All branches commit or all abort; what does not is reported.
fn agreement(
    id: TransactionId,
    account: &Account,
    (fates, known): (&[Fate], KnownOutcome),
) -> Verdict {
    let committed = fates.contains(&Fate::Committed);
    let aborted = fates.contains(&Fate::Aborted);
    let torn = aborted && (committed || account.decided);
    let reported = account.heuristic || known == KnownOutcome::Mixed;
    holds(ac1_agreement::NAME, !torn || reported, || {
        format!("{id} is {fates:?} and {known:?}, and nobody was told")
    })?;
    let right = match known {
        KnownOutcome::Committed => !aborted,
        KnownOutcome::Aborted => !committed,
        _ => true,
    };
    holds(external_consistency::NAME, right, || {
        format!("{id} is {known:?}, but {fates:?}")
    })
}

fn strays_never_commit(brokers: &[&Broker]) -> Verdict {
    for broker in brokers {
        let stray = broker.fates.iter().find(|(tag, fate)| {
            tag.stray && **fate == Fate::Committed && !broker.is_empty_repeat(tag)
        });
        holds(isolation::NAME, stray.is_none(), || format!("{stray:?}"))?;
    }
    Ok(())
}

/// Without a fault everything that was asked to commit commits.
pub fn judge_without_faults(book: &Book) -> Verdict {
    let failed = book
        .accounts
        .iter()
        .find(|(_, account)| account.commit_asked && account.told != Some(Told::Committed));
    holds(ac4_nontriviality::NAME, failed.is_none(), || {
        format!("{failed:?}")
    })
}

/// What became of a transaction's branches.
fn fates(id: TransactionId, brokers: &[&Broker]) -> Vec<Fate> {
    let all = brokers.iter().flat_map(|broker| &broker.fates);
    all.filter(|(tag, _)| tag.transaction == id && !tag.stray)
        .map(|(_, fate)| *fate)
        .collect()
}

/// The application could begin all that it wanted to.
pub fn work_goes_on(left: u8) -> Verdict {
    holds(usable::NAME, left == 0, || {
        format!("{left} transactions cannot begin any more")
    })
}
