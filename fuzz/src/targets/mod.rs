//! What each target does with an input; the programs in `targets/` put libFuzzer around it.

pub mod admin;
pub mod configuration;
pub mod control;
pub mod core;
pub mod record;
pub mod responses;
pub mod segment;
