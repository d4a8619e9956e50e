//! The network between processes and clusters: requests are lost, repeated, delayed, and arrive from the dead.

use gtc_core::{ProducerIdentity, VersionClass};

use super::World;
use super::stranger::is_strange;
use crate::invariants::{exactly_once, fence_stops, identity, log_identity, one_class};
use crate::model::broker::{Call, Reply, Tag};
use crate::swarm::Fault;
use crate::violation::demand;

/// What the network does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It arrives and is answered.
    Good,
    /// It never arrives.
    Lost,
    /// It arrives, the answer does not.
    AnswerLost,
    /// It arrives some time later.
    Delayed,
    /// It arrives, is answered, and a repeat of it arrives some time later.
    Repeated,
}

/// How a cluster can be reached for one transactional.id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its broker transaction coordinator answers.
    Good,
    /// Nobody answers.
    Down,
    /// The broker that answers is no longer the coordinator, and no other is yet.
    Moving,
}

/// What lies between gtc and one cluster.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Groups of transactional ids without a coordinator.
    pub down: u8,
    /// Groups of transactional ids whose coordinator moves.
    pub moving: u8,
    /// Another cluster answers at this address.
    pub impostor: bool,
    /// Transactional ids of slots may not be described: a listing is empty, and calls itself complete.
    pub blind: bool,
    /// The cluster's clock was set.
    pub clock_set: bool,
}

/// Groups of transactional ids, as partitions of the transaction log.
const GROUPS: u32 = 3;

fn group(id: &str) -> u8 {
    let sum: u32 = id.bytes().map(u32::from).sum();
    1 << (sum % GROUPS)
}

impl World {
    /// The network's mood for the next request.
    pub fn passage(&mut self) -> Passage {
        let choice = self.source.pick(14 * self.swarm.calm);
        let (fault, passage) = match choice {
            1 | 5 => (Fault::Lost, Passage::Lost),
            2 | 6 => (Fault::AnswerLost, Passage::AnswerLost),
            3 | 7 => (Fault::Delayed, Passage::Delayed),
            4 | 8 => (Fault::Repeated, Passage::Repeated),
            _ => return Passage::Good,
        };
        if self.faults && self.swarm.has(fault) {
            passage
        } else {
            Passage::Good
        }
    }

    /// How a cluster can be reached for this transactional.id.
    pub fn reach(&self, p: usize, id: &str) -> Reach {
        let link = &self.links[p];
        if !self.brokers[p].up || link.down & group(id) != 0 {
            Reach::Down
        } else if link.moving & group(id) != 0 {
            Reach::Moving
        } else {
            Reach::Good
        }
    }

    /// The whole cluster answers.
    pub fn is_whole(&self, p: usize) -> bool {
        let link = &self.links[p];
        self.brokers[p].up && link.down == 0 && link.moving == 0 && !link.impostor
    }

    /// Executes a request of gtc or of a producer at its cluster now.
    pub fn execute(&mut self, p: usize, call: &Call) -> Reply {
        demand(identity::check(self.links[p].impostor, call));
        let (reply, ended) = self.carry_out(p, call);
        if let Some(tag) = ended {
            let of_stranger = is_strange(tag.transaction);
            let ends = matches!(call, Call::End { .. });
            demand(fence_stops::ends(of_stranger && ends, &tag));
            if !of_stranger {
                self.oracle.ended_by_call(call, &tag, &self.logs);
            }
        }
        reply
    }

    /// Executes a request of an application itself, which answers for it.
    pub fn execute_by_app(&mut self, p: usize, call: &Call) -> Reply {
        let (reply, ended) = self.carry_out(p, call);
        if let Some(tag) = ended.filter(|tag| !tag.stray) {
            let account = self.oracle.account(tag.transaction);
            account.rash = true;
            account.rash_v1 |= matches!(call, Call::End { version, .. } if *version < 5);
            account.rash_own.insert((p, tag.name));
        }
        reply
    }

