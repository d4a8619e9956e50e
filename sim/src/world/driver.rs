//! A model of the driver: it runs actions against the model clusters, in any order, over a bad network.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Action, ActionId, BranchIdentity, ConnectReport, Decision, EndAnswer, Inquiry, Listing,
    ParticipantId, PrepareReport, ProducerIdentity, Response, SlotCondition, SlotFailure, SlotId,
    TransactionId, VersionClass, WriteReport, Writer,
};

use super::World;
use crate::model::broker::{Call, Reply, Tag, control_version, writer_version};

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

/// What the network does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It never arrives.
    Lost,
    /// It arrives, the answer does not.
    AnswerLost,
    /// It arrives some time later.
    Delayed,
    /// It arrives, is answered, and a repeat of it arrives some time later.
    Repeated,
}

impl World {
    /// The network's mood for the next request.
    pub fn fault(&mut self) -> Fault {
        if !self.faults {
            return Fault::None;
        }
        match self.source.pick(12 * self.calm) {
            1 => Fault::Lost,
            2 => Fault::AnswerLost,
            3 => Fault::Delayed,
            4 => Fault::Repeated,
            _ => Fault::None,
        }
    }

    /// Executes a call at its cluster now.
    pub fn execute(&mut self, p: usize, call: &Call) -> Reply {
        let id = call.id().clone();
        let open = self.brokers[p].open_tag(&id).cloned();
        let reply = self.brokers[p].call(call, self.now.monotonic.as_micros());
        self.note(|| format!("cluster {p}: {call:?} -> {reply:?}"));
        let after = self.brokers[p].open_tag(&id);
        let ended = open.filter(|tag| Some(tag) != after);
        if let Some(tag) = ended.filter(|tag| !self.brokers[p].is_empty_repeat(tag)) {
            self.oracle.ended_by_call(call, &tag, &self.log);
        }
        reply
    }

    /// Sends a call; `None` is no answer.
    pub fn send(&mut self, p: usize, call: Call, fault: Fault) -> Option<Reply> {
        if !self.brokers[p].up {
            return None;
        }
        match fault {
            Fault::None => Some(self.execute(p, &call)),
            Fault::Lost => None,
            Fault::AnswerLost => {
                self.execute(p, &call);
                None
            }
            Fault::Delayed => {
                self.late.push((p, call));
                None
            }
            Fault::Repeated => {
                let reply = self.execute(p, &call);
                self.late.push((p, call));
                Some(reply)
            }
        }
    }

    /// Runs the action at this place of the outstanding ones.
    pub fn run_action(&mut self, index: usize) {
        let (id, action) = self.driver.outstanding.remove(index);
        let fault = self.fault();
        self.note(|| format!("run {action:?} with {fault:?}"));
        let response = self.perform(action, fault);
        self.driver.responses.push((id, response));
    }

    fn perform(&mut self, action: Action, fault: Fault) -> Response {
        match action {
            Action::Connect { participant } => self.connect(index(participant), fault),
            Action::OpenSlot {
                participant,
                slot,
                transactional_id,
                timeout_ms,
            } => self.open(
                (index(participant), slot),
                transactional_id,
                timeout_ms,
                fault,
            ),
            Action::VerifySlot { participant, slot } => {
                let instance = self.driver.instances.get(&(index(participant), slot));
                let clean = instance.is_some_and(|instance| !instance.suspicious);
                Response::SlotVerified(condition(clean && fault != Fault::Lost))
            }
            Action::CloseSlot { participant, slot } => {
                self.driver.instances.remove(&(index(participant), slot));
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
                fault,
            ),
            Action::EndByWriter {
                transaction,
                participant,
                slot,
                decision,
            } => {
                let key = (index(participant), slot);
                Response::Ended(self.end_by_writer(key, transaction, decision, fault))
            }
            Action::EndTransaction {
                participant,
                branch,
                decision,
            } => Response::Ended(self.end_by_control(index(participant), &branch, decision, fault)),
            Action::Inquire {
                participant,
                transactional_id,
            } => Response::Inquired(self.inquire(index(participant), &transactional_id, fault)),
            Action::Fence {
                participant,
                transactional_id,
                timeout_ms,
            } => {
                let call = Call::Init {
                    id: transactional_id,
                    timeout_ms,
                };
                Response::Ended(answer(self.send(index(participant), call, fault)))
            }
            Action::List {
                participant,
                prefix,
            } => Response::Listed(self.list(index(participant), &prefix, fault)),
            other => panic!("model: {other:?} is not for a cluster"),
        }
    }

    fn connect(&mut self, p: usize, fault: Fault) -> Response {
        let broker = &self.brokers[p];
        if !broker.up || matches!(fault, Fault::Lost | Fault::AnswerLost) {
            return Response::ConnectFailed("unreachable".into());
        }
        Response::Connected(ConnectReport {
            cluster_id: format!("cluster-{p}"),
            transaction_version: broker.transaction_version,
            timeout_ceiling_ms: Some(i64::from(broker.ceiling_ms)),
        })
    }

