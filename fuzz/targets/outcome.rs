#![no_main]
//! See `properties::outcome`.

libfuzzer_sys::fuzz_target!(|text: &str| toolhost_pure::properties::outcome::hold(text));
