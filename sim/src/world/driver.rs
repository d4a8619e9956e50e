//! A model of the driver: it runs actions against the model clusters, in any order, over a bad network.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Action, ActionId, BranchIdentity, ConnectReport, Decision, EndAnswer, Inquiry, Listing,
    ParticipantId, PrepareReport, ProducerIdentity, Response, SlotCondition, SlotFailure, SlotId,
    TransactionId, VersionClass, WriteReport, Writer,
};

use super::World;
use super::network::{Passage, Reach};
use crate::invariants::{identity, one_lease, recovery};
use crate::model::broker::{Call, Reply, Tag, code, control_version, writer_version};
use crate::swarm::Fault;
use crate::violation::demand;

/// A managed producer.
pub struct Instance {
    pub name: Arc<str>,
    pub producer: ProducerIdentity,
    /// Some request of it was not answered, or answered late: its own witness says so (R3).
    pub suspicious: bool,
    pub lease: Option<Lease>,
}

/// What an instance did for a transaction.
pub struct Lease {
    pub transaction: TransactionId,
    pub report: WriteReport,
}

/// The driver's state; all of it dies with the process.
#[derive(Default)]
pub struct Driver {
    pub outstanding: Vec<(ActionId, Action)>,
    pub responses: Vec<(ActionId, Response)>,
    pub instances: BTreeMap<(usize, SlotId), Instance>,
}

impl World {
    /// Runs the action at this place of the outstanding ones.
    pub fn run_action(&mut self, index: usize) {
        let (id, action) = self.process.driver.outstanding.remove(index);
        let passage = self.passage();
        self.note(|| format!("run {action:?} with {passage:?}"));
        let response = self.perform(action, passage);
        self.process.driver.responses.push((id, response));
    }

    fn perform(&mut self, action: Action, passage: Passage) -> Response {
        match action {
            Action::Connect { participant } => self.connect(index(participant), passage),
            Action::OpenSlot {
                participant,
                slot,
                transactional_id,
                timeout_ms,
            } => self.open(
                (index(participant), slot),
                transactional_id,
                timeout_ms,
                passage,
            ),
            Action::VerifySlot { participant, slot } => {
                let instance = self
                    .process
                    .driver
                    .instances
                    .get(&(index(participant), slot));
                let clean = instance.is_some_and(|instance| !instance.suspicious);
                Response::SlotVerified(condition(clean && passage != Passage::Lost))
            }
            Action::CloseSlot { participant, slot } => {
                self.process
                    .driver
                    .instances
                    .remove(&(index(participant), slot));
                Response::SlotClosed
            }
            Action::Prepare {
                transaction,
                participant,
                writer,
                transactional_id,
            } => self.prepare(
                (transaction, index(participant)),
                &writer,
                &transactional_id,
                passage,
            ),
            Action::EndByWriter {
                transaction,
                participant,
                slot,
                decision,
            } => {
                let key = (index(participant), slot);
                Response::Ended(self.end_by_writer(key, transaction, decision, passage))
            }
            Action::EndTransaction {
                participant,
                branch,
                decision,
            } => {
                Response::Ended(self.end_by_control(index(participant), &branch, decision, passage))
            }
            Action::Inquire {
                participant,
                transactional_id,
            } => Response::Inquired(self.inquire(index(participant), &transactional_id, passage)),
            Action::Fence {
                participant,
                transactional_id,
                timeout_ms,
            } => {
                let call = Call::Init {
                    id: transactional_id,
                    timeout_ms,
                };
                let reply = self.send(index(participant), call, passage);
                let refused = reply == Some(Reply::Code(code::INVALID_TRANSACTION_TIMEOUT));
                demand(recovery::fenced(refused));
                Response::Ended(answer(reply))
            }
            Action::List {
                participant,
                prefix,
            } => Response::Listed(self.list(index(participant), &prefix, passage)),
            other => panic!("model: {other:?} is not for a cluster"),
        }
    }

    fn connect(&mut self, p: usize, passage: Passage) -> Response {
        let broker = &self.brokers[p];
        if !broker.up || matches!(passage, Passage::Lost | Passage::AnswerLost) {
            return Response::ConnectFailed("unreachable".into());
        }
        let cluster_id = if self.links[p].impostor {
            "another-cluster".into()
        } else {
            format!("cluster-{p}")
        };
        Response::Connected(ConnectReport {
            cluster_id,
            transaction_version: broker.transaction_version,
            timeout_ceiling_ms: Some(i64::from(broker.ceiling_ms)),
        })
    }

