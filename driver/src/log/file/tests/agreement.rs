//! The real core on the shipped log: machines lose power at any operation of the disk, and the disk fails,
//! while two clusters that never fail take part. Whatever the log then holds, both end each transaction alike.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use gtc_core::{
    Action, ActionId, AppendFailure, Backoff, BrokerState, CommitReturn, Config, ConnectReport,
    Coordinator, EndAnswer, Event, GivesWay, Ledger, Limits, LogId, Now, Outcome, Output,
    ParticipantConfig, ParticipantId, PrepareReport, Record, Request, Response, SlotCondition,
    StopReason, Time, TransactionId, WriteReport,
};

use super::cluster::{Cluster, TIMEOUT_MS};
use super::histories::how_many;
use super::history::{Holds, holds};
use super::machine::Machine;
use crate::log::file::broken::Broken;
use crate::log::{Durability, LogWrite};

struct World {
    machine: Machine,
    clusters: [Cluster; 2],
    coordinator: Option<Coordinator>,
    now: Now,
    wake: Option<Time>,
    outstanding: Vec<(ActionId, Action)>,
    log: VecDeque<(ActionId, LogWrite)>,
    enlisted: BTreeMap<TransactionId, usize>,
    told: BTreeMap<TransactionId, Outcome>,
    begun: BTreeSet<TransactionId>,
    recovered: bool,
    starts: usize,
    stopped: Option<StopReason>,
}

/// Runs the history of a seed; returns how many transactions committed, and how many starts it took.
pub(super) fn run(seed: u64, without: Option<Broken>) -> Holds<(usize, usize)> {
    let mut world = World {
        machine: Machine::new(seed, without),
        clusters: Default::default(),
        coordinator: None,
        now: Now {
            monotonic: Time::from_micros(1),
            unix_ms: 1_700_000_000_000,
        },
        wake: None,
        outstanding: Vec::new(),
        log: VecDeque::new(),
        enlisted: BTreeMap::new(),
        told: BTreeMap::new(),
        begun: BTreeSet::new(),
        recovered: false,
        starts: 0,
        stopped: None,
    };
    for _ in 0..400 {
        world.step()?;
    }
    world.heal()?;
    world.judge()
}

fn config(log_id: u64) -> Config {
    let participant = |name: &str| ParticipantConfig {
        name: name.into(),
        slots_max: 2,
        timeout_ms: TIMEOUT_MS,
        margin: Duration::from_secs(1),
        gives_way: GivesWay::Nothing,
        names_max: 100,
    };
    Config {
        coordinator: "alpha".into(),
        log_id: LogId(log_id),
        participants: vec![participant("eu"), participant("us")],
        limits: Limits {
            checkpoint_bytes: 3000,
            ..Limits::default()
        },
        backoff: Backoff::default(),
        seed: 1,
    }
}

fn bytes(records: &[Record]) -> Vec<Vec<u8>> {
    records.iter().map(Record::encode).collect()
}

impl World {
    fn step(&mut self) -> Holds {
        if self.coordinator.is_none() {
            return self.start();
        }
        match self.machine.dice.pick(16) {
            0..=2 => self.ask(),
            3..=8 => self.act(),
            9..=12 => self.write_log(),
            13 => self.wait(),
            14 if self.machine.dice.once_in(4) => self.die(),
            15 if self.machine.dice.once_in(2) => self.machine.arm(),
            _ => self.act(),
        }
        self.check_stopped()
    }

    fn check_stopped(&mut self) -> Holds {
        let stale = matches!(self.stopped, Some(StopReason::StaleLog(_)));
        holds("the incarnation rises", !stale, || {
            format!("{:?}", self.stopped)
        })?;
        if self.stopped.is_some() || self.machine.is_down() {
            self.die();
        }
        Ok(())
    }

    /// A start, if the disk lets it.
    fn start(&mut self) -> Holds {
        let Some(replay) = self.machine.open()? else {
            return Ok(());
        };
        let mut ledger = Ledger::new();
        for entry in &replay.entries {
            let record = Record::decode(entry).map_err(|error| error.to_string());
            let applied = record.and_then(|r| ledger.apply(r).map_err(|error| error.to_string()));
            holds(
                "nothing is found but what was written, in its order",
                applied.is_ok(),
                || format!("{applied:?}"),
            )?;
        }
        let config = config(replay.identity.log_id);
        self.coordinator = Some(Coordinator::new(config, ledger, self.now).expect("valid"));
        self.starts += 1;
        self.drain();
        Ok(())
    }

