//! Records as they go in and come out: owned, and with everything that Kafka can tell apart.

use std::sync::Arc;

use bytes::Bytes;

/// A header's key and value. Keys may repeat, and a value may be null.
pub type Header = (String, Option<Bytes>);

/// A record to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingRecord {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition; `None` leaves the choice to the partitioner.
    pub partition: Option<i32>,
    /// The key; `None` is a null key, which differs from an empty one.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone, which differs from an empty value.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// The timestamp in milliseconds since the Unix epoch; `None` is now.
    pub timestamp_ms: Option<i64>,
}

impl OutgoingRecord {
    /// An empty record for `topic`, to be filled in.
    #[must_use]
    pub fn to(topic: impl Into<Arc<str>>) -> Self {
        Self {
            topic: topic.into(),
            partition: None,
            key: None,
            value: None,
            headers: Vec::new(),
            timestamp_ms: None,
        }
    }
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumedRecord {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The key; `None` is a null key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// The timestamp in milliseconds since the Unix epoch, if the record has one.
    pub timestamp_ms: Option<i64>,
}

/// The next offset that a group reads of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// A text that the group coordinator keeps with it.
    pub metadata: String,
}
