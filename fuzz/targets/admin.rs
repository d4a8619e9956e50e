//! The engine around `gtc_fuzz::targets::admin`.

#![forbid(unsafe_code)]
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gtc_fuzz::targets::admin::take(data));
