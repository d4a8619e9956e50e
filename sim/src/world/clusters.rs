//! What befalls clusters: they go down, in part or whole, move coordinators, forget, are restored from
//! backups, have their clocks set, or turn out to be others.

use std::time::Duration;

use gtc_core::{BranchIdentity, BrokerState, Inquiry, ParticipantId, Request};

use super::World;
use super::app::own::Stage;
use super::log::Sync;
use crate::model::broker::{Broker, Fate};
use crate::swarm::Fault;

/// The ceiling of a cluster, and a lowered one: above the time-out of a fence, below that of a slot.
pub const CEILINGS_MS: [i32; 2] = [90_000, 70_000];

impl World {
    /// Something befalls one cluster.
    pub fn trouble_cluster(&mut self) {
        let p = self.source.pick(self.brokers.len());
        let (fault, befall): (Fault, fn(&mut Self, usize)) = match self.source.pick(16) {
            0..=3 => (Fault::Cluster, Self::toggle_cluster),
            4 | 5 => (Fault::Shard, Self::lose_group),
            6 | 7 => (Fault::Shard, Self::move_group),
            8 => (Fault::Ceiling, Self::set_ceiling),
            9 => (Fault::Clock, Self::set_clock),
            10 => (Fault::Backup, Self::back_up),
            11 => (Fault::Impostor, Self::replace_cluster),
            12 => (Fault::Rights, Self::toggle_rights),
            14 | 15 => (Fault::Stranger, Self::intrude),
            _ => (Fault::Rebalance, Self::rebalance),
        };
        if self.swarm.has(fault) {
            befall(self, p);
        }
    }

    fn toggle_cluster(&mut self, p: usize) {
        let broker = &mut self.brokers[p];
        broker.up = !broker.up;
        let up = broker.up;
        self.tell(|| format!("cluster p{p} {}", if up { "is back" } else { "goes down" }));
        if !up && self.source.pick(2) == 1 {
            let request = Request::Unreachable {
                participant: ParticipantId(p as u16),
                why: "model".into(),
            };
            let _ = self.process.coordinator.handle_request(request, self.now);
            self.drain();
        }
    }

    fn lose_group(&mut self, p: usize) {
        let group = 1 << self.source.pick(3);
        self.links[p].down ^= group;
        self.tell(|| format!("some transactional ids of p{p} have no coordinator, or one again"));
    }

    fn toggle_rights(&mut self, p: usize) {
        let blind = !self.links[p].blind;
        self.links[p].blind = blind;
        self.tell(|| {
            let held = if blind {
                "is taken away"
            } else {
                "is given back"
            };
            format!("the right to describe transactional ids of p{p} {held}")
        });
    }

    fn move_group(&mut self, p: usize) {
        let group = 1 << self.source.pick(3);
        self.links[p].moving ^= group;
        self.tell(|| {
            format!("the coordinator of some transactional ids of p{p} moves, or has moved")
        });
    }

    fn set_ceiling(&mut self, p: usize) {
        self.brokers[p].ceiling_ms = CEILINGS_MS[self.source.pick(2)];
    }

    fn set_clock(&mut self, p: usize) {
        let by_ms = [-30_000, 30_000, 3_600_000, -7_200_000][self.source.pick(4)];
        if self.source.pick(4) == 3 {
            self.now.unix_ms = self.now.unix_ms.saturating_add_signed(by_ms);
            self.tell(|| format!("the coordinator's machine sets its clock by {by_ms} ms"));
            return;
        }
        self.brokers[p].skew_ms += by_ms;
        self.links[p].clock_set = true;
        self.tell(|| format!("cluster p{p} sets its clock by {by_ms} ms"));
    }

    /// Takes a backup, or restores one while no coordinator runs: nobody restores below a running one.
    fn back_up(&mut self, p: usize) {
        let Some(backup) = self.backups[p].take() else {
            self.backups[p] = Some(self.brokers[p].clone());
            return;
        };
        if !self.others.is_empty() {
            return;
        }
        self.tell(|| format!("cluster p{p} is restored from a backup"));
        self.restart_around(|world| world.restore(p, backup));
    }

    /// Backups where they hurt: one holds the end of a slot's last transaction, under the identity of its next.
    pub fn back_up_where_it_hurts(&mut self) {
        if !self.has(Fault::Backup) || !self.others.is_empty() {
            return;
        }
        for p in 0..self.brokers.len() {
            let open: Vec<_> = self.brokers[p].open_tags().cloned().collect();
            let hurts = open.iter().any(|tag| {
                let decided = self.logs[self.process.log].is_decided(tag.transaction);
                decided && self.is_next_in_backup(p, &tag.name)
            });
            if hurts && self.source.once_in(4) {
                // It is used below the recovery, between its question and its EndTxn, before anything is begun.
                self.restart();
                for _ in 0..8 {
                    self.flush();
                    self.advance(Duration::from_millis(50));
                }
                return;
            }
            if hurts && self.source.once_in(4) {
                self.back_up(p);
            } else if !hurts && self.source.once_in(20) {
                // Whoever makes backups makes them again and again.
                self.backups[p] = Some(self.brokers[p].clone());
            }
        }
    }

