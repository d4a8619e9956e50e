//! `gtc recover`: takes the log over, ends everything that is open, and exits.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use gtc::kafka::control::ControlClient;
use gtc::views::{Status, TransactionInfo};
use gtc::{Config, Coordinator};
use gtc_core::BrokerState;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{source, view};
use crate::args::RecoverArgs;
use crate::failure::{Exit, Failure};
use crate::{output, remedy};

/// What takes longer is told, with who is waited for.
const TOLD_AFTER: Duration = Duration::from_millis(1_500);
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The least that is left to each step around the wait, however short that is.
const STEP_PATIENCE_MIN: Duration = Duration::from_secs(1);

/// The state of a participant of which everything is known.
const VERIFIED: &str = "verified";

/// What a recovery found and did.
#[derive(Debug, Serialize)]
struct Report {
    /// Whether everything that the log left open is ended.
    recovered: bool,
    /// What the log held open before, as it is now.
    transactions: Vec<TransactionInfo>,
    /// Open branches of this coordinator that the clusters showed before, and whether they are
    /// ended.
    branches: Vec<Branch>,
    /// The coordinator after it.
    status: Status,
}

/// A transaction of the brokers under one of the coordinator's names.
#[derive(Debug, Serialize)]
struct Branch {
    participant: String,
    transactional_id: String,
    ended: bool,
}

/// Runs `gtc recover`.
pub(crate) async fn run(config: Config, args: &RecoverArgs) -> Result<Exit, Failure> {
    let config = config.adopt(args.adopt);
    // A log that does not exist is a wrong path, and not one to be made.
    let Some(ledger) = source::read_ledger(&config)? else {
        return Err(Failure::error(format!(
            "{}: nothing to recover; correct `log` in the configuration, or start the coordinator",
            source::not_started(&config)
        )));
    };
    let begun = Instant::now();
    let patience = patience(args.wait_s);
    // Whether a log that was moved is stale is worth all the time that the configuration gives it.
    let config = match args.adopt {
        true => config,
        false => config.patience(patience),
    };
    let open_before: Vec<_> = ledger.list().iter().map(|view| view.id).collect();
    let (branches_before, silent) = open_branches(&config, patience, |_| true).await;
    let opened = telling(Coordinator::open(config.clone()), || names(&silent)).await;
    let coordinator = opened.map_err(Failure::from_error)?;
    let left = args.wait_s.saturating_sub(begun.elapsed());
    let recovery = timeout(left, coordinator.recovered());
    let waited = telling(recovery, || names(&unverified(&coordinator))).await;
    let recovered = match waited {
        Ok(result) => result.map(|()| true).map_err(Failure::from_error)?,
        Err(_) => false,
    };
    let described = open_before
        .iter()
        .filter_map(|id| coordinator.describe(*id));
    let concerned = |name: &str| branches_before.contains_key(name);
    let found = open_branches(&config, patience, concerned).await;
    let report = Report {
        recovered,
        transactions: described.map(|view| TransactionInfo::from(&view)).collect(),
        branches: compare(branches_before, found),
        status: coordinator.status(),
    };
    let closed = coordinator.close().await;
    show(&report, args.report.json);
    if let Err(error) = closed {
        tracing::warn!(%error, "closing after the recovery");
    }
    Ok(judge(&report))
}

/// How long each of the steps around the wait may take: who does not answer takes all of the time that there
/// is, and what is asked for is the whole.
fn patience(wait: Duration) -> Duration {
    (wait / 4).max(STEP_PATIENCE_MIN)
}

fn judge(report: &Report) -> Exit {
    let is_clean = report.recovered
        && report.status.open == 0
        && report.status.foreign.is_empty()
        && report.branches.iter().all(|branch| branch.ended);
    if is_clean {
        Exit::Done
    } else {
        Exit::NeedsHand
    }
}

/// The open transactions under the coordinator's names, by participant, as the clusters list them; and the
/// participants that did not tell everything.
async fn open_branches(
    config: &Config,
    patience: Duration,
    is_concerned: impl Fn(&str) -> bool,
) -> (BTreeMap<String, Vec<String>>, BTreeSet<String>) {
    let prefix = format!("gtc.{}.", config.id());
    let (mut asked, mut silent) = (JoinSet::new(), BTreeSet::new());
    for participant in config.participants() {
        if !is_concerned(participant.name()) {
            continue;
        }
        let client = participant.kafka_properties().ok();
        let client = client.and_then(|properties| ControlClient::open(&properties).ok());
        let Some(client) = client else { continue };
        let (name, prefix) = (participant.name().to_owned(), prefix.clone());
        silent.insert(name.clone());
        asked.spawn(async move {
            let listing = timeout(patience, client.list_transactions(&prefix)).await;
            (name, listing.unwrap_or_default())
        });
    }
    let mut open = BTreeMap::new();
    while let Some(answer) = telling(asked.join_next(), || names(&silent)).await {
        let Ok((participant, listing)) = answer else {
            continue;
        };
        if listing.complete {
            silent.remove(&participant);
        }
        let ongoing = listing.transactions.into_iter();
        let ongoing = ongoing.filter(|listed| listed.state == BrokerState::Ongoing);
        let names: Vec<String> = ongoing
            .map(|listed| listed.transactional_id.to_string())
            .collect();
        open.insert(participant, names);
    }
    (open, silent)
}

