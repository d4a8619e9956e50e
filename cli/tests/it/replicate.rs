//! `gtc replicate`.

mod basics;
mod health;
mod loops;
mod loss;
mod refused;
mod restart;
mod secure;
mod topics;