    fn open(
        &mut self,
        key: (usize, SlotId),
        id: Arc<str>,
        timeout_ms: i32,
        passage: Passage,
    ) -> Response {
        let call = Call::Init {
            id: id.clone(),
            timeout_ms,
        };
        let reply = self.send(key.0, call, passage);
        let Some(Reply::Done(producer)) = reply else {
            self.repeat_late(key.0, &id, timeout_ms);
            return Response::SlotFailed(SlotFailure {
                timeout_above_ceiling: reply == Some(Reply::Code(50)),
                detail: format!("{reply:?}"),
            });
        };
        let instance = Instance {
            name: id,
            producer,
            suspicious: passage != Passage::Good,
            lease: None,
        };
        let clean = !instance.suspicious;
        self.process.driver.instances.insert(key, instance);
        Response::SlotOpened {
            producer,
            condition: condition(clean),
        }
    }

    /// The producer that is thrown away had repeated its InitProducerId, unseen (R6).
    fn repeat_late(&mut self, p: usize, id: &Arc<str>, timeout_ms: i32) {
        if self.faults && self.swarm.has(Fault::Repeated) && self.source.once_in(4) {
            let id = id.clone();
            self.late.push((p, Call::Init { id, timeout_ms }));
        }
    }

    fn prepare(
        &mut self,
        (transaction, p): (TransactionId, usize),
        writer: &Writer,
        id: &str,
        passage: Passage,
    ) -> Response {
        let (report, producer) = match writer {
            Writer::Slot(slot) => {
                let instance = self.process.driver.instances.get(&(p, *slot));
                let instance = instance.expect("a leased slot has an instance");
                let lease = instance.lease.as_ref().expect("it is leased");
                demand(one_lease::check(lease.transaction, transaction));
                (lease.report.clone(), Some(instance.producer))
            }
            Writer::Own(name) => (self.process.app.own_report(p, name), None),
        };
        let sent = report.sent + report.failed + report.offsets_sent + report.offsets_failed;
        let written = sent > 0 || producer.is_none();
        let inquiry = written.then(|| self.inquire(p, id, passage));
        if let (Some(Inquiry::Described(_)), Some(tag)) =
            (&inquiry, self.brokers[p].open_tag(id).cloned())
        {
            self.oracle.account(transaction).seen_open.insert(tag);
        }
        Response::Prepared(PrepareReport {
            writes: report,
            writer: producer,
            inquiry,
            strayed: None,
        })
    }

    fn end_by_writer(
        &mut self,
        key: (usize, SlotId),
        transaction: TransactionId,
        decision: Decision,
        passage: Passage,
    ) -> EndAnswer {
        let fails = self.has(Fault::Lost) && self.source.once_in(24);
        // Only a slot that an operator gave up is closed with a call outstanding.
        let Some(instance) = self.process.driver.instances.get_mut(&key) else {
            return EndAnswer::NotSent("it is closed".into());
        };
        let lease = instance.lease.take().expect("it is leased");
        demand(one_lease::check(lease.transaction, transaction));
        if lease.report.sent + lease.report.offsets_sent == 0 && !instance.suspicious {
            return EndAnswer::Acknowledged;
        }
        let tag = Tag {
            transaction,
            participant: key.0,
            name: instance.name.clone(),
            stray: false,
        };
        if fails || passage == Passage::Lost && self.source.once_in(2) {
            // Its client fails the call by itself: nothing of it is under way.
            return EndAnswer::NotSent("its client failed".into());
        }
        let call = Call::End {
            id: instance.name.clone(),
            producer: instance.producer,
            version: writer_version(VersionClass::V1),
            decision,
            intent: Some(tag),
        };
        let reached = self.reach(key.0, call.id()) == Reach::Good;
        if let Some(instance) = self.process.driver.instances.get_mut(&key) {
            instance.suspicious |= passage != Passage::Good || !reached;
        }
        let reply = self.send(key.0, call.clone(), passage);
        let unanswered = matches!(
            reply,
            None | Some(Reply::Code(
                code::CONCURRENT_TRANSACTIONS | code::NOT_COORDINATOR
            ))
        );
        if !unanswered {
            return answer(reply);
        }
        // The producer goes on repeating it, unseen; this is the attempt that arrives last.
        if self.faults && self.swarm.has(Fault::Repeated) && self.source.once_in(2) {
            self.late.push((key.0, call));
        }
        EndAnswer::NoAnswer("it goes on repeating".into())
    }

