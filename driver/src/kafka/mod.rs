//! Kafka as a participant: the properties of a cluster and the two planes that read them.
//!
//! The data plane is rdkafka; it moves records. The control plane is [`control::ControlClient`];
//! it asks the brokers what librdkafka has no call for.

pub mod control;
pub mod properties;
