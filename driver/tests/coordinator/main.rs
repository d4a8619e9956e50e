//! The library against real brokers.

mod basic;
mod support;
