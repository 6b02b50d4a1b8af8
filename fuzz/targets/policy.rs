#![no_main]
//! See `properties::policy`.

libfuzzer_sys::fuzz_target!(|text: &str| toolhost_pure::properties::policy::hold(text));
