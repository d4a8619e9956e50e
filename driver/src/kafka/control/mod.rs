//! A small client of the Kafka protocol for the calls that librdkafka does not offer.
//!
//! [`ControlClient`] asks brokers about transactions, ends and fences them. What may change a
//! transaction ([`end_transaction`](ControlClient::end_transaction),
//! [`init_producer_id`](ControlClient::init_producer_id)) is sent once a call, and the result says
//! whether it was answered, perhaps received, or certainly not sent: a repeat that nobody asked for
//! could end the next transaction of the same id. What only reads is repeated until its time-out.

mod broker;
mod client;
mod cluster;
mod connection;
mod coordinators;
mod dial;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(
    not(all(test, feature = "fuzzing")),
    allow(dead_code, reason = "tests and fuzz targets use different parts of it")
)]
mod fake;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod groups;
mod handshake;
mod pool;
mod sasl;
mod tls;
mod transactions;
mod wire;

pub use client::ControlClient;
pub use cluster::{
    BrokerNode, Cluster, ConfigResource, FinalizedFeatures, OffsetQuery, PartitionMetadata,
    TopicMetadata,
};
pub use error::{ControlError, ControlErrorKind};
pub use transactions::{Attempt, EndTxnAnswer, TransactionExtent};

#[cfg(test)]
mod hostile;
