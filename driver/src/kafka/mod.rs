//! Kafka as a participant: the properties of a cluster and the two planes that read them.
//!
//! The data plane is rdkafka; it moves records. Its parts are [`slot::SlotInstance`], which writes,
//! and [`consumer::TransactionalConsumer`], which reads. The control plane is
//! [`control::ControlClient`]; it asks the brokers what librdkafka has no call for.

pub mod consumer;
pub mod control;
pub mod error;
mod failure;
mod log;
pub(crate) mod participant;
pub mod properties;
pub mod record;
pub mod slot;
mod statistics;
