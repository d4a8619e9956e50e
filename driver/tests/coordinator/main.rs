//! The library against real brokers.

mod basic;
mod ceiling;
mod facade;
mod kill;
mod offsets;
mod own;
mod secrets;
mod stopped;
mod support;
mod watchdog;
