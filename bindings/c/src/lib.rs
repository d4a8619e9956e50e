//! The C library `gtc`: the façade of the driver with C's types and status numbers.
//!
//! The functions and types here are what `c-include/gtc.h` declares, which is generated from
//! them: their documentation is that of the header.
//!
//! # Rules
//!
//! What callers of every function promise, and what its `Safety` section refers to:
//!
//! - A handle is one that this library has given out and that was not freed yet. No call is under
//!   way with it in another thread while it is freed.
//! - Text ends with a NUL. Other memory is as long as is said beside it.
//! - What is passed in stays readable and unchanged until the call returns, also that of an
//!   `_async` call; it is copied before that. What is to be filled is writable.
//!
//! NULL is checked wherever a pointer comes in, and is an error of the kind config.

#![deny(unsafe_code)]
#![allow(
    non_camel_case_types,
    reason = "the types have the names that they have in C"
)]

mod arena;
pub mod bare;
mod border;
pub mod callback;
pub mod consumer;
pub mod coordinator;
pub mod error;
pub mod operator;
pub mod own;
pub mod record;
pub mod source;
pub mod status;
pub mod transaction;
pub mod views;
pub mod words;