/// Says who is waited for, for as long as it takes.
async fn telling<T>(work: impl Future<Output = T>, who: impl Fn() -> String) -> T {
    let mut work = pin!(work);
    let mut pause = TOLD_AFTER;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = sleep(pause) => tracing::info!("waiting for {} to answer", who()),
        }
        pause = TOLD_AGAIN_AFTER;
    }
}

fn names(silent: &BTreeSet<String>) -> String {
    match silent.is_empty() {
        true => "the participants".to_owned(),
        false => silent.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}

/// The participants that are not verified yet.
fn unverified(coordinator: &Coordinator) -> BTreeSet<String> {
    let participants = coordinator.status().participants.into_iter();
    let unverified = participants.filter(|found| found.state != VERIFIED);
    unverified.map(|found| found.name).collect()
}

/// Who does not tell everything now has not shown that a branch is ended.
fn compare(
    before: BTreeMap<String, Vec<String>>,
    (after, silent): (BTreeMap<String, Vec<String>>, BTreeSet<String>),
) -> Vec<Branch> {
    let mut branches = Vec::new();
    for (participant, names) in before {
        let still = after.get(&participant);
        let still = still.filter(|_| !silent.contains(&participant));
        branches.extend(names.into_iter().map(|transactional_id| Branch {
            participant: participant.clone(),
            ended: still.is_some_and(|still| !still.contains(&transactional_id)),
            transactional_id,
        }));
    }
    branches
}

fn show(report: &Report, json: bool) {
    if json {
        return output::json(report);
    }
    match report.transactions.is_empty() {
        true => output::line("the log held nothing open"),
        false => output::line(&view::table(&report.transactions)),
    }
    for branch in &report.branches {
        let state = if branch.ended { "ended" } else { "STILL OPEN" };
        output::line(&format!(
            "{}: {} {state}",
            branch.participant, branch.transactional_id
        ));
    }
    for branch in &report.status.foreign {
        output::line(&format!(
            "{}:{} belongs to another log: decide it by the data of the other clusters, and end it \
             with `gtc resolve {0}:{1} --commit|--abort`",
            branch.participant, branch.transactional_id
        ));
    }
    let participants = report.status.participants.iter();
    for participant in participants.filter(|found| found.state != VERIFIED) {
        let detail = participant.detail.as_deref();
        output::line(&format!(
            "{} is {}: {}",
            participant.name,
            participant.state,
            detail.unwrap_or("it has not told yet what is open there")
        ));
    }
    output::line(&match judge(report) {
        Exit::Done => "recovered".to_owned(),
        _ if only_mixed(report) => only_forget_ends_it(),
        _ => "not everything is ended, or known to be: mend what is named here, and run it again, with a \
              longer --wait-s where a cluster is slow"
            .to_owned(),
    });
}

fn only_forget_ends_it() -> String {
    let remedy = remedy::mixed("ID");
    format!(
        "everything is ended, some of it otherwise than decided (mixed): running it again changes nothing; {remedy}"
    )
}

/// Whether all that is left is what only `gtc forget` ends.
fn only_mixed(report: &Report) -> bool {
    let mixed = report.transactions.iter();
    let mixed = mixed.filter(|transaction| transaction.state == "mixed");
    report.recovered
        && report.status.open == mixed.count()
        && report.status.foreign.is_empty()
        && report.branches.iter().all(|branch| branch.ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_ended_only_where_the_cluster_shows_it() {
        let map = |entries: &[(&str, &[&str])]| {
            let owned = entries.iter().map(|(participant, names)| {
                let names = names.iter().map(ToString::to_string).collect();
                ((*participant).to_owned(), names)
            });
            owned.collect::<BTreeMap<String, Vec<String>>>()
        };
        let before = map(&[("eu", &["x", "y"]), ("us", &["z"]), ("ap", &["w"])]);
        // What a listing lacks that is not complete may be open all the same.
        let after = map(&[("eu", &["y"]), ("ap", &[])]);
        let silent = BTreeSet::from(["ap".to_owned()]);
        let ended: Vec<_> = compare(before, (after, silent))
            .into_iter()
            .map(|branch| (branch.transactional_id, branch.ended))
            .collect();
        let expected = [("w", false), ("x", true), ("y", false), ("z", false)];
        assert_eq!(
            ended,
            expected.map(|(name, ended)| (name.to_owned(), ended))
        );
    }
}
