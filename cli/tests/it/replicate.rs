//! `gtc replicate`.

mod basics;
mod loops;
mod loss;
mod restart;
mod topics;