    fn is_next_in_backup(&self, p: usize, name: &str) -> bool {
        let Some(backup) = &self.backups[p] else {
            return false;
        };
        let ended = matches!(
            backup.describe(name),
            Inquiry::Described(found) if found.state == BrokerState::CompleteCommit
        );
        ended && backup.producer(name) == self.brokers[p].producer(name)
    }

    /// A cluster is restored between the inquiry and the EndTxn of a recovery (R17).
    pub fn restore_below(&mut self, p: usize, branch: &BranchIdentity) {
        let recovers = self.process.began.is_empty() && self.others.is_empty();
        let hurts = self.has(Fault::Backup) && recovers;
        if hurts
            && self.is_next_in_backup(p, &branch.transactional_id)
            && self.source.once_in(2)
            && let Some(backup) = self.backups[p].take()
        {
            self.tell(|| format!("cluster p{p} is restored from a backup under a recovery"));
            self.restore(p, backup);
        }
    }

    fn restore(&mut self, p: usize, backup: Broker) {
        let before = std::mem::replace(&mut self.brokers[p], backup);
        for account in self.oracle.accounts.values_mut() {
            for tag in account.written.iter().filter(|tag| tag.participant == p) {
                let ended = before.fates.get(tag).is_none_or(|fate| *fate != Fate::Open);
                if ended && self.brokers[p].fates.get(tag) != before.fates.get(tag) {
                    account.excused.insert(tag.clone());
                }
            }
        }
        self.oracle
            .restored(p, (&before, &self.brokers[p]), &self.logs);
        let restored = &self.brokers[p].partition;
        for numbers in self.oracle.delivered[p].values_mut() {
            numbers.retain(|number| restored.holds(*number));
        }
        self.late.retain(|(at, _)| *at != p);
        for own in self.process.app.owns.iter_mut().filter(|own| own.p == p) {
            own.stage = Stage::Fresh;
        }
        self.restored = true;
    }

    fn replace_cluster(&mut self, p: usize) {
        if !self.others.is_empty() {
            return;
        }
        let impostor = !self.links[p].impostor;
        self.flush();
        if impostor && !self.is_verified(p) {
            // The name is not bound to its cluster yet.
            return;
        }
        self.tell(|| match impostor {
            true => format!("another cluster answers under p{p}'s address after a restart"),
            false => format!("p{p}'s address leads to its cluster again"),
        });
        self.restart_around(|world| world.links[p].impostor = impostor);
    }

    fn rebalance(&mut self, p: usize) {
        let generation = self.brokers[p].group.rebalance();
        self.tell(|| format!("the consumer group of p{p} rebalances: generation {generation}"));
    }

    /// Branches that the coordinator knows to have ended, and has had the time to write down (R16).
    fn note_acknowledged(&mut self) {
        let driver = &self.process.driver;
        let quiet = driver.outstanding.is_empty() && driver.responses.is_empty();
        if !quiet || !self.logs[self.process.log].is_idle() {
            return;
        }
        for view in self.process.coordinator.list() {
            let ended = view
                .branches
                .iter()
                .filter(|branch| branch.state == "acknowledged");
            let names: Vec<_> = ended.filter_map(|b| b.transactional_id.clone()).collect();
            let account = self.oracle.account(view.id);
            let known = account
                .written
                .iter()
                .filter(|tag| names.contains(&tag.name));
            let known: Vec<_> = known.cloned().collect();
            account.acknowledged.extend(known);
        }
    }

    /// A week of silence: transactional ids are forgotten that nobody has used.
    pub fn pass_week(&mut self) {
        for _ in 0..4 {
            self.flush();
            self.advance(Duration::from_millis(600));
            let log = self.process.log;
            while !self.logs[log].is_idle() {
                self.sync_log(log, Sync::Durable);
            }
        }
        self.flush();
        self.note_acknowledged();
        self.tell(|| "a week passes".into());
        // No request is under way for so long.
        self.late.clear();
        self.advance(Duration::from_secs(8 * 24 * 3600));
        self.oracle.after_week(&self.brokers, &self.logs);
        if self.source.pick(2) == 1 {
            self.restart();
        }
    }
}
