//! The answers of healthy clusters and a healthy log, for all that a scenario does not answer itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use gtc_core::{
    Action, BrokerState, ConnectReport, Decision, EndAnswer, Inquiry, ListedTransaction, Listing,
    ParticipantId, PrepareReport, ProducerIdentity, Response, SlotCondition,
    TransactionDescription, WriteReport, Writer,
};

/// The start time of every transaction, by the brokers' clocks.
pub(crate) const START_TIME_MS: i64 = 1_700_000_000_500;
pub(crate) const TIMEOUT_MS: i32 = 60_000;

#[derive(Clone, Copy)]
struct Known {
    producer: ProducerIdentity,
    state: BrokerState,
}

/// All clusters: what they know of each transactional.id.
#[derive(Default)]
pub(crate) struct Clusters {
    ids: BTreeMap<(ParticipantId, Arc<str>), Known>,
    next_producer: i64,
    /// `transaction.max.timeout.ms`, where it is not the default.
    pub(crate) ceiling_ms: Option<i64>,
}

/// A description of this producer's transaction; one that was only initialised has no start time.
pub(crate) fn described(state: BrokerState, producer: ProducerIdentity) -> Inquiry {
    let start_time_ms = match state {
        BrokerState::Empty => -1,
        _ => START_TIME_MS,
    };
    Inquiry::Described(TransactionDescription {
        state,
        producer,
        start_time_ms,
        timeout_ms: TIMEOUT_MS,
    })
}

/// One record sent and delivered.
pub(crate) fn delivered() -> WriteReport {
    WriteReport {
        sent: 1,
        delivered: 1,
        ..WriteReport::default()
    }
}

impl Clusters {
    /// Makes an id known, as an application's own producer or a dead coordinator would.
    pub(crate) fn know(&mut self, p: u16, id: &str, state: BrokerState) -> ProducerIdentity {
        self.next_producer += 1;
        let producer = ProducerIdentity {
            producer_id: 1000 + self.next_producer,
            epoch: 0,
        };
        self.ids
            .insert((ParticipantId(p), id.into()), Known { producer, state });
        producer
    }

    /// Something happened to an id that no action tells of.
    pub(crate) fn turn(&mut self, p: u16, id: &Arc<str>, state: BrokerState) {
        self.set(ParticipantId(p), id, state);
    }

    /// An id that nobody used for so long that its cluster forgets it.
    pub(crate) fn expire(&mut self, p: u16, id: &str) {
        self.ids.remove(&(ParticipantId(p), Arc::from(id)));
    }

    /// The producer that an id belongs to.
    pub(crate) fn producer(&self, p: u16, id: &str) -> ProducerIdentity {
        self.ids[&(ParticipantId(p), Arc::from(id))].producer
    }

    fn set(&mut self, p: ParticipantId, id: &Arc<str>, state: BrokerState) {
        if let Some(known) = self.ids.get_mut(&(p, id.clone())) {
            known.state = state;
        }
    }

    fn end(&mut self, p: ParticipantId, id: &Arc<str>, decision: Decision) -> Response {
        let state = match decision {
            Decision::Commit => BrokerState::CompleteCommit,
            Decision::Abort => BrokerState::CompleteAbort,
        };
        self.set(p, id, state);
        Response::Ended(EndAnswer::Acknowledged)
    }

    fn inquire(&self, p: ParticipantId, id: &Arc<str>) -> Inquiry {
        match self.ids.get(&(p, id.clone())) {
            Some(known) => described(known.state, known.producer),
            None => Inquiry::NotFound,
        }
    }

    fn prepare(&mut self, p: ParticipantId, (id, writer): (&Arc<str>, &Writer)) -> Response {
        self.set(p, id, BrokerState::Ongoing);
        let known = self.ids.get(&(p, id.clone())).map(|known| known.producer);
        let own = matches!(writer, Writer::Own(_));
        Response::Prepared(PrepareReport {
            writes: WriteReport {
                stated_delivered: own,
                ..delivered()
            },
            writer: known.filter(|_| !own),
            inquiry: Some(self.inquire(p, id)),
            strayed: None,
        })
    }

    fn list(&self, p: ParticipantId, prefix: &str) -> Response {
        let mine = self
            .ids
            .iter()
            .filter(|((of, id), _)| *of == p && id.starts_with(prefix));
        let transactions = mine.map(|((_, id), known)| ListedTransaction {
            transactional_id: id.clone(),
            producer_id: known.producer.producer_id,
            state: known.state,
        });
        Response::Listed(Listing {
            transactions: transactions.collect(),
            complete: true,
            detail: None,
        })
    }

    /// The id of the slot that a managed branch is written through, from the action that opened it.
    pub(crate) fn answer(&mut self, action: &Action, written: Option<&Arc<str>>) -> Response {
        match action {
            Action::Append { .. } | Action::Checkpoint { .. } => Response::Appended,
            Action::Connect { participant } => Response::Connected(ConnectReport {
                cluster_id: format!("cluster-{}", participant.0),
                transaction_version: 2,
                timeout_ceiling_ms: self.ceiling_ms.or(Some(900_000)),
            }),
            Action::OpenSlot {
                participant,
                transactional_id,
                ..
            } => Response::SlotOpened {
                producer: self.know(participant.0, transactional_id, BrokerState::Empty),
                condition: SlotCondition::Clean,
            },
            Action::VerifySlot { .. } => Response::SlotVerified(SlotCondition::Clean),
            Action::CloseSlot { .. } => Response::SlotClosed,
            Action::Prepare {
                participant,
                writer,
                transactional_id,
                ..
            } => self.prepare(*participant, (transactional_id, writer)),
            Action::EndByWriter {
                participant,
                decision,
                ..
            } => match written {
                Some(id) => self.end(*participant, id, *decision),
                None => Response::Ended(EndAnswer::Acknowledged),
            },
            Action::EndTransaction {
                participant,
                branch,
                decision,
            } => self.end(*participant, &branch.transactional_id, *decision),
            Action::Inquire {
                participant,
                transactional_id,
            } => Response::Inquired(self.inquire(*participant, transactional_id)),
            Action::Fence {
                participant,
                transactional_id,
                ..
            } => {
                self.know(participant.0, transactional_id, BrokerState::Empty);
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List {
                participant,
                prefix,
            } => self.list(*participant, prefix),
            other => panic!("no answer to {}", other.name()),
        }
    }
}