    fn open(
        &mut self,
        key: (usize, SlotId),
        id: Arc<str>,
        timeout_ms: i32,
        fault: Fault,
    ) -> Response {
        let call = Call::Init {
            id: id.clone(),
            timeout_ms,
        };
        let reply = self.send(key.0, call, fault);
        let Some(Reply::Done(producer)) = reply else {
            return Response::SlotFailed(SlotFailure {
                timeout_above_ceiling: reply == Some(Reply::Code(50)),
                detail: format!("{reply:?}"),
            });
        };
        let instance = Instance {
            name: id,
            producer,
            suspicious: fault != Fault::None,
            lease: None,
        };
        let clean = !instance.suspicious;
        self.driver.instances.insert(key, instance);
        Response::SlotOpened {
            producer,
            condition: condition(clean),
        }
    }

    fn prepare(
        &mut self,
        (transaction, p): (TransactionId, usize),
        writer: &Writer,
        id: &str,
        fault: Fault,
    ) -> Response {
        let (report, producer) = match writer {
            Writer::Slot(slot) => {
                let instance = self.driver.instances.get(&(p, *slot));
                let instance = instance.expect("a leased slot has an instance");
                let lease = instance.lease.as_ref().expect("it is leased");
                assert_eq!(
                    lease.transaction, transaction,
                    "leased to another transaction"
                );
                (lease.report.clone(), Some(instance.producer))
            }
            Writer::Own(name) => (self.app.own_report(p, name), None),
        };
        let written = report.sent > 0 || report.failed > 0 || producer.is_none();
        let inquiry = written.then(|| self.inquire(p, id, fault));
        Response::Prepared(PrepareReport {
            writes: report,
            writer: producer,
            inquiry,
        })
    }

    fn end_by_writer(
        &mut self,
        key: (usize, SlotId),
        transaction: TransactionId,
        decision: Decision,
        fault: Fault,
    ) -> EndAnswer {
        // Only a slot that an operator gave up is closed with a call outstanding.
        let Some(instance) = self.driver.instances.get_mut(&key) else {
            return EndAnswer::NotSent("it is closed".into());
        };
        let lease = instance.lease.take().expect("it is leased");
        assert_eq!(
            lease.transaction, transaction,
            "leased to another transaction"
        );
        if lease.report.sent == 0 && !instance.suspicious {
            return EndAnswer::Acknowledged;
        }
        let tag = Tag {
            transaction,
            participant: key.0,
            name: instance.name.clone(),
            stray: false,
        };
        let call = Call::End {
            id: instance.name.clone(),
            producer: instance.producer,
            version: writer_version(VersionClass::V1),
            decision,
            intent: Some(tag),
        };
        instance.suspicious |= fault != Fault::None || !self.brokers[key.0].up;
        let reply = self.send(key.0, call, fault);
        if reply == Some(Reply::Code(51)) {
            return EndAnswer::NoAnswer("it goes on repeating".into());
        }
        answer(reply)
    }

    fn end_by_control(
        &mut self,
        p: usize,
        branch: &BranchIdentity,
        decision: Decision,
        fault: Fault,
    ) -> EndAnswer {
        // The control client sends one attempt, and nothing repeats it unseen.
        let fault = match fault {
            Fault::Repeated => Fault::None,
            other => other,
        };
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
        answer(self.send(p, call, fault))
    }

    fn inquire(&mut self, p: usize, id: &str, fault: Fault) -> Inquiry {
        if !self.brokers[p].up || matches!(fault, Fault::Lost | Fault::AnswerLost) {
            return Inquiry::NoAnswer("unreachable".into());
        }
        self.brokers[p].describe(id)
    }

    fn list(&mut self, p: usize, prefix: &str, fault: Fault) -> Listing {
        if !self.brokers[p].up || fault == Fault::Lost {
            return Listing::default();
        }
        let mut transactions = self.brokers[p].list(prefix);
        if fault == Fault::AnswerLost {
            let kept = self.source.pick(transactions.len() + 1);
            transactions.truncate(kept);
        }
        Listing {
            transactions,
            complete: fault != Fault::AnswerLost,
            detail: None,
        }
    }

    /// The process dies: what it had sent, or was about to, arrives now, later or never.
    pub fn lose_driver(&mut self) {
        let driver = std::mem::take(&mut self.driver);
        for (id, action) in driver.outstanding {
            let sends = matches!(
                action,
                Action::EndByWriter { .. }
                    | Action::EndTransaction { .. }
                    | Action::Fence { .. }
                    | Action::OpenSlot { .. }
            );
            let fault = match self.source.pick(3) {
                1 => Fault::AnswerLost,
                2 => Fault::Delayed,
                _ => continue,
            };
            if sends {
                self.driver.instances = driver_instances(&driver.instances, &action);
                self.note(|| format!("{id:?} was on its way: {action:?} with {fault:?}"));
                self.perform(action, fault);
            }
        }
        self.driver = Driver::default();
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
