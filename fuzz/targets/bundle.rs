#![no_main]
//! See `properties::bundle`.

libfuzzer_sys::fuzz_target!(|text: &str| toolhost_pure::properties::bundle::hold(text));
