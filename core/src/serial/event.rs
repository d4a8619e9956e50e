//! Events as objects. Written by hand, as two of them have more than one member without a name.

use alloc::string::String;

use serde::ser::{Serialize, Serializer};

use crate::event::{
    Event, ForeignBranch, HeuristicBranch, Outcome, ParticipantStatus, Refusal, Reuse, StopReason,
};
use crate::identity::{ParticipantId, SlotId, TransactionId};

#[derive(serde::Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Shown<'a> {
    Started,
    Recovered,
    Participant {
        participant: ParticipantId,
        #[serde(flatten)]
        status: &'a ParticipantStatus,
    },
    Enlisted {
        transaction: TransactionId,
        participant: ParticipantId,
        slot: Option<SlotId>,
        transactional_id: &'a str,
    },
    EnlistRefused {
        transaction: TransactionId,
        participant: ParticipantId,
        own: Option<&'a str>,
        #[serde(flatten)]
        refusal: &'a Refusal,
    },
    Decided {
        transaction: TransactionId,
    },
    Ended {
        transaction: TransactionId,
        #[serde(flatten)]
        outcome: &'a Outcome,
    },
    OwnReleased {
        transaction: TransactionId,
        participant: ParticipantId,
        transactional_id: &'a str,
        reuse: Reuse,
    },
    Heuristic {
        transaction: TransactionId,
        #[serde(flatten)]
        branch: &'a HeuristicBranch,
    },
    Settled {
        participant: ParticipantId,
        transactional_id: &'a str,
    },
    Foreign(&'a ForeignBranch),
    ForeignResolved {
        participant: ParticipantId,
        transactional_id: &'a str,
        error: &'a Option<String>,
    },
    Drained,
    Stopped(&'a StopReason),
}

impl<'a> From<&'a Event> for Shown<'a> {
    fn from(event: &'a Event) -> Self {
        match event {
            Event::Started => Self::Started,
            Event::Recovered => Self::Recovered,
            Event::Participant(participant, status) => Self::Participant {
                participant: *participant,
                status,
            },
            Event::Settled {
                participant,
                transactional_id,
            } => Self::Settled {
                participant: *participant,
                transactional_id,
            },
            Event::Foreign(branch) => Self::Foreign(branch),
            Event::ForeignResolved {
                participant,
                transactional_id,
                error,
            } => Self::ForeignResolved {
                participant: *participant,
                transactional_id,
                error,
            },
            Event::Drained => Self::Drained,
            Event::Stopped(reason) => Self::Stopped(reason),
            Event::Enlisted { .. }
            | Event::EnlistRefused { .. }
            | Event::Decided(_)
            | Event::Ended { .. }
            | Event::OwnReleased { .. }
            | Event::Heuristic(..) => of_transaction(event),
        }
    }
}

fn of_transaction(event: &Event) -> Shown<'_> {
    match event {
        Event::Enlisted {
            transaction,
            participant,
            slot,
            transactional_id,
        } => Shown::Enlisted {
            transaction: *transaction,
            participant: *participant,
            slot: *slot,
            transactional_id,
        },
        Event::EnlistRefused {
            transaction,
            participant,
            own,
            refusal,
        } => Shown::EnlistRefused {
            transaction: *transaction,
            participant: *participant,
            own: own.as_deref(),
            refusal,
        },
        Event::Decided(transaction) => Shown::Decided {
            transaction: *transaction,
        },
        Event::Ended {
            transaction,
            outcome,
        } => Shown::Ended {
            transaction: *transaction,
            outcome,
        },
        Event::OwnReleased {
            transaction,
            participant,
            transactional_id,
            reuse,
        } => Shown::OwnReleased {
            transaction: *transaction,
            participant: *participant,
            transactional_id,
            reuse: *reuse,
        },
        Event::Heuristic(transaction, branch) => Shown::Heuristic {
            transaction: *transaction,
            branch,
        },
        other => Shown::from(other),
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Shown::from(self).serialize(to)
    }
}
