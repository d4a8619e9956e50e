//! The checker: compares what clusters show to read_committed consumers with what the loaders got acknowledged.

mod compare;
mod read;
mod report;

use std::collections::BTreeMap;

use crate::journal::Journal;

pub use compare::judge;
pub use read::{Ends, ends, group_offsets, journal_of, read_cluster, read_records};
pub use report::{GroupRow, Report, Row};

/// One record as a cluster shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its id; records that no loader wrote have none.
    pub id: Option<String>,
    /// The checksum of its content.
    pub digest: u64,
    /// Where it stands.
    pub offset: i64,
}

/// One partition, read from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionView {
    /// The committed records in their order.
    pub records: Vec<Seen>,
    /// The last stable offset: read_committed readers come no further.
    pub stable: i64,
    /// The high watermark.
    pub high: i64,
}

/// A cluster as its read_committed readers see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// The cluster's name.
    pub cluster: String,
    /// By partition.
    pub partitions: BTreeMap<i32, PartitionView>,
}

/// A replication between two clusters, and where its group stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The source cluster, where the group's offsets are.
    pub from: String,
    /// The destination.
    pub to: String,
    /// The group.
    pub group: String,
    /// The committed offset of each partition of the source; `None` where the group has none.
    pub offsets: BTreeMap<i32, Option<i64>>,
}

/// All that a judgement needs.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What was acknowledged, one journal an origin.
    pub journals: Vec<Journal>,
    /// What each cluster shows; all of them are to hold all records of all journals.
    pub views: Vec<ClusterView>,
    /// The replications. Those of one source and one group are one fan-out: all its destinations or none.
    pub links: Vec<Link>,
}