    fn carry_out(&mut self, p: usize, call: &Call) -> (Reply, Option<Tag>) {
        let id = call.id().clone();
        let open = self.brokers[p].open_tag(&id).cloned();
        let reply = self.brokers[p].call(call, self.now.monotonic.as_micros());
        self.tell(|| {
            format!(
                "cluster p{p} gets {} and answers {}",
                said(call),
                answered(reply)
            )
        });
        if let (Call::Write { tag, .. } | Call::Offsets { tag, .. }, Reply::Done(_)) = (call, reply)
            && let Some(open) = self.brokers[p].open_tag(&id)
        {
            demand(exactly_once::own_transaction(tag, open));
        }
        let after = self.brokers[p].open_tag(&id);
        let ended = open.filter(|tag| Some(tag) != after);
        let ended = ended.filter(|tag| !self.brokers[p].is_empty_repeat(tag));
        (reply, ended)
    }

    /// Sends a request; `None` is no answer.
    pub fn send(&mut self, p: usize, call: Call, passage: Passage) -> Option<Reply> {
        let config = &self.process.config;
        let own = log_identity::own_names_only(&config.coordinator, config.log_id, call.id());
        demand(own);
        if call.id().starts_with("gtc.") {
            demand(one_class::check(VersionClass::V1, &call));
        } else if matches!(call, Call::Init { .. }) {
            demand(log_identity::slots_only(true, call.id()));
        } else if let Some(own) = self.process.app.own(p, call.id()) {
            demand(one_class::check(own.class, &call));
        }
        match self.reach(p, call.id()) {
            Reach::Good => {}
            Reach::Down => return None,
            Reach::Moving => return Some(Reply::Code(crate::model::call::code::NOT_COORDINATOR)),
        }
        match passage {
            Passage::Good => Some(self.execute(p, &call)),
            Passage::Lost => None,
            Passage::AnswerLost => {
                self.execute(p, &call);
                None
            }
            Passage::Delayed => {
                self.tell(|| format!("{} to p{p} is delayed", said(&call)));
                self.late.push((p, call));
                None
            }
            Passage::Repeated => {
                let reply = self.execute(p, &call);
                self.late.push((p, call));
                Some(reply)
            }
        }
    }

    /// A request that was sent some time ago arrives.
    pub fn deliver_late(&mut self) {
        let index = self.source.pick(self.late.len());
        let arrives = |(p, call): &(usize, Call)| self.reach(*p, call.id()) == Reach::Good;
        if self.late.get(index).is_some_and(arrives) {
            self.arrive(index);
        }
    }

    /// The late request at this place arrives now.
    pub fn arrive(&mut self, index: usize) {
        let (p, call) = self.late.remove(index);
        if self.links[p].impostor {
            return;
        }
        self.tell(|| "a late request arrives:".into());
        self.execute(p, &call);
        if let Call::Write { tag, number, .. } = &call {
            self.arrived_late(p, tag, *number);
        }
    }

    /// A late request meets what was just opened.
    pub fn meet_late(&mut self) {
        let meets = |(p, call): &(usize, Call)| {
            let open = self.brokers[*p].open_tag(call.id());
            self.reach(*p, call.id()) == Reach::Good
                && open.is_some_and(|tag| call.intent() != Some(tag))
        };
        let met = self.late.iter().position(meets);
        if let Some(index) = met.filter(|_| self.source.once_in(3)) {
            self.arrive(index);
        }
    }
}

fn producer(producer: ProducerIdentity) -> String {
    format!("{}/{}", producer.producer_id, producer.epoch)
}

/// A request in words.
pub fn said(call: &Call) -> String {
    match call {
        Call::Init { id, .. } => format!("InitProducerId of {id}"),
        Call::End {
            id,
            producer: of,
            version,
            decision,
            intent,
        } => {
            let meant = intent.as_ref().map(|tag| tag.transaction.to_string());
            let meant = meant.unwrap_or_else(|| "nothing".into());
            let of = producer(*of);
            format!("EndTxn(v{version}, {decision:?}) of {id} {of}, meant for {meant}")
        }
        Call::Add { id, tag, .. } => {
            format!("AddPartitionsToTxn of {id} for {}", tag.transaction)
        }
        Call::Write {
            id, tag, number, ..
        } => format!("record {number} of {} through {id}", tag.transaction),
        Call::Offsets {
            id, tag, offset, ..
        } => format!("offset {offset} of {} through {id}", tag.transaction),
    }
}

fn answered(reply: Reply) -> String {
    match reply {
        Reply::Done(of) => format!("yes ({})", producer(of)),
        Reply::Code(code) => format!("error {code}"),
    }
}
