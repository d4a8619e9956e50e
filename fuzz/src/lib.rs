//! The fuzz targets, and what they share: a limit on memory, and the core's vocabulary made of bytes.

#![forbid(unsafe_code)]

pub mod targets;
pub mod vocabulary;

use std::alloc::System;

use cap::Cap;

/// The most memory that a target may hold at a time. Far above what any input needs, far below
/// what a length that was believed would take: beyond it an allocation ends the process.
const MEMORY_BYTES_MAX: usize = 128 << 20;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY_BYTES_MAX);

#[cfg(test)]
mod tests;
