//! Where a record goes, and what it looks like there: a pure function.

use std::sync::Arc;

use gtc::kafka::record::{ConsumedRecord, OutgoingRecord};

use super::origin::{has_been_in, hop};

/// One destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The participant's name.
    pub(crate) participant: String,
    /// Its cluster.id.
    pub(crate) cluster_id: String,
}

/// The way from one source to its destinations.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    source_cluster_id: String,
    destinations: Vec<Destination>,
}

impl Route {
    /// The way from the cluster with this id.
    pub(crate) fn new(source_cluster_id: &str, destinations: Vec<Destination>) -> Self {
        Self {
            source_cluster_id: source_cluster_id.to_owned(),
            destinations,
        }
    }

    /// The destinations that the record has not been in.
    pub(crate) fn targets(&self, record: &ConsumedRecord) -> Vec<&str> {
        let fresh =
            |destination: &&Destination| !has_been_in(&record.headers, &destination.cluster_id);
        let fresh = self.destinations.iter().filter(fresh);
        fresh
            .map(|destination| destination.participant.as_str())
            .collect()
    }

    /// How many destinations there are.
    pub(crate) fn width(&self) -> usize {
        self.destinations.len()
    }

    /// Whether any of the records goes anywhere.
    pub(crate) fn sends_any(&self, records: &[ConsumedRecord]) -> bool {
        records
            .iter()
            .any(|record| !self.targets(record).is_empty())
    }

    /// The record as it is written: the same, with this hop behind its headers.
    pub(crate) fn outgoing(&self, record: ConsumedRecord) -> OutgoingRecord {
        let mut outgoing = OutgoingRecord::to(Arc::clone(&record.topic));
        outgoing.partition = Some(record.partition);
        outgoing.key = record.key;
        outgoing.value = record.value;
        outgoing.timestamp_ms = record.timestamp_ms;
        outgoing.headers = record.headers;
        outgoing.headers.push(hop(&self.source_cluster_id));
        outgoing
    }
}

/// The bytes of a record that count towards the size of a batch.
pub(crate) fn size_bytes(record: &ConsumedRecord) -> usize {
    let of = |part: &Option<bytes::Bytes>| part.as_ref().map_or(0, bytes::Bytes::len);
    of(&record.key) + of(&record.value)
}
