//! The binary form of records: little-endian integers, byte strings behind a 32-bit length.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crc::{CRC_32_ISCSI, Crc, Table};

use super::{DecidedBranch, RECORD_VERSION, Record, RecordError};
use crate::event::HeuristicKind;
use crate::identity::{BranchIdentity, Incarnation, ProducerIdentity, TransactionId, VersionClass};
use crate::request::Decision;

const CRC32C: Crc<u32, Tables> = Crc::<u32, Tables>::new(&CRC_32_ISCSI);

/// How many bytes are taken at once; a kilobyte each.
#[cfg(not(target_family = "wasm"))]
type Tables = Table<16>;
/// A module is loaded over networks, and its log is a host's.
#[cfg(target_family = "wasm")]
type Tables = Table<1>;
const CHECKSUM_BYTES: usize = 4;

mod kind {
    pub(super) const STARTED: u8 = 1;
    pub(super) const CLUSTER_BOUND: u8 = 2;
    pub(super) const NAMES: u8 = 3;
    pub(super) const NAMES_GONE: u8 = 4;
    pub(super) const OWN_ENLISTED: u8 = 5;
    pub(super) const DECIDED: u8 = 6;
    pub(super) const ACKNOWLEDGED: u8 = 7;
    pub(super) const HEURISTIC: u8 = 8;
    pub(super) const COMPLETED: u8 = 9;
    pub(super) const DISCARDED: u8 = 10;
    pub(super) const FORGOTTEN: u8 = 11;
    pub(super) const DISCARD_GONE: u8 = 12;
}

pub(super) fn encode(record: &Record) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(192));
    out.u8(RECORD_VERSION);
    fields(record, &mut out);
    let checksum = CRC32C.checksum(&out.0);
    out.0.extend_from_slice(&checksum.to_le_bytes());
    out.0
}

fn fields(record: &Record, out: &mut Writer) {
    match record {
        Record::Started {
            incarnation,
            unix_ms,
        } => {
            out.u8(kind::STARTED);
            out.u32(incarnation.0);
            out.u64(*unix_ms);
        }
        Record::ClusterBound {
            participant,
            cluster_id,
        } => {
            out.u8(kind::CLUSTER_BOUND);
            out.bytes(participant.as_bytes());
            out.bytes(cluster_id.as_bytes());
        }
        Record::Names {
            incarnation,
            participant,
            first,
            count,
            unix_ms,
        } => {
            out.u8(kind::NAMES);
            out.u32(incarnation.0);
            out.bytes(participant.as_bytes());
            out.u32(*first);
            out.u32(*count);
            out.u64(*unix_ms);
        }
        Record::NamesGone {
            incarnation,
            participant,
        } => {
            out.u8(kind::NAMES_GONE);
            out.u32(incarnation.0);
            out.bytes(participant.as_bytes());
        }
        Record::Discarded {
            participant,
            transactional_id,
            producer,
        } => {
            out.u8(kind::DISCARDED);
            out.bytes(participant.as_bytes());
            out.bytes(transactional_id.as_bytes());
            out.producer(*producer);
        }
        Record::DiscardGone {
            participant,
            transactional_id,
            producer,
        } => {
            out.u8(kind::DISCARD_GONE);
            out.bytes(participant.as_bytes());
            out.bytes(transactional_id.as_bytes());
            out.producer(*producer);
        }
        _ => transaction_fields(record, out),
    }
}