    /// The process or its machine dies; what it had sent may arrive or not.
    fn die(&mut self) {
        self.log.clear();
        self.enlisted.clear();
        (self.coordinator, self.stopped, self.recovered) = (None, None, false);
        for (_, action) in std::mem::take(&mut self.outstanding) {
            let arrives = matches!(
                action,
                Action::EndByWriter { .. } | Action::EndTransaction { .. }
            );
            if arrives && self.machine.dice.once_in(2) {
                self.perform(action);
            }
        }
        self.clusters
            .iter_mut()
            .for_each(|cluster| cluster.slots.clear());
        self.machine.kill();
    }

    /// Begins a transaction over both clusters, or commits or aborts one that is written.
    fn ask(&mut self) {
        let ready = self.enlisted.iter().find(|(_, count)| **count == 2);
        let request = match ready.map(|(id, _)| *id) {
            Some(transaction) => {
                self.enlisted.remove(&transaction);
                if self.machine.dice.once_in(5) {
                    let reason = "asked".into();
                    Request::Abort {
                        transaction,
                        reason,
                    }
                } else {
                    let report = CommitReturn::Acknowledged;
                    Request::Commit {
                        transaction,
                        report,
                    }
                }
            }
            None => return self.begin(),
        };
        self.request(request);
    }

    fn begin(&mut self) {
        let request = Request::Begin {
            key: None,
            timeout: None,
        };
        if let Some(gtc_core::Accepted::Begun(transaction)) = self.request(request) {
            self.begun.insert(transaction);
            self.enlisted.insert(transaction, 0);
            for participant in [ParticipantId(0), ParticipantId(1)] {
                self.request(Request::Enlist {
                    transaction,
                    participant,
                });
            }
        }
    }

    fn request(&mut self, request: Request) -> Option<gtc_core::Accepted> {
        let accepted = self
            .coordinator
            .as_mut()?
            .handle_request(request, self.now)
            .ok();
        self.drain();
        accepted
    }

    fn act(&mut self) {
        if self.outstanding.is_empty() {
            return;
        }
        let index = self.machine.dice.pick(self.outstanding.len());
        let (id, action) = self.outstanding.swap_remove(index);
        let response = self.perform(action);
        self.answer(id, response);
    }

