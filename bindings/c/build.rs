//! Gives the shared library its soname.

#![forbid(unsafe_code)]

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgtc.so.{major}");
    println!("cargo::rerun-if-changed=build.rs");
}
