//! The core as a WebAssembly module: numbers and JSON text in and out, for the glue in `wasm/`.
//!
//! Text goes in through one buffer: `text_in` makes room and tells where, the host writes
//! it there, and the next call reads it. Text that comes out stays where `text_out` says
//! until the next call. So nothing is allocated or freed by the host, and no pointer is read here.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg_attr(
    not(any(target_arch = "wasm32", test)),
    expect(dead_code, reason = "it is tested here, and called from the exports")
)]
mod cores;
#[cfg(target_arch = "wasm32")]
pub mod exports;
