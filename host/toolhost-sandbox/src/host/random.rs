//! `wasi:random/insecure-seed`: the seed of a guest's hash maps.

use std::hash::{BuildHasher, RandomState};

use wasmtime::component::HasData;
use wasmtime_wasi::p2::bindings::random::insecure_seed;

/// Returns seeds that a guest's input cannot predict. The engine's own seeds are part of its context, which
/// is costly to make, and hash maps are all that most guests need of it.
pub(crate) struct InsecureSeed(pub(crate) Option<(u64, u64)>);

/// Selects the seeds in a store.
pub(crate) struct HasInsecureSeed;

impl HasData for HasInsecureSeed {
    type Data<'a> = InsecureSeed;
}

impl insecure_seed::Host for InsecureSeed {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        if let Some(seed) = self.0 {
            return Ok(seed);
        }
        // Keyed by the operating system, and different for each call, as for the hash maps of this process.
        let state = RandomState::new();
        Ok((state.hash_one(0), state.hash_one(1)))
    }
}
