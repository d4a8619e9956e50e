//! The module `gtc._native`: the façade of the driver with Python's types and exceptions.
//!
//! Every verb that may take a while gives back its value where that is there already, and a
//! `Pending` otherwise. The package `gtc` makes a blocking and an asynchronous class of each.

#![deny(unsafe_code)]

mod consumer;
mod convert;
mod coordinator;
mod error;
mod pending;
mod record;
mod transaction;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::consumer::{Batch, Consumer, Records};
    #[pymodule_export]
    use super::coordinator::{Coordinator, check, open};
    #[pymodule_export]
    use super::pending::{Canceller, Pending};
    #[pymodule_export]
    use super::record::{ConsumedRecord, Record};
    #[pymodule_export]
    use super::transaction::{OwnBranch, Transaction};
}
