//! Models of what gtc talks to, as Kafka behaves and not as gtc hopes.

pub mod broker;
pub mod call;
pub mod entry;
pub mod group;
mod numbers;
pub mod partition;
