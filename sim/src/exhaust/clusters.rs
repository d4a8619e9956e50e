//! What reaches the clusters: the driver's actions, the application's writes, messages from the network.

use gtc_core::{
    Action, ActionId, BranchIdentity, BrokerState, ConnectReport, Decision, EndAnswer, Inquiry,
    Listing, Response, SlotCondition, SlotName,
};

use super::engine::{Engine, Input};
use super::judge;
use super::state::{Message, Scene};
use super::world::Writers;
use super::writers::{end_call, opened};
use crate::model::broker::{Broker, Call, Fate, Reply, control_version};
use crate::violation::Violation;

/// Past the time-out of every transaction of these worlds.
const PAST_EVERY_TIMEOUT_US: u64 = 1_000_000_000;

/// What the network does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    Arrives,
    /// It never arrives.
    Lost,
    /// It arrives, and its answer does not.
    AnswerLost,
    /// It is not answered, and arrives later or never.
    Late,
    /// It arrives and is answered; a repeat of it arrives later or never.
    Repeated,
}

impl Engine {
    /// The broker of a cluster.
    pub fn broker(&self, scene: &Scene, p: usize) -> &Broker {
        self.parts.brokers.value(scene.clusters[p])
    }

    /// All brokers.
    pub fn brokers<'a>(&'a self, scene: &Scene) -> Vec<&'a Broker> {
        let numbers = scene.clusters.iter();
        numbers
            .map(|number| &**self.parts.brokers.value(*number))
            .collect()
    }

    /// A call arrives at its cluster.
    pub fn execute(&mut self, scene: &mut Scene, message: u32) -> Result<Reply, Violation> {
        let Message { to, call } = Message::clone(self.parts.messages.value(message));
        let before = scene.clusters[to];
        let (after, reply) = self.call(before, message, &call);
        scene.clusters[to] = after;
        let id = call.id();
        let open = self.parts.brokers.value(before).open_tag(id);
        let still = self.parts.brokers.value(after).open_tag(id);
        if let Some(tag) = open
            && still != Some(tag)
            && !self.parts.brokers.value(after).is_empty_repeat(tag)
        {
            judge::ended_by_call(&call, tag, scene)?;
        }
        Ok(reply)
    }

    /// What a call does to a broker, and its answer.
    pub fn call(&mut self, broker: u32, message: u32, call: &Call) -> (u32, Reply) {
        if let Some(done) = self.called.get(&(broker, message)) {
            return *done;
        }
        let to = self.parts.messages.value(message).to;
        let mut after = Broker::clone(self.parts.brokers.value(broker));
        let reply = match after.producer(call.id()) {
            // Nobody asks for the epoch of such a name, which would tell apart how often it was initialised.
            Some(producer) if self.is_unwritten(to, call.id()) => Reply::Done(producer),
            _ => after.call(&as_it_arrives(call, &after), 0),
        };
        if !self.world.slow_markers {
            after.tick(0);
        }
        let done = (self.parts.brokers.number(after.into()), reply);
        self.called.insert((broker, message), done);
        done
    }

    /// The markers of a cluster are written; the same number where there were none to write.
    pub fn tick(&mut self, broker: u32) -> u32 {
        if let Some(after) = self.ticked.get(&broker) {
            return *after;
        }
        let mut after = Broker::clone(self.parts.brokers.value(broker));
        after.tick(0);
        let after = self.parts.brokers.number(after.into());
        self.ticked.insert(broker, after);
        after
    }

    /// What is open at a cluster passes its time-out.
    pub fn expire(&mut self, scene: &mut Scene, p: usize) {
        let mut after = Broker::clone(self.broker(scene, p));
        after.tick(PAST_EVERY_TIMEOUT_US);
        scene.clusters[p] = self.parts.brokers.number(after.into());
    }
    /// Sends a call; `None` is no answer.
    pub fn send(
        &mut self,
        scene: &mut Scene,
        (to, call): (usize, Call),
        passage: Passage,
    ) -> Result<Option<Reply>, Violation> {
        let message = self.message(to, call);
        Ok(match passage {
            Passage::Arrives => Some(self.execute(scene, message)?),
            Passage::Lost => None,
            Passage::AnswerLost => {
                self.execute(scene, message)?;
                None
            }
            Passage::Late => {
                self.post(scene, message);
                None
            }
            Passage::Repeated => {
                let reply = self.execute(scene, message)?;
                self.post(scene, message);
                Some(reply)
            }
        })
    }

    /// Runs an action of a process, and hands its answer to the core, now or later.
    pub fn run(
        &mut self,
        scene: &mut Scene,
        (who, id): (usize, ActionId),
        passage: Passage,
    ) -> Result<(), Violation> {
        let local = scene.actors[who].local.change();
        let Some(action) = local.outstanding.remove(&id) else {
            return Ok(());
        };
        let slow = self.world.slow_answers && !is_private(&action);
        let listing = matches!(action, Action::List { .. });
        let settled = listing && self.is_settled_for(scene, who, &action);
        let later = slow || (listing && !settled);
        let Some(response) = self.perform(scene, who, &action, passage)? else {
            // Its client repeats it until the markers of what was ended before are written.
            scene.actors[who]
                .local
                .change()
                .outstanding
                .insert(id, action);
            return Ok(());
        };
        if later {
            scene.actors[who]
                .local
                .change()
                .answers
                .insert(id, response);
            return Ok(());
        }
        self.feed(scene, who, Input::Answer(id, response))
            .map(|_| ())
    }

    fn perform(
        &mut self,
        scene: &mut Scene,
        who: usize,
        action: &Action,
        passage: Passage,
    ) -> Result<Option<Response>, Violation> {
        Ok(Some(match action {
            Action::Connect { participant } => self.connect(scene, index(*participant), passage),
            Action::OpenSlot {
                participant, slot, ..
            } => {
                let call = self.call_of(scene, who, action);
                let reply = self.send(scene, call, passage)?;
                let key = (index(*participant), *slot);
                opened(scene, (who, key), (action, reply, passage))
            }
            Action::VerifySlot { participant, slot } => {
                let key = (index(*participant), *slot);
                let instance = scene.actors[who].local.instances.get(&key);
                let clean = instance.is_some_and(|instance| !instance.suspicious);
                Response::SlotVerified(condition(clean && passage == Passage::Arrives))
            }
            Action::CloseSlot { participant, slot } => {
                let key = (index(*participant), *slot);
                scene.actors[who].local.change().instances.remove(&key);
                Response::SlotClosed
            }
            Action::Prepare {
                transaction,
                participant,
                writer,
                transactional_id,
            } => {
                let at = (*transaction, index(*participant));
                self.prepare(scene, (who, at), (writer, transactional_id), passage)
            }
            Action::EndByWriter {
                participant, slot, ..
            } => {
                let key = (index(*participant), *slot);
                match self.end_by_writer(scene, (who, key), action, passage)? {
                    EndAnswer::Code(51) => return Ok(None),
                    answer => Response::Ended(answer),
                }
            }
            Action::EndTransaction { .. } | Action::Fence { .. } => {
                let call = self.call_of(scene, who, action);
                Response::Ended(answer(self.send(scene, call, passage)?))
            }
            Action::Inquire {
                participant,
                transactional_id,
            } => Response::Inquired(self.inquire(
                scene,
                index(*participant),
                transactional_id,
                passage,
            )),
            Action::List {
                participant,
                prefix,
            } => Response::Listed(self.list(scene, index(*participant), prefix, passage)),
            other => unreachable!("model: {other:?} is not for a cluster"),
        }))
    }

    fn connect(&self, scene: &Scene, p: usize, passage: Passage) -> Response {
        if passage != Passage::Arrives {
            return Response::ConnectFailed("unreachable".into());
        }
        let broker = self.broker(scene, p);
        Response::Connected(ConnectReport {
            cluster_id: format!("cluster-{p}"),
            transaction_version: broker.transaction_version,
            timeout_ceiling_ms: Some(i64::from(broker.ceiling_ms)),
        })
    }

    /// The request that an action sends, as its sender means it.
    pub fn call_of(&self, scene: &Scene, who: usize, action: &Action) -> (usize, Call) {
        match action {
            Action::OpenSlot {
                participant,
                transactional_id,
                timeout_ms,
                ..
            }
            | Action::Fence {
                participant,
                transactional_id,
                timeout_ms,
            } => {
                let call = Call::Init {
                    id: transactional_id.clone(),
                    timeout_ms: *timeout_ms,
                };
                (index(*participant), call)
            }
            Action::EndByWriter {
                transaction,
                participant,
                slot,
                decision,
            } => {
                let p = index(*participant);
                let instance = scene.actors[who].local.instances.get(&(p, *slot));
                let call = end_call(instance, (*transaction, p), *decision);
                (p, call)
            }
            Action::EndTransaction {
                participant,
                branch,
                decision,
            } => {
                let p = index(*participant);
                (p, self.end_by_control(scene, p, branch, *decision))
            }
            other => unreachable!("model: {other:?} changes no cluster"),
        }
    }

    fn end_by_control(
        &self,
        scene: &Scene,
        p: usize,
        branch: &BranchIdentity,
        decision: Decision,
    ) -> Call {
        let broker = self.broker(scene, p);
        let id = &branch.transactional_id;
        // Without a start time the sender means what is open there as it sends.
        let intent = match branch.start_time_ms {
            -1 => broker.open_tag(id).cloned(),
            start_ms => broker.started_at(id, start_ms).cloned(),
        };
        Call::End {
            id: id.clone(),
            producer: branch.producer,
            version: control_version(branch.version_class),
            decision,
            intent,
        }
    }

    pub fn inquire(&self, scene: &Scene, p: usize, id: &str, passage: Passage) -> Inquiry {
        match passage {
            Passage::Arrives => self.broker(scene, p).describe(id),
            _ => Inquiry::NoAnswer("unreachable".into()),
        }
    }

    fn list(&self, scene: &Scene, p: usize, prefix: &str, passage: Passage) -> Listing {
        if passage != Passage::Arrives {
            return Listing::default();
        }
        let mut transactions = self.broker(scene, p).list(prefix);
        for listed in &mut transactions {
            // Of an ended one only the name counts, and of an open one only that it is open.
            listed.producer_id = 0;
            listed.state = match listed.state {
                state if state.is_open() => BrokerState::Ongoing,
                _ => BrokerState::Empty,
            };
        }
        Listing {
            transactions,
            complete: true,
            detail: None,
        }
    }
}