fn transaction_fields(record: &Record, out: &mut Writer) {
    match record {
        Record::OwnEnlisted {
            transaction,
            participant,
            transactional_id,
            producer,
            version_class,
        } => {
            out.u8(kind::OWN_ENLISTED);
            out.transaction(*transaction);
            out.bytes(participant.as_bytes());
            out.bytes(transactional_id.as_bytes());
            out.producer(*producer);
            out.u8(version_class_code(*version_class));
        }
        Record::Decided {
            transaction,
            key,
            unix_ms,
            branches,
        } => {
            out.u8(kind::DECIDED);
            out.transaction(*transaction);
            out.key(key.as_deref());
            out.u64(*unix_ms);
            out.u32(u32::try_from(branches.len()).unwrap_or(u32::MAX));
            branches.iter().for_each(|branch| out.branch(branch));
        }
        Record::Acknowledged {
            transaction,
            participant,
            transactional_id,
        } => {
            out.u8(kind::ACKNOWLEDGED);
            out.transaction(*transaction);
            out.bytes(participant.as_bytes());
            out.bytes(transactional_id.as_bytes());
        }
        Record::Heuristic {
            transaction,
            decision,
            participant,
            transactional_id,
            kind,
            detail,
        } => {
            out.u8(kind::HEURISTIC);
            out.transaction(*transaction);
            out.u8(decision_code(*decision));
            out.bytes(participant.as_bytes());
            out.bytes(transactional_id.as_bytes());
            out.u8(heuristic_code(*kind));
            out.bytes(detail.as_bytes());
        }
        Record::Completed {
            transaction,
            decision,
            key,
            unix_ms,
        } => {
            out.u8(kind::COMPLETED);
            out.transaction(*transaction);
            out.u8(decision_code(*decision));
            out.key(key.as_deref());
            out.u64(*unix_ms);
        }
        Record::Forgotten { transaction } => {
            out.u8(kind::FORGOTTEN);
            out.transaction(*transaction);
        }
        Record::Started { .. }
        | Record::ClusterBound { .. }
        | Record::Names { .. }
        | Record::NamesGone { .. }
        | Record::Discarded { .. }
        | Record::DiscardGone { .. } => {}
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Record, RecordError> {
    let version = *bytes.first().ok_or(RecordError::Truncated)?;
    if version == 0 {
        return Err(RecordError::Field("version"));
    }
    if version > RECORD_VERSION {
        return Err(RecordError::Version(version));
    }
    let body = bytes
        .len()
        .checked_sub(CHECKSUM_BYTES)
        .filter(|length| *length >= 2)
        .ok_or(RecordError::Truncated)?;
    let (body, checksum) = bytes.split_at(body);
    if checksum != CRC32C.checksum(body).to_le_bytes() {
        return Err(RecordError::Checksum);
    }
    let mut reader = Reader(&body[2..]);
    let record = read_fields(body[1], &mut reader)?;
    match reader.0.len() {
        0 => Ok(record),
        left => Err(RecordError::Trailing(left)),
    }
}

fn read_fields(kind: u8, from: &mut Reader<'_>) -> Result<Record, RecordError> {
    Ok(match kind {
        kind::STARTED => Record::Started {
            incarnation: Incarnation(from.u32()?),
            unix_ms: from.u64()?,
        },
        kind::CLUSTER_BOUND => Record::ClusterBound {
            participant: from.text("participant")?,
            cluster_id: from.text("cluster_id")?,
        },
        kind::NAMES => Record::Names {
            incarnation: Incarnation(from.u32()?),
            participant: from.text("participant")?,
            first: from.u32()?,
            count: from.u32()?,
            unix_ms: from.u64()?,
        },
        kind::NAMES_GONE => Record::NamesGone {
            incarnation: Incarnation(from.u32()?),
            participant: from.text("participant")?,
        },
        kind::DISCARDED => Record::Discarded {
            participant: from.text("participant")?,
            transactional_id: from.text("transactional_id")?,
            producer: from.producer()?,
        },
        kind::DISCARD_GONE => Record::DiscardGone {
            participant: from.text("participant")?,
            transactional_id: from.text("transactional_id")?,
            producer: from.producer()?,
        },
        other => return read_transaction_fields(other, from),
    })
}

fn read_transaction_fields(kind: u8, from: &mut Reader<'_>) -> Result<Record, RecordError> {
    Ok(match kind {
        kind::OWN_ENLISTED => Record::OwnEnlisted {
            transaction: from.transaction()?,
            participant: from.text("participant")?,
            transactional_id: from.text("transactional_id")?,
            producer: from.producer()?,
            version_class: from.version_class()?,
        },
        kind::DECIDED => Record::Decided {
            transaction: from.transaction()?,
            key: from.key()?,
            unix_ms: from.u64()?,
            branches: from.branches()?,
        },
        kind::ACKNOWLEDGED => Record::Acknowledged {
            transaction: from.transaction()?,
            participant: from.text("participant")?,
            transactional_id: from.text("transactional_id")?,
        },
        kind::HEURISTIC => Record::Heuristic {
            transaction: from.transaction()?,
            decision: from.decision()?,
            participant: from.text("participant")?,
            transactional_id: from.text("transactional_id")?,
            kind: from.heuristic()?,
            detail: from.text("detail")?,
        },
        kind::COMPLETED => Record::Completed {
            transaction: from.transaction()?,
            decision: from.decision()?,
            key: from.key()?,
            unix_ms: from.u64()?,
        },
        kind::FORGOTTEN => Record::Forgotten {
            transaction: from.transaction()?,
        },
        other => return Err(RecordError::Kind(other)),
    })
}

const fn version_class_code(class: VersionClass) -> u8 {
    match class {
        VersionClass::V1 => 1,
        VersionClass::V2 => 2,
    }
}

const fn decision_code(decision: Decision) -> u8 {
    match decision {
        Decision::Commit => 1,
        Decision::Abort => 2,
    }
}

const fn heuristic_code(kind: HeuristicKind) -> u8 {
    match kind {
        HeuristicKind::Aborted => 1,
        HeuristicKind::Committed => 2,
        HeuristicKind::Hazard => 3,
        HeuristicKind::Abandoned => 4,
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        // No field can be as long as 4 GiB: keys and names are limited by the configuration.
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(bytes);
    }

    fn key(&mut self, key: Option<&[u8]>) {
        self.u8(u8::from(key.is_some()));
        if let Some(key) = key {
            self.bytes(key);
        }
    }

    fn transaction(&mut self, id: TransactionId) {
        self.u32(id.incarnation.0);
        self.u64(id.sequence);
    }

    fn producer(&mut self, producer: ProducerIdentity) {
        self.0
            .extend_from_slice(&producer.producer_id.to_le_bytes());
        self.0.extend_from_slice(&producer.epoch.to_le_bytes());
    }

    fn branch(&mut self, branch: &DecidedBranch) {
        self.bytes(branch.participant.as_bytes());
        self.bytes(branch.identity.transactional_id.as_bytes());
        self.producer(branch.identity.producer);
        self.0
            .extend_from_slice(&branch.identity.start_time_ms.to_le_bytes());
        self.0
            .extend_from_slice(&branch.identity.timeout_ms.to_le_bytes());
        self.u8(version_class_code(branch.identity.version_class));
        self.u8(u8::from(branch.own));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let (head, tail) = self
            .0
            .split_at_checked(count)
            .ok_or(RecordError::Truncated)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, RecordError> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, RecordError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(RecordError::Field(field)),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], RecordError> {
        let length = self.u32()?;
        self.take(usize::try_from(length).map_err(|_| RecordError::Truncated)?)
    }

    fn text(&mut self, field: &'static str) -> Result<Arc<str>, RecordError> {
        let bytes = self.bytes()?;
        core::str::from_utf8(bytes)
            .map(Arc::from)
            .map_err(|_| RecordError::Field(field))
    }

    fn key(&mut self) -> Result<Option<Arc<[u8]>>, RecordError> {
        self.flag("key")?
            .then(|| self.bytes().map(Arc::from))
            .transpose()
    }

    fn transaction(&mut self) -> Result<TransactionId, RecordError> {
        Ok(TransactionId {
            incarnation: Incarnation(self.u32()?),
            sequence: self.u64()?,
        })
    }

    fn producer(&mut self) -> Result<ProducerIdentity, RecordError> {
        Ok(ProducerIdentity {
            producer_id: i64::from_le_bytes(self.array()?),
            epoch: i16::from_le_bytes(self.array()?),
        })
    }

    fn version_class(&mut self) -> Result<VersionClass, RecordError> {
        match self.u8()? {
            1 => Ok(VersionClass::V1),
            2 => Ok(VersionClass::V2),
            _ => Err(RecordError::Field("version_class")),
        }
    }

    fn decision(&mut self) -> Result<Decision, RecordError> {
        match self.u8()? {
            1 => Ok(Decision::Commit),
            2 => Ok(Decision::Abort),
            _ => Err(RecordError::Field("decision")),
        }
    }

    fn heuristic(&mut self) -> Result<HeuristicKind, RecordError> {
        match self.u8()? {
            1 => Ok(HeuristicKind::Aborted),
            2 => Ok(HeuristicKind::Committed),
            3 => Ok(HeuristicKind::Hazard),
            4 => Ok(HeuristicKind::Abandoned),
            _ => Err(RecordError::Field("kind")),
        }
    }

    fn branches(&mut self) -> Result<Arc<[DecidedBranch]>, RecordError> {
        let count = self.u32()?;
        // The count is not trusted for an allocation: the loop ends at the first missing byte.
        let mut branches = Vec::new();
        for _ in 0..count {
            branches.push(self.branch()?);
        }
        Ok(branches.into())
    }

    fn branch(&mut self) -> Result<DecidedBranch, RecordError> {
        Ok(DecidedBranch {
            participant: self.text("participant")?,
            identity: BranchIdentity {
                transactional_id: self.text("transactional_id")?,
                producer: self.producer()?,
                start_time_ms: i64::from_le_bytes(self.array()?),
                timeout_ms: i32::from_le_bytes(self.array()?),
                version_class: self.version_class()?,
            },
            own: self.flag("own")?,
        })
    }
}

#[cfg(test)]
mod tests;
