//! The oracle: it sees the clusters, the logs and what is told, and knows nothing of how the core works.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{Decision, HeuristicBranch, HeuristicKind, KnownOutcome, Outcome, TransactionId};

use super::account::{Account, Told};
use super::log::{Log, log_of};
use crate::invariants::{
    ac1_agreement, ac2_stability, ac3_validity, ac4_nontriviality, ac5_termination, exactly_once,
    external_consistency, fencing, forgetting, isolation, no_false_alarm, one_answer, promise,
    recovery, write_ahead,
};
use crate::model::broker::{Broker, Call, Fate, Tag};
use crate::violation::demand;

/// All accounts.
#[derive(Default)]
pub struct Oracle {
    /// By transaction.
    pub accounts: BTreeMap<TransactionId, Account>,
    /// The records delivered, by cluster and broker transaction.
    pub delivered: Vec<BTreeMap<Tag, Vec<u64>>>,
    numbers: u64,
}

/// Numbers of records below this are results of the job.
pub const FIRST_PLAIN_NUMBER: u64 = 1 << 32;

impl Oracle {
    /// An oracle of so many clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            accounts: BTreeMap::new(),
            delivered: vec![BTreeMap::new(); clusters],
            numbers: FIRST_PLAIN_NUMBER,
        }
    }

    /// The account of a transaction.
    pub fn account(&mut self, id: TransactionId) -> &mut Account {
        self.accounts.entry(id).or_default()
    }

    /// A number for a record that no other has.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A record is in its cluster, whatever its producer knows.
    pub fn arrived(&mut self, tag: Tag, number: u64) {
        let records = self.delivered[tag.participant].entry(tag);
        records.or_default().push(number);
    }

    /// A record was acknowledged.
    pub fn delivered(&mut self, tag: Tag, number: u64) {
        self.arrived(tag.clone(), number);
        if !tag.stray {
            self.account(tag.transaction).written.insert(tag);
        }
    }

    /// A request of gtc changed the fate of an open tag.
    pub fn ended_by_call(&mut self, call: &Call, tag: &Tag, logs: &[Log]) {
        let account = self.account(tag.transaction).clone();
        if account.excused.contains(tag) {
            // Its cluster was restored: it had ended, and is open again.
            return;
        }
        let durable = logs[log_of(tag.transaction)].is_decided(tag.transaction);
        if account.is_estranged(tag) {
            return;
        }
        match call {
            Call::End {
                decision, intent, ..
            } => {
                if !tag.stray || *decision == Decision::Commit {
                    demand(isolation::check(intent.as_ref(), tag));
                }
                if *decision == Decision::Commit {
                    demand(ac3_validity::check(&account, tag));
                    demand(write_ahead::check(&account, tag, durable));
                    demand(external_consistency::committing(&account, tag));
                } else {
                    demand(ac2_stability::aborting(&account, tag));
                }
            }
            Call::Init { .. } => demand(fencing::check(&account, tag, durable)),
            _ => unreachable!("model: a write ends nothing"),
        }
    }

    /// A caller hears how its transaction ended.
    pub fn told(&mut self, id: TransactionId, outcome: &Outcome, brokers: &[Broker]) {
        let account = self.account(id);
        account.ended += 1;
        account.told = Some(match outcome {
            Outcome::Committed => Told::Committed,
            Outcome::Aborted(_) => Told::Aborted,
            Outcome::InDoubt(_) => Told::InDoubt,
            Outcome::Mixed { .. } => Told::Mixed,
            other => panic!("model: unknown outcome {other:?}"),
        });
        let account = account.clone();
        demand(one_answer::at_most(&account, id));
        demand(ac2_stability::check(&account, id));
        if !account.by_operator && !account.is_lost() {
            let fates = fates(&account, brokers);
            demand(external_consistency::told(&account, id, &fates));
        }
    }

    /// The coordinator is about to decide a commit.
    pub fn deciding(&self, id: TransactionId, (now_us, margin_us): (u64, u64), all: &[Broker]) {
        let Some(account) = self.accounts.get(&id) else {
            return;
        };
        for tag in &account.written {
            demand(ac3_validity::decided(account, tag));
            let broker = &all[tag.participant];
            // What somebody else ended since its vote is found out later, and reported.
            let taken = account.rash && broker.open_tag(&tag.name) != Some(tag);
            if !taken {
                demand(promise::check(tag, now_us, margin_us, broker));
            }
        }
    }

    /// An own producer writes on, or is initialised, while branches that it wrote are not durably ended.
    pub fn overtakes(&mut self, (p, name): (usize, &str), by: Option<TransactionId>, logs: &[Log]) {
        for (id, account) in &mut self.accounts {
            let same = |own: &&(usize, Arc<str>)| own.0 == p && *own.1 == *name;
            if Some(*id) != by && !logs[log_of(*id)].is_ended(*id) {
                let overtaken = account.own.iter().filter(same).cloned();
                account.overtaken.extend(overtaken);
            }
        }
    }

    /// A cluster was restored, and no longer has the producers that were enlisted in what is not durably ended.
    pub fn restored(&mut self, p: usize, (before, after): (&Broker, &Broker), logs: &[Log]) {
        for (id, account) in &mut self.accounts {
            let other = |own: &&(usize, Arc<str>)| {
                own.0 == p && after.producer(&own.1) != before.producer(&own.1)
            };
            if !logs[log_of(*id)].is_ended(*id) {
                let overtaken = account.own.iter().filter(other).cloned();
                account.overtaken.extend(overtaken);
            }
        }
    }

    /// A heuristic outcome is reported.
    pub fn heuristic(&mut self, id: TransactionId, branch: &HeuristicBranch, brokers: &[Broker]) {
        let account = self.account(id);
        account.heuristic = true;
        let p = branch.participant.trim_start_matches('p').parse();
        let p = p.expect("a participant is called by its number");
        let here = |tag: &&Tag| tag.participant == p;
        let written = account.written.iter().filter(here);
        let fates: Vec<Fate> = written
            .filter_map(|tag| brokers[tag.participant].fates.get(tag).copied())
            .collect();
        // Where a late request opened something under the name of a branch, or a cluster has forgotten it,
        // nothing can be proved of it.
        let stray = |tag: &Tag| tag.stray && tag.transaction == id;
        let disturbed = brokers.iter().any(|b| b.fates.keys().any(stray));
        let forgotten = |tag: &Tag| brokers[tag.participant].producer(&tag.name).is_none();
        let known = |tag: &Tag| account.acknowledged.contains(tag);
        let forgotten = account
            .written
            .iter()
            .any(|tag| forgotten(tag) && !known(tag));
        let unprovable = branch.kind == HeuristicKind::Hazard && account.is_unprovable(p);
        if !disturbed
            && !forgotten
            && !unprovable
            && !account.disturbed
            && account.excused.is_empty()
        {
            demand(no_false_alarm::check(branch, account.decided, &fates));
        }
    }

    /// Everything that earlier starts of this log left open is ended.
    pub fn recovered(&self, log: usize, brokers: &[Broker]) {
        let open = brokers.iter().flat_map(Broker::open_tags);
        for tag in open.filter(|tag| log_of(tag.transaction) == log) {
            demand(recovery::check(self.accounts.get(&tag.transaction), tag));
        }
    }

    /// After every durable write.
    pub fn after_write(&mut self, logs: &[Log], brokers: &[Broker]) {
        for (id, account) in &mut self.accounts {
            let log = &logs[log_of(*id)];
            account.decided |= log.is_decided(*id);
            account.recorded_own.extend(log.own_branches(*id));
            // Recorded is listed, for whoever asks: also where the process died before it said so.
            account.heuristic |= log.is_mixed(*id);
            // What is presumed aborted is left to the sweep, and in nobody's record.
            if log.is_ended(*id) && !account.heuristic && account.decided {
                demand(forgetting::check(*id, &fates(account, brokers)));
            }
        }
    }

    /// After a week of silence.
    pub fn after_week(&mut self, brokers: &[Broker], logs: &[Log]) {
        for (id, account) in &mut self.accounts {
            let unknown = |own: &&(usize, Arc<str>)| brokers[own.0].producer(&own.1).is_none();
            if !logs[log_of(*id)].is_ended(*id) {
                let overtaken = account.own.iter().filter(unknown).cloned();
                account.overtaken.extend(overtaken);
            }
            let forgotten = |tag: &Tag| brokers[tag.participant].producer(&tag.name).is_none();
            account.forgotten |= account.written.iter().any(forgotten);
        }
    }

    /// No failure and all yes gives commit.
    pub fn judge_without_faults(&self) {
        for (id, account) in &self.accounts {
            demand(ac4_nontriviality::check(account, *id));
        }
    }

    /// After healing: what must hold once nothing is under way.
    pub fn judge(&self, brokers: &[Broker], outcome: &dyn Fn(TransactionId) -> KnownOutcome) {
        for (broker, delivered) in brokers.iter().zip(&self.delivered) {
            demand(ac5_termination::check(broker));
            demand(exactly_once::check(broker, delivered));
        }
        for (id, account) in &self.accounts {
            let fates = fates(account, brokers);
            let known = outcome(*id);
            demand(one_answer::exactly(account, *id));
            if account.is_unknowable() {
                continue;
            }
            demand(ac1_agreement::check(account, *id, &fates, known));
            if !account.by_operator {
                demand(external_consistency::outcome(*id, known, &fates));
            }
        }
    }

    /// Nothing happened that could tear the job's results from its offsets, except what is reported.
    pub fn all_ended_as_decided(&self) -> bool {
        let sound = |account: &Account| {
            !account.heuristic
                && !account.by_operator
                && !account.rash
                && account.excused.is_empty()
                && account.told != Some(Told::Mixed)
        };
        self.accounts.values().all(sound)
    }
}

/// What became of the branches of a transaction; one that its cluster does not know any more is lost.
pub fn fates(account: &Account, brokers: &[Broker]) -> Vec<Fate> {
    let written = account.written.difference(&account.excused);
    written
        .map(|tag| {
            let fate = brokers[tag.participant].fates.get(tag);
            fate.copied().unwrap_or(Fate::Aborted)
        })
        .collect()
}

#[cfg(test)]
mod tests;
