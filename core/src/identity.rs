//! Names and numbers that identify things across the core, the log and the clusters.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// The random identity of a decision log; part of every slot name (R12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub u64);

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The number of a coordinator's start; raised and forced before anything else (R13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Incarnation(pub u32);

/// The identity of a global transaction: the incarnation that began it and a counter.
///
/// Written `incarnation-sequence`, for example `3-17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    /// The incarnation that began it.
    pub incarnation: Incarnation,
    /// Its number within the incarnation, from 1.
    pub sequence: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.incarnation.0, self.sequence)
    }
}

impl FromStr for TransactionId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "a transaction id has the form INCARNATION-SEQUENCE, for example 3-17";
        let (incarnation, sequence) = text.split_once('-').ok_or(FORM)?;
        Ok(Self {
            incarnation: Incarnation(incarnation.parse().map_err(|_| FORM)?),
            sequence: sequence.parse().map_err(|_| FORM)?,
        })
    }
}

/// A participant, as its index in [`Config::participants`](crate::Config::participants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct ParticipantId(pub u16);

/// The identity of one action; its response echoes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct ActionId(pub u64);

/// The identity of one slot within an incarnation: it is never used for another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct SlotId(pub u32);

/// Which generation of EndTxn a producer speaks; never mixed on one branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum VersionClass {
    /// EndTxn up to version 4: consecutive transactions share producer id and epoch (librdkafka).
    V1,
    /// EndTxn version 5 and newer (KIP-890): the epoch moves with every transaction.
    V2,
}

/// A producer's identity at its broker transaction coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ProducerIdentity {
    /// The producer id.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::decimal"))]
    pub producer_id: i64,
    /// The producer epoch.
    pub epoch: i16,
}

/// What identifies one branch for good: with it any process can end it, and check what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BranchIdentity {
    /// The transactional.id that the branch was written under.
    pub transactional_id: Arc<str>,
    /// The producer that wrote it.
    pub producer: ProducerIdentity,
    /// The broker's start time in milliseconds since the Unix epoch; -1 if it is not known.
    pub start_time_ms: i64,
    /// The transaction time-out that the broker holds it to.
    pub timeout_ms: i32,
    /// The class of its EndTxn.
    pub version_class: VersionClass,
}

/// The parts of a slot's transactional.id, `gtc.<coordinator>.<log id>.<incarnation>.<participant>.<n>` (R6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotName {
    /// The log that made it.
    pub log_id: LogId,
    /// The incarnation that made it.
    pub incarnation: Incarnation,
    /// The participant's name.
    pub participant: String,
    /// Its number within incarnation and participant; 0 is the probe of R8.
    pub number: u32,
}

impl SlotName {
    /// The prefix of every name of a coordinator, whatever the log.
    #[must_use]
    pub fn coordinator_prefix(coordinator: &str) -> String {
        format!("gtc.{coordinator}.")
    }

    /// The transactional.id.
    #[must_use]
    pub fn to_transactional_id(&self, coordinator: &str) -> Arc<str> {
        format!(
            "gtc.{coordinator}.{}.{}.{}.{}",
            self.log_id, self.incarnation.0, self.participant, self.number
        )
        .into()
    }

    /// Reads a transactional.id; `None` if it is not a slot name of this coordinator.
    #[must_use]
    pub fn parse(coordinator: &str, transactional_id: &str) -> Option<Self> {
        let rest = transactional_id
            .strip_prefix("gtc.")?
            .strip_prefix(coordinator)?
            .strip_prefix('.')?;
        let mut parts = rest.splitn(3, '.');
        let log_id = parts.next().filter(|text| text.len() == 16)?;
        let incarnation = parts.next()?.parse().ok()?;
        let (participant, number) = parts.next()?.rsplit_once('.')?;
        let name = Self {
            log_id: LogId(u64::from_str_radix(log_id, 16).ok()?),
            incarnation: Incarnation(incarnation),
            participant: participant.into(),
            number: number.parse().ok()?,
        };
        // Only the form that we write: a look-alike with a sign or a leading zero is somebody else's.
        (*name.to_transactional_id(coordinator) == *transactional_id).then_some(name)
    }
}

#[cfg(test)]
mod tests;
