//! The oracle: it sees the clusters, the log and what is told, and knows nothing of how the core works.
//! One function an invariant, named as in section 8 of the design.

use std::collections::{BTreeMap, BTreeSet};

use gtc_core::{Decision, HeuristicBranch, HeuristicKind, KnownOutcome, Outcome, TransactionId};

use super::log::Log;
use crate::model::broker::{Broker, Call, Fate, Tag};

/// What the application did and was told about one transaction.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The application asked to commit it.
    pub commit_asked: bool,
    /// It asked to abort it.
    pub abort_asked: bool,
    /// A record of it was lost, and its writer knows.
    pub lost_write: bool,
    /// Broker transactions that hold delivered records of it.
    pub written: BTreeSet<Tag>,
    /// It needs a record: two branches, an own producer, or a key.
    pub recorded: bool,
    /// How often `Ended` came.
    pub ended: u32,
    pub told: Option<Told>,
    /// A heuristic branch was reported.
    pub heuristic: bool,
    /// An operator said how it ended: nobody else knows.
    pub by_operator: bool,
    /// The coordinator that began it lives.
    pub live: bool,
    /// A decision was durable at some time.
    pub decided: bool,
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Committed,
    Aborted,
    InDoubt,
    Mixed,
}

/// All accounts.
#[derive(Default)]
pub struct Oracle {
    pub accounts: BTreeMap<TransactionId, Account>,
}

impl Oracle {
    pub fn account(&mut self, id: TransactionId) -> &mut Account {
        self.accounts.entry(id).or_default()
    }

    /// A call changed the fate of an open tag.
    pub fn ended_by_call(&mut self, call: &Call, tag: &Tag, log: &Log) {
        match call {
            Call::End {
                decision, intent, ..
            } => {
                if !tag.stray || *decision == Decision::Commit {
                    no_wrong_transaction_touched(intent.as_ref(), tag);
                }
                if *decision == Decision::Commit {
                    let account = self.account(tag.transaction).clone();
                    commit_only_if_all_voted_yes(&account, tag);
                    decided_durable_before_any_branch_commits(&account, tag, log);
                    told_aborted_never_committed(&account, tag);
                }
            }
            Call::Init { .. } => {
                let account = self.account(tag.transaction).clone();
                no_live_transaction_fenced(&account, tag, log);
            }
            _ => unreachable!("model: a write ends nothing"),
        }
    }

    pub fn told(&mut self, id: TransactionId, outcome: &Outcome, brokers: &[Broker]) {
        let account = self.account(id);
        account.ended += 1;
        assert_eq!(account.ended, 1, "exactly one Ended: {id} ended twice");
        let told = match outcome {
            Outcome::Committed => Told::Committed,
            Outcome::Aborted(_) => Told::Aborted,
            Outcome::InDoubt(_) => Told::InDoubt,
            Outcome::Mixed { .. } => Told::Mixed,
            other => panic!("unknown outcome {other:?}"),
        };
        account.told = Some(told);
        let account = account.clone();
        told_committed_is_committed_everywhere(&account, id, brokers);
        decision_never_reverses(&account, id);
    }

    /// The coordinator is about to decide a commit.
    pub fn deciding(&self, id: TransactionId, now_us: u64, brokers: &[Broker]) {
        let written = self.accounts.get(&id).map(|account| &account.written);
        for tag in written.into_iter().flatten() {
            promised_in_time(tag, now_us, &brokers[tag.participant]);
        }
    }

    /// A heuristic outcome is reported.
    pub fn heuristic(&mut self, id: TransactionId, branch: &HeuristicBranch, brokers: &[Broker]) {
        let account = self.account(id);
        account.heuristic = true;
        let here = |tag: &&Tag| format!("p{}", tag.participant) == branch.participant;
        let written = account.written.iter().filter(here);
        let fates: Vec<Fate> = written
            .filter_map(|tag| brokers[tag.participant].fates.get(tag).copied())
            .collect();
        // Where a late request opened something under the name of a branch, nothing can be proved of it.
        let stray = |tag: &&Tag| tag.stray && tag.transaction == id;
        let disturbed = brokers
            .iter()
            .any(|b| b.fates.keys().any(|tag| stray(&tag)));
        if !disturbed {
            no_false_alarm(branch, &fates);
        }
    }

    /// Everything that earlier starts left open is ended.
    pub fn recovered(&self, brokers: &[Broker]) {
        for tag in brokers.iter().flat_map(Broker::open_tags) {
            let account = self.accounts.get(&tag.transaction);
            let pool = tag.name.starts_with("gtc.") && !tag.stray;
            let dead = account.is_some_and(|account| !account.live && !account.heuristic);
            assert!(!(pool && dead), "recovered, but {tag:?} is open");
        }
    }

    /// No failure and all yes gives commit.
    pub fn judge_without_faults(&self) {
        for (id, account) in &self.accounts {
            let told = account.told;
            let asked = account.commit_asked && !account.abort_asked;
            assert!(
                !asked || told == Some(Told::Committed),
                "{id}: {told:?} without a fault"
            );
        }
    }

    /// After every durable write.
    pub fn after_write(&mut self, log: &Log, brokers: &[Broker]) {
        for (id, account) in &mut self.accounts {
            account.decided |= log.is_decided(*id);
            // Recorded is listed, for whoever asks: also where the process died before it said so.
            account.heuristic |= log.is_mixed(*id);
            // What is presumed aborted is left to the sweep, and in nobody's record.
            if log.is_ended(*id) && !account.heuristic && account.decided {
                forgotten_only_after_all_acknowledged(account, *id, brokers);
            }
        }
    }

