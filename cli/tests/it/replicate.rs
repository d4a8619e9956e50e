//! `gtc replicate`.

mod basics;
mod brokers;
mod health;
mod loops;
mod loss;
mod refused;
mod restart;
mod secure;
mod topics;
