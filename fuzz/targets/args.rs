#![no_main]
//! See `properties::args`.

libfuzzer_sys::fuzz_target!(|text: &str| toolhost_pure::properties::args::hold(text));
