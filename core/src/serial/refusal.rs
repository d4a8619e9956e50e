//! Refusals as objects. Written by hand, as one of them has two members without names.

use serde::ser::{Serialize, Serializer};

use crate::event::{Refusal, StopReason};
use crate::identity::TransactionId;

#[derive(serde::Serialize)]
#[serde(tag = "refusal", rename_all = "kebab-case")]
enum Shown<'a> {
    UnknownTransaction { transaction: TransactionId },
    InvalidState { detail: &'a str },
    Limit { name: &'a str, limit: u64 },
    Unavailable { detail: &'a str },
    SlotTimeout { detail: &'a str },
    Fenced { detail: &'a str },
    WrongCluster { detail: &'a str },
    Broken { detail: &'a str },
    Config { detail: &'a str },
    Closed,
    Stopped(&'a StopReason),
}

impl<'a> From<&'a Refusal> for Shown<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        match refusal {
            Refusal::UnknownTransaction(transaction) => Self::UnknownTransaction {
                transaction: *transaction,
            },
            Refusal::InvalidState(detail) => Self::InvalidState { detail },
            Refusal::Limit(name, limit) => Self::Limit {
                name,
                limit: *limit,
            },
            Refusal::Unavailable(detail) => Self::Unavailable { detail },
            Refusal::SlotTimeout(detail) => Self::SlotTimeout { detail },
            Refusal::Fenced(detail) => Self::Fenced { detail },
            Refusal::WrongCluster(detail) => Self::WrongCluster { detail },
            Refusal::Broken(detail) => Self::Broken { detail },
            Refusal::Config(detail) => Self::Config { detail },
            Refusal::Closed => Self::Closed,
            Refusal::Stopped(reason) => Self::Stopped(reason),
        }
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Shown::from(self).serialize(to)
    }
}
