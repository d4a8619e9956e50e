//! Hands the linker what a module for Node wants.

#![forbid(unsafe_code)]

fn main() {
    napi_build::setup();
}
