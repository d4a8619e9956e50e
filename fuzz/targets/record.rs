//! The engine around `gtc_fuzz::targets::record`.

#![forbid(unsafe_code)]
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gtc_fuzz::targets::record::take(data));
