//! Models of what gtc talks to, as Kafka behaves and not as gtc hopes.

pub mod broker;
