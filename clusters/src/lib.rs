//! clusters

#![forbid(unsafe_code)]
