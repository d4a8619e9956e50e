//! A stranger: somebody who initialises the transactional.id of a slot, and may write under it.

use std::sync::Arc;

use gtc_core::{BrokerState, Incarnation, Inquiry, Response, TransactionId};

use super::World;
use super::network::Reach;
use crate::model::broker::{Call, Reply, Tag};

/// The incarnation of strangers' transactions, which no coordinator reaches.
const STRANGE: u32 = 900_000;

/// Whether a transaction is a stranger's.
pub fn is_strange(id: TransactionId) -> bool {
    id.incarnation.0 == STRANGE
}

impl World {
    /// A stranger initialises a slot of the current process.
    pub fn intrude(&mut self, p: usize) {
        let instances = self.process.driver.instances.iter();
        let here = instances.filter(|((at, _), _)| *at == p);
        let names: Vec<Arc<str>> = here.map(|(_, instance)| instance.name.clone()).collect();
        let choice = self.source.pick(names.len());
        let Some(id) = names.get(choice).cloned() else {
            return;
        };
        if self.reach(p, &id) != Reach::Good || self.links[p].impostor {
            return;
        }
        self.tell(|| format!("a stranger initialises {id} of p{p}"));
        let call = Call::Init {
            id: id.clone(),
            timeout_ms: 60_000,
        };
        let Reply::Done(producer) = self.execute_by_app(p, &call) else {
            return;
        };
        self.strange.insert((p, id.clone()));
        for account in self.oracle.accounts.values_mut() {
            let touched = |tag: &Tag| tag.participant == p && tag.name == id;
            account.disturbed |= account.written.iter().any(touched);
        }
        if self.source.once_in(2) {
            let tag = self.strange_tag(p, &id);
            self.execute_by_app(p, &Call::Add { id, producer, tag });
        }
    }

    fn strange_tag(&mut self, p: usize, id: &Arc<str>) -> Tag {
        let incarnation = Incarnation(STRANGE);
        Tag {
            transaction: TransactionId {
                incarnation,
                sequence: self.oracle.next_number(),
            },
            participant: p,
            name: id.clone(),
            stray: false,
        }
    }

    /// The coordinator is about to see a stranger under the name of one of its slots.
    pub fn watch_stranger(&mut self, response: &Response) {
        let found = match response {
            Response::Prepared(report) => report.inquiry.as_ref(),
            _ => None,
        };
        let Some(Inquiry::Described(found)) = found else {
            return;
        };
        // What its broker is ending, or has ended, may as well have expired.
        if !matches!(found.state, BrokerState::Empty | BrokerState::Ongoing) {
            return;
        }
        let mut strange = self.strange.iter();
        let seen = strange.find(|(p, id)| self.brokers[*p].producer(id) == Some(found.producer));
        if let Some((p, id)) = seen {
            let (p, id) = (*p, id.clone());
            self.tell(|| format!("the coordinator sees a stranger under {id}"));
            self.process.strangers.insert(p);
        }
    }

    /// Strangers go away, and so do own producers that went on without a question.
    pub fn expel_strangers(&mut self) {
        for p in 0..self.brokers.len() {
            let open = self.brokers[p].open_tags();
            let open: Vec<Tag> = open.filter(|tag| self.is_alone(tag)).cloned().collect();
            for tag in open {
                let id = tag.name.clone();
                let timeout_ms = 60_000;
                self.execute_by_app(p, &Call::Init { id, timeout_ms });
            }
        }
        self.strange.clear();
    }

    /// No coordinator knows of it.
    fn is_alone(&self, tag: &Tag) -> bool {
        let own = !tag.name.starts_with("gtc.");
        let account = self.oracle.accounts.get(&tag.transaction);
        is_strange(tag.transaction) || own && account.is_some_and(|account| account.disturbed)
    }
}
