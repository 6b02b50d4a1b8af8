#![no_main]
//! See `properties::component`.

use toolhost_pure::properties::component;

mod seeds;

libfuzzer_sys::fuzz_target!(
    init: { seeds::assemble().expect("seeds are assembled"); },
    |bytes: &[u8]| component::hold(bytes)
);
