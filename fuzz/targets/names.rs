#![no_main]
//! See `properties::names`.

libfuzzer_sys::fuzz_target!(|text: &str| toolhost_pure::properties::names::hold(text));