/// Who sends a request, and so what can become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// It never leaves the process.
    Local,
    /// It changes nothing.
    Question,
    /// One attempt by the control client.
    OfControl,
    /// A producer's: its client may repeat it unseen.
    OfProducer,
}

impl Sender {
    pub fn of(action: &Action) -> Self {
        match action {
            Action::CloseSlot { .. } => Self::Local,
            Action::EndByWriter { .. } | Action::OpenSlot { .. } => Self::OfProducer,
            Action::EndTransaction { .. } | Action::Fence { .. } => Self::OfControl,
            _ => Self::Question,
        }
    }

    pub fn changes(self) -> bool {
        matches!(self, Self::OfControl | Self::OfProducer)
    }
}

/// What only its own process sees of it: neither clusters nor the log.
pub const fn is_private(action: &Action) -> bool {
    matches!(
        action,
        Action::Connect { .. } | Action::VerifySlot { .. } | Action::CloseSlot { .. }
    )
}

/// No branch is ever written under the name of a probe.
fn is_probe(transactional_id: &str) -> bool {
    transactional_id.ends_with(".0")
}

impl Engine {
    /// No branch is ever written under this name: it is a probe's, or a coordinator's where only the application's
    /// own producers write.
    pub fn is_unwritten(&self, p: usize, transactional_id: &str) -> bool {
        let own = matches!(self.world.participants[p], Writers::Own(_));
        let named = SlotName::parse("w", transactional_id).is_some();
        is_probe(transactional_id) || (own && named)
    }
}

/// A request that opens a branch which is over opens something else.
fn as_it_arrives(call: &Call, broker: &Broker) -> Call {
    let mut call = call.clone();
    if let Call::Add { tag, .. } = &mut call {
        let fate = broker.fates.get(tag);
        tag.stray = fate.is_some_and(|fate| *fate != Fate::Open);
    }
    call
}

fn index(p: gtc_core::ParticipantId) -> usize {
    usize::from(p.0)
}

pub fn condition(clean: bool) -> SlotCondition {
    if clean {
        SlotCondition::Clean
    } else {
        SlotCondition::Unproven("some request of it was not answered".into())
    }
}

pub fn answer(reply: Option<Reply>) -> EndAnswer {
    match reply {
        Some(Reply::Done(_)) => EndAnswer::Acknowledged,
        Some(Reply::Code(code)) => EndAnswer::Code(code),
        None => EndAnswer::NoAnswer("no answer".into()),
    }
}