    fn answer(&mut self, id: ActionId, response: Response) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.handle_response(id, response, self.now);
        }
        self.drain();
    }

    fn write_log(&mut self) {
        let Some((id, write)) = self.log.pop_front() else {
            return;
        };
        let response = match self.machine.write(write) {
            Ok(()) => Response::Appended,
            Err(_) if self.machine.is_down() => return,
            Err(error) if error.is_unwritten() => {
                Response::AppendFailed(AppendFailure::Refused(error.to_string()))
            }
            Err(error) => Response::AppendFailed(AppendFailure::Unknown(error.to_string())),
        };
        self.answer(id, response);
    }

    fn wait(&mut self) {
        let until = self
            .wake
            .unwrap_or(self.now.monotonic + Duration::from_millis(5));
        let span = until
            .saturating_since(self.now.monotonic)
            .max(Duration::from_millis(1));
        self.now.monotonic = self.now.monotonic + span;
        self.now.unix_ms += span.as_millis() as u64;
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.handle_timeout(self.now);
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(coordinator) = &mut self.coordinator {
            match coordinator.poll_output() {
                Output::Action(id, Action::Append { records, .. }) => {
                    let entries = bytes(&records);
                    let durability = Durability::Forced;
                    self.log.push_back((
                        id,
                        LogWrite::Append {
                            entries,
                            durability,
                        },
                    ));
                }
                Output::Action(id, Action::Checkpoint { snapshot }) => {
                    let snapshot = bytes(&snapshot);
                    self.log.push_back((id, LogWrite::Checkpoint { snapshot }));
                }
                Output::Action(id, action) => self.outstanding.push((id, action)),
                Output::Event(event) => self.hear(event),
                Output::Wait(wake, _) => {
                    self.wake = wake;
                    return;
                }
            }
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Enlisted {
                transaction,
                participant,
                slot: Some(slot),
                ..
            } => {
                let start_ms = self.now.unix_ms as i64 + self.begun.len() as i64;
                let cluster = &mut self.clusters[usize::from(participant.0)];
                cluster.write(slot, transaction, start_ms);
                *self.enlisted.entry(transaction).or_default() += 1;
            }
            Event::Ended {
                transaction,
                outcome,
            } => {
                self.enlisted.remove(&transaction);
                self.told.insert(transaction, outcome);
            }
            Event::Recovered => self.recovered = true,
            Event::Stopped(reason) => self.stopped = Some(reason),
            _ => {}
        }
    }

    fn perform(&mut self, action: Action) -> Response {
        let participant = action
            .participant()
            .expect("the log's are not performed here");
        let cluster = &mut self.clusters[usize::from(participant.0)];
        match action {
            Action::Connect { .. } => Response::Connected(ConnectReport {
                cluster_id: format!("cluster-{}", participant.0),
                transaction_version: 2,
                timeout_ceiling_ms: None,
            }),
            Action::OpenSlot {
                slot,
                transactional_id,
                ..
            } => {
                let producer = cluster.init(&transactional_id);
                cluster.slots.insert(slot, transactional_id);
                let condition = SlotCondition::Clean;
                Response::SlotOpened {
                    producer,
                    condition,
                }
            }
            Action::VerifySlot { .. } => Response::SlotVerified(SlotCondition::Clean),
            Action::CloseSlot { .. } => Response::SlotClosed,
            Action::Prepare {
                transactional_id, ..
            } => Response::Prepared(PrepareReport {
                writes: WriteReport {
                    sent: 1,
                    delivered: 1,
                    ..WriteReport::default()
                },
                writer: None,
                inquiry: Some(cluster.describe(&transactional_id)),
                strayed: None,
            }),
            Action::EndByWriter { slot, decision, .. } => {
                let name = cluster.slots[&slot].clone();
                ended(cluster.end(&name, decision))
            }
            Action::EndTransaction {
                branch, decision, ..
            } => ended(cluster.end(&branch.transactional_id, decision)),
            Action::Inquire {
                transactional_id, ..
            } => Response::Inquired(cluster.describe(&transactional_id)),
            Action::Fence {
                transactional_id, ..
            } => {
                cluster.init(&transactional_id);
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List { .. } => Response::Listed(cluster.list()),
            other => panic!("{other:?} is not for a cluster"),
        }
    }

    /// The disk is sound again: everything must end.
    fn heal(&mut self) -> Holds {
        self.die();
        self.machine.heal();
        for _ in 0..3000 {
            if self.coordinator.is_none() {
                self.start()?;
            }
            self.check_stopped()?;
            let idle = self.log.is_empty() && self.outstanding.is_empty();
            if idle && self.recovered && self.open().is_none() {
                return Ok(());
            }
            self.write_log();
            self.act();
            if idle {
                self.wait();
            }
        }
        let open = self.open();
        holds("everything ends", false, || format!("{open:?} is open"))
    }

    fn open(&self) -> Option<TransactionId> {
        let mut fates = self.clusters.iter().flat_map(|cluster| &cluster.fates);
        fates
            .find(|(_, fate)| **fate == BrokerState::Ongoing)
            .map(|(id, _)| *id)
    }

    fn judge(&self) -> Holds<(usize, usize)> {
        let mut committed = 0;
        for transaction in &self.begun {
            let fates = self
                .clusters
                .iter()
                .filter_map(|c| c.fates.get(transaction));
            let fates: BTreeSet<bool> = fates
                .map(|fate| *fate == BrokerState::CompleteCommit)
                .collect();
            holds("agreement", fates.len() <= 1, || transaction.to_string())?;
            let commits = fates.contains(&true);
            committed += usize::from(commits);
            let told = self.told.get(transaction);
            let right = match told {
                Some(Outcome::Committed) => commits,
                Some(Outcome::Aborted(_)) => !commits,
                Some(Outcome::InDoubt(_)) | None => true,
                Some(_) => false,
            };
            holds("what was told is what happened", right, || {
                format!("{transaction}: {told:?}")
            })?;
        }
        Ok((committed, self.starts))
    }
}

fn ended(accepted: bool) -> Response {
    Response::Ended(match accepted {
        true => EndAnswer::Acknowledged,
        false => EndAnswer::Code(48),
    })
}

#[test]
fn the_real_core_on_the_shipped_log_agrees_whatever_the_disk_does() {
    let count = how_many(300);
    let (mut committed, mut starts) = (0, 0);
    for seed in 0..count {
        match run(seed, None) {
            Ok((more, started)) => {
                committed += more;
                starts += started;
            }
            Err(violation) => panic!("seed {seed} violates {violation}"),
        }
    }
    println!("{count} histories: {committed} committed in {starts} starts");
    assert!(committed as u64 > count && starts as u64 > 2 * count);
}

/// A log that forgets makes the clusters disagree, or tells what did not happen.
#[test]
fn rules_of_the_log_that_are_left_out_are_noticed_in_what_the_core_does() {
    for rule in [
        Broken::Sync,
        Broken::SyncDirectory,
        Broken::FailedUnknown,
        Broken::RemoveLast,
        Broken::SnapshotEnd,
        Broken::Rewrite,
        Broken::WriteAgain,
    ] {
        let mut all = (0..how_many(4000)).map(|seed| (seed, run(seed, Some(rule))));
        let found = all.find_map(|(seed, result)| Some((seed, result.err()?)));
        let (seed, violation) = found.unwrap_or_else(|| panic!("{rule:?} is not noticed"));
        println!("{:<16}{:>6} {violation}", format!("{rule:?}"), seed + 1);
    }
}