    /// After healing: what must hold once nothing is under way.
    pub fn judge(&self, brokers: &[Broker], outcome: &dyn Fn(TransactionId) -> KnownOutcome) {
        for broker in brokers {
            everything_ends(broker);
            strays_never_commit(broker);
        }
        for (id, account) in &self.accounts {
            let fates: Vec<Fate> = fates(account, brokers);
            let committed = fates.contains(&Fate::Committed);
            let aborted = fates.contains(&Fate::Aborted);
            let known = outcome(*id);
            agreement(account, *id, &fates, known);
            if account.live {
                assert_eq!(account.ended, 1, "callers get exactly one Ended: {id}");
            }
            if account.by_operator {
                continue;
            }
            let right = match known {
                KnownOutcome::Committed => !aborted,
                KnownOutcome::Aborted => !committed,
                _ => true,
            };
            assert!(right, "outcome({id}) is {known:?}, but {fates:?}");
        }
    }
}

fn fates(account: &Account, brokers: &[Broker]) -> Vec<Fate> {
    let written = account.written.iter();
    written
        .filter_map(|tag| brokers[tag.participant].fates.get(tag).copied())
        .collect()
}

/// R14: a promise is made only while the broker keeps the branch open for the safety margin at least.
fn promised_in_time(tag: &Tag, now_us: u64, broker: &Broker) {
    let margin_us = super::MARGIN.as_micros() as u64;
    let late = broker
        .expires_us(tag)
        .is_none_or(|expires_us| now_us + margin_us > expires_us);
    assert!(!late, "promised too late: {tag:?}");
}

/// A participant whose branches all ended as decided is not reported.
fn no_false_alarm(branch: &HeuristicBranch, fates: &[Fate]) {
    let possible = match branch.kind {
        HeuristicKind::Aborted | HeuristicKind::Hazard => {
            fates.is_empty() || fates.iter().any(|fate| *fate != Fate::Committed)
        }
        HeuristicKind::Committed => fates.contains(&Fate::Committed),
        _ => true,
    };
    assert!(possible, "false alarm: {branch:?}, but {fates:?}");
}

fn no_wrong_transaction_touched(intent: Option<&Tag>, tag: &Tag) {
    let same = intent
        .is_some_and(|intent| intent.transaction == tag.transaction && intent.name == tag.name);
    assert!(
        same,
        "wrong transaction touched: {tag:?} instead of {intent:?}"
    );
}

fn commit_only_if_all_voted_yes(account: &Account, tag: &Tag) {
    assert!(!tag.stray, "a stray transaction is committed: {tag:?}");
    assert!(account.commit_asked, "committed unasked: {tag:?}");
    assert!(!account.lost_write, "committed with a lost record: {tag:?}");
}

fn decided_durable_before_any_branch_commits(account: &Account, tag: &Tag, log: &Log) {
    let decided = account.decided || log.is_decided(tag.transaction);
    let needed = account.written.len() > 1 || account.recorded;
    assert!(decided || !needed, "committed without a record: {tag:?}");
}

fn told_aborted_never_committed(account: &Account, tag: &Tag) {
    let aborted = account.told == Some(Told::Aborted);
    assert!(!aborted, "told aborted, and committed: {tag:?}");
}

fn no_live_transaction_fenced(account: &Account, tag: &Tag, log: &Log) {
    let open = account.live && account.ended == 0 && !account.heuristic && !tag.stray;
    assert!(
        !open,
        "an initialisation aborted a live transaction: {tag:?}"
    );
    let promised = log.is_decided(tag.transaction) && !account.heuristic && !tag.stray;
    assert!(!promised, "an initialisation aborted a promise: {tag:?}");
}

fn told_committed_is_committed_everywhere(account: &Account, id: TransactionId, all: &[Broker]) {
    if account.told != Some(Told::Committed) {
        return;
    }
    let fates = fates(account, all);
    let everywhere = fates.iter().all(|fate| *fate == Fate::Committed);
    assert!(everywhere, "told committed, but {fates:?}: {id}");
}

fn decision_never_reverses(account: &Account, id: TransactionId) {
    let reversed = account.decided && account.told == Some(Told::Aborted);
    assert!(!reversed, "decided commit, told aborted: {id}");
}

fn forgotten_only_after_all_acknowledged(account: &Account, id: TransactionId, all: &[Broker]) {
    let open = fates(account, all).contains(&Fate::Open);
    assert!(!open, "{id} is forgotten while a branch of it is open");
}

fn everything_ends(broker: &Broker) {
    let open: Vec<&Tag> = broker.open_tags().collect();
    assert!(open.is_empty(), "everything ends: {open:?} are open");
}

fn strays_never_commit(broker: &Broker) {
    let stray = broker
        .fates
        .iter()
        .filter(|(tag, fate)| tag.stray && **fate == Fate::Committed)
        .find(|(tag, _)| !broker.is_empty_repeat(tag));
    assert!(stray.is_none(), "a stray transaction committed: {stray:?}");
}

/// All branches commit or all abort; what does not is reported.
fn agreement(account: &Account, id: TransactionId, fates: &[Fate], known: KnownOutcome) {
    let committed = fates.contains(&Fate::Committed);
    let aborted = fates.contains(&Fate::Aborted);
    let decided_and_aborted = account.decided && aborted;
    let reported = account.heuristic || known == KnownOutcome::Mixed;
    assert!(
        !(committed && aborted || decided_and_aborted) || reported,
        "agreement: {id} is {fates:?} and {known:?}, and nobody was told"
    );
}
