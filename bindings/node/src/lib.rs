//! The native module of the Node package `gtc`: the façade of the driver with JavaScript's types.
//!
//! Every verb that may take a while gives back its value where that is there already, and a
//! `Pending` otherwise. An error of the driver is a value too, a `Failure`: the package makes the
//! class of its kind of it, where the stack of the caller is.

#![deny(unsafe_code)]
// The macros register functions in the module itself alone, and not in the empty test of it.
#![cfg_attr(test, allow(dead_code))]

mod answer;
mod consumer;
mod convert;
mod coordinator;
mod record;
mod transaction;
mod views;
