//! The native methods of the Java package `gtc`: the façade of the driver with Java's types and
//! exceptions.
//!
//! Java holds what it has made under numbers, so that a number that is too old is an error and no
//! crash. Every verb that may take a while gives back the number of a pending result, which Java
//! waits for, or completes a future with; see `pending`.

#![deny(unsafe_code)]

mod border;
mod consumer;
mod convert;
mod coordinator;
mod handles;
mod packed;
mod pending;
mod record;
mod transaction;