    fn end_by_control(
        &mut self,
        p: usize,
        branch: &BranchIdentity,
        decision: Decision,
        passage: Passage,
    ) -> EndAnswer {
        let slow = self.has(Fault::Delayed) && self.source.once_in(6);
        // The control client sends one attempt, and nothing repeats it unseen.
        let passage = match passage {
            _ if slow => Passage::Delayed,
            Passage::Repeated => Passage::Good,
            other => other,
        };
        self.restore_below(p, branch);
        let broker = &self.brokers[p];
        let id = &branch.transactional_id;
        // Without a start time the sender means what is open there as it sends.
        let intent = match branch.start_time_ms {
            -1 => broker.open_tag(id).cloned(),
            start_ms => broker.started_at(id, start_ms).cloned(),
        };
        let call = Call::End {
            id: id.clone(),
            producer: branch.producer,
            version: control_version(branch.version_class),
            decision,
            intent,
        };
        answer(self.send(p, call, passage))
    }

    fn inquire(&mut self, p: usize, id: &str, passage: Passage) -> Inquiry {
        let unanswered = matches!(passage, Passage::Lost | Passage::AnswerLost);
        if unanswered || self.reach(p, id) != Reach::Good {
            return Inquiry::NoAnswer("unreachable".into());
        }
        demand(identity::check(self.links[p].impostor, &id));
        if self.links[p].blind && id.starts_with("gtc.") {
            return Inquiry::Refused(code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        }
        self.brokers[p].describe(id)
    }

    fn list(&mut self, p: usize, prefix: &str, passage: Passage) -> Listing {
        if !self.brokers[p].up || passage == Passage::Lost {
            return Listing::default();
        }
        if self.links[p].impostor || self.links[p].blind {
            // Another cluster has none of these ids, and says so; without the right none is shown, without a word.
            return Listing {
                complete: true,
                ..Listing::default()
            };
        }
        let mut transactions = self.brokers[p].list(prefix);
        let answering = |id: &str| self.reach(p, id) == Reach::Good;
        transactions.retain(|listed| answering(&listed.transactional_id));
        if passage == Passage::AnswerLost {
            let kept = self.source.pick(transactions.len() + 1);
            transactions.truncate(kept);
        }
        Listing {
            transactions,
            complete: passage != Passage::AnswerLost && self.is_whole(p),
            detail: None,
        }
    }

    /// The process dies: what it had sent, or was about to, arrives now, later or never.
    pub fn lose_driver(&mut self) {
        let driver = std::mem::take(&mut self.process.driver);
        if !self.faults {
            return;
        }
        for (id, action) in driver.outstanding {
            let sends = matches!(
                action,
                Action::EndByWriter { .. }
                    | Action::EndTransaction { .. }
                    | Action::Fence { .. }
                    | Action::OpenSlot { .. }
            );
            let passage = match self.source.pick(3) {
                1 => Passage::AnswerLost,
                2 if self.swarm.has(Fault::Delayed) => Passage::Delayed,
                _ => continue,
            };
            if sends {
                self.process.driver.instances = driver_instances(&driver.instances, &action);
                self.note(|| format!("{id:?} was on its way: {action:?} with {passage:?}"));
                self.perform(action, passage);
            }
        }
        self.process.driver = Driver::default();
    }
}

/// The instance that an action of a dying driver still speaks through.
fn driver_instances(
    all: &BTreeMap<(usize, SlotId), Instance>,
    action: &Action,
) -> BTreeMap<(usize, SlotId), Instance> {
    let Action::EndByWriter {
        participant, slot, ..
    } = action
    else {
        return BTreeMap::new();
    };
    let key = (index(*participant), *slot);
    let copy = all.get(&key).map(|instance| Instance {
        name: instance.name.clone(),
        producer: instance.producer,
        suspicious: true,
        lease: instance.lease.as_ref().map(|lease| Lease {
            transaction: lease.transaction,
            report: lease.report.clone(),
        }),
    });
    copy.map(|instance| (key, instance)).into_iter().collect()
}

fn index(p: ParticipantId) -> usize {
    usize::from(p.0)
}

fn condition(clean: bool) -> SlotCondition {
    if clean {
        SlotCondition::Clean
    } else {
        SlotCondition::Unproven("the model's network was bad".into())
    }
}

fn answer(reply: Option<Reply>) -> EndAnswer {
    match reply {
        Some(Reply::Done(_)) => EndAnswer::Acknowledged,
        Some(Reply::Code(code)) => EndAnswer::Code(code),
        None => EndAnswer::NoAnswer("no answer".into()),
    }
}
